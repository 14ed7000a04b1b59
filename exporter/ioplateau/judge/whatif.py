"""What if: with this VM size and these disks, which limit binds first, at which request size?

All disks are asked for as much as they give, in requests of one size. Every I/O takes from
each limit it counts on until one is used up; the disks that count on it stay at their rate,
the others go on. Equal demand is divided evenly, as in the worked cases of Azure's
disks-performance.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ioplateau.judge.budgets import BudgetKey, Dimension, Direction, Kind, Limit
from ioplateau.judge.limits import counted

VM = "vm"
NONE, HITS, MISSES = "none", "hits", "misses"


@dataclass(frozen=True, slots=True)
class Disk:
    """One disk of the question. Budgets that one of its reads counts on, by cache luck."""

    name: str
    title: str  # "P30", "P30 ReadOnly"
    limits: tuple[Limit, ...]
    miss: tuple[Kind, ...]  # what a read counts on; with a cache, one that misses it
    hit: tuple[Kind, ...] = ()  # one that the host's cache answers; empty: no cache
    operation_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A machine and what is asked of it."""

    vm_size: str
    lanes: dict[Kind, tuple[Limit, ...]]
    disks: tuple[Disk, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """A limit that was reached: value per second as documented, operations or bytes."""

    budget: BudgetKey
    title: str  # "VM uncached", "P30"
    dimension: Dimension
    value: float
    count: int = 1  # so many disks are each at this limit


@dataclass(frozen=True, slots=True)
class Share:
    """What one disk gets. binding: which limit holds it; None: no limit is known."""

    disk: str
    title: str
    operations_per_second: float
    bytes_per_second: float
    binding: Binding | None


@dataclass(frozen=True, slots=True)
class Case:
    """The answer for one request size. Rates None: a disk has no known limit at all.

    cache: "hits" and "misses" of the host's cache, "none" where no disk has one. burst: with
    all credit there is. `*_if_mebibytes`: where the documents' MB were MiB (up to 4.86 %).
    """

    request_bytes: int
    cache: str
    burst: bool
    operations_per_second: float | None
    bytes_per_second: float | None
    bindings: tuple[Binding, ...]
    shares: tuple[Share, ...]
    operations_per_second_if_mebibytes: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    question: Question
    cases: tuple[Case, ...] = field(default=())

    @property
    def first(self) -> Case | None:
        """The case of the smallest requests without burst, all cached reads answered."""
        return self.cases[0] if self.cases else None


DEFAULT_REQUESTS = (4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576)


def answer(question: Question, request_bytes: Sequence[int] = DEFAULT_REQUESTS) -> Answer:
    """Every case of the question: request sizes, cache luck, without and with burst credit."""
    is_cached = any(disk.hit for disk in question.disks)
    lucks = (HITS, MISSES) if is_cached else (NONE,)
    cases = [
        _case(question, size, luck, burst=burst)
        for burst in ((False, True) if _can_burst(question) else (False,))
        for luck in lucks
        for size in request_bytes
    ]
    return Answer(question, tuple(cases))


def _can_burst(question: Question) -> bool:
    limits = [limit for lane in question.lanes.values() for limit in lane]
    limits += [limit for disk in question.disks for limit in disk.limits]
    return any(limit.burst is not None for limit in limits)


@dataclass(slots=True)
class _Room:
    """A limit while it fills: what is left of it, and what one operation of a disk takes."""

    binding: Binding
    left: float
    cost: dict[str, float]

    def until_full(self, rising: set[str]) -> float:
        takers = sum(cost for name, cost in self.cost.items() if name in rising)
        return self.left / takers if takers > 0 else math.inf


def _case(question: Question, size: int, luck: str, *, burst: bool) -> Case:
    shares = _fill(question, _rooms(question, size, luck, burst=burst, mebibytes=False), size)
    wide = _fill(question, _rooms(question, size, luck, burst=burst, mebibytes=True), size)
    if any(share.binding is None for share in shares):
        return Case(size, luck, burst, None, None, _bindings(shares), shares)
    total = sum(share.operations_per_second for share in shares)
    return Case(
        size,
        luck,
        burst,
        total,
        total * size,
        _bindings(shares),
        shares,
        sum(share.operations_per_second for share in wide),
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
        Share(disk.name, disk.title, *_rates(held[disk.name][0], size), held[disk.name][1])
        for disk in question.disks
    )


def _rates(operations: float, size: int) -> tuple[float, float]:
    return operations, operations * size


def _rooms(
    question: Question, size: int, luck: str, *, burst: bool, mebibytes: bool
) -> list[_Room]:
    # The VM's lanes first: where a lane and the disks fill together, the lane is the news.
    rooms: list[_Room] = []
    for kind, limits in question.lanes.items():
        takers = {disk.name: 1.0 for disk in question.disks if kind in _counts_on(disk, luck)}
        if takers:
            key = BudgetKey(kind, VM)
            rooms += _of(key, LANE_TITLES[kind], limits, takers, size, burst, mebibytes)
    for disk in question.disks:
        if Kind.DISK in _counts_on(disk, luck):
            unit = disk.operation_bytes
            cost = float(counted(size, unit)) if unit else 1.0
            key = BudgetKey(Kind.DISK, disk.name)
            rooms += _of(key, disk.title, disk.limits, {disk.name: cost}, size, burst, mebibytes)
    return rooms


LANE_TITLES = {
    Kind.VM_UNCACHED: "VM uncached",
    Kind.VM_CACHED: "VM cached",
    Kind.VM_ULTRA: "VM Ultra/PremiumV2",
    Kind.VM_NETWORK: "VM network",
}


def _counts_on(disk: Disk, luck: str) -> tuple[Kind, ...]:
    return disk.hit if luck == HITS and disk.hit else disk.miss


def _of(
    key: BudgetKey,
    title: str,
    limits: Iterable[Limit],
    operations: dict[str, float],
    size: int,
    burst: bool,
    mebibytes: bool,
) -> list[_Room]:
    rooms = []
    for limit in limits:
        if limit.direction is Direction.WRITE or limit.dimension is Dimension.SLOTS:
            continue
        value = limit.burst.rate if burst and limit.burst is not None else limit.value
        binding = Binding(key, title, limit.dimension, value)
        if limit.dimension is Dimension.IOPS:
            rooms.append(_Room(binding, value, dict(operations)))
        else:
            # A tolerance of bytes says that the source's MB may have been MiB.
            room = value * (1.048576 if mebibytes and limit.tolerance else 1.0)
            rooms.append(_Room(binding, room, dict.fromkeys(operations, float(size))))
    return rooms


def _bindings(shares: Sequence[Share]) -> tuple[Binding, ...]:
    """The limits that hold, lanes once, equal disks counted together."""
    found: dict[tuple[str, Dimension, float], list[BudgetKey]] = {}
    first: dict[tuple[str, Dimension, float], Binding] = {}
    for share in shares:
        if share.binding is not None:
            bound = share.binding
            key = (bound.title, bound.dimension, bound.value)
            first.setdefault(key, bound)
            if bound.budget not in found.setdefault(key, []):
                found[key].append(bound.budget)
    return tuple(
        Binding(bound.budget, bound.title, bound.dimension, bound.value, len(found[key]))
        for key, bound in first.items()
    )


@dataclass(frozen=True, slots=True)
class Stretch:
    """Request sizes, both ends included, over which the same limits bind."""

    first_bytes: int
    last_bytes: int
    bindings: tuple[Binding, ...]


SMALLEST, LARGEST, GRAIN = 512, 4 << 20, 512


def stretches(question: Question, luck: str, *, burst: bool = False) -> tuple[Stretch, ...]:
    """From the smallest to the largest request: what binds first, and from where on what else."""
    found: list[Stretch] = []
    start, size = SMALLEST, SMALLEST
    bound = _binding_words(question, start, luck, burst=burst)
    while size < LARGEST:
        following = min(size * 2, LARGEST)
        if _binding_words(question, following, luck, burst=burst) != bound:
            edge = _edge(question, size, following, luck, burst=burst)
            found.append(Stretch(start, edge - GRAIN, bound))
            start = size = edge
            bound = _binding_words(question, edge, luck, burst=burst)
        else:
            size = following
    return (*found, Stretch(start, LARGEST, bound))


def _edge(question: Question, low: int, high: int, luck: str, *, burst: bool) -> int:
    """The smallest size above `low` at which something else binds."""
    bound = _binding_words(question, low, luck, burst=burst)
    while high - low > GRAIN:
        middle = (low + high) // 2 // GRAIN * GRAIN
        if _binding_words(question, middle, luck, burst=burst) == bound:
            low = middle
        else:
            high = middle
    return high


def _binding_words(question: Question, size: int, luck: str, *, burst: bool) -> tuple[Binding, ...]:
    return _case(question, size, luck, burst=burst).bindings
