"""AWS: what instances and EBS volumes are sold with, as limits.

Formulas: general-purpose.md, provisioned-iops.md and hdd-vols.md of amazon-ec2-user-guide
(2023-05-11). An instance is counted in Mbit/s, a volume in MiB/s.
"""

from __future__ import annotations

from collections.abc import Callable

from ioplateau.judge.budgets import Direction, Kind, Limit, Origin
from ioplateau.judge.catalogue import MIB, Instance, volume_type
from ioplateau.judge.ceilings import NOTHING, Ceiling, limits_of
from ioplateau.judge.clouds import aws
from ioplateau.judge.clouds.identity import LOCAL, DiskIdentity, SoldDisk
from ioplateau.judge.tables import Shelf

TIB = 1 << 40
GIB_PER_TIB = 1024
GP2_BUCKET = 5_400_000
GP2_BURST = 3000
PROVISIONED = {"io1", "io2", "io2_block_express"}


def lane_limits(instance: Instance) -> dict[Kind, tuple[Limit, ...]]:
    """What all EBS volumes of an instance share, and its network."""
    source = f"{instance.name}, {instance.source} {instance.date}"
    if instance.base and not instance.baseline_known:
        source = f"{source}: the maximum, its baseline is documented nowhere"
    network = Ceiling(bytes_per_second=instance.network_bytes_per_second)
    lanes = {
        Kind.VM_UNCACHED: limits_of(instance.base, source),
        # A baseline: what an instance may do for minutes above it, nobody documents.
        Kind.VM_NETWORK: limits_of(network, source, direction=Direction.WRITE),
    }
    return {lane: limits for lane, limits in lanes.items() if limits}


def sold_disk(disk: DiskIdentity, shelf: Shelf) -> tuple[SoldDisk, tuple[str, ...]]:
    """A volume with its limits, and what could not be told of it."""
    draws = aws.draws(disk)
    info = {
        "role": disk.role,
        "sku": disk.sku,
        "size": "" if disk.size_gib is None else f"{disk.size_gib:g} GiB",
        "provider_name": disk.name,
    }
    info = {name: value for name, value in info.items() if value}
    if disk.role == LOCAL or not disk.sku:
        return SoldDisk(disk, draws, info=info), ()
    kind = volume_type(shelf, disk.sku)
    what = disk.device or disk.name or disk.sku
    if kind is None:
        return SoldDisk(disk, draws, info=info), (f"{what}: {disk.sku!r} is no EBS volume type",)
    ceiling = volume_ceiling(kind.name, disk.size_gib, disk.iops, disk.bytes_per_second)
    told = disk.iops is not None or disk.bytes_per_second is not None
    origin = Origin.CONFIGURED if told and disk.configured else Origin.CATALOGUE
    size = "" if disk.size_gib is None else f" of {disk.size_gib:g} GiB"
    source = f"{kind.name}{size}, {kind.source} {kind.date}"
    if told and disk.configured:
        source = disk.configured
    reasons = () if ceiling else (f"{what}: {kind.name} without its provisioned figures: unknown",)
    limits = limits_of(ceiling, source, origin=origin)
    return SoldDisk(disk, draws, limits, kind.operation_bytes, info), reasons


def volume_ceiling(
    name: str,
    size_gib: float | None,
    iops: float | None = None,
    bytes_per_second: float | None = None,
) -> Ceiling:
    """What a volume of this type, size and provisioning may do; empty: it cannot be told."""
    if name == "gp3":
        # Included in every gp3 volume; more is provisioned and told by nobody but its owner.
        return Ceiling(iops or 3000.0, bytes_per_second or 125.0 * MIB)
    if name in PROVISIONED:
        return _provisioned(name, iops, bytes_per_second)
    formula = _BY_SIZE.get(name)
    return NOTHING if formula is None or size_gib is None else formula(size_gib)


def _provisioned(name: str, iops: float | None, bytes_per_second: float | None) -> Ceiling:
    if iops is None or bytes_per_second is not None:
        return Ceiling(iops, bytes_per_second)
    if name == "io2_block_express":
        return Ceiling(iops, min(0.256 * iops, 4000) * MIB)
    if iops > 64_000:  # io2 as sold since: its throughput was found nowhere
        return Ceiling(iops)
    return Ceiling(iops, (min(0.25 * iops, 500) if iops <= 32_000 else iops / 64) * MIB)


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
