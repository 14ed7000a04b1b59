"""What a provider counts itself decides alone.

A volume of EC2 counts the time in which demand exceeded what was provisioned (NVMe log page
0xD0), an ENA interface the packets it shaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ioplateau.judge import parameters as number
from ioplateau.judge.witness import EbsWitness
from ioplateau.limits.budgets import Dimension, Direction

# ethtool -S of the ENA driver: packets queued or dropped at an allowance, of bytes in a direction or of
# packets, which nothing here is measured in (None).
ALLOWANCES: Mapping[str, tuple[Dimension | None, Direction]] = {
    "bw_out_allowance_exceeded": (Dimension.THROUGHPUT, Direction.WRITE),
    "bw_in_allowance_exceeded": (Dimension.THROUGHPUT, Direction.READ),
    "pps_allowance_exceeded": (None, Direction.TOTAL),
}


def volume_exceeded(ebs: EbsWitness | None) -> Dimension | None:
    """The dimension in which a volume itself said that more was asked for."""
    return None if ebs is None else _larger(ebs.volume_iops, ebs.volume_throughput)


def of_instance(volumes: Iterable[EbsWitness]) -> list[EbsWitness]:
    """The EBS volumes, which count the instance's limit for all of them too. Instance store volumes do not."""
    return [each for each in volumes if each.instance_iops is not None]


def instance_exceeded(volumes: Sequence[EbsWitness]) -> Dimension | None:
    """The dimension in which the instance's own EBS limit was exceeded, on any volume."""
    if not volumes:
        return None
    return _larger(
        max(e.instance_iops or 0.0 for e in volumes),
        max(e.instance_throughput or 0.0 for e in volumes),
    )


def _larger(iops: float | None, throughput: float | None) -> Dimension | None:
    iops, throughput = iops or 0.0, throughput or 0.0
    if max(iops, throughput) < number.LITTLE:
        return None
    return Dimension.IOPS if iops >= throughput else Dimension.THROUGHPUT


def allowance_exceeded(
    allowances: Mapping[str, float],
) -> tuple[Dimension | None, Direction] | None:
    """The dimension and direction in which the interface's allowance was exceeded."""
    for name, exceeded in ALLOWANCES.items():
        if allowances.get(name, 0.0) > 0:
            return exceeded
    return None
