"""Parts that several parsers share: a number, a name and mount options of the kernel, a count of a recording."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TypeGuard

from ioplateau.measure.escapes import decode

MOST_DIGITS = 20  # no counter has more, and past 4,300 int() refuses anyway
LEAST_SECONDS = 0.001  # from one look to the next: what is divided by them stays finite
_DEVICE = re.compile("([0-9]{1,9}):([0-9]{1,9})")


class FormatError(ValueError):
    """Text that is not what the kernel's grammar promises; says what was found and wanted."""


def number(word: bytes, name: str) -> int:
    """The decimal number `word` is; FormatError, with `name` in it, if it is none."""
    # int() alone would take "1_000", "+1" and " 1".
    if not word.isdigit() or len(word) > MOST_DIGITS:
        raise FormatError(f"{name}: {word[:24]!r}, want a number")
    return int(word)


def count_of(text: str) -> int | None:
    """The decimal number `text` is; None: it is none."""
    # isdigit() alone would take "²", and int() other scripts' digits.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None


def is_count(value: object) -> TypeGuard[int]:
    """Whether a JSON value is a whole number that a counter of 64 bits can have."""
    return type(value) is int and 0 <= value < 2**64  # a bool is none


def counted(value: object) -> int:
    """The count that a JSON value is; FormatError if it is none."""
    if not is_count(value):
        raise FormatError(f"{value!r:.40}, want a count")
    return value


def elapsed(value: float) -> float:
    """The seconds from one look to the next that a JSON number is; FormatError if it is none."""
    if not LEAST_SECONDS <= value < float("inf"):
        raise FormatError(f"{value!r:.40} seconds, want {LEAST_SECONDS:g} or more")
    return float(value)


def device_numbers(text: str) -> tuple[int, int] | None:
    """The major and minor number that "254:0" is; None: it is none."""
    found = _DEVICE.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


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
