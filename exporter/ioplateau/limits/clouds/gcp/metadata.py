"""What Google Cloud's metadata service tells: machine type and disks.

https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ioplateau.limits.clouds import lenientjson
from ioplateau.limits.clouds.identity import DATA, LOCAL, OS, DiskIdentity, Identity
from ioplateau.limits.units import GIB
from ioplateau.measure.sysblock import GOOGLE_NVME, BlockDevice

if TYPE_CHECKING:
    from ioplateau.measure.metadata import Document

TYPE = "gcp/machine-type"
ZONE = "gcp/zone"
DISKS = "gcp/disks"
# Local SSDs are "nvme_card" or "nvme_card0" (udev's 65-gce-disk-naming), persistent disks and Hyperdisks:
NVME_REMOTE, NVME_LOCAL = GOOGLE_NVME, "nvme_card"

_TYPE = re.compile(r"projects/[\w.:-]+/machineTypes/[\w-]+", re.ASCII)
_ZONE = re.compile(r"projects/[\w.:-]+/zones/[\w-]+", re.ASCII)
_ASK = (("Metadata-Flavor", "Google"),)


def wanted() -> tuple[Document, ...]:
    """The documents that `identify` reads. Not the whole tree: its attributes hold secrets."""
    from ioplateau.measure.metadata import Document, only

    here = "/computeMetadata/v1/instance"
    return (
        Document(TYPE, f"{here}/machine-type", _ASK, keep=only(_TYPE, "a machine type")),
        Document(ZONE, f"{here}/zone", _ASK, keep=only(_ZONE, "a zone")),
        Document(DISKS, f"{here}/disks/?recursive=true", _ASK, keep=_only_a_list),
    )


def _only_a_list(text: str) -> str:
    value = lenientjson.document(text)
    if value is None or value != lenientjson.items(value):
        raise ValueError(f"{text[:60]!r}, want a JSON list")
    return text


def identify(documents: Mapping[str, str], devices: Mapping[str, BlockDevice]) -> Identity:
    """What this VM is. Whatever the documents hold, this returns."""
    reasons: list[str] = []
    documented = _documented(documents, reasons)
    whole = {name: device for name, device in devices.items() if not device.partition_of}
    alike = _on_nvme(documented, whole.values(), reasons)
    disks = {}
    for name, device in whole.items():
        disk = documented.get(device.serial) or _by_model(device, alike)
        if disk is not None:
            size = None if device.size_bytes is None else device.size_bytes / GIB
            disks[name] = disk._replace(device=name, size_gib=size)
    placed = {disk.name for disk in disks.values() if disk.name}
    unnamed = sum(1 for disk in disks.values() if not disk.name)
    unplaced = [disk for name, disk in documented.items() if name not in placed]
    if alike and any(not disk.sku for disk in disks.values() if not disk.name):
        reasons.append(
            "NVMe disks of several types: neither the kernel nor udev (with the rules and nvme-cli of "
            "Google's images) tells which is which, say [[disk]] disk and sku"
        )
    return Identity(
        "gcp",
        vm_size=_last(documents.get(TYPE, "")),
        region=_last(documents.get(ZONE, "")).rpartition("-")[0],
        controller="NVMe"
        if any(one.model.startswith(NVME_LOCAL) for one in whole.values())
        else "",
        disks=disks,
        unplaced=tuple(unplaced[unnamed:]),
        reasons=tuple(reasons),
    )


def _on_nvme(
    documented: Mapping[str, DiskIdentity], devices: Collection[BlockDevice], reasons: list[str]
) -> Sequence[DiskIdentity]:
    """What the disks on NVMe were sold as, in no order; empty: not of all of them is that told."""
    serials = {device.serial for device in devices}
    alike = [
        disk for name, disk in documented.items() if disk.role != LOCAL and name not in serials
    ]
    count = sum(
        device.model.startswith(NVME_REMOTE) and device.serial not in documented
        for device in devices
    )
    if count <= len(alike):
        return alike
    # The one that was just attached may be of any type, and nobody tells which one it is.
    reasons.append(
        f"{DISKS}: tells the types of {len(alike)} of {count} NVMe disks, and not which these are: "
        "until it tells all, say [[disk]] disk and sku"
    )
    return ()


def _by_model(device: BlockDevice, alike: Sequence[DiskIdentity]) -> DiskIdentity | None:
    """A disk on NVMe that udev does not name: the model tells local SSDs from the others, and where
    all of those, `alike`, are of one type, that is its type.
    """
    if not device.model.startswith(NVME_REMOTE):
        is_local = device.model.startswith(NVME_LOCAL)
        return DiskIdentity(role=LOCAL, sku="local-ssd-nvme") if is_local else None
    if len(alike) == 1:
        return alike[0]
    types = {disk.sku for disk in alike}
    return DiskIdentity(role=DATA, sku=types.pop() if len(types) == 1 else "")


def _documented(documents: Mapping[str, str], reasons: list[str]) -> dict[str, DiskIdentity]:
    if DISKS not in documents:
        return {}
    value = lenientjson.document(documents[DISKS])
    if not isinstance(value, list):
        reasons.append(f"{DISKS}: no JSON list in the answer")
        return {}
    documented = {}
    for disk in value:
        name = lenientjson.text(disk.get("devicename")) if isinstance(disk, dict) else ""
        if not name:
            reasons.append(f"{DISKS}: a disk without a deviceName: {disk!r:.60}")
            continue
        sku = _sku(lenientjson.text(disk.get("type")), lenientjson.text(disk.get("interface")))
        first = str(disk.get("index", "")) == "0"
        role = LOCAL if sku.startswith("local") else OS if first else DATA
        if not sku:
            reasons.append(
                f"{name}: type {disk.get('type')!r:.40} does not say which disk it is: "
                f'say [[disk]] disk = "{name}" and sku'
            )
        documented[name] = DiskIdentity(role=role, name=name, sku=sku)
    return documented


def _sku(kind: str, interface: str) -> str:
    """The disk type's API name for the metadata's: PERSISTENT-SSD is pd-ssd."""
    kind = kind.lower()
    if kind in ("local-ssd", "scratch"):
        return f"local-ssd-{'nvme' if interface.lower() == 'nvme' else 'scsi'}"
    rest = kind.removeprefix("persistent-")
    if rest.startswith("hyperdisk-"):
        return rest
    return f"pd-{rest}" if rest in ("standard", "balanced", "ssd", "extreme") else ""


def _last(path: str) -> str:
    # projects/123/machineTypes/n2-standard-4
    return path.strip().rpartition("/")[2]
