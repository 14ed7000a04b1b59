"""What Azure's VM sizes and managed disks are sold with, as limits, and which I/O counts where.

Lanes: disks-performance.md, bursts: disk-bursting.md of azure-compute-docs. Figures: the tables.

https://learn.microsoft.com/azure/virtual-machines/disks-performance
https://learn.microsoft.com/azure/virtual-machines/disk-bursting
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ioplateau.limits.budgets import Direction, Kind, Limit
from ioplateau.limits.ceilings import NOTHING, Ceiling, limits_of
from ioplateau.limits.clouds.azure.managed import (
    MB_OR_MIB,
    find_tier,
    has_no_cache,
    is_uncacheable,
    managed,
)
from ioplateau.limits.clouds.azure.tables import DiskTier, VmSize, accelerated_iops, vm_size
from ioplateau.limits.clouds.identity import (
    DATA,
    LOCAL,
    OWN,
    TEMPORARY,
    DiskIdentity,
    Draws,
    Identity,
    Sold,
    SoldDisk,
)
from ioplateau.limits.tables import Catalogue

WRITE_ACCELERATOR = (
    "https://learn.microsoft.com/azure/virtual-machines/how-to-enable-write-accelerator"
)
# A notice stays where it was said, and is true then, too.
OTHER_THAN_SAID = ', but for what a [[limit]] says (vm = "uncached")'


def sold(identity: Identity, catalogue: Catalogue) -> Sold:
    """The limits of every lane and disk of this VM."""
    reasons = list(identity.reasons)
    size = vm_size(catalogue, identity.vm_size, identity.controller) if identity.vm_size else None
    is_known = size is not None or not identity.vm_size
    if not is_known:
        words = f"VM size {identity.vm_size!r} is in no table: the VM's limits are unknown"
        reasons.append(f"{words}{OTHER_THAN_SAID}")
    lanes: dict[Kind, tuple[Limit, ...]] = {}
    if size is not None:
        lanes = lane_limits(size)
        reasons.extend(filter(None, [too_many(size, identity.disks.values())]))
        reasons.extend(
            f"{words}{OTHER_THAN_SAID}" for words in undocumented(size, identity.disks.values())
        )
    reasons.extend(filter(None, [_accelerated(size, identity.disks.values(), catalogue)]))
    disks = {}
    for name, disk in identity.disks.items():
        disks[name], more = sold_disk(disk, size, catalogue)
        reasons.extend((*disks[name].notes, *more))
    most = None if size is None else size.max_data_disks
    return Sold(identity, lanes, disks, tuple(reasons), is_known, most_data_disks=most)


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
    disk: DiskIdentity, size: VmSize | None, catalogue: Catalogue
) -> tuple[SoldDisk, tuple[str, ...]]:
    """A disk with its limits, and what could not be told of it."""
    tier = find_tier(disk, catalogue)
    draws = draws_of(disk, tier, has_ultra_lane=size is not None and bool(size.ultra))
    if disk.role in (TEMPORARY, LOCAL):
        limits = () if size is None else _own_disk(disk, size)
        return SoldDisk(disk, draws, limits, info=_info(disk, None)), ()
    if disk.is_ephemeral:
        return _ephemeral(disk, size)
    limits, notes, reasons = managed(disk, tier, size, catalogue)
    unit = tier.operation_bytes if tier is not None else None
    return SoldDisk(disk, draws, limits, unit, _info(disk, tier), notes), reasons


def _ephemeral(disk: DiskIdentity, size: VmSize | None) -> tuple[SoldDisk, tuple[str, ...]]:
    """An OS disk on the VM's own storage. Azure tells a guest that it is one, not where: taken
    to be on what the size has, in the order of ephemeral-os-disks.md for its generation.

    https://learn.microsoft.com/azure/virtual-machines/ephemeral-os-disks
    """
    what, info = disk.device or "the OS disk", _info(disk, None)
    words = f"{what}: an ephemeral OS disk; Azure does not tell where it lies"
    if size is None or size.cached:
        # It shares the lane with cached disks and the temporary disk.
        return SoldDisk(disk, draws_of(disk), info=info), (
            f"{words}: taken as on the host's cache",
        )
    if size.temporary:
        limits = _own_disk(disk._replace(role=TEMPORARY), size)
        return SoldDisk(disk, OWN, limits, info=info), (f"{words}: taken as on the temporary disk",)
    if size.local_disks and size.local_disk_gib:
        used = max(math.ceil((disk.size_gib or 1.0) / size.local_disk_gib), 1)
        limits = _local(size, min(used, size.local_disks))
        return SoldDisk(disk, OWN, limits, info=info), (f"{words}: taken as on local NVMe disks",)
    return SoldDisk(disk, OWN, info=info), (f"{words}: limits unknown",)


def draws_of(
    disk: DiskIdentity, tier: DiskTier | None = None, *, has_ultra_lane: bool = False
) -> Draws:
    """Which lanes and limits an I/O of this disk counts on."""
    if disk.role == LOCAL:
        return OWN
    if disk.role == TEMPORARY:
        return Draws((Kind.VM_CACHED, Kind.DISK), (Kind.VM_CACHED, Kind.DISK))
    if disk.is_ephemeral:
        # On the host's cache or temporary storage: no remote disk behind it.
        return Draws((Kind.VM_CACHED,), (Kind.VM_CACHED,))
    far = (lane_of(disk.sku, has_ultra_lane=has_ultra_lane), Kind.DISK)
    caching = "none" if has_no_cache(disk, tier) else disk.caching.lower()
    through = (Kind.VM_CACHED, *far)
    if caching == "readonly":
        return Draws(through, through, read_hit=(Kind.VM_CACHED,))
    if caching == "readwrite":
        return Draws(through, (Kind.VM_CACHED,), read_hit=(Kind.VM_CACHED,), write_later=far)
    return Draws(far, far)


def lane_of(sku: str, *, has_ultra_lane: bool) -> Kind:
    """Which of the VM's lanes a disk of this SKU without a host cache draws on."""
    return Kind.VM_ULTRA if has_ultra_lane and is_uncacheable(sku) else Kind.VM_UNCACHED


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
    return _local(size, 1)


def _local(size: VmSize, used: int) -> tuple[Limit, ...]:
    """So many of the size's local NVMe disks, of which the documents give the sum."""
    source = f"{size.name}, {size.source} {size.date}".strip()
    share = used / size.local_disks if size.local_disks else 0.0
    return (
        *_azure(_share(size.local_read, share), source, Direction.READ),
        *_azure(_share(size.local_write, share), source, Direction.WRITE),
    )


def _share(ceiling: Ceiling, share: float) -> Ceiling:
    if share <= 0:
        return NOTHING
    return Ceiling(
        None if ceiling.iops is None else ceiling.iops * share,
        None if ceiling.bytes_per_second is None else ceiling.bytes_per_second * share,
    )


def _info(disk: DiskIdentity, tier: DiskTier | None) -> dict[str, str]:
    texts = {
        "role": disk.role,
        "sku": disk.sku or (tier.sku if tier is not None else ""),
        "tier": tier.tier if tier is not None else disk.tier,
        "generation": tier.generation if tier is not None else "",
        "caching": disk.caching,
        "lun": "" if disk.lun is None or disk.role != DATA else str(disk.lun),
        "size": "" if disk.size_gib is None else f"{disk.size_gib:g} GiB",
        "provider_name": disk.name,
    }
    return {name: value for name, value in texts.items() if value}


def too_many(size: VmSize, disks: Iterable[DiskIdentity]) -> str:
    """A word of warning if a VM size cannot have that many data disks."""
    count = sum(1 for disk in disks if disk.role == DATA)
    if size.max_data_disks is None or count <= size.max_data_disks:
        return ""
    most = "one data disk" if size.max_data_disks == 1 else f"{size.max_data_disks} data disks"
    return f"{size.name} takes {most}, not {count}"


def _accelerated(size: VmSize | None, disks: Iterable[DiskIdentity], catalogue: Catalogue) -> str:
    """A word of the limit that all disks with Write Accelerator share: no budget, for it counts small
    writes alone.
    """
    names = ", ".join(disk.device for disk in disks if disk.is_write_accelerated)
    if not names:
        return ""
    words = f"{names}: writes of up to 64 KiB share"
    known = None if size is None else accelerated_iops(catalogue, size.name)
    if known is None:
        limit = "the VM's limit of Write Accelerator, which is in Microsoft's table"
        return f"{words} {limit}: {WRITE_ACCELERATOR}"
    return f"{words} the {known[0]:,.0f} IOPS of the VM's Write Accelerator ({known[1]})"


def undocumented(size: VmSize, disks: Iterable[DiskIdentity]) -> Iterator[str]:
    """A word for each lane of remote disks that is not documented, or in one dimension only."""
    yield from _undocumented(size, size.uncached, "remote disks")
    if size.ultra and any(is_uncacheable(disk.sku) for disk in disks):
        yield from _undocumented(size, size.ultra, "Ultra and Premium SSD v2 disks")


def _undocumented(size: VmSize, lane: Ceiling, disks: str) -> Iterator[str]:
    if lane.iops is not None and lane.bytes_per_second is not None:
        return
    what = f"what its {disks} share"
    if lane:
        missing = "IOPS" if lane.iops is None else "throughput"
        what = f"the {missing} that its {disks} share"
    yield f"{size.name}: {what} is documented nowhere that was found: unknown"
