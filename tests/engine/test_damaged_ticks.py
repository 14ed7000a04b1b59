"""Readings that something happened to, tick after tick: none of them may end a tick.

bench/damage.py runs as many as one likes.
"""

from random import Random

import pytest

from damage import endured


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_damaged_ticks_are_endured_and_told(seed):
    assert endured(Random(seed), 2000) == 100
