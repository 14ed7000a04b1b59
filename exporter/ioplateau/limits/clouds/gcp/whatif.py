"""Google Cloud VMs that somebody describes: what is assumed of them, and what cannot be."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from ioplateau.limits.budgets import Dimension, Direction
from ioplateau.limits.ceilings import Ceiling
from ioplateau.limits.clouds.gcp.sold import in_no_table, sold, together, unknown, ways
from ioplateau.limits.clouds.gcp.tables import (
    caps,
    disk_type,
    has_hyperdisks,
    kind_of,
    kinds_of,
    machine_name,
    may_be_sold,
    vcpus_of,
)
from ioplateau.limits.clouds.identity import LOCAL, DiskIdentity, Identity
from ioplateau.limits.clouds.protocol import Supposed
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import MIB, rate

_WAYS = {Direction.READ: "reads", Direction.WRITE: "writes", Direction.TOTAL: "together"}
# Sold in one size only.
LOCAL_SSD_GIB = 375.0


def what_if(identity: Identity, catalogue: Catalogue) -> Supposed:
    """The limits of a VM of this machine type with these disks."""
    identity = identity._replace(vm_size=identity.vm_size.lower())
    disks = {}
    wrong: list[str] = []
    most: list[str] = []
    for name, ordered in identity.disks.items():
        disk = ordered._replace(sku=ordered.sku.lower())
        if disk.sku == "local-ssd":
            disk = disk._replace(sku="local-ssd-nvme")
        if disk.sku.startswith("local-ssd"):
            disk = disk._replace(role=LOCAL, size_gib=disk.size_gib or LOCAL_SSD_GIB)
        data = _most_throughput(disk, catalogue)
        if data is not None:
            words = f"{disk.iops:,.0f} IOPS: throughput taken as the most it can be"
            most.append(f"{disk.sku} with {words}")
            disk = disk._replace(bytes_per_second=data)
        if disk.caching:
            wrong.append(f"{disk.sku}: no disk here has a host cache to set")
        disks[name] = disk
    found = sold(identity._replace(disks=disks, reasons=()), catalogue)
    is_known = may_be_sold(catalogue, identity.vm_size)
    missing = [
        f"{disk.sku}: {_missing(disk.sku, catalogue)}"
        for disk in (one.identity for one in found.disks.values() if not one.limits)
    ]
    wrong = list(dict.fromkeys((*wrong, *missing)))
    unknown_size = in_no_table(identity.vm_size)  # told with the names that are near it
    doubts = [] if wrong else [each for each in found.reasons if each != unknown_size]
    has_remote = any(disk.role != LOCAL for disk in disks.values())
    allows = () if has_remote else tuple(_allowed(identity.vm_size, catalogue))
    return Supposed(
        identity.vm_size if is_known else "",
        found,
        tuple(wrong),
        tuple(dict.fromkeys((*doubts, *most))),
        allows,
    )


def _most_throughput(disk: DiskIdentity, catalogue: Catalogue) -> float | None:
    """Bytes/s that a disk with these operations can be set to, where they are all that is said."""
    kind = disk_type(catalogue, disk.sku)
    per_iops = None if kind is None else kind.number("max_mibps_per_iops")
    if kind is None or per_iops is None or disk.iops is None or disk.bytes_per_second is not None:
        return None
    return min(per_iops * disk.iops, kind.number("max_mibps") or math.inf) * MIB


def _allowed(machine: str, catalogue: Catalogue) -> Iterable[str]:
    """What the machine type lets all disks of each type do; together: reads and writes."""
    allowed = caps(catalogue, machine)
    if not allowed:
        has_some = has_hyperdisks(catalogue, machine_name(machine).series)
        yield unknown(machine, "hyperdisk-balanced" if has_some else "its disks")
        yield from _sizes(machine, catalogue)
    for name, found in allowed.items():
        parts = together(disk_type(catalogue, name), ways(found))
        words = [f"{_WAYS[way]} {_figures(one)}" for way, one in parts.items() if one]
        yield f"{machine} with {name}: {'; '.join(words)}"


def _sizes(machine: str, catalogue: Catalogue) -> Iterable[str]:
    series, vcpus = machine_name(machine)
    known = vcpus_of(catalogue, series)
    if vcpus is not None and known:
        yield f"{machine}: of {series} the table has {', '.join(map(str, known))} vCPUs"


def _figures(found: Ceiling) -> str:
    values = {Dimension.IOPS: found.iops, Dimension.THROUGHPUT: found.bytes_per_second}
    return ", ".join(rate(value, each) for each, value in values.items() if value is not None)


def _missing(sku: str, catalogue: Catalogue) -> str:
    kind = disk_type(catalogue, sku)
    if kind is None:
        names = (json.loads(line)["disk_type"] for line in catalogue.lines("gcp_disks", ""))
        return f"no disk type of the table, want one of {', '.join(names)}"
    return "say iops= or mibps=" if kind.is_provisioned else "say its size (size=<GiB>)"


def similar(machine: str, catalogue: Catalogue) -> tuple[str, ...]:
    """Machine types of the same series whose kind is written nearly so."""
    from difflib import get_close_matches  # only who has made a mistake needs it

    kind, series = kind_of(machine), machine_name(machine).series
    near = get_close_matches(kind, sorted(kinds_of(catalogue, series)), n=3, cutoff=0.7)
    return tuple(machine.lower().replace(f"-{kind}", f"-{one}", 1) for one in near if one != kind)
