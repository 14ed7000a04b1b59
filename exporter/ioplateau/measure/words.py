"""How the kernel writes a number, and nothing else that looks like one."""

from __future__ import annotations

from ioplateau.measure.reading import FormatError


def number(word: bytes, name: str) -> int:
    """The decimal number `word` is; FormatError, with `name` in it, if it is none."""
    # int() alone would take "1_000", "+1" and " 1"; no counter has more than 20 digits,
    # and past 4,300 int() refuses anyway.
    if not word.isdigit() or len(word) > 20:
        raise FormatError(f"{name}: {word[:24]!r}, want a number")
    return int(word)
