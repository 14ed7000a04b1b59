"""What AWS has on offer to lift a limit: more provisioned for gp3, io1 and io2, gp3 in place of gp2, a
larger volume where the size decides, larger instances of a family.

Volumes: general-purpose.html, provisioned-iops.html and hdd-vols.html of the EBS user guide; their
ceilings are the table's. All of it is done while the volume is in use (ebs-modify-volume.html).

https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html
https://docs.aws.amazon.com/ebs/latest/userguide/provisioned-iops.html
https://docs.aws.amazon.com/ebs/latest/userguide/ebs-modify-volume.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplateau.limits.budgets import Kind
from ioplateau.limits.ceilings import gives_more
from ioplateau.limits.clouds.aws.sold import (
    PROVISIONED,
    lane_limits,
    provisionable,
    volume_ceiling,
)
from ioplateau.limits.clouds.aws.tables import (
    Instance,
    VolumeType,
    instance,
    instances,
    volume_type,
)
from ioplateau.limits.clouds.identity import Identity
from ioplateau.limits.lifting.step import Choice, provisioned, with_disk
from ioplateau.limits.tables import Catalogue

MOST_SIZES = 2


def choices(
    identity: Identity, disks: Sequence[str], kind: Kind, catalogue: Catalogue
) -> Iterable[Choice]:
    """Changes for a volume, where its own limit binds, and for the instance, where that does."""
    if kind is Kind.DISK:
        for name in disks:
            yield from _of_volume(identity, name, catalogue)
    else:
        yield from _larger(identity, catalogue)


def _of_volume(identity: Identity, name: str, catalogue: Catalogue) -> Iterable[Choice]:
    disk = identity.disks[name]
    kind = volume_type(catalogue, disk.sku) if disk.sku else None
    if kind is None:
        return
    if kind.name in ("gp3", *PROVISIONED):
        yield from _provisioned(f"{kind.name} {name}", identity, name, kind, catalogue)
    gp3 = volume_type(catalogue, "gp3") if kind.name == "gp2" else None
    if gp3 is not None:
        changed = with_disk(identity, name, disk._replace(sku="gp3"))
        yield Choice(f"gp3 in place of gp2 for {name}, with what is included", changed)
        yield from _provisioned(f"gp3 in place of gp2 for {name},", changed, name, gp3, catalogue)
    yield from _larger_volume(identity, name, kind)


def _provisioned(
    what: str, identity: Identity, name: str, kind: VolumeType, catalogue: Catalogue
) -> Iterable[Choice]:
    """Set to the most of its size; the throughput of io1 and io2 follows their operations."""
    size, on = identity.disks[name].size_gib, instance(catalogue, identity.vm_size)
    most = provisionable(kind, size)
    if kind.name in PROVISIONED:
        most = most._replace(bytes_per_second=None)
    if most.iops is None or (size is None and kind.name in PROVISIONED):
        return
    lane = () if on is None else lane_limits(on).get(Kind.VM_UNCACHED, ())
    yield provisioned(what, identity, name, most, "MiB/s", lane)


def _larger_volume(identity: Identity, name: str, kind: VolumeType) -> Iterable[Choice]:
    """Twice the size of a volume whose size decides what it does."""
    disk, most = identity.disks[name], kind.number("max_size_gib")
    if disk.size_gib is None or most is None or disk.size_gib * 2 > most:
        return
    now, larger = (volume_ceiling(kind.name, gib) for gib in (disk.size_gib, disk.size_gib * 2))
    if now and gives_more(larger, now):
        words = f"{kind.name} of {disk.size_gib * 2:,.0f} GiB in place of {disk.size_gib:,.0f} for {name}"
        yield Choice(words, with_disk(identity, name, disk._replace(size_gib=disk.size_gib * 2)))


def _larger(identity: Identity, catalogue: Catalogue) -> Iterable[Choice]:
    """The next types of the family that have more: "m5.xlarge" after "m5.large"."""
    now = instance(catalogue, identity.vm_size)
    if now is None:
        return
    family, dot, _ = now.name.partition(".")
    larger = [
        other
        for other in instances(catalogue, family + dot)
        if _rank(other) > _rank(now) and gives_more(other.base, now.base)
    ]
    for other in sorted(larger, key=_rank)[:MOST_SIZES]:
        yield Choice(f"{other.name} in place of {now.name}", identity._replace(vm_size=other.name))


def _rank(instance: Instance) -> tuple[float, float]:
    return instance.vcpus or 0, instance.base.bytes_per_second or 0
