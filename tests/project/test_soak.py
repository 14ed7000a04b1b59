"""What the soak makes of what it saw; the soak itself is `make soak`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import soak


def second(at, skipped=0, resident=40.0, waiting=0.0, late=0.0):
    return soak.Second(at, at, skipped, 0.1, resident, 7, 14, waiting, 0.0, late)


def test_growth_is_the_slope_after_the_warm_up():
    seconds = [second(float(at), resident=20 + min(at, 200) / 10 + at / 600) for at in range(1200)]

    assert soak.growth_per_minute(seconds) == pytest.approx(0.1, rel=0.01)


def test_memory_that_stays_does_not_grow():
    assert soak.growth_per_minute([second(float(at)) for at in range(60)]) == 0.0


@pytest.mark.parametrize(
    ("late", "waiting", "is_explained"), [(0.0, 0.0, False), (0.3, 0.0, True), (0.0, 0.9, True)]
)
def test_a_late_tick_is_the_machines_where_the_sleeper_was_late_or_tasks_waited_for_a_cpu(
    late, waiting, is_explained
):
    seconds = [
        second(float(at), skipped=2 * (at >= 30), waiting=waiting * at, late=late * (at == 30))
        for at in range(60)
    ]
    count, unexplained = soak.late_ticks(seconds)

    assert count == 2
    assert bool(unexplained) is not is_explained
