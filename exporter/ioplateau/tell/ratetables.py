"""Disks and NFS mounts as tables of words: the same columns on the plain screen and on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ioplateau.tell import plain
from ioplateau.tell.view import DiskView, MountView


class RateTable(NamedTuple):
    """Those that do something as rows; what is said of the others, "" where there are none."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    idle: str


def disks(found: Iterable[DiskView], count: int) -> RateTable:
    """Of `count` disks, in the order in which they come."""
    return _table(
        DISKS, [disk for disk in found if disk.operations_per_second or disk.in_flight], count
    )


def mounts(found: Iterable[MountView], count: int) -> RateTable:
    """Of `count` mounts, in the order in which they come."""
    return _table(MOUNTS, [mount for mount in found if mount.operations_per_second], count)


def _table(columns: Sequence[Column], busy: Sequence[Any], count: int) -> RateTable:
    rows = [[words(each) for _, words in columns] for each in busy]
    quiet = count - len(busy)
    more = "more " if busy else ""
    idle = f"{quiet} {more}idle {columns[0][0]}{'s' if quiet > 1 else ''}" if quiet > 0 else ""
    return RateTable([head for head, _ in columns], rows, idle)


def _megabytes(bytes_per_second: float | None) -> str:
    return _figures(None if bytes_per_second is None else bytes_per_second / 1e6)


def _figures(value: float | None) -> str:
    return "" if value is None else plain.figures(value)


def _latency(seconds: float | None) -> str:
    return "" if seconds is None else plain.seconds(seconds)


Column = tuple[str, Callable[[Any], str]]
DISKS: Sequence[Column] = (
    ("disk", lambda disk: disk.name),
    ("r/s", lambda disk: _figures(disk.reads_per_second)),
    ("w/s", lambda disk: _figures(disk.writes_per_second)),
    ("rMB/s", lambda disk: _megabytes(disk.read_bytes_per_second)),
    ("wMB/s", lambda disk: _megabytes(disk.write_bytes_per_second)),
    ("r_await", lambda disk: _latency(disk.read_await_seconds)),
    ("w_await", lambda disk: _latency(disk.write_await_seconds)),
    ("aqu-sz", lambda disk: _figures(disk.queue_length)),
    ("%util", lambda disk: _figures(disk.busy_ratio * 100)),
)
MOUNTS: Sequence[Column] = (
    ("NFS mount", lambda mount: mount.name),
    ("ops/s", lambda mount: _figures(mount.operations_per_second)),
    ("rMB/s", lambda mount: _megabytes(mount.read_bytes_per_second)),
    ("wMB/s", lambda mount: _megabytes(mount.write_bytes_per_second)),
    ("rtt", lambda mount: _latency(mount.rtt_seconds)),
    ("exe", lambda mount: _latency(mount.execute_seconds)),
    ("on wire", lambda mount: _figures(mount.on_wire)),
    ("waiting", lambda mount: _figures(mount.waiting)),
    ("conns", lambda mount: str(mount.connections)),
)
