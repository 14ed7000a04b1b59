"""How long requests waited at which level, and what of it is forgotten with time."""

from math import log

import pytest

from ioplateau.judge import parameters as number
from ioplateau.judge.standing import Stands

HALF_SECONDS = number.STANDS_HALF_SECONDS


def stood(*levels, seconds=1.0):
    stands = Stands()
    for level in levels:
        stands.add(level, seconds)
    return stands


def test_of_long_ago_half_as_much_counts():
    stands = stood(*[500.0] * 400, seconds=HALF_SECONDS / 20)

    assert stands.around(500.0)[0] == pytest.approx(HALF_SECONDS / log(2), rel=0.05)


def test_how_often_a_level_moved_is_forgotten_too():
    stands = stood(*[500.0, 900.0] * 20, seconds=1.0)
    before = stands.changes
    for _ in range(400):
        stands.add(500.0, HALF_SECONDS / 20)

    assert before >= 35
    assert stands.changes == 0


def test_what_is_remembered_of_levels_counts_as_much_after_a_restart():
    before, after = stood(*[500.0] * 400, seconds=HALF_SECONDS / 300), Stands()
    after.restore(*before.memory())

    assert after.around(500.0) == pytest.approx(before.around(500.0))


def test_how_often_a_level_moved_is_known_after_a_restart_and_missing_in_older_files():
    before, after, older = stood(*[500.0, 900.0] * 5), Stands(), Stands()
    levels, moves = before.memory()
    after.restore(levels, moves)
    older.restore(levels, None)
    for stands in (before, after, older):
        stands.add(500.0, 1.0)

    assert after.changes == before.changes == 10
    assert older.changes == 0
