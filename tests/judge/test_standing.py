"""What is missing of a level while requests wait."""

import pytest

from ioplateau.judge import parameters as number
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.levels import Ceilings
from ioplateau.judge.signals import WatchedFlow
from ioplateau.judge.standing import Standing
from ioplateau.limits.budgets import Dimension


def stood(blocks, waits=()):
    """A disk with 32 requests outstanding at each tick that does (operations, bytes per second) for a second each. waits:
    how many were so on average, in some of these seconds.
    """
    standing, watched = Standing(Ceilings()), WatchedFlow()
    for second, (operations, octets) in enumerate(blocks):
        waiting = dict(waits).get(second, 32)
        tick = FlowTick(1.0, operations, 0.0, octets, 0.0, waiting / operations, None, 1.0, 32)
        watched.look(tick, float(second), 1.0)
        standing.add(watched, 1.0)
        standing.book(watched, 1.0, [Dimension.IOPS])
    return standing, watched


@pytest.mark.parametrize(
    ("then", "is_behind"),
    [
        ((500.0, 2e6), False),
        ((300.0, 1.2e6), True),  # it became slow
        ((300.0, 2e6), False),  # as many bytes in fewer, larger requests
        ((300.0, 1.4e6), True),  # fewer bytes as well
    ],
)
def test_nothing_is_missing_of_what_may_wait_for_the_other_dimension(then, is_behind):
    standing, watched = stood([*[(500.0, 2e6)] * 4, *[then] * 4])

    assert standing.is_behind(watched, Dimension.IOPS, 500.0) is is_behind


LEVEL, DIP = (500.0, 2e6), (300.0, 1.2e6)


@pytest.mark.parametrize(
    ("blocks", "waits", "lost"),
    [
        ([LEVEL] * 6, (), 0.0),
        ([*[LEVEL] * 4, DIP, LEVEL, LEVEL, DIP, LEVEL], (), 0.8),  # each less than a burst
        ([*[LEVEL] * 4, DIP, (700.0, 2.8e6), LEVEL], (), 0.0),  # it was made up for
        ([*[LEVEL] * 4, DIP, LEVEL], ((4, 19.0),), 0.0),  # the application paused
    ],
)
def test_missing_is_what_nobody_made_up_for_while_as_many_waited(blocks, waits, lost):
    standing, _ = stood(blocks, waits)
    around, others = standing._stands[Dimension.IOPS].around(500.0)
    left = standing.moved(Dimension.IOPS, 500.0) - others + number.STANDS_HERE * around

    assert left == pytest.approx(number.ASKED_DOUBT * lost, rel=0.01, abs=1e-6)
