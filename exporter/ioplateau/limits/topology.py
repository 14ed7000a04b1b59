"""Who draws on what: disks on themselves and on the VM's lanes, mounts on volumes and connections.

A stacked device (md, device-mapper) repeats its members' I/O: it is a budget of its own and
never part of a sum. Which I/O of a disk counts where is the cloud's rule (Draws).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ioplateau.limits.budgets import (
    VM,
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
    lane_words,
)
from ioplateau.limits.claims import (
    ConfiguredLimit,
    Lost,
    Target,
    VolumeFact,
    configured,
    is_exact,
    selector,
    selects,
    settle,
    unmatched,
)
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.identity import (
    OWN,
    REMOTE,
    DiskIdentity,
    Draws,
    Identity,
    Sold,
)
from ioplateau.limits.stacks import Devices, is_remote_disk, stack_members
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import GIB
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.sysblock import BlockDevice

LANES = {
    Kind.VM_UNCACHED: "uncached",
    Kind.VM_CACHED: "cached",
    Kind.VM_ULTRA: "ultra",
    Kind.VM_NETWORK: "network",
}
NOTHING_SOLD = Sold(Identity(""))
# NFS4_MAX_SLOT_TABLE: one table for all connections of an NFSv4.0 client (nfs40_init_client() in
# fs/nfs/nfs4client.c), in which a call waits before it comes to a connection's; and the most that a client of
# v4.1 and newer asks for.
# https://github.com/torvalds/linux/blob/v6.1/fs/nfs/nfs4session.h
NFS4_MOST_SLOTS = 1024


class NfsFlow(NamedTuple):
    """What the topology must know of one superblock."""

    mount: str  # its label
    volume: str  # "server:/export", as mounted at the label
    client: str  # label of the client's budgets: the first mount it was seen with
    server: str = ""
    version: str = ""
    slots: int | None = None  # of the whole client, where the kernel tells
    mount_points: tuple[str, ...] = ()  # where it is mounted now


class GroupFlow(NamedTuple):
    """A control group's I/O on one disk, and its own limits per second. None: no limit."""

    label: str
    device: str
    read_operations: float | None = None
    write_operations: float | None = None
    read_bytes: float | None = None
    write_bytes: float | None = None


class Rules(NamedTuple):
    """What the configuration says of limits."""

    limits: Sequence[ConfiguredLimit] = ()
    volumes: Sequence[VolumeFact] = ()


class Topology(NamedTuple):
    """Every budget of this machine, and what an operator should know about them."""

    budgets: Mapping[BudgetKey, Budget] = NO_ENTRIES
    notices: tuple[str, ...] = ()


def build(
    disks: Devices,
    mounts: Sequence[NfsFlow],
    interfaces: Iterable[str],
    rules: Rules,
    catalogue: Catalogue,
    sold: Sold = NOTHING_SOLD,
    groups: Sequence[GroupFlow] = (),
    hidden: Devices = NO_ENTRIES,
) -> Topology:
    """Every budget with the limits that configuration, provider and catalogue give it.

    hidden: disks that nobody wants to see; those of them that draw on the VM are in `disks` too.
    """
    notices: list[str] = [*sold.reasons]
    builder = _Builder(disks, rules, sold, catalogue, notices)
    budgets = [
        *builder.disks(),
        *builder.lanes(tuple(interfaces)),
        *builder.volumes(mounts),
        *_clients(mounts),
        *map(_group, groups),
    ]
    notices.extend(builder.unmatched(mounts, hidden))
    return Topology({budget.key: budget for budget in budgets}, tuple(dict.fromkeys(notices)))


class _Builder:
    """The parts that every budget is made from."""

    def __init__(
        self, disks: Devices, rules: Rules, sold: Sold, catalogue: Catalogue, notices: list[str]
    ) -> None:
        self._rules = rules
        self._sold = sold
        self._lane_words = discover.lane_of(sold.identity)
        self._catalogue = catalogue
        self._notices = notices
        self._devices = disks
        self._whole = {
            name: device
            for name, device in disks.items()
            if device is None or not device.partition_of
        }
        self._members = {name: stack_members(disks, name) for name in self._whole}
        # The device over the most disks, where several lie on one.
        self._stacks = {
            member: (name, members)
            for name, members in sorted(self._members.items(), key=lambda each: len(each[1]))
            for member in members
            if len(members) > 1
        }

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
                    lane=self._lane_words,
                )
            else:
                yield self._disk(name, device, claims)

    def _disk(self, name: str, device: BlockDevice | None, claims: list[Limit]) -> Budget:
        sold = self._sold.disks.get(name)
        limits, rejected = settle([*(sold.limits if sold is not None else ()), *claims])
        draws = self._draws(name)
        flow = FlowKey("disk", name)
        counts = draws if _counts_on(draws, Kind.DISK) else OWN
        return Budget(
            BudgetKey(Kind.DISK, name),
            (flow,),
            limits,
            rejected,
            parents=(
                *(BudgetKey(kind, VM) for kind in _lanes_of(draws)),
                *(BudgetKey(Kind.VM_UNCACHED, sku) for sku in self._sku_of(name)),
            ),
            info=(
                {**_device_info(device), **self._stack_info(name)}
                if sold is None
                else {
                    **_device_info(device, sold.identity),
                    **sold.info,
                    **self._stack_info(name),
                }
            ),
            skips_reads=frozenset(
                {flow} if Kind.DISK not in (counts.read_hit or counts.read) else ()
            ),
            skips_writes=frozenset({flow} if Kind.DISK not in counts.write else ()),
            operation_bytes=sold.operation_bytes if sold is not None else None,
            lane=self._lane_words,
        )

    def _stack_info(self, name: str) -> dict[str, str]:
        if name not in self._stacks:
            return {}
        stack, members = self._stacks[name]
        return {"stack": stack, "stack_disks": " ".join(members)}

    def _draws(self, name: str) -> Draws:
        sold = self._sold.disks.get(name)
        if sold is not None:
            return sold.draws
        return REMOTE if is_remote_disk(name, self._whole.get(name)) else OWN

    def _sku_of(self, name: str) -> tuple[str, ...]:
        """The SKU of a disk that shares a limit with the others of it."""
        sold = self._sold.disks.get(name)
        return () if sold is None else tuple({sold.identity.sku} & self._sold.by_sku.keys())

    def lanes(self, interfaces: Sequence[str]) -> Iterable[Budget]:
        bottom = {name: self._draws(name) for name in self._whole if not self._members[name]}
        for kind, word in LANES.items():
            rules = [rule for rule in self._rules.limits if rule.vm == word]
            claims = lane_claims(kind, self._sold, self._rules)
            drawn: Mapping[str, Draws] = {}
            if kind is Kind.VM_NETWORK:
                members = tuple(FlowKey("nic", name) for name in interfaces if name != "lo")
            else:
                drawn = {name: draws for name, draws in bottom.items() if _counts_on(draws, kind)}
                members = _flows(drawn)
            if members:
                yield self._lane(kind, members, drawn, claims)
                continue
            for rule in rules:
                what = "network interface" if kind is Kind.VM_NETWORK else "disk"
                self._notices.append(
                    f"{rule.source}: no {what} draws on the VM's {word} lane now; "
                    "it applies when one does"
                )
        for sku, sold in self._sold.by_sku.items():
            members = _flows(name for name in bottom if sku in self._sku_of(name))
            if members:
                yield self._lane(Kind.VM_UNCACHED, members, {}, sold, sku)

    def _lane(
        self,
        kind: Kind,
        members: tuple[FlowKey, ...],
        drawn: Mapping[str, Draws],
        claims: Iterable[Limit],
        sku: str = "",
    ) -> Budget:
        limits, rejected = settle(claims)
        size = self._sold.identity.vm_size
        key = BudgetKey(kind, sku or VM)
        return Budget(
            key,
            members,
            limits,
            rejected,
            info={"size": size} if size else {},
            skips_reads=frozenset(
                FlowKey("disk", name)
                for name, draws in drawn.items()
                if kind not in (draws.read_hit or draws.read)
            ),
            skips_writes=frozenset(
                FlowKey("disk", name) for name, draws in drawn.items() if kind not in draws.write
            ),
            lane=lane_words(key, self._lane_words),
        )

    def volumes(self, mounts: Sequence[NfsFlow]) -> Iterable[Budget]:
        by_volume: dict[str, list[FlowKey]] = {}
        for flow in mounts:
            by_volume.setdefault(_volume_of(flow), []).append(FlowKey("nfs", flow.mount))
        for flow in mounts:
            target, itself = _volume_target(flow), FlowKey("nfs", flow.mount)
            claims, overruled = self._sold_volume(target, flow.server)
            claims.extend(
                limit
                for rule in self._rules.limits
                if selects(rule, target)
                for limit in configured(rule)
            )
            limits, rejected = settle(claims)
            yield Budget(
                BudgetKey(Kind.VOLUME, flow.mount),
                (itself, *(each for each in by_volume[_volume_of(flow)] if each != itself)),
                limits,
                (*overruled, *rejected),
                parents=(BudgetKey(Kind.NFS_SLOTS, flow.client),),
                info={"volume": flow.volume, "server": flow.server, "version": flow.version},
            )

    def _sold_volume(self, target: Target, server: str) -> tuple[list[Limit], list[Lost]]:
        """What the last [[volume]] that chooses it gives, and what those before it would have given."""
        facts = volume_facts(self._rules, target, server)
        if not facts:
            return [], []
        *before, last = facts
        limits, reasons = discover.volume_limits(last, self._catalogue)
        self._notices.extend(reasons)
        words = f"{last.source} says what this volume was sold as"
        overruled = [
            (limit, words)
            for fact in before
            for limit in discover.volume_limits(fact, self._catalogue)[0]
        ]
        return [*limits], overruled

    def unmatched(self, mounts: Sequence[NfsFlow], hidden: Devices) -> Iterable[str]:
        """Rules that choose nothing here (they apply when what they name appears), or too much."""
        volumes = {flow.mount: _volume_target(flow) for flow in mounts}
        disks = {
            name: self._disk_target(name, device)
            for name, device in {**self._whole, **hidden}.items()
        }
        rules: list[ConfiguredLimit | VolumeFact] = [*self._rules.limits, *self._rules.volumes]
        for rule in rules:
            if getattr(rule, "vm", None) is not None:
                continue
            is_nfs = rule.mount is not None or rule.volume is not None
            targets = volumes if is_nfs else disks
            chosen = [name for name, target in targets.items() if selects(rule, target)]
            if not chosen:
                what = "NFS mount" if is_nfs else "disk"
                yield self._partition(rule) or unmatched(rule, what, targets.values())
            elif not is_nfs and hidden.keys() >= {*chosen}:
                names = f"{' and '.join(chosen)} {'are' if chosen[1:] else 'is'}"
                yield f"{rule.source}: {names} left out by device.exclude: the limit is not told"
            elif len(chosen) > 1 and is_exact(rule):
                apart = "name or serial" if getattr(rule, "serial", None) is None else "name"
                yield (
                    f"{rule.source}: {selector(rule)} is {' and '.join(chosen)}: the limit is "
                    f"taken for each of them; a disk's {apart} tells them apart"
                )

    def _partition(self, rule: ConfiguredLimit | VolumeFact) -> str:
        for name, device in self._devices.items():
            if device is not None and device.partition_of and selects(rule, Target((name,))):
                return (
                    f"{rule.source}: {name} is a partition, and limits are those of whole disks: "
                    f"say {device.partition_of}"
                )
        return ""

    def _ruling(self, name: str, device: BlockDevice | None) -> list[ConfiguredLimit]:
        target = self._disk_target(name, device)
        return [rule for rule in self._rules.limits if selects(rule, target)]

    def _disk_target(self, name: str, device: BlockDevice | None) -> Target:
        sold = self._sold.disks.get(name)
        if device is None:
            return Target((name,))
        return discover.target_of(device, sold.identity if sold is not None else None)


def lane_claims(kind: Kind, sold: Sold, rules: Rules) -> list[Limit]:
    """What the VM's size and the configuration say of one of its lanes; claims, not yet settled."""
    said = [rule for rule in rules.limits if rule.vm == LANES[kind]]
    return [*sold.lanes.get(kind, ()), *(limit for rule in said for limit in configured(rule))]


def volume_facts(rules: Rules, target: Target, server: str) -> list[VolumeFact]:
    """Every [[volume]] that chooses it, with what the server's address tells of the way to it."""
    way = _is_proxy(server) if server else None
    return [fact._replace(is_proxied=way) for fact in rules.volumes if selects(fact, target)]


def _volume_target(flow: NfsFlow) -> Target:
    return Target(mounts=mount_names(flow.mount, flow.mount_points), volume=flow.volume)


def mount_names(label: str, points: tuple[str, ...]) -> tuple[str, ...]:
    """What `mount` of a rule may call a file system: where it is mounted now, and a name that is no mount point."""
    return points if points and label.startswith("/") else (*points, label)


def _volume_of(flow: NfsFlow) -> str:
    """What is one volume for all superblocks: "server:/export". Behind a proxy on this machine each is its own."""
    return flow.mount if _is_proxy(flow.server) else flow.volume


def _is_proxy(server: str) -> bool:
    return server == "localhost" or server.startswith(("127.", "::1", "[::1"))


def _flows(names: Iterable[str]) -> tuple[FlowKey, ...]:
    return tuple(FlowKey("disk", name) for name in names)


def _lanes_of(draws: Draws) -> tuple[Kind, ...]:
    """The VM's lanes that any I/O of a disk may count on."""
    every = (*draws.read_hit, *draws.read, *draws.write, *draws.write_later)
    return tuple(dict.fromkeys(kind for kind in every if kind is not Kind.DISK))


def _counts_on(draws: Draws, kind: Kind) -> bool:
    return kind in (*draws.read_hit, *draws.read, *draws.write, *draws.write_later)


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
    texts = (
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
            for dimension, direction, value in texts
            if value
        ),
        info={"device": group.device} if group.device else {},
    )


def _slots(flow: NfsFlow) -> tuple[Limit, ...]:
    if flow.slots is None:
        return ()
    is_most = flow.version == "4.0" and flow.slots >= NFS4_MOST_SLOTS
    source = "NFSv4.0's slot table" if is_most else "sunrpc.tcp_max_slot_table_entries"
    slots = float(flow.slots)
    return (Limit(Dimension.SLOTS, Direction.TOTAL, slots, Origin.REPORTED, source),)


def _device_info(device: BlockDevice | None, disk: DiskIdentity | None = None) -> dict[str, str]:
    if device is None:
        return {}
    lun = discover.lun_of(device, disk)
    info = {
        "lun": "" if lun is None else str(lun),
        "serial": device.serial,
        "size": f"{device.size_bytes / GIB:g} GiB" if device.size_bytes else "",
        "mapper": device.mapper_name,
    }
    return {key: value for key, value in info.items() if value}
