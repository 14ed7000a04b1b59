"""Readings kept over the rate window, so that derived gauges cover the time between scrapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

C = TypeVar("C")


class ReadingPair(NamedTuple, Generic[C]):
    """Two readings between which no counter was reset, `elapsed_seconds` apart."""

    before: C
    after: C
    elapsed_seconds: float


# Readings of one flow with their times, oldest first. Never changed, so a state may keep them.
TimedReadings: TypeAlias = tuple[tuple[float, C], ...]


class Readings(Generic[C]):
    """The readings of one flow over the last `seconds`."""

    __slots__ = ("_full", "timed")

    def __init__(self, seconds: float) -> None:
        # A little grace: ticks jitter, and the window should hold whole intervals.
        self._full = seconds - 1e-3
        self.timed: TimedReadings[C] = ()

    def push(self, at: float, value: C) -> None:
        """Add a reading whose counters continue the last one's."""
        readings, full = self.timed, self._full
        while len(readings) > 1 and at - readings[1][0] >= full:
            readings = readings[1:]
        self.timed = readings + ((at, value),)  # noqa: RUF005 - a display costs twice as much

    def stand(self, clock: TimedReadings[None]) -> None:
        """Add the last reading again for all later times of the clock."""
        last_at, value = self.timed[-1]
        for at, _ in clock:
            if at > last_at:
                self.push(at, value)

    def restart(self, at: float, value: C) -> None:
        """Begin anew: the counters were reset, or nobody watched for a while."""
        self.timed = ((at, value),)

    @property
    def last(self) -> tuple[float, C] | None:
        return self.timed[-1] if self.timed else None

    @property
    def tick(self) -> ReadingPair[C] | None:
        """The last two readings."""
        return window(self.timed[-2:])


def stood(
    readings: TimedReadings[C], clock: TimedReadings[None], now: C
) -> tuple[tuple[float, C], tuple[float, C]]:
    """The oldest and the newest of what `Readings.stand` would have made of these readings, the newest
    as it is `now`.
    """
    begin, end = clock[0][0], clock[-1][0]
    last_at, value = readings[-1]
    if last_at < begin:
        return (begin, value), (end, now)
    in_window = (each for each in reversed(readings) if each[0] <= begin)
    return next(in_window, readings[0]), (end, now)


def timed(histories: Iterable[Readings[C]]) -> list[TimedReadings[C]]:
    """What each of them holds now."""
    return [*map(_timed, histories)]


_timed: Callable[[Readings[Any]], TimedReadings[Any]] = attrgetter("timed")


def window(readings: TimedReadings[C]) -> ReadingPair[C] | None:
    """The oldest and the newest; None: there are no two."""
    if len(readings) < 2:
        return None
    (start, before), (end, after) = readings[0], readings[-1]
    return ReadingPair(before, after, end - start)
