"""What Azure has on offer to lift a limit: larger tiers, bursting, host caching, Premium SSD in place of
Standard, more provisioned for Premium SSD v2 and Ultra disks, larger VM sizes, the NVMe controller.

Tiers and on-demand bursting: disks-change-performance.md, disks-performance-tiers.md, disk-bursting.md; what is provisioned:
disks-types.md; Premium in place of Standard: disks-convert-types.md (2025-04); the controller:
enable-nvme-faqs.yml (2025-01).

https://learn.microsoft.com/azure/virtual-machines/disks-change-performance
https://learn.microsoft.com/azure/virtual-machines/disk-bursting
https://learn.microsoft.com/azure/virtual-machines/disks-types
https://learn.microsoft.com/azure/virtual-machines/disks-convert-types
https://learn.microsoft.com/azure/virtual-machines/enable-nvme-faqs
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ioplateau.limits.budgets import Kind
from ioplateau.limits.ceilings import Ceiling, gives_more
from ioplateau.limits.clouds.azure import managed
from ioplateau.limits.clouds.azure.sold import lane_limits, lane_of
from ioplateau.limits.clouds.azure.tables import (
    DiskTier,
    VmSize,
    disk_tier,
    disk_tiers,
    vm_size,
    vm_sizes,
)
from ioplateau.limits.clouds.identity import LOCAL, TEMPORARY, DiskIdentity, Identity
from ioplateau.limits.lifting.step import Choice, provisioned, with_disk
from ioplateau.limits.tables import Catalogue

MOST_SMALL_GIB = 4096.0
MOST_TIERS = 2  # next ones that give more
# Nobody enlarges a disk further for its limits alone, for it cannot be made smaller again.
MOST_GROWTH = 4
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
    is_cached = disk.caching.lower() not in ("", "none")
    for larger in _larger_tiers(disk, tier, catalogue):
        size = f"{larger.size_gib:,.0f} GiB" if larger.size_gib else "larger"
        changed = disk._replace(tier=larger.tier, iops=None, bytes_per_second=None)
        if _is_reachable(tier, larger):
            size = f"performance tier without downtime, or {size}"
        else:
            changed = changed._replace(size_gib=larger.size_gib)
        if is_cached and managed.has_no_cache(changed, larger):
            size += ", which has no host cache"
        what = f"{larger.tier} ({size}) in place of {tier.tier} for {name}"
        yield Choice(what, with_disk(identity, name, changed), ladder=name)
    yield from _premium(identity, name, tier, catalogue)
    if managed.may_burst_on_demand(disk, tier) and not disk.on_demand_burst:
        words = f"on-demand bursting of {name} (billed)"
        bursting = with_disk(identity, name, disk._replace(on_demand_burst=True))
        yield Choice(words, bursting)
    if not is_cached and not managed.has_no_cache(disk, tier):
        words = f"host caching ReadOnly for {name}, for reads that the cache holds"
        cached = with_disk(identity, name, disk._replace(caching="ReadOnly"))
        yield Choice(words, cached, is_cached=True)


def _premium(
    identity: Identity, name: str, tier: DiskTier, catalogue: Catalogue
) -> Iterable[Choice]:
    """A Standard disk made a Premium SSD of its size, where needed with the first performance tier
    that gives more, on a VM that takes one.
    """
    disk, size = identity.disks[name], vm_size(catalogue, identity.vm_size)
    is_taken = size is not None and size.premium_storage is True and _may_stop(identity)
    if not is_taken or not tier.sku.startswith("Standard") or disk.size_gib is None:
        return
    sku = "Premium_ZRS" if tier.sku.endswith("ZRS") else "Premium_LRS"
    own = disk_tier(catalogue, sku, disk.size_gib)
    if own is None:
        return
    for raised in disk_tiers(catalogue, own.generation, sku):
        is_own = raised.tier == own.tier
        is_possible = is_own or managed.can_be_raised(own.tier, raised.tier)
        if is_possible and gives_more(raised.base, tier.base):
            to = own.tier if is_own else f"{own.tier} with performance tier {raised.tier}"
            words = f"Premium SSD {to} in place of {tier.tier} for {name} (the VM deallocated)"
            changed = disk._replace(
                sku=sku, tier="" if is_own else raised.tier, iops=None, bytes_per_second=None
            )
            yield Choice(words, with_disk(identity, name, changed))
            return


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


def _larger_tiers(disk: DiskIdentity, tier: DiskTier, catalogue: Catalogue) -> list[DiskTier]:
    """The next ones, each with more than the one before: P50 has no more than P40."""
    own_gib = disk.size_gib or tier.size_gib or 0.0
    found: list[DiskTier] = []
    for other in disk_tiers(catalogue, tier.generation, tier.sku):
        gib = other.size_gib or 0.0
        is_near = _is_reachable(tier, other) or gib <= MOST_GROWTH * own_gib
        least = found[-1].base if found else tier.base
        if gib > (tier.size_gib or 0.0) and is_near and gives_more(other.base, least):
            found.append(other)
    return found[:MOST_TIERS]


def _larger(identity: Identity, kind: Kind, catalogue: Catalogue) -> Iterable[Choice]:
    """The next sizes of the family that have more: the same letters, features and version. In place of
    one with constrained vCPUs (software is licensed by them) others such, where there are any.
    """
    present = _SIZE.fullmatch(identity.vm_size)
    now = vm_size(catalogue, identity.vm_size, identity.controller)
    if present is None or now is None:
        return
    yield from _other_controller(identity, now, kind, catalogue)
    of, vcpus = _family(present), int(present[2])
    whole: dict[int, VmSize] = {}
    constrained: dict[int, VmSize] = {}
    for name in vm_sizes(catalogue, f"standard_{of[0]}"):
        other = _SIZE.fullmatch(name)
        if other is None or _family(other) != of or int(other[2]) <= vcpus:
            continue
        size = vm_size(catalogue, name, identity.controller)
        if size is None or not gives_more(_lane(size, kind), _lane(now, kind)):
            continue
        if not _can_become(now, size):
            continue
        number = int(other[2])
        if not other[3]:
            whole[number] = size
        elif _active(present) <= _active(other):
            # Of those that differ in their active vCPUs alone that with the fewest.
            alike = constrained.get(number, size)
            constrained[number] = min(alike, size, key=_active_of)
    offered = constrained if present[3] and constrained else whole
    lost = _lost(identity)
    for _, size in sorted(offered.items(), key=lambda each: each[0])[:MOST_SIZES]:
        larger = identity._replace(vm_size=size.name)
        yield Choice(f"{size.name} in place of {now.name}{lost}", larger, ladder="size")


def _can_become(now: VmSize, size: VmSize) -> bool:
    """Whether Azure resizes a VM so: no VM gets a temporary disk or loses it by that, and none loses
    premium storage (azure-vms-no-temp-disk.yml).

    https://learn.microsoft.com/azure/virtual-machines/azure-vms-no-temp-disk
    """
    is_premium = size.premium_storage is True or now.premium_storage is not True
    return is_premium and now.has_temporary == size.has_temporary


def _other_controller(
    identity: Identity, now: VmSize, kind: Kind, catalogue: Catalogue
) -> Iterable[Choice]:
    """The NVMe controller in place of SCSI, where a size has more with it."""
    size = vm_size(catalogue, identity.vm_size, "NVMe")
    if identity.controller != "SCSI" or size is None or not size.controller:
        return
    if not _may_stop(identity):
        return
    if gives_more(_lane(size, kind), _lane(now, kind)):
        words = f"the NVMe disk controller in place of SCSI for {now.name}"
        needs = (
            "the VM deallocated; needs Generation 2, an image that supports it, no Trusted Launch"
        )
        yield Choice(f"{words} ({needs})", identity._replace(controller="NVMe"))


def _may_stop(identity: Identity) -> bool:
    """A VM with an ephemeral OS disk cannot be stopped and deallocated (ephemeral-os-disks.md).

    https://learn.microsoft.com/azure/virtual-machines/ephemeral-os-disks
    """
    return not any(disk.is_ephemeral for disk in identity.disks.values())


def _lost(identity: Identity) -> str:
    """A word of what another size leaves behind: the disks that the VM itself has, for they are those of
    a host (ephemeral-os-disks.md, enable-nvme-temp-faqs.yml).

    https://learn.microsoft.com/azure/virtual-machines/enable-nvme-temp-faqs
    """
    own = [
        name
        for name, disk in identity.disks.items()
        if disk.role in (LOCAL, TEMPORARY) or disk.is_ephemeral
    ]
    if not own:
        return ""
    names = own[0] if len(own) == 1 else f"{len(own)} disks of the VM, as {own[0]},"
    return f" (what is on {names} is lost)"


def _family(size: re.Match[str]) -> tuple[str, str, str]:
    """What all sizes of a family share: D, s, _v5 of Standard_D8s_v5."""
    letters, _, _, features, version = (part or "" for part in size.groups())
    return letters.lower(), features.lower(), version.lower()


def _active(size: re.Match[str]) -> int:
    """The vCPUs that are active: 8 of Standard_E32-8s_v5."""
    return int(size[3][1:] if size[3] else size[2])


def _active_of(size: VmSize) -> int:
    found = _SIZE.fullmatch(size.name)
    return 0 if found is None else _active(found)


def _lane(size: VmSize, kind: Kind) -> Ceiling:
    return {Kind.VM_CACHED: size.cached, Kind.VM_ULTRA: size.ultra}.get(kind, size.uncached)
