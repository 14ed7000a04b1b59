"""Writes without data, which the kernel counts and a limit may not."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.flushes import EmptyWrites, without_empty_writes
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import Witness
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

FLOW, KEY = FlowKey("disk", "sdc"), BudgetKey(Kind.DISK, "sdc")
LIMIT, ALONE, DEPTH, SIZE = 1400.0, 0.0005, 16.0, 8192


def tick(reads, writes, empty, wait):
    """Reads and writes of data per second, and writes without any."""
    held = (reads + writes) * wait + empty * ALONE
    return FlowTick(
        1.0,
        read_operations_per_second=reads,
        write_operations_per_second=writes + empty,
        read_bytes_per_second=SIZE * reads,
        write_bytes_per_second=SIZE * writes,
        read_await_seconds=wait,
        write_await_seconds=(writes * wait + empty * ALONE) / (writes + empty),
        queue_length=held,
        in_flight=round(held),
        busy_ratio=min(1.0, held),
        flush_operations_per_second=empty,
    )


class Database:
    """A disk on which transactions are committed: each reads, writes and flushes, in shares that move."""

    def __init__(self, *limits, judge=None):
        self.judge, self.at, self.draw = judge or Judge(), 1000.0, random.Random(7)
        self.budgets = {KEY: Budget(KEY, (FLOW,), limits)}
        self.judge.observe(self.at, None, self.budgets, {}, Witness())

    def see(self, *drawn):
        self.at += 1.0
        return self.judge.observe(self.at, 1.0, self.budgets, {FLOW: tick(*drawn)}, Witness())[KEY]

    def below(self, seconds=20):
        for _ in range(seconds):
            reads = self.draw.uniform(100, 500)
            self.see(reads, reads, self.draw.uniform(0.2, 0.4) * reads, ALONE)

    def at_limit(self, seconds, *, counts_empty):
        said = []
        for _ in range(seconds):
            data = LIMIT * self.draw.gauss(1, 0.002)
            empty = self.draw.uniform(0.05, 0.25) * LIMIT
            data -= empty if counts_empty else 0.0
            reads = self.draw.uniform(0.2, 0.5) * data
            said.append(self.see(reads, data - reads, empty, DEPTH / LIMIT))
        return said


@pytest.mark.parametrize("counts_empty", [True, False])
def test_a_limit_that_nobody_told_is_found_whether_it_counts_them_or_not(counts_empty):
    database = Database()
    database.below()
    said = database.at_limit(30, counts_empty=counts_empty)

    assert {(verdict.word, verdict.dimension) for verdict in said[10:]} == {
        (Word.THROTTLED, Dimension.IOPS)
    }
    assert all(abs(verdict.limit / LIMIT - 1) < 0.01 for verdict in said[10:])
    assert ("empty writes of flushes apart" in said[-1].sentence) is not counts_empty


def test_a_limit_told_a_tenth_too_high_is_found_where_it_is():
    limit = Limit(Dimension.IOPS, Direction.TOTAL, 1.1 * LIMIT, Origin.CONFIGURED, "story")
    database = Database(limit)
    database.below()
    said = database.at_limit(40, counts_empty=False)

    assert {verdict.word for verdict in said[20:]} == {Word.THROTTLED}
    assert all(abs(verdict.limit / LIMIT - 1) < 0.01 for verdict in said[20:])


def test_that_they_do_not_count_is_known_after_a_restart():
    database = Database()
    database.below()
    database.at_limit(40, counts_empty=False)
    judge = Judge()
    judge.restore(database.judge.memory(), 5.0)
    said = Database(judge=judge).at_limit(4, counts_empty=False)

    assert said[-1].word is Word.THROTTLED
    assert said[-1].limit == pytest.approx(LIMIT, rel=0.01)


def test_what_was_taken_for_a_limit_is_forgotten_when_they_turn_out_not_to_count():
    """As many flushes all the time: then the sum is as flat with them, until they move."""
    database = Database()
    database.below()
    steady = 0.1 * LIMIT
    said = []
    for _ in range(30):
        data = LIMIT * database.draw.gauss(1, 0.002)
        said.append(database.see(0.3 * data, 0.7 * data, steady, DEPTH / LIMIT))
    assert said[-1].limit == pytest.approx(1.1 * LIMIT, rel=0.01)

    said = database.at_limit(30, counts_empty=False)
    assert {verdict.word for verdict in said[15:]} == {Word.THROTTLED}
    assert all(abs(verdict.limit / LIMIT - 1) < 0.01 for verdict in said[15:])


def test_what_is_used_of_a_limit_leaves_out_what_does_not_count():
    database = Database()
    drawn = tick(400.0, 900.0, 200.0, DEPTH / LIMIT)
    assert database.judge.as_counted({FLOW: drawn})[FLOW] is drawn
    database.below()
    database.at_limit(40, counts_empty=False)
    counted = database.judge.as_counted({FLOW: drawn, FlowKey("disk", "sdd"): drawn})

    assert counted[FLOW] == drawn._replace(write_operations_per_second=900.0)
    assert counted[FlowKey("disk", "sdd")] is drawn
    assert database.judge.as_counted({FLOW: None}) == {FLOW: None}


def test_where_only_flushes_are_done_nothing_is_left_out():
    only = FlowTick(1.0, write_operations_per_second=5.0, flush_operations_per_second=8.0)

    assert without_empty_writes(only) is only


def test_they_count_again_where_a_rate_is_flat_with_them():
    draw = random.Random(3)
    empty = [draw.uniform(50, 250) for _ in range(8)]
    flat = [1400 * draw.gauss(1, 0.002) for _ in empty]
    writes = EmptyWrites(0)
    writes.values = list(empty)
    without = [whole - none for whole, none in zip(flat, empty, strict=True)]

    assert not writes.look(list(flat), 1.0)
    writes.are_counted = False
    assert writes.look(without, 1.0)
    assert writes.are_counted
    assert without == pytest.approx(flat)


def test_a_rate_that_is_flat_either_way_says_nothing():
    writes = EmptyWrites(0)
    writes.values = [100.0] * 16

    assert not writes.look([1400.0, 1403.0] * 8, 1.0)
    assert writes.are_counted


@pytest.mark.parametrize("counts_empty", [True, False])
def test_a_limit_of_writes_tells_whether_it_counts_them_whatever_is_read_beside_it(counts_empty):
    limit = Limit(Dimension.IOPS, Direction.WRITE, LIMIT, Origin.CONFIGURED, "c.toml limit[0]")
    database, draw, said = Database(limit), random.Random(11), []
    database.below()
    for _ in range(60):
        empty = draw.uniform(0.05, 0.35) * LIMIT
        data = LIMIT * draw.gauss(1, 0.002) - (empty if counts_empty else 0.0)
        # As much is read as makes the sum of all but those move little, now and then.
        reads = max(10.0, 0.3 * LIMIT - data + draw.uniform(0.9, 1.1) * LIMIT * 0.9)
        said.append(database.see(reads, data, empty, DEPTH / LIMIT).word)

    assert said[10:].count(Word.THROTTLED) >= 48


def at_told_limit(moments):
    """What is said at a told limit in moments of (writes with data, writes without, writes that flush)."""
    database = Database(
        Limit(Dimension.IOPS, Direction.TOTAL, LIMIT, Origin.CONFIGURED, "c.toml limit[0]")
    )
    database.below()
    said = []
    for data, empty, flushes in moments:
        database.at += 1.0
        flow = tick(0.0, data, empty, DEPTH / LIMIT)._replace(flush_operations_per_second=flushes)
        said.append(
            database.judge.observe(database.at, 1.0, database.budgets, {FLOW: flow}, Witness())[KEY]
        )
    return said


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("flushes", [300.0, 800.0])
def test_a_told_limit_holds_where_some_flushes_have_data_and_some_do_not(share, flushes):
    """A journal's commits: nobody counts the empty ones apart, so the limit lies between all writes and those that
    do not flush.
    """
    draw = random.Random(5)
    empty = share * flushes
    said = at_told_limit([(LIMIT * draw.gauss(1, 0.002), empty, flushes) for _ in range(30)])
    held = [verdict for verdict in said[8:] if verdict.word is Word.THROTTLED]

    assert len(held) >= 18
    assert {(verdict.origin, verdict.limit) for verdict in held} == {(Origin.CONFIGURED, LIMIT)}
