"""A user's own rows over the package's tables: CSV files of the forms in data/limits.

A row with a key that the package has changes the columns that it fills; another adds an entry.
A bad row costs itself, and leaves a reason with its file and line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ioplateau.limits.clouds import registry
from ioplateau.limits.forms import Entry, Form, day
from ioplateau.limits.tables import OWN_SOURCE, Catalogue
from ioplateau.measure.mappings import NO_ENTRIES

# Own rows are held in memory, unlike the package's.
MOST_ROWS, MOST_BYTES = 2000, 1 << 20
# Columns with what follows from them and stands beside them: exact bytes, and burst credit when full.
DERIVED = {
    "uncached_mbps": "uncached_bps",
    "base_iops": "burst_bucket_ios",
    "burst_iops": "burst_bucket_ios",
    "base_mbps": "burst_bucket_mb",
    "burst_mbps": "burst_bucket_mb",
}
# Of each table the column with the date of its document.
DATES = ("date", "doc_date", "source_date")
# Columns that every file of a user may have.
_ALWAYS = frozenset({"source", "date"})


class OwnRows(NamedTuple):
    """rows: entries by table and key. complaints: a sentence for each row or file refused."""

    rows: Mapping[str, Mapping[str, Entry]] = NO_ENTRIES
    complaints: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many rows are in force."""
        return sum(len(entries) for entries in self.rows.values())


NO_ROWS = OwnRows()


def read(files: Mapping[str, bytes], complaints: Iterable[str] = ()) -> OwnRows:
    """What files, by name, say. `complaints`: what was wrong with reading them."""
    wrong = list(complaints)
    forms = registry.forms()
    rows: dict[str, dict[str, Entry]] = {}
    left = MOST_ROWS
    for name, content in sorted(files.items()):
        form = forms.get(name)
        if form is None:
            wrong.append(f"{name}: is no table of the catalogue, {_wanted(name, forms, forms)}")
            continue
        entries = rows.setdefault(form.table, {})
        before = len(entries)
        _file(form, content, entries, wrong, left)
        left -= len(entries) - before
    return OwnRows({table: each for table, each in rows.items() if each}, tuple(wrong))


def _file(
    form: Form, content: bytes, entries: dict[str, Entry], wrong: list[str], most: int
) -> None:
    lines = _lines(form, content, wrong)
    first = next(lines, None)
    if first is None:
        return
    _, header = first
    missing = [column for column in form.keys if column not in header]
    if missing:
        wrong.append(
            f"{form.file}: no column {' nor '.join(missing)} in the first line: "
            "the file is left out"
        )
        return
    wrong.extend(_odd_columns(form, header))
    for where, cells in lines:
        if len(entries) >= most:
            wrong.append(f"{where}: more than {MOST_ROWS} rows in all: the rest is left out")
            return
        try:
            key, entry = _row(form, header, cells, where)
        except ValueError as error:
            wrong.append(f"{where}: {error}: the row is left out")
            continue
        if key in entries:
            wrong.append(f"{where}: {key} stands above already: the later row holds")
        entries[key] = entry


def _lines(form: Form, content: bytes, wrong: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Where each line that has cells is, and these."""
    import csv  # a daemon without own rows does not pay for it

    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        wrong.append(f"{form.file}: is not UTF-8 (at line {line}): the file is left out")
        return
    reader = csv.reader(text.splitlines(), strict=True)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            wrong.append(f"{form.file} line {reader.line_num}: {error}: the row is left out")
            continue
        if cells is None:
            return
        cells = [cell.strip() for cell in cells]
        if any(cells):
            yield f"{form.file} line {reader.line_num}", cells


def _columns(form: Form) -> set[str]:
    return {*form.columns.split(), *_ALWAYS}


def _odd_columns(form: Form, header: list[str]) -> Iterable[str]:
    known = _columns(form)
    for column in sorted({*header} - known - {""}):
        want = _wanted(column, sorted(known), sorted(known - form.dropped))
        yield f"{form.file}: {column!r:.60} is no column of it, {want}: the column is left out"
    for column in sorted({column for column in header if header.count(column) > 1} & known):
        yield f"{form.file}: column {column} stands twice in the first line: the last one holds"


def _wanted(name: str, known: Iterable[str], told: Iterable[str]) -> str:
    """Of the names that are known the one that is written nearly so, or else all that are told of."""
    from difflib import get_close_matches  # only who has made a mistake needs it

    near = get_close_matches(name, [*known], n=1)
    return f"want {near[0]}" if near else f"want one of {', '.join(told)}"


def _row(form: Form, header: list[str], cells: list[str], where: str) -> tuple[str, Entry]:
    if len(cells) > len(header):
        raise ValueError(f"{len(cells)} cells, want {len(header)} as in the first line")
    row = dict(zip(header, cells, strict=False))
    empty = [column for column in form.keys if not row.get(column)]
    if empty:
        raise ValueError(f"{' and '.join(empty)} is empty")
    key = form.key(row)
    said = row.pop("date", "") or row.get("doc_date", "")
    known = _columns(form)
    entry = form.entry({name: value for name, value in row.items() if name in known})
    if len(entry) <= len(form.keys):
        raise ValueError("nothing but the key is said")
    date = str(entry.get(form.date, said))
    if date and not day(date):
        raise ValueError(f"date is {date!r:.40}, want one like 2026-08 or 2026-08-31")
    if date:
        entry[form.date] = date
    source = str(entry.get("source", "") or row.get("doc_source", ""))
    entry["source"] = f"{source} ({where})" if source else where
    return key, entry


class CatalogueWithOwnRows:
    """A catalogue with own rows over another."""

    def __init__(self, below: Catalogue, own: OwnRows) -> None:
        self._below = below
        self._own = own

    def line(self, table: str, key: str) -> bytes | None:
        line = self._below.line(table, key)
        entry = self._own.rows.get(table, NO_ENTRIES).get(key.lower())
        return line if entry is None else _merged(line, entry)

    def lines(self, table: str, prefix: str) -> tuple[bytes, ...]:
        return tuple(entry for _, entry in self.pairs(table, prefix))

    def pairs(self, table: str, prefix: str) -> tuple[tuple[str, bytes], ...]:
        found = self._below.pairs(table, prefix)
        own = self._own.rows.get(table, NO_ENTRIES)
        mine = {key: entry for key, entry in own.items() if key.startswith(prefix.lower())}
        if not mine:
            return found
        by_key: dict[str, bytes | None] = {**dict.fromkeys(mine), **dict(found)}
        return tuple(
            (key, _merged(line, mine[key]) if key in mine else line or b"")
            for key, line in sorted(by_key.items())
        )


def _merged(line: bytes | None, own: Entry) -> bytes:
    known: Entry = {} if line is None else json.loads(line)
    for column, derived in DERIVED.items():
        if column in own and derived not in own:
            known.pop(derived, None)
    known[OWN_SOURCE] = own["source"]
    if line is not None and "source" in own:
        own = {**own, "limits_basis": "own"} if "limits_basis" in known else own
        # What the row leaves empty is still of the package's document, and of its date.
        theirs = str(known.get("source", ""))
        for column in DATES:
            if column in known:
                theirs = f"{theirs} {known[column]}"
                own = {column: "", **own}
        own = {**own, "source": f"{theirs}, changed by {own['source']}"} if theirs else own
    return json.dumps(known | own, ensure_ascii=False, separators=(",", ":")).encode()
