"""What of the catalogue has aged: `make catalogue-check`.

Tells which figures are older than a year, of which no document's date is known, and which
families are documented (data/limits/families.csv) without a figure here. Exits with 1 where a
row has no source at all, or not each figure that its document prints for every size of the
family, which are errors; age is none.
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
from ioplateau.limits.forms import Row, day

OLD = timedelta(days=365)


def main(today: date, sources: Path = SOURCES) -> int:
    """Print the report; 1 if a row has no source, or not what its document prints of it."""
    aged: Counter[tuple[str, str, str]] = Counter()
    undated: Counter[tuple[str, str]] = Counter()
    sourceless: list[str] = []
    total = 0
    for file, key, entry in entries(sources):
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
    missing = list(missing_families(sources))
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
    wrong = [f"no source: {words}" for words in sourceless]
    wrong += [f"not as documented: {words}" for words in holes(sources)]
    for words in wrong:
        print(words, file=sys.stderr)
    return 1 if wrong else 0


def entries(sources: Path) -> Iterator[tuple[str, str, dict[str, object]]]:
    """File, key and entry of every row; `_date`: of its document."""
    for form in registry.forms().values():
        for key, entry in build_catalogue.entries(form, sources).items():
            yield form.file, key, {**entry, "_date": entry.get(form.date, "")}


def missing_families(sources: Path) -> Iterator[str]:
    """A line for each figure of a documented family that no row states."""
    for family, members in families(sources):
        for figure in family["figure"].split():
            if not any(row[figure] for row in members):
                note = f" ({family['note']})" if family["note"] else ""
                of = f"{family['family']} of {family['file']}, {figure}"
                yield f"{of}: {family['document']}{note}"


def holes(sources: Path) -> Iterator[str]:
    """A line for each family and column of `every` that a row has empty; rows named in `but` may."""
    for family, members in families(sources):
        for column in family["every"].split():
            names = [next(iter(row.values())) for row in members if not row[column]]
            empty = [name for name in names if not fnmatchcase(name, family["but"])]
            if empty or not members:
                of = f"{family['family']} of {family['file']}, {column}"
                yield f"{of}: {', '.join(empty) or 'no row'}: {family['document']}"


def families(sources: Path) -> Iterator[tuple[Row, list[Row]]]:
    """Each row of families.csv with the rows of its file that are of the family."""
    tables = {form.file: rows(sources / form.file) for form in registry.forms().values()}
    for family in rows(sources / "families.csv"):
        column, pattern = family["column"], family["family"]
        yield family, [row for row in tables[family["file"]] if fnmatchcase(row[column], pattern)]


if __name__ == "__main__":
    try:
        code = main(datetime.now(UTC).date())
        sys.stdout.flush()  # a closed pipe is an error now, not after the end
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141  # as a shell tells SIGPIPE
    sys.exit(code)
