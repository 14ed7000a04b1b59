"""How much of each limit is used, over the rate window and at its peak, and for how long it held.

Counters survive a missed scrape; the peak keeps what happened between two scrapes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Protocol

from ioplateau.limits.budgets import Budget, BudgetKey, Dimension, Direction, FlowKey, Verdict, Word
from ioplateau.limits.claims import least_counted

PEAK_SECONDS = 60.0


class Drawing(Protocol):
    """What a flow or several draw, per second: over a tick, a block or a cell of the history."""

    @property
    def read_operations_per_second(self) -> float: ...
    @property
    def write_operations_per_second(self) -> float: ...
    @property
    def read_bytes_per_second(self) -> float: ...
    @property
    def write_bytes_per_second(self) -> float: ...


def drawn(
    budget: Budget,
    flows: Mapping[FlowKey, Drawing | None],
    dimension: Dimension,
    direction: Direction,
) -> float | None:
    """What the members draw for certain per second in one dimension.

    None: of some member it is not known, or nothing counts for certain (a host's cache may
    answer all of it).
    """
    no_reads, no_writes = budget.skips_reads, budget.skips_writes
    if dimension is Dimension.SLOTS or (
        (no_reads or no_writes) and _is_all_hidden(budget, direction)
    ):
        return None
    read, write = _counting(dimension, budget.operation_bytes)
    reads, writes = direction is not Direction.WRITE, direction is not Direction.READ
    total = 0.0
    for member in budget.members:
        tick = flows.get(member)
        if tick is None:
            return None
        if reads and member not in no_reads:
            total += read(tick)
        if writes and member not in no_writes:
            total += write(tick)
    return total


Rate = Callable[[Drawing], float]
_read_operations: Rate = attrgetter("read_operations_per_second")
_write_operations: Rate = attrgetter("write_operations_per_second")
_read_bytes: Rate = attrgetter("read_bytes_per_second")
_write_bytes: Rate = attrgetter("write_bytes_per_second")


def rate_of(
    one: Drawing, dimension: Dimension, direction: Direction, unit: int | None = None
) -> float:
    """Operations or bytes that one flow, or the sum of several, draws per second."""
    read, write = _counting(dimension, unit)
    if direction is Direction.TOTAL:
        return read(one) + write(one)
    return read(one) if direction is Direction.READ else write(one)


def _counting(dimension: Dimension, unit: int | None) -> tuple[Rate, Rate]:
    """How reads and writes are counted; where the provider counts an operation above `unit` bytes
    as several, so do we.
    """
    if dimension is not Dimension.IOPS:
        return _read_bytes, _write_bytes
    if unit is None:
        return _read_operations, _write_operations
    return (
        lambda tick: least_counted(_read_operations(tick), _read_bytes(tick), unit),
        lambda tick: least_counted(_write_operations(tick), _write_bytes(tick), unit),
    )


def _is_all_hidden(budget: Budget, direction: Direction) -> bool:
    return all(
        (direction is Direction.WRITE or member in budget.skips_reads)
        and (direction is Direction.READ or member in budget.skips_writes)
        for member in budget.members
    )


CRUMB = 1e-12  # of what left a running sum: what remains and is less is none of what is in it


class WindowMean:
    """Mean of a rate over the last `seconds`, constant work a tick."""

    __slots__ = ("_amount", "_elapsed", "_ticks", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ticks: deque[tuple[float, float]] = deque()
        self._elapsed = self._amount = 0.0

    def add(self, elapsed: float, rate: float) -> None:
        ticks, amount = self._ticks, rate * elapsed
        ticks.append((elapsed, amount))
        seconds, total = self._elapsed + elapsed, self._amount + amount
        full = self.seconds - 1e-3
        while seconds - ticks[0][0] >= full and len(ticks) > 1:
            gone, amount = ticks.popleft()
            seconds -= gone
            total -= amount
            if total < CRUMB * amount:  # what running sums leave of float error
                total = 0.0
        self._elapsed, self._amount = seconds, total

    def clear(self) -> None:
        self._ticks.clear()
        self._elapsed = self._amount = 0.0

    @property
    def mean(self) -> float | None:
        return self._amount / self._elapsed if self._ticks else None


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


class Meter:
    """Follows one budget in one dimension and direction: shares of the limit over the rate
    window and at their peak, seconds and episodes at it counted so far.
    """

    __slots__ = ("_peak", "episodes", "in_force", "mean", "throttled", "throttled_seconds")

    def __init__(
        self, window_seconds: float, throttled_seconds: float = 0.0, episodes: int = 0
    ) -> None:
        self.mean = WindowMean(window_seconds)
        self._peak = WindowPeak(PEAK_SECONDS)
        self.throttled = False
        self.throttled_seconds = throttled_seconds
        self.episodes = episodes
        self.in_force: float | None = None  # the limit at the last tick; None: there was none

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

    @property
    def utilization(self) -> float | None:
        return self.mean.mean

    def peak(self, at: float) -> float | None:
        return self._peak.peak(at)


def is_throttled_at(verdict: Verdict, dimension: Dimension, direction: Direction) -> bool:
    """Whether a verdict says that this very limit binds, and not that of a stripe's member."""
    return (
        verdict.word is Word.THROTTLED
        and verdict.parent is None
        and verdict.dimension is dimension
        and (verdict.direction or Direction.TOTAL) is direction
    )


class FlowClock:
    """Seconds in which each flow suffered from each budget."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[FlowKey, BudgetKey, Dimension], float] = {}

    def observe(self, elapsed: float | None, held: Iterable[Verdict]) -> None:
        if elapsed is None:
            return
        for verdict in held:
            if verdict.word is Word.THROTTLED and verdict.dimension is not None:
                for flow in verdict.sufferers:
                    key = (flow, verdict.key, verdict.dimension)
                    self.seconds[key] = self.seconds.get(key, 0.0) + elapsed
