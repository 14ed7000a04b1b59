"""Disks and NFS mounts as tables: the columns that `top`, the plain screen and the page show.

Here each rate is written out in words; the board writes the same columns into narrow cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter as of
from typing import Any, Literal, NamedTuple

from ioplateau.tell import formatting
from ioplateau.tell.view import DiskView, MountView

Measure = Literal["count", "bytes", "rate", "ratio", "seconds"]


class RateColumn(NamedTuple):
    """What `read` finds on a row; None: not known. width: of the board's cell."""

    head: str
    width: int
    read: Callable[[Any], float | None]
    measure: Measure = "rate"


class RateTable(NamedTuple):
    """Those that do something as rows; what is said of the others, "" where there are none."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    idle: str


def disks(found: Iterable[DiskView], count: int) -> RateTable:
    """Of `count` disks, in the order in which they come."""
    return _table("disk", DISKS, found, count)


def mounts(found: Iterable[MountView], count: int) -> RateTable:
    """Of `count` mounts, in the order in which they come."""
    return _table("NFS mount", MOUNTS, found, count)


def _table(
    what: str, columns: Sequence[RateColumn], found: Iterable[DiskView | MountView], count: int
) -> RateTable:
    busy = [each for each in found if not each.is_idle]
    rows = [[each.name, *(_words(column, each) for column in columns)] for each in busy]
    quiet = count - len(busy)
    more = "more " if busy else ""
    idle = f"{quiet} {more}idle {what}{'s' if quiet > 1 else ''}" if quiet > 0 else ""
    return RateTable([what, *(column.head for column in columns)], rows, idle)


def _words(column: RateColumn, each: DiskView | MountView) -> str:
    value = column.read(each)
    return "" if value is None else _WORDS[column.measure](value)


_WORDS: dict[Measure, Callable[[Any], str]] = {
    "count": str,
    "bytes": lambda value: formatting.figures(value / 1e6),
    "rate": formatting.figures,
    "ratio": lambda value: formatting.figures(value * 100),
    "seconds": formatting.seconds,
}
DISKS = (
    RateColumn("r/s", 6, of("read_operations_per_second")),
    RateColumn("w/s", 6, of("write_operations_per_second")),
    RateColumn("rMB/s", 6, of("read_bytes_per_second"), "bytes"),
    RateColumn("wMB/s", 6, of("write_bytes_per_second"), "bytes"),
    RateColumn("r_await", 7, of("read_await_seconds"), "seconds"),
    RateColumn("w_await", 7, of("write_await_seconds"), "seconds"),
    RateColumn("aqu-sz", 6, of("queue_length")),
    RateColumn("%util", 5, of("busy_ratio"), "ratio"),
)
MOUNTS = (
    RateColumn("ops/s", 6, of("operations_per_second")),
    RateColumn("rMB/s", 6, of("read_bytes_per_second"), "bytes"),
    RateColumn("wMB/s", 6, of("write_bytes_per_second"), "bytes"),
    RateColumn("rtt", 6, of("rtt_seconds"), "seconds"),
    RateColumn("exe", 6, of("await_seconds"), "seconds"),
    RateColumn("on wire", 7, of("outstanding")),
    RateColumn("waiting", 7, of("waiting")),
    RateColumn("conns", 5, of("connections"), "count"),
)
