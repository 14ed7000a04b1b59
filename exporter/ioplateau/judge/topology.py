"""Who draws on what: disks on themselves and on the VM's lanes, mounts on volumes and connections.

A stacked device (md, device-mapper) repeats its members' I/O: it is a budget of its own and
never part of a sum. Which I/O of a disk counts where is the cloud's rule (clouds.*.draws).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ioplateau.judge.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
)
from ioplateau.judge.clouds import azure_limits
from ioplateau.judge.clouds.identity import Draws, Identity, Sold, SoldDisk
from ioplateau.judge.limits import (
    ConfiguredLimit,
    Target,
    VolumeFact,
    configured,
    selects,
    settle,
)
from ioplateau.judge.tables import Shelf
from ioplateau.measure.sysblock import BlockDevice

VM = "vm"
LANES = {
    Kind.VM_UNCACHED: "uncached",
    Kind.VM_CACHED: "cached",
    Kind.VM_ULTRA: "ultra",
    Kind.VM_NETWORK: "network",
}
# Not drawn on any lane of the VM: memory, files of this machine, other machines' disks.
LOCAL_KINDS = frozenset({"ram", "zram", "loop", "rom", "nbd", "dm", "md", "partition"})
LOCAL_NAMES = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")
REMOTE = Draws((Kind.VM_UNCACHED, Kind.DISK), (Kind.VM_UNCACHED, Kind.DISK))
OWN = Draws((Kind.DISK,), (Kind.DISK,))
NOTHING_SOLD = Sold(Identity(""))

Devices = Mapping[str, BlockDevice | None]


@dataclass(frozen=True, slots=True)
class NfsFlow:
    """What the topology must know of one superblock."""

    mount: str
    volume: str  # "server:/export"
    client: str  # label of the client's budgets: the first mount of the client
    server: str = ""
    version: str = ""
    slots: int | None = None  # of the whole client, where the kernel tells
    mount_points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupFlow:
    """A control group's I/O on one disk, and its own limits per second. None: no limit."""

    label: str
    device: str
    read_operations: float | None = None
    write_operations: float | None = None
    read_bytes: float | None = None
    write_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """What the configuration says of limits."""

    limits: Sequence[ConfiguredLimit] = ()
    volumes: Sequence[VolumeFact] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """Every budget of this machine, and what an operator should know about them."""

    budgets: Mapping[BudgetKey, Budget] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def build(
    disks: Devices,
    mounts: Sequence[NfsFlow],
    interfaces: Iterable[str],
    rules: Rules,
    shelf: Shelf,
    sold: Sold = NOTHING_SOLD,
    groups: Sequence[GroupFlow] = (),
) -> Topology:
    """Every budget with the limits that configuration, provider and catalogue give it."""
    notices: list[str] = [*sold.reasons]
    builder = _Builder(disks, rules, sold, shelf, notices)
    budgets = [
        *builder.disks(),
        *builder.lanes(tuple(interfaces)),
        *builder.volumes(mounts),
        *_clients(mounts),
        *map(_group, groups),
    ]
    notices.extend(builder.unmatched(mounts))
    return Topology({budget.key: budget for budget in budgets}, tuple(notices))


def stack_members(disks: Devices, name: str) -> tuple[str, ...]:
    """The disks at the bottom of a stacked device, each once; () for a disk."""
    found: dict[str, None] = {}
    seen = {name}
    todo = list(_slaves(disks, name))
    while todo:
        member = todo.pop(0)
        if member in seen:
            continue
        seen.add(member)
        below = _slaves(disks, member)
        if below:
            todo.extend(below)
        else:
            found[member] = None
    return tuple(found)


def is_remote_disk(name: str, device: BlockDevice | None) -> bool:
    """Whether a block device that no cloud tells us of draws on the VM's disk lanes."""
    if device is not None and device.kind in LOCAL_KINDS:
        return False
    return not name.startswith(LOCAL_NAMES)


def _slaves(disks: Devices, name: str) -> tuple[str, ...]:
    device = disks.get(name)
    if device is None:
        return ()
    whole = []
    for slave in device.slaves:
        below = disks.get(slave)
        # A stripe over partitions draws on their disks.
        whole.append(below.partition_of if below is not None and below.partition_of else slave)
    return tuple(whole)


class _Builder:
    """The parts that every budget is made from."""

    def __init__(
        self, disks: Devices, rules: Rules, sold: Sold, shelf: Shelf, notices: list[str]
    ) -> None:
        self._rules = rules
        self._sold = sold
        self._shelf = shelf
        self._notices = notices
        self._devices = disks
        self._whole = {
            name: device
            for name, device in disks.items()
            if device is None or not device.partition_of
        }
        self._members = {name: stack_members(disks, name) for name in self._whole}

    def disks(self) -> Iterable[Budget]:
        for name, device in self._whole.items():
            members = self._members[name]
            claims = [limit for rule in self._ruling(name, device) for limit in configured(rule)]
            if members:
                limits, rejected = settle(claims)
                yield Budget(
                    BudgetKey(Kind.STRIPE, name),
                    _flows(members),
                    limits,
                    rejected,
                    parents=tuple(BudgetKey(Kind.DISK, member) for member in members),
                    info=_device_info(device),
                )
            else:
                yield self._disk(name, device, claims)

    def _disk(self, name: str, device: BlockDevice | None, claims: list[Limit]) -> Budget:
        sold = self._sold.disks.get(name)
        limits, rejected = settle([*(sold.limits if sold is not None else ()), *claims])
        draws = self._draws(name)
        flow = FlowKey("disk", name)
        return Budget(
            BudgetKey(Kind.DISK, name),
            (flow,),
            limits,
            rejected,
            parents=tuple(BudgetKey(kind, VM) for kind in _lanes_of(draws)),
            info={**_device_info(device), **(_sold_info(sold) if sold is not None else {})},
            skips_reads=frozenset(
                {flow} if Kind.DISK not in (draws.read_hit or draws.read) else ()
            ),
            skips_writes=frozenset({flow} if Kind.DISK not in draws.write else ()),
            operation_bytes=sold.operation_bytes if sold is not None else None,
        )

    def _draws(self, name: str) -> Draws:
        sold = self._sold.disks.get(name)
        if sold is not None:
            return sold.draws
        return REMOTE if is_remote_disk(name, self._whole.get(name)) else OWN

    def lanes(self, interfaces: Sequence[str]) -> Iterable[Budget]:
        bottom = {name: self._draws(name) for name in self._whole if not self._members[name]}
        for kind, word in LANES.items():
            claims = [
                *self._sold.lanes.get(kind, ()),
                *(
                    limit
                    for rule in self._rules.limits
                    if rule.vm == word
                    for limit in configured(rule)
                ),
            ]
            if kind is Kind.VM_NETWORK:
                nics = tuple(FlowKey("nic", name) for name in interfaces if name != "lo")
                drawn: Mapping[str, Draws] = {}
                members = nics
            else:
                drawn = {name: draws for name, draws in bottom.items() if kind in _lanes_of(draws)}
                members = _flows(drawn)
            if members and (claims or kind in {Kind.VM_UNCACHED, Kind.VM_NETWORK} or drawn):
                limits, rejected = settle(claims)
                yield Budget(
                    BudgetKey(kind, VM),
                    members,
                    limits,
                    rejected,
                    info={"size": self._sold.identity.vm_size}
                    if self._sold.identity.vm_size
                    else {},
                    skips_reads=frozenset(
                        FlowKey("disk", name)
                        for name, draws in drawn.items()
                        if kind not in (draws.read_hit or draws.read)
                    ),
                    skips_writes=frozenset(
                        FlowKey("disk", name)
                        for name, draws in drawn.items()
                        if kind not in draws.write
                    ),
                )

    def volumes(self, mounts: Sequence[NfsFlow]) -> Iterable[Budget]:
        for flow in mounts:
            target = _volume_target(flow)
            claims: list[Limit] = []
            for fact in self._rules.volumes:
                if selects(fact, target):
                    found, reasons = azure_limits.volume_limits(fact, self._shelf)
                    claims.extend(found)
                    self._notices.extend(reasons)
            claims.extend(
                limit
                for rule in self._rules.limits
                if selects(rule, target)
                for limit in configured(rule)
            )
            limits, rejected = settle(claims)
            yield Budget(
                BudgetKey(Kind.VOLUME, flow.mount),
                (FlowKey("nfs", flow.mount),),
                limits,
                rejected,
                parents=(BudgetKey(Kind.NFS_SLOTS, flow.client),),
                info={"volume": flow.volume, "server": flow.server, "version": flow.version},
            )

    def unmatched(self, mounts: Sequence[NfsFlow]) -> Iterable[str]:
        """Rules that choose nothing here; they apply when what they name appears."""
        volumes = [_volume_target(flow) for flow in mounts]
        disks = [self._disk_target(name, device) for name, device in self._devices.items()]
        rules: list[ConfiguredLimit | VolumeFact] = [*self._rules.limits, *self._rules.volumes]
        for rule in rules:
            if getattr(rule, "vm", None) is not None:
                continue
            is_nfs = rule.mount is not None or rule.volume is not None
            if not any(selects(rule, target) for target in (volumes if is_nfs else disks)):
                what = "NFS mount" if is_nfs else "disk"
                yield (
                    f"{rule.source}: no {what} matches {_selector(rule)} now; "
                    "it applies when one appears"
                )

    def _ruling(self, name: str, device: BlockDevice | None) -> list[ConfiguredLimit]:
        target = self._disk_target(name, device)
        return [rule for rule in self._rules.limits if selects(rule, target)]

    def _disk_target(self, name: str, device: BlockDevice | None) -> Target:
        sold = self._sold.disks.get(name)
        identity = sold.identity if sold is not None else None
        lun = identity.lun if identity is not None else None
        if lun is None and device is not None and device.scsi_address is not None:
            lun = device.scsi_address[3]
        return Target(
            disks=(
                name,
                device.mapper_name if device is not None else "",
                identity.name if identity is not None else "",
            ),
            lun=lun,
            serial=device.serial if device is not None else "",
        )


def _volume_target(flow: NfsFlow) -> Target:
    return Target(mounts=flow.mount_points or (flow.mount,), volume=flow.volume)


def _flows(names: Iterable[str]) -> tuple[FlowKey, ...]:
    return tuple(FlowKey("disk", name) for name in names)


def _lanes_of(draws: Draws) -> tuple[Kind, ...]:
    """The VM's lanes that any I/O of a disk may count on."""
    every = (*draws.read_hit, *draws.read, *draws.write, *draws.write_later)
    return tuple(dict.fromkeys(kind for kind in every if kind is not Kind.DISK))


def _clients(mounts: Sequence[NfsFlow]) -> Iterable[Budget]:
    by_client: dict[str, list[NfsFlow]] = {}
    for flow in mounts:
        by_client.setdefault(flow.client, []).append(flow)
    for client, flows in by_client.items():
        members = tuple(FlowKey("nfs", flow.mount) for flow in flows)
        info = {"server": flows[0].server, "version": flows[0].version}
        yield Budget(BudgetKey(Kind.NFS_SLOTS, client), members, _slots(flows[0]), info=info)
        yield Budget(BudgetKey(Kind.NFS_CONNECTION, client), members, info=info)


def _group(group: GroupFlow) -> Budget:
    told = (
        (Dimension.IOPS, Direction.READ, group.read_operations),
        (Dimension.IOPS, Direction.WRITE, group.write_operations),
        (Dimension.THROUGHPUT, Direction.READ, group.read_bytes),
        (Dimension.THROUGHPUT, Direction.WRITE, group.write_bytes),
    )
    return Budget(
        BudgetKey(Kind.CGROUP, group.label),
        (FlowKey("cgroup", group.label),),
        tuple(
            Limit(dimension, direction, float(value), Origin.REPORTED, "control group")
            for dimension, direction, value in told
            if value
        ),
        info={"device": group.device} if group.device else {},
    )


def _slots(flow: NfsFlow) -> tuple[Limit, ...]:
    if flow.slots is None:
        return ()
    source = "sunrpc.tcp_max_slot_table_entries"
    slots = float(flow.slots)
    return (Limit(Dimension.SLOTS, Direction.TOTAL, slots, Origin.REPORTED, source),)


def _device_info(device: BlockDevice | None) -> dict[str, str]:
    if device is None:
        return {}
    info = {
        "lun": str(device.scsi_address[3]) if device.scsi_address else "",
        "serial": device.serial,
        "size": str(device.size_bytes) if device.size_bytes else "",
        "mapper": device.mapper_name,
    }
    return {key: value for key, value in info.items() if value}


def _sold_info(sold: SoldDisk) -> dict[str, str]:
    return {key: value for key, value in sold.info.items() if value}


def _selector(rule: ConfiguredLimit | VolumeFact) -> str:
    for name in ("disk", "serial", "mount", "volume"):
        pattern = getattr(rule, name, None)
        if pattern is not None:
            return f"{pattern!r}"
    return f"LUN {getattr(rule, 'lun', None)}"
