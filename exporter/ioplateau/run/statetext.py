"""The text of a state file: what stands in it, and whether it is one of ours.

Everything is checked before anything is taken up: a file may hold whatever a crash, a bad disk or
somebody else left in it. What the memory within must look like, its owner says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from ioplateau import __version__
from ioplateau.judge.shapes import number, record, text

# Counts up when an older ioplateau could misread what we write.
FORMAT = 1
LONGEST_AWAY_SECONDS = 1e9  # whoever was away for 30 years has a wrong clock

# What comes of reading what is no state file of ours.
UNSOUND = (ValueError, RecursionError)

_HEAD = record({"format": number(0, 1e9)}, {"ioplateau": text(200)})
_BODY = record({"wall": number(0, 1e12), "memory": record({})})


class NewerStateError(Exception):
    """Written by a later version, in one sentence."""


class SavedState(NamedTuple):
    """What an earlier run kept, and how long ago."""

    memory: Mapping[str, Any]
    away_seconds: float


def written(memory: Mapping[str, Any], wall: float) -> bytes:
    """The text to keep. wall: UNIX seconds now. Raises ValueError for numbers that are not finite."""
    saved = {"format": FORMAT, "ioplateau": __version__, "wall": wall, "memory": memory}
    return json.dumps(saved, allow_nan=False).encode()


def read(content: bytes, wall: float) -> SavedState:
    """What a text holds, its numbers finite. wall: UNIX seconds now. Raises NewerStateError, and UNSOUND."""
    found = json.loads(content, parse_constant=_finite, parse_float=_finite)
    _HEAD(found, "state")
    if found["format"] > FORMAT:
        by = found.get("ioplateau", "of an unknown version")
        raise NewerStateError(
            f"ioplateau {by} wrote it in format {found['format']:g}, "
            f"this version reads up to {FORMAT}"
        )
    _BODY(found, "state")
    return SavedState(found["memory"], min(max(wall - found["wall"], 0.0), LONGEST_AWAY_SECONDS))


def _finite(digits: str) -> float:
    value = float(digits)  # also of the words that JSON does not have: NaN, Infinity
    if not isfinite(value):
        raise ValueError(f"found {digits[:40]}, want numbers that are finite")
    return value
