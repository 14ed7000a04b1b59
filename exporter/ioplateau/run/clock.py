"""The clocks of a tick, which a test or a replay may set. Deadlines of sockets and log lines have their own."""

from __future__ import annotations

import time
from math import inf
from typing import Protocol


class Clock(Protocol):
    """Seconds of three clocks: arithmetic, people, and time that runs through a suspend."""

    def mono(self) -> float: ...
    def wall(self) -> float: ...
    def boot(self) -> float: ...


class SystemClock:
    mono = staticmethod(time.monotonic)  # asked some thirty times a tick
    wall = staticmethod(time.time)

    def boot(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)


class Grid:
    """Ticks on a monotonic grid. A late tick is skipped, never caught up, and so is one that would come less
    than half an interval after the one before: the rates of a moment are no second's.
    """

    def __init__(self, start: float, interval_seconds: float) -> None:
        self._start = start
        self._interval = interval_seconds
        self._next = 0
        self.skipped = 0

    def next(self, now: float, taken: float = -inf) -> float:
        """When the next tick is due; those already past by half an interval or more are skipped.
        taken: when the one before was.
        """
        due = self._start + self._next * self._interval
        late = now - due
        if late > self._interval / 2:
            missed = int(late / self._interval + 0.5)
            self.skipped += missed
            self._next += missed
            due = self._start + self._next * self._interval
        if max(due, now) - taken < self._interval / 2:
            self.skipped += 1
            self._next += 1
            due += self._interval
        self._next += 1
        return due
