"""Numbers and text as people read them: three figures at most, with a unit, and "unknown" for unknown.

Throughput is in decimal megabytes, as clouds sell it; sizes are in binary ones, as disks have
them. And text that can be shown, whatever bytes it came from.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ioplateau.limits import units
from ioplateau.limits.budgets import (
    LANES,
    VM,
    BudgetKey,
    Dimension,
    Direction,
    Kind,
    Word,
    lane_words,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ioplateau.history import Episode

UNKNOWN = "unknown"

KINDS = {
    Kind.DISK: "disk",
    Kind.STRIPE: "stripe",
    Kind.VM_UNCACHED: "VM, disks",  # which, its lane tells
    **{kind: f"VM, {disks}" for kind, disks in LANES.items()},
    Kind.VM_NETWORK: "VM, network",
    Kind.VOLUME: "NFS volume",
    Kind.NFS_SLOTS: "NFS slots",
    Kind.NFS_CONNECTION: "NFS connection",
    Kind.CGROUP: "control group",
}

WORDS = {
    Word.IDLE: "idle",
    Word.HEALTHY: "healthy",
    Word.APP_LIMITED: "limited by the application",
    Word.LATENCY_BOUND: "bound by latency",
    Word.THROTTLED: "throttled",
    Word.SATURATED: "saturated",
    Word.STALLED: "stalled",
    Word.AFFECTED: "held back by another",
    Word.UNKNOWN: "unknown",
}

figures = units.figures
BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
LATENCIES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def kind(of: Kind, lane: str = "") -> str:
    """What a budget is. lane: Budget.lane, where it is known."""
    return f"VM, {lane}" if lane and of is Kind.VM_UNCACHED else KINDS[of]


def budget(key: BudgetKey, lane: str = "") -> str:
    """What it is and its name: "disk sdc", "NFS volume /mnt/a", "VM, EBS volumes vm"."""
    words = kind(key.kind, lane)
    # The lane of the disks of one SKU tells its name.
    is_told = key.kind is Kind.VM_UNCACHED and key.name != VM and lane == lane_words(key, lane)
    return words if is_told else f"{words} {key.name}"


def machine(cloud: str, size: str, region: str) -> str:
    """Which machine it is, as far as a cloud told: "azure Standard_D4s_v3, westeurope"."""
    return ", ".join(filter(None, (f"{cloud} {size}".strip(), region)))


def mapper(info: Mapping[str, str]) -> str:
    """What a device-mapper node is known by: " (vg-data)"; "": it is none. info: Budget.info."""
    return f" ({info['mapper']})" if "mapper" in info else ""


def amount(dimension: Dimension, value: float | None) -> str:
    """What a limit or a rate of this dimension says: "500 IOPS", "96 MB/s", "64 slots"."""
    match dimension:
        case Dimension.IOPS:
            return operations_per_second(value)
        case Dimension.THROUGHPUT:
            return bytes_per_second(value)
        case Dimension.SLOTS:
            return UNKNOWN if value is None else f"{count(value)} slots"


def operations_per_second(value: float | None) -> str:
    """12800 -> "12,800 IOPS"."""
    return UNKNOWN if value is None else f"{count(value)} IOPS"


def bytes_per_second(value: float | None) -> str:
    """96e6 -> "96 MB/s"."""
    return UNKNOWN if value is None else units.bytes_per_second(value)


def size(value: float | None) -> str:
    """65536 -> "64 KiB"."""
    return UNKNOWN if value is None else units.in_units(value, BINARY)


def seconds(value: float | None) -> str:
    """A latency: 0.031 -> "31 ms"."""
    return UNKNOWN if value is None else units.in_units(value, LATENCIES)


def duration(value: float | None) -> str:
    """A time on the clock, in its two largest units: 7800 -> "2 h 10 min"."""
    return UNKNOWN if value is None else units.duration(value)


def date(wall: float) -> str:
    """UNIX seconds as a date and time in UTC: what is told may be read elsewhere."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))


def share(value: float | None) -> str:
    """A ratio: 0.973 -> "97 %"."""
    return UNKNOWN if value is None else f"{value * 100:.0f} %"


def count(value: float) -> str:
    """A number with thousands apart; a small one keeps its fraction: 12800 -> "12,800"."""
    return figures(value) if abs(value) < 100 else f"{value:,.0f}"


def counted(number: int, what: str) -> str:
    """As in 1 episode, 2,000 episodes."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def limit(dimension: Dimension, direction: Direction, value: float | None) -> str:
    """A ceiling: "500 IOPS", "134 MB/s of reads"."""
    one_way = {Direction.READ: " of reads", Direction.WRITE: " of writes", Direction.TOTAL: ""}
    return amount(dimension, value) + (one_way[direction] if value is not None else "")


def limit_of(episode: Episode) -> str:
    """The limit that held a budget back; "" where none is known."""
    if episode.limit is None or episode.dimension is None:
        return ""
    return limit(episode.dimension, episode.direction or Direction.TOTAL, episode.limit)


def valid(value: str) -> str:
    """Text that UTF-8 can carry.

    A byte that was no text is shown by its number: two paths that differ in one stay two.
    """
    if value.isascii():
        return value
    return "".join(_shown(letter) for letter in value)


def _shown(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # surrogateescape, PEP 383
        return f"\\x{code - 0xDC00:02x}"
    return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code <= 0xDFFF else letter


def printable(value: str) -> str:
    """Text that a terminal shows and does nothing else with, in one line.

    Names come from mount points, devices, servers and other people's recordings: escape sequences,
    newlines and marks that turn the direction of writing are shown by their numbers.
    """
    if value.isprintable():
        return value
    return "".join(map(_escaped, value))


def _escaped(letter: str) -> str:
    if letter.isprintable():
        return letter
    if 0xD800 <= ord(letter) <= 0xDFFF:
        return _shown(letter)
    return letter.encode("unicode_escape").decode("ascii")
