"""A limit of reads alone, or of writes, that nobody told."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import Witness
from ioplateau.limits.budgets import Budget, BudgetKey, Direction, FlowKey, Kind, Origin, Word

FLOW, KEY = FlowKey("disk", "sdc"), BudgetKey(Kind.DISK, "sdc")
BUDGETS = {KEY: Budget(KEY, (FLOW,))}
LIMIT, ALONE, DEPTH = 400.0, 0.0005, 16.0
READ, WRITE, TOTAL = Direction.READ, Direction.WRITE, Direction.TOTAL


def tick(reads, read_wait, writes, write_wait):
    held = reads * read_wait + writes * write_wait
    return FlowTick(
        1.0,
        read_operations_per_second=reads,
        write_operations_per_second=writes,
        read_bytes_per_second=4096 * reads,
        write_bytes_per_second=4096 * writes,
        read_await_seconds=read_wait if reads else None,
        write_await_seconds=write_wait if writes else None,
        queue_length=held,
        in_flight=round(held),
        busy_ratio=min(1.0, held),
    )


class Watched:
    """A disk whose reads, or writes, are held, beside others of the other direction."""

    def __init__(self, direction=READ, ripple=0.001, judge=None, alone=ALONE):
        self.judge, self.at, self.alone = judge or Judge(), 1000.0, alone
        self.direction, self.ripple = direction, ripple
        self.draw = random.Random(7)
        self.judge.observe(self.at, None, BUDGETS, {}, Witness())

    def see(self, held, held_wait, others, others_wait):
        pair = (held, held_wait, others, others_wait)
        if self.direction is WRITE:
            pair = (others, others_wait, held, held_wait)
        self.at += 1.0
        return self.judge.observe(self.at, 1.0, BUDGETS, {FLOW: tick(*pair)}, Witness())[KEY]

    def below(self, seconds=20):
        """One at a time, and not all the time."""
        for _ in range(seconds):
            self.see(self.draw.uniform(80, 160), self.alone, self.draw.uniform(50, 250), ALONE)

    def at_limit(self, seconds, depth=DEPTH, most=500):
        """`depth` of the held direction, and up to so many of the others, which are served at once."""
        said = []
        for _ in range(seconds):
            rate = LIMIT * self.draw.gauss(1, self.ripple)
            others = self.draw.uniform(0.1 * most, most)
            said.append(self.see(rate, depth / rate, others, ALONE))
        return said


@pytest.mark.parametrize("direction", [READ, WRITE])
def test_a_limit_of_one_direction_is_found_beside_the_other(direction):
    disk = Watched(direction)
    disk.below()
    said = disk.at_limit(30)

    late = said[10:]
    assert {verdict.word for verdict in late} == {Word.THROTTLED}
    assert {verdict.direction for verdict in late} == {direction}
    assert all(abs(verdict.limit / LIMIT - 1) < 0.01 for verdict in late)
    assert said[-1].origin is Origin.LEARNED
    assert f"held at 400 IOPS of {direction}s by its disk limit (learned)" in said[-1].sentence
    assert "flat within 0.1%" in said[-1].sentence


def test_a_level_of_one_direction_that_ripples_is_none():
    disk = Watched(ripple=0.04)
    disk.below()

    assert Word.THROTTLED not in {verdict.word for verdict in disk.at_limit(120)}


def test_requests_of_both_directions_that_wait_alike_are_held_by_one_limit():
    disk = Watched()
    disk.below()
    said = []
    for _ in range(30):
        writes = disk.draw.uniform(100, 300)
        said.append(disk.see(LIMIT - writes, DEPTH / LIMIT, writes, DEPTH / LIMIT))

    assert {(verdict.word, verdict.direction) for verdict in said[10:]} == {(Word.THROTTLED, TOTAL)}


def test_it_stays_a_limit_of_its_direction_when_the_other_rests():
    disk = Watched()
    disk.below()
    disk.at_limit(20)
    said = disk.at_limit(20, most=0)

    assert {(verdict.word, verdict.direction) for verdict in said} == {(Word.THROTTLED, READ)}


def test_it_ends_when_its_requests_do_not_wait_any_more():
    disk = Watched()
    disk.below()
    disk.at_limit(20)
    said = [disk.see(0.7 * LIMIT, ALONE, 300.0, ALONE) for _ in range(5)]

    assert Word.THROTTLED not in {verdict.word for verdict in said[1:]}


def test_a_wait_that_a_device_makes_too_must_be_watched_for_longer():
    """16 at a time take five times as long as one alone, or 80 times."""

    def seconds_to_find(alone):
        disk = Watched(alone=alone)
        disk.below()
        return [verdict.word for verdict in disk.at_limit(60)].index(Word.THROTTLED)

    assert seconds_to_find(0.2 * DEPTH / LIMIT) > seconds_to_find(ALONE)


def test_it_is_known_again_after_a_restart():
    disk = Watched()
    disk.below()
    disk.at_limit(30)
    judge = Judge()
    judge.restore(disk.judge.memory(), 5.0)
    again = Watched(judge=judge)
    said = again.at_limit(4)

    assert (said[-1].word, said[-1].direction) == (Word.THROTTLED, READ)


def test_whether_one_direction_waits_does_not_depend_on_how_much_the_other_does():
    """All requests together take hardly longer than alone: most are of the direction that does not wait."""
    disk = Watched(alone=0.002)
    disk.below()
    said = []
    for _ in range(40):
        others = disk.draw.uniform(12_000, 16_000)
        said.append(disk.see(150 * disk.draw.gauss(1, 0.001), 0.025, others, 1.05 * ALONE))

    assert {(verdict.word, verdict.direction) for verdict in said[20:]} == {(Word.THROTTLED, READ)}


def test_two_limits_that_are_known_are_no_third_one_when_both_hold():
    disk = Watched()
    disk.below()
    disk.at_limit(20, most=250)
    for _ in range(20):
        writes = 300 * disk.draw.gauss(1, 0.001)
        disk.see(disk.draw.uniform(50, 200), ALONE, writes, DEPTH / writes)
    said = []
    for _ in range(20):
        reads, writes = (each * disk.draw.gauss(1, 0.001) for each in (LIMIT, 300))
        said.append(disk.see(reads, DEPTH / reads, writes, DEPTH / writes))

    assert {verdict.word for verdict in said[3:]} == {Word.THROTTLED}
    assert TOTAL not in {verdict.direction for verdict in said}


def test_a_level_begins_anew_after_a_rest():
    """What stood before is no part of how flat it is now."""
    disk = Watched()
    disk.below()
    disk.at_limit(30)
    for _ in range(10):
        disk.see(0.0, ALONE, 0.0, ALONE)
    verdict = disk.at_limit(4)[-1]

    assert (verdict.word, verdict.direction) == (Word.THROTTLED, READ)
    assert verdict.evidence["blocks"] <= 4
