"""A hundred clients of one volume: none at its limit alone, all together at the volume's."""

import re

import pytest

from boards_and_rules import ROOT
from rule_stories import alert, expect, growing, losing, play, series, value

CLIENTS = 100
VOLUME = {"server": "10.0.0.4", "export": "/vol1", "volume": "10.0.0.4:/vol1"}
MOUNT = {"mount": "/mnt/a", "server": "10.0.0.4", "export": "/vol1"}
BUDGET = {"kind": "volume", "name": "/mnt/a"}
LIMIT = {**BUDGET, "dimension": "throughput", "direction": "total"}
LIMIT_BYTES = 200e6
NAME = "IoplateauVolumeAtLimit"
BOARD = "/d/ioplateau-volume?var-volume=10.0.0.4%3A%2Fvol1"


def client(
    number,
    share,
    minutes=40,
    *,
    then_minutes=0,
    jobs=("ioplateau",),
    origin="configured",
    held=1,
    alone="",
):
    """One VM that reads so much of the volume's limit, and what its exporter tells of it."""
    told = []
    step = round(share * LIMIT_BYTES * 15)
    count = minutes * 4
    counter = f"0+{step}x{count} {step * count}+0x{then_minutes * 4}"
    for job in jobs:
        where = {"instance": f"vm{number:03}:10049", "job": job}
        told += [
            series("ioplateau_nfs_mount_info", "1x240", **where, **MOUNT),
            series(
                "ioplateau_nfs_payload_bytes_total",
                counter,
                **where,
                mount="/mnt/a",
                direction="read",
            ),
            series(
                "ioplateau_nfs_payload_bytes_total",
                "0x240",
                **where,
                mount="/mnt/a",
                direction="write",
            ),
            series(
                "ioplateau_budget_limit_info",
                "1x240",
                **where,
                **LIMIT,
                origin=origin,
                each_client=alone,
            ),
            series(
                "ioplateau_budget_limit_bytes_per_second",
                f"{LIMIT_BYTES * held:.0f}x240",
                **where,
                **LIMIT,
            ),
            series("ioplateau_budget_held_ratio", f"{held:g}x240", **where, **LIMIT),
            series("ioplateau_budget_throttled", "0x240", **where, **LIMIT),
        ]
    return told


def fleet(total, **changes):
    """A hundred clients that together take this share; the first takes a fifth of it."""
    first = client(0, total * 0.2, **changes)
    rest = [
        line
        for number in range(1, CLIENTS)
        for line in client(number, total * 0.8 / (CLIENTS - 1), **changes)
    ]
    return first + rest


def labels(severity):
    return {
        **VOLUME,
        "dimension": "throughput",
        "direction": "total",
        "severity": severity,
        "scope": "volume",
    }


def at_limit(share_of_time):
    return alert(
        labels("warning"),
        "NFS volume 10.0.0.4:/vol1 was at its limit: its clients together drew up to 196 MB/s of 200 MB/s",
        f"100 clients of 10.0.0.4:/vol1 together drew up to 196 MB/s of 200 MB/s, and were at the limit for "
        f"{share_of_time} of the last 5 minutes. vm000:10049 took 20% of it. More quota or a higher "
        "service level lifts it, or less I/O of its largest clients.",
        BOARD,
        "volume-at-limit",
    )


def recorded(name, **more):
    inner = ",".join(f'{key}="{text}"' for key, text in sorted({**VOLUME, **more}.items()))
    return f"{name}{{{inner}}}"


def test_a_hundred_clients_together_at_the_limit_are_one_alert(tmp_path):
    expected = [expect("15m", NAME, at_limit("100%"))]

    assert play(tmp_path, fleet(0.98), expected) == ""


def test_what_is_said_of_a_volume_with_one_client_speaks_of_one(tmp_path):
    said = play(tmp_path, [*client(0, 0.98), demanding(1.8)], [expect("18m", NAME)])

    told = "1 client of 10.0.0.4:/vol1 drew up to 196 MB/s of 200 MB/s, and was at the limit for"
    assert said.count(told) == 2  # warning, critical
    assert 'of 200 MB/s"' in said


def test_a_hundred_clients_together_a_little_below_are_silent(tmp_path):
    assert play(tmp_path, fleet(0.94), [expect("9m", NAME), expect("18m", NAME)]) == ""


def test_it_resolves_when_the_clients_stop(tmp_path):
    story = fleet(0.98, minutes=15, then_minutes=20)

    assert play(tmp_path, story, [expect("14m", NAME, at_limit("100%")), expect("22m", NAME)]) == ""


def test_what_is_told_is_what_was_drawn_while_it_was_full(tmp_path):
    told = play(tmp_path, fleet(0.98, minutes=4, then_minutes=20), [expect("7m", NAME)])

    assert "its clients together drew up to 196 MB/s of 200 MB/s" in told
    assert (
        "100 clients of 10.0.0.4:/vol1 together drew up to 196 MB/s of 200 MB/s, and were" in told
    )
    assert ".." not in told.split("description=")[1]


def test_the_sum_its_limit_and_the_shares_are_recorded(tmp_path):
    values = [
        value(
            "15m",
            'round(ioplateau:volume_bytes:rate1m{direction="total"} / 1e6)',
            (recorded("", direction="total"), 196),
        ),
        value(
            "15m",
            "ioplateau:volume_limit_bytes:max",
            (recorded("ioplateau:volume_limit_bytes:max", direction="total"), LIMIT_BYTES),
        ),
        value(
            "15m",
            "round(ioplateau:volume_utilization:ratio, 0.01)",
            (recorded("", direction="total", dimension="throughput"), 0.98),
        ),
        value(
            "15m",
            "ioplateau:volume_clients:count",
            (recorded("ioplateau:volume_clients:count"), CLIENTS),
        ),
        value(
            "15m",
            "round(topk(1, ioplateau:volume_client_share:ratio), 0.01)",
            (recorded("", instance="vm000:10049"), 0.2),
        ),
        value("15m", "round(sum(ioplateau:volume_client_share:ratio), 0.01)", ("{}", 1)),
    ]

    assert play(tmp_path, fleet(0.98), values=values) == ""


def test_who_is_held_back_for_how_long_and_asks_for_how_much_is_recorded_of_each_volume(tmp_path):
    story = []
    for number, mount, export in (
        (0, "/mnt/a", "/vol1"),
        (1, "/mnt/a", "/vol1"),
        (1, "/b", "/vol2"),
    ):
        at = {"instance": f"vm{number:03}:10049"}
        for server in ("10.0.0.4", "10.0.0.5"):
            path = f"{mount}/{server}"
            of = LIMIT | {"name": path}
            place = {"mount": path, "server": server, "export": export}
            story += [
                series("ioplateau_nfs_mount_info", "1x240", **at, **place),
                series("ioplateau_budget_throttled", f"{1 - number}x240", **at, **of),
                series("ioplateau_budget_throttled_seconds_total", growing(0.4, 40), **at, **of),
                series("ioplateau_budget_demand_ratio", "9x18 2x240", **at, **of),
            ]

    def each(name, of_first, of_others, *, by_client):
        found = []
        for number, export in ((0, "/vol1"), (1, "/vol1"), (1, "/vol2")):
            for server in ("10.0.0.4", "10.0.0.5"):
                told = {"server": server, "export": export, "volume": f"{server}:{export}"}
                told |= {"instance": f"vm{number:03}:10049"} if by_client else {}
                if by_client or (number, export) != (1, "/vol1"):
                    found.append((recorded(name, **told), of_others if number else of_first))
        return found

    throttled = "ioplateau:volume_throttled_clients:count"
    values = [
        value("20m", throttled, *each(throttled, 1, 0, by_client=False)),
        value(
            "20m",
            "round(ioplateau:nfs_client_throttled:ratio5m, 0.01)",
            *each("", 0.4, 0.4, by_client=True),
        ),
        value(
            "20m",
            "round(ioplateau:nfs_client_demand:ratio15m, 0.01)",
            *each("", 2, 2, by_client=True),
        ),
    ]

    assert play(tmp_path, story, values=values) == ""


def test_the_runbooks_query_shows_the_sums_and_the_limit(tmp_path):
    page = (ROOT / "docs/runbooks/volume-at-limit.md").read_text()
    query = re.search(r"Sum and limit:\n\n.*?'(.*)'", page)[1]
    values = [
        value(
            "15m",
            f"count by (__name__) ({query})",
            ("ioplateau:volume_bytes:rate1m", 3),  # read, write, both
            ("ioplateau:volume_limit_bytes:max", 1),
        )
    ]

    assert play(tmp_path, fleet(0.98), values=values) == ""


def test_a_vm_that_two_jobs_scrape_counts_once(tmp_path):
    twice = [
        line for number in range(10) for line in client(number, 0.05, jobs=("ioplateau", "again"))
    ]
    values = [
        value(
            "15m",
            'round(ioplateau:volume_bytes:rate1m{direction="total"} / 1e6)',
            (recorded("", direction="total"), 100),
        ),
        value(
            "15m",
            "ioplateau:volume_clients:count",
            (recorded("ioplateau:volume_clients:count"), 10),
        ),
    ]

    assert play(tmp_path, twice, values=values) == ""


def test_two_vms_of_one_name_with_two_volumes_at_one_place_are_left_out_and_end_nothing(tmp_path):
    twin = {"instance": "vm000:10049", "network": "vnet-2"}
    other = {"mount": "/mnt/a", "server": "10.9.0.4", "export": "/vol9"}
    story = [
        *client(0, 0.1),
        *client(1, 0.2),
        series("ioplateau_nfs_mount_info", "1x240", **twin, **other),
    ]
    values = [
        value(
            "15m",
            'round(ioplateau:volume_bytes:rate1m{direction="total"} / 1e6)',
            (recorded("", direction="total"), 40),
        ),
        value(
            "15m",
            "ioplateau:volume_limit_bytes:max",
            (recorded("ioplateau:volume_limit_bytes:max", direction="total"), LIMIT_BYTES),
        ),
    ]

    assert play(tmp_path, story, values=values) == ""


@pytest.mark.parametrize("server", ["10.0.0.5", "127.0.0.1"])
def test_a_volume_that_is_mounted_from_another_server_leaves_the_first_at_once(tmp_path, server):
    info = [one for one in client(0, 0.1) if "mount_info" in one["series"]]
    story = [
        *losing(info, range(80, 240)),
        *losing(
            [one | {"series": one["series"].replace("10.0.0.4", server)} for one in info],
            {*range(80), 81},
        ),
    ]
    after = [("10.0.0.5:/vol1", 1)] if server == "10.0.0.5" else []
    values = [
        value(
            f"{scrape * 15}s",
            "group by (volume) (ioplateau:nfs_mount_volume:info)",
            *((f'{{volume="{volume}"}}', one) for volume, one in told),
        )
        for scrape, told in ((79, [("10.0.0.4:/vol1", 1)]), (80, after), (81, after), (82, after))
    ]

    assert play(tmp_path, story, values=values) == ""


@pytest.mark.parametrize("server", ["127.0.0.1", "127.0.0.2", "[::1]", "::1", "localhost"])
def test_what_is_mounted_through_a_proxy_of_the_machine_is_no_volume_of_the_fleet(tmp_path, server):
    story = [
        one | {"series": one["series"].replace("10.0.0.4", server)}
        for number in range(2)
        for one in client(number, 0.6)
    ]
    values = [value("15m", "ioplateau:volume_bytes:rate1m")]

    assert play(tmp_path, story, [expect("15m", NAME)], values) == ""


def test_two_superblocks_of_one_volume_in_a_vm_are_added(tmp_path):
    where = {"instance": "vm000:10049"}
    second = {"mount": "/mnt/b", "server": "10.0.0.4", "export": "/vol1"}
    story = [
        *client(0, 0.2),
        series("ioplateau_nfs_mount_info", "1x240", **where, **second),
        series(
            "ioplateau_nfs_payload_bytes_total",
            "0+300000000x160",
            **where,
            mount="/mnt/b",
            direction="read",
        ),
    ]
    values = [
        value(
            "15m",
            'round(ioplateau:volume_bytes:rate1m{direction="total"} / 1e6)',
            (recorded("", direction="total"), 60),
        )
    ]

    assert play(tmp_path, story, values=values) == ""


def test_two_exports_of_a_server_are_two_volumes(tmp_path):
    where = {"instance": "vm000:10049"}
    other = {"mount": "/mnt/b", "server": "10.0.0.4", "export": "/vol2"}
    story = [
        *client(0, 0.2),
        series("ioplateau_nfs_mount_info", "1x240", **where, **other),
        series(
            "ioplateau_nfs_payload_bytes_total",
            "0+15000000x160",
            **where,
            mount="/mnt/b",
            direction="read",
        ),
    ]
    other_volume = '{direction="total",export="/vol2",server="10.0.0.4",volume="10.0.0.4:/vol2"}'
    values = [
        value(
            "15m",
            'round(ioplateau:volume_bytes:rate1m{direction="total"} / 1e6)',
            (recorded("", direction="total"), 40),
            (other_volume, 1),
        )
    ]

    assert play(tmp_path, story, values=values) == ""


def test_a_limit_that_a_client_learned_is_not_the_volumes(tmp_path):
    story = client(0, 0.5, origin="learned")

    assert play(tmp_path, story, values=[value("15m", "ioplateau:volume_limit_bytes:max")]) == ""


def test_a_limit_that_a_client_learned_is_not_the_volumes_beside_one_that_was_told(tmp_path):
    operations = {**BUDGET, "dimension": "iops", "direction": "total"}
    story = []
    for number in range(20):
        where = {"instance": f"vm{number:03}:10049"}
        story += [
            *client(number, 0.06, origin="learned"),
            series(
                "ioplateau_budget_info", "1x240", **where, **BUDGET, origin="configured,learned"
            ),
            series(
                "ioplateau_budget_limit_operations_per_second", "1e5x240", **where, **operations
            ),
            series(
                "ioplateau_budget_limit_info", "1x240", **where, **operations, origin="configured"
            ),
        ]
    values = [value("15m", "ioplateau:volume_limit_bytes:max")]

    assert play(tmp_path, story, [expect("15m", NAME)], values) == ""


def test_what_each_client_may_do_alone_is_not_the_volumes_limit(tmp_path):
    story = [
        line
        for number in range(2)
        for line in client(number, 0.7, origin="catalogue", alone="true")
    ]
    values = [value("15m", "ioplateau:volume_limit_bytes:max")]

    assert play(tmp_path, story, [expect("15m", NAME)], values) == ""


BURST = "ioplateau_budget_burst_limit_bytes_per_second"
CREDIT = "ioplateau_budget_burst_credit_ratio"


def bursting(number, share, burst):
    where = {"instance": f"vm{number:03}:10049"}
    return [
        *client(number, share),
        series(BURST, f"{burst * LIMIT_BYTES:.0f}x240", **where, **LIMIT),
    ]


def test_a_volume_that_bursts_above_its_base_is_at_its_limit_at_its_burst_only(tmp_path):
    many = range(10)
    below = [line for number in many for line in bursting(number, 0.3, burst=4)]
    full = [line for number in many for line in bursting(number, 0.4, burst=4)]
    limit = (recorded("ioplateau:volume_limit_bytes:max", direction="total"), 4 * LIMIT_BYTES)
    values = [value("15m", "ioplateau:volume_limit_bytes:max", limit)]

    assert play(tmp_path, below, [expect("15m", NAME)], values) == ""
    assert "together drew up to 800 MB/s of 800 MB/s" in play(tmp_path, full, [expect("15m", NAME)])


def test_a_limit_whose_credit_is_counted_is_the_one_in_force(tmp_path):
    credit = series(CREDIT, "0.5x240", instance="vm000:10049", **LIMIT)
    limit = (recorded("ioplateau:volume_limit_bytes:max", direction="total"), LIMIT_BYTES)
    values = [value("15m", "ioplateau:volume_limit_bytes:max", limit)]

    assert play(tmp_path, [*bursting(0, 0.5, burst=4), credit], values=values) == ""


def test_a_share_that_every_client_is_held_at_is_not_the_volumes_limit(tmp_path):
    story = [line for number in range(2) for line in client(number, 0.5, held=0.5)]
    whole = (recorded("ioplateau:volume_limit_bytes:max", direction="total"), LIMIT_BYTES)
    values = [value("15m", "ioplateau:volume_limit_bytes:max", whole)]

    assert play(tmp_path, story, values=values) == ""


def test_operations_are_added_and_held_against_their_limit(tmp_path):
    where = {"instance": "vm000:10049"}
    limit = {**BUDGET, "dimension": "iops", "direction": "total"}
    calls = "ioplateau_nfs_operations_total"
    story = [
        *client(0, 0.1),
        series(calls, "0+1500x160", **where, mount="/mnt/a", operation="READ"),
        series(calls, "0+750x160", **where, mount="/mnt/a", operation="WRITE"),
        series(calls, "0+9000x160", **where, mount="/mnt/a", operation="GETATTR"),
        series("ioplateau_budget_limit_operations_per_second", "300x160", **where, **limit),
        series("ioplateau_budget_limit_info", "1x160", **where, **limit, origin="reported"),
    ]
    values = [
        value(
            "15m",
            "round(ioplateau:volume_operations:rate1m)",
            (recorded("", direction="read"), 100),
            (recorded("", direction="total"), 150),
            (recorded("", direction="write"), 50),
        ),
        value(
            "15m",
            'round(ioplateau:volume_utilization:ratio{dimension="iops"}, 0.01)',
            (recorded("", direction="total", dimension="iops"), 0.5),
        ),
    ]

    assert play(tmp_path, story, values=values) == ""


def test_a_volume_that_is_read_with_read_plus_is_read(tmp_path):
    where = {"instance": "vm000:10049", "mount": "/mnt/a"}
    calls, times = "ioplateau_nfs_operations_total", "ioplateau_nfs_operation_execute_seconds_total"
    story = [
        *client(0, 0.1),
        series(calls, "0+750x160", **where, operation="READ"),
        series(calls, "0+1500x160", **where, operation="READ_PLUS"),
        series(times, "0+3x160", **where, operation="READ"),
        series(times, "0+6x160", **where, operation="READ_PLUS"),
    ]
    values = [
        value(
            "15m",
            "round(ioplateau:volume_operations:rate1m)",
            (recorded("", direction="read"), 150),
            (recorded("", direction="total"), 150),
        ),
        value(
            "15m",
            "round(ioplateau:nfs_client_await_seconds:mean1m, 0.001)",
            (recorded("", instance="vm000:10049"), 0.004),
        ),
    ]

    assert play(tmp_path, story, values=values) == ""


def demanding(ratio, number=0):
    where = {"instance": f"vm{number:03}:10049"}
    return series("ioplateau_budget_demand_ratio", f"{ratio}x240", **where, **LIMIT)


def test_a_full_volume_of_which_much_more_is_asked_is_critical(tmp_path):
    critical = alert(
        labels("critical"),
        "NFS volume 10.0.0.4:/vol1 was at its limit, and its clients wait long: up to 196 MB/s of 200 MB/s",
        "100 clients of 10.0.0.4:/vol1 together drew up to 196 MB/s of 200 MB/s, and were at the limit for 100% "
        "of the last 15 minutes, while requests take at least half as long again as when none waits. "
        "vm000:10049 took 20% of it.",
        BOARD,
        "volume-at-limit",
    )
    loud = [*fleet(0.98), demanding(1.8)]
    modest = [*fleet(0.98), demanding(1.4)]

    assert play(tmp_path, loud, [expect("18m", NAME, at_limit("100%"), critical)]) == ""
    assert play(tmp_path, modest, [expect("18m", NAME, at_limit("100%"))]) == ""


def test_critical_ends_five_minutes_after_the_volume_was_full(tmp_path):
    story = [*client(0, 0.98, minutes=20, then_minutes=20), demanding(1.8)]

    assert 'severity="critical"' in play(tmp_path, story, [expect("24m30s", NAME)])
    assert play(tmp_path, story, [expect("25m30s", NAME)]) == ""


def test_critical_ends_before_the_warning_that_it_silences(tmp_path):
    """Else Alertmanager would tell no end of the warning, and then none of its next ones for 12 hours."""
    story = [*client(0, 0.98, minutes=20, then_minutes=30), demanding(1.8)]
    critical, warning = (
        f'count(ALERTS{{alertname="{NAME}",alertstate="firing",severity="{severity}"}})'
        for severity in ("critical", "warning")
    )
    values = [value(f"{minute}m", f"{critical} unless {warning}") for minute in range(20, 46)]
    values += [value("39m", critical, ("{}", 1)), value("45m", warning)]

    assert play(tmp_path, story, [], values, kept=True) == ""


MOUNTED_AT = 40  # the tenth minute


def late(inputs):
    """The same, from the tenth minute on."""
    return [one | {"values": f"_x{MOUNTED_AT} {one['values']}"} for one in inputs]


def test_a_volume_that_is_full_from_its_first_sample_is_held_against_the_whole_window(tmp_path):
    story = late([*client(0, 0.98), demanding(1.8)])
    early = [expect("12m30s", NAME)]
    warned = play(tmp_path, story, [expect("17m", NAME)])
    paged = play(tmp_path, story, [expect("20m", NAME)])

    assert play(tmp_path, story, early) == ""
    assert 'severity="warning"' in warned
    assert 'severity="critical"' not in warned
    assert 'severity="critical"' in paged


def test_a_mount_of_a_minute_is_silent_after_it_too(tmp_path):
    story = losing(late([*client(0, 0.98), demanding(1.8)]), range(MOUNTED_AT + 6, 300))
    minutes = [expect(f"{minute}m", NAME) for minute in range(10, 18)]

    assert play(tmp_path, story, minutes) == ""


def test_a_volume_that_is_full_all_the_time_is_told_so_at_every_interval_of_evaluation(tmp_path):
    said = play(
        tmp_path,
        [*client(0, 0.49), *client(1, 0.49), demanding(1.8)],
        [expect("20m", NAME)],
        evaluated_each_seconds=60,
    )

    assert "were at the limit for 100% of the last 5 minutes" in said
    assert "were at the limit for 100% of the last 15 minutes" in said


ONE = "IoplateauVolumeHoldsOneClient"


def held(number, share, minutes=40, then_minutes=0):
    return series(
        "ioplateau_budget_throttled_seconds_total",
        growing(share, minutes, then_minutes),
        instance=f"vm{number:03}:10049",
        **LIMIT,
    )


def test_one_client_held_back_on_a_volume_that_is_not_full_is_told(tmp_path):
    expected = alert(
        {**VOLUME, "instance": "vm007:10049", "severity": "warning", "scope": "volume"},
        "Only vm007:10049 is held back on NFS volume 10.0.0.4:/vol1, which is not full",
        "vm007:10049 was held back on 10.0.0.4:/vol1 for 50% of the last 5 minutes, while all 100 clients "
        "together stay below 80 % of its limit and no other is held back: the server rations this "
        "client, clients that are not scraped take the rest, or its limit is lower than we believe.",
        BOARD,
        "volume-holds-one-client",
    )
    story = [*fleet(0.5, held=0.5), held(7, 0.5), held(8, 0.1)]

    assert play(tmp_path, story, [expect("14m", ONE, expected)]) == ""


def test_two_clients_held_back_or_a_full_volume_is_another_story(tmp_path):
    two = [*fleet(0.5, held=0.5), held(7, 0.5), held(8, 0.5)]
    full = [*fleet(0.9, held=0.5), held(7, 0.5)]

    assert play(tmp_path, two, [expect("14m", ONE)]) == ""
    assert play(tmp_path, full, [expect("14m", ONE)]) == ""


def test_a_volume_with_one_client_only_is_told_too(tmp_path):
    story = [*client(7, 0.5, held=0.5), held(7, 0.5)]
    done = play(tmp_path, story, [expect("14m", ONE)])

    assert "vm007:10049 was held back" in done
    assert "while all clients together stay below" in done


def test_a_client_held_at_the_base_of_a_burst_is_not_rationed(tmp_path):
    story = [*bursting(7, 1.0, burst=4), held(7, 0.9)]

    assert play(tmp_path, story, [expect("14m", ONE), expect("14m", NAME)]) == ""


def test_one_client_let_go_resolves(tmp_path):
    story = [*fleet(0.5, held=0.5), held(7, 0.5, 15, 15)]

    assert play(tmp_path, story, [expect("22m", ONE)]) == ""


FULL_FROM, FULL_MINUTES = 10, 12  # when, and for how long
OF_CLIENTS = [
    ("IoplateauNfsVolumeThrottled", "volume"),
    ("IoplateauNfsConnectionThrottled", "nfs_connection"),
]


@pytest.mark.parametrize("evaluated_each_seconds", [15, 30])
@pytest.mark.parametrize(("name", "kind"), OF_CLIENTS)
def test_a_full_volume_is_told_before_its_clients_tell_of_it_and_to_the_end(
    tmp_path, name, kind, evaluated_each_seconds
):
    """Else each client is heard: the volume's alert silences theirs, critical ones while it is critical."""
    full = [
        line
        for number in range(20)
        for line in (
            *client(number, 0.99 / 20, FULL_MINUTES, then_minutes=20),
            waiting(number, kind),
            demanding(3, number),
        )
    ]
    firing = 'ALERTS{alertname="%s",severity=~"%s",alertstate="firing"}'
    heard = " or ".join(
        f"({firing % (name, severity)} unless on (volume) {firing % (NAME, silencing)})"
        for severity, silencing in (("warning", ".+"), ("critical", "critical"))
    )
    severities = ["warning", "critical"] if kind == "volume" else ["warning"]
    values = [
        value(
            f"{FULL_FROM + FULL_MINUTES}m",
            f"count by (severity) ({firing % (name, '.+')})",
            *((f'{{severity="{severity}"}}', 20) for severity in severities),
        ),
        *(
            value(f"{seconds}s", heard)
            for seconds in range(FULL_FROM * 60, 35 * 60, evaluated_each_seconds)
        ),
    ]

    assert play(tmp_path, quiet_before(full), (), values, evaluated_each_seconds) == ""


def waiting(number, kind):
    return series(
        "ioplateau_budget_throttled_seconds_total",
        growing(1, FULL_MINUTES + 0.75, then_minutes=20),
        instance=f"vm{number:03}:10049",
        **LIMIT | {"kind": kind},
    )


def quiet_before(inputs):
    """The same, but counters stand still until the tenth minute."""
    still = f"0x{FULL_FROM * 4 - 1}"
    return [
        one | ({"values": f"{still} {one['values']}"} if "_total" in one["series"] else {})
        for one in inputs
    ]
