"""How much of each limit is used, over the rate window and at its peak, and for how long it held.

Counters survive a missed scrape; the peak keeps what happened between two scrapes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from ioplateau.judge.budgets import Budget, BudgetKey, Dimension, Direction, FlowKey, Verdict, Word
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.limits import least_counted

PEAK_SECONDS = 60.0


def drawn(
    budget: Budget,
    flows: Mapping[FlowKey, FlowTick | None],
    dimension: Dimension,
    direction: Direction,
) -> float | None:
    """What the members draw for certain per second in one dimension.

    None: of some member it is not known, or nothing counts for certain (a host's cache may
    answer all of it).
    """
    if dimension is Dimension.SLOTS or _is_all_hidden(budget, direction):
        return None
    total = 0.0
    for member in budget.members:
        tick = flows.get(member)
        if tick is None:
            return None
        if direction is not Direction.WRITE and member not in budget.skips_reads:
            total += _counted(
                budget,
                dimension,
                tick.read_operations_per_second,
                tick.read_bytes_per_second,
            )
        if direction is not Direction.READ and member not in budget.skips_writes:
            total += _counted(
                budget,
                dimension,
                tick.write_operations_per_second,
                tick.write_bytes_per_second,
            )
    return total


def _is_all_hidden(budget: Budget, direction: Direction) -> bool:
    if not budget.skips_reads and not budget.skips_writes:
        return False
    return all(
        (direction is Direction.WRITE or member in budget.skips_reads)
        and (direction is Direction.READ or member in budget.skips_writes)
        for member in budget.members
    )


def _counted(
    budget: Budget, dimension: Dimension, operations: float, bytes_per_second: float
) -> float:
    if dimension is Dimension.THROUGHPUT:
        return bytes_per_second
    unit = budget.operation_bytes
    return operations if unit is None else least_counted(operations, bytes_per_second, unit)


class WindowMean:
    """Mean of a rate over the last `seconds`, constant work a tick."""

    __slots__ = ("_amount", "_elapsed", "_ticks", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ticks: deque[tuple[float, float]] = deque()
        self._elapsed = self._amount = 0.0

    def add(self, elapsed: float, rate: float) -> None:
        ticks = self._ticks
        ticks.append((elapsed, rate * elapsed))
        self._elapsed += elapsed
        self._amount += rate * elapsed
        while len(ticks) > 1 and self._elapsed - ticks[0][0] >= self.seconds - 1e-3:
            gone, amount = ticks.popleft()
            self._elapsed -= gone
            self._amount -= amount

    def clear(self) -> None:
        self._ticks.clear()
        self._elapsed = self._amount = 0.0

    @property
    def mean(self) -> float | None:
        # Running sums leave crumbs of float error; a rate is never below zero.
        return max(self._amount / self._elapsed, 0.0) if self._ticks else None


class WindowPeak:
    """Highest value of the last `seconds`."""

    __slots__ = ("_falling", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._falling: deque[tuple[float, float]] = deque()  # (at, value), values falling

    def add(self, at: float, value: float) -> None:
        falling = self._falling
        while falling and falling[-1][1] <= value:
            falling.pop()
        falling.append((at, value))
        while at - falling[0][0] > self._seconds:
            falling.popleft()

    def peak(self, at: float) -> float | None:
        """Highest value seen in the `seconds` before `at`."""
        for when, value in self._falling:
            if at - when <= self._seconds:
                return value
        return None


@dataclass(frozen=True, slots=True)
class Used:
    """One limit's use: shares of the limit, seconds and episodes counted so far."""

    utilization: float | None
    peak: float | None
    throttled: bool
    throttled_seconds: float
    episodes: int


class Meter:
    """Follows one budget in one dimension and direction."""

    __slots__ = ("_peak", "episodes", "mean", "throttled", "throttled_seconds")

    def __init__(self, window_seconds: float) -> None:
        self.mean = WindowMean(window_seconds)
        self._peak = WindowPeak(PEAK_SECONDS)
        self.throttled = False
        self.throttled_seconds = 0.0
        self.episodes = 0

    def observe(
        self, at: float, elapsed: float | None, share: float | None, *, throttled: bool
    ) -> None:
        """One tick. share: of the limit in force during the tick, which burst credit moves;
        None: not known. elapsed None: a gap, of which nothing is known and nothing is counted.
        """
        if elapsed is None or share is None:
            self.mean.clear()
        else:
            self.mean.add(elapsed, share)
            self._peak.add(at, share)
        if throttled and not self.throttled:
            self.episodes += 1
        if throttled and elapsed is not None:
            self.throttled_seconds += elapsed
        self.throttled = throttled

    def used(self, at: float) -> Used:
        return Used(
            self.mean.mean,
            self._peak.peak(at),
            self.throttled,
            self.throttled_seconds,
            self.episodes,
        )


def is_throttled_at(verdict: Verdict, dimension: Dimension, direction: Direction) -> bool:
    """Whether a verdict says that this very limit binds."""
    return (
        verdict.word is Word.THROTTLED
        and verdict.dimension is dimension
        and (verdict.direction or Direction.TOTAL) is direction
    )


class FlowClock:
    """Seconds in which each flow suffered from each budget."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[FlowKey, BudgetKey, Dimension], float] = {}

    def observe(self, elapsed: float | None, verdicts: Mapping[BudgetKey, Verdict]) -> None:
        if elapsed is None:
            return
        for verdict in verdicts.values():
            if verdict.word is Word.THROTTLED and verdict.dimension is not None:
                for flow in verdict.sufferers:
                    key = (flow, verdict.key, verdict.dimension)
                    self.seconds[key] = self.seconds.get(key, 0.0) + elapsed
