"""A volume's limit of operations may count calls that neither read nor write, as file services do."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import ClientWitness, Witness
from ioplateau.judge.words import sentence
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

MOUNT, OTHER = FlowKey("nfs", "/a"), FlowKey("nfs", "/b")
VOLUME, SLOTS = BudgetKey(Kind.VOLUME, "/a"), BudgetKey(Kind.NFS_SLOTS, "/a")
BESIDE = BudgetKey(Kind.VOLUME, "/b")
TOLD, SECONDS = 10_000.0, 40
LIMIT = Limit(Dimension.IOPS, Direction.TOTAL, TOLD, Origin.CONFIGURED, "here")


def reads(rate, each):
    return FlowTick(
        1.0,
        read_operations_per_second=rate,
        read_bytes_per_second=rate * 4096,
        read_await_seconds=each,
        queue_length=rate * each,
        read_rtt_seconds=each,
        read_queue_seconds=0.0,
    )


def verdicts(seconds, mounts=(MOUNT,)):
    """Of (reads per second, all calls per second, seconds each), after some of one at a time."""
    budgets = {
        VOLUME: Budget(VOLUME, (MOUNT,), (LIMIT,)),
        BESIDE: Budget(BESIDE, (OTHER,)),
        SLOTS: Budget(SLOTS, mounts),
    }
    judge, found = Judge(), []
    judge.observe(100.0, None, budgets, {}, Witness())
    alone = [(300.0, 400.0, 0.0006)] * 12
    for second, (rate, calls, each) in enumerate([*alone, *seconds], 1):
        client = ClientWitness(1, backlog=0.0, on_wire=64, receives_per_second=calls)
        flows = {MOUNT: reads(rate, each), OTHER: FlowTick(1.0, queue_length=0.0)}
        seen = Witness(clients={"/a": client})
        found.append(judge.observe(100.0 + second, 1.0, budgets, flows, seen)[VOLUME])
    return found[len(alone) :]


def at_the_limit(share):
    """All calls stand at what was told, of which so much reads; 64 of those are outstanding."""
    numbers = random.Random(5)
    for second in range(SECONDS):
        rate = TOLD * share(second, numbers)
        yield rate, TOLD * numbers.gauss(1, 0.002), 64 / rate


def holds(verdict):
    return verdict.word is Word.THROTTLED and verdict.limit == TOLD


@pytest.mark.parametrize(
    "share",
    [
        lambda _, __: 0.4,
        lambda second, _: 0.3 + 0.4 * second / SECONDS,
        lambda _, numbers: numbers.uniform(0.3, 0.6),
    ],
)
def test_the_told_limit_holds_where_all_calls_stand_at_it_however_many_of_them_read(share):
    found = verdicts(at_the_limit(share))

    assert all(map(holds, found[4:]))
    assert "calls that neither read nor write" in sentence(found[-1], 100.0 + SECONDS)


def test_of_several_mounts_of_a_client_nobody_tells_whose_calls_they_are():
    found = verdicts(at_the_limit(lambda _, numbers: numbers.uniform(0.3, 0.6)), (MOUNT, OTHER))

    assert not any(map(holds, found))


def test_a_limit_that_counts_reads_and_writes_alone_holds_whatever_else_is_called():
    numbers = random.Random(6)
    found = verdicts(
        (TOLD * numbers.gauss(1, 0.002), TOLD * numbers.uniform(1.2, 1.9), 64 / TOLD)
        for _ in range(SECONDS)
    )

    assert all(map(holds, found[2:]))
    assert "neither read nor write" not in sentence(found[-1], 100.0 + SECONDS)


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_server_whose_calls_come_near_the_limit_in_sum_is_not_held_by_it(seed):
    numbers = random.Random(seed)

    def slow():
        for _ in range(SECONDS):
            calls = TOLD * numbers.gauss(1, 0.25)
            yield 0.45 * calls, calls, 64 / (0.45 * calls)

    assert not any(map(holds, verdicts(slow())))


def test_calls_that_do_not_wait_are_held_by_nothing():
    found = verdicts([(4000.0, TOLD, 0.0006)] * SECONDS)

    assert not any(map(holds, found))
