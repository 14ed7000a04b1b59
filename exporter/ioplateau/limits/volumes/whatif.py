"""What if: of this volume, over so many connections, from this VM, which ceiling binds first?

Requests are of one size, a share of them reads. Each takes from every ceiling what the ceiling
says that it takes; the first that is used up binds. A request is an NFS operation, so at most
1 MiB: the client splits what is larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ioplateau.limits.budgets import Dimension
from ioplateau.limits.sizeranges import ranges
from ioplateau.limits.volumes.ceiling import VolumeCeiling

LARGEST = 1 << 20
DEFAULT_REQUESTS = (4096, 8192, 16_384, 65_536, 262_144, 1_048_576)
DEFAULT_MIXES = (1.0, 0.7, 0.0)


class VolumeQuestion(NamedTuple):
    """title: the volume. vm_size: empty: enough clients to reach every ceiling of the volume."""

    title: str
    vm_size: str
    connections: int
    ceilings: tuple[VolumeCeiling, ...]
    has_memory: bool = False
    notices: tuple[str, ...] = ()

    @property
    def unit_bytes(self) -> float:
        """The MB or MiB that the volume's documents speak of."""
        data = (each for each in self.ceilings if each.dimension is Dimension.THROUGHPUT)
        return next((each.unit_bytes for each in data), 1e6)


class VolumeCase(NamedTuple):
    """The answer for one request size and mix.

    read_share: of the requests, 0 to 1. from_memory: the server's memory answers every read.
    burst: with all credit there is. bindings: what is used up, several if at once; the rates are
    None where no ceiling is known.
    """

    request_bytes: int
    read_share: float
    from_memory: bool
    burst: bool
    operations_per_second: float | None
    bytes_per_second: float | None
    bindings: tuple[VolumeCeiling, ...]


class VolumeSizeRange(NamedTuple):
    """Request sizes, both ends included, over which the same ceilings bind."""

    first_bytes: int
    last_bytes: int
    bindings: tuple[VolumeCeiling, ...]


class VolumeAnswer(NamedTuple):
    question: VolumeQuestion
    cases: tuple[VolumeCase, ...]


def answer(
    question: VolumeQuestion,
    request_bytes: Sequence[int] = DEFAULT_REQUESTS,
    read_shares: Sequence[float] = DEFAULT_MIXES,
) -> VolumeAnswer:
    """Every case of the question: mixes, request sizes, found in the server's memory or not, without and with burst."""
    bursts = (False, True) if any(each.burst for each in question.ceilings) else (False,)
    cases = [
        case(question, size, share, from_memory=memory, burst=burst)
        for share in read_shares
        for memory in _cache_outcomes(question, share)
        for burst in bursts
        for size in request_bytes
    ]
    return VolumeAnswer(question, tuple(cases))


def _cache_outcomes(question: VolumeQuestion, read_share: float) -> tuple[bool, ...]:
    return (False, True) if question.has_memory and read_share > 0 else (False,)


def case(
    question: VolumeQuestion,
    size: int,
    read_share: float,
    *,
    from_memory: bool = False,
    burst: bool = False,
) -> VolumeCase:
    """One answer."""
    reach = [
        (_operations(each, size, read_share, from_memory=from_memory, burst=burst), each)
        for each in question.ceilings
    ]
    least = min((operations for operations, _ in reach), default=math.inf)
    if least == math.inf:
        return VolumeCase(size, read_share, from_memory, burst, None, None, ())
    bound = tuple(each for operations, each in reach if operations <= least * (1 + 1e-9))
    return VolumeCase(size, read_share, from_memory, burst, least, least * size, bound)


def _operations(
    ceiling: VolumeCeiling, size: int, read_share: float, *, from_memory: bool, burst: bool
) -> float:
    """How many operations a second use the ceiling up."""
    reads = 0.0 if from_memory and ceiling.behind_memory else ceiling.read
    takes = read_share * reads + (1 - read_share) * ceiling.write
    if ceiling.dimension is Dimension.THROUGHPUT:
        takes *= max(size, ceiling.least_bytes)
    value = ceiling.burst if burst and ceiling.burst is not None else ceiling.value
    return value / takes if takes > 0 else math.inf


def size_ranges(
    question: VolumeQuestion, read_share: float, *, from_memory: bool = False
) -> tuple[VolumeSizeRange, ...]:
    """What binds, over all request sizes, without burst."""
    found = ranges(
        lambda size: case(question, size, read_share, from_memory=from_memory).bindings, LARGEST
    )
    return tuple(VolumeSizeRange(*part) for part in found)
