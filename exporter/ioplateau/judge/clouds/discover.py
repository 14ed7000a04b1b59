"""Which cloud this is, what to ask it, and what everything here was sold with.

Configuration fills what metadata does not tell, and overrules what it tells wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from ioplateau.judge.budgets import Kind, Limit
from ioplateau.judge.clouds import azure
from ioplateau.judge.clouds.identity import (
    AWS,
    AZURE,
    DATA,
    GCP,
    DiskIdentity,
    Draws,
    Identity,
    Sold,
    SoldDisk,
)
from ioplateau.judge.limits import DiskFact, Target, VmFact, selects, unmatched
from ioplateau.judge.tables import Shelf
from ioplateau.measure.sysblock import BlockDevice

if TYPE_CHECKING:
    from ioplateau.measure.metadata import Document


DMI = "/sys/class/dmi/"

# A machine is of one cloud or of none, so the rules of one are loaded where they are needed.


def _rules(cloud: str) -> ModuleType | None:
    if cloud == AZURE:
        return azure
    if cloud == AWS:
        from ioplateau.judge.clouds import aws

        return aws
    if cloud == GCP:
        from ioplateau.judge.clouds import gcp

        return gcp
    return None


class Facts(NamedTuple):
    """What the configuration says of this machine."""

    vm: VmFact | None = None
    disks: Sequence[DiskFact] = ()


NO_FACTS = Facts()


def detect(files: Mapping[str, str]) -> str:
    """The cloud's name by DMI; empty: none that we know, and nobody is asked anything."""
    if not any(path.startswith(DMI) for path in files):
        return ""
    for name in (AZURE, AWS, GCP):
        rules = _rules(name)
        if rules is not None and rules.detect(files):
            return name
    return ""


def wanted(cloud: str) -> tuple[Document, ...]:
    """The documents to fetch in this cloud."""
    found = _rules(cloud)
    documents: tuple[Document, ...] = found.wanted() if found is not None else ()
    return documents


def identify(
    cloud: str,
    documents: Mapping[str, str],
    devices: Mapping[str, BlockDevice],
    files: Mapping[str, str],
    facts: Facts = NO_FACTS,
) -> Identity:
    """What this machine is, by its cloud and, over that, by its configuration."""
    found = _rules(cloud)
    identity = found.identify(documents, devices, files) if found is not None else Identity(cloud)
    assert isinstance(identity, Identity)
    if facts.vm is not None:
        controller = facts.vm.controller or identity.controller
        identity = identity._replace(vm_size=facts.vm.size, controller=controller)
    disks = dict(identity.disks)
    reasons = [*identity.reasons]
    for fact in facts.disks:
        chosen = [
            name
            for name, device in devices.items()
            if not device.partition_of and selects(fact, target_of(device, disks.get(name)))
        ]
        for name in chosen:
            disk = disks.get(name, DiskIdentity(device=name, role=DATA))
            disks[name] = _with_fact(disk, devices[name], fact)
        if not chosen:
            reasons.append(unmatched(fact, "disk"))
    return identity._replace(disks=disks, reasons=tuple(reasons))


def target_of(device: BlockDevice, disk: DiskIdentity | None) -> Target:
    """What a rule of the configuration may choose a disk by."""
    return Target(
        disks=(device.name, device.mapper_name, disk.name if disk is not None else ""),
        lun=lun_of(device, disk),
        serial=device.serial,
    )


def lun_of(device: BlockDevice, disk: DiskIdentity | None) -> int | None:
    """The LUN by which people know a disk: a data disk's. Azure's OS disk and temporary disk
    have LUNs of their own on other controllers, which nobody means.
    """
    if disk is not None and disk.role != DATA:
        return None
    if disk is not None and disk.lun is not None:
        return disk.lun
    seat = azure.seat(device)
    if seat is not None:
        return seat[1] if seat[0] == DATA else None
    return None if device.scsi_address is None else device.scsi_address[3]


def _with_fact(disk: DiskIdentity, device: BlockDevice, fact: DiskFact) -> DiskIdentity:
    size = fact.size_gib or disk.size_gib
    if size is None and device.size_bytes is not None:
        size = device.size_bytes / azure.GIB
    is_provisioned = fact.iops is not None or fact.bytes_per_second is not None
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
        on_demand_burst=fact.on_demand_burst or disk.on_demand_burst,
        performance_plus=fact.performance_plus or disk.performance_plus,
        configured=(fact.source or "configuration") if is_provisioned else disk.configured,
    )


def sold(identity: Identity, shelf: Shelf) -> Sold:
    """The limits of every lane and disk of the machine, by what it is."""
    cloud = identity.cloud or guess(identity)
    if cloud == AWS:
        return _aws(identity, shelf)
    if cloud == AZURE:
        return _azure(identity, shelf)
    disks = {
        name: SoldDisk(disk, Draws((Kind.VM_UNCACHED, Kind.DISK), (Kind.VM_UNCACHED, Kind.DISK)))
        for name, disk in identity.disks.items()
    }
    return Sold(identity, disks=disks, reasons=identity.reasons)


def guess(identity: Identity) -> str:
    """The cloud of a size that only the configuration names: EC2's have a dot, Azure's none."""
    if identity.vm_size:
        return AWS if "." in identity.vm_size else AZURE
    skus = {disk.sku.lower() for disk in identity.disks.values() if disk.sku}
    if skus & {"gp2", "gp3", "io1", "io2", "io2_block_express", "st1", "sc1", "standard"}:
        return AWS
    return AZURE if skus else ""


def _azure(identity: Identity, shelf: Shelf) -> Sold:
    from ioplateau.judge.catalogue import vm_size
    from ioplateau.judge.clouds import azure_limits

    reasons = list(identity.reasons)
    size = vm_size(shelf, identity.vm_size, identity.controller) if identity.vm_size else None
    if size is None and identity.vm_size:
        reasons.append(f"VM size {identity.vm_size!r} is in no table: the VM's limits are unknown")
    lanes: Mapping[Kind, tuple[Limit, ...]] = {}
    if size is not None:
        lanes = azure_limits.lane_limits(size)
        reasons.extend(filter(None, [azure_limits.too_many(size, identity.disks.values())]))
    disks = {}
    for name, disk in identity.disks.items():
        disks[name], more = azure_limits.sold_disk(disk, size, shelf)
        reasons.extend(more)
    return Sold(identity, lanes, disks, tuple(reasons))


def _aws(identity: Identity, shelf: Shelf) -> Sold:
    from ioplateau.judge.catalogue import instance
    from ioplateau.judge.clouds import aws_limits

    reasons = list(identity.reasons)
    kind = instance(shelf, identity.vm_size) if identity.vm_size else None
    if kind is None and identity.vm_size:
        reasons.append(f"instance type {identity.vm_size!r} is in no table: its limits are unknown")
    disks = {}
    for name, disk in identity.disks.items():
        disks[name], more = aws_limits.sold_disk(disk, shelf)
        reasons.extend(more)
    lanes = {} if kind is None else aws_limits.lane_limits(kind)
    return Sold(identity, lanes, disks, tuple(reasons))
