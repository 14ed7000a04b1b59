"""What Azure's Instance Metadata Service tells of this VM, and which kernel device is which disk.

https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ioplateau.limits.clouds import lenientjson
from ioplateau.limits.clouds.azure.attachments import attachment as attachment_of
from ioplateau.limits.clouds.azure.attachments import controller
from ioplateau.limits.clouds.identity import DATA, OS, DiskIdentity, Identity
from ioplateau.limits.clouds.protocol import Attachment
from ioplateau.limits.units import GIB
from ioplateau.measure.sysblock import BlockDevice

if TYPE_CHECKING:
    from ioplateau.measure.metadata import Document

INSTANCE = "azure/instance"
# The oldest version that has the throttle fields: a host may be older than we are.
API_VERSION = "2021-05-01"

HYPERV_VENDOR = "Msft"


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
    """The document without what is not ours to keep: tags, user data, keys, names of people.
    Raises ValueError for one that does not describe a VM.
    """
    compute = lenientjson.mapping(lenientjson.document(text), "compute")
    profile = lenientjson.mapping(compute, "storageprofile")
    disks = [
        disk
        for disk in (profile.get("osdisk"), *lenientjson.items(profile.get("datadisks")))
        if isinstance(disk, dict)
    ]
    size = lenientjson.text(compute.get("vmsize"))
    is_sized = size and isinstance(compute.get("storageprofile"), dict)
    # Disks alone are of a VM too, of which then only the size is unknown.
    if not is_sized and not any(disks):
        raise ValueError("no JSON object with compute.vmSize and compute.storageProfile")
    profile.pop("imagereference", None)
    for disk in disks:
        for name in ("encryptionsettings", "vhd", "image"):
            disk.pop(name, None)
        lenientjson.mapping(disk, "manageddisk").pop("id", None)
    essential = {name: compute[name] for name in ("location", "storageprofile") if name in compute}
    return json.dumps(
        {"compute": {"vmsize": size, **essential}}, separators=(",", ":"), sort_keys=True
    )


def identify(
    documents: Mapping[str, str],
    devices: Mapping[str, BlockDevice],
) -> Identity:
    """What this VM is. Whatever the document holds, this returns."""
    reasons: list[str] = []
    compute: dict[str, Any] = {}
    if INSTANCE in documents:
        whole = lenientjson.document(documents[INSTANCE])
        compute = lenientjson.mapping(whole, "compute")
        if not compute:
            reasons.append('azure/instance: no JSON object "compute" in the answer')
        elif not lenientjson.text(compute.get("vmsize")):
            reasons.append("azure/instance: no vmSize in the answer")
    documented = _documented(lenientjson.mapping(compute, "storageprofile"), reasons)
    attachments = _attachments(devices, documented, reasons)
    disks, unplaced = _place(documented, attachments, devices, reasons)
    disks |= {
        name: disk
        for name, disk in _undocumented(attachments, devices).items()
        if name not in disks
    }
    return Identity(
        "azure",
        vm_size=lenientjson.text(compute.get("vmsize")),
        region=lenientjson.text(compute.get("location")),
        controller=controller(devices),
        disks=disks,
        unplaced=tuple(unplaced),
        reasons=tuple(reasons),
    )


def _documented(profile: Mapping[str, Any], reasons: list[str]) -> list[DiskIdentity]:
    """The disks the document knows, sound or not."""
    documented = []
    if isinstance(profile.get("osdisk"), dict):
        documented.append(_os_disk(profile["osdisk"], reasons))
    for position, disk in enumerate(lenientjson.items(profile.get("datadisks"))):
        if not isinstance(disk, dict):
            reasons.append(f"azure/instance: data disk {position} is no object: {disk!r:.60}")
            continue
        documented.append(_data_disk(disk, position, reasons))
    return documented


def _os_disk(disk: Mapping[str, Any], reasons: list[str]) -> DiskIdentity:
    local = (
        lenientjson.text(lenientjson.mapping(disk, "diffdisksettings").get("option")).lower()
        == "local"
    )
    return _disk(disk, "OS disk", reasons)._replace(role=OS, lun=0, is_ephemeral=local)


def _data_disk(disk: Mapping[str, Any], position: int, reasons: list[str]) -> DiskIdentity:
    what = f"data disk {lenientjson.text(disk.get('name')) or position}"
    lun = lenientjson.number(disk, "lun", f"azure/instance: {what}", reasons)
    if lun is None or lun < 0 or lun != int(lun):
        reasons.append(f"azure/instance: {what} has no LUN, so its device is not known")
        return _disk(disk, what, reasons)._replace(role=DATA)
    return _disk(disk, what, reasons)._replace(role=DATA, lun=int(lun))


def _disk(disk: Mapping[str, Any], what: str, reasons: list[str]) -> DiskIdentity:
    size = lenientjson.number(
        disk, "disksizegb", f"azure/instance: {what}", reasons
    )  # GiB, whatever the name says
    exact = lenientjson.number(disk, "diskcapacitybytes", f"azure/instance: {what}", reasons)
    iops, data = (
        lenientjson.number(disk, name, f"azure/instance: {what}", reasons)
        for name in ("opspersecondthrottle", "bytespersecondthrottle")
    )
    return DiskIdentity(
        name=lenientjson.text(disk.get("name")),
        sku=lenientjson.text(lenientjson.mapping(disk, "manageddisk").get("storageaccounttype")),
        size_gib=size if size is not None else (None if exact is None else exact / GIB),
        caching=lenientjson.text(disk.get("caching")),
        # Where nothing was provisioned no value is told, or 0.
        iops=iops or None,
        bytes_per_second=data or None,
        is_shared=lenientjson.boolean(disk.get("isshareddisk")) is True,
        is_write_accelerated=lenientjson.boolean(disk.get("writeacceleratorenabled")) is True,
    )


def _attachments(
    devices: Mapping[str, BlockDevice], documented: Iterable[DiskIdentity], reasons: list[str]
) -> dict[str, Attachment]:
    """Role and LUN of every device whose place the kernel tells."""
    attachments: dict[str, Attachment] = {}
    for name, device in devices.items():
        place = attachment_of(device) or _likely_attachment(device, devices, documented)
        if place is not None and not device.partition_of:
            attachments[name] = place
    for place, names in _by_attachment(attachments).items():
        # Several controllers may offer a LUN; IMDS means the first (scsi1).
        first, *others = sorted(names, key=lambda name: (devices[name].controller.lower(), name))
        for other in others:
            reasons.append(
                f"{other}: {first} has LUN {place[1]} already; not known which disk this is"
            )
            del attachments[other]
    return attachments


def _by_attachment(attachments: Mapping[str, Attachment]) -> dict[Attachment, list[str]]:
    by_attachment: dict[Attachment, list[str]] = {}
    for name, attachment in attachments.items():
        if attachment[0] in (OS, DATA):
            by_attachment.setdefault(attachment, []).append(name)
    return by_attachment


def _likely_attachment(
    device: BlockDevice, devices: Mapping[str, BlockDevice], documented: Iterable[DiskIdentity]
) -> Attachment | None:
    """Where sysfs names no controller: the one data disk with this LUN and this very size."""
    if device.vendor != HYPERV_VENDOR or device.controller or device.scsi_address is None:
        return None
    lun, size = device.scsi_address[3], _gib(device)
    is_documented = any(
        (disk.role, disk.lun, disk.size_gib) == (DATA, lun, size) for disk in documented
    )
    twins = [
        other
        for other in devices.values()
        if other.scsi_address is not None
        and (other.scsi_address[3], other.size_bytes) == (lun, device.size_bytes)
    ]
    return (DATA, lun) if is_documented and len(twins) == 1 else None


def _place(
    documented: Iterable[DiskIdentity],
    attachments: Mapping[str, Attachment],
    devices: Mapping[str, BlockDevice],
    reasons: list[str],
) -> tuple[dict[str, DiskIdentity], list[DiskIdentity]]:
    """Told disks to kernel devices."""
    documented = list(documented)
    device_at = {
        attachment: name for name, attachment in attachments.items() if attachment[0] in (OS, DATA)
    }
    wanted_by: dict[Attachment, list[DiskIdentity]] = {}
    for disk in documented:
        if disk.lun is not None:
            wanted_by.setdefault((disk.role, disk.lun), []).append(disk)
    placed: dict[str, DiskIdentity] = {}
    for attachment, disks in wanted_by.items():
        if len(disks) > 1:
            names = " and ".join(disk.name or "a disk without a name" for disk in disks)
            reasons.append(
                f"azure/instance: {names} have one LUN, {attachment[1]}: neither is placed"
            )
        elif attachment in device_at:
            name = device_at[attachment]
            size = _gib(devices[name])
            reasons.extend(_resized(name, size, disks[0].size_gib))
            placed[name] = disks[0]._replace(device=name, size_gib=disks[0].size_gib or size)
        elif devices:
            what = (
                "the OS disk" if attachment[0] == OS else f"LUN {attachment[1]} ({disks[0].name})"
            )
            reasons.append(f"azure/instance: no block device is {what}")
    at_home = {(disk.role, disk.lun) for disk in placed.values()}
    return placed, [
        disk for disk in documented if disk.lun is None or (disk.role, disk.lun) not in at_home
    ]


def _resized(name: str, size_gib: float | None, told_gib: float | None) -> Iterator[str]:
    """A word of a disk with two sizes: enlarged and not rescanned, or another than the one told of.

    A told size is in whole GiB.
    """
    if size_gib is not None and told_gib is not None and abs(size_gib - told_gib) >= 1:
        yield (
            f"{name}: {size_gib:g} GiB to the kernel and {told_gib:g} GiB to Azure, whose size decides "
            "its limits: it was enlarged and not rescanned, or swapped in the last minutes"
        )


def _undocumented(
    attachments: Mapping[str, Attachment], devices: Mapping[str, BlockDevice]
) -> dict[str, DiskIdentity]:
    """Devices whose role the kernel tells and of which the document says nothing."""
    return {
        name: DiskIdentity(
            device=name,
            role=role,
            size_gib=_gib(devices[name]),
            lun=lun if role in (OS, DATA) else None,
        )
        for name, (role, lun) in attachments.items()
    }


def _gib(device: BlockDevice) -> float | None:
    return None if device.size_bytes is None else device.size_bytes / GIB
