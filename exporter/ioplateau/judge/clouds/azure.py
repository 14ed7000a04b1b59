"""Azure: what the Instance Metadata Service tells of this VM, and which lane an I/O counts on.

https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service; lanes:
disks-performance.md of azure-compute-docs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ioplateau.judge.budgets import Kind
from ioplateau.judge.clouds import loose
from ioplateau.judge.clouds.identity import (
    AZURE,
    DATA,
    LOCAL,
    OS,
    TEMPORARY,
    DiskIdentity,
    Draws,
    Identity,
)
from ioplateau.measure.sysblock import BlockDevice

if TYPE_CHECKING:
    from ioplateau.measure.metadata import Document

INSTANCE = "azure/instance"
# Every Azure VM carries this tag, and no other Hyper-V machine does (as cloud-init's ds-identify).
ASSET_TAG = "7783-7084-3265-9085-8269-3286-77"
# The oldest version that has the throttle fields: a host may be older than we are.
API_VERSION = "2021-05-01"

HYPERV_VENDOR = "Msft"
REMOTE_NVME = "MSFT NVMe Accelerator"
LOCAL_NVME = "Microsoft NVMe Direct Disk"
# Second group of the vmbus device_id, Gen1: 0000 OS disk, 0001 temporary disk.
_GEN1 = re.compile(r"\{00000000-000([01])-", re.IGNORECASE)
# Gen2 and data controllers: a is the fixed disks', b, c and d are scsi1 to scsi3.
_GEN2 = re.compile(r"\{f8b3781([a-d])-1e82-4818-a1c3-63d806ec15bb\}", re.IGNORECASE)
GIB = 1 << 30

Key = tuple[str, int]  # role and LUN


def detect(files: Mapping[str, str]) -> bool:
    """Whether DMI says that this machine is an Azure VM."""
    return files.get("/sys/class/dmi/id/chassis_asset_tag", "").strip() == ASSET_TAG


def wanted() -> tuple[Document, ...]:
    """The documents that `identify` reads."""
    from ioplateau.measure.metadata import Document

    return (
        Document(
            INSTANCE,
            f"/metadata/instance?api-version={API_VERSION}",
            (("Metadata", "true"),),
            keep=essence,
        ),
    )


def essence(text: str) -> str:
    """The document without what is not ours to keep: tags, user data, keys, names of people."""
    compute = loose.mapping(loose.document(text), "compute")
    kept = {
        name: compute[name] for name in ("vmsize", "location", "storageprofile") if name in compute
    }
    profile = loose.mapping(kept, "storageprofile")
    if profile:
        profile.pop("imagereference", None)
        for disk in (profile.get("osdisk"), *loose.items(profile.get("datadisks"))):
            if isinstance(disk, dict):
                for name in ("encryptionsettings", "vhd", "image"):
                    disk.pop(name, None)
                loose.mapping(disk, "manageddisk").pop("id", None)
    return json.dumps({"compute": kept}, separators=(",", ":"), sort_keys=True)


def identify(
    documents: Mapping[str, str],
    devices: Mapping[str, BlockDevice],
    files: Mapping[str, str] | None = None,  # noqa: ARG001 - DMI does not tell Azure's sizes
) -> Identity:
    """What this VM is. Whatever the document holds, this returns."""
    reasons: list[str] = []
    compute: dict[str, Any] = {}
    if INSTANCE in documents:
        whole = loose.document(documents[INSTANCE])
        compute = loose.mapping(whole, "compute")
        if not compute:
            reasons.append('azure/instance: no JSON object "compute" in the answer')
    told = _told(loose.mapping(compute, "storageprofile"), reasons)
    seats = _seats(devices, told, reasons)
    disks, unplaced = _place(told, seats, devices, reasons)
    disks |= {name: disk for name, disk in _untold(seats, devices).items() if name not in disks}
    return Identity(
        AZURE,
        vm_size=loose.text(compute.get("vmsize")),
        region=loose.text(compute.get("location")),
        controller=_controller(devices),
        disks=disks,
        unplaced=tuple(unplaced),
        reasons=tuple(reasons),
    )


def draws(disk: DiskIdentity, *, has_ultra_lane: bool = False) -> Draws:
    """Which lanes and limits an I/O of this disk counts on."""
    if disk.role == LOCAL:
        return Draws((Kind.DISK,), (Kind.DISK,))
    if disk.role == TEMPORARY:
        return Draws((Kind.VM_CACHED, Kind.DISK), (Kind.VM_CACHED, Kind.DISK))
    if disk.is_ephemeral:
        # On the host's cache or temporary storage: no remote disk behind it.
        return Draws((Kind.VM_CACHED,), (Kind.VM_CACHED,))
    far = (_lane(disk.sku, has_ultra_lane=has_ultra_lane), Kind.DISK)
    caching = "none" if is_uncacheable(disk.sku) else disk.caching.lower()
    through = (Kind.VM_CACHED, *far)
    if caching == "readonly":
        return Draws(through, through, read_hit=(Kind.VM_CACHED,))
    if caching == "readwrite":
        return Draws(through, (Kind.VM_CACHED,), read_hit=(Kind.VM_CACHED,), write_later=far)
    return Draws(far, far)


def seat(device: BlockDevice) -> Key | None:
    """Role and LUN that the kernel alone tells; None: not one of Azure's disks."""
    return _nvme_seat(device) or _scsi_seat(device)


def is_uncacheable(sku: str) -> bool:
    """Ultra and Premium SSD v2 disks have no host cache, whatever a document says."""
    return sku.lower().startswith(("ultrassd", "premiumv2"))


def _lane(sku: str, *, has_ultra_lane: bool) -> Kind:
    return Kind.VM_ULTRA if has_ultra_lane and is_uncacheable(sku) else Kind.VM_UNCACHED


def _told(profile: Mapping[str, Any], reasons: list[str]) -> list[DiskIdentity]:
    """The disks the document knows, sound or not."""
    told = []
    if isinstance(profile.get("osdisk"), dict):
        told.append(_os_disk(profile["osdisk"], reasons))
    for position, disk in enumerate(loose.items(profile.get("datadisks"))):
        if not isinstance(disk, dict):
            reasons.append(f"azure/instance: data disk {position} is no object: {disk!r:.60}")
            continue
        told.append(_data_disk(disk, position, reasons))
    return told


def _os_disk(disk: Mapping[str, Any], reasons: list[str]) -> DiskIdentity:
    local = loose.text(loose.mapping(disk, "diffdisksettings").get("option")).lower() == "local"
    return _disk(disk, "OS disk", reasons)._replace(role=OS, lun=0, is_ephemeral=local)


def _data_disk(disk: Mapping[str, Any], position: int, reasons: list[str]) -> DiskIdentity:
    what = f"data disk {loose.text(disk.get('name')) or position}"
    lun = loose.number(disk, "lun", f"azure/instance: {what}", reasons)
    if lun is None or lun < 0 or lun != int(lun):
        reasons.append(f"azure/instance: {what} has no LUN, so its device is not known")
        return _disk(disk, what, reasons)._replace(role=DATA)
    return _disk(disk, what, reasons)._replace(role=DATA, lun=int(lun))


def _disk(disk: Mapping[str, Any], what: str, reasons: list[str]) -> DiskIdentity:
    size = loose.number(
        disk, "disksizegb", f"azure/instance: {what}", reasons
    )  # GiB, whatever the name says
    exact = loose.number(disk, "diskcapacitybytes", f"azure/instance: {what}", reasons)
    return DiskIdentity(
        name=loose.text(disk.get("name")),
        sku=loose.text(loose.mapping(disk, "manageddisk").get("storageaccounttype")),
        size_gib=size if size is not None else (None if exact is None else exact / GIB),
        caching=loose.text(disk.get("caching")),
        iops=loose.number(disk, "opspersecondthrottle", f"azure/instance: {what}", reasons),
        bytes_per_second=loose.number(
            disk, "bytespersecondthrottle", f"azure/instance: {what}", reasons
        ),
        write_accelerator=loose.boolean(disk.get("writeacceleratorenabled")),
    )


def _seats(
    devices: Mapping[str, BlockDevice], told: Iterable[DiskIdentity], reasons: list[str]
) -> dict[str, Key]:
    """Role and LUN of every device whose place the kernel tells."""
    seats: dict[str, Key] = {}
    for name, device in devices.items():
        place = seat(device) or _likely_seat(device, devices, told)
        if place is not None and not device.partition_of:
            seats[name] = place
    for place, names in _by_seat(seats).items():
        # Several controllers may offer a LUN; IMDS means the first (scsi1).
        first, *others = sorted(names, key=lambda name: (devices[name].controller.lower(), name))
        for other in others:
            reasons.append(
                f"{other}: {first} has LUN {place[1]} already; not known which disk this is"
            )
            del seats[other]
    return seats


def _by_seat(seats: Mapping[str, Key]) -> dict[Key, list[str]]:
    by_seat: dict[Key, list[str]] = {}
    for name, seat in seats.items():
        if seat[0] in (OS, DATA):
            by_seat.setdefault(seat, []).append(name)
    return by_seat


def _nvme_seat(device: BlockDevice) -> Key | None:
    if device.model.startswith(LOCAL_NVME):
        return LOCAL, -1
    namespace = device.nvme_namespace
    if not device.model.startswith(REMOTE_NVME) or namespace is None or namespace < 1:
        return None
    # One controller for all: namespace 1 is the OS disk, n is LUN n - 2.
    return (OS, 0) if namespace == 1 else (DATA, namespace - 2)


def _scsi_seat(device: BlockDevice) -> Key | None:
    if device.scsi_address is None:
        return None
    lun = device.scsi_address[3]
    if gen1 := _GEN1.match(device.controller):
        return (OS, 0) if gen1[1] == "0" else (TEMPORARY, -1)
    gen2 = _GEN2.match(device.controller)
    if gen2 is None:
        return None
    if gen2[1].lower() != "a":
        return DATA, lun
    return {0: (OS, 0), 1: (TEMPORARY, -1)}.get(lun)


def _likely_seat(
    device: BlockDevice, devices: Mapping[str, BlockDevice], told: Iterable[DiskIdentity]
) -> Key | None:
    """Where sysfs names no controller: the one data disk with this LUN and this very size."""
    if device.vendor != HYPERV_VENDOR or device.controller or device.scsi_address is None:
        return None
    lun, size = device.scsi_address[3], _gib(device)
    is_told = any((disk.role, disk.lun, disk.size_gib) == (DATA, lun, size) for disk in told)
    twins = [
        other
        for other in devices.values()
        if other.scsi_address is not None
        and (other.scsi_address[3], other.size_bytes) == (lun, device.size_bytes)
    ]
    return (DATA, lun) if is_told and len(twins) == 1 else None


def _place(
    told: Iterable[DiskIdentity],
    seats: Mapping[str, Key],
    devices: Mapping[str, BlockDevice],
    reasons: list[str],
) -> tuple[dict[str, DiskIdentity], list[DiskIdentity]]:
    """Told disks to kernel devices."""
    told = list(told)
    device_at = {seat: name for name, seat in seats.items() if seat[0] in (OS, DATA)}
    wanted_by: dict[Key, list[DiskIdentity]] = {}
    for disk in told:
        if disk.lun is not None:
            wanted_by.setdefault((disk.role, disk.lun), []).append(disk)
    placed: dict[str, DiskIdentity] = {}
    for seat, disks in wanted_by.items():
        if len(disks) > 1:
            names = " and ".join(disk.name or "a disk without a name" for disk in disks)
            reasons.append(f"azure/instance: {names} have one LUN, {seat[1]}: neither is placed")
        elif seat in device_at:
            name = device_at[seat]
            size = disks[0].size_gib or _gib(devices[name])
            placed[name] = disks[0]._replace(device=name, size_gib=size)
        elif devices:
            what = "the OS disk" if seat[0] == OS else f"LUN {seat[1]} ({disks[0].name})"
            reasons.append(f"azure/instance: no block device is {what}")
    at_home = {(disk.role, disk.lun) for disk in placed.values()}
    return placed, [
        disk for disk in told if disk.lun is None or (disk.role, disk.lun) not in at_home
    ]


def _untold(
    seats: Mapping[str, Key], devices: Mapping[str, BlockDevice]
) -> dict[str, DiskIdentity]:
    """Devices whose role the kernel tells and of which the document says nothing."""
    return {
        name: DiskIdentity(
            device=name,
            role=role,
            size_gib=_gib(devices[name]),
            lun=lun if role in (OS, DATA) else None,
        )
        for name, (role, lun) in seats.items()
    }


def _controller(devices: Mapping[str, BlockDevice]) -> str:
    if any(device.model.startswith(REMOTE_NVME) for device in devices.values()):
        return "NVMe"
    return "SCSI" if any(_scsi_seat(device) for device in devices.values()) else ""


def _gib(device: BlockDevice) -> float | None:
    return None if device.size_bytes is None else device.size_bytes / GIB
