"""What a screen shows of one state, as plain values: rates instead of counters, ages instead of clocks.

Made from the state of this process (`of`) or from what a daemon tells over HTTP, so that a screen
does not know which of the two it shows. Everything here is computed when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from ioplateau.history import Episode
from ioplateau.limits.budgets import Dimension, Direction, Kind, Limit, Word
from ioplateau.measure import diskstats, mountstats
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.state import BudgetState, DiskState, LimitState, NfsMountState, State
from ioplateau.tell import consumers, failedsources, formatting, lifting, othercalls, summary
from ioplateau.tell.summary import Severity

Lifts: TypeAlias = Callable[[State, BudgetState], tuple[str, ...]]


class LimitView(NamedTuple):
    """A ceiling in operations/s, bytes/s or slots, and how near we are to it (shares: 0 to 1).

    told: what origin and source say, while another level holds; else None: they say the value.
    """

    dimension: Dimension
    direction: Direction
    value: float
    origin: str
    source: str = ""
    told: float | None = None
    utilization: float | None = None
    peak_utilization: float | None = None
    credit_ratio: float | None = None
    exhaustion_seconds: float | None = None
    throttled_seconds: float = 0.0
    episodes: int = 0

    @property
    def says(self) -> str:
        """Who says the value: "configured: config.toml limit[0]"."""
        return self._learned or (
            f"{self.origin}: {self.source}" if self.source else str(self.origin)
        )

    @property
    def says_briefly(self) -> str:
        """As `says`, without the origin where the source is known."""
        return self._learned or self.source or str(self.origin)

    @property
    def _learned(self) -> str:
        """While another level holds: "learned; told 1,000 IOPS: config.toml limit[0]"."""
        if self.told is None:
            return ""
        told = formatting.amount(self.dimension, self.told)
        return f"learned; told {told}: {self.source or self.origin}"


class Flow(NamedTuple):
    """What moves, reads and writes together. None: not known."""

    operations_per_second: float | None = None
    bytes_per_second: float | None = None
    await_seconds: float | None = None
    queue_length: float | None = None


class BudgetView(NamedTuple):
    """One budget with its verdict. held_seconds: for how long the word has held."""

    kind: Kind
    name: str
    word: Word
    held_seconds: float
    sentence: str = ""
    limits: tuple[LimitView, ...] = ()
    evidence: Mapping[str, float | str | None] = NO_ENTRIES
    rejected: tuple[tuple[LimitView, str], ...] = ()  # considered, and why it lost
    info: Mapping[str, str] = NO_ENTRIES
    sufferers: tuple[str, ...] = ()
    flow: Flow = Flow()
    lifts: tuple[str, ...] = ()  # what would lift the limit, a sentence each
    drawn_by: str = ""  # who draws most, in a sentence; "": nobody looked
    lane: str = ""  # Budget.lane, of the VM over its disks

    @property
    def key(self) -> tuple[Kind, str]:
        return self.kind, self.name

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is to be said of it."""
        return self.word is Word.IDLE or (self.word is Word.UNKNOWN and not self.sentence)

    @property
    def title(self) -> str:
        """What it is: "disk", "VM, EBS volumes"."""
        return formatting.kind(self.kind, self.lane)

    @property
    def nearest(self) -> LimitView | None:
        """The limit that most of is used; None: no limit is known."""
        return max(self.limits, key=lambda limit: limit.utilization or 0.0, default=None)


class DiskView(NamedTuple):
    """One disk over the rate window."""

    name: str
    read_operations_per_second: float
    write_operations_per_second: float
    read_bytes_per_second: float
    write_bytes_per_second: float
    read_await_seconds: float | None
    write_await_seconds: float | None
    queue_length: float
    busy_ratio: float
    in_flight: int = 0

    @property
    def operations_per_second(self) -> float:
        return self.read_operations_per_second + self.write_operations_per_second

    @property
    def is_idle(self) -> bool:
        """Whether it does nothing: discards and flushes keep it busy too."""
        is_busy = self.queue_length or self.busy_ratio or self.in_flight
        return not (self.operations_per_second or is_busy)

    @property
    def flow(self) -> Flow:
        """Reads and writes together; the mean await is weighted by their number."""
        waits = (
            (self.read_operations_per_second, self.read_await_seconds),
            (self.write_operations_per_second, self.write_await_seconds),
        )
        known = [(number, wait) for number, wait in waits if wait is not None and number]
        count = sum(number for number, _ in known)
        mean = sum(number * wait for number, wait in known) / count if count else None
        moved = self.read_bytes_per_second + self.write_bytes_per_second
        return Flow(self.operations_per_second, moved, mean, self.queue_length)


class MountView(NamedTuple):
    """One NFS superblock over the rate window. None: nothing was read or written, or not known."""

    name: str
    operations_per_second: float
    read_bytes_per_second: float | None
    write_bytes_per_second: float | None
    rtt_seconds: float | None
    await_seconds: float | None
    outstanding: float | None  # on the wire
    waiting: float | None
    connections: int

    @property
    def is_idle(self) -> bool:
        return not self.operations_per_second

    @property
    def flow(self) -> Flow:
        sides = (self.read_bytes_per_second, self.write_bytes_per_second)
        moved = None if None in sides else sum(side or 0.0 for side in sides)
        queue = None if self.outstanding is None else self.outstanding + (self.waiting or 0.0)
        return Flow(self.operations_per_second, moved, self.await_seconds, queue)


# What /api/v1/state tells under the same names.
STANDING = LimitView._fields[LimitView._fields.index("utilization") :]
DISK_RATES = DiskView._fields[1:]  # all but the name, in the answer's order
MOUNT_RATES = MountView._fields[1:-1]  # its connections are known without rates


class View(NamedTuple):
    """One look at a machine. wall: seconds since 1970, 0.0 before the first tick."""

    headline: str
    severity: Severity
    wall: float = 0.0
    cloud: str = ""  # "azure"; "": not known
    size: str = ""  # "Standard_D4s_v3"
    region: str = ""
    io_waiting_ratio: float | None = None
    dirty_bytes: int | None = None
    writeback_bytes: int | None = None
    budgets: tuple[BudgetView, ...] = ()  # the worst first
    disks: tuple[DiskView, ...] = ()  # those with rates, by name
    mounts: tuple[MountView, ...] = ()
    disk_count: int = 0  # all of them, also the idle
    mount_count: int = 0
    notes: tuple[str, ...] = ()
    is_storage_unreadable: bool = False  # no disk and no mount is seen, since they cannot be read
    episodes: tuple[Episode, ...] = ()  # the newest first, where somebody remembers them


def machine(view: View) -> str:
    """As `formatting.machine`."""
    return formatting.machine(view.cloud, view.size, view.region)


def of(state: State | None, before: State | None = None, lifts: Lifts = lifting.sentences) -> View:
    """What there is to see in a state.

    before: an earlier one, for shares of time. lifts: what would lift a budget's limit, a sentence each.
    """
    if state is None:
        return View(summary.headline(None), summary.severity(None))
    disks = {name: found for name, one in state.disks.items() if (found := disk(one))}
    mounts = {name: seen for name, one in state.mounts.items() if (seen := mount(one))}
    memory, identity = state.machine.memory, state.sold.identity
    return View(
        headline=summary.headline(state),
        severity=summary.severity(state),
        wall=state.wall,
        cloud=identity.cloud,
        size=identity.vm_size,
        region=identity.region,
        io_waiting_ratio=_waiting(state, before),
        dirty_bytes=memory.dirty_bytes if memory else None,
        writeback_bytes=memory.writeback_bytes if memory else None,
        budgets=tuple(
            _budget(state, one, disks, mounts, lifts) for one in summary.worst_first(state)
        ),
        disks=tuple(disks[name] for name in sorted(disks)),
        mounts=tuple(mounts[name] for name in sorted(mounts)),
        disk_count=len(state.disks),
        mount_count=len(state.mounts),
        notes=(
            *(each.sentence for each in failedsources.failed(state)),
            *state.notices,
            *othercalls.notices(state),
        ),
        is_storage_unreadable=failedsources.is_storage_unreadable(state),
    )


def _waiting(state: State, before: State | None) -> float | None:
    now = state.machine.pressure
    then = before.machine.pressure if before else None
    if not (now and then and before and state.mono > before.mono):
        return None
    return waiting_ratio(then.some_microseconds, now.some_microseconds, state.mono - before.mono)


def waiting_ratio(before: int, after: int, seconds: float) -> float | None:
    """Share of the time that tasks waited, from two readings of microseconds in all."""
    if seconds <= 0:
        return None
    # The kernel adds up when it likes, and its clock is not ours.
    return min(max((after - before) / 1e6 / seconds, 0.0), 1.0)


def _budget(
    state: State,
    budget: BudgetState,
    disks: Mapping[str, DiskView],
    mounts: Mapping[str, MountView],
    lifts: Lifts,
) -> BudgetView:
    (kind, name), verdict = budget.budget.key, budget.verdict
    limits = tuple(map(_limit, budget.limits))
    return BudgetView(
        kind,
        name,
        verdict.word,
        max(state.mono - verdict.since, 0.0),
        failedsources.of_budget(state, budget),
        limits,
        verdict.evidence,
        tuple((_claim(limit), why) for limit, why in budget.budget.rejected),
        budget.budget.info,
        tuple(flow.name for flow in verdict.sufferers),
        flow(kind, name, limits, disks, mounts),
        lifts(state, budget),
        consumers.sentence(state.consumers.get(budget.budget.key)),
        budget.budget.lane if kind is Kind.VM_UNCACHED else "",
    )


def _limit(state: LimitState) -> LimitView:
    standing = {name: getattr(state, name) for name in STANDING}
    told = state.limit.value if state.effective_origin is not state.limit.origin else None
    return _claim(state.limit)._replace(value=state.effective, told=told, **standing)


def _claim(limit: Limit) -> LimitView:
    return LimitView(limit.dimension, limit.direction, limit.value, limit.origin, limit.source)


def flow(
    kind: Kind,
    name: str,
    limits: tuple[LimitView, ...],
    disks: Mapping[str, DiskView],
    mounts: Mapping[str, MountView],
) -> Flow:
    """What moves on a budget, from what its disk or mount does."""
    if kind in {Kind.DISK, Kind.STRIPE}:
        return disks[name].flow if name in disks else Flow()
    if kind is Kind.VOLUME:
        return mounts[name].flow if name in mounts else Flow()
    # Which I/O counts on a lane of the VM is the judge's to say: the share of a limit in both
    # directions is what it counted.
    drawn = {
        limit.dimension: limit.utilization * limit.value
        for limit in limits
        if limit.direction is Direction.TOTAL and limit.utilization is not None
    }
    return Flow(drawn.get(Dimension.IOPS), drawn.get(Dimension.THROUGHPUT))


def disk(found: DiskState) -> DiskView | None:
    """None: no rates yet."""
    span = found.window
    rates = diskstats.rates(span.before, span.after, span.elapsed_seconds) if span else None
    if rates is None:
        return None
    read, write = rates.read, rates.write
    return DiskView(
        found.name,
        read.operations_per_second,
        write.operations_per_second,
        read.bytes_per_second,
        write.bytes_per_second,
        read.await_seconds,
        write.await_seconds,
        rates.queue_length,
        rates.busy_ratio,
        rates.in_flight,
    )


def mount(found: NfsMountState) -> MountView | None:
    """None: no rates yet."""
    span = found.window
    rates = mountstats.rates(span.before, span.after, span.elapsed_seconds) if span else None
    if rates is None:
        return None
    data = rates.data
    return MountView(
        found.mount,
        rates.operations_per_second,
        rates.read_bytes_per_second,
        rates.write_bytes_per_second,
        data.rtt_seconds if data else None,
        data.execute_seconds if data else None,
        data.outstanding_wire if data else None,
        data.waiting if data else None,
        len(found.now.connections),
    )
