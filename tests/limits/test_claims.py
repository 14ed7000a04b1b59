"""Whose word on a limit holds, and what is said of the others."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.limits import claims as limits
from ioplateau.limits.budgets import Burst, Dimension, Direction, Limit, Origin
from ioplateau.limits.claims import ConfiguredLimit, DiskFact, Target, VolumeFact


def claim(value, origin=Origin.CATALOGUE, dimension=Dimension.IOPS, **more):
    return Limit(dimension, more.pop("direction", Direction.TOTAL), value, origin, **more)


def test_configuration_beats_the_catalogue_and_says_so():
    chosen, lost = limits.settle([claim(10_000, Origin.CONFIGURED), claim(12_800)])

    assert [limit.value for limit in chosen] == [10_000]
    assert lost[0][1] == "catalogue says 12,800, configuration says 10,000: 10,000"


@pytest.mark.parametrize("order", [1, -1])
def test_configured_beats_reported_beats_catalogue_beats_learned_in_any_order(order):
    claims = [claim(float(rank + 1), origin) for rank, origin in enumerate(Origin)][::order]
    held = []
    while claims:
        chosen, _ = limits.settle(claims)
        held.append(chosen[0].origin)
        claims.remove(chosen[0])

    assert held == [Origin.CONFIGURED, Origin.REPORTED, Origin.CATALOGUE, Origin.LEARNED]


def test_each_dimension_and_direction_is_settled_by_itself():
    chosen, lost = limits.settle(
        [
            claim(100),
            claim(5e6, dimension=Dimension.THROUGHPUT),
            claim(3e6, dimension=Dimension.THROUGHPUT, direction=Direction.READ),
            claim(90, Origin.CONFIGURED),
        ]
    )

    assert {(c.dimension, c.direction): c.value for c in chosen} == {
        (Dimension.IOPS, Direction.TOTAL): 90,
        (Dimension.THROUGHPUT, Direction.TOTAL): 5e6,
        (Dimension.THROUGHPUT, Direction.READ): 3e6,
    }
    assert len(lost) == 1


def test_a_configured_total_beats_what_was_sold_for_reads_and_writes_apart_and_says_so():
    total = claim(30_000, Origin.CONFIGURED)
    read, write = (claim(15_000, direction=way) for way in (Direction.READ, Direction.WRITE))
    data = claim(5e6, dimension=Dimension.THROUGHPUT, direction=Direction.WRITE)
    chosen, lost = limits.settle([read, write, data, total])

    assert set(chosen) == {total, data}
    assert dict(lost) == {
        read: "catalogue says 15,000 (read), configuration says 30,000 (total): 30,000 (total)",
        write: "catalogue says 15,000 (write), configuration says 30,000 (total): 30,000 (total)",
    }


def test_a_total_leaves_directions_that_were_configured_or_learned_and_a_sold_total_leaves_all():
    total = claim(30_000, Origin.CONFIGURED)
    said = claim(9000, Origin.CONFIGURED, direction=Direction.READ)
    met = claim(8000, Origin.LEARNED, direction=Direction.WRITE)
    sold = [claim(20_000), claim(15_000, direction=Direction.WRITE)]

    assert limits.settle([said, met, total]) == ((said, met, total), ())
    assert limits.settle(sold) == (tuple(sold), ())


def test_of_two_rules_of_the_configuration_the_later_holds():
    first, later = claim(100, Origin.CONFIGURED), claim(200, Origin.CONFIGURED)
    chosen, lost = limits.settle([first, later])

    assert chosen == (later,)
    assert lost == ((first, "configuration says 100, configuration says 200: 200"),)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_what_is_no_limit_is_ignored_and_named(value):
    chosen, lost = limits.settle([claim(value, Origin.CONFIGURED), claim(500)])

    assert [limit.value for limit in chosen] == [500]
    assert "that is no limit, ignored" in lost[0][1]


def test_a_burst_that_is_not_above_its_base_is_dropped_and_named():
    chosen, lost = limits.settle([claim(240_000, burst=Burst(205_000, 1.0))])

    assert chosen[0].burst is None
    assert lost[0][1] == "catalogue says burst 205,000, which is not above 240,000: no burst"


@pytest.mark.parametrize(
    ("dimension", "told", "met", "words"),
    [
        (Dimension.IOPS, 5000, 3200, ("5,000 IOPS", "3,200 IOPS")),
        (Dimension.THROUGHPUT, 200e6, 96e6, ("200.0 MB/s", "96.0 MB/s")),
        (Dimension.SLOTS, 64, 16, ("64 slots", "16 slots")),
    ],
)
def test_what_disagrees_with_a_limit_is_told_in_the_units_of_all_other_words(
    dimension, told, met, words
):
    known, learned = claim(told, dimension=dimension), claim(met, Origin.LEARNED, dimension)

    for said in (limits.doubt(known, learned), limits.outdone(known, met)):
        assert f"{words[1]}, but catalogue says {words[0]} (no source)" in said


def test_no_claim_is_no_limit():
    assert limits.settle([]) == ((), ())


def test_a_rule_states_a_limit_for_each_figure_it_names():
    rule = ConfiguredLimit(
        disk="sdc",
        iops=500,
        bytes_per_second=100e6,
        burst_iops=3500,
        burst_seconds=1800,
        source="config.toml limit[0]",
    )
    iops, throughput = limits.configured(rule)

    assert (iops.value, iops.burst) == (500, Burst(3500, 5_400_000))
    assert (throughput.value, throughput.burst) == (100e6, None)
    assert {iops.source, throughput.source} == {"config.toml limit[0]"}


def test_a_burst_without_a_duration_has_no_bucket():
    (iops,) = limits.configured(ConfiguredLimit(disk="sdc", iops=500, burst_iops=3500))

    assert iops.burst == Burst(3500, None)


@pytest.mark.parametrize(
    ("rule", "is_chosen"),
    [
        (ConfiguredLimit(disk="sdc"), True),
        (ConfiguredLimit(disk="sd?"), True),
        (ConfiguredLimit(disk="data-*"), True),
        (ConfiguredLimit(disk="SDC"), False),
        (ConfiguredLimit(lun=3), True),
        (ConfiguredLimit(lun=0), False),
        (ConfiguredLimit(serial="vol0*"), True),
        (DiskFact(lun=3, sku="Premium_LRS"), True),
        (VolumeFact(mount="/mnt/*"), True),
        (VolumeFact(volume="10.0.0.4:/vol1"), True),
        (VolumeFact(volume="10.0.0.5:*"), False),
        (VolumeFact(volume="10.0.0.4:/vol1/"), True),
        (ConfiguredLimit(mount="/srv/"), True),
        (ConfiguredLimit(mount="/mnt/*/"), True),
        (ConfiguredLimit(mount="/"), False),
        (ConfiguredLimit(vm="uncached"), False),
        (ConfiguredLimit(), False),
    ],
)
def test_a_selector_chooses_by_name_lun_serial_mount_or_volume(rule, is_chosen):
    target = Target(
        disks=("sdc", "data-lv"),
        lun=3,
        serial="vol0abc",
        mounts=("/mnt/a", "/srv"),
        volume="10.0.0.4:/vol1",
    )

    assert limits.selects(rule, target) is is_chosen


def test_a_slash_that_the_kernel_has_at_the_end_makes_no_other_volume_and_the_root_is_one():
    typed = Target(mounts=("/",), volume="10.0.0.4:/vol1/")

    assert limits.selects(VolumeFact(volume="10.0.0.4:/vol1"), typed)
    assert limits.selects(ConfiguredLimit(mount="/"), typed)


@pytest.mark.parametrize(
    ("rule", "near"),
    [
        (ConfiguredLimit(mount="mnt/data"), " (near it is '/mnt/data')"),
        (VolumeFact(volume="10.0.0.4:vol1"), " (near it is '10.0.0.4:/vol1')"),
        (ConfiguredLimit(disk="SDC"), " (near it is 'sdc')"),
        (ConfiguredLimit(disk="sdz"), ""),
        (ConfiguredLimit(lun=3), ""),
    ],
)
def test_of_a_rule_that_chooses_nothing_what_is_written_nearly_so_is_told(rule, near):
    here = Target(("sdc", ""), mounts=("/mnt/data",), volume="10.0.0.4:/vol1")

    assert f"now{near}; it applies" in limits.unmatched(rule, "disk", [here])
    assert " now; it applies" in limits.unmatched(rule, "disk", [])


def test_a_disk_without_a_serial_is_not_chosen_by_a_pattern_for_every_serial():
    assert not limits.selects(ConfiguredLimit(serial="*"), Target(disks=("sda",)))


@pytest.mark.parametrize(
    ("size", "counted"), [(4096, 1), (262_144, 1), (262_145, 2), (1 << 20, 4), (0, 1)]
)
def test_a_request_above_256_kib_counts_as_several(size, counted):
    assert limits.counted(size, 256 << 10) == counted


def test_an_hdd_volume_counts_in_mebibytes():
    assert limits.counted(1 << 20, 1 << 20) == 1


@given(st.lists(st.integers(512, 4 << 20), min_size=1, max_size=20))
def test_no_mix_of_sizes_counts_for_less_than_the_least(sizes):
    exactly = sum(limits.counted(size, 256 << 10) for size in sizes)

    assert limits.least_counted(len(sizes), sum(sizes), 256 << 10) <= exactly


@given(st.lists(st.sampled_from([4096, 65_536, 262_144]), min_size=1, max_size=20))
def test_small_requests_count_exactly(sizes):
    assert limits.least_counted(len(sizes), sum(sizes), 256 << 10) == len(sizes)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=20))
def test_requests_of_whole_units_count_exactly(units):
    sizes = [count * (256 << 10) for count in units]

    assert limits.least_counted(len(sizes), sum(sizes), 256 << 10) == sum(units)


def test_a_rule_for_the_vm_chooses_no_disk_and_no_volume():
    rule = ConfiguredLimit(vm="uncached", iops=12_800)

    assert not limits.selects(rule, Target(disks=("sda",)))
    assert not limits.selects(rule, Target(mounts=("/data",), volume="fs:/vol"))
