"""The time between ticks: whether it is a gap, and how many ticks were missed."""

from __future__ import annotations

from collections import deque

from ioplateau.judge.parameters import BLOCK_SECONDS
from ioplateau.state import GAP_INTERVALS

# So late again and again: what GAP_INTERVALS are of the longest interval that may be set.
LONGEST_SECONDS = 25.0
COUNTED = 60  # ticks, made and missed
MOST_MISSED = 6  # of them; as many as make the alert on late sampling


class TickTiming:
    """Remembers which ticks were late. is_late: the last one came after longer than a usual gap, as the one
    before it did, and is judged.
    """

    def __init__(self) -> None:
        self.is_late = False
        self._late_seconds = 0.0  # how late a tick was last; 0: none was
        self._watched_seconds = 0.0  # since then
        self._missed: deque[int] = deque()  # before each tick
        self._sum = 0  # of them

    def elapsed(self, elapsed: float, slept: float, interval: float) -> float | None:
        """Seconds since the tick before, of which `slept` more went by in a suspend; None: a gap.

        One pause is a gap: a paused VM does nothing, and its requests wait. Where less was watched since
        the pause before than that one lasted, pauses are how this daemon is run: counters have gone on.
        """
        self._count(elapsed, interval)
        self.is_late = False
        if elapsed <= 0 or slept > GAP_INTERVALS * interval:
            return None
        if elapsed <= GAP_INTERVALS * interval:
            self._watched_seconds += elapsed
            return elapsed
        late = self._late_seconds
        is_again = late > 0 and self._watched_seconds < max(late, BLOCK_SECONDS)
        self.is_late = is_again and elapsed <= LONGEST_SECONDS
        self._late_seconds, self._watched_seconds = elapsed, 0.0
        return elapsed if self.is_late else None

    def _count(self, elapsed: float, interval: float) -> None:
        missed = min(max(round(elapsed / interval) - 1, 0), COUNTED - 1)
        self._missed.append(missed)
        self._sum += missed
        while len(self._missed) + self._sum > COUNTED:
            self._sum -= self._missed.popleft()

    @property
    def notices(self) -> tuple[str, ...]:
        """That many ticks were missed, if so."""
        if self._sum < MOST_MISSED:
            return ()
        ticks = len(self._missed) + self._sum
        words = (
            f"{self._sum} of the last {ticks} ticks were missed: this daemon got no CPU, "
            "or the machine was paused; short throttling is not seen"
        )
        return (words,)
