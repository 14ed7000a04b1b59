"""A step that would lift a limit, and what must be known to find it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ioplateau.limits.budgets import ALL_DISKS, LANES, Budget, BudgetKey, Dimension, Kind, Limit
from ioplateau.limits.ceilings import Ceiling
from ioplateau.limits.clouds.identity import DiskIdentity, Identity, Sold
from ioplateau.limits.tables import EMPTY_CATALOGUE, Catalogue
from ioplateau.limits.topology import NOTHING_SOLD, Rules
from ioplateau.limits.units import MB, MIB, rate
from ioplateau.measure.mappings import NO_ENTRIES

NAMES: Mapping[Kind, str] = {
    Kind.DISK: "the disk's limit",
    Kind.STRIPE: "the stripe's limit",
    **{kind: f"the VM's limit for {disks}" for kind, disks in LANES.items()},
    Kind.VM_NETWORK: "the VM's network limit",
    Kind.VOLUME: "the volume's limit",
    Kind.NFS_SLOTS: "the client's slots",
    Kind.NFS_CONNECTION: "what its connections carry",
    Kind.CGROUP: "the control group's limit",
}


class Next(NamedTuple):
    """The limit that binds after a step: operations/s or bytes/s as documented. lane: Budget.lane,
    sized: Limit.sized.
    """

    kind: Kind
    dimension: Dimension
    value: float
    lane: str = ALL_DISKS
    sized: str = ""

    @property
    def name(self) -> str:
        """In the middle of a sentence."""
        if self.sized:
            return f"the limit of {self.sized}"
        is_lane = self.kind is Kind.VM_UNCACHED
        return f"the VM's limit for {self.lane}" if is_lane else NAMES[self.kind]


class Step(NamedTuple):
    """One change. gives: the rate that it allows, in the unit of `dimension`, at the present
    request size. next: what binds then; None: nothing that is known.
    """

    action: str
    gives: float
    dimension: Dimension
    next: Next | None = None
    source: str = ""  # where the figure comes from


class Choice(NamedTuple):
    """What a cloud has on offer: a change in words, and the machine after it."""

    action: str
    identity: Identity
    is_cached: bool = False  # it helps reads that the host's cache answers
    # Of choices on one ladder, which come smallest first, one that gives no more than the one before is
    # no step. Empty: on none.
    ladder: str = ""


MEGA: Mapping[str, int] = {"MB/s": MB, "MiB/s": MIB}


def with_disk(identity: Identity, name: str, disk: DiskIdentity) -> Identity:
    """The machine with another disk under this name."""
    return identity._replace(disks={**identity.disks, name: disk})


def provisioned(
    what: str, identity: Identity, name: str, most: Ceiling, unit: str, lane: Iterable[Limit]
) -> Choice:
    """The disk `name` set to `most`, which its type and size take, but to no more than its lane of the
    VM does with credit. A dimension without a figure in `most` is not provisioned. unit: of MEGA.
    """
    disk, limits = identity.disks[name], tuple(lane)
    iops = _set_to(most.iops, disk.iops, limits, Dimension.IOPS)
    data = _set_to(most.bytes_per_second, disk.bytes_per_second, limits, Dimension.THROUGHPUT)
    figures = [] if iops is None else [f"{iops:,.0f} IOPS"]
    figures += [] if data is None else [f"{data / MEGA[unit]:,.0f} {unit}"]
    changed = disk._replace(iops=iops, bytes_per_second=data, configured="")
    words = f"{what} provisioned with {' and '.join(figures)}"
    return Choice(words, with_disk(identity, name, changed))


def _set_to(
    most: float | None, now: float | None, lane: tuple[Limit, ...], dimension: Dimension
) -> float | None:
    alike = [limit for limit in lane if limit.dimension is dimension]
    rates = [limit.value if limit.burst is None else limit.burst.rate for limit in alike]
    if most is None or not rates:
        return most
    return max(now or 0.0, min(most, max(rates)))


class NfsUse(NamedTuple):
    """How a client uses its server now. None: not known."""

    connections: int | None = None
    latency_seconds: float | None = None  # of one request once it was sent
    on_wire: float | None = None  # mean number of requests that are sent and not answered


class Situation(NamedTuple):
    """What the steps are found from. request_bytes: mean size of the budget's requests now."""

    budgets: Mapping[BudgetKey, Budget] = NO_ENTRIES
    sold: Sold = NOTHING_SOLD
    rules: Rules = Rules()
    catalogue: Catalogue = EMPTY_CATALOGUE
    request_bytes: float | None = None
    write_ratio: float | None = None  # of the bytes
    nfs: NfsUse = NfsUse()
    mounts: Mapping[str, tuple[str, ...]] = (
        NO_ENTRIES  # by volume, where else than as it is called it is mounted
    )


def sentence(step: Step) -> str:
    """As in: P40 in place of P30 for sdc: 7,500 IOPS; then the VM's ... (12,800 IOPS) binds."""
    text = f"{step.action}: {rate(step.gives, step.dimension)}"
    if step.next is not None:
        then = step.next
        text += f", then {then.name} of {rate(then.value, then.dimension)} binds"
    return text
