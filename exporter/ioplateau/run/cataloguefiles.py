"""The package's tables, mapped while an entry is looked for and not a moment longer.

importlib.resources would cost 20 ms and a megabyte of imports; the tables lie beside us.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from ioplateau.limits import tables

T = TypeVar("T")

HERE = Path(__file__).parent.parent / "catalogue"


class CatalogueFiles:
    """limits.tables.Catalogue over a directory of tables. A table that is not there is empty."""

    def __init__(self, directory: Path = HERE) -> None:
        self._directory = directory

    def line(self, table: str, key: str) -> bytes | None:
        return self._look(table, lambda text: tables.find(text, key), None)

    def lines(self, table: str, prefix: str) -> tuple[bytes, ...]:
        return tuple(entry for _, entry in self.pairs(table, prefix))

    def pairs(self, table: str, prefix: str) -> tuple[tuple[str, bytes], ...]:
        return self._look(table, lambda text: tuple(tables.starting_with(text, prefix)), ())

    def _look(self, table: str, look: Callable[[tables.Text], T], nothing: T) -> T:
        try:
            with (
                (self._directory / table).open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
            ):
                return look(text)
        except NotADirectoryError:  # we run from an archive, the single file
            return look(_packed(table))
        except (OSError, ValueError):  # ValueError: an empty file cannot be mapped
            return nothing


class Edition(NamedTuple):
    """Of the newest figure in the package's tables; empty and None: it cannot be read."""

    day: str = ""  # YYYY-MM-DD
    seconds: float | None = None  # UNIX time of that day's beginning


def edition() -> Edition:
    """How new the package's catalogue is."""
    try:
        text = (HERE / "date").read_bytes()
    except OSError:
        text = _packed("date")
    day, _, seconds = text.decode("ascii", "replace").strip().partition(" ")
    return Edition(day, float(seconds)) if seconds.isdecimal() else Edition()


def _packed(table: str) -> bytes:
    import pkgutil

    try:
        return pkgutil.get_data("ioplateau", f"catalogue/{table}") or b""
    except OSError:
        return b""
