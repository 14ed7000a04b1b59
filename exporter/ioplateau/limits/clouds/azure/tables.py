"""Azure's tables: VM sizes, managed-disk tiers.

Units as in the tables' column names (data/limits/README.md) until here, base units after.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ioplateau.limits.ceilings import Ceiling, with_credit
from ioplateau.limits.tables import OWN_SOURCE, Catalogue
from ioplateau.limits.units import kibibytes, megabits, megabytes

# The newest price list first: a disk has no field that tells when it was bought.
DISK_GENERATIONS = ("2026-08", "2023-10", "2018-05", "2016-2017")
# disk-bursting.md: credit that is full lasts so long at the burst rate.
# https://learn.microsoft.com/azure/virtual-machines/disk-bursting
BURST_SECONDS = 1800


class VmSize(NamedTuple):
    """One Azure VM size. None: documented nowhere, never 0."""

    name: str
    vcpus: int | None
    max_data_disks: int | None
    premium_storage: bool | None
    uncached: Ceiling
    ultra: Ceiling  # the lane of Ultra and Premium SSD v2 disks; empty: the size has none
    cached: Ceiling  # shared with the temporary disk
    has_temporary: bool  # a SCSI temporary ("resource") disk
    temporary: Ceiling  # reads
    temporary_write_bytes_per_second: float | None
    local_disks: int | None
    local_disk_gib: float | None
    local_read: Ceiling  # all local NVMe disks together
    local_write: Ceiling
    network_bytes_per_second: float | None
    standard_disk_iops: float | None
    controller: str  # "NVMe" where the entry is of that controller, else ""
    source: str
    date: str
    basis: str


class DiskTier(NamedTuple):
    """One Azure managed-disk tier of one price list."""

    generation: str
    sku: str
    tier: str
    size_gib: float | None  # the largest disk of this tier
    base: Ceiling
    on_demand: Ceiling  # opt-in burst without credit
    performance_plus: Ceiling
    min_iops: float | None
    max_iops: float | None
    max_bytes_per_second: float | None
    iops_per_gib: float | None
    bytes_per_second_per_iops: float | None
    operation_bytes: int | None  # a larger request counts as several
    source: str
    listed: str  # what a limit of it names: the price list, and the user's row that changed it


def vm_size(catalogue: Catalogue, name: str, controller: str | None = None) -> VmSize | None:
    """An Azure VM size by name, "Standard_" optional; its NVMe variant if the controller is that."""
    for candidate in (name, f"Standard_{name}"):
        line = catalogue.line("azure_vm_sizes", candidate)
        if line is not None:
            break
    else:
        return None
    row = json.loads(line)
    if (controller or "").lower() == "nvme":
        variant = catalogue.line("azure_vm_sizes_nvme_controller", candidate)
        if variant is not None:
            row |= _of_controller(json.loads(variant))
    return _vm_size(row)


def accelerated_iops(catalogue: Catalogue, name: str) -> tuple[float, str] | None:
    """Of small writes to all disks with Write Accelerator of a VM size, and who says so."""
    line = catalogue.line("azure_write_accelerator", name)
    if line is None:
        return None
    row = json.loads(line)
    source = f"{row.get('source', '')} {row.get('doc_date', '')}".strip()
    return None if row.get("iops") is None else (row["iops"], source)


def vm_sizes(catalogue: Catalogue, prefix: str) -> tuple[str, ...]:
    """Names of the sizes that begin so, in lower case."""
    lines = catalogue.lines("azure_vm_sizes", prefix)
    return tuple(json.loads(line)["name"].lower() for line in lines)


def _of_controller(variant: dict[str, Any]) -> dict[str, Any]:
    date = variant.pop("doc_date", "")  # an own row may have none
    # The base table's exact bytes are of the SCSI controller.
    return variant | {
        "date": date,
        "uncached_bps": None,
        "limits_basis": "docs",
    }


def _vm_size(row: Mapping[str, Any]) -> VmSize:
    return VmSize(
        name=row["name"],
        vcpus=row.get("vcpus"),
        max_data_disks=row.get("max_data_disks"),
        premium_storage={"yes": True, "no": False}.get(row.get("premium_io", "")),
        uncached=_lane(row, "uncached", exact=row.get("uncached_bps")),
        ultra=_lane(row, "uncached_ultra"),
        cached=_lane(row, "cached"),
        has_temporary=row.get("temp_disk_gib") is not None,
        temporary=Ceiling(row.get("temp_iops"), megabytes(row.get("temp_read_mbps"))),
        temporary_write_bytes_per_second=megabytes(row.get("temp_write_mbps")),
        local_disks=row.get("local_nvme_disks"),
        local_disk_gib=row.get("local_nvme_disk_gib"),
        local_read=Ceiling(
            row.get("local_nvme_read_iops"), megabytes(row.get("local_nvme_read_mbps"))
        ),
        local_write=Ceiling(
            row.get("local_nvme_write_iops"), megabytes(row.get("local_nvme_write_mbps"))
        ),
        network_bytes_per_second=megabits(row.get("network_bandwidth_mbps")),
        standard_disk_iops=row.get("std_iops_per_disk"),
        controller=row.get("disk_controller", ""),
        source=row.get("source", ""),
        date=row.get("date", ""),
        basis=row.get("limits_basis", ""),
    )


def _lane(row: Mapping[str, Any], lane: str, exact: float | None = None) -> Ceiling:
    return with_credit(
        row.get(f"{lane}_iops"),
        exact if exact is not None else megabytes(row.get(f"{lane}_mbps")),
        row.get(f"burst_{lane}_iops"),
        megabytes(row.get(f"burst_{lane}_mbps")),
        seconds=BURST_SECONDS,
    )


def disk_tier(catalogue: Catalogue, sku: str, size_gib: float) -> DiskTier | None:
    """The tier of a disk of this SKU and size, in the newest price list that has it."""
    for generation in DISK_GENERATIONS:
        for line in catalogue.lines("azure_disks", f"{generation}/{sku}/"):
            row = json.loads(line)
            most = row.get("size_gib")
            if most is not None and (row.get("size_gib_min_exclusive") or 0) < size_gib <= most:
                return _disk_tier(row)
    return None


def named_tier(catalogue: Catalogue, name: str) -> DiskTier | None:
    """A tier by its name ("P30", "E10", "S4"), locally redundant, from the newest list."""
    sku = {"p": "Premium_LRS", "e": "StandardSSD_LRS", "s": "Standard_LRS"}.get(name[:1].lower())
    is_tier = sku is not None and name[1:].isdecimal()
    for generation in DISK_GENERATIONS if is_tier else ():
        line = catalogue.line("azure_disks", f"{generation}/{sku}/{name}")
        if line is not None:
            return _disk_tier(json.loads(line))
    return None


def disk_tiers(catalogue: Catalogue, generation: str, sku: str) -> tuple[DiskTier, ...]:
    """Every tier of a SKU in one price list, smallest first."""
    lines = catalogue.lines("azure_disks", f"{generation}/{sku}/")
    tiers = (_disk_tier(json.loads(line)) for line in lines)
    return tuple(sorted(tiers, key=lambda tier: tier.size_gib or 0))


def _disk_tier(row: Mapping[str, Any]) -> DiskTier:
    base = with_credit(
        row.get("base_iops"),
        megabytes(row.get("base_mbps")),
        row.get("burst_iops"),
        megabytes(row.get("burst_mbps")),
        seconds=BURST_SECONDS,
    )
    return DiskTier(
        generation=row["generation"],
        sku=row["sku"],
        tier=row["tier"],
        size_gib=row.get("size_gib"),
        base=base._replace(
            bucket_operations=row.get("burst_bucket_ios") or base.bucket_operations,
            bucket_bytes=megabytes(row.get("burst_bucket_mb")) or base.bucket_bytes,
        ),
        on_demand=Ceiling(
            row.get("ondemand_burst_iops"), megabytes(row.get("ondemand_burst_mbps"))
        ),
        performance_plus=Ceiling(row.get("perfplus_iops"), megabytes(row.get("perfplus_mbps"))),
        min_iops=row.get("min_iops"),
        max_iops=row.get("max_iops"),
        max_bytes_per_second=megabytes(row.get("max_mbps")),
        iops_per_gib=row.get("iops_per_gib"),
        bytes_per_second_per_iops=megabytes(row.get("mbps_per_iops")),
        operation_bytes=kibibytes(row.get("max_io_kib_counted_as_one_op")),
        source=row.get("source", ""),
        listed=_listed(row),
    )


def _listed(row: Mapping[str, Any]) -> str:
    """The package's row by its list; a user's by its source, behind the list that it changes."""
    listed = f"azure_disks {row['generation']}"
    own = row.get(OWN_SOURCE)
    if own is None:
        return listed
    is_added = row["source"] == own
    return f"{own} {row['generation']}" if is_added else f"{listed}, changed by {own}"
