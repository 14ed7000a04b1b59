"""A volume's limit that was told too high is no limit because one gust of buffered writes comes near it."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import ClientWitness, Witness
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

MOUNT = FlowKey("nfs", "/a")
VOLUME, SLOTS = BudgetKey(Kind.VOLUME, "/a"), BudgetKey(Kind.NFS_SLOTS, "/a")
HOLDS, SIZE = 1_400_000.0, 131_072
SECONDS = 60


def writes(amount, outstanding):
    rate = amount / SIZE
    return FlowTick(
        1.0,
        write_operations_per_second=rate,
        write_bytes_per_second=amount,
        write_await_seconds=outstanding / rate,
        queue_length=float(outstanding),
        write_rtt_seconds=min(outstanding, 30) / rate,
        write_queue_seconds=max(outstanding - 30, 0) / rate,
    )


def gusts(seed, window):
    """What comes in each second through a limit that lets it pass, in sum, to this many seconds' worth."""
    numbers, done = random.Random(seed), 0.0
    for second in range(1, SECONDS + 1):
        most = HOLDS * (second + window * numbers.uniform(-1, 1))
        amount = max(most - done, SIZE)
        done += amount
        yield amount


def told(limit, amounts, outstanding, before=HOLDS):
    """Of how many seconds the told limit is said to hold. before: reads of one at a time, and 30 s of 16 at a time
    at so much.
    """
    known = Limit(Dimension.THROUGHPUT, Direction.TOTAL, limit, Origin.CONFIGURED, "here")
    budgets = {VOLUME: Budget(VOLUME, (MOUNT,), (known,)), SLOTS: Budget(SLOTS, (MOUNT,))}
    judge, held = Judge(), 0
    judge.observe(100.0, None, budgets, {}, Witness())
    alone = [writes(SIZE * 8, 0.2)] * 12
    flows = [*alone, *[writes(before, 16)] * 30, *alone, *[writes(a, outstanding) for a in amounts]]
    for second, flow in enumerate(flows):
        client = ClientWitness(1, backlog=0.0, on_wire=30, receives_per_second=20.0)
        said = judge.observe(
            101.0 + second, 1.0, budgets, {MOUNT: flow}, Witness(clients={"/a": client})
        )[VOLUME]
        is_late = second >= len(flows) - SECONDS
        held += is_late and said.word is Word.THROTTLED and said.limit == limit
    return held


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("outstanding", [40, 400])
@pytest.mark.parametrize("before", [0.5, 1.0])
@pytest.mark.parametrize("off", [1.8, 2.5])
def test_a_limit_that_was_told_much_too_high_is_hardly_ever_said_to_hold(
    seed, outstanding, before, off
):
    """before: share of the told limit that reads reached, all of which bound for long."""
    limit = off * HOLDS

    assert told(limit, gusts(seed, 0.7), outstanding, before * limit) <= 6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("outstanding", [40, 400])
@pytest.mark.parametrize("window", [0.1, 0.3, 0.5])
def test_one_that_was_told_right_is_said_to_hold_through_gusts(seed, outstanding, window):
    assert told(HOLDS, gusts(seed, window), outstanding) >= 50
