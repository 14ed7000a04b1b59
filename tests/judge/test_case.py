"""What is remembered of one budget over a restart."""

import pytest

from ioplateau.judge.case import Case
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

SDA = BudgetKey(Kind.DISK, "sda")


def case(iops):
    limit = Limit(Dimension.IOPS, Direction.TOTAL, iops, Origin.CONFIGURED)
    return Case(Budget(SDA, (FlowKey("disk", "sda"),), (limit,)), WatchedFlow())


def saved(iops=500.0):
    """Of a disk that has been held at its limit since 100 s."""
    before = case(iops)
    before.claims[0].belief.restore(5.0, held=True)
    before.word, before.since = Word.THROTTLED, 100.0
    return before.memory()


@pytest.mark.parametrize(("iops", "is_held"), [(500.0, True), (600.0, False)])
def test_evidence_for_a_limit_is_taken_up_if_its_value_is_the_same(iops, is_held):
    after = case(iops)
    after.restore(saved(), at=200.0)

    assert after.claims[0].on is is_held


@pytest.mark.parametrize(
    ("at", "since", "word"), [(200.0, 100.0, Word.THROTTLED), (50.0, 0.0, Word.UNKNOWN)]
)
def test_since_when_it_was_held_is_taken_up_within_one_boot(at, since, word):
    after = case(500.0)
    after.restore(saved(), at)

    assert (after.since, after.word) == (since, word)
