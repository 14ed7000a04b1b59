"""What the judge speaks of: flows draw on budgets, budgets have limits, verdicts say what holds.

Vocabulary: a flow is a stream of I/O we measure; a budget has a ceiling that flows draw
on; a limit is a budget's ceiling in one dimension and direction, with its origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from ioplateau.measure.mappings import NO_ENTRIES


class Kind(StrEnum):
    """What has the ceiling."""

    DISK = "disk"
    STRIPE = "stripe"  # an md or device-mapper node: never summed with its members
    VM_UNCACHED = "vm_uncached"
    VM_CACHED = "vm_cached"
    VM_ULTRA = "vm_ultra"  # the lane of Ultra and Premium SSD v2 disks, where a size has one
    VM_NETWORK = "vm_network"
    VOLUME = "volume"
    NFS_SLOTS = "nfs_slots"
    NFS_CONNECTION = "nfs_connection"
    CGROUP = "cgroup"


class Dimension(StrEnum):
    """What is counted: operations per second, bytes per second, or slots in use."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    SLOTS = "slots"


class Direction(StrEnum):
    READ = "read"
    WRITE = "write"
    TOTAL = "total"


class Origin(StrEnum):
    """Where a limit comes from, strongest first."""

    CONFIGURED = "configured"
    REPORTED = "reported"
    CATALOGUE = "catalogue"
    LEARNED = "learned"


class Word(StrEnum):
    """The verdicts."""

    IDLE = "idle"
    HEALTHY = "healthy"
    APP_LIMITED = "app_limited"
    LATENCY_BOUND = "latency_bound"
    THROTTLED = "throttled"
    SATURATED = "saturated"
    STALLED = "stalled"
    AFFECTED = "affected"
    UNKNOWN = "unknown"


# What makes an episode of a budget; the other verdicts are the ordinary day.
HELD = frozenset({Word.THROTTLED, Word.SATURATED, Word.STALLED})


class FlowKey(NamedTuple):
    """Names a flow: ("disk", "sda"), ("nfs", "/mnt/a"), ("nic", "eth0")."""

    kind: str
    name: str


class BudgetKey(NamedTuple):
    """Names a budget: ("disk", "sda"), ("vm_uncached", "vm"), ("volume", "/mnt/a")."""

    kind: Kind
    name: str


LimitPlace = tuple[BudgetKey, Dimension, Direction]  # where the book of a limit stands

# The name of what the whole VM has; a limit of its disks of one SKU has the SKU's.
VM = "vm"
# What the VM's limit over its disks counts together, where no cloud has a word for it.
ALL_DISKS = "all disks"


# What else a VM has limits for, apart from those of Kind.VM_UNCACHED, which `Budget.lane` tells.
LANES = {Kind.VM_CACHED: "cached disks", Kind.VM_ULTRA: "Ultra and Premium SSD v2 disks"}


def lane_words(key: BudgetKey, lane: str) -> str:
    """Which disks a limit of the VM over disks counts together. lane: those of the whole VM's."""
    return lane if key.name == VM else f"{key.name} disks"


class Burst(NamedTuple):
    """What a budget may do above its base limit, and for how long.

    rate: operations or bytes per second. bucket: credit, in operations or bytes, that
    holds rate - base for the burst's documented time (None: not known). Starts full.
    """

    rate: float
    bucket: float | None = None


class Limit(NamedTuple):
    """One ceiling: value in operations/s, bytes/s or slots.

    `source` tells a person where the number comes from ("config.toml limit[0]",
    "P10, azure_disks.csv 2026-08"). `tolerance` is the share by which the source itself
    may be off (0.05 where documentation is ambiguous between MB and MiB). each_client: a
    volume's, which it has for each of its clients alone and not for all of them together. sized: of
    a VM's limit over disks that their sizes set and no larger VM lifts, those ("200 GiB of pd-ssd together").
    """

    dimension: Dimension
    direction: Direction
    value: float
    origin: Origin
    source: str = ""
    burst: Burst | None = None
    tolerance: float = 0.0
    each_client: bool = False
    sized: str = ""


class Budget(NamedTuple):
    """Something with a ceiling. `limits` holds the effective ones, at most one for each
    dimension and direction; an empty tuple means that no limit is known. Of a volume's members the
    first is the superblock it is named after; the others are its other superblocks.

    `rejected` keeps what was considered and lost, as (limit, why). Members in `skips_reads`
    (`skips_writes`) have reads (writes) that do not count here for certain: a host cache may
    answer them. operation_bytes: a larger request counts as several operations. lane: which disks
    the VM's limit over its disks counts together, in the words of its cloud.
    """

    key: BudgetKey
    members: tuple[FlowKey, ...]
    limits: tuple[Limit, ...] = ()
    rejected: tuple[tuple[Limit, str], ...] = ()
    parents: tuple[BudgetKey, ...] = ()
    info: Mapping[str, str] = NO_ENTRIES
    skips_reads: frozenset[FlowKey] = frozenset()
    skips_writes: frozenset[FlowKey] = frozenset()
    operation_bytes: int | None = None
    lane: str = ALL_DISKS


class Verdict(NamedTuple):
    """What we concluded of one budget at one tick, with its evidence.

    since: CLOCK_MONOTONIC seconds at which this word began to hold; limit_since: at which this
    limit did, after another that held before; None: none holds. utilization: share of the
    binding (else the nearest) limit in the last block; demand: estimated demand over the limit
    while throttled. None: not known.
    """

    key: BudgetKey
    word: Word
    since: float
    dimension: Dimension | None = None
    direction: Direction | None = None
    limit: float | None = None
    origin: Origin | None = None
    utilization: float | None = None
    demand: float | None = None
    parent: BudgetKey | None = None  # of an affected budget, or a stripe: who holds it back
    evidence: Mapping[str, float | str] = NO_ENTRIES
    sentence: str = ""
    sufferers: tuple[FlowKey, ...] = ()
    limit_since: float | None = None

    @property
    def holds_since(self) -> float:
        """CLOCK_MONOTONIC seconds since when what is told now holds: the limit, else the word."""
        return self.since if self.limit_since is None else self.limit_since
