"""Seconds of evidence, whatever a block lasts."""

import pytest

from ioplateau.judge.belief import Belief


def weighed(gain, *, seconds, blocks):
    belief = Belief()
    belief.weigh(2.5, 1.0)
    for _ in range(blocks):
        belief.weigh(gain, seconds)
    return belief


@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.0, 5.0])
def test_what_says_little_against_it_takes_about_as_many_seconds_however_long_a_block_is(seconds):
    assert weighed(-0.2, seconds=seconds, blocks=round(10 / seconds)).held
    assert not weighed(-0.2, seconds=seconds, blocks=round(20 / seconds)).held


def test_a_long_block_is_not_enough_by_itself():
    assert weighed(-1.0, seconds=10.0, blocks=1).held
    assert not weighed(-1.0, seconds=10.0, blocks=2).held
    once = Belief()
    once.weigh(1.0, 10.0)
    assert not once.held


def test_a_second_that_leaves_no_doubt_is_enough_as_is_a_long_block_that_does():
    for seconds in (1.0, 10.0):
        belief = Belief()
        belief.weigh(2.5, seconds)
        assert belief.held
