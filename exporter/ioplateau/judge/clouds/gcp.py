"""Google Cloud: machine type and disks. Its limits are too thinly documented to be used.

https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys. What a disk may do
depends on the sum of the sizes of its type and on limits by machine type that no table here
has, so limits come from the configuration; this tells what the machine is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ioplateau.judge.budgets import Kind
from ioplateau.judge.clouds import loose
from ioplateau.judge.clouds.identity import DATA, GCP, LOCAL, OS, DiskIdentity, Draws, Identity
from ioplateau.measure.sysblock import BlockDevice

if TYPE_CHECKING:
    from ioplateau.measure.metadata import Document

TYPE = "gcp/machine-type"
ZONE = "gcp/zone"
DISKS = "gcp/disks"
GIB = 1 << 30

_ASK = (("Metadata-Flavor", "Google"),)


def detect(files: Mapping[str, str]) -> bool:
    """Whether DMI says that this machine is a Compute Engine VM."""
    product = files.get("/sys/class/dmi/id/product_name", "").strip()
    return product in ("Google Compute Engine", "Google")


def wanted() -> tuple[Document, ...]:
    """The documents that `identify` reads. Not the whole tree: its attributes hold secrets."""
    from ioplateau.measure.metadata import Document

    here = "/computeMetadata/v1/instance"
    return (
        Document(TYPE, f"{here}/machine-type", _ASK),
        Document(ZONE, f"{here}/zone", _ASK),
        Document(DISKS, f"{here}/disks/?recursive=true", _ASK),
    )


def identify(
    documents: Mapping[str, str],
    devices: Mapping[str, BlockDevice],
    files: Mapping[str, str] | None = None,  # noqa: ARG001 - DMI does not tell the machine type
) -> Identity:
    """What this VM is. Whatever the documents hold, this returns."""
    reasons: list[str] = []
    told = _told(documents, reasons)
    disks = {}
    for name, device in devices.items():
        disk = told.get(device.serial) if device.serial else None
        if disk is not None and not device.partition_of:
            disks[name] = DiskIdentity(
                device=name,
                role=disk.role,
                name=disk.name,
                sku=disk.sku,
                size_gib=None if device.size_bytes is None else device.size_bytes / GIB,
            )
    placed = {disk.name for disk in disks.values()}
    return Identity(
        GCP,
        vm_size=_last(documents.get(TYPE, "")),
        region=_last(documents.get(ZONE, "")).rpartition("-")[0],
        disks=disks,
        unplaced=tuple(disk for name, disk in told.items() if name not in placed),
        reasons=tuple(reasons),
    )


def draws(disk: DiskIdentity) -> Draws:
    """Persistent disks share a limit of the VM; local SSDs do not draw on it."""
    if disk.role == LOCAL:
        return Draws((Kind.DISK,), (Kind.DISK,))
    return Draws((Kind.VM_UNCACHED, Kind.DISK), (Kind.VM_UNCACHED, Kind.DISK))


def _told(documents: Mapping[str, str], reasons: list[str]) -> dict[str, DiskIdentity]:
    if DISKS not in documents:
        return {}
    value = loose.document(documents[DISKS])
    if not isinstance(value, list):
        reasons.append(f"{DISKS}: no JSON list in the answer")
        return {}
    told = {}
    for disk in value:
        name = loose.text(disk.get("devicename")) if isinstance(disk, dict) else ""
        if not name:
            reasons.append(f"{DISKS}: a disk without a deviceName: {disk!r:.60}")
            continue
        kind = loose.text(disk.get("type")).lower()
        first = str(disk.get("index", "")) == "0"
        role = LOCAL if kind.startswith("local") else OS if first else DATA
        told[name] = DiskIdentity(role=role, name=name, sku=kind)
    return told


def _last(path: str) -> str:
    # projects/123/machineTypes/n2-standard-4
    return path.strip().rpartition("/")[2]
