"""What the catalogue's CSV files look like, and what becomes of a row: an entry of a table.

data/build_catalogue.py makes the package's tables of data/limits with it; a user's own directory
(`limits.catalogue`) is read with it as it is. Columns and units: data/limits/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

Row = Mapping[str, str]
Entry = dict[str, int | float | str]
# As of a number in the configuration: what a rate or a size can be.
LEAST, MOST = 1e-9, 1e15


class Form(NamedTuple):
    """One CSV file. keys: the columns that tell rows apart, each of which a row must have.

    numbers: columns that hold numbers; None: all but `texts`. dropped: columns that are for
    cross-checking or that repeat another in a second unit, and do not get into the table.
    """

    file: str
    table: str
    keys: tuple[str, ...]
    texts: frozenset[str] = frozenset()
    numbers: frozenset[str] | None = None
    dropped: frozenset[str] = frozenset()
    columns: str = (
        ""  # all of the file, with spaces between; a user's may have source and date beside them
    )
    zeros: frozenset[str] = frozenset()  # columns of numbers that may be 0
    date: str = "source_date"  # the column of the document's date
    last: Callable[[Row], str] | None = None  # of the key, where a column alone is not enough
    has_words: Callable[[Row], bool] | None = (
        None  # whether a row has words where others have numbers
    )

    def is_number(self, column: str) -> bool:
        """Whether a column holds numbers."""
        if column in ("source", "date", self.date, *self.keys):
            return False
        return column not in self.texts if self.numbers is None else column in self.numbers

    def key(self, row: Row) -> str:
        """By what an entry is found."""
        parts = [row[column] for column in self.keys]
        if self.last is not None:
            parts.append(self.last(row))
        return "/".join(parts).lower()

    def entry(self, row: Row) -> Entry:
        """The columns that say something. Raises ValueError with a sentence for the first number
        that is none.
        """
        has_words = self.has_words is not None and self.has_words(row)
        return {
            column: value
            if has_words or not self.is_number(column)
            else _number(column, value, self.zeros)
            for column, value in row.items()
            if value and column not in self.dropped
        }


def _is_range_or_example(row: Row) -> bool:
    parameter = row.get("parameter", "")
    return parameter.startswith("example_") or parameter.endswith("_range")


FILE_SERVICES = Form(  # of all clouds
    "file_services.csv",
    "file_services",
    ("service", "service_level", "part", "parameter"),
    numbers=frozenset({"value"}),
    has_words=_is_range_or_example,
    columns=(
        "service service_level part parameter value unit formula kind notes source source_date"
    ),
    dropped=frozenset({"unit", "formula"}),  # the unit is in the parameter's name
)


def day(words: str) -> str:
    """The date at the start of a cell as YYYY-MM-DD, "01" for what is missing; empty: none.

    The cells hold "2026-08-11", "2026-08", "2026" and "2016-2017", which is of 2017.
    """
    parts = words.strip().split("-")
    if not all(part.isdecimal() for part in parts):
        return ""
    if len(parts) > 1 and len(parts[1]) == len("2017"):
        parts = parts[1:]
    year, month, date = (*parts, "01", "01")[:3]
    return f"{year}-{month:0>2}-{date:0>2}" if len(year) == len("2026") else ""


def _number(column: str, value: str, zeros: frozenset[str]) -> int | float:
    try:
        number = int(value) if value.isdecimal() else float(value)
    except ValueError:
        number = math.nan
    if not (LEAST <= number <= MOST or (number == 0 and column in zeros)):
        raise ValueError(f"{column} is {value!r:.60}, want a number from {LEAST:g} to {MOST:g}")
    return number
