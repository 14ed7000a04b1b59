"""AWS: what the instance metadata service tells of an EC2 instance and its volumes.

ec2-instance-metadata.md of amazon-ec2-user-guide. It tells the instance type; it does not tell
what an EBS volume was sold as: that comes from the configuration, from `volumes`, or stays unknown.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-metadata.html
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from ioplateau.limits.clouds.aws import is_ebs, is_instance_store, volumes
from ioplateau.limits.clouds.identity import DATA, LOCAL, OS, DiskIdentity, Identity
from ioplateau.limits.units import GIB, MIB
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.metadata import Document, Token, only
from ioplateau.measure.sysblock import BlockDevice

TYPE = "aws/instance-type"
INSTANCE = "aws/instance-id"
REGION = "aws/placement/region"
MAPPING = "aws/block-device-mapping"

TOKEN = Token(
    "/latest/api/token",
    (("X-aws-ec2-metadata-token-ttl-seconds", "21600"),),
    "X-aws-ec2-metadata-token",
)

_NOBODY = volumes.EbsVolumes()

_INSTANCE_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_INSTANCE = re.compile(r"i-[0-9a-f]+")
_REGION = re.compile(r"[a-z]+(-[a-z]+)+-\d+")
_DEVICES = re.compile(r"[\w./-]+(\s+[\w./-]+)*", re.ASCII)
_VOLUME = re.compile(r"vol-?([0-9a-f]{8,17})", re.IGNORECASE)


def wanted() -> tuple[Document, ...]:
    """The documents that `identify` reads."""
    here = "/latest/meta-data"
    return (
        Document(
            TYPE,
            f"{here}/instance-type",
            token=TOKEN,
            keep=only(_INSTANCE_TYPE, "an instance type"),
        ),
        Document(
            INSTANCE, f"{here}/instance-id", token=TOKEN, keep=only(_INSTANCE, "an instance's id")
        ),
        Document(REGION, f"{here}/placement/region", token=TOKEN, keep=only(_REGION, "a region")),
        Document(
            MAPPING,
            f"{here}/block-device-mapping/",
            token=TOKEN,
            keep=only(_DEVICES, "names of devices"),
            is_listing=True,
        ),
    )


def identify(
    documents: Mapping[str, str],
    devices: Mapping[str, BlockDevice],
    files: Mapping[str, str] = NO_ENTRIES,
) -> Identity:
    """What this instance is. Whatever the documents hold, this returns."""
    reasons: list[str] = []
    root, local = _root(documents), _instance_store(documents)
    sold = (
        volumes.read(documents[volumes.VOLUMES], reasons)
        if volumes.VOLUMES in documents
        else _NOBODY
    )
    instance = documents.get(INSTANCE, "").strip()
    disks = {}
    for name, device in devices.items():
        disk = None if device.partition_of else _disk(name, device, root, local)
        if disk is not None:
            disks[name] = _with_type(disk, sold, instance)
    on_xen = [name for name, disk in disks.items() if disk.role != LOCAL and name.startswith("xvd")]
    if on_xen and sold.source and not instance:
        reasons.append(
            f"{INSTANCE}: not told, so it is not known which volumes of {sold.source} "
            f"are {', '.join(on_xen)}"
        )
    return Identity(
        "aws",
        vm_size=_instance_type(documents, files, reasons),
        region=documents.get(REGION, "").strip()[:40],
        controller="NVMe" if any(is_ebs(device) for device in devices.values()) else "",
        disks=disks,
        reasons=tuple(reasons),
    )


def _attached(volume: volumes.EbsVolume | volumes.UnusableVolume, instance: str) -> str:
    """As what kernel name on Xen a volume is attached to this instance; "": it is not, or nobody told the id."""
    return _xen(volume.devices.get(instance, "")) if instance else ""


def _with_type(disk: DiskIdentity, sold: volumes.EbsVolumes, instance: str) -> DiskIdentity:
    """What a volume was sold as: by its id, or on Xen by the device it was attached as."""
    found = sold.volumes.get(disk.name)
    if found is None and disk.device:
        here = (each for each in sold.volumes.values() if _attached(each, instance) == disk.device)
        found = next(here, None)
    if found is None:
        return disk._replace(untold=_untold(disk, sold, instance))
    # What gp2 and hard disks do follows from their size; the API's figure is that and no more.
    is_set = found.kind in volumes.PROVISIONED
    mibps = found.mibps if is_set else None
    return disk._replace(
        # The mapping names instance storage also where the type has none: this is a volume.
        role=DATA if disk.role == LOCAL else disk.role,
        sku=found.kind,
        iops=found.iops if is_set else None,
        bytes_per_second=None if mibps is None else mibps * MIB,
        told_by=sold.source,
        # Multi-Attach of io1 and io2: one limit for all that have it.
        is_shared=len(found.devices) > 1,
    )


def _untold(disk: DiskIdentity, sold: volumes.EbsVolumes, instance: str) -> str:
    """Why somebody who was to tell what a volume was sold as did not; "": nobody was to."""
    if not sold.source or disk.role == LOCAL:
        return ""
    if disk.name:  # of a Nitro device, which has the volume's id
        wrong, what = sold.unusable.get(disk.name), disk.name
    elif instance and disk.device.startswith("xvd"):
        every = sold.unusable.values()
        wrong = next((each for each in every if _attached(each, instance) == disk.device), None)
        names = f"{disk.device} or {disk.device.replace('xvd', 'sd', 1)}"
        what = f"attached to {instance} as {names}"
    else:
        return ""
    return f"{sold.source} {wrong.why if wrong else f'lists no volume {what}'}"


def volume_id(serial: str) -> str:
    """The volume's id, of which a Nitro device's serial number lacks the dash; "": it is none."""
    found = _VOLUME.fullmatch(serial.strip())
    return f"vol-{found[1].lower()}" if found else ""


def _instance_type(
    documents: Mapping[str, str], files: Mapping[str, str], reasons: list[str]
) -> str:
    found = documents.get(TYPE, "").strip()
    if found and not _INSTANCE_TYPE.fullmatch(found):
        reasons.append(f"{TYPE}: {found!r:.60} is no instance type")
        found = ""
    # On Nitro the product name is the instance type, also where the service is shut off.
    product = _dmi(files, "product_name")
    return found or (product if _INSTANCE_TYPE.fullmatch(product) else "")


def _root(documents: Mapping[str, str]) -> str:
    """Kernel name of the root disk on Xen: "/dev/xvda", or "/dev/sda1" for xvda."""
    return _xen(documents.get(f"{MAPPING}/root", "").strip())


def _instance_store(documents: Mapping[str, str]) -> frozenset[str]:
    """Kernel names of instance store volumes on Xen: "ephemeral0" is "sdb" for xvdb."""
    return frozenset(
        _xen(told.strip())
        for name, told in documents.items()
        if name.startswith(f"{MAPPING}/ephemeral")
    )


def _xen(device: str) -> str:
    letter = re.fullmatch(r"(?:xvd|sd|hd)([a-z]+)\d*", device.removeprefix("/dev/"))
    return f"xvd{letter[1]}" if letter else ""


def _disk(name: str, device: BlockDevice, root: str, local: Container[str]) -> DiskIdentity | None:
    size = None if device.size_bytes is None else device.size_bytes / GIB
    if is_instance_store(device) or name in local:
        return DiskIdentity(device=name, role=LOCAL, size_gib=size)
    if is_ebs(device):
        return DiskIdentity(device=name, role=DATA, name=volume_id(device.serial), size_gib=size)
    if name.startswith("xvd"):
        return DiskIdentity(device=name, role=OS if name == root else DATA, size_gib=size)
    return None


def _dmi(files: Mapping[str, str], name: str) -> str:
    return files.get(f"/sys/class/dmi/id/{name}", "").strip()
