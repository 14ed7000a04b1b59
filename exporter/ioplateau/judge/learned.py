"""Limits nobody documents: levels at which a queued flow stays flat, again and again.

A plateau with a queue is a limit only if the application would not have made it by itself:
levels that were seen without a queue speak against it, recurrence speaks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ioplateau.judge.budgets import Dimension
from ioplateau.judge.phases import FULL, LONGEST_STEP, OFF, ON, STEEP
from ioplateau.judge.signals import Queue
from ioplateau.judge.window import BEAT_BLOCKS, Level, Recent, beats, echo, is_straight

LARGE_BYTES = 40 * 1024  # where the usual ratios of bytes to operations cross
FLAT, FLAT_BESIDE_KNOWN = 0.015, 0.010
LOCKED_FLAT = 0.04  # of a sum whose members move against each other
BLOCKS, BLOCKS_BESIDE_KNOWN = 5, 7
STRANGE_BLOCKS = 10  # of what was never seen faster
RIPPLED_BLOCKS, RIPPLED_GAIN = 14, 0.34
LOCKED_BLOCKS, HINT_BLOCKS = 6, 3
# Latency ten times its floor: gusts and a coarse count of operations blur a limit more than
# a device could look like one.
VERY_STEEP, STEEP_BLOCKS, STEEP_FLAT = 10.0, 11, 0.026
STRAIGHT_BLOCKS, STRAIGHT = 12, 0.012  # of latency that follows demand and no device
STEADY_BLOCKS, STEADY_LATENCY, STEADY_RATE = 10, 0.012, 0.06
LATE_LOOK = -0.2  # of the correlation of neighbours
LEAST_GUST, MOST_GUST = 0.35, 1.3  # of a limit, while everything still waits
GUST_BLOCKS, SAME_GUSTS = 6, 0.05
SAME = 0.015
SAME_CEILING = 0.02
OUTGROWN = 1.05
LEFT = 1.2
RIPPLED_FLAT = 0.03
VERY_FLAT = 0.006
KEEP = 4
TRUSTED_SECONDS = 8.0
HALF_SURE_SECONDS = 15.0
FREE_BLOCKS, FREE_LEVELS = 4, 6


class Drawn(Protocol):
    """What a plateau is looked for in: one flow, or a sum of them."""

    operations: float
    bytes: float
    excess: float
    queue: Queue
    queued: int
    own: bool
    recent_latency: Recent

    @property
    def is_locked(self) -> bool: ...
    def values_of(self, dimension: Dimension) -> list[float]: ...
    def level_of(self, dimension: Dimension) -> Level: ...
    def flat_latency(self) -> Level: ...


class Ceiling:
    """A level met under a queue: value per second, and for how many seconds in all."""

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
        return self.seconds / (self.seconds + HALF_SURE_SECONDS)


class Evidence(NamedTuple):
    """Seconds one block counts for a limit, and the limit."""

    gain: float
    dimension: Dimension
    value: float


class Plateau:
    """Unknown limits of one budget, both dimensions, over time."""

    __slots__ = ("_calm", "_free", "_highest", "ceilings", "dimension", "on", "score", "value")

    def __init__(self) -> None:
        self.ceilings: dict[Dimension, list[Ceiling]] = {
            Dimension.IOPS: [],
            Dimension.THROUGHPUT: [],
        }
        self._free: list[float] = []  # flat levels seen without a queue, operations per second
        self._highest = {Dimension.IOPS: 0.0, Dimension.THROUGHPUT: 0.0}  # without a queue
        self._calm: list[tuple[float, float]] = []
        self.dimension = Dimension.IOPS
        self.value = 0.0
        self.score = 0.0
        self.on = False

    def rest(self, dt: float) -> None:
        """A block that says nothing for a limit."""
        self.score = max(0.0, self.score - min(dt, LONGEST_STEP))
        self.on = self.on and self.score > OFF

    def step(
        self,
        drawn: Drawn,
        dt: float,
        *,
        beside_known: bool,
        allowed: bool,
        hints: Sequence[tuple[Dimension, float]] = (),
    ) -> None:
        """One block in which requests may have waited. hints: limits of budgets of the same
        kind, which may have been bought alike.
        """
        if drawn.queue < Queue.STRONG:
            if drawn.queue is Queue.NONE:
                self._learn_free(drawn)
            self.rest(dt)
            return
        self._calm.clear()
        evidence = self._recurrence(drawn, hints) or (
            allowed and self._flatness(drawn, beside_known)
        )
        if not evidence:
            rate = drawn.operations if self.dimension is Dimension.IOPS else drawn.bytes
            share = rate / self.value if allowed and self.value else 0.0
            gusts = drawn.excess >= STEEP and LEAST_GUST < share < MOST_GUST
            gain = 0.0 if 0.96 <= share <= 1.04 else -0.2 if gusts else -1.0
            evidence = Evidence(gain, self.dimension, self.value)
        gain = evidence.gain
        self.score = min(FULL, max(0.0, self.score + gain * min(dt, LONGEST_STEP)))
        self.on = self.score >= ON or (self.on and self.score > OFF)
        if gain > 0:
            self.dimension, self.value = evidence.dimension, evidence.value
            if self.on:
                self._remember(evidence.dimension, evidence.value, dt)

    def _recurrence(
        self, drawn: Drawn, hints: Sequence[tuple[Dimension, float]]
    ) -> Evidence | None:
        """A level that was a limit before, here or at a sibling, is one again."""
        if drawn.queued < 2:
            return None
        steep = drawn.excess >= STEEP
        for dimension, rate in (
            (Dimension.IOPS, drawn.operations),
            (Dimension.THROUGHPUT, drawn.bytes),
        ):
            for ceiling in self.ceilings[dimension]:
                if ceiling.seconds < TRUSTED_SECONDS:
                    continue
                if abs(rate / ceiling.value - 1) <= SAME_CEILING:
                    return Evidence(1.0, dimension, ceiling.value)
                if steep and drawn.queued >= GUST_BLOCKS:
                    values = drawn.values_of(dimension)[-GUST_BLOCKS:]
                    mean = sum(values) / len(values)
                    if abs(mean / ceiling.value - 1) <= SAME_GUSTS:
                        return Evidence(1.0, dimension, ceiling.value)
        for dimension, value in hints:
            rate = drawn.operations if dimension is Dimension.IOPS else drawn.bytes
            if abs(rate / value - 1) <= SAME:
                level = drawn.level_of(dimension)
                if min(level.count, drawn.queued) >= HINT_BLOCKS and level.spread <= FLAT:
                    return Evidence(1.0, dimension, level.mean)
        return None

    def standing(self, drawn: Drawn) -> tuple[Dimension, float] | None:
        """The trusted ceiling at which what is drawn stands now."""
        for dimension, rate in (
            (Dimension.IOPS, drawn.operations),
            (Dimension.THROUGHPUT, drawn.bytes),
        ):
            for ceiling in self.ceilings[dimension]:
                if (
                    ceiling.seconds >= TRUSTED_SECONDS
                    and abs(rate / ceiling.value - 1) <= SAME_CEILING
                ):
                    return dimension, ceiling.value
        return None

    def disown(self, drawn: Drawn) -> None:
        """What holds now is another's limit: forget what was learned of it here."""
        self.on, self.score = False, 0.0
        for dimension, rate in (
            (Dimension.IOPS, drawn.operations),
            (Dimension.THROUGHPUT, drawn.bytes),
        ):
            found = self.ceilings[dimension]
            found[:] = [c for c in found if abs(rate / c.value - 1) > SAME_CEILING]

    def _flatness(self, drawn: Drawn, beside_known: bool) -> Evidence | None:
        """A level held under a queue that the application would not have held by itself."""
        dimension, level = self._flatter(drawn)
        needed = BLOCKS_BESIDE_KNOWN if beside_known else BLOCKS
        if not drawn.own and level.spread > VERY_FLAT:
            needed = STRANGE_BLOCKS
        count = min(level.count, drawn.queued)
        noise = (1.5 if dimension is Dimension.THROUGHPUT else 0.5) / max(1.0, drawn.operations)
        flat = (FLAT_BESIDE_KNOWN if beside_known else FLAT) + noise
        # Few at a time can not be many that wait: then it is the time they wait that tells.
        deep = drawn.queue is Queue.DEEP or drawn.excess >= STEEP
        if drawn.is_locked and count >= LOCKED_BLOCKS and level.spread <= LOCKED_FLAT:
            return Evidence(1.0, dimension, level.mean)  # no application moves like that
        if drawn.excess >= VERY_STEEP and count >= STEEP_BLOCKS:
            flat = max(flat, STEEP_FLAT)
        is_flat = count >= needed and level.spread <= flat
        slowly = not is_flat
        if slowly:
            is_flat = deep and count >= RIPPLED_BLOCKS and _is_rippled(drawn, dimension, level)
            mean = beats(drawn.values_of(dimension)) if drawn.queued >= BEAT_BLOCKS else None
            if mean is not None and not is_flat:
                is_flat, level = True, Level(mean, level.spread, BEAT_BLOCKS)
            if not is_flat and count >= STEADY_BLOCKS and _is_steady(drawn, dimension, level):
                is_flat, slowly = True, False
        if not is_flat or self._is_vetoed(drawn, dimension, level):
            return None
        rate = drawn.operations if dimension is Dimension.IOPS else drawn.bytes
        if rate > LEFT * level.mean and not slowly:
            return None  # what stands at a limit may dip below it, not rise above
        gain = 2.0 if deep and level.spread <= VERY_FLAT else 1.0 if deep else 0.5
        if slowly:  # chance does it too, but not for long
            gain = RIPPLED_GAIN
        return Evidence(gain, dimension, level.mean)

    @staticmethod
    def _flatter(drawn: Drawn) -> tuple[Dimension, Level]:
        operations = drawn.level_of(Dimension.IOPS)
        volume = drawn.level_of(Dimension.THROUGHPUT)
        if operations.spread < 0.5 * volume.spread:
            return Dimension.IOPS, operations
        if volume.spread < 0.5 * operations.spread:
            return Dimension.THROUGHPUT, volume
        if drawn.bytes > LARGE_BYTES * drawn.operations:
            return Dimension.THROUGHPUT, volume
        return Dimension.IOPS, operations

    def _is_vetoed(self, drawn: Drawn, dimension: Dimension, level: Level) -> bool:
        """Whether this level may be the application's own, on a device that became slow."""
        operations = drawn.level_of(Dimension.IOPS).mean
        if any(abs(operations / free - 1) <= 0.02 for free in self._free):
            latency = drawn.flat_latency()
            if latency.count >= STRAIGHT_BLOCKS and latency.spread <= STRAIGHT:
                return False
            return not is_straight(drawn.recent_latency.values[-STRAIGHT_BLOCKS:], STRAIGHT)
        highest = self._highest[dimension]
        if highest and level.mean < 0.97 * highest:
            flat = 0.02 if drawn.queue is Queue.DEEP else 0.007
            return drawn.queued < 20 or level.spread > flat
        return False

    def _learn_free(self, drawn: Drawn) -> None:
        """A level that lasted some blocks and at which nobody waited."""
        calm = self._calm
        if drawn.operations <= 0:
            calm.clear()
            return
        calm.append((drawn.operations, drawn.bytes))
        if len(calm) < FREE_BLOCKS:
            return
        rates, volumes = zip(*calm, strict=True)
        del calm[0]
        lowest = min(rates)
        if lowest > self._highest[Dimension.IOPS]:
            self._highest[Dimension.IOPS] = lowest
            self._outgrow(Dimension.IOPS, lowest)
        volume = min(volumes)
        if volume > self._highest[Dimension.THROUGHPUT]:
            self._highest[Dimension.THROUGHPUT] = volume
            self._outgrow(Dimension.THROUGHPUT, volume)
        if max(rates) - lowest > 0.03 * lowest:
            return
        mean = sum(rates) / FREE_BLOCKS
        for free in self._free:
            if -0.01 * free <= mean - free <= 0.01 * free:
                return
        self._free.append(mean)
        del self._free[:-FREE_LEVELS]

    def _outgrow(self, dimension: Dimension, free: float) -> None:
        """A rate above a learned limit, and nobody waited: the world has changed."""
        found = self.ceilings[dimension]
        if found:
            found[:] = [ceiling for ceiling in found if free <= OUTGROWN * ceiling.value]

    def _remember(self, dimension: Dimension, value: float, dt: float) -> None:
        ceilings = self.ceilings[dimension]
        for ceiling in ceilings:
            if abs(value / ceiling.value - 1) <= SAME:
                ceiling.value += 0.1 * (value - ceiling.value)
                ceiling.seconds += dt
                return
        ceilings.append(Ceiling(value, dt))
        if len(ceilings) > KEEP:
            ceilings.remove(min(ceilings, key=lambda ceiling: ceiling.seconds))

    def confidence(self) -> float:
        """How sure we are of the limit that holds now, 0 to 1: by how long it was met."""
        for ceiling in self.ceilings[self.dimension]:
            if abs(ceiling.value - self.value) <= SAME_CEILING * ceiling.value:
                return Met(self.dimension, ceiling.value, ceiling.seconds).confidence
        return 0.0

    def met(self) -> tuple[Met, ...]:
        """Every learned limit that is trusted, the longest met first."""
        found = [
            Met(dimension, ceiling.value, ceiling.seconds)
            for dimension, ceilings in self.ceilings.items()
            for ceiling in ceilings
            if ceiling.seconds >= TRUSTED_SECONDS
        ]
        return tuple(sorted(found, key=lambda limit: -limit.seconds))

    def memory(self) -> dict[str, Any]:
        """What must survive a restart, as JSON values."""
        return {
            "ceilings": {
                dimension.value: [[c.value, c.seconds] for c in found]
                for dimension, found in self.ceilings.items()
            },
            "free": list(self._free),
            "highest": {dimension.value: value for dimension, value in self._highest.items()},
            "now": [self.dimension.value, self.value, self.score, self.on],
        }

    def restore(self, memory: Mapping[str, Any]) -> None:
        """Take up a saved memory."""
        for dimension in self.ceilings:
            self.ceilings[dimension] = [
                Ceiling(float(value), float(seconds))
                for value, seconds in memory["ceilings"].get(dimension.value, [])[:KEEP]
            ]
            self._highest[dimension] = float(memory["highest"].get(dimension.value, 0.0))
        self._free = [float(value) for value in memory["free"]][-FREE_LEVELS:]
        dimension, value, score, on = memory["now"]
        self.dimension, self.value = Dimension(dimension), float(value)
        self.score, self.on = min(FULL, max(0.0, float(score))), bool(on)


def _is_steady(drawn: Drawn, dimension: Dimension, level: Level) -> bool:
    """Latency far above its floor stands still, and only the rate trembles: so it does where a
    machine is too busy to look at its counters on time. No latency feels that, and what is missing
    in one block is in the next.
    """
    latency = drawn.flat_latency()
    return (
        drawn.excess >= STEEP
        and latency.count >= STEADY_BLOCKS
        and latency.spread <= STEADY_LATENCY
        and level.spread <= STEADY_RATE
        and echo(drawn.values_of(dimension)[-STEADY_BLOCKS:]) <= LATE_LOOK
    )


def _is_rippled(drawn: Drawn, dimension: Dimension, level: Level) -> bool:
    """A coarse limiter seen from outside: the rate jumps from block to block, its mean does not.

    What a device does by itself is slower: its means of four blocks move as its blocks do, and
    a block resembles its neighbour.
    """
    slow = level.slow_spread
    neighbours = echo(drawn.values_of(dimension)[-RIPPLED_BLOCKS:])
    if drawn.excess >= VERY_STEEP and level.spread <= RIPPLED_FLAT and neighbours <= 0.0:
        return True
    if slow is None:
        return False
    return (slow <= 0.012 and level.spread <= RIPPLED_FLAT and neighbours <= 0.05) or (
        slow <= 0.015 and slow <= 0.2 * level.spread and neighbours <= -0.3 and level.spread >= 0.08
    )
