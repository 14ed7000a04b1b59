"""State: the one immutable thing that everything downstream reads.

The engine makes a new one each tick; scrapes, the page, `top` and reports only look at it.
Derived gauges are computed from the spans when somebody asks, not every tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ioplateau.judge.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Limit,
    Verdict,
)
from ioplateau.measure.delta import Span
from ioplateau.measure.diskstats import DiskCounters
from ioplateau.measure.ebs import EbsCounters
from ioplateau.measure.interfaces import InterfaceCounters
from ioplateau.measure.meminfo import Memory
from ioplateau.measure.mountinfo import MountEntry
from ioplateau.measure.mountstats import Connection, Mount
from ioplateau.measure.pressure import Pressure
from ioplateau.measure.procstat import CpuTicks
from ioplateau.measure.sockets import TcpSocket
from ioplateau.measure.sysblock import BlockDevice


@dataclass(frozen=True, slots=True)
class DiskState:
    """One line of diskstats that is a flow: whole disks and stacked devices, no partitions."""

    name: str
    now: DiskCounters
    window: Span[DiskCounters] | None = None  # over the rate window; None: no unbroken story yet
    device: BlockDevice | None = None  # what sysfs says; None: not known


@dataclass(frozen=True, slots=True)
class NfsMountState:
    """One NFS superblock, whatever the number of its mounts."""

    mount: str  # first mount point: its label
    now: Mount
    window: Span[Mount] | None = None
    entry: MountEntry | None = None  # mountinfo's line; None: mountinfo not known
    mount_points: tuple[str, ...] = ()
    client: ClientKey | None = None


@dataclass(frozen=True, slots=True, order=True)
class ClientKey:
    """What a person calls an NFS client: all its connections to a server for one version."""

    server: str  # as mounted: the text before ":/" of the device
    version: str  # "3", "4.1"
    protocol: str  # "tcp"


@dataclass(frozen=True, slots=True)
class NfsClientState:
    """The connections of one client. `window` holds tuples of equal length."""

    key: ClientKey
    address: str  # the server's address; "" if mountinfo is not known
    now: tuple[Connection, ...]
    window: Span[tuple[Connection, ...]] | None = None
    mounts: tuple[str, ...] = ()  # labels of its superblocks
    sockets: tuple[TcpSocket, ...] | None = None  # None: socket diagnostics not available
    slot_limit: int | None = None  # sunrpc.tcp_max_slot_table_entries, v3 and v4.0


@dataclass(frozen=True, slots=True)
class InterfaceState:
    name: str
    now: InterfaceCounters
    window: Span[InterfaceCounters] | None = None
    speed_bits_per_second: float | None = None
    up: bool | None = None


@dataclass(frozen=True, slots=True)
class MachineState:
    """None: not known on this kernel, or the source failed."""

    pressure: Pressure | None = None
    cpu: CpuTicks | None = None
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class LimitState:
    """How a budget stands against one of its limits, with what survives a missed scrape."""

    limit: Limit
    effective: float  # the limit in force now: base, or burst while there is credit
    utilization: float | None  # mean over the rate window; None: no rates yet
    peak_utilization: float | None  # highest tick of the last 60 s
    throttled: bool
    throttled_seconds: float  # counter
    episodes: int  # counter
    demand: float | None = None  # demand over limit, while throttled
    credit_ratio: float | None = None
    exhaustion_seconds: float | None = None

    @property
    def dimension(self) -> Dimension:
        return self.limit.dimension

    @property
    def direction(self) -> Direction:
        return self.limit.direction


@dataclass(frozen=True, slots=True)
class BudgetState:
    budget: Budget
    verdict: Verdict
    limits: tuple[LimitState, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceState:
    """How a source fares: counters since the engine started."""

    name: str  # "diskstats", "mountstats", ...
    up: bool
    why: str = ""  # of the last failure, while down
    seconds: float = 0.0  # spent reading and understanding it
    rejects: int = 0
    last_reject: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """Everything known after one tick. `mono` is CLOCK_MONOTONIC, `wall` UNIX seconds."""

    mono: float
    wall: float
    interval_seconds: float
    ticks: int  # observed since the engine started
    disks: Mapping[str, DiskState] = field(default_factory=dict)
    # EBS volumes that count themselves, by device; packets over allowances, by interface.
    volumes: Mapping[str, EbsCounters] = field(default_factory=dict)
    allowances: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    mounts: Mapping[str, NfsMountState] = field(default_factory=dict)
    clients: Mapping[ClientKey, NfsClientState] = field(default_factory=dict)
    interfaces: Mapping[str, InterfaceState] = field(default_factory=dict)
    machine: MachineState = field(default_factory=MachineState)
    budgets: Mapping[BudgetKey, BudgetState] = field(default_factory=dict)
    # Seconds in which a flow suffered from a budget's limit; a counter.
    flow_throttled_seconds: Mapping[tuple[FlowKey, BudgetKey, Dimension], float] = field(
        default_factory=dict
    )
    sources: Mapping[str, SourceState] = field(default_factory=dict)
    notices: tuple[str, ...] = ()  # what an operator should know: unmatched configuration, ...
