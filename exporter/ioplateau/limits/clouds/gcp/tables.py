"""Google Cloud's tables: disk types, and what a machine type lets disks of a type do together.

Units as in the tables' column names (data/limits/README.md) until here, base units after.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ioplateau.limits.ceilings import Ceiling
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.units import mebibytes

# n2-standard-8, n2-custom-6-8192-ext, c3-standard-22-lssd, a2-highgpu-1g, e2-medium.
_NAME = re.compile(
    r"(?:(?P<series>[a-z]\d+[a-z]*)-)?(?P<kind>[a-z]+)(?:-(?P<number>[0-9]{1,6})(?![a-z0-9]))?(?:-.*)?"
)
# x4-480-6t-metal: vCPUs and memory, as the types of X4 are named since 2025-12-12.
_NAME_BY_MEMORY = re.compile(r"(?P<series>[a-z]\d+[a-z]*)-(?P<number>[0-9]{1,6})-\d+t(?:-.*)?")
GENERAL = frozenset(("standard", "highcpu", "highmem", "custom"))
KINDS = GENERAL | {
    *("megamem", "ultramem", "hypermem", "highgpu", "megagpu", "ultragpu", "edgegpu", "maxgpu"),
    *("micro", "small", "medium"),
}
SHARED_CORE = {"e2-micro": 2, "e2-small": 2, "e2-medium": 2, "f1-micro": 1, "g1-small": 1}


class DiskType(NamedTuple):
    """One type of disk. None: does not apply, or documented nowhere.

    Not provisioned: base + per GiB of all disks of the type on the VM.
    """

    name: str
    columns: Mapping[str, Any]
    source: str
    date: str

    @property
    def is_provisioned(self) -> bool:
        return self.columns.get("is_provisioned") == "yes"

    def shares(self, column: str) -> bool:
        """Whether reads and writes draw on one figure: "iops", "mibps"."""
        return column in self.columns.get("reads_and_writes_share", "").split()

    def number(self, column: str) -> float | None:
        """A numeric column; None: empty."""
        value = self.columns.get(column)
        return float(value) if isinstance(value, int | float) else None


class Cap(NamedTuple):
    """What one machine type lets all disks of a type do. `total`: reads and writes together."""

    read: Ceiling
    write: Ceiling
    total: Ceiling
    source: str


class MachineName(NamedTuple):
    """What a machine type's name says. vcpus None: nothing."""

    series: str
    vcpus: int | None


def machine_name(machine_type: str) -> MachineName:
    """Series and vCPUs; a custom type without a series ("custom-4-8192") is an N1."""
    name = machine_type.lower()
    found = _NAME_BY_MEMORY.fullmatch(name)
    if found is not None:
        return MachineName(found["series"], int(found["number"]))
    found = _NAME.fullmatch(name)
    if found is None or not (found["series"] or found["kind"] == "custom"):
        return MachineName("", None)
    number = found["number"]
    vcpus = SHARED_CORE.get(name) if number is None else int(number)
    return MachineName(found["series"] or "n1", vcpus)


def disk_type(catalogue: Catalogue, name: str) -> DiskType | None:
    """A disk type by name: "pd-balanced", "hyperdisk-ml", "local-ssd-nvme"."""
    line = catalogue.line("gcp_disks", name) if name else None
    if line is None:
        return None
    row = json.loads(line)
    return DiskType(row["disk_type"], row, row.get("source", ""), row.get("source_date", ""))


def is_series(catalogue: Catalogue, series: str) -> bool:
    """Whether any machine type of this series is in the table."""
    return bool(series) and bool(catalogue.lines("gcp_machine_types", f"{series}/"))


def kind_of(machine_type: str) -> str:
    """Which kind a name says: standard, of n2-standard-8; empty: none."""
    name = machine_type.lower()
    found = None if _NAME_BY_MEMORY.fullmatch(name) else _NAME.fullmatch(name)
    return "" if found is None else found["kind"]


def may_be_sold(catalogue: Catalogue, machine_type: str) -> bool:
    """Whether it is written like a machine type of a series of the table, or a row names it."""
    series = machine_name(machine_type).series
    if not is_series(catalogue, series):
        return False
    return kind_of(machine_type) in {"", *KINDS} or machine_type.lower() in {
        row.get("machine") for row in _rows(catalogue, f"{series}/")
    }


def _rows(catalogue: Catalogue, prefix: str) -> list[Mapping[str, Any]]:
    # A row without a figure says that the series is sold, and hides no row that has one.
    rows = map(json.loads, catalogue.lines("gcp_machine_types", prefix))
    return [row for row in rows if not _FIGURES.isdisjoint(row)]


def vcpus_of(catalogue: Catalogue, series: str) -> tuple[int, ...]:
    """The vCPU counts that rows with figures of this series are of, where these are no ranges."""
    rows = [row for row in _rows(catalogue, f"{series}/") if "vcpus_min" in row]
    if any(row["vcpus_min"] != row.get("vcpus_max") for row in rows):
        return ()
    return tuple(sorted({row["vcpus_min"] for row in rows}))


def vcpus_above(catalogue: Catalogue, machine_type: str) -> tuple[int, ...]:
    """The vCPU counts from which on rows of this series hold, above those of the machine type."""
    series, vcpus = machine_name(machine_type)
    if not series or vcpus is None:
        return ()
    rows = _rows(catalogue, f"{series}/")
    return tuple(sorted({row["vcpus_min"] for row in rows if row.get("vcpus_min", 0) > vcpus}))


def has_hyperdisks(catalogue: Catalogue, series: str) -> bool:
    """Whether machine types of this series take Hyperdisks, by any row."""
    lines = catalogue.lines("gcp_machine_types", f"{series}/hyperdisk")
    return bool(series) and bool(lines)


def kinds_of(catalogue: Catalogue, series: str) -> frozenset[str]:
    """The kinds of machine types that rows of this series name; of vCPUs alone: the general ones."""
    rows = _rows(catalogue, f"{series}/")
    named = {kind_of(row["machine"]) for row in rows if "machine" in row}
    return frozenset(named) | (GENERAL if any("machine" not in row for row in rows) else set())


def cap(catalogue: Catalogue, machine_type: str, name: str) -> Cap | None:
    """What `machine_type` lets disks of this type do; a row of its own before its vCPUs' row."""
    machine_type = machine_type.lower()
    series, vcpus = machine_name(machine_type)
    rows = _rows(catalogue, f"{series}/{name}/")
    by_name = (row for row in rows if fnmatchcase(machine_type, row.get("machine", "")))
    by_vcpus = (
        row
        for row in rows
        if vcpus is not None
        and machine_type not in _UNLIKE
        and row.get("vcpus_min", vcpus + 1) <= vcpus <= row.get("vcpus_max", vcpus)
    )
    row = next(by_name, None) or next(by_vcpus, None)
    return None if row is None else _cap(row)


def caps(catalogue: Catalogue, machine_type: str) -> dict[str, Cap]:
    """What `machine_type` lets disks do, by their type."""
    series, _ = machine_name(machine_type)
    lines = catalogue.lines("gcp_machine_types", f"{series}/")
    names = sorted({json.loads(line)["disk_type"] for line in lines})
    found = ((name, cap(catalogue, machine_type, name)) for name in names)
    return {name: allowed for name, allowed in found if allowed is not None}


_FIGURES = frozenset(("read_iops", "write_iops", "read_mibps", "write_mibps", "iops", "mibps"))
# Shared-core types have rows of their own, or none.
_UNLIKE = frozenset(SHARED_CORE)


def _cap(row: Mapping[str, Any]) -> Cap:
    return Cap(
        read=Ceiling(row.get("read_iops"), mebibytes(row.get("read_mibps"))),
        write=Ceiling(row.get("write_iops"), mebibytes(row.get("write_mibps"))),
        total=Ceiling(row.get("iops"), mebibytes(row.get("mibps"))),
        source=f"{row.get('source', '')} {row.get('source_date', '')}".strip(),
    )
