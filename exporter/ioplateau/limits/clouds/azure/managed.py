"""Azure's managed disks: what one of a SKU, size and tier is sold with, as limits.

disks-types.md (2026-08), disk-bursting.md (2023-05) and disks-change-performance.md (2024-03) of
azure-compute-docs; figures from the tables.

https://learn.microsoft.com/azure/virtual-machines/disks-types
https://learn.microsoft.com/azure/virtual-machines/disk-bursting
https://learn.microsoft.com/azure/virtual-machines/disks-change-performance
"""

from __future__ import annotations

from collections.abc import Iterator

from ioplateau.limits.budgets import Limit
from ioplateau.limits.ceilings import NOTHING, Ceiling, limits_of
from ioplateau.limits.clouds.azure.tables import DiskTier, VmSize, disk_tier, named_tier
from ioplateau.limits.clouds.identity import DiskIdentity
from ioplateau.limits.clouds.provisioned import as_said, unprovisionable
from ioplateau.limits.tables import Catalogue

# The SKU API gave v3 to v5 throughput in MiB in 2023-10 and in MB in 2024-12: 4.86 % apart.
MB_OR_MIB = 0.05
# disk-bursting.md: smaller Premium SSDs have credit instead.
# https://learn.microsoft.com/azure/virtual-machines/disk-bursting
ON_DEMAND_ABOVE_GIB = 512
# premium-storage-performance.md: "Disk caching is not supported for disks 4 TiB and larger".
# https://learn.microsoft.com/azure/virtual-machines/premium-storage-performance
UNCACHEABLE_GIB = 4096.0
# disks-change-performance.md: to which tiers a disk's own can be raised.
# https://learn.microsoft.com/azure/virtual-machines/disks-change-performance
SMALL = ("P1", "P2", "P3", "P4", "P6", "P10", "P15", "P20", "P30", "P40", "P50")
LARGE = ("P60", "P70", "P80")

# As the SKU API spells them.
SKUS = (
    "Premium_LRS",
    "Premium_ZRS",
    "StandardSSD_LRS",
    "StandardSSD_ZRS",
    "Standard_LRS",
    "PremiumV2_LRS",
    "UltraSSD_LRS",
)


def is_uncacheable(sku: str) -> bool:
    """Ultra and Premium SSD v2 disks have no host cache, whatever a document says."""
    return sku.lower().startswith(("ultrassd", "premiumv2"))


def is_too_large_to_cache(disk: DiskIdentity, tier: DiskTier | None) -> bool:
    """Whether it has 4 TiB or more; without a size: whether its tier is of larger disks alone."""
    if disk.size_gib is not None:
        return disk.size_gib >= UNCACHEABLE_GIB
    return tier is not None and (tier.size_gib or 0.0) > UNCACHEABLE_GIB


def has_no_cache(disk: DiskIdentity, tier: DiskTier | None) -> bool:
    """Whether Azure gives this disk no host cache: by its SKU or size, or as several VMs have it.

    https://learn.microsoft.com/azure/virtual-machines/disks-shared
    """
    return is_uncacheable(disk.sku) or disk.is_shared or is_too_large_to_cache(disk, tier)


def find_tier(disk: DiskIdentity, catalogue: Catalogue) -> DiskTier | None:
    """The tier a disk has: the one named, or the one of its SKU and size."""
    name = disk.tier or disk.sku
    tier = named_tier(catalogue, name) if name else None
    if tier is None and disk.sku and disk.size_gib is not None:
        return disk_tier(catalogue, disk.sku, disk.size_gib)
    return tier


def managed(
    disk: DiskIdentity, tier: DiskTier | None, size: VmSize | None, catalogue: Catalogue
) -> tuple[tuple[Limit, ...], tuple[str, ...], tuple[str, ...]]:
    """The limits of a managed disk, SoldDisk.notes, and what is wrong with what is said of it."""
    what = disk.device or disk.name or disk.tier or disk.sku
    said = as_said(disk, "azure/instance: provisioned")
    if is_uncacheable(disk.sku):
        if said:
            return said, _excess(disk, tier), (*_missing(what, disk), *_of_readers(what, disk))
        words = f"{disk.sku} is provisioned, and nobody tells with what"
        return (), (), (f"{what}: {words}: say [[disk]] iops and bytes_per_second",)
    if tier is None:
        if said and not disk.sku and not disk.tier:
            return said, (), ()
        unknown = "" if said else ": limits unknown"
        return said, (), (f"{what}: {_in_no_table(disk)}{unknown}{_wanted(disk)}",)
    own = tier if not disk.tier else of_size(disk, catalogue)
    limits = as_said(disk, "azure/instance: provisioned", _of_tier(disk, tier, size))
    notes = unprovisionable(what, disk, tier.tier)
    return limits, notes, tuple(_contradictions(what, disk, tier, own))


def _missing(what: str, disk: DiskIdentity) -> tuple[str, ...]:
    """A word where only one of the two figures of a provisioned disk is told."""
    figures = (("iops", disk.iops), ("bytes_per_second", disk.bytes_per_second))
    return tuple(
        f"{what}: {disk.sku} is provisioned with {key} too, and nobody tells how much: say [[disk]] {key}"
        for key, figure in figures
        if figure is None
    )


def _of_readers(what: str, disk: DiskIdentity) -> tuple[str, ...]:
    """A word of the other two figures of a shared Ultra or Premium SSD v2 disk: DiskIOPSReadOnly and
    DiskMBpsReadOnly, of all VMs together that cannot write (disks-shared.md, 2025-12).

    https://learn.microsoft.com/azure/virtual-machines/disks-shared
    """
    if not disk.is_shared or disk.configured:
        return ()
    words = "where this VM only reads, what was set for readers is its limit, and nobody tells that"
    return (f"{what}: {words}: say [[disk]] iops and bytes_per_second",)


def _in_no_table(disk: DiskIdentity) -> str:
    sku = disk.sku
    if disk.tier:
        return f"{disk.tier!r} is no tier of the table"
    if not sku:
        return "nobody tells its SKU"
    if disk.size_gib is not None:
        return f"{sku} of {disk.size_gib:g} GiB is in no table"
    if sku.lower() in map(str.lower, SKUS):
        return f"{sku} without a size"
    return f"{sku!r} is no tier and no SKU of the table, as P30 and Premium_LRS are"


def _wanted(disk: DiskIdentity) -> str:
    return _meant(disk.sku) if disk.sku or disk.tier else ": say [[disk]] sku"


def _meant(sku: str) -> str:
    if sku in SKUS:
        return ""
    from difflib import get_close_matches  # only who has made a mistake needs it

    near = get_close_matches(sku, SKUS, n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else ""


def of_size(disk: DiskIdentity, catalogue: Catalogue) -> DiskTier | None:
    """The tier of the disk's SKU and size, whatever tier it was raised to."""
    named = named_tier(catalogue, disk.sku) if disk.sku else None
    if named is not None:
        return named
    if disk.size_gib is None:
        return None
    return disk_tier(catalogue, disk.sku or "Premium_LRS", disk.size_gib)


def _contradictions(
    what: str, disk: DiskIdentity, tier: DiskTier, own: DiskTier | None
) -> Iterator[str]:
    """What Azure does not let be; it is taken as it is said nevertheless."""
    if disk.tier and disk.tier.lower() != tier.tier.lower():
        yield f"{what}: {disk.tier!r} is no tier of the table: taken as {tier.tier}"
    if own is not None and not can_be_raised(own.tier, tier.tier):
        yield f"{what}: its size makes it {own.tier}, which cannot be set to {tier.tier}"
    if disk.on_demand_burst and disk.is_shared:
        yield f"{what}: a shared disk does not burst: on-demand bursting is without effect"
    elif disk.on_demand_burst and not may_burst_on_demand(disk, tier):
        of = f"{disk.size_gib:g} GiB" if tier.on_demand else tier.tier
        yield (
            f"{what}: on-demand bursting is of Premium SSDs above {ON_DEMAND_ABOVE_GIB} GiB, "
            f"not of {of}: without effect"
        )
    if disk.performance_plus and not tier.performance_plus:
        yield f"{what}: {tier.tier} {tier.sku} has no performance plus: without effect"


def may_burst_on_demand(disk: DiskIdentity, tier: DiskTier) -> bool:
    """Whether Azure lets a disk of this size and tier that one VM has; a tier that it was raised to
    does not.
    """
    is_small = disk.size_gib is not None and disk.size_gib <= ON_DEMAND_ABOVE_GIB
    return bool(tier.on_demand) and not is_small and not disk.is_shared


def can_be_raised(own: str, to: str) -> bool:
    """Whether a disk whose size makes it `own` may have the performance tier `to`."""
    if own == to:
        return True
    return any(
        own in tiers and to in tiers and tiers.index(own) < tiers.index(to)
        for tiers in (SMALL, LARGE)
    )


def _excess(disk: DiskIdentity, tier: DiskTier | None) -> tuple[str, ...]:
    """A note for each provisioned figure that no disk of this size can have."""
    if tier is None or disk.size_gib is None:
        return ()
    most = provisionable(tier, disk.size_gib, disk.iops)
    pairs = (
        ("IOPS", disk.iops, most.iops),
        ("bytes per second", disk.bytes_per_second, most.bytes_per_second),
    )
    return tuple(
        f"{disk.device or disk.name or disk.sku}: {provisioned:,.0f} {unit} is more than {tier.sku} of "
        f"{disk.size_gib:g} GiB can be set to ({ceiling:,.0f}): believed"
        for unit, provisioned, ceiling in pairs
        if provisioned is not None
        and ceiling is not None
        and provisioned > ceiling * (1 + MB_OR_MIB)
    )


def _of_tier(disk: DiskIdentity, tier: DiskTier, size: VmSize | None) -> tuple[Limit, ...]:
    raised = " (performance tier)" if disk.tier and disk.size_gib is not None else ""
    source = f"{tier.tier}{raised} {tier.sku}, {tier.listed}"
    ceiling = tier.base
    if disk.is_shared and tier.sku.startswith("Premium"):
        # disks-shared.md: a Premium SSD of several VMs does not burst.
        # https://learn.microsoft.com/azure/virtual-machines/disks-shared
        ceiling = Ceiling(ceiling.iops, ceiling.bytes_per_second)
    if disk.performance_plus and tier.performance_plus:
        ceiling, source = tier.performance_plus, f"{source}, performance plus"
    if disk.on_demand_burst and may_burst_on_demand(disk, tier):
        # Opt-in, billed by use, and without a bucket: simply a higher limit.
        ceiling, source = tier.on_demand, f"{source}, on-demand burst"
    most = size.standard_disk_iops if size is not None else None
    if most is not None and ceiling.iops is not None and most < ceiling.iops:
        ceiling, source = (
            ceiling._replace(iops=most),
            f"{source}, at most {most:g} IOPS on {size.name if size else ''}",
        )
    return limits_of(ceiling, source, tolerance=MB_OR_MIB)


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
