"""What is remembered of one budget over a restart."""

import pytest

from ioplateau.judge.case import Case
from ioplateau.judge.memory import SavedCase, SavedHold
from ioplateau.judge.sides import Sides
from ioplateau.judge.signals import WatchedFlow
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
from ioplateau.saved import read, write

SDA = BudgetKey(Kind.DISK, "sda")


def case(iops):
    limit = Limit(Dimension.IOPS, Direction.TOTAL, iops, Origin.CONFIGURED)
    return Case(Budget(SDA, (FlowKey("disk", "sda"),), (limit,)), WatchedFlow(), 0.0)


def test_what_is_known_is_what_was_told_and_what_was_learned_beside_it():
    known = case(500.0)
    known.sides = Sides()
    for plateau in (known.plateau, known.sides.of(Direction.READ).plateau):
        plateau.ceilings.remember(Dimension.IOPS, 300.0, 60.0)
        plateau.ceilings.remember(Dimension.THROUGHPUT, 50e6, 60.0)

    assert [(each.value, each.direction, each.origin) for each in known.known_limits] == [
        (500.0, Direction.TOTAL, Origin.CONFIGURED),
        (50e6, Direction.TOTAL, Origin.LEARNED),
        (300.0, Direction.READ, Origin.LEARNED),
        (50e6, Direction.READ, Origin.LEARNED),
    ]


def saved(iops=500.0):
    """Of a disk that has been held at its limit since 100 s."""
    before = case(iops)
    before.claims[0].belief.restore(5.0, held=True)
    before.word, before.since = Word.THROTTLED, 100.0
    before.hold = SavedHold(Dimension.IOPS, Direction.TOTAL, is_learned=False, since=150.0)
    return before.memory()


@pytest.mark.parametrize(("iops", "is_held"), [(500.0, True), (600.0, False)])
def test_evidence_for_a_limit_is_taken_up_if_its_value_is_the_same(iops, is_held):
    after = case(iops)
    after.restore(saved(), at=200.0, away_seconds=5.0)

    assert after.claims[0].on is is_held


@pytest.mark.parametrize(
    ("at", "since", "word"), [(200.0, 100.0, Word.THROTTLED), (50.0, 0.0, Word.UNKNOWN)]
)
def test_since_when_it_was_held_is_taken_up_within_one_boot(at, since, word):
    after = case(500.0)
    after.restore(saved(), at, away_seconds=5.0)

    assert (after.since, after.word) == (since, word)


@pytest.mark.parametrize(("at", "since"), [(200.0, 150.0), (50.0, None)])
def test_so_is_since_when_its_limit_holds(at, since):
    after = case(500.0)
    after.restore(read(SavedCase, write(saved()), "case"), at, away_seconds=5.0)

    assert (after.hold and after.hold.since) == since


def test_after_a_longer_time_away_nobody_knows_since_when_it_was_held_but_the_evidence_stays():
    after = case(500.0)
    after.restore(saved(), at=200.0, away_seconds=40.0)

    assert (after.word, after.hold) == (Word.UNKNOWN, None)
    assert after.claims[0].on


def test_a_memory_of_before_that_was_kept_is_still_read():
    old = write(saved())
    del old["hold"]

    assert read(SavedCase, old, "case") == saved()._replace(hold=None)
