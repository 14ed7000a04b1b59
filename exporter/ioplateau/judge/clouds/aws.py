"""AWS: what the instance metadata service tells of an EC2 instance and its volumes.

ec2-instance-metadata.md of amazon-ec2-user-guide. It tells the instance type; it does not tell
what an EBS volume was sold as: that comes from the configuration or stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ioplateau.judge.budgets import Kind
from ioplateau.judge.clouds.identity import AWS, DATA, LOCAL, OS, DiskIdentity, Draws, Identity
from ioplateau.measure.metadata import Document, Token
from ioplateau.measure.sysblock import BlockDevice

TYPE = "aws/instance-type"
REGION = "aws/placement/region"
MAPPING = "aws/block-device-mapping"

EBS_MODEL = "Amazon Elastic Block Store"
LOCAL_MODEL = "Amazon EC2 NVMe Instance Storage"
TOKEN = Token(
    "/latest/api/token",
    (("X-aws-ec2-metadata-token-ttl-seconds", "21600"),),
    "X-aws-ec2-metadata-token",
)
GIB = 1 << 30

_INSTANCE_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_VOLUME = re.compile(r"vol-?([0-9a-f]{8,17})", re.IGNORECASE)


def detect(files: Mapping[str, str]) -> bool:
    """Whether DMI says that this machine is an EC2 instance: Nitro by vendor, Xen by BIOS."""
    vendors = ("sys_vendor", "board_vendor", "bios_vendor", "chassis_asset_tag")
    return any(_dmi(files, name) == "Amazon EC2" for name in vendors) or (
        "amazon" in _dmi(files, "bios_version").lower()
    )


def wanted() -> tuple[Document, ...]:
    """The documents that `identify` reads."""
    return (
        Document(TYPE, "/latest/meta-data/instance-type", token=TOKEN),
        Document(REGION, "/latest/meta-data/placement/region", token=TOKEN),
        Document(MAPPING, "/latest/meta-data/block-device-mapping/", token=TOKEN, is_listing=True),
    )


def identify(
    documents: Mapping[str, str],
    devices: Mapping[str, BlockDevice],
    files: Mapping[str, str] | None = None,
) -> Identity:
    """What this instance is. Whatever the documents hold, this returns."""
    reasons: list[str] = []
    root = _root(documents)
    disks = {}
    for name, device in devices.items():
        disk = None if device.partition_of else _disk(name, device, root)
        if disk is not None:
            disks[name] = disk
    return Identity(
        AWS,
        vm_size=_instance_type(documents, files or {}, reasons),
        region=documents.get(REGION, "").strip()[:40],
        controller="NVMe" if any(is_ebs(device) for device in devices.values()) else "",
        disks=disks,
        reasons=tuple(reasons),
    )


def draws(disk: DiskIdentity) -> Draws:
    """Every EBS volume draws on the instance's EBS limit; instance storage on nothing else."""
    if disk.role == LOCAL:
        return Draws((Kind.DISK,), (Kind.DISK,))
    return Draws((Kind.VM_UNCACHED, Kind.DISK), (Kind.VM_UNCACHED, Kind.DISK))


def is_ebs(device: BlockDevice) -> bool:
    """Whether it is a Nitro volume, which counts exceeded time itself (measure.ebs)."""
    return device.model.startswith(EBS_MODEL)


def volume_id(serial: str) -> str:
    """The volume's id, of which a Nitro device's serial number lacks the dash; "": it is none."""
    found = _VOLUME.fullmatch(serial.strip())
    return f"vol-{found[1].lower()}" if found else ""


def _instance_type(
    documents: Mapping[str, str], files: Mapping[str, str], reasons: list[str]
) -> str:
    told = documents.get(TYPE, "").strip()
    if told and not _INSTANCE_TYPE.fullmatch(told):
        reasons.append(f"{TYPE}: {told!r:.60} is no instance type")
        told = ""
    # On Nitro the product name is the instance type, also where the service is shut off.
    product = _dmi(files, "product_name")
    return told or (product if _INSTANCE_TYPE.fullmatch(product) else "")


def _root(documents: Mapping[str, str]) -> str:
    """Kernel name of the root disk on Xen: "/dev/xvda", or "/dev/sda1" for xvda."""
    told = documents.get(f"{MAPPING}/root", "").strip().removeprefix("/dev/")
    letter = re.fullmatch(r"(?:xvd|sd|hd)([a-z]+)\d*", told)
    return f"xvd{letter[1]}" if letter else ""


def _disk(name: str, device: BlockDevice, root: str) -> DiskIdentity | None:
    size = None if device.size_bytes is None else device.size_bytes / GIB
    if device.model.startswith(LOCAL_MODEL):
        return DiskIdentity(device=name, role=LOCAL, size_gib=size)
    if is_ebs(device):
        return DiskIdentity(device=name, role=DATA, name=volume_id(device.serial), size_gib=size)
    if name.startswith("xvd"):
        return DiskIdentity(device=name, role=OS if name == root else DATA, size_gib=size)
    return None


def _dmi(files: Mapping[str, str], name: str) -> str:
    return files.get(f"/sys/class/dmi/id/{name}", "").strip()
