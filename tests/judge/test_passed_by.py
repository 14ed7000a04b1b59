"""A told limit that more was done than it lets pass is none because a slow device's rate comes by it."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
    Word,
)

SDA, DISK = FlowKey("disk", "sda"), BudgetKey(Kind.DISK, "sda")
TOLD, DEPTH = 1000.0, 64
ALONE = [(200.0, 0.2)] * 12


def reads(rate, outstanding, writes):
    return FlowTick(
        1.0,
        read_operations_per_second=rate,
        write_operations_per_second=writes,
        read_bytes_per_second=rate * 8192,
        write_bytes_per_second=writes * 8192,
        read_await_seconds=outstanding / rate if rate else None,
        write_await_seconds=0.001 if writes else None,
        queue_length=float(outstanding),
        in_flight=round(outstanding),
        busy_ratio=min(1.0, outstanding),
    )


def throttled(flows, direction=Direction.TOTAL, writes=0.0):
    """Whether the told limit is said to hold, second by second."""
    known = Limit(Dimension.IOPS, direction, TOLD, Origin.CONFIGURED, "here")
    budgets, judge = {DISK: Budget(DISK, (SDA,), (known,))}, Judge()
    judge.observe(100.0, None, budgets, {})
    said = [
        judge.observe(101.0 + second, 1.0, budgets, {SDA: reads(*flow, writes)})[DISK]
        for second, flow in enumerate(flows)
    ]
    return [verdict.word is Word.THROTTLED and verdict.limit == TOLD for verdict in said]


def wanders(seed, seconds=90):
    """A device that does twice what was told, and wanders: in the end by the told limit."""
    numbers = random.Random(seed)
    for second in range(seconds):
        mean = TOLD * (2.0 if second < 20 else 2.0 - 1.4 * (second - 20) / (seconds - 20))
        yield mean * numbers.gauss(1, 0.12), DEPTH


WAYS = pytest.mark.parametrize(
    ("direction", "writes"), [(Direction.TOTAL, 0.0), (Direction.READ, 0.0), (Direction.READ, 50.0)]
)


@WAYS
@pytest.mark.parametrize("seed", range(5))
def test_what_did_twice_as_much_is_not_held_as_its_rate_comes_by(seed, direction, writes):
    assert sum(throttled([*ALONE, *wanders(seed)], direction, writes)) == 0


@WAYS
def test_what_did_twice_as_much_is_held_once_its_rate_stands_at_the_limit(direction, writes):
    # As where burst credit that nobody told of ends.
    numbers = random.Random(3)
    burst = [(2 * TOLD * numbers.gauss(1, 0.05), DEPTH) for _ in range(20)]
    base = [(TOLD * numbers.gauss(1, 0.003), DEPTH) for _ in range(20)]
    found = throttled([*ALONE, *burst, *base], direction, writes)

    assert not any(found[: len(ALONE) + 21])
    assert all(found[-15:])


def test_what_was_served_in_a_stall_and_counts_after_it_disproves_nothing():
    held = [(TOLD, DEPTH)] * 10
    stall = [(0.0, DEPTH)] * 5
    late = [(5.5 * TOLD, DEPTH)]
    found = throttled([*ALONE, *held, *stall, *late, *held])

    assert all(found[-8:])
