"""A device whose pace is never the same for long has no limit, however long its queue stands."""

import pytest

import wandering_devices
from wandering_devices import KINDS, SECONDS, throttled_seconds, vm_throttled_seconds

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside others"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_has_wandered_is_called_throttled_no_more(kind, beside):
    """Its first pace looks like a limit, and nothing tells yet that it is none."""
    found = [throttled_seconds(kind, seed, told=False, beside=beside) for seed in SEEDS]
    late = [second for seconds in found for second in seconds if second >= SECONDS / 2]

    assert sum(map(len, found)) <= 0.2 * SECONDS * len(SEEDS)
    assert len(late) <= 0.02 * SECONDS * len(SEEDS)


def test_a_limit_told_far_away_makes_it_no_limit_either():
    found = [len(throttled_seconds(kind, 4, told=True)) for kind in KINDS]

    assert sum(found) <= 0.1 * SECONDS * len(KINDS)


@pytest.mark.parametrize("interval", [1, 5])
def test_several_of_them_at_once_are_no_limit_of_the_vm(interval):
    """Their sum ripples less than each of them, and by chance two wait equally long."""
    found = [vm_throttled_seconds(seed, interval=interval) for seed in range(1, 7)]
    late = [second for seconds in found for second in seconds if second >= SECONDS / 2]

    assert sum(map(len, found)) * interval <= 0.05 * SECONDS * len(found)
    assert len(late) * interval <= 0.01 * SECONDS * len(found)


def test_every_device_is_drawn_anew_by_its_seed():
    one, same, other = (
        wandering_devices.walk(wandering_devices.random.Random(seed)) for seed in (1, 1, 2)
    )

    assert one.depth == same.depth
    assert [next(one.pace) for _ in range(3)] == [next(same.pace) for _ in range(3)]
    assert next(other.pace) != next(one.pace)
