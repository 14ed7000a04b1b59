"""What if: with this VM size and these disks, which limit binds first, at which request size?

All disks are asked for as much as they give, in requests of one size. Every I/O takes from
each limit it counts on until one is used up; the disks that count on it stay at their rate,
the others go on. Equal demand is divided evenly, as in the worked cases of Azure's
disks-performance.md.

https://learn.microsoft.com/azure/virtual-machines/disks-performance
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ioplateau.limits.budgets import ALL_DISKS, VM, BudgetKey, Dimension, Direction, Kind, Limit
from ioplateau.limits.claims import counted
from ioplateau.limits.sizeranges import ranges

NONE, HITS, MISSES = "none", "hits", "misses"


@dataclass(frozen=True, slots=True)
class WhatIfDisk:
    """One disk of the question. Budgets that one of its reads counts on, by whether the host cache has it."""

    name: str
    title: str  # "P30", "P30 ReadOnly"
    limits: tuple[Limit, ...]
    miss: tuple[Kind, ...]  # what a read counts on; with a cache, one that misses it
    hit: tuple[Kind, ...] = ()  # one that the host's cache answers; empty: no cache
    operation_bytes: int | None = None
    sku: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A machine and what is asked of it. by_sku: Sold.by_sku."""

    vm_size: str
    lanes: dict[Kind, tuple[Limit, ...]]
    disks: tuple[WhatIfDisk, ...]
    notices: tuple[str, ...] = ()
    lane: str = ALL_DISKS  # Budget.lane
    by_sku: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict)

    def title(self, kind: Kind) -> str:
        """Of a lane of the VM."""
        is_lane = kind is Kind.VM_UNCACHED
        return f"VM {self.lane.removesuffix(' disks')}" if is_lane else LANE_TITLES[kind]

    def shared(self) -> Iterable[tuple[BudgetKey, str, tuple[Limit, ...]]]:
        """What several disks draw on, each with its title and limits; apart what their sizes set."""
        for kind, limits in self.lanes.items():
            yield from _by_title(BudgetKey(kind, VM), self.title(kind), limits)
        for sku, limits in self.by_sku.items():
            yield from _by_title(BudgetKey(Kind.VM_UNCACHED, sku), f"VM {sku}", limits)


def _by_title(
    key: BudgetKey, title: str, limits: tuple[Limit, ...]
) -> Iterable[tuple[BudgetKey, str, tuple[Limit, ...]]]:
    for sized in dict.fromkeys(limit.sized for limit in limits) or ("",):
        yield key, sized or title, tuple(limit for limit in limits if limit.sized == sized)


@dataclass(frozen=True, slots=True)
class Binding:
    """A limit that was reached: value per second as documented, operations or bytes."""

    budget: BudgetKey
    title: str  # "VM uncached", "P30"
    dimension: Dimension
    value: float
    count: int = 1  # so many disks are each at this limit
    sized: str = ""  # Limit.sized


@dataclass(frozen=True, slots=True)
class Share:
    """What one disk gets. binding: which limit holds it; None: no limit is known."""

    disk: str
    title: str
    operations_per_second: float
    bytes_per_second: float
    binding: Binding | None


@dataclass(frozen=True, slots=True)
class WhatIfCase:
    """The answer for one request size. Rates None: a disk has no known limit at all.

    cache: "hits" and "misses" of the host's cache, "none" where no disk has one. burst: with
    all credit there is. direction: reads or writes, where a limit is of one of them alone.
    `*_if_mebibytes`: where the documents' MB were MiB (up to 4.86 %).
    """

    request_bytes: int
    cache: str
    burst: bool
    operations_per_second: float | None
    bytes_per_second: float | None
    bindings: tuple[Binding, ...]
    shares: tuple[Share, ...]
    operations_per_second_if_mebibytes: float | None = None
    direction: Direction = Direction.TOTAL


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    question: Question
    cases: tuple[WhatIfCase, ...] = ()


DEFAULT_REQUESTS = (4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576)


def answer(question: Question, request_bytes: Sequence[int] = DEFAULT_REQUESTS) -> WhatIfAnswer:
    """Every case of the question: request sizes, reads and writes, host cache hit or missed, without and
    with burst credit.

    Without disks there is none: what the lanes allow stands in the question.
    """
    if not question.disks:
        return WhatIfAnswer(question)
    is_cached = any(disk.hit for disk in question.disks)
    cache_outcomes = (HITS, MISSES) if is_cached else (NONE,)
    cases = [
        case(question, size, cache_outcome, direction, burst=burst)
        for burst in ((False, True) if _can_burst(question) else (False,))
        for direction in _directions(question)
        for cache_outcome in cache_outcomes
        for size in request_bytes
    ]
    return WhatIfAnswer(question, tuple(cases))


def every(question: Question) -> Iterator[Limit]:
    """The limits of all lanes and disks."""
    for _, _, limits in question.shared():
        yield from limits
    for disk in question.disks:
        yield from disk.limits


def _directions(question: Question) -> tuple[Direction, ...]:
    is_directed = any(limit.direction is not Direction.TOTAL for limit in every(question))
    return (Direction.READ, Direction.WRITE) if is_directed else (Direction.TOTAL,)


def _can_burst(question: Question) -> bool:
    return any(limit.burst is not None for limit in every(question))


@dataclass(slots=True)
class _Room:
    """A limit while it fills: what is left of it, and what one operation of a disk takes."""

    binding: Binding
    left: float
    cost: dict[str, float]

    def until_full(self, rising: set[str]) -> float:
        takers = sum(cost for name, cost in self.cost.items() if name in rising)
        return self.left / takers if takers > 0 else math.inf


def case(
    question: Question,
    size: int,
    cache_outcome: str,
    direction: Direction = Direction.TOTAL,
    *,
    burst: bool = False,
    write_ratio: float | None = None,
) -> WhatIfCase:
    """One request size: cache_outcome is "hits", "misses" or "none"; direction: what limits of reads or of
    writes alone are held against, TOTAL: reads. write_ratio: a mix of both instead, 0 to 1.
    """
    written = float(direction is Direction.WRITE) if write_ratio is None else write_ratio
    shares, wide = (
        _fill(question, _rooms(question, size, cache_outcome, written, burst, mebibytes), size)
        for mebibytes in (False, True)
    )
    if any(share.binding is None for share in shares):
        bound = _bindings(shares)
        return WhatIfCase(
            size, cache_outcome, burst, None, None, bound, shares, direction=direction
        )
    total = sum(share.operations_per_second for share in shares)
    return WhatIfCase(
        size,
        cache_outcome,
        burst,
        total,
        total * size,
        _bindings(shares),
        shares,
        sum(share.operations_per_second for share in wide),
        direction,
    )


def _fill(question: Question, rooms: list[_Room], size: int) -> tuple[Share, ...]:
    """Raise all disks together until each is held by something: max-min fair."""
    rising = {disk.name for disk in question.disks}
    rate = 0.0
    held: dict[str, tuple[float, Binding | None]] = {}
    while rising:
        step = min((room.until_full(rising) for room in rooms), default=math.inf)
        if step == math.inf:
            held |= dict.fromkeys(rising, (math.inf, None))
            break
        rate += step
        full = [room for room in rooms if room.until_full(rising) <= step * (1 + 1e-9)]
        for room in rooms:
            room.left -= step * sum(room.cost.get(name, 0.0) for name in rising)
        for room in full:
            for name in rising & room.cost.keys():
                held.setdefault(name, (rate, room.binding))
        rising -= held.keys()
    return tuple(
        Share(disk.name, disk.title, operations, operations * size, binding)
        for disk in question.disks
        for operations, binding in [held[disk.name]]
    )


def _rooms(
    question: Question,
    size: int,
    cache_outcome: str,
    written: float,
    burst: bool,
    mebibytes: bool,
) -> list[_Room]:
    # The VM's lanes first: where a lane and the disks fill together, the lane is what to tell.
    rooms: list[_Room] = []
    for key, title, limits in question.shared():
        shares = {
            disk.name: share
            for disk in question.disks
            if key.name in (VM, disk.sku)
            and (share := _share_on(key.kind, disk, cache_outcome, written))
        }
        if shares:
            rooms += _of(key, title, limits, shares, 1.0, size, written, burst, mebibytes)
    for disk in question.disks:
        if share := _share_on(Kind.DISK, disk, cache_outcome, written):
            unit = disk.operation_bytes
            operations = float(counted(size, unit)) if unit else 1.0
            key, shares = BudgetKey(Kind.DISK, disk.name), {disk.name: share}
            limits, title = disk.limits, disk.title
            rooms += _of(key, title, limits, shares, operations, size, written, burst, mebibytes)
    return rooms


LANE_TITLES = {
    Kind.VM_CACHED: "VM cached",
    Kind.VM_ULTRA: "VM Ultra/PremiumV2",
    Kind.VM_NETWORK: "VM network",
}


def _share_on(kind: Kind, disk: WhatIfDisk, cache_outcome: str, written: float) -> float:
    """Of a disk's requests, how many count there: a host's cache answers reads, and writes go through it."""
    through = float(kind in disk.miss)
    if cache_outcome == HITS and disk.hit:
        return (1.0 - written) * (kind in disk.hit) + written * through
    return through


def _of(
    key: BudgetKey,
    title: str,
    limits: Iterable[Limit],
    counting: dict[str, float],
    operations: float,
    size: int,
    written: float,
    burst: bool,
    mebibytes: bool,
) -> list[_Room]:
    """counting: of each disk's requests, how many count here; operations: as how many each does."""
    shares = {Direction.READ: 1.0 - written, Direction.WRITE: written, Direction.TOTAL: 1.0}
    rooms = []
    for limit in limits:
        share = shares[limit.direction]
        if not share or limit.dimension is Dimension.SLOTS:
            continue
        value = limit.burst.rate if burst and limit.burst is not None else limit.value
        binding = Binding(key, title, limit.dimension, value, sized=limit.sized)
        is_iops = limit.dimension is Dimension.IOPS
        each = share * (operations if is_iops else size)
        # A tolerance of bytes says that the source's MB may have been MiB.
        is_wider = mebibytes and bool(limit.tolerance) and not is_iops
        costs = {name: part * each for name, part in counting.items()}
        rooms.append(_Room(binding, value * (1.048576 if is_wider else 1.0), costs))
    return rooms


def _bindings(shares: Sequence[Share]) -> tuple[Binding, ...]:
    """The limits that hold, lanes once, equal disks counted together."""
    alike: dict[tuple[str, Dimension, float], dict[BudgetKey, Binding]] = {}
    for bound in (share.binding for share in shares):
        if bound is not None:
            key = (bound.title, bound.dimension, bound.value)
            alike.setdefault(key, {}).setdefault(bound.budget, bound)
    return tuple(replace(next(iter(each.values())), count=len(each)) for each in alike.values())


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Request sizes, both ends included, over which the same limits bind."""

    first_bytes: int
    last_bytes: int
    bindings: tuple[Binding, ...]


LARGEST = 4 << 20


def size_ranges(
    question: Question, cache_outcome: str, direction: Direction = Direction.TOTAL
) -> tuple[SizeRange, ...]:
    """What binds without burst credit, over all request sizes."""
    units = {disk.operation_bytes for disk in question.disks if disk.operation_bytes}
    found = ranges(
        lambda size: case(question, size, cache_outcome, direction).bindings,
        LARGEST,
        [size for unit in units for size in range(unit, LARGEST, unit)],
    )
    return tuple(SizeRange(*part) for part in found)
