"""Ranges of request sizes with the same answer: found by bisection, not by trying every size.

Between two jumps an answer goes from one limit to the next and never back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

SMALLEST, GRAIN = 512, 512


def ranges(
    answer: Callable[[int], T], largest: int, jumps: Iterable[int] = ()
) -> tuple[tuple[int, int, T], ...]:
    """(first size, last size, answer) for sizes from 512 bytes on, both ends included. jumps:
    sizes above which a request counts for more: there the answer may change back.
    """
    looked_at = _sides(jumps)
    found: list[tuple[int, int, T]] = []
    start = size = SMALLEST
    now = answer(SMALLEST)
    while size < largest:
        after = bisect_right(looked_at, size)
        following = min(size * 2, largest, *looked_at[after : after + 1])
        if answer(following) != now:
            edge = _edge(answer, size, following)
            found.append((start, edge - GRAIN, now))
            start = size = edge
            now = answer(edge)
        else:
            size = following
    return (*found, (start, largest, now))


def _sides(jumps: Iterable[int]) -> list[int]:
    """The last size below each jump and the first above it, of those that are looked at."""
    below = {size // GRAIN * GRAIN for size in jumps}
    return sorted(below | {size + GRAIN for size in below})


def _edge(answer: Callable[[int], T], low: int, high: int) -> int:
    """The smallest size above `low` with another answer."""
    now = answer(low)
    while high - low > GRAIN:
        middle = (low + high) // 2 // GRAIN * GRAIN
        if answer(middle) == now:
            low = middle
        else:
            high = middle
    return high
