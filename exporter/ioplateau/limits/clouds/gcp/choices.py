"""What Google Cloud has on offer to lift a limit: larger persistent disks and faster types of them, more
provisioned for Hyperdisks whose size says how much they can have, machine types with more vCPUs.

A disk grows while it is used; one of another type is a new one, made of a snapshot; a machine type
changes while the VM is stopped.

https://docs.cloud.google.com/compute/docs/disks/performance
https://docs.cloud.google.com/compute/docs/disks/hyperdisk-performance
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplateau.limits.budgets import Kind
from ioplateau.limits.ceilings import gives_more
from ioplateau.limits.clouds.gcp.sold import cap_of, provisionable, sold
from ioplateau.limits.clouds.gcp.tables import Cap, disk_type, machine_name, vcpus_above
from ioplateau.limits.clouds.identity import LOCAL, Identity
from ioplateau.limits.lifting.step import Choice, provisioned, with_disk
from ioplateau.limits.tables import Catalogue

MOST_SIZES = 2
MOST_GIB = 65_536  # of one disk; https://docs.cloud.google.com/compute/docs/disks/persistent-disks
FASTER = {"pd-standard": "pd-balanced", "pd-balanced": "pd-ssd"}


def choices(
    identity: Identity, disks: Sequence[str], kind: Kind, catalogue: Catalogue
) -> Iterable[Choice]:
    """Changes for a disk, where its own limit binds, or what all of its type share; for the machine
    type, where that does.
    """
    if kind is Kind.DISK:
        for name in disks:
            yield from _provisioned(identity, name, catalogue)
            yield from _faster(identity, name, catalogue)
            yield from _larger_disk(identity, name, catalogue)
        return
    largest = max(disks, key=lambda name: identity.disks[name].size_gib or 0.0)
    yield from _larger_disk(identity, largest, catalogue)
    yield from _larger_machine(identity, disks, catalogue)


def _provisioned(identity: Identity, name: str, catalogue: Catalogue) -> Iterable[Choice]:
    disk = identity.disks[name]
    kind = disk_type(catalogue, disk.sku)
    if kind is None or disk.size_gib is None or kind.number("max_iops_per_gib") is None:
        return
    most = provisionable(kind, disk.size_gib)
    if kind.number("mibps_per_iops") is not None:  # the throughput follows
        most = most._replace(bytes_per_second=None)
    lane = sold(identity, catalogue).lanes.get(Kind.VM_UNCACHED, ())
    yield provisioned(f"{kind.name} {name}", identity, name, most, "MiB/s", lane)


def _faster(identity: Identity, name: str, catalogue: Catalogue) -> Iterable[Choice]:
    disk = identity.disks[name]
    sku = FASTER.get(disk.sku, "")
    if sku and disk.size_gib is not None and cap_of(catalogue, identity.vm_size, sku) is not None:
        words = f"{sku} in place of {disk.sku} for {name}, made of a snapshot"
        yield Choice(words, with_disk(identity, name, disk._replace(sku=sku)))


def _larger_disk(identity: Identity, name: str, catalogue: Catalogue) -> Iterable[Choice]:
    """Twice the size of a persistent disk: of all of its type together the size decides."""
    disk = identity.disks[name]
    kind = disk_type(catalogue, disk.sku)
    if kind is None or kind.is_provisioned or disk.role == LOCAL or disk.size_gib is None:
        return
    gib = disk.size_gib * 2
    if gib > MOST_GIB:
        return
    words = f"{disk.sku} of {gib:,.0f} GiB in place of {disk.size_gib:,.0f} for {name}"
    yield Choice(words, with_disk(identity, name, disk._replace(size_gib=gib)))


def _larger_machine(
    identity: Identity, disks: Sequence[str], catalogue: Catalogue
) -> Iterable[Choice]:
    """The next vCPU counts of the series that let these disks do more; which types there are of each,
    no table says.
    """
    series = machine_name(identity.vm_size).series
    skus = {identity.disks[name].sku for name in disks}
    sizes = [identity.vm_size]
    for vcpus in vcpus_above(catalogue, identity.vm_size):
        size = f"{series}-standard-{vcpus}"
        pairs = ((cap_of(catalogue, each, sku) for each in (size, sizes[-1])) for sku in skus)
        if any(_gives_more(other, now) for other, now in pairs):
            sizes.append(size)
    for size in sizes[1 : MOST_SIZES + 1]:
        words = (
            f"{series.upper()} with {machine_name(size).vcpus} vCPUs in place of {identity.vm_size}"
        )
        yield Choice(words, identity._replace(vm_size=size))


def _gives_more(other: Cap | None, now: Cap | None) -> bool:
    if other is None or now is None:
        return False
    pairs = ((other.read, now.read), (other.write, now.write), (other.total, now.total))
    return any(gives_more(more, less) for more, less in pairs)
