"""Azure: what VM sizes, managed disks and NFS volumes are sold with, as limits.

Formulas: azure-netapp-files-service-levels.md and storage-files-scale-targets.md of azure-docs;
disk-bursting.md of azure-compute-docs. Figures come from the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ioplateau.judge.budgets import Direction, Kind, Limit, Origin
from ioplateau.judge.catalogue import MIB, DiskTier, VmSize, disk_tier, fact, named_tier
from ioplateau.judge.ceilings import NOTHING, Ceiling, limits_of, with_credit
from ioplateau.judge.clouds import azure
from ioplateau.judge.clouds.identity import DATA, LOCAL, TEMPORARY, DiskIdentity, SoldDisk
from ioplateau.judge.limits import VolumeFact
from ioplateau.judge.tables import Shelf

# The SKU API gave v3 to v5 throughput in MiB in 2023-10 and in MB in 2024-12: 4.86 % apart.
MB_OR_MIB = 0.05
GIB_PER_TIB = 1024
# azure-netapp-files-resource-limits.md: more than this no regular and no large volume does.
REGULAR_VOLUME_MIBPS, LARGE_VOLUME_MIBPS = 4500, 12_800
FILES_BURST_SECONDS = 3600


def lane_limits(size: VmSize) -> dict[Kind, tuple[Limit, ...]]:
    """The limits of each lane of a VM size; a lane of which nothing is known is left out."""
    basis = f" ({size.basis})" if size.basis else ""
    source = f"{size.name}{basis}, {size.source} {size.date}".strip()
    if size.controller:
        source = f"{source}, {size.controller} controller"
    lanes = {
        Kind.VM_UNCACHED: _azure(size.uncached, source),
        Kind.VM_ULTRA: _azure(size.ultra, source),
        Kind.VM_CACHED: _azure(size.cached, source),
        # Azure limits what leaves the VM; NFS writes do.
        Kind.VM_NETWORK: limits_of(
            Ceiling(bytes_per_second=size.network_bytes_per_second),
            source,
            direction=Direction.WRITE,
        ),
    }
    return {lane: limits for lane, limits in lanes.items() if limits}


def _azure(
    ceiling: Ceiling, source: str, direction: Direction = Direction.TOTAL
) -> tuple[Limit, ...]:
    return limits_of(ceiling, source, direction=direction, tolerance=MB_OR_MIB)


def sold_disk(
    disk: DiskIdentity, size: VmSize | None, shelf: Shelf
) -> tuple[SoldDisk, tuple[str, ...]]:
    """A disk with its limits, and what could not be told of it."""
    draws = azure.draws(disk, has_ultra_lane=size is not None and bool(size.ultra))
    if disk.role in (TEMPORARY, LOCAL):
        limits = () if size is None else _own_disk(disk, size)
        return SoldDisk(disk, draws, limits, info=_info(disk, None)), ()
    if disk.is_ephemeral:
        return SoldDisk(disk, draws, info=_info(disk, None)), ()
    tier = find_tier(disk, shelf)
    limits, reasons = _managed(disk, tier, size)
    unit = tier.operation_bytes if tier is not None else None
    return SoldDisk(disk, draws, limits, unit, _info(disk, tier)), reasons


def find_tier(disk: DiskIdentity, shelf: Shelf) -> DiskTier | None:
    """The tier a disk has: the one named, or the one of its SKU and size."""
    name = disk.tier or disk.sku
    tier = named_tier(shelf, name) if name else None
    if tier is None and disk.sku and disk.size_gib is not None:
        return disk_tier(shelf, disk.sku, disk.size_gib)
    return tier


def _managed(
    disk: DiskIdentity, tier: DiskTier | None, size: VmSize | None
) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    what = disk.device or disk.name or disk.tier or disk.sku
    told = Ceiling(disk.iops, disk.bytes_per_second)
    if told:
        source = disk.configured or "azure/instance: provisioned"
        origin = Origin.CONFIGURED if disk.configured else Origin.REPORTED
        return limits_of(told, source, origin=origin), _excess(disk, tier)
    if azure.is_uncacheable(disk.sku):
        return (), (f"{what}: {disk.sku} is provisioned, and nobody tells with what: unknown",)
    if tier is None:
        sku = disk.sku or "no SKU"
        gib = "no size" if disk.size_gib is None else f"{disk.size_gib:g} GiB"
        return (), (f"{what}: {sku} of {gib} is in no table: limits unknown",)
    return _of_tier(disk, tier, size), ()


def _excess(disk: DiskIdentity, tier: DiskTier | None) -> tuple[str, ...]:
    """What is wrong with provisioned figures that no disk of this size can have."""
    if tier is None or disk.size_gib is None:
        return ()
    most = provisionable(tier, disk.size_gib, disk.iops)
    pairs = (
        ("IOPS", disk.iops, most.iops),
        ("bytes per second", disk.bytes_per_second, most.bytes_per_second),
    )
    return tuple(
        f"{disk.device or disk.name}: {told:,.0f} {unit} is more than {tier.sku} of "
        f"{disk.size_gib:g} GiB can be set to ({ceiling:,.0f}): believed"
        for unit, told, ceiling in pairs
        if told is not None and ceiling is not None and told > ceiling * (1 + MB_OR_MIB)
    )


def _of_tier(disk: DiskIdentity, tier: DiskTier, size: VmSize | None) -> tuple[Limit, ...]:
    source = f"{tier.tier} {tier.sku}, azure_disks {tier.generation}"
    ceiling = tier.base
    if disk.performance_plus and tier.performance_plus:
        ceiling, source = tier.performance_plus, f"{source}, performance plus"
    if disk.on_demand_burst and tier.on_demand:
        # Opt-in, billed by use, and without a bucket: simply a higher limit.
        ceiling, source = tier.on_demand, f"{source}, on-demand burst"
    most = size.standard_disk_iops if size is not None else None
    if most is not None and ceiling.iops is not None and most < ceiling.iops:
        ceiling, source = (
            ceiling._replace(iops=most),
            f"{source}, at most {most:g} IOPS on {size.name if size else ''}",
        )
    return _azure(ceiling, source)


def _own_disk(disk: DiskIdentity, size: VmSize) -> tuple[Limit, ...]:
    """Temporary disk: the size's figures; a local NVMe disk: its share of the documented sum."""
    source = f"{size.name}, {size.source} {size.date}".strip()
    if disk.role == TEMPORARY:
        written = Ceiling(bytes_per_second=size.temporary_write_bytes_per_second)
        return (
            *_azure(size.temporary._replace(bytes_per_second=None), source),
            *_azure(size.temporary._replace(iops=None), source, Direction.READ),
            *_azure(written, source, Direction.WRITE),
        )
    count = size.local_disks or 0
    read, written = _share(size.local_read, count), _share(size.local_write, count)
    return (
        *_azure(read, source, Direction.READ),
        *_azure(written, source, Direction.WRITE),
    )


def _share(ceiling: Ceiling, count: int) -> Ceiling:
    if count < 1:
        return NOTHING
    return Ceiling(
        None if ceiling.iops is None else ceiling.iops / count,
        None if ceiling.bytes_per_second is None else ceiling.bytes_per_second / count,
    )


def _info(disk: DiskIdentity, tier: DiskTier | None) -> dict[str, str]:
    told = {
        "role": disk.role,
        "sku": disk.sku or (tier.sku if tier is not None else ""),
        "tier": tier.tier if tier is not None else disk.tier,
        "generation": tier.generation if tier is not None else "",
        "caching": disk.caching,
        "lun": "" if disk.lun is None or disk.role != "data" else str(disk.lun),
        "size": "" if disk.size_gib is None else f"{disk.size_gib:g} GiB",
        "provider_name": disk.name,
    }
    return {name: value for name, value in told.items() if value}


def volume_limits(volume: VolumeFact, shelf: Shelf) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    """What an NFS volume of this service, level and quota may do, and what is wrong with that."""
    service = volume.service.lower()
    if service == "azure_netapp_files":
        return _netapp(volume, shelf)
    if service == "azure_files":
        return _files(volume)
    words = (
        f"{volume.source}: service {volume.service!r} is not known, "
        "want azure_netapp_files or azure_files"
    )
    return (), (words,)


def _netapp(volume: VolumeFact, shelf: Shelf) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    most = (LARGE_VOLUME_MIBPS if volume.large else REGULAR_VOLUME_MIBPS) * MIB
    if volume.bytes_per_second is not None or volume.iops is not None:
        data = volume.bytes_per_second
        assigned = Ceiling(volume.iops, None if data is None else min(data, most))
        source = f"{volume.source}, manual QoS".removeprefix(", ")
        return _volume(assigned, source, Origin.CONFIGURED), ()
    level = (volume.service_level or "").capitalize()
    path = ("azure_netapp_files", "current", level, "auto", "regular", "throughput_mibps_per_tib")
    found = fact(shelf, "azure_files", *path)
    rate = found.value if found is not None else None
    if rate is None:
        words = (
            f"{volume.source}: service level {volume.service_level!r} has no rate, "
            "want Standard, Premium or Ultra, or bytes_per_second"
        )
        return (), (words,)
    if volume.quota_gib is None or volume.quota_gib <= 0:
        return (), (f"{volume.source}: {level} without a quota: limit unknown",)
    mibps = volume.quota_gib / GIB_PER_TIB * rate
    source = f"{level} x {volume.quota_gib:g} GiB ({rate:g} MiB/s per TiB), azure_files"
    return _volume(Ceiling(None, min(mibps * MIB, most)), source), ()


def _files(volume: VolumeFact) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    if volume.quota_gib is None or volume.quota_gib <= 0:
        return (), (f"{volume.source}: Azure Files without a quota: limit unknown",)
    is_provisioned = volume.iops is not None or volume.bytes_per_second is not None
    if is_provisioned or "v2" in (volume.service_level or "").lower():
        ceiling, source = files_v2(volume.quota_gib, volume.iops, volume.bytes_per_second), "v2"
    else:
        ceiling, source = files_v1(volume.quota_gib), "v1 (2021-12)"
    words = f"Azure Files SSD {source}, {volume.quota_gib:g} GiB, azure_files"
    return _volume(ceiling, words), ()


def files_v1(gib: float) -> Ceiling:
    """A premium share billed by its size, as documented in 2021-12."""
    iops = min(3000 + gib, 100_000)
    burst = min(max(10_000, 3 * gib), 100_000)
    data = (100 + math.ceil(4 * gib / 100) + math.ceil(6 * gib / 100)) * MIB
    return with_credit(iops, data, burst, None, seconds=FILES_BURST_SECONDS)


def files_v2(
    gib: float, iops: float | None = None, bytes_per_second: float | None = None
) -> Ceiling:
    """A share with provisioned performance; what is not given is as the service recommends.

    The burst is inferred from the names of fields, not documented.
    """
    provisioned = 3000 + gib if iops is None else iops
    data = (125 + 0.1 * gib) * MIB if bytes_per_second is None else bytes_per_second
    burst = max(10_000, 3 * provisioned)
    return with_credit(provisioned, data, burst, None, seconds=FILES_BURST_SECONDS)


def _volume(ceiling: Ceiling, source: str, origin: Origin = Origin.CATALOGUE) -> tuple[Limit, ...]:
    return limits_of(ceiling, source, origin=origin)


def provisionable(tier: DiskTier, gib: float, iops: float | None = None) -> Ceiling:
    """The most that an Ultra or Premium SSD v2 disk of this size can be set to.

    Throughput goes with the operations provisioned; without `iops`, with the most of them.
    """
    if tier.iops_per_gib is None or tier.max_iops is None:
        return NOTHING
    included = tier.base.iops or tier.min_iops or 0.0
    most = max(included, min(tier.max_iops, tier.iops_per_gib * gib))
    if tier.base.bytes_per_second is not None and most <= included:
        return Ceiling(most, tier.base.bytes_per_second)
    if tier.bytes_per_second_per_iops is None or tier.max_bytes_per_second is None:
        return Ceiling(most)
    data = tier.bytes_per_second_per_iops * (most if iops is None else min(iops, most))
    return Ceiling(most, min(data, tier.max_bytes_per_second))


def too_many(size: VmSize, disks: Iterable[DiskIdentity]) -> str:
    """A word of warning if a VM size cannot have that many data disks."""
    count = sum(1 for disk in disks if disk.role == DATA)
    if size.max_data_disks is None or count <= size.max_data_disks:
        return ""
    return f"{size.name} takes {size.max_data_disks} data disks, not {count}"
