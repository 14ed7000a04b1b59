"""Levels that a budget came to again: those that were limits when it met them, and those at which nobody
waited. Values are per second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ioplateau.judge import parameters as number
from ioplateau.judge.memory import SavedCeiling, SavedStand
from ioplateau.judge.waits import Drawn
from ioplateau.judge.window import IOPS, THROUGHPUT, level_blocks
from ioplateau.limits.budgets import Dimension


class RepeatedLevel:
    """A level: value per second, and for how many seconds it was met in all."""

    __slots__ = ("seconds", "value")

    def __init__(self, value: float, seconds: float = 0.0) -> None:
        self.value = value
        self.seconds = seconds


class Met(NamedTuple):
    """A limit learned by meeting it: value per second, seconds met in all, and how sure we
    are, 0 to 1.
    """

    dimension: Dimension
    value: float
    seconds: float

    @property
    def confidence(self) -> float:
        return self.seconds / (self.seconds + number.SUM_BLOCKS)


class Ceilings:
    """Levels that held requests back, a few of either dimension."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[Dimension, list[RepeatedLevel]] = {IOPS: [], THROUGHPUT: []}

    def __bool__(self) -> bool:
        """Whether there are any, as most budgets have none."""
        return bool(self._found[IOPS] or self._found[THROUGHPUT])

    def of(self, dimension: Dimension) -> Sequence[RepeatedLevel]:
        """All of them, as they were met."""
        return self._found[dimension]

    def long_met(self, dimension: Dimension) -> list[RepeatedLevel]:
        """Those that were met for long enough to be trusted."""
        return [each for each in self._found[dimension] if each.seconds >= number.SUM_BLOCKS]

    def remember(self, dimension: Dimension, value: float, dt: float) -> None:
        """It held requests back for so many seconds more."""
        ceilings = self._found[dimension]
        for ceiling in ceilings:
            if abs(value / ceiling.value - 1) <= number.SAME_LEVEL:
                ceiling.seconds += dt
                ceiling.value += dt / ceiling.seconds * (value - ceiling.value)
                return
        ceilings.append(RepeatedLevel(value, dt))
        if len(ceilings) > number.SUM_BLOCKS:
            ceilings.remove(min(ceilings, key=lambda ceiling: ceiling.seconds))

    def forget(self, dimension: Dimension, rate: float) -> None:
        """What is near this rate is none."""
        found = self._found[dimension]
        found[:] = [c for c in found if abs(rate / c.value - 1) > number.SAME_LEVEL]

    def outgrow(self, dimension: Dimension, free: float) -> None:
        """More than this was done and nobody waited: the world has changed."""
        found = self._found[dimension]
        found[:] = [c for c in found if free <= (1 + number.OFF_LEVEL) * c.value]

    def confidence(self, dimension: Dimension, value: float) -> float:
        """How sure we are of a limit of this value, 0 to 1: by how long it was met."""
        for ceiling in self._found[dimension]:
            if abs(ceiling.value - value) <= number.SAME_LEVEL * ceiling.value:
                return Met(dimension, ceiling.value, ceiling.seconds).confidence
        return 0.0

    def memory(self) -> dict[Dimension, tuple[SavedCeiling, ...]]:
        """What must survive a restart."""
        return {
            dimension: tuple(SavedCeiling(each.value, each.seconds) for each in found)
            for dimension, found in self._found.items()
        }

    def restore(self, saved: Mapping[Dimension, tuple[SavedCeiling, ...]]) -> None:
        """Take up what was saved."""
        for dimension in self._found:
            found = saved.get(dimension, ())[: number.SUM_BLOCKS]
            self._found[dimension] = [RepeatedLevel(*each) for each in found]


class FreeLevels:
    """What was done while nobody waited: no limit is below it, and a level at which it stayed is the
    application's own. Ceilings that it shows to be none are forgotten.
    """

    __slots__ = (
        "_calm",
        "_ceilings",
        "_highest",
        "_levels",
        "_queued_at",
        "_seconds",
        "_stayed",
    )  # fmt: skip

    def __init__(self, ceilings: Ceilings) -> None:
        self._ceilings = ceilings
        self._levels: list[RepeatedLevel] = []  # flat ones, operations per second
        self._seconds = 0.0  # in which nobody waited, in all
        self._highest = {IOPS: 0.0, THROUGHPUT: 0.0}
        self._calm: list[tuple[float, float]] = []  # the last blocks, operations and bytes
        self._queued_at = 0.0  # operations per second, the last time requests waited
        self._stayed: list[float] = []  # levels that stayed when the queue went

    def learn(self, drawn: Drawn, dt: float) -> None:
        """A block in which nobody waited."""
        calm = self._calm
        if drawn.operations <= 0:
            calm.clear()
            return
        self._seconds += dt
        if self._seconds > 2 * number.STANDS_HALF_SECONDS:
            self._seconds /= 2
            for free in self._levels:
                free.seconds /= 2
        calm.append((drawn.operations, drawn.bytes))
        if len(calm) == 2 and (drawn.is_ordinary or drawn.waiting < number.SHARE_WAITING):
            self._discredit()
        least = level_blocks(dt)
        if len(calm) < least:
            return
        rates, volumes = zip(*calm[-least:], strict=True)
        del calm[: 1 - number.LEVEL_LEAST]
        lowest = min(rates)
        self._raise(IOPS, lowest)
        self._raise(THROUGHPUT, min(volumes))
        if max(rates) - lowest <= number.OFF_LEVEL * lowest:
            self._add(sum(rates) / least, dt, least * dt)

    def _raise(self, dimension: Dimension, lowest: float) -> None:
        """At least this was done in each of the last blocks."""
        if lowest > self._highest[dimension]:
            self._highest[dimension] = lowest
            self._ceilings.outgrow(dimension, lowest)

    def _add(self, mean: float, dt: float, seconds: float) -> None:
        """It stood there for another block, or for the first time, for so many seconds."""
        for free in self._levels:
            if abs(mean - free.value) <= 2 * number.STANDING * free.value:
                free.seconds += dt
                return
        if len(self._levels) >= number.SUM_BLOCKS:
            self._levels.remove(min(self._levels, key=lambda free: free.seconds))
        self._levels.append(RepeatedLevel(mean, seconds))

    def _discredit(self) -> None:
        """The queue went and the rate stayed: it is the application's own, and no limit."""
        (first, first_bytes), (second, second_bytes) = self._calm
        same = number.SAME_LEVEL
        rate = (first + second) / 2
        if abs(first - second) > 2 * same * rate:
            return
        if not self._queued_at or abs(rate / self._queued_at - 1) > same:
            return
        if not any(abs(rate / free - 1) <= same for free in self._stayed):
            self._stayed.append(rate)
            del self._stayed[: -number.SUM_BLOCKS]
        self._ceilings.forget(IOPS, rate)
        self._ceilings.forget(THROUGHPUT, (first_bytes + second_bytes) / 2)

    def end(self, drawn: Drawn) -> None:
        """A block in which requests wait."""
        self._calm.clear()
        self._queued_at = drawn.operations

    def highest(self, dimension: Dimension) -> float:
        """The most that was done for some blocks while nobody waited."""
        return self._highest[dimension]

    def exceeds(self, dimension: Dimension, value: float) -> bool:
        """Whether more than this was done while nobody waited."""
        return value < (1 - number.OFF_LEVEL) * self._highest[dimension]

    def stayed(self, operations: float) -> bool:
        """Whether as many were done when the queue went as while it was there."""
        return any(abs(operations / each - 1) <= number.SAME_LEVEL for each in self._stayed)

    def has(self, operations: float) -> bool:
        """Whether as many were done for some blocks while nobody waited."""
        return bool(self._near(operations, number.SAME_LEVEL))

    def is_kept(self, operations: float) -> bool:
        """Whether as many were done for long while nobody waited: a demand that moves passes any level, an
        application's own is where it stays.
        """
        here = sum([each.seconds for each in self._near(operations, number.SAME_LEVEL)])
        if here >= number.LEAST_PART * self._seconds:
            return True
        around = sum([each.seconds for each in self._near(operations, number.STEP)])
        return here >= max(number.SUM_BLOCKS, number.SHARE_WAITING * around)

    def is_usual(self, drawn: Drawn) -> bool:
        """Whether it is where it was before for long while nobody waited."""
        if not self._levels:
            return False
        free = self._near(drawn.level_of(IOPS).mean, number.SAME_LEVEL)
        return any(each.seconds >= 2 * number.SETTLED_SECONDS for each in free)

    def _near(self, operations: float, off: float) -> list[RepeatedLevel]:
        """The levels at which as many operations were done, but for this share."""
        return [each for each in self._levels if abs(operations / each.value - 1) <= off]

    def memory(self) -> tuple[dict[Dimension, float], tuple[SavedStand, ...], float]:
        """What must survive a restart: the highest rates, the levels, and seconds in all."""
        levels = tuple(SavedStand(each.value, each.seconds) for each in self._levels)
        return dict(self._highest), levels, self._seconds

    def restore(
        self, highest: Mapping[Dimension, float], levels: Sequence[SavedStand], seconds: float
    ) -> None:
        """Take up what was saved."""
        for dimension in self._highest:
            self._highest[dimension] = highest.get(dimension, 0.0)
        self._levels = [RepeatedLevel(*each) for each in levels[: number.SUM_BLOCKS]]
        self._seconds = seconds
