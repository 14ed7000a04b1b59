"""The figures of a report: percentiles, shares of time, what a sizing asks for.

The checklist is that of Azure's premium-storage-performance.md, "Application performance
requirements checklist"; other storage documents ask for the same. Percentiles are by nearest rank
over seconds: the value that was not exceeded in that share of the time.

https://learn.microsoft.com/azure/virtual-machines/premium-storage-performance
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, isnan
from typing import NamedTuple

from ioplateau.history import Episode
from ioplateau.limits.budgets import FlowKey
from ioplateau.tell.report.samples import COLUMNS, FlowColumns, LimitKey, Samples

SHARES = (0.5, 0.9, 0.99)
TENTHS = 10
REQUEST_SIZES = (4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20)


class Spread(NamedTuple):
    """One quantity over time. None: never known."""

    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    mean: float | None = None
    least: float | None = None
    most: float | None = None


class Checklist(NamedTuple):
    """One flow, or all disks together, in base units. Ratios are 0 to 1."""

    operations: Spread
    read_ratio: Spread
    write_ratio: Spread
    request_bytes: Spread
    throughput: Spread
    latency: Spread
    queue: Spread


class Tenths(NamedTuple):
    """Seconds in each tenth of a limit, and the seconds above it."""

    key: LimitKey
    value: float  # that held last
    least_value: float  # of those that the shares are of
    most_value: float
    source: str
    seconds: tuple[float, ...]  # ten of them: 0 to 10 %, ..., 90 to 100 %
    above: float
    most: float  # highest share

    @property
    def known(self) -> float:
        """Seconds in which the share was known."""
        return sum(self.seconds) + self.above


def percentile(pairs: Sequence[tuple[float, float]], share: float) -> float | None:
    """The value not exceeded in `share` of the time. pairs: (value, seconds), values rising."""
    total = sum(seconds for _, seconds in pairs)
    passed = 0.0
    for value, seconds in pairs:
        passed += seconds
        if passed >= share * total * (1 - 1e-12):
            return value
    return None


def spread(values: Iterable[float], seconds: Iterable[float]) -> Spread:
    """Of the values that are known, weighed by how long each held."""
    pairs = sorted(
        (value, length) for value, length in zip(values, seconds, strict=True) if not isnan(value)
    )
    if not pairs:
        return Spread()
    total = sum(length for _, length in pairs)
    mean = sum(value * length for value, length in pairs) / total
    p50, p90, p99 = (percentile(pairs, share) for share in SHARES)
    return Spread(p50, p90, p99, mean, pairs[0][0], pairs[-1][0])


def covered_seconds(episodes: Iterable[Episode], began: float, ended: float) -> float:
    """Seconds of a span of UNIX seconds in which any of them went on."""
    total, last = 0.0, began
    for each in sorted(episodes, key=lambda one: one.began):
        over = ended if each.ended is None else min(each.ended, ended)
        total += max(over - max(each.began, last), 0.0)
        last = max(last, over)
    return total


def storage(samples: Samples) -> list[FlowKey]:
    """All flows but those of the network's interfaces, which have no requests."""
    return [key for key in samples.flows if key.kind != "nic"]


def whole_disks(samples: Samples) -> list[FlowKey]:
    """The disks that a request reaches once, without what stands on others."""
    return [key for key in samples.flows if key.kind == "disk" and key not in samples.stacked]


def checklist(samples: Samples, flows: Sequence[FlowKey]) -> Checklist:
    """What these flows did together, over the time in which any of them did something."""
    found = [samples.flows[key] for key in flows if key in samples.flows]
    columns = _together(found, len(samples))
    reads, writes, read_bytes, write_bytes, waited, queue = columns
    busy = [index for index in range(len(samples)) if reads[index] + writes[index] > 0]
    seconds = [samples.seconds[index] for index in busy]
    operations = [reads[index] + writes[index] for index in busy]
    size = [read_bytes[index] + write_bytes[index] for index in busy]
    return Checklist(
        operations=spread(operations, seconds),
        read_ratio=spread((reads[i] / n for i, n in zip(busy, operations, strict=True)), seconds),
        write_ratio=spread((writes[i] / n for i, n in zip(busy, operations, strict=True)), seconds),
        request_bytes=spread((b / n for b, n in zip(size, operations, strict=True)), seconds),
        throughput=spread(size, seconds),
        latency=spread((waited[i] / n for i, n in zip(busy, operations, strict=True)), seconds),
        queue=spread((queue[index] for index in busy), seconds),
    )


def _together(found: Sequence[FlowColumns], count: int) -> tuple[list[float], ...]:
    """Reads, writes, their bytes, seconds waited per second and queue of all flows. 0: none; NaN, of the
    last two: not known.
    """
    sums = tuple([0.0] * count for _ in range(6))
    for each in found:
        columns = [each[name] for name in COLUMNS]
        for index, row in enumerate(zip(*columns, strict=True)):
            reads, writes, read_bytes, write_bytes = map(_or_0, row[:4])
            read_await, write_await, queue = row[4:]
            if reads + writes == 0:
                queue = _or_0(queue)  # of one that rests, or was not there
            waited = reads * read_await if reads else 0.0
            waited += writes * write_await if writes else 0.0
            for place, value in enumerate((reads, writes, read_bytes, write_bytes, waited, queue)):
                sums[place][index] += value
    return sums


def _or_0(value: float) -> float:
    return 0.0 if isnan(value) else value


def tenths(samples: Samples) -> tuple[Tenths, ...]:
    """Of each limit that was drawn on, the highest share first."""
    found = []
    for key, each in samples.limits.items():
        inside, above, most = [0.0] * TENTHS, 0.0, 0.0
        values = []
        for share, value, seconds in zip(each.shares, each.values, samples.seconds, strict=True):
            if isnan(share):
                continue
            values.append(value)
            most = max(most, share)
            if share > 1:
                above += seconds
            else:
                inside[max(ceil(share * TENTHS) - 1, 0)] += seconds
        if most > 0:
            span = values[-1], min(values), max(values)
            found.append(Tenths(key, *span, each.limit.source, tuple(inside), above, most))
    return tuple(sorted(found, key=lambda one: -one.most))


def request_sizes(samples: Samples, key: FlowKey) -> tuple[tuple[float, float], ...]:
    """Seconds-weighed operations by mean request size of each second: share up to each of
    REQUEST_SIZES, and above; of reads and of writes.
    """
    columns = samples.flows[key]
    counts = [[0.0, 0.0] for _ in range(len(REQUEST_SIZES) + 1)]
    for side, (operations, size) in enumerate(
        (
            ("read_operations_per_second", "read_bytes_per_second"),
            ("write_operations_per_second", "write_bytes_per_second"),
        )
    ):
        rows = zip(columns[operations], columns[size], samples.seconds, strict=True)
        for rate, moved, seconds in rows:
            if rate > 0:  # nor NaN
                place = sum(1 for edge in REQUEST_SIZES if moved / rate > edge * 1.000001)
                counts[place][side] += rate * seconds
    totals = [sum(each[side] for each in counts) or 1.0 for side in (0, 1)]
    return tuple((each[0] / totals[0], each[1] / totals[1]) for each in counts)
