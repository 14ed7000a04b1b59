"""EC2 instances that somebody describes: what is assumed of them, and what cannot be."""

from __future__ import annotations

import math

from ioplateau.limits.clouds.aws import sold as aws
from ioplateau.limits.clouds.aws.tables import VolumeType, instance, volume_type
from ioplateau.limits.clouds.identity import DiskIdentity, Identity, Sold
from ioplateau.limits.clouds.protocol import Supposed
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import MIB


def what_if(identity: Identity, catalogue: Catalogue) -> Supposed:
    """The limits of an instance of this type with these volumes."""
    kind = instance(catalogue, identity.vm_size) if identity.vm_size else None
    wrong: list[str] = []
    notices: list[str] = []
    disks = {}
    for name, disk in identity.disks.items():
        disks[name], reasons = aws.sold_disk(disk, catalogue, kind)
        if disk.caching:
            reasons += (f"{disk.sku}: an EBS volume has no host cache to set",)
        reasons += _unsold_size(disk, catalogue)
        notices += (*disks[name].notes, *_of_hard_disk(volume_type(catalogue, disk.sku)))
        wrong += reasons
    if kind is not None and kind.base and not kind.baseline_known:
        notices.append(f"{kind.name}: only its maximum is documented, not its baseline")
    lanes = {} if kind is None else aws.lane_limits(kind)
    sold = Sold(identity, lanes, disks)
    return Supposed(
        "" if kind is None else kind.name,
        sold,
        tuple(dict.fromkeys(wrong)),
        tuple(dict.fromkeys(notices)),
    )


def _unsold_size(disk: DiskIdentity, catalogue: Catalogue) -> tuple[str, ...]:
    """What is wrong with a size that the volume's type does not have."""
    kind = volume_type(catalogue, disk.sku)
    if kind is None or disk.size_gib is None:
        return ()
    least, most = kind.number("min_size_gib"), kind.number("max_size_gib")
    if (least or 0.0) <= disk.size_gib <= (most or math.inf):
        return ()
    sizes = f"{least or 0.0:,g} to {most or math.inf:,g} GiB"
    return (f"{disk.sku} of {disk.size_gib:,g} GiB is not sold, its sizes are {sizes}",)


def _of_hard_disk(kind: VolumeType | None) -> tuple[str, ...]:
    """A word of its operations, which are a limit of random requests alone: EBS merges sequential ones.

    https://docs.aws.amazon.com/ebs/latest/userguide/ebs-io-characteristics.html
    """
    most = None if kind is None else kind.number("iops_max")
    if kind is None or most is None or kind.operation_bytes is None or not kind.is_hard_disk:
        return ()
    merged = f"only sequential ones are merged, up to {kind.operation_bytes / MIB:g} MiB"
    return (f"{kind.name}: random requests get no more than {most:,.0f} IOPS; {merged}",)
