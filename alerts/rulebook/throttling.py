"""A limit holds requests back: a warning while it costs, a page while it costs much."""

from __future__ import annotations

from dataclasses import dataclass

from rulebook.paper import Alert, Group
from rulebook.phrases import DEMAND, LIMIT, OF_VOLUME, PER_CENT, board

VM = board("vm", instance="instance")
DISK = board("disk", instance="instance", device="name")
MOUNT = board("nfs", instance="instance", mount="name")


@dataclass(frozen=True, slots=True)
class Throttled:
    """One sort of budget that may be throttled.

    whole: the sentence's subject, a template. has_volume: its alerts say of which volume, so that
    the volume's own alert can silence them: a client cannot tell a full volume from a full
    connection. lifts: what a person can do, one sentence.
    """

    name: str
    kind: str
    whole: str
    lifts: str
    runbook: str
    dashboard: str
    has_volume: bool = False

    @property
    def selector(self) -> str:
        return f'kind{"=~" if "|" in self.kind else "="}"{self.kind}"'

    @property
    def scope(self) -> str:
        return "volume" if self.kind == "volume" else "vm"


SORTS = (
    Throttled(
        "IoplateauDiskThrottled",
        "disk|stripe",
        "Disk {{ $labels.name }} of {{ $labels.instance }}",
        "A larger or faster disk, or less I/O, lifts it",
        "disk-throttled",
        DISK,
    ),
    Throttled(
        "IoplateauVmUncachedThrottled",
        "vm_uncached|vm_ultra",
        "{{ $labels.instance }}, uncached disks together",
        "A larger VM size or host caching lifts it, a faster disk does not",
        "vm-throttled",
        VM,
    ),
    Throttled(
        "IoplateauVmCachedThrottled",
        "vm_cached",
        "{{ $labels.instance }}, cached disks together",
        "A larger VM size or caching fewer disks lifts it",
        "vm-throttled",
        VM,
    ),
    Throttled(
        "IoplateauVmNetworkThrottled",
        "vm_network",
        "{{ $labels.instance }}, network",
        "A larger VM size or less traffic lifts it; NFS writes go over it too",
        "vm-network-throttled",
        VM,
    ),
    Throttled(
        "IoplateauNfsVolumeThrottled",
        "volume",
        "NFS volume {{ $labels.volume }} at {{ $labels.name }} of {{ $labels.instance }}",
        "More quota or a higher service level of the volume lifts it, or less I/O of any of its clients",
        "nfs-volume-throttled",
        MOUNT,
        has_volume=True,
    ),
    Throttled(
        "IoplateauNfsSlotsThrottled",
        "nfs_slots",
        "The NFS client behind {{ $labels.name }} of {{ $labels.instance }}",
        "More RPC slots or more connections (nconnect) lift it",
        "nfs-slots-throttled",
        MOUNT,
    ),
    Throttled(
        "IoplateauNfsConnectionThrottled",
        "nfs_connection",
        "A single NFS connection behind {{ $labels.name }} of {{ $labels.instance }}",
        "More connections (nconnect) lift it",
        "nfs-connection-throttled",
        MOUNT,
        has_volume=True,
    ),
    Throttled(
        "IoplateauCgroupThrottled",
        "cgroup",
        "The control group {{ $labels.name }} of {{ $labels.instance }}",
        "Its own block limit (io.max) on this machine lifts it, no size of disk or VM does",
        "cgroup-throttled",
        VM,
    ),
)


def warning(sort: Throttled) -> Alert:
    return Alert(
        sort.name,
        _whose(sort, f"{_share(sort, '5m')} > 0.2"),
        "1m",
        "warning",
        sort.scope,
        f"{sort.whole}: held back by the {{{{ $labels.dimension }}}} limit",
        f"{sort.whole} was held at its limit of {LIMIT} for {PER_CENT} of the last 5 minutes; "
        f"requests wait behind it.{DEMAND} {sort.lifts}.",
        sort.runbook,
        sort.dashboard,
    )


def critical(sort: Throttled) -> Alert:
    demand = f"avg_over_time(ioplateau_budget_demand_ratio{{{sort.selector}}}[15m]) > 1.5"
    return Alert(
        sort.name,
        _whose(sort, f"{_share(sort, '15m')} > 0.5\nand {demand}"),
        "1m",
        "critical",
        sort.scope,
        f"{sort.whole}: held far below what is asked for by the {{{{ $labels.dimension }}}} limit",
        f"{sort.whole} was held at its limit of {LIMIT} for {PER_CENT} of the last 15 minutes, and "
        f"much more is asked for.{DEMAND} {sort.lifts}.",
        sort.runbook,
        sort.dashboard,
    )


def _share(sort: Throttled, window: str) -> str:
    """Share of the time in which the limit held requests back: seconds per second."""
    return f"rate(ioplateau_budget_throttled_seconds_total{{{sort.selector}}}[{window}])"


def _whose(sort: Throttled, expr: str) -> str:
    return (
        f"(\n  {expr.replace(chr(10), chr(10) + '  ')}\n)\n{OF_VOLUME}" if sort.has_volume else expr
    )


CREDIT = Alert(
    "IoplateauBurstCreditLow",
    "(ioplateau_budget_burst_exhaustion_seconds < 900) > 0",
    "1m",
    "warning",
    "vm",
    "{{ $labels.kind }} {{ $labels.name }} of {{ $labels.instance }} will have used up its burst credit in "
    "{{ $value | humanizeDuration }}",
    "At the present rate the burst credit of {{ $labels.kind }} {{ $labels.name }} of {{ $labels.instance }} "
    "({{ $labels.dimension }}) is gone in {{ $value | humanizeDuration }}; then its limit, now "
    f"{LIMIT}, falls to the base.",
    "burst-credit-low",
    VM,
)

BELOW_SOLD = Alert(
    "IoplateauLimitBelowSold",
    # A client's share of a full volume is less than what was sold too: IoplateauVolumeHoldsOneClient
    # knows the other clients.
    'avg_over_time(ioplateau_budget_held_ratio{kind!="volume"}[15m]) < 0.8\n'
    "and rate(ioplateau_budget_throttled_seconds_total[15m]) > 0.2",
    "5m",
    "warning",
    "vm",
    "{{ $labels.kind }} {{ $labels.name }} of {{ $labels.instance }} is held at " + PER_CENT + " of the limit "
    "we know of",
    "{{ $labels.kind }} {{ $labels.name }} of {{ $labels.instance }} plateaus ({{ $labels.dimension }}) at "
    + PER_CENT + " of the limit that configuration, provider or catalogue names: it has another tier than "
    "we believe, its limit was lowered, or something else holds it.",
    "limit-below-sold",
    VM,
)  # fmt: skip

GROUP = Group(
    "ioplateau-throttling",
    [
        *(alert for sort in SORTS for alert in (warning(sort), critical(sort))),
        CREDIT,
        BELOW_SOLD,
    ],
)
