"""What Google Cloud has on offer to lift a limit: more provisioned for Hyperdisks whose size says how much
they can have.

https://docs.cloud.google.com/compute/docs/disks/hyperdisk-performance
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplateau.limits.budgets import Kind
from ioplateau.limits.clouds.gcp.sold import provisionable, sold
from ioplateau.limits.clouds.gcp.tables import disk_type
from ioplateau.limits.clouds.identity import Identity
from ioplateau.limits.lifting.step import Choice, provisioned
from ioplateau.limits.tables import Catalogue


def choices(
    identity: Identity, disks: Sequence[str], kind: Kind, catalogue: Catalogue
) -> Iterable[Choice]:
    """Changes for a disk, where its own limit binds."""
    for name in disks if kind is Kind.DISK else ():
        yield from _of_disk(identity, name, catalogue)


def _of_disk(identity: Identity, name: str, catalogue: Catalogue) -> Iterable[Choice]:
    disk = identity.disks[name]
    kind = disk_type(catalogue, disk.sku)
    if kind is None or disk.size_gib is None or kind.number("max_iops_per_gib") is None:
        return
    most = provisionable(kind, disk.size_gib)
    if kind.number("mibps_per_iops") is not None:  # the throughput follows
        most = most._replace(bytes_per_second=None)
    lane = sold(identity, catalogue).lanes.get(Kind.VM_UNCACHED, ())
    yield provisioned(f"{kind.name} {name}", identity, name, most, "MiB/s", lane)
