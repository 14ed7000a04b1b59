"""Shares of limits, peaks and counters."""

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.usage import FlowClock, Meter, WindowPeak, drawn, is_throttled_at
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Verdict,
    Word,
)

SDA, SDB = FlowKey("disk", "sda"), FlowKey("disk", "sdb")
VM = BudgetKey(Kind.VM_UNCACHED, "vm")


def tick(read=0.0, write=0.0):
    return FlowTick(1.0, read_operations_per_second=read, write_operations_per_second=write)


def test_a_budget_draws_what_its_members_draw():
    flows = {SDA: tick(read=100, write=10), SDB: tick(read=30)}
    budget = Budget(VM, (SDA, SDB))

    assert drawn(budget, flows, Dimension.IOPS, Direction.TOTAL) == 140
    assert drawn(budget, flows, Dimension.IOPS, Direction.READ) == 130
    assert drawn(budget, flows, Dimension.IOPS, Direction.WRITE) == 10


def test_reads_that_a_cache_may_answer_do_not_count_for_certain():
    flows = {SDA: tick(read=100, write=10)}

    assert (
        drawn(
            Budget(VM, (SDA,), skips_reads=frozenset({SDA})),
            flows,
            Dimension.IOPS,
            Direction.TOTAL,
        )
        == 10
    )


def test_where_nothing_counts_for_certain_nothing_is_known():
    both = frozenset({SDA})
    budget = Budget(VM, (SDA,), skips_reads=both, skips_writes=both)

    assert drawn(budget, {SDA: tick(read=100)}, Dimension.IOPS, Direction.TOTAL) is None


def test_large_requests_count_as_several_operations():
    budget = Budget(VM, (SDA,), operation_bytes=256 << 10)
    flows = {SDA: FlowTick(1.0, read_operations_per_second=100, read_bytes_per_second=100 << 20)}

    assert drawn(budget, flows, Dimension.IOPS, Direction.TOTAL) == 400


def test_a_sum_with_an_unknown_member_is_unknown():
    assert (
        drawn(
            Budget(VM, (SDA, SDB)), {SDA: tick(read=1), SDB: None}, Dimension.IOPS, Direction.TOTAL
        )
        is None
    )


def test_utilization_is_the_mean_over_the_window_and_the_peak_its_highest_tick():
    meter = Meter(window_seconds=10.0)
    for at in range(30):
        meter.observe(float(at), 1.0, 0.9 if at == 25 else 0.1, throttled=False)

    assert meter.utilization == pytest.approx((9 * 0.1 + 0.9) / 10)
    assert meter.peak(29.0) == 0.9


def test_a_peak_is_forgotten_after_its_time():
    peak = WindowPeak(60.0)
    peak.add(0.0, 9.0)
    peak.add(50.0, 5.0)

    assert peak.peak(60.0) == 9.0
    assert peak.peak(61.0) == 5.0
    assert peak.peak(111.0) is None


def test_throttled_time_and_episodes_only_grow():
    meter = Meter(window_seconds=10.0)
    for at, throttled in enumerate([False, True, True, False, True]):
        meter.observe(float(at), 1.0, 1.0, throttled=throttled)

    assert (meter.throttled_seconds, meter.episodes) == (3.0, 2)


def test_what_is_not_known_for_a_tick_is_not_known_for_the_window():
    meter = Meter(window_seconds=10.0)
    meter.observe(0.0, 1.0, 0.5, throttled=False)
    meter.observe(1.0, 1.0, None, throttled=False)

    assert meter.utilization is None
    assert meter.peak(1.0) == 0.5


def test_a_gap_is_no_throttled_time():
    meter = Meter(window_seconds=10.0)
    meter.observe(0.0, 1.0, 1.0, throttled=True)
    meter.observe(500.0, None, None, throttled=True)

    assert meter.throttled_seconds == 1.0


def test_a_verdict_throttles_the_limit_it_names_and_no_other():
    verdict = Verdict(VM, Word.THROTTLED, 0.0, Dimension.IOPS)

    assert is_throttled_at(verdict, Dimension.IOPS, Direction.TOTAL)
    assert not is_throttled_at(verdict, Dimension.THROUGHPUT, Direction.TOTAL)
    assert not is_throttled_at(verdict, Dimension.IOPS, Direction.READ)


def test_flows_suffer_for_as_long_as_their_budget_is_throttled():
    clock = FlowClock()
    verdict = Verdict(VM, Word.THROTTLED, 0.0, Dimension.IOPS, sufferers=(SDA,))
    clock.observe(1.0, [verdict])
    clock.observe(None, [verdict])
    clock.observe(2.0, [verdict])

    assert clock.seconds == {(SDA, VM, Dimension.IOPS): 3.0}


def test_a_stripe_that_its_member_holds_is_not_at_a_limit_of_its_own():
    verdict = Verdict(
        BudgetKey(Kind.STRIPE, "md0"), Word.THROTTLED, 0.0, dimension=Dimension.IOPS,
        direction=Direction.TOTAL, parent=BudgetKey(Kind.DISK, "sda"),
    )  # fmt: skip

    assert not is_throttled_at(verdict, Dimension.IOPS, Direction.TOTAL)


def test_of_a_running_sum_no_crumbs_are_left():
    meter = Meter(3.0)
    for place, share in enumerate([1.1, 0.7, 0.3, *[0.0] * 3]):
        meter.observe(float(place), 1.0, share, throttled=False)

    assert meter.utilization == 0.0
