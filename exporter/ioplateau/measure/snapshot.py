"""Everything one tick read from the machine, before anybody understood it.

A snapshot holds raw text. A recording is a list of snapshots, so live, replay and
tests feed the engine the same thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ioplateau.measure.mappings import NO_ENTRIES

DISKSTATS = "/proc/diskstats"
MOUNTSTATS = "/proc/self/mountstats"
MOUNTINFO = "/proc/self/mountinfo"
NETDEV = "/proc/net/dev"
PRESSURE = "/proc/pressure/io"
STAT = "/proc/stat"
MEMINFO = "/proc/meminfo"


class Static(NamedTuple):
    """What does not change by the second. A change makes a new object, so compare with `is`."""

    kernel: str = ""
    # Attributes of /sys/block/<dev>, by device and then by path below it ("size",
    # "queue/scheduler", "device/model", ...), stripped. Links end in their target:
    # "device" -> "../../../1:0:0:3". Absent attributes are absent.
    block: Mapping[str, Mapping[str, str]] = NO_ENTRIES
    slaves: Mapping[str, tuple[str, ...]] = NO_ENTRIES
    holders: Mapping[str, tuple[str, ...]] = NO_ENTRIES
    # partition -> its whole disk
    partitions: Mapping[str, str] = NO_ENTRIES
    mountinfo: bytes | None = None
    # Whole small files that are read seldom, by path: /proc/sys/sunrpc/..., DMI strings.
    files: Mapping[str, str] = NO_ENTRIES
    # Metadata documents by name ("azure/instance"), as text.
    documents: Mapping[str, str] = NO_ENTRIES


class Snapshot(NamedTuple):
    """One tick's raw readings. All times in seconds; `mono` is CLOCK_MONOTONIC."""

    mono: float
    mono_end: float
    wall: float
    static: Static
    boot: float | None = None
    # Path -> what it said this tick. A source that was not due is in none of these maps.
    texts: Mapping[str, bytes] = NO_ENTRIES
    # Path or blob name -> CLOCK_MONOTONIC before that read; absent: `mono`.
    at: Mapping[str, float] = NO_ENTRIES
    # Path or blob name -> why it could not be read.
    failed: Mapping[str, str] = NO_ENTRIES
    # Readings that are no files, as JSON values: "tcp", "interfaces", "cgroups", "ebs", ...
    blobs: Mapping[str, Any] = NO_ENTRIES
    # Path or blob name -> seconds the read took (its own cost, for ioplateau_source_seconds_total).
    took: Mapping[str, float] = NO_ENTRIES

    def read_at(self, name: str) -> float:
        """Monotonic seconds at which `name` was read."""
        return self.at.get(name, self.mono)
