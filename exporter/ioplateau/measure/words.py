"""How the kernel writes a number, and nothing else that looks like one."""

from __future__ import annotations

from ioplateau.measure.reading import FormatError

MOST_DIGITS = 20  # no counter has more, and past 4,300 int() refuses anyway


def number(word: bytes, name: str) -> int:
    """The decimal number `word` is; FormatError, with `name` in it, if it is none."""
    # int() alone would take "1_000", "+1" and " 1".
    if not word.isdigit() or len(word) > MOST_DIGITS:
        raise FormatError(f"{name}: {word[:24]!r}, want a number")
    return int(word)
