"""Time as the judge sees it: blocks of at least half a second, and the last few of them.

Everything later counts seconds, not ticks. Ticks shorter than a block are put together
first, so that a rate means the same however often one looks; longer ticks are blocks themselves.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import ceil, dist, log, sqrt

from ioplateau.judge import parameters as number
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.witness import Witness
from ioplateau.limits.budgets import Dimension, FlowKey

Ticks = Mapping[FlowKey, FlowTick | None]
# Each flow asks at each tick: see signals.STRONG.
IOPS, THROUGHPUT = DIMENSIONS = Dimension.IOPS, Dimension.THROUGHPUT


class Blocks:
    """Puts short ticks together until they make a block."""

    __slots__ = ("_answers", "_flows", "_seconds")

    def __init__(self) -> None:
        self._flows: dict[FlowKey, FlowTick | None] = {}
        self._answers: dict[str, float] = {}  # by NFS client, since the block began
        self._seconds = 0.0

    def clear(self) -> None:
        """Forget what was begun: a gap has no part in any block."""
        self._flows, self._answers = {}, {}
        self._seconds = 0.0

    def add(
        self, elapsed: float, flows: Ticks, witness: Witness
    ) -> tuple[float, Ticks, Witness] | None:
        """The finished block, its length and what was seen beside it, or None while it is too short."""
        if not self._seconds and elapsed >= number.BLOCK_SECONDS:
            return elapsed, flows, witness
        begun = self._flows
        for key, tick in flows.items():
            if self._seconds and key in begun:
                before = begun[key]
                begun[key] = joined(before, tick) if before and tick else None
            else:
                begun[key] = tick
        for key in begun.keys() - flows.keys():
            del begun[key]
        self._seconds += elapsed
        for name, client in witness.clients.items():
            answers = (client.receives_per_second or 0.0) * elapsed
            self._answers[name] = self._answers.get(name, 0.0) + answers
        if self._seconds < number.BLOCK_SECONDS:
            return None
        block = self._seconds, begun, self._with_answers(witness)
        self.clear()
        return block

    def _with_answers(self, witness: Witness) -> Witness:
        """What was seen at the last tick, but the answers of the whole block: a server that is silent in that tick
        need not be so in the block.
        """
        clients = {
            name: client
            if client.receives_per_second is None
            else client._replace(receives_per_second=self._answers[name] / self._seconds)
            for name, client in witness.clients.items()
        }
        return witness._replace(clients=clients) if clients else witness


def joined(first: FlowTick, second: FlowTick) -> FlowTick:
    """Two ticks of one flow as one: rates by time, means by operation, gauges from the later."""
    a, b = first.elapsed_seconds, second.elapsed_seconds
    t = a + b

    def rate(x: float, y: float) -> float:
        return (x * a + y * b) / t

    def share(x: float | None, y: float | None) -> float | None:
        return None if x is None or y is None else (x * a + y * b) / t

    reads = first.read_operations_per_second * a, second.read_operations_per_second * b
    writes = first.write_operations_per_second * a, second.write_operations_per_second * b
    return FlowTick(
        t,
        (reads[0] + reads[1]) / t,
        (writes[0] + writes[1]) / t,
        rate(first.read_bytes_per_second, second.read_bytes_per_second),
        rate(first.write_bytes_per_second, second.write_bytes_per_second),
        _mean(first.read_await_seconds, second.read_await_seconds, reads),
        _mean(first.write_await_seconds, second.write_await_seconds, writes),
        share(first.queue_length, second.queue_length),
        second.in_flight,
        share(first.busy_ratio, second.busy_ratio),
        rate(first.discard_operations_per_second, second.discard_operations_per_second),
        rate(first.flush_operations_per_second, second.flush_operations_per_second),
        _mean(first.read_rtt_seconds, second.read_rtt_seconds, reads),
        _mean(first.write_rtt_seconds, second.write_rtt_seconds, writes),
        _mean(first.read_queue_seconds, second.read_queue_seconds, reads),
        _mean(first.write_queue_seconds, second.write_queue_seconds, writes),
        rate(first.later_per_second, second.later_per_second),
    )


def _mean(x: float | None, y: float | None, weights: tuple[float, float]) -> float | None:
    if x is None or y is None:
        return y if x is None else x
    total = weights[0] + weights[1]
    return (x * weights[0] + y * weights[1]) / total if total else None


class Recent:
    """The last blocks' values, oldest first. `values` is for reading."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[float] = []

    def add(self, value: float) -> None:
        self.values.append(value)
        if len(self.values) > 2 * number.SUM_BLOCKS:
            del self.values[0]

    def forget(self) -> None:
        """Begin anew."""
        self.values.clear()


def blocks_in(seconds: int, dt: float) -> int:
    """Blocks of dt seconds that say as much as so many of a second each: a level is of three at least."""
    return max(number.LEVEL_LEAST, min(seconds, ceil(seconds / dt)))


def level_blocks(dt: float) -> int:
    """The fewest blocks of dt seconds that are a level: three, or two that last as long."""
    return 2 if 2 * dt >= number.LEVEL_LEAST else number.LEVEL_LEAST


def averaged(dt: float) -> float:
    """By how much less a rate ripples in blocks of dt seconds than in those of one. What is chance averages
    out as the root of time, what wanders does not: half way between, as the root of that root.
    """
    return 1 / sqrt(sqrt(max(1.0, dt)))


def regime(values: Sequence[float]) -> Sequence[float]:
    """The newest values, back to where the level was another."""
    count = len(values)
    if count < number.LEVEL_LEAST:
        return values
    _, middle, _ = sorted(values[-number.LEVEL_LEAST :])
    low, high = middle * (1 - number.STEP), middle * (1 + number.STEP)
    stranger = count + 1  # the oldest of those that were seen
    for index in range(count - 1, -1, -1):
        value = values[index]
        if value < low or value > high:
            if stranger == index + 1:
                return values[index + 2 :]
            stranger = index
    return values[1:] if stranger == 0 else values


class Level:
    """How flat some values are, and where.

    spread: standard deviation over mean, rare dips left out. count: values that went in.
    """

    __slots__ = ("count", "mean", "spread")

    def __init__(self, mean: float, spread: float, count: int) -> None:
        self.mean = mean
        self.spread = spread
        self.count = count


NOTHING = Level(0.0, 1.0, 0)


def level(values: Sequence[float]) -> Level:
    """Mean and spread without the rare dip.

    Demand that fails now and then leaves values below a limit, never above: so values that
    gather below a sharp upper edge are as flat as that edge.
    """
    count = len(values)
    if not count:
        return NOTHING
    ordered = sorted(values)
    middle = ordered[count // 2]
    within = between(ordered, middle, number.OFF_LEVEL * middle)
    kept, dips = len(within), count // number.SUM_BLOCKS or 1
    if kept < count - dips or kept < number.LEVEL_LEAST:
        within, kept = ordered, count
    mean = sum(within) / kept
    spread = 1.0
    if kept > 1 and mean > 0:
        spread = dist(within, [mean] * kept) / sqrt(kept - 1) / mean
    if count >= number.SUM_BLOCKS and spread > number.STANDING:
        low, high = ordered[2 * count // 5], ordered[-2]
        upper = (high - low) / high / number.UPPER_SPREADS if high > 0 else 1.0
        if upper < 0.5 * spread:
            upper_count = count - 2 * count // 5
            return Level(sum(ordered[-upper_count:]) / upper_count, upper, upper_count)
    return Level(mean, spread, count)


def _distance(values: Sequence[float], middle: float) -> float:
    """The root of the sum of squares of what each value is off the middle."""
    return dist(values, [middle] * len(values))


def between(ordered: Sequence[float], middle: float, off: float) -> Sequence[float]:
    """Those of ascending values that are no more than so much off the middle."""
    return ordered[bisect_left(ordered, middle - off) : bisect_right(ordered, middle + off)]


def counted_spread(count: float) -> float:
    """Spread of a count, as a share, of which the last one may have been in or out: of what is
    anywhere within one with equal chance the variance is a twelfth.
    """
    return sqrt(1 / 12) / max(1.0, count)


def makes_up(stretches: Sequence[Sequence[float]], dt: float) -> float:
    """Log-odds that what was done in all keeps to a line, and only the looks at it are off, against
    chance in each block, whose sum wanders as the root of time: a limiter's window or bucket owes what
    one block lacks and pays it in the next. stretches: rates of blocks of dt seconds in a row, all at
    one level. What looks are off by anyway says nothing: so they are of any device.

    Likelihoods of normal values, each with the spread that suits it best: n rates between n + 1 looks
    whose errors are independent are a moving average of order one, of determinant n + 1.
    """
    count = sum(map(len, stretches))
    if count < number.SUM_BLOCKS:
        return 0.0
    mean = sum(map(sum, stretches)) / count
    power = strays = cost = 0.0
    for stretch in stretches:
        off = [value - mean for value in stretch]
        ahead = [*accumulate(off, initial=0.0)]
        power += _distance(off, 0.0) ** 2
        strays += _distance(ahead, sum(ahead) / len(ahead)) ** 2
        cost += log(len(ahead)) / 2
    if not power:
        return 0.0
    strays = max(strays, count * (number.SAMPLING_SECONDS / dt * mean) ** 2)
    return max(0.0, (count - 1) / 2 * log(power / strays) - cost)


def is_straight(values: Sequence[float], most: float) -> bool:
    """Whether values lie on a line, level or not, but for a spread of `most` of their mean: so does
    the latency at a limit while demand grows, and no device's.
    """
    count = len(values)
    mean = sum(values) / count if count else 0.0
    if count <= number.LEVEL_LEAST or mean <= 0:
        return False
    middle = (count - 1) / 2
    slope = sum([(i - middle) * v for i, v in enumerate(values)]) * 12 / (count**3 - count)
    off = [v - mean - slope * (i - middle) for i, v in enumerate(values)]
    return _distance(off, 0.0) / sqrt(count - 2) <= most * mean


class Levels:
    """How flat the newest blocks are, of whatever keeps them: a flow, or a sum of flows."""

    __slots__ = (
        "bytes_level",
        "latency_level",
        "operations_level",
        "recent_bytes",
        "recent_latency",
        "recent_operations",
    )
    recent_operations: Recent
    recent_bytes: Recent
    recent_latency: Recent
    operations_level: Level | None
    bytes_level: Level | None
    latency_level: Level | None

    def values_of(self, dimension: Dimension) -> list[float]:
        """The last blocks' rates, oldest first."""
        recent = self.recent_operations if dimension is IOPS else self.recent_bytes
        return recent.values

    def level_of(self, dimension: Dimension) -> Level:
        """How flat the newest blocks are, computed once a block and only if somebody asks."""
        if dimension is IOPS:
            if self.operations_level is None:
                self.operations_level = level(regime(self.recent_operations.values))
            return self.operations_level
        if self.bytes_level is None:
            self.bytes_level = level(regime(self.recent_bytes.values))
        return self.bytes_level

    def flat_latency(self) -> Level:
        if self.latency_level is None:
            self.latency_level = level(regime(self.recent_latency.values))
        return self.latency_level
