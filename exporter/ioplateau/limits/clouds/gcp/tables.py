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
    r"(?:(?P<series>[a-z]\d+[a-z]*)-)?(?P<kind>[a-z]+)(?:-(?P<number>\d+)(?![a-z0-9]))?.*"
)
SHARED_CORE = {"e2-micro": 2, "e2-small": 2, "e2-medium": 2, "f1-micro": 1, "g1-small": 1}


class DiskType(NamedTuple):
    """One type of disk. None: does not apply, or documented nowhere.

    Not provisioned: base + per GiB of all disks of the type on the VM, reads and writes apart.
    """

    name: str
    columns: Mapping[str, Any]
    source: str
    date: str

    @property
    def is_provisioned(self) -> bool:
        return self.columns.get("is_provisioned") == "yes"

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
    found = _NAME.fullmatch(machine_type)
    if found is None:
        return MachineName("", None)
    number = found["number"]
    vcpus = SHARED_CORE.get(machine_type) if number is None else int(number)
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


def cap(catalogue: Catalogue, machine_type: str, name: str) -> Cap | None:
    """What `machine_type` lets disks of this type do; a row of its own before its vCPUs' row."""
    series, vcpus = machine_name(machine_type)
    lines = catalogue.lines("gcp_machine_types", f"{series}/{name}/")
    # A row without a figure says that the series is sold, and hides no row that has one.
    rows = [row for row in map(json.loads, lines) if not _FIGURES.isdisjoint(row)]
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
