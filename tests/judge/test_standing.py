"""What is missing of a level while requests wait."""

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.levels import Ceilings
from ioplateau.judge.signals import WatchedFlow
from ioplateau.judge.standing import Standing
from ioplateau.limits.budgets import Dimension


def stood(blocks):
    """A disk with 32 requests outstanding that does (operations, bytes per second) for a second each."""
    standing, watched = Standing(Ceilings()), WatchedFlow()
    for second, (operations, octets) in enumerate(blocks):
        tick = FlowTick(1.0, operations, 0.0, octets, 0.0, 32 / operations, None, 1.0, 32)
        watched.look(tick, float(second), 1.0)
        standing.add(watched, 1.0)
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
