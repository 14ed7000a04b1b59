"""What Azure has on offer to lift a limit: larger tiers, bursting, host caching, more provisioned for
Premium SSD v2 and Ultra disks, larger VM sizes.

Tiers and on-demand bursting: disks-change-performance.md, disk-bursting.md; what is provisioned:
disks-types.md.

https://learn.microsoft.com/azure/virtual-machines/disks-change-performance
https://learn.microsoft.com/azure/virtual-machines/disk-bursting
https://learn.microsoft.com/azure/virtual-machines/disks-types
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ioplateau.limits.budgets import Kind
from ioplateau.limits.ceilings import Ceiling, gives_more
from ioplateau.limits.clouds.azure import managed
from ioplateau.limits.clouds.azure.sold import lane_limits, lane_of
from ioplateau.limits.clouds.azure.tables import DiskTier, VmSize, disk_tiers, vm_size, vm_sizes
from ioplateau.limits.clouds.identity import Identity
from ioplateau.limits.lifting.step import Choice, provisioned, with_disk
from ioplateau.limits.tables import Catalogue

MOST_SMALL_GIB = 4096.0
MOST_TIERS = 2  # next ones that give more
MOST_SIZES = 2
# Letters, vCPUs, constrained vCPUs, features, version: Standard_E16-4ads_v5.
_SIZE = re.compile(r"(?:standard_)?([a-z]+)(\d+)(-\d+)?([a-z]*)((?:_\w+)*)", re.IGNORECASE)


def choices(
    identity: Identity, disks: Sequence[str], kind: Kind, catalogue: Catalogue
) -> Iterable[Choice]:
    """Changes for a disk, where its own limit binds, and for the VM's size, where that does."""
    if kind is Kind.DISK:
        for name in disks:
            yield from _of_disk(identity, name, catalogue)
    else:
        yield from _larger(identity, kind, catalogue)


def _of_disk(identity: Identity, name: str, catalogue: Catalogue) -> Iterable[Choice]:
    disk = identity.disks[name]
    tier = managed.find_tier(disk, catalogue)
    if tier is None:
        return
    if managed.is_uncacheable(disk.sku):
        yield from _provisioned(identity, name, tier, catalogue)
        return
    for larger in _larger_tiers(tier, catalogue):
        size = f"{larger.size_gib:,.0f} GiB" if larger.size_gib else "larger"
        either = ", or as performance tier" if _is_reachable(tier, larger) else ""
        what = f"{larger.tier} ({size}{either}) in place of {tier.tier} for {name}"
        changed = disk._replace(tier=larger.tier, iops=None, bytes_per_second=None)
        yield Choice(what, with_disk(identity, name, changed))
    if managed.may_burst_on_demand(disk, tier) and not disk.on_demand_burst:
        words = f"on-demand bursting of {name} (billed)"
        bursting = with_disk(identity, name, disk._replace(on_demand_burst=True))
        yield Choice(words, bursting)
    is_cached = disk.caching.lower() not in ("", "none")
    if not is_cached and not managed.has_no_cache(disk, tier):
        words = f"host caching ReadOnly for {name}, for reads that the cache holds"
        cached = with_disk(identity, name, disk._replace(caching="ReadOnly"))
        yield Choice(words, cached, is_cached=True)


def _provisioned(
    identity: Identity, name: str, tier: DiskTier, catalogue: Catalogue
) -> Iterable[Choice]:
    """An Ultra or Premium SSD v2 disk set to the most of its size, as far as its lane goes."""
    disk, size = identity.disks[name], vm_size(catalogue, identity.vm_size, identity.controller)
    most = managed.provisionable(tier, disk.size_gib or 0.0)
    if disk.size_gib is None or not most:
        return
    lanes = {} if size is None else lane_limits(size)
    lane = lanes.get(lane_of(disk.sku, has_ultra_lane=Kind.VM_ULTRA in lanes), ())
    yield provisioned(f"{tier.sku} {name}", identity, name, most, "MB/s", lane)


def _is_reachable(tier: DiskTier, larger: DiskTier) -> bool:
    """Whether a disk may have a performance tier: up to P50 of up to 4 TiB, up to P80 above
    (disks-change-performance.md). Of other disks than Premium SSD none.

    https://learn.microsoft.com/azure/virtual-machines/disks-change-performance
    """
    small = (tier.size_gib or 0) <= MOST_SMALL_GIB
    return tier.tier.startswith("P") and ((larger.size_gib or 0) <= MOST_SMALL_GIB or not small)


def _larger_tiers(tier: DiskTier, catalogue: Catalogue) -> list[DiskTier]:
    above = [
        other
        for other in disk_tiers(catalogue, tier.generation, tier.sku)
        if (other.size_gib or 0) > (tier.size_gib or 0) and gives_more(other.base, tier.base)
    ]
    return above[:MOST_TIERS]


def _larger(identity: Identity, kind: Kind, catalogue: Catalogue) -> Iterable[Choice]:
    """The next sizes of the family that have more: the same letters, features and version."""
    present, now = _SIZE.fullmatch(identity.vm_size), vm_size(catalogue, identity.vm_size)
    if present is None or now is None:
        return
    of = _family(present)
    found: list[tuple[int, VmSize]] = []
    for name in vm_sizes(catalogue, f"standard_{of[0]}"):
        other = _SIZE.fullmatch(name)
        if other is None or other[3] or _family(other) != of or int(other[2]) <= int(present[2]):
            continue
        size = vm_size(catalogue, name, identity.controller)
        if size is not None and gives_more(_lane(size, kind), _lane(now, kind)):
            found.append((int(other[2]), size))
    for _, size in sorted(found, key=lambda each: each[0])[:MOST_SIZES]:
        yield Choice(f"{size.name} in place of {now.name}", identity._replace(vm_size=size.name))


def _family(size: re.Match[str]) -> tuple[str, str, str]:
    """What all sizes of a family share: D, s, _v5 of Standard_D8s_v5."""
    letters, _, _, features, version = (part or "" for part in size.groups())
    return letters.lower(), features.lower(), version.lower()


def _lane(size: VmSize, kind: Kind) -> Ceiling:
    return {Kind.VM_CACHED: size.cached, Kind.VM_ULTRA: size.ultra}.get(kind, size.uncached)
