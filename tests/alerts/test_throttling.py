"""Each throttling alert fires with its sentence, not on a near miss, and goes away again."""

from typing import NamedTuple

import pytest

from rule_stories import VM, alert, expect, growing, play, series

SECONDS = "ioplateau_budget_throttled_seconds_total"
HOLDS = "ioplateau_budget_throttled"
IOPS_LIMIT = "ioplateau_budget_limit_operations_per_second"
BYTES_LIMIT = "ioplateau_budget_limit_bytes_per_second"
MOUNT = {"mount": "/mnt/a", "server": "10.0.0.4", "export": "/vol1", "nconnect": "4"}
OF_VOLUME = {"server": "10.0.0.4", "export": "/vol1", "volume": "10.0.0.4:/vol1"}


class Case(NamedTuple):
    """One sort of budget: what the exporter says, and what people should hear."""

    alert: str
    budget: dict[str, str]
    limit: tuple[str, str]
    summary: str
    told: str
    advice: str
    board: str
    runbook: str
    more: dict[str, str] = {}  # noqa: RUF012 - a tuple's default


def of(kind, name, dimension, direction="total"):
    return {"kind": kind, "name": name, "dimension": dimension, "direction": direction}


SDA = of("disk", "sda", "iops")
CASES = [
    Case(
        "IoplateauDiskThrottled",
        of("disk", "sdc", "iops"),
        (IOPS_LIMIT, "500x200"),
        "Disk sdc of vm1:10049",
        "500 IOPS",
        "A larger or faster disk, or less I/O, lifts it.",
        "/d/ioplateau-disk?var-instance=vm1%3A10049&var-device=sdc",
        "disk-throttled",
    ),
    Case(
        "IoplateauDiskThrottled",
        of("stripe", "md0", "throughput", "write"),
        (BYTES_LIMIT, "2e8x200"),
        "Disk md0 of vm1:10049",
        "200 MB/s (write)",
        "A larger or faster disk, or less I/O, lifts it.",
        "/d/ioplateau-disk?var-instance=vm1%3A10049&var-device=md0",
        "disk-throttled",
    ),
    Case(
        "IoplateauVmUncachedThrottled",
        of("vm_uncached", "vm", "iops"),
        (IOPS_LIMIT, "6400x200"),
        "vm1:10049, its disks together",
        "6400 IOPS",
        "A larger VM size lifts it (on Azure host caching, too), a faster disk does not.",
        "/d/ioplateau-vm?var-instance=vm1%3A10049",
        "vm-throttled",
    ),
    Case(
        "IoplateauVmCachedThrottled",
        of("vm_cached", "vm", "throughput"),
        (BYTES_LIMIT, "64e6x200"),
        "vm1:10049, cached disks together",
        "64 MB/s",
        "A larger VM size or caching fewer disks lifts it.",
        "/d/ioplateau-vm?var-instance=vm1%3A10049",
        "vm-throttled",
    ),
    Case(
        "IoplateauVmNetworkThrottled",
        of("vm_network", "vm", "throughput", "write"),
        (BYTES_LIMIT, "125e6x200"),
        "vm1:10049, network",
        "125 MB/s (write)",
        "A larger VM size or less traffic lifts it; NFS writes go over it too.",
        "/d/ioplateau-vm?var-instance=vm1%3A10049",
        "vm-network-throttled",
    ),
    Case(
        "IoplateauNfsVolumeThrottled",
        of("volume", "/mnt/a", "throughput"),
        (BYTES_LIMIT, "1e7x200"),
        "NFS volume 10.0.0.4:/vol1 at /mnt/a of vm1:10049",
        "10 MB/s",
        "More quota or a higher service level of the volume lifts it, or less I/O of any of its clients.",
        "/d/ioplateau-nfs?var-instance=vm1%3A10049&var-mount=%2Fmnt%2Fa",
        "nfs-volume-throttled",
        OF_VOLUME,
    ),
    Case(
        "IoplateauNfsSlotsThrottled",
        of("nfs_slots", "/mnt/a", "slots"),
        ("ioplateau_budget_limit_slots", "2x200"),
        "The NFS client behind /mnt/a of vm1:10049",
        "2 slots",
        "NFSv3 and v4.0: more RPC slots or connections (nconnect) lift it; v4.1 and newer: more session "
        "slots (nfs.max_session_slots), as far as the server gives them.",
        "/d/ioplateau-nfs?var-instance=vm1%3A10049&var-mount=%2Fmnt%2Fa",
        "nfs-slots-throttled",
    ),
    Case(
        "IoplateauNfsConnectionThrottled",
        of("nfs_connection", "/mnt/a", "throughput"),
        (BYTES_LIMIT, "2.5e8x200"),
        "A single NFS connection behind /mnt/a of vm1:10049",
        "250 MB/s",
        "More connections (nconnect) lift it.",
        "/d/ioplateau-nfs?var-instance=vm1%3A10049&var-mount=%2Fmnt%2Fa",
        "nfs-connection-throttled",
        OF_VOLUME,
    ),
    Case(
        "IoplateauCgroupThrottled",
        of("cgroup", "/system.slice/backup.service", "iops"),
        (IOPS_LIMIT, "100x200"),
        "The control group /system.slice/backup.service of vm1:10049",
        "100 IOPS",
        "Its own block limit (io.max) on this machine lifts it, no size of disk or VM does.",
        "/d/ioplateau-vm?var-instance=vm1%3A10049",
        "cgroup-throttled",
    ),
]
ALERTS = dict.fromkeys(case.alert for case in CASES)
WITHOUT_DEMAND = {"nfs_slots", "cgroup"}  # tests/judge/test_slots.py, test_groups.py
WARNING_ONLY = WITHOUT_DEMAND | {"nfs_connection"}  # whose limit is always learned


def world(seconds, demand=None):
    """What the exporter exposes while every counter of throttled seconds goes like this."""
    told = [series("ioplateau_nfs_mount_info", "1x200", **MOUNT)]
    for case in CASES:
        metric, values = case.limit
        told.append(series(SECONDS, seconds, **case.budget))
        told.append(series(metric, values, **case.budget))
        told.append(series(HOLDS, "1x200", **case.budget))
        if demand is not None and case.budget["kind"] not in WITHOUT_DEMAND:
            told.append(series("ioplateau_budget_demand_ratio", f"{demand}x200", **case.budget))
    return told


def all_of(at, *stories, demand=""):
    """At that time every case fires as each of the stories says it: (severity, words), with what is said of
    its demand where it has one.
    """
    return [
        expect(
            at,
            name,
            *(
                firing(
                    case,
                    severity,
                    words if case.budget["kind"] in WITHOUT_DEMAND else f"{words}{demand}",
                )
                for case in CASES
                if case.alert == name
                for severity, words in stories
                if severity == "warning" or case.budget["kind"] not in WARNING_ONLY
            ),
        )
        for name in ALERTS
    ]


def none_of(*times):
    return [expect(at, name) for name in ALERTS for at in times]


def firing(case, severity, words):
    labels = VM | case.budget | case.more | {"severity": severity}
    labels["scope"] = "volume" if case.budget["kind"] == "volume" else "vm"
    how = "held back" if severity == "warning" else "held back hard"
    return alert(
        labels,
        f"{case.summary}: {how} by the {case.budget['dimension']} limit",
        f"{case.summary} was held at its limit of {case.told} {words} {case.advice}",
        case.board,
        case.runbook,
    )


WAITING = "for 60% of the last 5 minutes; requests wait behind it."
TWICE = " Requests take about 2.3 times as long as when none waits."


def test_each_fires_with_its_sentence(tmp_path):
    expected = all_of("10m", ("warning", WAITING))

    assert play(tmp_path, world(growing(0.6, 20)), expected) == ""


def test_the_limit_that_is_told_is_the_one_that_held(tmp_path):
    name = "IoplateauDiskThrottled"
    held = [series(SECONDS, "0x8 0+15x12 180x40", **SDA), series(HOLDS, "0x8 1x11 0x40", **SDA)]
    credit_is_back = [*held, series(IOPS_LIMIT, "500x20 3500x40", **SDA)]
    exporter_is_gone = [
        series(SECONDS, "0+15x24 stale", **SDA),
        series(HOLDS, "1x24 stale", **SDA),
        series(IOPS_LIMIT, "500x24 stale", **SDA),
    ]

    assert "was held at its limit of 500 IOPS for" in play(
        tmp_path, credit_is_back, [expect("6m", name)]
    )
    assert "was held at its limit of 500 IOPS for" in play(
        tmp_path, exporter_is_gone, [expect("7m", name)]
    )


def test_a_sentence_without_a_limit_is_one_too(tmp_path):
    story = [series(SECONDS, growing(0.6, 20), **SDA)]

    assert "was held at its limit for 60% of the last 5 minutes" in play(
        tmp_path, story, [expect("10m", "IoplateauDiskThrottled")]
    )


def test_a_client_whose_first_mount_is_unmounted_has_an_alert_without_a_volume(tmp_path):
    case = next(each for each in CASES if each.alert == "IoplateauNfsConnectionThrottled")
    metric, values = case.limit
    story = [
        series(SECONDS, growing(0.6, 20), **case.budget),
        series(metric, values, **case.budget),
        series(HOLDS, "1x200", **case.budget),
    ]
    expected = expect("10m", case.alert, firing(case._replace(more={}), "warning", WAITING))

    assert play(tmp_path, story, [expected]) == ""


def test_a_near_miss_is_silent(tmp_path):
    assert play(tmp_path, world(growing(0.19, 20)), none_of("6m", "10m", "18m")) == ""


def test_a_little_more_than_a_fifth_of_the_time_is_told(tmp_path):
    expected = all_of("10m", ("warning", WAITING.replace("60%", "21%")))

    assert play(tmp_path, world(growing(0.21, 20)), expected) == ""


def test_each_resolves_when_the_limit_lets_go(tmp_path):
    assert play(tmp_path, world(growing(0.6, 10, then_minutes=10)), none_of("16m")) == ""


def test_much_more_demand_for_long_is_critical(tmp_path):
    more = "for 60% of the last 15 minutes, and requests take much longer for it."
    expected = all_of("25m", ("warning", WAITING), ("critical", more), demand=TWICE)

    # What was asked for before these 15 minutes is not told.
    assert play(tmp_path, world(growing(0.6, 30), demand="9x38 2.3"), expected) == ""


def test_a_little_more_than_half_of_the_time_with_a_little_more_demand_is_critical(tmp_path):
    at_limit = WAITING.replace("60%", "51%")
    more = "for 51% of the last 15 minutes, and requests take much longer for it."
    words = " Requests take about 1.6 times as long as when none waits."
    expected = all_of("25m", ("warning", at_limit), ("critical", more), demand=words)

    assert play(tmp_path, world(growing(0.51, 30), demand=1.6), expected) == ""


def test_for_long_but_with_little_more_demand_is_not_critical(tmp_path):
    words = " Requests take about 1.4 times as long as when none waits."
    expected = all_of("25m", ("warning", WAITING), demand=words)

    assert play(tmp_path, world(growing(0.6, 30), demand=1.4), expected) == ""


def test_less_than_half_of_the_time_is_not_critical(tmp_path):
    expected = all_of("25m", ("warning", WAITING.replace("60%", "49%")), demand=TWICE)

    assert play(tmp_path, world(growing(0.49, 30), demand=2.3), expected) == ""


def test_two_limits_that_take_turns_are_critical_together(tmp_path):
    """A disk at its IOPS limit and at its MB/s limit by turns is held all the time."""
    bytes_limit = SDA | {"dimension": "throughput"}
    story = [
        each
        for budget in (SDA, bytes_limit)
        for each in (
            series(SECONDS, growing(0.45, 30), **budget),
            series(HOLDS, "1x200", **budget),
            series("ioplateau_budget_demand_ratio", "2.3x200", **budget),
        )
    ]

    said = play(tmp_path, story, [expect("25m", "IoplateauDiskThrottled")])

    assert said.count('severity="critical"') == 2
    assert "for 45% of the last 15 minutes, and requests take much longer" in said


def test_so_are_reads_and_writes_of_a_network_that_take_turns(tmp_path):
    network = next(case.budget for case in CASES if case.alert == "IoplateauVmNetworkThrottled")
    story = [
        each
        for budget in (network | {"direction": "read"}, network | {"direction": "write"})
        for each in (
            series(SECONDS, growing(0.3, 30), **budget),
            series("ioplateau_budget_demand_ratio", "2.3x200", **budget),
        )
    ]

    said = play(tmp_path, story, [expect("25m", "IoplateauVmNetworkThrottled")])

    assert said.count('severity="critical"') == 2


def test_a_learned_limits_time_makes_no_told_one_critical(tmp_path):
    bytes_limit = SDA | {"dimension": "throughput"}
    story = [
        series(SECONDS, growing(0.3, 30), **SDA),
        series(SECONDS, growing(0.6, 30), **bytes_limit),
        series("ioplateau_budget_learned_confidence_ratio", "0.7x200", **bytes_limit),
        *[
            series("ioplateau_budget_demand_ratio", "2.3x200", **budget)
            for budget in (SDA, bytes_limit)
        ],
    ]

    said = play(tmp_path, story, [expect("25m", "IoplateauDiskThrottled")])

    assert said.count('severity="warning"') == 2
    assert 'severity="critical"' not in said


def test_critical_resolves_when_the_limit_lets_go(tmp_path):
    story = world(growing(0.6, 25, then_minutes=15), demand=2.3)

    assert play(tmp_path, story, none_of("38m")) == ""


def test_critical_ends_with_its_warning(tmp_path):
    """Not when it has no longer held for half of 15 minutes, which is 7 minutes after its end."""
    story = world(growing(1, 20, then_minutes=15), demand=2.3)
    said = play(tmp_path, story, [expect("23m30s", "IoplateauDiskThrottled")])

    assert 'severity="critical"' in said
    assert play(tmp_path, story, none_of("24m30s")) == ""


def test_of_two_limits_the_one_that_still_holds_is_critical(tmp_path):
    bytes_limit = SDA | {"dimension": "throughput"}
    story = [
        series(SECONDS, growing(1, 15, then_minutes=10), **SDA),
        series(SECONDS, "0x59 0+15x40", **bytes_limit),
        *[
            series("ioplateau_budget_demand_ratio", "2.3x200", **budget)
            for budget in (SDA, bytes_limit)
        ],
    ]

    said = play(tmp_path, story, [expect("20m30s", "IoplateauDiskThrottled")])

    assert said.count('severity="critical"') == 1
    assert "held back hard by the throughput limit" in said


def learned(confidence, times=200):
    """Every limit was found by its plateau, and nobody told it."""
    return [
        series(
            "ioplateau_budget_learned_confidence_ratio",
            f"{confidence}x{times - 1} stale",
            **case.budget,
        )
        for case in CASES
    ]


def test_a_learned_limit_warns_with_its_confidence_and_is_never_critical(tmp_path):
    words = f"(learned from its plateau, confidence 75%) {WAITING}"
    expected = all_of("25m", ("warning", words), demand=TWICE)
    story = [*world(growing(0.6, 30), demand=2.3), *learned(0.75)]

    assert play(tmp_path, story, expected) == ""


def test_a_learned_limit_is_never_critical_after_its_load_either(tmp_path):
    story = [*world(growing(0.9, 20, then_minutes=20), demand=2.3), *learned(0.75, times=80)]
    minutes = [f"{minute}m" for minute in range(26, 35)]

    assert play(tmp_path, story, none_of(*minutes)) == ""


def test_a_demand_that_is_only_known_to_be_large_is_said_so(tmp_path):
    words = " Requests take more than 10 times as long as when none waits."
    expected = all_of("10m", ("warning", WAITING), demand=words)

    assert play(tmp_path, world(growing(0.6, 20), demand=33), expected) == ""


def test_one_lost_scrape_changes_nothing(tmp_path):
    expected = all_of("7m", ("warning", WAITING))

    assert play(tmp_path, world("0+9x25 _ 243+9x20"), expected) == ""


CREDIT = "ioplateau_budget_burst_exhaustion_seconds"


def credit_world(values):
    return [series(CREDIT, values, **SDA), series(IOPS_LIMIT, "3500x60", **SDA)]


def test_credit_that_will_be_gone_soon_is_told(tmp_path):
    expected = alert(
        VM | SDA | {"severity": "warning", "scope": "vm"},
        "disk sda of vm1:10049 will have used up its burst credit in 5m 0s",
        "At the present rate the burst credit of disk sda of vm1:10049 (iops) is gone in 5m 0s; then "
        "its limit, now 3500 IOPS, falls to the base.",
        "/d/ioplateau-vm?var-instance=vm1%3A10049",
        "burst-credit-low",
    )

    assert (
        play(
            tmp_path,
            credit_world("900-15x55"),
            [expect("10m", "IoplateauBurstCreditLow", expected)],
        )
        == ""
    )


def test_credit_for_longer_than_a_quarter_of_an_hour_or_none_left_is_silent(tmp_path):
    never = [expect("10m", "IoplateauBurstCreditLow")]

    assert play(tmp_path, credit_world("901x60"), never) == ""
    assert play(tmp_path, credit_world("0x60"), never) == ""


def test_credit_that_is_no_longer_used_up_resolves(tmp_path):
    story = credit_world("300x20 _x40")

    assert play(tmp_path, story, [expect("14m", "IoplateauBurstCreditLow")]) == ""


def gusts(level, minutes):
    """Seconds to empty and credit under a load that comes and goes each 15 s, and uses up 2 % a minute."""
    left = [
        f"{level - 0.02 * minute:g} {level - 0.02 * minute - 0.02:g}" for minute in range(minutes)
    ]
    return "300 stale " * 2 * minutes, " ".join(pair + " " + pair for pair in left)


def ends_of_minutes(minutes):
    return [expect(f"{minute}m", "IoplateauBurstCreditLow") for minute in range(minutes)]


def credit_story(seconds, ratio):
    return [*credit_world(seconds), series("ioplateau_budget_burst_credit_ratio", ratio, **SDA)]


def test_credit_that_gusts_use_up_is_told_as_one_that_is_used_up_steadily(tmp_path):
    few, many = gusts(0.4, 18), gusts(0.9, 18)
    told = play(tmp_path, credit_story(*few), [expect("17m", "IoplateauBurstCreditLow")])

    assert "will have used up its burst credit in 5m 0s" in told
    assert play(tmp_path, credit_story(*many), ends_of_minutes(18)) == ""


def test_credit_that_gusts_used_up_and_a_pause_fills_resolves(tmp_path):
    seconds, ratio = gusts(0.4, 15)
    story = credit_story(seconds, f"{ratio} 0.12+0.005x60")

    assert "5m 0s" in play(tmp_path, story, [expect("14m", "IoplateauBurstCreditLow")])
    assert play(tmp_path, story, [expect("22m", "IoplateauBurstCreditLow")]) == ""


def test_one_gust_that_takes_a_quarter_of_all_credit_is_silent(tmp_path):
    story = credit_story("_x19 200 150 stale", "1x19 0.87 0.75 0.755+0.001x60")

    assert play(tmp_path, story, ends_of_minutes(20)) == ""


HELD = "ioplateau_budget_held_ratio"


def test_a_plateau_below_what_was_sold_is_told(tmp_path):
    expected = alert(
        VM | SDA | {"severity": "warning", "scope": "vm"},
        "disk sda of vm1:10049 is held at 60% of the limit we know of",
        "disk sda of vm1:10049 plateaus (iops) at 60% of the limit that configuration, provider or "
        "catalogue names: it has another tier than we believe, its limit was lowered, or something "
        "else holds it.",
        "/d/ioplateau-vm?var-instance=vm1%3A10049",
        "limit-below-sold",
    )
    for share in (0.8, 0.21):
        story = [series(HELD, "0.6x120", **SDA), series(SECONDS, growing(share, 30), **SDA)]

        assert play(tmp_path, story, [expect("25m", "IoplateauLimitBelowSold", expected)]) == ""


def test_a_plateau_a_little_below_or_rarely_met_is_silent(tmp_path):
    a_little = [series(HELD, "0.81x120", **SDA), series(SECONDS, growing(0.8, 30), **SDA)]
    rarely = [series(HELD, "0.6x120", **SDA), series(SECONDS, growing(0.19, 30), **SDA)]
    never = [expect("25m", "IoplateauLimitBelowSold")]

    assert play(tmp_path, a_little, never) == ""
    assert play(tmp_path, rarely, never) == ""


def test_a_clients_share_of_a_full_volume_is_not_below_what_was_sold(tmp_path):
    share = {"instance": "vm1:10049", "kind": "volume", "name": "/mnt/a"}
    share |= {"dimension": "throughput", "direction": "total"}
    story = [series(HELD, "0.1x120", **share), series(SECONDS, growing(0.8, 30), **share)]

    assert play(tmp_path, story, [expect("25m", "IoplateauLimitBelowSold")]) == ""


def test_a_plateau_that_is_left_resolves(tmp_path):
    story = [
        series(HELD, "0.6x80 _x80", **SDA),
        series(SECONDS, growing(0.8, 20, then_minutes=20), **SDA),
    ]

    assert play(tmp_path, story, [expect("38m", "IoplateauLimitBelowSold")]) == ""


def test_who_draws_most_is_named_where_it_is_told(tmp_path):
    consumer = "ioplateau_budget_consumer_bytes_per_second"
    told = world(growing(0.6, 20))
    for budget in {(case.budget["kind"], case.budget["name"]) for case in CASES}:
        of_budget = dict(zip(("kind", "name"), budget, strict=True))
        told += [
            series(consumer, "9e6x200", **of_budget, cgroup="/db", unit="postgresql.service"),
            series(consumer, "1e6x200", **of_budget, cgroup="/batch"),
        ]
    expected = all_of("10m", ("warning", f"{WAITING} Most I/O by postgresql.service."))

    assert play(tmp_path, told, expected) == ""


@pytest.mark.parametrize(
    ("cgroup", "said"), [("/", "the root control group"), ("/batch", "/batch")]
)
def test_a_group_without_a_unit_is_named_as_on_the_page(tmp_path, cgroup, said):
    of_budget = {key: SDA[key] for key in ("kind", "name")}
    story = [
        series(SECONDS, growing(1, 20), **SDA),
        series("ioplateau_budget_consumer_bytes_per_second", "9e6x80", **of_budget, cgroup=cgroup),
    ]

    assert f"Most I/O by {said}. A larger" in play(
        tmp_path, story, [expect("9m", "IoplateauDiskThrottled")]
    )


def drawing(what, values, unit, budget=SDA):
    of_budget = {key: budget[key] for key in ("kind", "name")}
    return series(f"ioplateau_budget_consumer_{what}_per_second", values, **of_budget, unit=unit)


def test_a_visitor_of_one_sample_does_not_draw_most(tmp_path):
    story = [
        series(SECONDS, growing(1, 20), **SDA),
        drawing("bytes", "150e6x80", "postgresql.service"),
        drawing("bytes", "_x22 180e6 stale", "logrotate.service"),
    ]

    assert "Most I/O by postgresql.service." in play(
        tmp_path, story, [expect("9m", "IoplateauDiskThrottled")]
    )


def test_at_a_limit_of_operations_who_makes_most_of_them_is_named(tmp_path):
    in_bytes = of("disk", "sda", "throughput")
    told = [
        drawing("bytes", "4e6x80", "postgresql.service"),
        drawing("operations", "480x80", "postgresql.service"),
        drawing("bytes", "20e6x80", "backup.service"),
        drawing("operations", "20x80", "backup.service"),
    ]
    expected = [expect("9m", "IoplateauDiskThrottled")]

    assert "Most I/O by postgresql.service." in play(
        tmp_path, [series(SECONDS, growing(1, 20), **SDA), *told], expected
    )
    assert "Most I/O by backup.service." in play(
        tmp_path, [series(SECONDS, growing(1, 20), **in_bytes), *told], expected
    )
