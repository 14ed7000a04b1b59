"""State: the one immutable thing that everything downstream reads.

The engine makes a new one each tick; scrapes, the page, `top` and reports only look at it. What
nobody looks at is not made: disks, mounts, clients and interfaces when they are asked for, derived
gauges from their spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Limit,
    Origin,
    Verdict,
    Word,
)
from ioplateau.limits.clouds.identity import Sold
from ioplateau.limits.tables import EMPTY_CATALOGUE, Catalogue
from ioplateau.limits.topology import NOTHING_SOLD, Rules
from ioplateau.measure.diskstats import DiskCounters
from ioplateau.measure.ebs import EbsCounters
from ioplateau.measure.groupnames import GroupName, PodVolume
from ioplateau.measure.interfaces import InterfaceCounters
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.meminfo import MemoryUse
from ioplateau.measure.mountinfo import MountEntry
from ioplateau.measure.mountstats import Mount, NfsConnection
from ioplateau.measure.pressure import Pressure
from ioplateau.measure.procstat import CpuTicks
from ioplateau.measure.ratewindow import ReadingPair
from ioplateau.measure.sockets import TcpCounts, TcpSocket
from ioplateau.measure.sysblock import BlockDevice

# Longer than this many intervals between two snapshots is a gap: the VM was paused, or nobody
# looked. What happened in between belongs to no single tick.
GAP_INTERVALS = 2.5

# A limit in force that changed by no more is the same one: a learned one moves all the time.
SAME_LIMIT_RATIO = 0.02


def has_moved(before: float, now: float) -> bool:
    """Whether a limit in force is another one now."""
    return abs(now - before) > SAME_LIMIT_RATIO * before


class DiskState(NamedTuple):
    """One line of diskstats that is a flow: whole disks and stacked devices, no partitions."""

    name: str
    now: DiskCounters
    window: ReadingPair[DiskCounters] | None = (
        None  # over the rate window; None: not two readings in a row yet
    )
    device: BlockDevice | None = None  # what sysfs says; None: not known


class NfsMountState(NamedTuple):
    """One NFS superblock, whatever the number of its mounts."""

    # Its label: the mount point it was first seen at, whether it is mounted there now or not; of a
    # PersistentVolume its name.
    mount: str
    now: Mount
    window: ReadingPair[Mount] | None = None
    entry: MountEntry | None = None  # mountinfo's line; None: mountinfo not known
    mount_points: tuple[str, ...] = ()  # where it is mounted now
    client: ClientKey | None = None


class ClientKey(NamedTuple):
    """What a person calls an NFS client: all its connections to a server for one version."""

    server: str  # as mounted: the device without ":" and export
    version: str  # "3", "4.1"
    protocol: str  # "tcp"


class ConnectionCounts(NamedTuple):
    """What several connections of NFS count together, as NfsConnection has each of it."""

    sends: int = 0
    receives: int = 0
    bad_xids: int = 0
    connects: int = 0
    backlog_sum: int = 0


class NfsClientState(NamedTuple):
    """The connections of one client. `window` holds tuples of equal length."""

    key: ClientKey
    address: str  # the server's address; "" if mountinfo is not known
    now: tuple[NfsConnection, ...]
    window: ReadingPair[tuple[NfsConnection, ...]] | None = None
    mounts: tuple[str, ...] = ()  # labels of its superblocks
    sockets: tuple[TcpSocket, ...] | None = None  # None: socket diagnostics not available
    slot_limit: int | None = None  # of each connection; v3 and v4.0
    tcp: TcpCounts = TcpCounts()  # of its sockets together, those that are closed too
    # What makes counters of the sum over `now` that go on: of connections that are no more, less
    # what those that came later had counted before.
    carried: ConnectionCounts = ConnectionCounts()


class InterfaceState(NamedTuple):
    name: str
    now: InterfaceCounters
    window: ReadingPair[InterfaceCounters] | None = None
    speed_bits_per_second: float | None = None
    up: bool | None = None


class MachineState(NamedTuple):
    """None: not known on this kernel, or the source failed."""

    pressure: Pressure | None = None
    cpu: CpuTicks | None = None
    memory: MemoryUse | None = None


class LimitState(NamedTuple):
    """How a budget stands against one of its limits, with what survives a missed scrape."""

    limit: Limit
    # The limit in force now: base, or burst while there is credit; while another level holds, that level.
    effective: float
    utilization: float | None  # mean over the rate window; None: no rates yet
    peak_utilization: float | None  # highest tick of the last 60 s
    throttled: bool
    throttled_seconds: float  # counter
    episodes: int  # counter
    demand: float | None = None  # demand over limit, while throttled
    credit_ratio: float | None = None
    exhaustion_seconds: float | None = None
    held_ratio: float | None = (
        None  # while throttled: the limit that holds over the one sold for now
    )
    share: float | None = None  # that was used in this tick; None: not known

    @property
    def dimension(self) -> Dimension:
        return self.limit.dimension

    @property
    def direction(self) -> Direction:
        return self.limit.direction

    @property
    def effective_origin(self) -> Origin:
        """Who says the limit in force: nobody told another level than base and burst."""
        burst = self.limit.burst
        told = (self.limit.value, self.limit.value if burst is None else burst.rate)
        return self.limit.origin if self.effective in told else Origin.LEARNED


class HeldState(NamedTuple):
    """For how long a limit held whose value nobody tells: the slots of an NFSv4.1 session."""

    dimension: Dimension
    direction: Direction
    throttled: bool
    throttled_seconds: float  # counter
    episodes: int  # counter


class BudgetState(NamedTuple):
    budget: Budget
    verdict: Verdict
    limits: tuple[LimitState, ...] = ()
    untold: tuple[HeldState, ...] = ()  # those that have held


class SourceState(NamedTuple):
    """Whether a source can be read, with counters since the engine started."""

    name: str  # "diskstats", "mountstats", ...
    up: bool
    why: str = ""  # of the last failure, while down
    seconds: float = 0.0  # spent reading it
    rejects: int = 0
    last_reject: str = ""


class Consumer(NamedTuple):
    """A control group or a process that drew on a budget."""

    name: str  # the group's path, or the process's name
    label: str  # for a person: "postgresql.service", "pod ...", "fio (pid 4711)"
    bytes_per_second: float
    # Of the group: requests to the budget's devices. None: of a process nobody counts them.
    operations_per_second: float | None = None
    # Of what all groups drew, where they are counted, else all processes: of requests where those are what
    # is limited, else bytes.
    share: float | None = None
    group: GroupName = GroupName()
    # It wrote into the page cache, and the kernel's flusher does the I/O: bytes are what it dirtied.
    by_flusher: bool = False
    is_at_most: bool = (
        False  # it has files open elsewhere too, and nobody counts how much goes where
    )


class BudgetConsumers(NamedTuple):
    """Who drew most on a budget, over the seconds before the last look; most first."""

    seconds: float
    groups: tuple[Consumer, ...] = ()
    processes: tuple[Consumer, ...] = ()
    volumes: tuple[PodVolume, ...] = ()  # persistent volumes of pods that lie on it
    unseen: tuple[str, ...] = ()  # what cannot be told, and why
    at: float = 0.0  # monotonic seconds of the look
    doubt: str = ""  # of `unseen`: who may have drawn more than those named


class State(NamedTuple):
    """Everything known after one tick. `mono` is CLOCK_MONOTONIC, `wall` UNIX seconds, `boot` CLOCK_BOOTTIME,
    which goes on through a suspend (None: not known).
    """

    mono: float
    wall: float
    interval_seconds: float
    ticks: int  # observed since the engine started
    boot: float | None = None
    # After longer than a gap, and no gap: looks are so late again and again.
    is_late: bool = False
    disks: Mapping[str, DiskState] = NO_ENTRIES
    # EBS volumes that count themselves, by device; packets over allowances, by interface.
    volumes: Mapping[str, EbsCounters] = NO_ENTRIES
    allowances: Mapping[str, Mapping[str, int]] = NO_ENTRIES
    mounts: Mapping[str, NfsMountState] = NO_ENTRIES
    clients: Mapping[ClientKey, NfsClientState] = NO_ENTRIES
    interfaces: Mapping[str, InterfaceState] = NO_ENTRIES
    machine: MachineState = MachineState()
    # A disk or mount is there that the machine's shape does not tell of yet, or has begun anew.
    is_unfamiliar: bool = False
    # What each flow did since the last tick; None: not known.
    flows: Mapping[FlowKey, FlowTick | None] = NO_ENTRIES
    # The same, as limits count it: without the writes that are known not to count on them.
    counted: Mapping[FlowKey, FlowTick | None] = NO_ENTRIES
    budgets: Mapping[BudgetKey, BudgetState] = NO_ENTRIES
    held: tuple[Verdict, ...] = ()  # of those budgets, what says throttled, saturated or stalled
    moved: tuple[BudgetKey, ...] = ()  # of these a limit in force is another than at the last tick
    # Seconds in which a flow suffered from a budget's limit; a counter.
    flow_throttled_seconds: Mapping[tuple[FlowKey, BudgetKey, Dimension], float] = NO_ENTRIES
    sources: Mapping[str, SourceState] = NO_ENTRIES
    # Each can be read, and all it ever said was understood; False: it takes a look whether that is so.
    are_sources_well: bool = False
    # What the machine was sold with and what is configured: for what would lift a limit.
    sold: Sold = NOTHING_SOLD
    catalogue: Catalogue = EMPTY_CATALOGUE  # what `sold` was looked up in
    rules: Rules = Rules()
    # Only while something is throttled, or somebody looks.
    consumers: Mapping[BudgetKey, BudgetConsumers] = NO_ENTRIES
    notices: tuple[str, ...] = ()  # what an operator should know: unmatched configuration, ...

    @property
    def is_throttled(self) -> bool:
        """Whether some budget is at its limit."""
        return any(verdict.word is Word.THROTTLED for verdict in self.held)

    def is_gap(self, elapsed_seconds: float) -> bool:
        """Whether nothing is known of so long a time before this tick."""
        longest = GAP_INTERVALS * self.interval_seconds
        return elapsed_seconds <= 0 or (elapsed_seconds > longest and not self.is_late)
