"""What there is to draw of a panel, and how Grafana writes values and colours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

COLOURS = {
    "blue": "#3274d9",
    "orange": "#ff780a",
    "red": "#e02f44",
    "dark-red": "#9c1427",
    "green": "#56a64b",
    "yellow": "#f2cc0c",
    "purple": "#a352cc",
    "text": "#52545c",
    "transparent": "#ffffff00",
}
PALETTE = (
    *("#56a64b", "#b58b00", "#2f9fb8", "#c76a15", "#1f60c4", "#a352cc", "#705da0", "#37872d"),
    *("#8f6b00", "#0a437c", "#6d1f62", "#508642", "#967302", "#2f575e", "#99440a", "#58140c"),
)


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    at: Sequence[float]
    values: Sequence[float]
    colour: str
    width: float = 1.0
    fill: float = 0.0
    dashed: bool = False
    down: bool = False  # drawn below the axis

    def legend(self, unit: str) -> tuple[str, str, str]:
        """Mean, highest and last value."""
        known = [value for value in self.values if not math.isnan(value)]
        return (
            written(sum(known) / len(known), unit),
            written(max(known), unit),
            written(known[-1], unit),
        )


@dataclass(frozen=True, slots=True)
class Graph:
    lines: Sequence[Line]
    unit: str
    low: float | None
    high: float | None
    thresholds: Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Number:
    text: str
    colour: str
    filled: bool


@dataclass(frozen=True, slots=True)
class States:
    rows: Sequence[tuple[str, Sequence[tuple[float, float, str]]]]  # name, (begin, end, colour)
    words: Sequence[tuple[str, str]]  # those that occur, with their colours


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    colour: str = ""
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Listing:
    lines: Sequence[tuple[str, str, str]]  # state, alert, where


@dataclass(frozen=True, slots=True)
class Empty:
    text: str


Shown = Graph | States | Table | Listing | Empty | Sequence[Number]


def threshold_colour(value: float, thresholds: Json) -> str:
    passed = [
        step["color"]
        for step in thresholds["steps"]
        if step["value"] is None or value >= step["value"]
    ]
    return COLOURS[passed[-1]]


SUFFIXES = {"iops": " io/s", "Bps": "B/s", "reqps": " req/s", "cps": " c/s", "bytes": "B"}
TIMES = ((3600.0, " h"), (60.0, " min"), (1.0, " s"), (1e-3, " ms"), (1e-6, " µs"))


def written(value: float, unit: str) -> str:
    """A value with its unit, in three figures: 9.62 MB/s, 256 KiB, 12.5 ms."""
    scale, name = scale_of(value, unit)
    return _figures(value / scale) + name


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """What a value of this size is counted in, and what that is called."""
    if unit == "percentunit":
        return 0.01, " %"
    if unit == "s":
        return next((one for one in TIMES if abs(value) >= one[0]), (1.0, " s"))
    binary = unit == "bytes"
    base = 1024.0 if binary else 1000.0
    space = " " if unit in {"Bps", "bytes"} else ""
    scale, prefix = 1.0, ""
    for power, letter in enumerate("kMGT", 1):
        if abs(value) >= base**power * 0.9995:
            scale, prefix = base**power, letter.upper() + "i" if binary else letter
    return scale, f"{space}{prefix}{SUFFIXES.get(unit, '')}"


def _figures(value: float) -> str:
    if value == 0 or abs(value) < 5e-4:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value) * 1.0005)))
    text = f"{value:.{min(decimals, 3)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
