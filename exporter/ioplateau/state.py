"""State: the one immutable thing that everything downstream reads.

The engine makes a new one each tick; scrapes, the page, `top` and reports only look at it.
Derived gauges are computed from the spans when somebody asks, not every tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

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
from ioplateau.measure.nothing import NO_ENTRIES
from ioplateau.measure.pressure import Pressure
from ioplateau.measure.procstat import CpuTicks
from ioplateau.measure.sockets import TcpSocket
from ioplateau.measure.sysblock import BlockDevice


class DiskState(NamedTuple):
    """One line of diskstats that is a flow: whole disks and stacked devices, no partitions."""

    name: str
    now: DiskCounters
    window: Span[DiskCounters] | None = None  # over the rate window; None: no unbroken story yet
    device: BlockDevice | None = None  # what sysfs says; None: not known


class NfsMountState(NamedTuple):
    """One NFS superblock, whatever the number of its mounts."""

    mount: str  # first mount point: its label
    now: Mount
    window: Span[Mount] | None = None
    entry: MountEntry | None = None  # mountinfo's line; None: mountinfo not known
    mount_points: tuple[str, ...] = ()
    client: ClientKey | None = None


class ClientKey(NamedTuple):
    """What a person calls an NFS client: all its connections to a server for one version."""

    server: str  # as mounted: the text before ":/" of the device
    version: str  # "3", "4.1"
    protocol: str  # "tcp"


class NfsClientState(NamedTuple):
    """The connections of one client. `window` holds tuples of equal length."""

    key: ClientKey
    address: str  # the server's address; "" if mountinfo is not known
    now: tuple[Connection, ...]
    window: Span[tuple[Connection, ...]] | None = None
    mounts: tuple[str, ...] = ()  # labels of its superblocks
    sockets: tuple[TcpSocket, ...] | None = None  # None: socket diagnostics not available
    slot_limit: int | None = None  # sunrpc.tcp_max_slot_table_entries, v3 and v4.0


class InterfaceState(NamedTuple):
    name: str
    now: InterfaceCounters
    window: Span[InterfaceCounters] | None = None
    speed_bits_per_second: float | None = None
    up: bool | None = None


class MachineState(NamedTuple):
    """None: not known on this kernel, or the source failed."""

    pressure: Pressure | None = None
    cpu: CpuTicks | None = None
    memory: Memory | None = None


class LimitState(NamedTuple):
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


class BudgetState(NamedTuple):
    budget: Budget
    verdict: Verdict
    limits: tuple[LimitState, ...] = ()


class SourceState(NamedTuple):
    """How a source fares: counters since the engine started."""

    name: str  # "diskstats", "mountstats", ...
    up: bool
    why: str = ""  # of the last failure, while down
    seconds: float = 0.0  # spent reading and understanding it
    rejects: int = 0
    last_reject: str = ""


class State(NamedTuple):
    """Everything known after one tick. `mono` is CLOCK_MONOTONIC, `wall` UNIX seconds."""

    mono: float
    wall: float
    interval_seconds: float
    ticks: int  # observed since the engine started
    disks: Mapping[str, DiskState] = NO_ENTRIES
    # EBS volumes that count themselves, by device; packets over allowances, by interface.
    volumes: Mapping[str, EbsCounters] = NO_ENTRIES
    allowances: Mapping[str, Mapping[str, int]] = NO_ENTRIES
    mounts: Mapping[str, NfsMountState] = NO_ENTRIES
    clients: Mapping[ClientKey, NfsClientState] = NO_ENTRIES
    interfaces: Mapping[str, InterfaceState] = NO_ENTRIES
    machine: MachineState = MachineState()
    budgets: Mapping[BudgetKey, BudgetState] = NO_ENTRIES
    # Seconds in which a flow suffered from a budget's limit; a counter.
    flow_throttled_seconds: Mapping[tuple[FlowKey, BudgetKey, Dimension], float] = NO_ENTRIES
    sources: Mapping[str, SourceState] = NO_ENTRIES
    notices: tuple[str, ...] = ()  # what an operator should know: unmatched configuration, ...
