"""Devices and servers that are slow, far or busy are no limits; a limit on top of them is one.

The machines are drawn at random (queue_book.py), from seeds that were never looked at before these
tests were written. `python tests/helpers/queue_world.py 50` shows more of them.
"""

from types import MappingProxyType

import pytest

from queue_book import FINDABLE, FREE_SCENES
from queue_world import alarms, limited, stretches

SEEDS = (21, 22, 23)
TOLD = {True: "told", False: "untold"}
# Seconds at the limit until it is found, and what share of the rest is called throttled.
SECONDS_TOLD, SECONDS_UNTOLD = 6, 30
HELD = 0.9

# What is called throttled today and is not: (scene, seed, told).
AS_FLAT = "one turn of a disk, or one CPU, holds a level within half a percent, as a limit does"
ACKNOWLEDGED = (
    "calls that all wait 40 ms for an acknowledgement hold a level, as if they were limited"
)
UNSEEN = "a pace that was never kept for long while nobody waited, as if a limit of that size came"
FALSE_ALARMS = {
    ("an encrypted disk and one CPU", 22, False): AS_FLAT,
    ("an encrypted disk and one CPU", 23, False): AS_FLAT,
    ("delayed acknowledgements", 21, True): ACKNOWLEDGED,
    ("delayed acknowledgements", 21, False): ACKNOWLEDGED,
    ("paces of its own, and a disk that becomes slow", 21, False): UNSEEN,
    ("paces of its own, and a filer that becomes slow", 21, False): UNSEEN,
}


def case(name, seed, told, faults):
    why = faults.get((name, seed, told))
    marks = [pytest.mark.xfail(strict=True, reason=why)] if why else []
    if seed != SEEDS[0]:  # `make check` has a minute
        marks.append(pytest.mark.slow)
    return pytest.param(name, seed, told, id=f"{name}-{seed}-{TOLD[told]}", marks=marks)


def cases(names, known, faults=MappingProxyType({})):
    return [case(name, seed, told, faults) for name in names for seed in SEEDS for told in known]


@pytest.mark.parametrize(("name", "seed", "told"), cases(FREE_SCENES, (True, False), FALSE_ALARMS))
def test_where_nothing_is_limited_nothing_is_called_throttled(name, seed, told):
    """told: a limit is known, three to ten times as far away as the fastest second."""
    assert stretches(alarms(FREE_SCENES[name], seed, known=told)) == []


FLAT_IN_LONG_TICKS = {("an encrypted disk and one CPU", 22, True): AS_FLAT}


@pytest.mark.parametrize(("name", "seed", "told"), cases(FREE_SCENES, (True,)))
def test_nor_is_it_where_ticks_last_five_seconds(name, seed, told):
    """Any rate ripples less in them, and there are few."""
    assert stretches(alarms(FREE_SCENES[name], seed, known=told, tick_seconds=5)) == []


@pytest.mark.parametrize(("name", "seed", "told"), cases(FREE_SCENES, (True,), FLAT_IN_LONG_TICKS))
def test_nor_where_they_last_ten(name, seed, told):
    assert stretches(alarms(FREE_SCENES[name], seed, known=told, tick_seconds=10)) == []


@pytest.mark.parametrize(
    ("name", "seed", "tick_seconds"),
    [
        ("a hard disk in sequence", 4818, 10),
        ("an array that rebuilds", 4808, 5),
        ("commits to a turning disk", 4810, 5),
        ("commits to a turning disk", 4801, 10),
        ("an application's own rate, eight at a time", 4802, 10),
        ("paces of its own, and a disk that becomes slow", 4807, 10),
        ("an encrypted disk and one CPU", 4810, 5),
    ],
)
def test_what_evens_out_in_long_ticks_is_no_limit(name, seed, tick_seconds):
    """Seeds that were taken for a limit before."""
    assert stretches(alarms(FREE_SCENES[name], seed, known=False, tick_seconds=tick_seconds)) == []


@pytest.mark.parametrize(("name", "seed", "told"), cases(FREE_SCENES, (True,)))
def test_a_limit_on_top_that_was_told_is_found_at_once(name, seed, told):
    found = limited(FREE_SCENES[name], seed, known=told)

    assert found.after is not None
    assert found.after <= SECONDS_TOLD
    assert found.held >= HELD
    assert stretches(found.wrong) == []


@pytest.mark.parametrize(("name", "seed", "told"), cases(sorted(FINDABLE), (False,)))
def test_a_limit_on_top_that_nobody_told_is_found_in_half_a_minute(name, seed, told):
    found = limited(FREE_SCENES[name], seed, known=told)

    assert found.after is not None
    assert found.after <= SECONDS_UNTOLD
    assert found.held >= HELD
    assert stretches(found.wrong) == []


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("once a second", 2068),  # each two seconds, and their sum is the same
        ("once a second", 2085),
        ("once a second", 2210),
        ("once a second, to a filer", 2054),
        ("once a second, to a filer", 2068),
        ("once a second, to a filer", 2131),
    ],
)
def test_what_comes_in_step_with_the_looks_is_no_queue(name, seed):
    """Seeds that were taken for a limit before."""
    assert stretches(alarms(FREE_SCENES[name], seed, known=False)) == []


@pytest.mark.parametrize("seed", [4301, 4305, 4306, 4309])
@pytest.mark.parametrize("place", ["disk", "filer"])
def test_paces_of_an_application_stay_its_own_when_its_place_becomes_slow(place, seed):
    """Seeds in which they were taken for limits before."""
    scene = FREE_SCENES[f"paces of its own, and a {place} that becomes slow"]

    assert stretches(alarms(scene, seed, known=False)) == []
