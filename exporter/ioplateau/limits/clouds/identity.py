"""What a cloud says of this machine and its disks, and what these were sold with.

The same words for every cloud, so that topology and limits need not know which it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ioplateau.limits.budgets import Kind, Limit
from ioplateau.measure.mappings import NO_ENTRIES

OS, DATA, TEMPORARY, LOCAL = "os", "data", "temporary", "local"


class DiskIdentity(NamedTuple):
    """One disk as metadata and its kernel device tell it. None or empty: not told."""

    device: str = ""  # kernel name; empty: metadata knows the disk, the kernel does not
    role: str = ""  # os, data, temporary, local
    name: str = ""  # the provider's
    sku: str = ""  # Premium_LRS, gp3, pd-ssd
    tier: str = ""  # P30, where it is not the one of the size
    size_gib: float | None = None
    caching: str = ""  # None, ReadOnly, ReadWrite
    lun: int | None = None
    iops: float | None = None  # provisioned, as reported
    bytes_per_second: float | None = None
    is_ephemeral: bool = False  # an OS disk that lives on the VM's own cache or local disk
    on_demand_burst: bool = False
    performance_plus: bool = False
    is_shared: bool = False  # other VMs have it too; False also where nobody tells
    is_write_accelerated: bool = False  # Azure's Write Accelerator takes its small writes
    configured: str = ""  # rule that gave iops and bytes_per_second; empty: the provider did
    told_by: str = ""  # who told what it was sold as, where that was not the metadata service
    untold: str = ""  # why somebody who was to tell that did not, in words


class Identity(NamedTuple):
    """What this machine is. `disks` by kernel name; `unplaced` have no device we could name."""

    cloud: str
    vm_size: str = ""
    region: str = ""
    controller: str = ""  # NVMe, SCSI; empty: no remote disk tells
    disks: Mapping[str, DiskIdentity] = NO_ENTRIES
    unplaced: tuple[DiskIdentity, ...] = ()
    reasons: tuple[str, ...] = ()  # what could not be understood, in words


class Draws(NamedTuple):
    """What one I/O of a disk counts on. Kind.DISK is the disk's own limit."""

    read: tuple[Kind, ...]  # of a cached disk: a miss
    write: tuple[Kind, ...]
    read_hit: tuple[Kind, ...] = ()  # served by the host's cache; empty: there is none
    write_later: tuple[Kind, ...] = ()  # when the host flushes what it has acknowledged


# A disk that also draws on what all remote disks of the VM share, and one that does not.
REMOTE = Draws((Kind.VM_UNCACHED, Kind.DISK), (Kind.VM_UNCACHED, Kind.DISK))
OWN = Draws((Kind.DISK,), (Kind.DISK,))


class SoldDisk(NamedTuple):
    """A disk with the limits it was sold with; claims, not yet settled. notes: what is told of it
    that no table allows, and believed nevertheless, as tables age.
    """

    identity: DiskIdentity
    draws: Draws
    limits: tuple[Limit, ...] = ()
    operation_bytes: int | None = None  # a larger request counts as several
    info: Mapping[str, str] = NO_ENTRIES
    notes: tuple[str, ...] = ()


class Sold(NamedTuple):
    """What the whole machine was sold with, by lane of the VM and by disk. is_known_size: False: a VM
    size was told, and it is in no table. by_sku: what all disks of one SKU have together, where no
    lane says it. most_data_disks: that the VM size takes; None: not known.
    """

    identity: Identity
    lanes: Mapping[Kind, tuple[Limit, ...]] = NO_ENTRIES
    disks: Mapping[str, SoldDisk] = NO_ENTRIES
    reasons: tuple[str, ...] = ()
    is_known_size: bool = True
    by_sku: Mapping[str, tuple[Limit, ...]] = NO_ENTRIES
    most_data_disks: int | None = None
