"""Azure machines that somebody describes: what is assumed of them, and what cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplateau.limits.budgets import Kind, Limit
from ioplateau.limits.ceilings import Ceiling, limits_of
from ioplateau.limits.clouds.azure import managed
from ioplateau.limits.clouds.azure import sold as azure
from ioplateau.limits.clouds.azure.tables import VmSize, disk_tier, named_tier, vm_size
from ioplateau.limits.clouds.identity import DiskIdentity, Identity, Sold, SoldDisk
from ioplateau.limits.clouds.protocol import Supposed
from ioplateau.limits.tables import Catalogue

# What people call them.
SKUS = {"ultra": "UltraSSD_LRS", "premiumv2": "PremiumV2_LRS"}


def what_if(identity: Identity, catalogue: Catalogue) -> Supposed:
    """The limits of an Azure VM of this size with these disks."""
    wrong: list[str] = []
    notices: list[str] = []
    size = vm_size(catalogue, identity.vm_size, identity.controller) if identity.vm_size else None
    disks = {}
    for name, ordered in identity.disks.items():
        disk = ordered._replace(sku=SKUS.get(ordered.sku.lower(), ordered.sku))
        unsold = _unsold_size(disk, catalogue)
        if unsold:
            wrong.append(unsold)
            continue
        found, reasons = azure.sold_disk(disk, size, catalogue)
        if not found.limits:
            found, reasons = _most(catalogue, disk, found, reasons, notices)
        elif managed.is_uncacheable(disk.sku):
            most = _most_throughput(catalogue, disk, notices)
            found = found._replace(limits=(*found.limits, *most))
            # One figure is answer enough, if it is said that the other is missing.
            notices += () if most else reasons
            reasons = ()
        disks[name] = found
        notices += found.notes
        wrong += reasons
    lanes: dict[Kind, tuple[Limit, ...]] = {}
    if size is not None:
        notices += _doubts(size, [disk.identity for disk in disks.values()], catalogue)
        notices += _two_lanes(disks.values())
        lanes = azure.lane_limits(size)
    return Supposed(
        "" if size is None else size.name,
        Sold(identity, lanes, disks),
        tuple(dict.fromkeys(wrong)),
        tuple(dict.fromkeys(notices)),
    )


def _unsold_size(disk: DiskIdentity, catalogue: Catalogue) -> str:
    """What is wrong with a size that the disk's SKU, or the tier it is named by, does not have; "": nothing."""
    named = named_tier(catalogue, disk.sku)
    sku = disk.sku if named is None else named.sku
    if disk.size_gib is None or sku.lower() not in map(str.lower, managed.SKUS):
        return ""
    sized = disk_tier(catalogue, sku, disk.size_gib)
    if sized is None:
        return f"{disk.sku}: {sku} of {disk.size_gib:g} GiB is in no table"
    if named is None or sized.tier == named.tier:
        return ""
    return f"{disk.sku}: a disk of {disk.size_gib:g} GiB is no {named.tier} but {sized.tier}"


def _most(
    catalogue: Catalogue,
    disk: DiskIdentity,
    sold: SoldDisk,
    reasons: tuple[str, ...],
    notices: list[str],
) -> tuple[SoldDisk, tuple[str, ...]]:
    """An Ultra or Premium SSD v2 disk of which only the size is said: the most it can be set to."""
    if not managed.is_uncacheable(disk.sku):
        return sold, reasons
    tier = None if disk.size_gib is None else disk_tier(catalogue, disk.sku, disk.size_gib)
    most = None if tier is None else managed.provisionable(tier, disk.size_gib or 0, disk.iops)
    if not most or tier is None:
        return sold, (f"{disk.sku}: say its size (size=<GiB>) or iops= and mbps=",)
    words = f"{tier.sku} of {disk.size_gib:g} GiB: taken as set to the most it can be"
    notices.append(words)
    limits = limits_of(most, f"{tier.sku}: the most, {tier.listed}")
    return sold._replace(limits=limits), ()


def _most_throughput(
    catalogue: Catalogue, disk: DiskIdentity, notices: list[str]
) -> tuple[Limit, ...]:
    """Of operations alone: the most throughput that so many can be set to; empty: not known."""
    if disk.size_gib is None or disk.bytes_per_second is not None:
        return ()
    tier = disk_tier(catalogue, disk.sku, disk.size_gib)
    most = None if tier is None else managed.provisionable(tier, disk.size_gib, disk.iops)
    if most is None or tier is None or most.bytes_per_second is None:
        return ()
    notices.append(f"{tier.sku} with {disk.iops:,.0f} IOPS: throughput taken as the most it can be")
    source = f"{tier.sku}: the most, {tier.listed}"
    return limits_of(Ceiling(bytes_per_second=most.bytes_per_second), source)


def _two_lanes(disks: Iterable[SoldDisk]) -> list[str]:
    drawn = {kind for disk in disks for kind in disk.draws.read}
    if not {Kind.VM_UNCACHED, Kind.VM_ULTRA} <= drawn:
        return []
    words = (
        "the VM's limits of Premium disks and of Ultra and Premium SSD v2 disks are taken to add up"
    )
    return [
        f"{words}: how they act on each other is documented nowhere, it may be less than their sum"
    ]


def _doubts(size: VmSize, disks: Sequence[DiskIdentity], catalogue: Catalogue) -> list[str]:
    doubts = [azure.too_many(size, disks)]
    if size.uncached:  # else `ask` says that nothing is known
        doubts.extend(azure.undocumented(size, disks))
    premium = any(disk.sku.lower().startswith(("p", "ultra")) for disk in disks)
    if premium and size.premium_storage is False:
        doubts.append(f"{size.name} does not take premium disks")
    for disk in disks:
        if disk.caching.lower() in ("", "none"):
            continue
        without_effect = f"{disk.caching} is without effect"
        if managed.is_uncacheable(disk.sku):
            doubts.append(f"{disk.sku} has no host cache: {without_effect}")
        elif managed.is_too_large_to_cache(disk, managed.find_tier(disk, catalogue)):
            doubts.append(
                f"{disk.sku}: a disk of 4 TiB or more has no host cache: {without_effect}"
            )
    return [doubt for doubt in dict.fromkeys(doubts) if doubt]
