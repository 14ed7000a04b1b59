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
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "limits"
CATALOGUE = HERE.parent / "exporter" / "ioplateau" / "catalogue"
sys.path.insert(0, str(HERE.parent / "exporter"))

from ioplateau.limits.clouds import registry  # noqa: E402
from ioplateau.limits.forms import Entry, Form, Row, day  # noqa: E402

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
    """Every file of the catalogue, by name: the tables, and the date of the newest figure."""
    made = {form.table: entries(form, sources) for form in registry.forms().values()}
    dates = (
        day(str(entry.get(_dated(table), ""))) for table in made for entry in made[table].values()
    )
    return {table: _text(entries) for table, entries in made.items()} | {
        "date": _edition(max(dates)).encode()
    }


def _edition(newest: str) -> str:
    """The day of the newest figure, and as UNIX time: the daemon has no calendar."""
    midnight = datetime.fromisoformat(newest).replace(tzinfo=UTC)
    return f"{newest} {midnight.timestamp():.0f}\n"


def _dated(table: str) -> str:
    return next(form.date for form in registry.forms().values() if form.table == table)


def rows(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def entries(form: Form, sources: Path) -> dict[str, Entry]:
    """The entries of one file, by key."""
    made: dict[str, Entry] = {}
    lines = rows(sources / form.file)
    by_name = {row.get("name", ""): row for row in lines}
    for row in lines:
        key = form.key(row)
        if key in made:
            raise SystemExit(f"{form.file}: {key}: two rows with one key")
        made[key] = form.entry(row)
        if form.file == "azure_vm_sizes.csv":
            source, date = _vm_source(row, by_name)
            made[key] |= {"source": source, "date": date}
    return made


def _text(entries: Mapping[str, Entry]) -> bytes:
    lines = {
        key.encode(): json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
        for key, entry in entries.items()
    }
    return b"".join(key + b"\t" + lines[key] + b"\n" for key in sorted(lines))


def _vm_source(row: Row, by_name: Mapping[str, Row]) -> tuple[str, str]:
    """Where the uncached limit comes from, by its basis."""
    if row["limits_basis"] == "sibling":
        source, date = _vm_source(by_name[row["sibling_of"]], by_name)
        return f"as {row['sibling_of']}: {source}", date
    if row["limits_basis"].startswith("docs"):
        return row["doc_source"], row["doc_date"]
    if not row["limits_basis"] and row["doc_source"]:
        return f"{row['doc_source']}, which has no table of remote storage", row["doc_date"]
    if not row["limits_basis"]:
        return "documented nowhere that was found", ""
    return API_2024 if row["api2024_uncached_iops"] else API_2023


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
