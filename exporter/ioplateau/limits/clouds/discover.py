"""Which cloud this is, what to ask it, and what everything here was sold with.

Configuration fills what metadata does not tell, and overrules what it tells wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ioplateau.limits.budgets import ALL_DISKS
from ioplateau.limits.claims import DiskFact, Target, VmFact, VolumeFact, selects, unmatched
from ioplateau.limits.clouds import registry
from ioplateau.limits.clouds.identity import DATA, REMOTE, DiskIdentity, Identity, Sold, SoldDisk
from ioplateau.limits.clouds.protocol import Cloud, LargerVolume, VolumeLimits
from ioplateau.limits.clouds.provisioned import as_said
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import GIB
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.sysblock import NETWORK, BlockDevice

if TYPE_CHECKING:
    from ioplateau.measure.metadata import Document


DMI = "/sys/class/dmi/"


class Facts(NamedTuple):
    """What the configuration says of this machine."""

    vm: VmFact | None = None
    disks: Sequence[DiskFact] = ()


NO_FACTS = Facts()


def detect(files: Mapping[str, str]) -> str:
    """The cloud's name by DMI; empty: none that we know, and nobody is asked anything."""
    if not any(path.startswith(DMI) for path in files):
        return ""
    return next((cloud.name for cloud in registry.every() if cloud.detect(files)), "")


def wanted(cloud: str) -> tuple[Document, ...]:
    """The documents to fetch in this cloud."""
    found = registry.load(cloud)
    return found.wanted() if found is not None else ()


def identify(
    cloud: str,
    documents: Mapping[str, str],
    devices: Mapping[str, BlockDevice],
    files: Mapping[str, str],
    facts: Facts = NO_FACTS,
) -> Identity:
    """What this machine is, by its cloud and, over that, by its configuration."""
    found = registry.load(cloud)
    identity = Identity(cloud) if found is None else found.identify(documents, devices, files)
    if facts.vm is not None:
        controller = facts.vm.controller or identity.controller
        identity = identity._replace(vm_size=facts.vm.size, controller=controller)
    disks = dict(identity.disks)
    reasons = [*identity.reasons]
    for fact in facts.disks:
        targets = {
            name: target_of(device, disks.get(name))
            for name, device in devices.items()
            if not device.partition_of
        }
        chosen = [name for name, target in targets.items() if selects(fact, target)]
        for name in chosen:
            disk = disks.get(name, DiskIdentity(device=name, role=DATA))
            disks[name] = _with_fact(disk, devices[name], fact)
        if not chosen:
            reasons.append(unmatched(fact, "disk", targets.values()))
    return identity._replace(disks=disks, reasons=tuple(reasons))


def target_of(device: BlockDevice, disk: DiskIdentity | None) -> Target:
    """What a rule of the configuration may choose a disk by."""
    return Target(
        disks=(
            device.name,
            device.mapper_name,
            disk.name if disk is not None else "",
            *device.paths,
        ),
        lun=lun_of(device, disk),
        serial=device.serial,
    )


def lun_of(device: BlockDevice, disk: DiskIdentity | None) -> int | None:
    """The LUN by which people know a disk: a data disk's. The OS disk, a temporary disk and disks
    on another machine may have LUNs of their own, which nobody means.
    """
    if (disk is not None and disk.role != DATA) or device.kind == NETWORK:
        return None
    if disk is not None and disk.lun is not None:
        return disk.lun
    attachments = (cloud.attachment(device) for cloud in registry.every())
    attachment = next((attachment for attachment in attachments if attachment is not None), None)
    if attachment is not None:
        return attachment[1] if attachment[0] == DATA else None
    return None if device.scsi_address is None else device.scsi_address[3]


def _with_fact(disk: DiskIdentity, device: BlockDevice, fact: DiskFact) -> DiskIdentity:
    size = fact.size_gib or disk.size_gib
    if size is None and device.size_bytes is not None:
        size = device.size_bytes / GIB
    is_provisioned = fact.iops is not None or fact.bytes_per_second is not None
    if fact.sku and (disk.configured or fact.sku.lower() != disk.sku.lower()):
        # What something else was provisioned with.
        disk = disk._replace(iops=None, bytes_per_second=None, configured="")
    return disk._replace(
        sku=fact.sku or disk.sku,
        # Another SKU has another tier, unless the rule names one.
        tier=fact.tier or ("" if fact.sku else disk.tier),
        size_gib=size,
        caching=fact.caching or disk.caching,
        iops=disk.iops if fact.iops is None else fact.iops,
        bytes_per_second=(
            disk.bytes_per_second if fact.bytes_per_second is None else fact.bytes_per_second
        ),
        on_demand_burst=_latest(fact.on_demand_burst, disk.on_demand_burst),
        performance_plus=_latest(fact.performance_plus, disk.performance_plus),
        configured=(fact.source or "configuration") if is_provisioned else disk.configured,
    )


def _latest(said: bool | None, before: bool) -> bool:
    return before if said is None else said


def cloud_of(identity: Identity) -> Cloud | None:
    """The cloud that the machine is of, or whose names its sizes and disks look like."""
    return registry.load(identity.cloud) or likely(identity)


def lane_of(identity: Identity) -> str:
    """Which disks the VM's limit over its disks counts together, in words."""
    cloud = cloud_of(identity)
    return ALL_DISKS if cloud is None else cloud.lane


def sold(identity: Identity, catalogue: Catalogue) -> Sold:
    """The limits of every lane and disk of the machine, by what it is. What the configuration states
    of a disk holds whether it is known what the disk was sold as or not.
    """
    found = _by_its_cloud(identity, catalogue)
    disks = {
        name: disk._replace(limits=as_said(disk.identity, "", disk.limits))
        if disk.identity.configured
        else disk
        for name, disk in found.disks.items()
    }
    shared = tuple(
        f"{name}: shared with other VMs: they draw on its limit too, and what they do is not seen here"
        for name, disk in disks.items()
        if disk.identity.is_shared
    )
    idle = tuple(filter(None, (_without_effect(name, disk) for name, disk in disks.items())))
    return found._replace(disks=disks, reasons=(*found.reasons, *shared, *idle))


def _without_effect(name: str, disk: SoldDisk) -> str:
    """A word of what is said of a disk and counts only for one that is known; "": nothing is."""
    identity = disk.identity
    if _named(identity):
        return ""
    is_cached = identity.caching.lower() not in ("", "none") and not identity.is_ephemeral
    said = {
        "caching": is_cached and not disk.draws.read_hit,
        "on_demand_burst": identity.on_demand_burst,
        "performance_plus": identity.performance_plus,
    }
    idle = " and ".join(key for key, is_said in said.items() if is_said)
    return f"{name}: {idle}: without effect while nobody says its sku" if idle else ""


def _by_its_cloud(identity: Identity, catalogue: Catalogue) -> Sold:
    cloud = cloud_of(identity)
    if cloud is not None:
        found = cloud.sold(identity, catalogue)
        if found.is_known_size:
            return found
        names = _names_like(cloud, identity, catalogue)
        return found._replace(reasons=(*found.reasons, *names))
    reasons = identity.reasons
    if identity.vm_size:
        words = f"VM size {identity.vm_size!r} is in no table: the VM's limits are unknown"
        reasons = (*reasons, words)
    reasons += tuple(
        _sold_by_nobody(name, disk) for name, disk in identity.disks.items() if _named(disk)
    )
    disks = {name: SoldDisk(disk, REMOTE) for name, disk in identity.disks.items()}
    return Sold(identity, disks=disks, reasons=reasons, is_known_size=not identity.vm_size)


def _sold_by_nobody(name: str, disk: DiskIdentity) -> str:
    unknown = "" if disk.configured else ": its limits are unknown"
    words = " or ".join(map(repr, _named(disk)))
    return f"{name}: no cloud that we know has a SKU or tier {words}{unknown}"


def _named(disk: DiskIdentity) -> tuple[str, ...]:
    return tuple(filter(None, (disk.sku, disk.tier)))


def _names_like(cloud: Cloud, identity: Identity, catalogue: Catalogue) -> Iterable[str]:
    """For who has mistyped the size: those that are written nearly so."""
    names = cloud.similar(identity.vm_size, catalogue)
    if names:
        yield f"VM sizes that are written nearly like {identity.vm_size!r}: {', '.join(names)}"


def likely(identity: Identity) -> Cloud | None:
    """The cloud whose names the VM size looks like, or else the SKUs and tiers of the disks."""
    skus = frozenset(name.lower() for disk in identity.disks.values() for name in _named(disk))
    if not identity.vm_size and not skus:
        return None
    return next((c for c in registry.every() if c.sells(identity.vm_size, skus)), None)


def seller(identity: Identity, catalogue: Catalogue) -> Cloud | None:
    """Of a machine that is only described: the cloud that has its VM size in a table, or else
    whose names the size or the disks look like.
    """
    first = likely(identity) or likely(identity._replace(vm_size=""))
    if not identity.vm_size:
        return first
    return next(
        (
            cloud
            for cloud in _first(first)
            if cloud.what_if(identity._replace(disks=NO_ENTRIES), catalogue).vm_size
        ),
        first,
    )


def in_no_table(vm_size: str, cloud: Cloud | None, catalogue: Catalogue) -> str:
    """That nobody sells it, with what is written nearly so, of this cloud before others."""
    names = [name for each in _first(cloud) for name in each.similar(vm_size, catalogue)]
    near = f"; near it {'are' if names[1:] else 'is'} {', '.join(names[:3])}" if names else ""
    return f"VM size {vm_size!r} is in no table{near}"


def _first(cloud: Cloud | None) -> Iterable[Cloud]:
    """Every cloud, this one first."""
    return sorted(registry.every(), key=lambda each: each is not cloud)


def service_levels(service: str) -> tuple[str, ...]:
    """The levels of an NFS service, the slowest first."""
    return registry.services().get(service or registry.DEFAULT_SERVICE, ())


def larger(fact: VolumeFact, catalogue: Catalogue) -> Iterable[LargerVolume]:
    """What may be bought for an NFS volume at its service level."""
    cloud = _seller_of(fact)
    return () if cloud is None else cloud.larger(fact, catalogue)


def volume_limits(fact: VolumeFact, catalogue: Catalogue) -> VolumeLimits:
    """What an NFS volume of this service, level and quota may do, and what is wrong with that."""
    cloud = _seller_of(fact)
    if cloud is not None:
        return cloud.volume_limits(fact, catalogue)
    wanted = ", ".join(registry.services())
    return (), (f"{fact.source}: service {fact.service!r} is not known, want one of {wanted}",)


def _seller_of(fact: VolumeFact) -> Cloud | None:
    service = fact.service or registry.DEFAULT_SERVICE
    return next((cloud for cloud in registry.every() if service in cloud.services), None)
