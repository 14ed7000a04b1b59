"""Mounts on one connection, servers that stall, and an exporter that cannot be trusted."""

import pytest

from boards_and_rules import ALERTS
from rule_stories import VM, alert, expect, growing, losing, play, series, value

MOUNT = {"mount": "/mnt/a", "server": "10.0.0.4", "export": "/vol1"}
OF_VOLUME = {"server": "10.0.0.4", "export": "/vol1", "volume": "10.0.0.4:/vol1"}
CONNECTION = {
    "kind": "nfs_connection",
    "name": "/mnt/a",
    "dimension": "throughput",
    "direction": "total",
}
SECONDS = "ioplateau_budget_throttled_seconds_total"
WARNING = {"severity": "warning", "scope": "vm"}
VM_BOARD = "/d/ioplateau-vm?var-instance=vm1%3A10049"
MOUNT_BOARD = "/d/ioplateau-nfs?var-instance=vm1%3A10049&var-mount=%2Fmnt%2Fa"


def mounted(nconnect):
    return series("ioplateau_nfs_mount_info", "1x200", nconnect=nconnect, **MOUNT)


def test_one_connection_that_limits_is_told(tmp_path):
    expected = alert(
        VM | CONNECTION | OF_VOLUME | WARNING,
        "/mnt/a of vm1:10049 is limited by its one connection: it is mounted without nconnect",
        "NFS mount /mnt/a of vm1:10049 was held back by its single TCP connection for 50% of the last "
        "5 minutes. Mounted with nconnect=4 or more it could go faster; the first mount of a server "
        "decides for all.",
        MOUNT_BOARD,
        "nfs-without-nconnect",
    )
    story = [mounted("1"), series(SECONDS, growing(0.5, 30), **CONNECTION)]

    assert play(tmp_path, story, [expect("20m", "IoplateauNfsWithoutNconnect", expected)]) == ""


def test_one_of_four_connections_or_a_short_while_is_silent(tmp_path):
    never = [expect("20m", "IoplateauNfsWithoutNconnect")]
    four = [mounted("4"), series(SECONDS, growing(0.5, 30), **CONNECTION)]
    shortly = [mounted("1"), series(SECONDS, growing(0.19, 30), **CONNECTION)]

    assert play(tmp_path, four, never) == ""
    assert play(tmp_path, shortly, never) == ""


def test_one_connection_that_is_enough_again_resolves(tmp_path):
    story = [mounted("1"), series(SECONDS, growing(0.5, 15, then_minutes=15), **CONNECTION)]

    assert play(tmp_path, story, [expect("21m", "IoplateauNfsWithoutNconnect")]) == ""


STALLED = {"kind": "volume", "name": "/mnt/a", "verdict": "stalled"}


def stalled(values):
    return [mounted("4"), series("ioplateau_budget_verdict", values, **STALLED)]


def test_a_server_that_does_not_answer_is_told(tmp_path):
    expected = alert(
        VM | STALLED | OF_VOLUME | {"severity": "critical", "scope": "volume"},
        "The NFS server 10.0.0.4 does not answer vm1:10049",
        "Calls of vm1:10049 to 10.0.0.4:/vol1 (mounted at /mnt/a) have had no answer for more than a "
        "minute: a stall of server or network, not throttling. Processes hang until it answers.",
        MOUNT_BOARD,
        "nfs-server-not-answering",
    )

    assert (
        play(
            tmp_path,
            stalled("0x4 1x40"),
            [expect("4m", "IoplateauNfsServerNotAnswering", expected)],
        )
        == ""
    )


def test_one_answer_in_the_middle_of_a_stall_does_not_end_it(tmp_path):
    name = "IoplateauNfsServerNotAnswering"
    expected = alert(
        VM | STALLED | OF_VOLUME | {"severity": "critical", "scope": "volume"},
        "The NFS server 10.0.0.4 does not answer vm1:10049",
        "Calls of vm1:10049 to 10.0.0.4:/vol1 (mounted at /mnt/a) have had no answer for more than a "
        "minute: a stall of server or network, not throttling. Processes hang until it answers.",
        MOUNT_BOARD,
        "nfs-server-not-answering",
    )

    assert play(tmp_path, stalled("0x4 1x9 0 1x9 0 1x9"), [expect("7m", name, expected)]) == ""


def test_a_server_that_answers_thousands_of_calls_between_its_silences_answers(tmp_path):
    name = "IoplateauNfsServerNotAnswering"
    calls = "ioplateau_nfs_operations_total"
    each = {"mount": "/mnt/a", "operation": "WRITE"}
    slow = [*stalled("0x4 1x9 0 1x30"), series(calls, "0+5000x60", **each)]
    last = [*stalled("0x4 1x40"), series(calls, "0+5000x4 20000+1x40", **each)]
    elsewhere = [*stalled("0x4 1x40"), series(calls, "0+5000x60", **each | {"mount": "/mnt/b"})]

    assert play(tmp_path, slow, [expect("4m", name), expect("7m", name)]) == ""
    assert "does not answer" in play(tmp_path, last, [expect("5m", name)])
    assert "does not answer" in play(tmp_path, elsewhere, [expect("5m", name)])


NETWORKS = ("vnet-1", "vnet-2")
NFS_ALERTS = [
    ("IoplateauNfsServerNotAnswering", "critical", STALLED),
    ("IoplateauNfsWithoutNconnect", "warning", CONNECTION),
    ("IoplateauNfsConnectionThrottled", "warning", CONNECTION),
    ("IoplateauNfsVolumeThrottled", "warning", CONNECTION | {"kind": "volume"}),
    ("IoplateauNfsVolumeThrottled", "critical", CONNECTION | {"kind": "volume"}),
]


@pytest.mark.parametrize(("name", "severity", "budget"), NFS_ALERTS)
def test_two_vms_of_one_name_silence_nobody_and_each_hears_of_its_own_volume(
    tmp_path, name, severity, budget
):
    (rule,) = (one for one in ALERTS if (one.name, one.severity) == (name, severity))
    story, expected = [], []
    for network, server in zip((*NETWORKS, ""), ("10.1.0.4", "10.2.0.4", "10.0.0.4"), strict=True):
        where = {"network": network} if network else {"instance": "vm2:10049"}
        mount = MOUNT | {"server": server, "nconnect": "1", "address": server, "version": "3"}
        seconds = {key: budget[key] for key in budget if key != "verdict"}
        story += [
            series("ioplateau_nfs_mount_info", "1x200", **where, **mount),
            series("ioplateau_budget_verdict", "1x200", **where, **STALLED),
            series(SECONDS, growing(0.9, 30), **where, **seconds),
            series("ioplateau_budget_demand_ratio", "2x200", **where, **seconds),
        ]
        told = VM | where | budget | {"server": server, "export": "/vol1"}
        told["volume"] = f"{server}:/vol1"
        expected.append((labelled(told), 1))
    values = [value("20m", f"({rule.expr}) > bool 0", *expected)]

    assert play(tmp_path, story, values=values) == ""


REMOUNTED_AT = 80  # the scrape that first tells of the new server; the next is lost


@pytest.mark.parametrize(("name", "severity", "budget"), NFS_ALERTS)
def test_a_mount_of_another_server_counts_at_once_though_the_next_scrape_is_lost(
    tmp_path, name, severity, budget
):
    (rule,) = (one for one in ALERTS if (one.name, one.severity) == (name, severity))
    seconds = {key: budget[key] for key in budget if key != "verdict"}
    story = [
        *remounted({"nconnect": "1"}, {"nconnect": "1", "server": "10.0.0.5"}),
        series("ioplateau_budget_verdict", "1x200", **STALLED),
        series(SECONDS, growing(0.9, 50), **seconds),
        series("ioplateau_budget_demand_ratio", "2x200", **seconds),
    ]
    values = [
        value(
            f"{scrape * 15}s",
            f"group by (server, volume) (({rule.expr}) > bool 0)",
            (labelled({"server": server, "volume": f"{server}:/vol1"}), 1),
        )
        for scrape, server in (
            (REMOUNTED_AT - 1, "10.0.0.4"),
            (REMOUNTED_AT, "10.0.0.5"),
            (REMOUNTED_AT + 1, "10.0.0.5"),
            (REMOUNTED_AT + 2, "10.0.0.5"),
        )
    ]

    assert play(tmp_path, losing(story, {REMOUNTED_AT + 1}), values=values) == ""


def test_a_mount_with_more_connections_than_before_is_silent_at_once(tmp_path):
    story = [
        *remounted({"nconnect": "1"}, {"nconnect": "4"}),
        series(SECONDS, growing(0.9, 50), **CONNECTION),
    ]
    said = [expect(f"{REMOUNTED_AT * 15}s", "IoplateauNfsWithoutNconnect")]
    before = [expect(f"{REMOUNTED_AT * 15 - 15}s", "IoplateauNfsWithoutNconnect")]

    assert play(tmp_path, story, said) == ""
    assert "without nconnect" in play(tmp_path, story, before)


def remounted(before, after):
    """A mount whose description changes from one scrape to the next."""
    return [
        series("ioplateau_nfs_mount_info", values, **MOUNT | more)
        for values, more in (
            (f"1x{REMOUNTED_AT - 1} stale", before),
            (f"_x{REMOUNTED_AT} 1x100", after),
        )
    ]


def labelled(labels):
    inner = ", ".join(f'{key}="{text}"' for key, text in sorted(labels.items()))
    return f"{{{inner}}}"


def test_a_stall_of_half_a_minute_is_silent_and_an_ended_one_resolves(tmp_path):
    name = "IoplateauNfsServerNotAnswering"

    assert play(tmp_path, stalled("0x4 1x2 0x40"), [expect("2m", name), expect("4m", name)]) == ""
    assert play(tmp_path, stalled("0x4 1x20 0x40"), [expect("7m", name)]) == ""


def test_an_exporter_that_is_down_is_told(tmp_path):
    expected = alert(
        VM | WARNING,
        "ioplateau on vm1:10049 cannot be scraped",
        "Prometheus has not reached ioplateau on vm1:10049 for more than 3 minutes: of this VM nothing "
        "is known, throttling included. Its counters go on if only the network is gone.",
        "/d/ioplateau-fleet?var-instance=vm1%3A10049",
        "exporter-down",
    )

    assert (
        play(
            tmp_path, [series("up", "1x4 0x40")], [expect("6m", "IoplateauExporterDown", expected)]
        )
        == ""
    )


def test_two_lost_scrapes_are_silent_and_a_return_resolves(tmp_path):
    name = "IoplateauExporterDown"

    assert play(tmp_path, [series("up", "1x4 0x1 1x40")], [expect("5m", name)]) == ""
    assert play(tmp_path, [series("up", "1x4 0x20 1x40")], [expect("8m", name)]) == ""
    assert play(tmp_path, [series("up", "0x40", job="node")], [expect("8m", name)]) == ""


def ticking(ticks, interval="1"):
    return [
        series("ioplateau_ticks_total", ticks),
        series("ioplateau_sampling_interval_seconds", f"{interval}x100"),
    ]


def test_sampling_that_is_late_is_told(tmp_path):
    expected = alert(
        VM | WARNING,
        "ioplateau on vm1:10049 samples only 80% of the time",
        "ioplateau on vm1:10049 made 80% of the ticks it should have made in the last 5 minutes: the VM "
        "is starved of CPU, or a source takes longer than a tick. Short throttling may be missed.",
        VM_BOARD,
        "sampling-late",
    )

    assert (
        play(tmp_path, ticking("0+12x80"), [expect("15m", "IoplateauSamplingLate", expected)]) == ""
    )


def test_a_tick_left_out_now_and_then_is_silent_at_every_interval(tmp_path):
    never = [expect("15m", "IoplateauSamplingLate")]

    assert play(tmp_path, ticking("0+14x80"), never) == ""
    assert play(tmp_path, ticking("0+1.5x80", interval="10"), never) == ""


def test_sampling_in_time_again_resolves(tmp_path):
    assert (
        play(tmp_path, ticking("0+6x60 360+15x60"), [expect("22m", "IoplateauSamplingLate")]) == ""
    )


@pytest.mark.parametrize("scrapes", [1, 5, 10, 16, 19, 20, 28])
def test_a_reboot_or_stop_is_no_late_sampling(tmp_path, scrapes):
    """Of 15 s to 7 minutes. A scrape that fails ends the counter; the first after it sees 5 s of a new one."""
    story = ticking(f"0+15x40 stale _x{scrapes - 1} 5+15x80")
    never = [
        expect(f"{seconds}s", "IoplateauSamplingLate") for seconds in range(10 * 60, 27 * 60, 15)
    ]

    assert play(tmp_path, story, never) == ""


def test_an_exporter_that_starts_again_and_again_samples_late(tmp_path):
    story = ticking(" ".join(["5+15x4 stale _x1"] * 12))

    assert "samples only" in play(tmp_path, story, [expect("18m", "IoplateauSamplingLate")])


def test_sampling_that_is_late_after_a_reboot_is_told(tmp_path):
    story = ticking("0+15x40 stale _x4 5+12x80")

    assert "samples only 80%" in play(tmp_path, story, [expect("26m", "IoplateauSamplingLate")])


def source(values):
    return [series("ioplateau_source_up", values, source="mountstats")]


def test_a_source_that_fails_is_told(tmp_path):
    expected = alert(
        VM | WARNING | {"source": "mountstats"},
        "ioplateau on vm1:10049 cannot read mountstats",
        "For more than 5 minutes ioplateau on vm1:10049 could not read or understand its source "
        "mountstats; its log says why. What depends on it is unknown, not healthy.",
        VM_BOARD,
        "source-failing",
    )

    assert play(tmp_path, source("0x60"), [expect("10m", "IoplateauSourceFailing", expected)]) == ""


def test_a_source_that_fails_for_a_while_is_silent_and_resolves(tmp_path):
    name = "IoplateauSourceFailing"

    assert play(tmp_path, source("0x16 1x60"), [expect("4m", name), expect("10m", name)]) == ""
    assert play(tmp_path, source("0x40 1x60"), [expect("12m", name)]) == ""


def disk(name, origin, busy):
    return [
        series("ioplateau_budget_info", "1x700", kind="disk", name=name, origin=origin),
        series(
            "ioplateau_disk_operations_total", f"0+{busy * 15}x700", device=name, operation="read"
        ),
    ]


def test_busy_disks_and_volumes_without_a_known_limit_are_told(tmp_path):
    volume = [
        series("ioplateau_budget_info", "1x700", kind="volume", name="/mnt/a", origin=""),
        series("ioplateau_nfs_operations_total", "0+150x700", mount="/mnt/a", operation="READ"),
    ]
    expected = alert(
        VM | {"severity": "info", "scope": "vm"},
        "2 busy disks or volumes of vm1:10049 have no known limit",
        "2 disks or NFS volumes of vm1:10049 have carried I/O for an hour, and nobody says what they "
        "are allowed: only a plateau that is seen can be told, and no share of a limit. Name them in "
        "the configuration, or let the daemon ask the metadata service.",
        VM_BOARD,
        "limits-unknown",
    )
    story = [*disk("sda", "", 50), *disk("sdb", "configured", 50), *disk("sdc", "", 0.1), *volume]

    assert play(tmp_path, story, [expect("80m", "IoplateauLimitsUnknown", expected)]) == ""


def test_quiet_disks_and_known_limits_are_silent(tmp_path):
    story = [*disk("sdb", "catalogue", 50), *disk("sdc", "", 0.1)]

    assert play(tmp_path, story, [expect("80m", "IoplateauLimitsUnknown")]) == ""


def test_a_disk_that_was_resized_just_now_is_one_disk(tmp_path):
    grown = {"kind": "disk", "name": "sda", "origin": ""}
    story = [
        series("ioplateau_budget_info", "1x318 stale", **grown, size="1"),
        series("ioplateau_budget_info", "_x319 1x300", **grown, size="2"),
        series("ioplateau_disk_operations_total", "0+750x700", device="sda", operation="read"),
    ]
    told = play(tmp_path, story, [expect("80m", "IoplateauLimitsUnknown")])

    assert 'summary="1 busy disks' in told


def test_a_limit_that_becomes_known_resolves(tmp_path):
    story = [
        series("ioplateau_budget_info", "1x400 _x300", kind="disk", name="sda", origin=""),
        series(
            "ioplateau_budget_info", "_x400 1x300", kind="disk", name="sda", origin="configured"
        ),
        series("ioplateau_disk_operations_total", "0+750x700", device="sda", operation="read"),
    ]

    assert play(tmp_path, story, [expect("120m", "IoplateauLimitsUnknown")]) == ""


def test_what_is_kept_for_long_is_a_few_series_a_vm(tmp_path):
    budget = {"kind": "disk", "dimension": "iops", "direction": "total"}
    story = [
        series("ioplateau_budget_utilization_ratio", "0.5x40", name="sda", **budget),
        series("ioplateau_budget_utilization_ratio", "0.8x40", name="sdb", **budget),
        series(SECONDS, growing(0.5, 10), name="sdb", **budget),
    ]
    kept = '{instance="vm1:10049",job="ioplateau",kind="disk"}'
    values = [
        value("10m", "ioplateau:vm_utilization:max", (f"ioplateau:vm_utilization:max{kept}", 0.8)),
        value(
            "10m",
            "ioplateau:vm_throttled:ratio5m",
            (f"ioplateau:vm_throttled:ratio5m{kept}", 0.5),
        ),
    ]

    assert play(tmp_path, story, values=values) == ""
