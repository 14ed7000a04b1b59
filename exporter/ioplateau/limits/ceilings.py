"""What one thing may do, in both dimensions, before it is a limit of some budget."""

from __future__ import annotations

from typing import NamedTuple

from ioplateau.limits.budgets import Burst, Dimension, Direction, Limit, Origin


class Ceiling(NamedTuple):
    """What one thing may do, operations/s and bytes/s. None: documented nowhere."""

    iops: float | None = None
    bytes_per_second: float | None = None
    burst_iops: float | None = None
    burst_bytes_per_second: float | None = None
    # Credit when full, operations and bytes.
    bucket_operations: float | None = None
    bucket_bytes: float | None = None

    def __bool__(self) -> bool:
        return self.iops is not None or self.bytes_per_second is not None


NOTHING = Ceiling()


def with_credit(
    iops: float | None,
    bytes_per_second: float | None,
    burst_iops: float | None,
    burst_bytes_per_second: float | None,
    *,
    seconds: float,
) -> Ceiling:
    """A ceiling whose buckets hold the burst above base for so long; a burst below base is none.

    Azure: (burst - base) x 1,800, equal to BurstCreditBucketSizeInIO of the SKU API.
    """
    burst_iops = above(iops, burst_iops)
    burst_bytes_per_second = above(bytes_per_second, burst_bytes_per_second)
    return Ceiling(
        iops,
        bytes_per_second,
        burst_iops,
        burst_bytes_per_second,
        None if burst_iops is None or iops is None else (burst_iops - iops) * seconds,
        None
        if burst_bytes_per_second is None or bytes_per_second is None
        else (burst_bytes_per_second - bytes_per_second) * seconds,
    )


def above(base: float | None, burst: float | None) -> float | None:
    """A burst, if it is above its base: below it, it is none."""
    return burst if base is not None and burst is not None and burst > base else None


def gives_more(other: Ceiling, now: Ceiling) -> bool:
    """Whether another ceiling is higher in operations or in bytes, without credit."""
    return (other.iops or 0) > (now.iops or 0) or (other.bytes_per_second or 0) > (
        now.bytes_per_second or 0
    )


def limits_of(
    ceiling: Ceiling,
    source: str,
    *,
    direction: Direction = Direction.TOTAL,
    origin: Origin = Origin.CATALOGUE,
    tolerance: float = 0.0,
) -> tuple[Limit, ...]:
    """A ceiling as limits, one for each dimension that is known; tolerance is of the bytes."""
    stated = (
        (Dimension.IOPS, ceiling.iops, ceiling.burst_iops, ceiling.bucket_operations, 0.0),
        (
            Dimension.THROUGHPUT,
            ceiling.bytes_per_second,
            ceiling.burst_bytes_per_second,
            ceiling.bucket_bytes,
            tolerance,
        ),
    )
    return tuple(
        Limit(
            dimension,
            direction,
            float(value),
            origin,
            source,
            None if burst is None else Burst(float(burst), bucket),
            share,
        )
        for dimension, value, burst, bucket, share in stated
        if value is not None
    )
