"""Text that must fit: short numbers, marks where something was cut, columns of a terminal.

A terminal gives most characters one column, wide ones two and combining ones none (UAX #11).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import pairwise

from ioplateau.tell import formatting

CUT = "…"
GAP = "  "
SHORTEST_NAME = 12  # with which kind and verdict fit in 40 columns
BARS = "▁▂▃▄▅▆▇█"
# For terminals that are not UTF-8, a character each: what is aligned stays so.
ASCII = str.maketrans({"µ": "u", "·": "-", CUT: "~", **dict(zip(BARS, "_.,:-=+#", strict=True))})
SHORT_TIMES = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def printable(text: str, *, ascii_only: bool = False) -> str:
    """Text that cannot speak to the terminal: names come from mount points and devices."""
    text = formatting.printable(text)
    return plain_ascii(text) if ascii_only else text


def plain_ascii(text: str) -> str:
    """The same in ASCII: our own signs by their likeness, others by their number."""
    if text.isascii():
        return text
    return text.translate(ASCII).encode("ascii", "backslashreplace").decode()


def columns(text: str) -> int:
    """How many columns a terminal takes for it."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(letter) for letter in text)


def _columns_of(letter: str) -> int:
    from unicodedata import combining, east_asian_width  # few names have other letters than ASCII's

    if combining(letter):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int, *, keep_end: bool = False) -> str:
    """At most `width` columns; what is left out is marked at the end, or at the beginning."""
    if columns(text) <= width:
        return text
    if width <= 0:
        return ""
    letters, left = [], width - 1
    for letter in reversed(text) if keep_end else text:
        left -= _columns_of(letter)
        if left < 0:
            break
        letters.append(letter)
    return CUT + "".join(reversed(letters)) if keep_end else "".join(letters) + CUT


def left(text: str, width: int, *, keep_end: bool = False) -> str:
    """Set to the left in `width` columns, cut with a mark if need be."""
    text = cut(text, width, keep_end=keep_end)
    return text + " " * (width - columns(text))


def right(text: str, width: int) -> str:
    """Set to the right in `width` columns, cut with a mark if need be."""
    text = cut(text, width)
    return " " * (width - columns(text)) + text


def aligned(
    rows: Sequence[Sequence[str]],
    right_columns: Container[int] = (),
    width: int | None = None,
) -> list[str]:
    """A line a row, each column as wide as its widest cell; `right_columns` are set to the right.

    Lines longer than `width` have shorter names in the first column, of SHORTEST_NAME columns at least: of a
    name the end tells most.
    """
    shown = [[formatting.printable(cell) for cell in row] for row in rows]
    name, *others = (max(map(columns, column)) for column in zip(*shown, strict=True))
    if width is not None:
        room = width - sum(others) - len(GAP) * len(others)
        name = min(name, max(room, SHORTEST_NAME))
    return [
        GAP.join(
            right(cell, wide) if place in right_columns else left(cell, wide, keep_end=True)
            for place, (cell, wide) in enumerate(zip(row, (name, *others), strict=True))
        ).rstrip()
        for row in shown
    ]


def number(value: float) -> str:
    """At most six columns: 0.41, 54.9, 12,800, 128k, 1.3M."""
    if abs(value) < 99_999.5:
        return formatting.figures(value)
    size, letter = (1e9, "G") if abs(value) >= 999.5e6 else (1e6, "M")
    if abs(value) < 999_500:
        size, letter = 1e3, "k"
    return formatting.figures(value / size) + letter


def latency(value: float) -> str:
    """0.0086 -> "8.6ms"."""
    return formatting.seconds(value).replace(" ", "")


def age(value: float) -> str:
    """A time on the clock, at most four columns: 43s, 12m, 2h, 15d."""
    whole = max(round(value), 0)
    for size, letter in SHORT_TIMES:
        if whole >= size:
            return f"{whole // size}{letter}"
    return "0s"


def share(value: float) -> str:
    """0.973 -> "97%"."""
    return f"{value * 100:.0f}%"


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Shares from 0 to 1 as bars, the newest at the right; what is not known is a gap.

    Where there are more values than columns, a bar is the highest of its part.
    """
    if not values or width <= 0:
        return ""
    count = min(width, len(values))
    bounds = [len(values) * number // count for number in range(count + 1)]
    return "".join(
        _bar([v for v in values[begin:end] if v is not None]) for begin, end in pairwise(bounds)
    )


def _bar(part: Sequence[float]) -> str:
    if not part:
        return " "
    return BARS[min(int(max(*part, 0.0) * len(BARS)), len(BARS) - 1)]
