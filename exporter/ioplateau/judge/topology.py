"""Who draws on what: disks on themselves and on the VM's lanes, mounts on volumes and connections.

A stacked device (md, device-mapper) repeats its members' I/O: it is a budget of its own and
never part of a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from ioplateau.judge.budgets import (
    Budget,
    BudgetKey,
    Burst,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
)
from ioplateau.judge.limits import ConfiguredLimit
from ioplateau.measure.sysblock import BlockDevice

VM = "vm"
LANES = {"uncached": Kind.VM_UNCACHED, "cached": Kind.VM_CACHED, "network": Kind.VM_NETWORK}
# Not drawn on any lane of the VM: memory, files of this machine, other machines' disks.
LOCAL_KINDS = frozenset({"ram", "zram", "loop", "rom", "nbd", "dm", "md", "partition"})


@dataclass(frozen=True, slots=True)
class NfsFlow:
    """What the topology must know of one superblock."""

    mount: str
    volume: str  # "server:/export"
    client: str  # label of the client's budgets: the first mount of the client
    server: str = ""
    version: str = ""
    slots: int | None = None  # of the whole client, where the kernel tells


@dataclass(frozen=True, slots=True)
class Topology:
    budgets: Mapping[BudgetKey, Budget] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def build(
    disks: Mapping[str, BlockDevice | None],
    mounts: Sequence[NfsFlow],
    interfaces: Iterable[str],
    configured: Sequence[ConfiguredLimit],
) -> Topology:
    """Every budget of this machine with the limits the configuration gives it."""
    budgets = [
        *_disks(disks, configured),
        *_lanes(disks, interfaces, configured),
        *_volumes(mounts, configured),
        *_clients(mounts),
    ]
    return Topology(
        {budget.key: budget for budget in budgets},
        tuple(_unmatched(disks, mounts, configured)),
    )


def stack_members(disks: Mapping[str, BlockDevice | None], name: str) -> tuple[str, ...]:
    """The disks at the bottom of a stacked device, each once; () for a disk."""
    found: dict[str, None] = {}
    todo = list(_slaves(disks, name))
    while todo:
        member = todo.pop(0)
        below = _slaves(disks, member)
        if below:
            todo.extend(below)
        else:
            found[member] = None
    return tuple(found)


def is_remote_disk(name: str, device: BlockDevice | None) -> bool:
    """Whether a block device draws on the VM's disk lanes."""
    kind = device.kind if device is not None else ""
    if kind in LOCAL_KINDS:
        return False
    return not name.startswith(("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"))


def _slaves(disks: Mapping[str, BlockDevice | None], name: str) -> tuple[str, ...]:
    device = disks.get(name)
    if device is None:
        return ()
    whole = []
    for slave in device.slaves:
        below = disks.get(slave)
        # A stripe over partitions draws on their disks.
        whole.append(below.partition_of if below is not None and below.partition_of else slave)
    return tuple(whole)


def _disks(
    disks: Mapping[str, BlockDevice | None], configured: Sequence[ConfiguredLimit]
) -> Iterable[Budget]:
    for name, device in disks.items():
        if device is not None and device.partition_of:
            continue
        members = stack_members(disks, name)
        limits = _limits([rule for rule in configured if _is_for_disk(rule, name, device)])
        if members:
            yield Budget(
                BudgetKey(Kind.STRIPE, name),
                tuple(FlowKey("disk", member) for member in members),
                *limits,
                parents=tuple(BudgetKey(Kind.DISK, member) for member in members),
                info=_disk_info(device),
            )
        else:
            lane = (BudgetKey(Kind.VM_UNCACHED, VM),) if is_remote_disk(name, device) else ()
            yield Budget(
                BudgetKey(Kind.DISK, name),
                (FlowKey("disk", name),),
                *limits,
                parents=lane,
                info=_disk_info(device),
            )


def _lanes(
    disks: Mapping[str, BlockDevice | None],
    interfaces: Iterable[str],
    configured: Sequence[ConfiguredLimit],
) -> Iterable[Budget]:
    remote = tuple(
        FlowKey("disk", name)
        for name, device in disks.items()
        if is_remote_disk(name, device)
        and not (device is not None and device.partition_of)
        and not stack_members(disks, name)
    )
    cached = any(rule.vm == "cached" for rule in configured)
    members = {
        Kind.VM_UNCACHED: remote,
        Kind.VM_CACHED: remote if cached else (),
        Kind.VM_NETWORK: tuple(FlowKey("nic", name) for name in interfaces if name != "lo"),
    }
    for word, kind in LANES.items():
        rules = [rule for rule in configured if rule.vm == word]
        if members[kind]:
            yield Budget(BudgetKey(kind, VM), members[kind], *_limits(rules))


def _volumes(mounts: Sequence[NfsFlow], configured: Sequence[ConfiguredLimit]) -> Iterable[Budget]:
    for flow in mounts:
        rules = [rule for rule in configured if _is_for_mount(rule, flow)]
        yield Budget(
            BudgetKey(Kind.VOLUME, flow.mount),
            (FlowKey("nfs", flow.mount),),
            *_limits(rules),
            parents=(BudgetKey(Kind.NFS_SLOTS, flow.client),),
            info={"volume": flow.volume, "server": flow.server, "version": flow.version},
        )


def _clients(mounts: Sequence[NfsFlow]) -> Iterable[Budget]:
    by_client: dict[str, list[NfsFlow]] = {}
    for flow in mounts:
        by_client.setdefault(flow.client, []).append(flow)
    for client, flows in by_client.items():
        members = tuple(FlowKey("nfs", flow.mount) for flow in flows)
        info = {"server": flows[0].server, "version": flows[0].version}
        yield Budget(BudgetKey(Kind.NFS_SLOTS, client), members, _slots(flows[0]), info=info)
        yield Budget(BudgetKey(Kind.NFS_CONNECTION, client), members, info=info)


def _slots(flow: NfsFlow) -> tuple[Limit, ...]:
    if flow.slots is None:
        return ()
    return (
        Limit(
            Dimension.SLOTS,
            Direction.TOTAL,
            float(flow.slots),
            Origin.REPORTED,
            "sunrpc.tcp_max_slot_table_entries",
        ),
    )


def _disk_info(device: BlockDevice | None) -> Mapping[str, str]:
    if device is None:
        return {}
    info = {
        "lun": str(device.scsi_address[3]) if device.scsi_address else "",
        "serial": device.serial,
        "size": str(device.size_bytes) if device.size_bytes else "",
        "mapper": device.mapper_name,
    }
    return {key: value for key, value in info.items() if value}


def _is_for_disk(rule: ConfiguredLimit, name: str, device: BlockDevice | None) -> bool:
    if rule.disk is not None:
        mapper = device.mapper_name if device is not None else ""
        return fnmatchcase(name, rule.disk) or bool(mapper and fnmatchcase(mapper, rule.disk))
    if device is None:
        return False
    if rule.serial is not None:
        return bool(device.serial) and fnmatchcase(device.serial, rule.serial)
    if rule.lun is not None:
        return device.scsi_address is not None and device.scsi_address[3] == rule.lun
    return False


def _is_for_mount(rule: ConfiguredLimit, flow: NfsFlow) -> bool:
    if rule.mount is not None:
        return fnmatchcase(flow.mount, rule.mount)
    return rule.volume is not None and fnmatchcase(flow.volume, rule.volume)


def _limits(
    rules: Sequence[ConfiguredLimit],
) -> tuple[tuple[Limit, ...], tuple[tuple[Limit, str], ...]]:
    """Effective limits, the later rule winning, and those that lost."""
    chosen: dict[tuple[Dimension, str], Limit] = {}
    lost: list[tuple[Limit, str]] = []
    for rule in rules:
        for limit in configured_limits(rule):
            key = (limit.dimension, limit.direction)
            before = chosen.get(key)
            if before is not None:
                lost.append((before, f"{limit.source} comes later and says {limit.value:,.0f}"))
            chosen[key] = limit
    return tuple(chosen.values()), tuple(lost)


def configured_limits(rule: ConfiguredLimit) -> tuple[Limit, ...]:
    """The limits one rule of the configuration states."""
    found = []
    for dimension, value, burst in (
        (Dimension.IOPS, rule.iops, rule.burst_iops),
        (Dimension.THROUGHPUT, rule.bytes_per_second, rule.burst_bytes_per_second),
    ):
        if value is None:
            continue
        limit = Limit(dimension, rule.direction, value, Origin.CONFIGURED, rule.source)
        if burst is not None:
            bucket = (burst - value) * rule.burst_seconds if rule.burst_seconds else None
            limit = replace(limit, burst=Burst(burst, bucket))
        found.append(limit)
    return tuple(found)


def _unmatched(
    disks: Mapping[str, BlockDevice | None],
    mounts: Sequence[NfsFlow],
    configured: Sequence[ConfiguredLimit],
) -> Iterable[str]:
    for rule in configured:
        if rule.vm is not None:
            continue
        if rule.mount is not None or rule.volume is not None:
            if not any(_is_for_mount(rule, flow) for flow in mounts):
                yield (
                    f"{rule.source}: no NFS mount matches {(rule.mount or rule.volume)!r} now; "
                    "the limit applies when one appears"
                )
        elif not any(_is_for_disk(rule, name, device) for name, device in disks.items()):
            yield (
                f"{rule.source}: no disk matches {_selector(rule)} now; "
                "the limit applies when one appears"
            )


def _selector(rule: ConfiguredLimit) -> str:
    if rule.disk is not None:
        return f"{rule.disk!r}"
    return f"serial {rule.serial!r}" if rule.serial is not None else f"LUN {rule.lun}"
