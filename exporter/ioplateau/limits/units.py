"""Units of the tables' columns, and the base units that limits are in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ioplateau.limits.budgets import Dimension

MB = 1_000_000
KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
GIB_PER_TIB = 1024
NEARLY = 0.9995  # of a unit is one to three figures: 999.6 kB/s are a MB/s
DECIMAL = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
TIMES = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def megabytes(value: float | None) -> float | None:
    """10^6 bytes as bytes."""
    return None if value is None else value * MB


def megabits(value: float | None) -> float | None:
    """Mbit/s as bytes per second."""
    return None if value is None else value * MB / 8


def mebibytes(value: float | None) -> float | None:
    """2^20 bytes as bytes."""
    return None if value is None else value * MIB


def kibibytes(value: int | None) -> int | None:
    """2^10 bytes as bytes."""
    return None if value is None else value * KIB


def rate(value: float, dimension: Dimension | None, digits: str = ".1f") -> str:
    """A value of a dimension with its unit: "500 IOPS", "96.0 MB/s", "41 kB/s", "2 slots".
    digits: of MB/s.
    """
    if dimension is not Dimension.THROUGHPUT:
        return f"{value:,.0f} {'slots' if dimension is Dimension.SLOTS else 'IOPS'}"
    if abs(value) < MB * NEARLY:
        return bytes_per_second(value)
    return f"{value / MB:,{digits}} MB/s"


def bytes_per_second(value: float) -> str:
    """96e6 -> "96 MB/s"."""
    return in_units(value, DECIMAL)


def in_units(value: float, sizes: Sequence[tuple[float, str]]) -> str:
    """A value in the largest unit of which it is one to three figures. sizes: the largest first."""
    size, unit = next((each for each in sizes if abs(value) >= each[0] * NEARLY), sizes[-1])
    return f"{figures(value / size)} {unit}"


def figures(value: float) -> str:
    """Three figures, without trailing zeros: 1.5, 96, 1,024."""
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    digits = 1 if abs(value) >= 9.995 else 2
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def duration(seconds: float) -> str:
    """A time on the clock, in its two largest units: 7800 -> "2 h 10 min"."""
    whole = max(round(seconds), 0)
    for (large, large_unit), (small, small_unit) in pairwise(TIMES):
        if whole >= large:
            rest = whole % large // small
            return f"{whole // large} {large_unit}" + (f" {rest} {small_unit}" if rest else "")
    return f"{whole} s"
