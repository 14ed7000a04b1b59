"""Tables of the catalogue: lines sorted by key, an entry found by bisection.

A table is never parsed as a whole: a machine needs a dozen of almost 4,000 entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from ioplateau.measure.mappings import NO_ENTRIES

# The column of an entry that a user's row changes or adds: that row's source.
OWN_SOURCE = "own_source"


class Text(Protocol):
    """What a table is bisected in: bytes, or a file mapped into memory."""

    def __len__(self) -> int: ...
    def __getitem__(self, where: slice, /) -> bytes: ...
    def find(self, sub: bytes, start: int = ..., end: int = ..., /) -> int: ...
    def rfind(self, sub: bytes, start: int = ..., end: int = ..., /) -> int: ...


class Catalogue(Protocol):
    """The tables, wherever they are kept: run.cataloguefiles on a machine, `Tables` in tests."""

    def line(self, table: str, key: str) -> bytes | None:
        """The entry with this key (any case)."""

    def lines(self, table: str, prefix: str) -> tuple[bytes, ...]:
        """Every entry whose key begins so (any case), in order."""

    def pairs(self, table: str, prefix: str) -> tuple[tuple[str, bytes], ...]:
        """The same, each with its key."""


class Tables(NamedTuple):
    """A catalogue in memory."""

    tables: Mapping[str, bytes] = NO_ENTRIES

    def line(self, table: str, key: str) -> bytes | None:
        return find(self.tables.get(table, b""), key)

    def lines(self, table: str, prefix: str) -> tuple[bytes, ...]:
        return tuple(entry for _, entry in self.pairs(table, prefix))

    def pairs(self, table: str, prefix: str) -> tuple[tuple[str, bytes], ...]:
        return tuple(starting_with(self.tables.get(table, b""), prefix))


EMPTY_CATALOGUE = Tables()


def catalogue_date(source: str) -> str:
    """The date at the end of a source's words, "2026-08" or "2026-08-11"; empty: there is none."""
    last = source.rpartition(" ")[2]
    parts = last.split("-")
    is_date = len(parts[0]) == len("2026") and all(map(str.isdecimal, parts))
    return last if is_date else ""


def find(text: Text, key: str) -> bytes | None:
    """The entry of `key`, without the key; None: no such line."""
    start = _first_at_or_after(text, key.lower().encode() + b"\t")
    name, _, entry = text[start : _line_end(text, start)].partition(b"\t")
    return entry if name == key.lower().encode() else None


def starting_with(text: Text, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Keys that begin with `prefix`, each with its entry."""
    start = _first_at_or_after(text, prefix.lower().encode())
    while start < len(text):
        end = _line_end(text, start)
        name, _, entry = text[start:end].partition(b"\t")
        if not name.startswith(prefix.lower().encode()):
            return
        yield name.decode(), entry
        start = end + 1


def _first_at_or_after(text: Text, wanted: bytes) -> int:
    """Offset of the first line that is not below `wanted`; lines are sorted by their key."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        start = text.rfind(b"\n", low, middle) + 1 or low
        if text[start : start + len(wanted)] < wanted:
            low = _line_end(text, middle) + 1
        else:
            high = start
    return min(low, len(text))


def _line_end(text: Text, at: int) -> int:
    end = text.find(b"\n", at)
    return end if end >= 0 else len(text)
