"""Makes the package's catalogue from data/limits/*.csv: `python data/build_catalogue.py`.

A table is a file of lines sorted by key: key, tab, JSON object of the columns that say
something. So one entry is found by bisection, without reading the rest, and a change of a
number is a diff of one line. The output depends on the input alone; `--check` compares it
with what is committed.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "limits"
CATALOGUE = HERE.parent / "exporter" / "ioplateau" / "catalogue"

Row = Mapping[str, str]

VM_TEXT = {
    "name",
    "series",
    "premium_io",
    "constrained_vcpu",
    "parent_size",
    "disk_controllers",
    "uncached_bps_basis",
    "limits_basis",
    "burst_basis",
    "cached_basis",
    "sibling_of",
    "notes",
}
VM_DROPPED = {"family", "memory_gib", "max_nics", "ultra_ssd_available", "in_2026_catalogue"}
API_2023 = ("Azure SKU API, Azure/Oracle-Workloads-for-Azure Lab1-SampleReport.xlsm", "2023-10")
API_2024 = ("Azure SKU API, kubernetes-sigs/azuredisk-csi-driver azure_skus_map.go", "2024-12-12")


def main(arguments: list[str]) -> int:
    """Write the tables, or with --check say which are not what the sources give."""
    stale = 0
    for name, text in tables(SOURCES).items():
        target = CATALOGUE / name
        if "--check" not in arguments:
            target.write_bytes(text)
        elif not target.exists() or target.read_bytes() != text:
            print(f"{target}: not what data/limits gives; run data/build_catalogue.py")
            stale += 1
    return 1 if stale else 0


def tables(sources: Path) -> dict[str, bytes]:
    """Every table of the catalogue, by file name."""
    sizes = _rows(sources / "azure_vm_sizes.csv")
    by_name = {row["name"]: row for row in sizes}
    return {
        "azure_vm_sizes": _table(sizes, _key("name"), lambda row: _vm_size(row, by_name)),
        "azure_vm_sizes_nvme_controller": _table(
            _rows(sources / "azure_vm_sizes_nvme_controller.csv"),
            _key("name"),
            lambda row: _entry(row, text={"name", "disk_controller", "source", "doc_date"}),
        ),
        "azure_disks": _table(
            _rows(sources / "azure_disks.csv"),
            _key("generation", "sku", "tier"),
            lambda row: _entry(
                row, text={"generation", "sku", "tier", "burst_kind", "formula", "source"}
            ),
        ),
        "azure_files": _table(
            _rows(sources / "azure_netapp_files.csv"),
            _key("service", "generation", "service_level", "qos_type", "volume_kind", "parameter"),
            lambda row: _entry(row, text=set(row), dropped={"source_commit"}),
        ),
        "aws_instances": _table(
            _rows(sources / "aws_instance_ebs.csv"),
            _key("instance_type"),
            lambda row: _entry(
                row,
                text={
                    "instance_type",
                    "hypervisor",
                    "ebs_optimized_default",
                    "burst_30min_per_24h",
                    "source",
                    "source_date",
                    "api_note",
                },
                # MB/s = Mbit/s / 8: kept once, in the unit of the document.
                dropped={"memory_mib", "baseline_mbps", "max_mbps"},
            ),
        ),
        "aws_volumes": _table(
            _rows(sources / "aws_ebs_volumes.csv"),
            _key("volume_type", "generation"),
            lambda row: _entry(row, text={*row} - AWS_VOLUME_NUMBERS, dropped={"source_commit"}),
        ),
        "gcp_disks": _table(
            _rows(sources / "gcp_disks.csv"),
            _key("disk_type", "scope", "direction", "parameter", "condition"),
            lambda row: _entry(row, text=set(row)),
        ),
    }


AWS_VOLUME_NUMBERS = {
    "min_size_gib",
    "max_size_gib",
    "iops_min",
    "iops_max",
    "iops_per_gib_max",
    "mibps_max",
    "mibps_per_iops",
    "burst_iops",
    "burst_mibps_max",
    "max_io_kib_counted_as_one_op",
}


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _key(*columns: str) -> Callable[[Row], str]:
    return lambda row: "/".join(row[column] for column in columns).lower()


def _table(
    rows: Iterable[Row], key: Callable[[Row], str], entry: Callable[[Row], dict[str, object]]
) -> bytes:
    lines: dict[bytes, bytes] = {}
    for row in rows:
        name = key(row).encode()
        if name in lines:
            raise SystemExit(f"{name.decode()}: two rows with one key")
        text = json.dumps(entry(row), ensure_ascii=False, separators=(",", ":"))
        lines[name] = name + b"\t" + text.encode() + b"\n"
    return b"".join(lines[name] for name in sorted(lines))


def _entry(row: Row, *, text: set[str], dropped: Iterable[str] = ()) -> dict[str, object]:
    return {
        column: value if column in text else _number(value)
        for column, value in row.items()
        if value and column not in dropped
    }


def _number(value: str) -> int | float:
    return int(value) if value.isdigit() else float(value)


def _vm_size(row: Row, by_name: Mapping[str, Row]) -> dict[str, object]:
    # The SKU API's raw values stay in data/limits: they were for cross-checking.
    kept = {
        column: value
        for column, value in row.items()
        if not column.startswith(("api_", "api2023_", "api2024_", "doc_"))
    }
    source, date = _vm_source(row, by_name)
    return _entry(kept, text=VM_TEXT, dropped=VM_DROPPED) | {"source": source, "date": date}


def _vm_source(row: Row, by_name: Mapping[str, Row]) -> tuple[str, str]:
    """Where the uncached limit comes from, by its basis."""
    if row["limits_basis"] == "sibling":
        source, date = _vm_source(by_name[row["sibling_of"]], by_name)
        return f"as {row['sibling_of']}: {source}", date
    if row["limits_basis"].startswith("docs"):
        return row["doc_source"], row["doc_date"]
    if not row["limits_basis"]:
        return "documented nowhere that was found", ""
    return API_2024 if row["api2024_uncached_iops"] else API_2023


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
