"""AWS: what instances and EBS volumes are sold with, as limits.

Formulas: general-purpose.html, provisioned-iops.html and hdd-vols.html of
https://docs.aws.amazon.com/ebs/latest/userguide/. An instance is counted in Mbit/s, a volume in MiB/s.

https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html
https://docs.aws.amazon.com/ebs/latest/userguide/provisioned-iops.html
https://docs.aws.amazon.com/ebs/latest/userguide/hdd-vols.html
"""

from __future__ import annotations

from collections.abc import Callable

from ioplateau.limits.budgets import Direction, Kind, Limit
from ioplateau.limits.ceilings import NOTHING, Ceiling, limits_of
from ioplateau.limits.clouds.aws import VOLUME_TYPES
from ioplateau.limits.clouds.aws.tables import (
    NETWORK_BASELINE,
    Instance,
    VolumeType,
    instance,
    volume_type,
)
from ioplateau.limits.clouds.identity import (
    LOCAL,
    OWN,
    REMOTE,
    DiskIdentity,
    Draws,
    Identity,
    Sold,
    SoldDisk,
)
from ioplateau.limits.clouds.provisioned import as_said, unprovisionable
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import GIB_PER_TIB, MIB

TIB = 1 << 40
GP2_BUCKET = 5_400_000
GP2_BURST = 3000
PROVISIONED = {"io1", "io2", "io2_block_express"}
# Included in every gp3 volume.
GP3 = Ceiling(3000.0, 125.0 * MIB)
# What a volume with provisioned IOPS does on instances that are not Nitro: aws_ebs_volumes.csv, notes.
XEN = Ceiling(32_000.0, 500.0 * MIB)


def sold(identity: Identity, catalogue: Catalogue) -> Sold:
    """The limits of every lane and disk of this instance."""
    reasons = list(identity.reasons)
    kind = instance(catalogue, identity.vm_size) if identity.vm_size else None
    is_known = kind is not None or not identity.vm_size
    if not is_known:
        reasons.append(f"instance type {identity.vm_size!r} is in no table: its limits are unknown")
    disks = {}
    for name, disk in identity.disks.items():
        disks[name], more = sold_disk(disk, catalogue, kind)
        reasons.extend((*disks[name].notes, *more))
    lanes = {} if kind is None else lane_limits(kind)
    return Sold(identity, lanes, disks, tuple(reasons), is_known)


def draws_of(disk: DiskIdentity) -> Draws:
    """Every EBS volume draws on the instance's EBS limit; instance storage on nothing else."""
    return OWN if disk.role == LOCAL else REMOTE


def lane_limits(instance: Instance) -> dict[Kind, tuple[Limit, ...]]:
    """What all EBS volumes of an instance share, and what its network carries each way.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html
    """
    source = f"{instance.name}, {instance.source} {instance.date}"
    if instance.base and not instance.baseline_known:
        source = f"{source}: the maximum, its baseline is documented nowhere"
    network = Ceiling(bytes_per_second=instance.network_bytes_per_second)
    baseline = f"{instance.name}: {NETWORK_BASELINE}, {instance.source} {instance.date}"
    lanes = {
        Kind.VM_UNCACHED: limits_of(instance.base, source),
        Kind.VM_NETWORK: (
            *limits_of(network, baseline, direction=Direction.READ),
            *limits_of(network, baseline, direction=Direction.WRITE),
        ),
    }
    return {lane: limits for lane, limits in lanes.items() if limits}


def sold_disk(
    disk: DiskIdentity, catalogue: Catalogue, on: Instance | None = None
) -> tuple[SoldDisk, tuple[str, ...]]:
    """A volume with its limits on this instance, and what could not be told of it."""
    draws = draws_of(disk)
    info = {
        "role": disk.role,
        "sku": disk.sku,
        "size": "" if disk.size_gib is None else f"{disk.size_gib:g} GiB",
        "provider_name": disk.name,
    }
    info = {name: value for name, value in info.items() if value}
    # A performance tier is Azure's, and named as what is in no table here.
    name = disk.sku or disk.tier
    what = disk.device or disk.name or name
    if disk.role == LOCAL or not name:
        untold = (f"{what}: {disk.untold}: its limits are unknown",) if disk.untold else ()
        return SoldDisk(disk, draws, info=info), untold
    kind = volume_type(catalogue, name)
    if kind is None:
        words = f"{name!r} is no EBS volume type, want one of {', '.join(sorted(VOLUME_TYPES))}"
        return SoldDisk(disk, draws, info=info), (f"{what}: {words}",)
    ceiling = volume_ceiling(kind.name, disk.size_gib, disk.iops, disk.bytes_per_second)
    size = "" if disk.size_gib is None else f" of {disk.size_gib:g} GiB"
    is_set = kind.name in (*PROVISIONED, "gp3")
    notes = _excess(what, disk, kind) if is_set else unprovisionable(what, disk, kind.name)
    if on is not None and on.hypervisor == "xen" and kind.name in PROVISIONED:
        ceiling, size = _on_xen(ceiling, disk), f"{size} on {on.name}"
        notes = (*notes, *_above_xen(what, disk, kind, on))
    of_type = limits_of(ceiling, f"{kind.name}{size}, {kind.source} {kind.date}")
    # One figure of these decides the other, which is then as much said.
    said = disk._replace(iops=ceiling.iops, bytes_per_second=ceiling.bytes_per_second)
    told = said if kind.name in PROVISIONED else disk
    limits = as_said(told, f"{kind.name}{size}, {disk.told_by}", of_type)
    reasons: tuple[str, ...] = ()
    if not limits:
        reasons = (f"{what}: {kind.name} {_lacking(kind.name)}: its limits are unknown",)
    return SoldDisk(disk, draws, limits, kind.operation_bytes, info, notes), reasons


def _lacking(name: str) -> str:
    if name in PROVISIONED:
        return "without its provisioned iops"
    if name in _BY_SIZE:
        return "without a size"
    return "is magnetic, of which only approximate figures are documented"


def _on_xen(ceiling: Ceiling, disk: DiskIdentity) -> Ceiling:
    """What a volume with provisioned IOPS does there; what the configuration states of it holds."""
    stated = Ceiling(disk.iops, disk.bytes_per_second) if disk.configured else NOTHING
    return Ceiling(
        stated.iops or _least(ceiling.iops, XEN.iops),
        stated.bytes_per_second or _least(ceiling.bytes_per_second, XEN.bytes_per_second),
    )


def _least(known: float | None, *most: float | None) -> float | None:
    return None if known is None else min([known, *(each for each in most if each is not None)])


def provisionable(kind: VolumeType, size_gib: float | None, iops: float | None = None) -> Ceiling:
    """The most that a volume of this type and size can be set to. Throughput goes with the operations
    provisioned; without `iops`, with the most of them.
    """
    included = GP3 if kind.name == "gp3" else Ceiling(kind.number("iops_min"))
    per_gib, per_iops = kind.number("iops_per_gib_max"), kind.number("mibps_per_iops")
    most, mibps = kind.number("iops_max"), kind.number("mibps_max")
    if most is not None and per_gib is not None and size_gib is not None:
        most = min(most, max(per_gib * size_gib, included.iops or 0.0))
    data = None if mibps is None else mibps * MIB
    provisioned = _least(most, iops)
    if data is not None and per_iops is not None and provisioned is not None:
        data = min(data, max(per_iops * provisioned * MIB, included.bytes_per_second or 0.0))
    return Ceiling(most, data)


def _excess(what: str, disk: DiskIdentity, kind: VolumeType) -> tuple[str, ...]:
    """A note for each provisioned figure that no volume of this type and size can have."""
    iops = GP3.iops if disk.iops is None and kind.name == "gp3" else disk.iops
    most = provisionable(kind, disk.size_gib, iops)
    size = "" if disk.size_gib is None else f" of {disk.size_gib:g} GiB"
    couples = iops is not None and kind.number("mibps_per_iops") is not None
    of_iops = f"{size} with {iops:,.0f} IOPS" if couples else size
    pairs = (
        ("IOPS", disk.iops, most.iops, size),
        ("bytes per second", disk.bytes_per_second, most.bytes_per_second, of_iops),
    )
    return tuple(
        f"{what}: {wanted:,.0f} {unit} is more than {kind.name}{of} can be set to ({ceiling:,.0f}): believed"
        for unit, wanted, ceiling, of in pairs
        if wanted is not None and ceiling is not None and wanted > ceiling
    )


def _above_xen(what: str, disk: DiskIdentity, kind: VolumeType, on: Instance) -> tuple[str, ...]:
    """A note if more was provisioned than a volume does on an instance that is not Nitro."""
    most_iops, most_data = XEN.iops or 0.0, XEN.bytes_per_second or 0.0
    if (disk.iops or 0.0) <= most_iops and (disk.bytes_per_second or 0.0) <= most_data:
        return ()
    words = f"{kind.name} does {most_iops:,.0f} IOPS and {most_data / MIB:,.0f} MiB/s at most there"
    believed = ": more is believed" if disk.configured else ""
    return (f"{what}: {on.name} is no Nitro instance, {words}{believed}",)


def volume_ceiling(
    name: str,
    size_gib: float | None,
    iops: float | None = None,
    bytes_per_second: float | None = None,
) -> Ceiling:
    """What a volume of this type, size and provisioning may do; empty: it cannot be told."""
    if name == "gp3":
        # More is provisioned and told by nobody but its owner.
        return Ceiling(iops or GP3.iops, bytes_per_second or GP3.bytes_per_second)
    if name in PROVISIONED:
        return _provisioned(name, iops, bytes_per_second)
    formula = _BY_SIZE.get(name)
    return NOTHING if formula is None or size_gib is None else formula(size_gib)


def _provisioned(name: str, iops: float | None, bytes_per_second: float | None) -> Ceiling:
    if iops is None or bytes_per_second is not None:
        return Ceiling(iops, bytes_per_second)
    if name == "io1":
        return Ceiling(iops, (min(0.25 * iops, 500) if iops <= 32_000 else iops / 64) * MIB)
    # Since 2025-04-30 every io2 volume is Block Express.
    return Ceiling(iops, min(0.256 * iops, 4000) * MIB)


def _gp2(gib: float) -> Ceiling:
    iops = min(max(100.0, 3 * gib), 16_000)
    has_bucket = iops < GP2_BURST
    # Between 170 and 334 GiB 250 MiB/s while there are I/O credits: no bucket of its own.
    mibps = 128.0 if gib < 334 else 250.0
    return Ceiling(
        iops,
        mibps * MIB,
        GP2_BURST if has_bucket else None,
        250.0 * MIB if 170 < gib < 334 else None,
        GP2_BUCKET if has_bucket else None,
    )


def _hdd(base: float, most: float, burst: float, burst_most: float) -> Callable[[float], Ceiling]:
    """A type whose rates, MiB/s per TiB, and credit, 1 TiB per TiB, grow with its size."""

    def ceiling(gib: float) -> Ceiling:
        tib = gib / GIB_PER_TIB
        rate, above = min(base * tib, most), min(burst * tib, burst_most)
        if above <= rate:
            return Ceiling(None, rate * MIB)
        return Ceiling(None, rate * MIB, None, above * MIB, None, tib * TIB)

    return ceiling


_BY_SIZE: dict[str, Callable[[float], Ceiling]] = {
    "gp2": _gp2,
    "st1": _hdd(40, 500, 250, 500),
    "sc1": _hdd(12, 192, 80, 250),
}
