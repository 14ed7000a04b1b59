"""One volume in two superblocks (nosharecache, other `sec` or `rsize`): both draw on its one limit."""

import random

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

MIB = 1024 * 1024
SIZE, ALONE_SECONDS = 65_536, 0.0008
MOUNTS = [FlowKey("nfs", "/a"), FlowKey("nfs", "/b")]
VOLUMES = [BudgetKey(Kind.VOLUME, flow.name) for flow in MOUNTS]
SLOTS = BudgetKey(Kind.NFS_SLOTS, "/a")
LIMIT = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 512.0 * MIB, Origin.CONFIGURED, "here")


def tick(bytes_per_second, depth):
    """depth: calls outstanding; fewer where they do not wait."""
    rate = bytes_per_second / SIZE
    seconds = max(depth / rate, ALONE_SECONDS)
    return FlowTick(
        1.0,
        read_operations_per_second=rate,
        read_bytes_per_second=bytes_per_second,
        read_await_seconds=seconds,
        queue_length=rate * seconds,
        read_rtt_seconds=seconds,
        read_queue_seconds=0.0,
    )


def told(loads, seconds=40):
    """The verdicts of both at the end. loads: bytes per second of both by second, and calls outstanding."""
    budgets = {
        VOLUMES[0]: Budget(VOLUMES[0], (MOUNTS[0], MOUNTS[1]), (LIMIT,)),
        VOLUMES[1]: Budget(VOLUMES[1], (MOUNTS[1], MOUNTS[0]), (LIMIT,)),
        SLOTS: Budget(SLOTS, tuple(MOUNTS)),
    }
    judge, witness = Judge(), Witness(clients={"/a": ClientWitness(1)})
    judge.observe(100.0, None, budgets, {}, witness)
    for second in range(seconds):
        is_early = second < 10  # one call at a time shows what it takes
        flows = {
            flow: tick(60.0 * MIB, 1) if is_early else tick(each, depth)
            for flow, (each, depth) in zip(MOUNTS, loads(second), strict=True)
        }
        verdicts = judge.observe(101.0 + second, 1.0, budgets, flows, witness)
    return [verdicts[key] for key in VOLUMES]


def test_what_both_draw_together_is_held_against_the_limit():
    dice = random.Random(5)

    def loads(_second):
        part = dice.uniform(0.35, 0.65)
        return (part * 512.0 * MIB, 32), ((1 - part) * 512.0 * MIB, 32)

    verdicts = told(loads)

    assert [v.word for v in verdicts] == [Word.THROTTLED, Word.THROTTLED]
    assert [v.limit for v in verdicts] == [LIMIT.value, LIMIT.value]
    assert [v.evidence["together_with"] for v in verdicts] == ["/b", "/a"]
    assert "held at 536.9 MB/s together with /b by its volume limit" in verdicts[0].sentence
    assert all(abs(v.utilization - 1) < 0.01 for v in verdicts)


def test_who_waits_for_nothing_is_not_held_by_what_the_other_draws():
    verdicts = told(lambda _second: ((452.0 * MIB, 32), (60.0 * MIB, 1)))

    assert [v.word is Word.THROTTLED for v in verdicts] == [True, False]


def test_a_part_of_a_volume_that_stands_still_is_no_limit_that_nobody_told():
    dice = random.Random(6)

    def loads(_second):
        return (200.0 * MIB, 32), (dice.uniform(20.0, 120.0) * MIB, 4)

    assert Word.THROTTLED not in [v.word for v in told(loads)]
