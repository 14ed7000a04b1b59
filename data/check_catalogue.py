"""What of the catalogue has aged: `make catalogue-check`.

Tells which figures are older than a year, of which no document's date is known, and which
families are documented (data/limits/families.csv) without a figure here. Exits with 1 where a
row has no source at all, which is an error; age is none.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import build_catalogue
from build_catalogue import SOURCES, rows

from ioplateau.limits.clouds import registry
from ioplateau.limits.forms import day

OLD = timedelta(days=365)


def main(today: date) -> int:
    """Print the report; 1 if a row has no source."""
    aged: Counter[tuple[str, str, str]] = Counter()
    undated: Counter[tuple[str, str]] = Counter()
    sourceless: list[str] = []
    total = 0
    for file, key, entry in entries(SOURCES):
        total += 1
        # "as Standard_D2ds_v6: document": the size it is copied from is of no interest here.
        source = re.sub(r"^(as \w\S*: )+", "", str(entry.get("source", "")))
        if not source:
            sourceless.append(f"{file}: {key}")
        said = day(str(entry.get("_date", "")))
        if not said:
            undated[file, source] += 1
        elif date.fromisoformat(said) < today - OLD:
            aged[file, said, source] += 1
    missing = list(missing_families(SOURCES))
    print(f"{total} rows, held against {today}")
    print(f"\nolder than a year: {aged.total()} rows")
    for (file, said, source), count in sorted(aged.items()):
        print(f"  {said}  {count:4} of {file}: {source}")
    print(f"\nwithout a date: {undated.total()} rows")
    for (file, source), count in sorted(undated.items()):
        print(f"  {count:4} of {file}: {source}")
    print(f"\ndocumented families without a figure: {len(missing)}")
    for words in missing:
        print(f"  {words}")
    for words in sourceless:
        print(f"no source: {words}", file=sys.stderr)
    return 1 if sourceless else 0


def entries(sources: Path) -> Iterator[tuple[str, str, dict[str, object]]]:
    """File, key and entry of every row; `_date`: of its document."""
    for form in registry.forms().values():
        for key, entry in build_catalogue.entries(form, sources).items():
            yield form.file, key, {**entry, "_date": entry.get(form.date, "")}


def missing_families(sources: Path) -> Iterator[str]:
    """A line for each documented family of which no row states the figure."""
    tables = {form.file: rows(sources / form.file) for form in registry.forms().values()}
    for family in rows(sources / "families.csv"):
        column, pattern, figure = family["column"], family["family"], family["figure"]
        if not any(
            fnmatchcase(row[column], pattern) and row[figure] for row in tables[family["file"]]
        ):
            note = f" ({family['note']})" if family["note"] else ""
            yield f"{pattern} of {family['file']}: {family['document']}{note}"


if __name__ == "__main__":
    try:
        code = main(datetime.now(UTC).date())
        sys.stdout.flush()  # a closed pipe is an error now, not after the end
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141  # as a shell tells SIGPIPE
    sys.exit(code)
