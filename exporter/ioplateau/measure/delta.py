"""Readings kept over the rate window, so that derived gauges cover the time between scrapes."""

from __future__ import annotations

from collections import deque
from typing import Generic, NamedTuple, TypeVar

C = TypeVar("C")


class Span(NamedTuple, Generic[C]):
    """Two readings of one unbroken story, `elapsed_seconds` apart."""

    before: C
    after: C
    elapsed_seconds: float


class History(Generic[C]):
    """The readings of one flow over the last `seconds`, oldest first."""

    __slots__ = ("_readings", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._readings: deque[tuple[float, C]] = deque()

    def push(self, at: float, value: C) -> None:
        """Add a reading that continues the story."""
        readings = self._readings
        readings.append((at, value))
        # Half a tick of grace: ticks jitter, and the window should hold whole intervals.
        while len(readings) > 2 and at - readings[1][0] >= self._seconds - 1e-3:
            readings.popleft()

    def restart(self, at: float, value: C) -> None:
        """Begin a new story: the counters were reset, or nobody watched for a while."""
        self._readings.clear()
        self._readings.append((at, value))

    @property
    def last(self) -> tuple[float, C] | None:
        return self._readings[-1] if self._readings else None

    @property
    def tick(self) -> Span[C] | None:
        """The last two readings."""
        if len(self._readings) < 2:
            return None
        (start, before), (end, after) = self._readings[-2], self._readings[-1]
        return Span(before, after, end - start)

    @property
    def window(self) -> Span[C] | None:
        """The oldest and the newest reading kept."""
        readings = self._readings
        if len(readings) < 2:
            return None
        (start, before), (end, after) = readings[0], readings[-1]
        return Span(before, after, end - start)
