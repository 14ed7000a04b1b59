"""How the kernel writes a number, a name and mount options."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from ioplateau.measure.escapes import decode
from ioplateau.measure.reading import FormatError

MOST_DIGITS = 20  # no counter has more, and past 4,300 int() refuses anyway


def number(word: bytes, name: str) -> int:
    """The decimal number `word` is; FormatError, with `name` in it, if it is none."""
    # int() alone would take "1_000", "+1" and " 1".
    if not word.isdigit() or len(word) > MOST_DIGITS:
        raise FormatError(f"{name}: {word[:24]!r}, want a number")
    return int(word)


def word(raw: bytes) -> str:
    """A name or a value, decoded."""
    # The same few words in a thousand mounts: one object each.
    return sys.intern(decode(raw))


def options(raw: bytes) -> Mapping[str, str]:
    """Mount options by key; flags map to ""."""
    found: dict[str, str] = {}
    for part in raw.split(b","):
        key, _, value = part.partition(b"=")
        if key:
            found[word(key)] = word(value)
    return found
