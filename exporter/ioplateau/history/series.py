"""One budget over time, in one dimension, from the cells of its members."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from math import isnan
from typing import NamedTuple

from ioplateau.history.rings import REST, Cell
from ioplateau.judge import usage
from ioplateau.limits.budgets import Budget, Dimension, Direction, FlowKey, Kind

# Longer than this many steps without a cell is a hole, marked by one point of which nothing is known.
HOLE_STEPS = 2.5
SAME = 0.002


class Series(NamedTuple):
    """Points in rising order of `at` (UNIX seconds, the begin of each). None: not known.

    rate and limit: operations or bytes per second (None for slots). share: of the limit then in
    force. queue_length and await_seconds: of all members, whatever the dimension.
    """

    kind: Kind
    name: str
    dimension: Dimension
    direction: Direction
    step_seconds: int
    at: tuple[int, ...] = ()
    rate: tuple[float | None, ...] = ()
    limit: tuple[float | None, ...] = ()
    share: tuple[float | None, ...] = ()
    queue_length: tuple[float | None, ...] = ()
    await_seconds: tuple[float | None, ...] = ()


class Point(NamedTuple):
    """What a series has at one time."""

    at: int
    rate: float | None = None
    limit: float | None = None
    share: float | None = None
    queue_length: float | None = None
    await_seconds: float | None = None


class Steps:
    """A value that seldom changes, and when it did: 16 bytes a change."""

    __slots__ = ("at", "values")

    def __init__(self) -> None:
        self.at = array("q")
        self.values = array("d")

    def add(self, second: int, value: float, most: int) -> bool:
        """Note a value, and forget all but the last `most`; whether it is another one than before:
        a learned one moves all the time. What is noted of this second or later goes: the clock was set back.
        """
        if self.at and self.at[-1] >= second:
            kept = bisect_left(self.at, second)
            del self.at[kept:], self.values[kept:]
        elif self.values and abs(self.values[-1] - value) <= SAME * value:
            return False
        self.at.append(second)
        self.values.append(value)
        if len(self.at) > most:
            del self.at[:-most], self.values[:-most]
        return True

    def value(self, second: int) -> float | None:
        """What held at a time; before the first note, what was noted first."""
        values = tuple(self.values)
        if not values:
            return None
        return values[max(min(bisect_right(self.at, second), len(values)) - 1, 0)]


def series(
    budget: Budget,
    dimension: Dimension,
    direction: Direction,
    cells: Iterable[tuple[int, Mapping[FlowKey, Cell]]],
    limits: Steps | None,
    step_seconds: int,
    interval_seconds: float,
) -> Series:
    """The points of one budget. cells: (UNIX second, those of its members that moved)."""
    points: list[Point] = []
    hole = HOLE_STEPS * max(step_seconds, interval_seconds)
    for second, members in cells:
        if points and second - points[-1].at > hole:
            points.append(Point(points[-1].at + step_seconds))
        limit = limits.value(second) if limits is not None else None
        points.append(_point(budget, dimension, direction, second, members, limit))
    kind, name = budget.key
    if not points:
        return Series(kind, name, dimension, direction, step_seconds)
    columns = zip(*points, strict=True)
    return Series(kind, name, dimension, direction, step_seconds, *columns)


def _point(
    budget: Budget,
    dimension: Dimension,
    direction: Direction,
    second: int,
    members: Mapping[FlowKey, Cell],
    limit: float | None,
) -> Point:
    known = {member: members.get(member, REST) for member in budget.members}
    rate = usage.drawn(budget, known, dimension, direction)
    operations = queue = waiting = 0.0
    for cell in members.values():
        operations += cell.read_operations_per_second + cell.write_operations_per_second
        queue += cell.queue_length
        waiting += cell.waiting_seconds
    return Point(
        second,
        _known(rate),
        limit,
        _known(rate / limit) if rate is not None and limit else None,
        _known(queue),
        _known(waiting / operations) if operations else None,
    )


def _known(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value
