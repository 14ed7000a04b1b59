"""Over which request sizes the same holds: found by bisection, not by trying every size."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SMALLEST, GRAIN = 512, 512


def same(answer: Callable[[int], T], largest: int) -> tuple[tuple[int, int, T], ...]:
    """(first size, last size, what is told) for sizes from 512 bytes on, both ends included."""
    found: list[tuple[int, int, T]] = []
    start = size = SMALLEST
    now = answer(SMALLEST)
    while size < largest:
        following = min(size * 2, largest)
        if answer(following) != now:
            edge = _edge(answer, size, following)
            found.append((start, edge - GRAIN, now))
            start = size = edge
            now = answer(edge)
        else:
            size = following
    return (*found, (start, largest, now))


def _edge(answer: Callable[[int], T], low: int, high: int) -> int:
    """The smallest size above `low` of which something else is told."""
    now = answer(low)
    while high - low > GRAIN:
        middle = (low + high) // 2 // GRAIN * GRAIN
        if answer(middle) == now:
            low = middle
        else:
            high = middle
    return high
