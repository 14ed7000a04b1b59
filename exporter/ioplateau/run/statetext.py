"""The text of a state file: what stands in it, and whether it is one of ours.

Everything is checked before anything is taken up: a file may hold whatever a crash, a bad disk or
somebody else left in it. What the memory within must look like, its owner says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, NamedTuple

from ioplateau import __version__, saved
from ioplateau.saved import Bounds

# Counts up when an older ioplateau could misread what we write.
FORMAT = 1
LONGEST_AWAY_SECONDS = 1e9  # whoever was away for 30 years has a wrong clock


class StateBody(NamedTuple):
    """What follows the head in this version. wall: UNIX seconds."""

    wall: Annotated[float, Bounds(0, 1e12)]
    memory: Mapping[str, Any]


class SavedState(NamedTuple):
    """What an earlier run kept, and how long ago."""

    memory: Mapping[str, Any]
    away_seconds: float


def encode(memory: Mapping[str, Any], wall: float) -> bytes:
    """The text to keep. wall: UNIX seconds now. Raises ValueError for numbers that are not finite."""
    text = {"format": FORMAT, "ioplateau": __version__, "wall": wall, "memory": memory}
    return json.dumps(text, allow_nan=False).encode()


def read(content: bytes, wall: float) -> SavedState:
    """What a text holds, its numbers finite. wall: UNIX seconds now. Raises one of saved.UNSOUND."""
    found = json.loads(content, parse_constant=_finite, parse_float=_finite)
    saved.check_format(found, FORMAT, "state")
    body = saved.read(StateBody, found, "state")
    return SavedState(body.memory, min(max(wall - body.wall, 0.0), LONGEST_AWAY_SECONDS))


def _finite(digits: str) -> float:
    value = float(digits)  # also of the words that JSON does not have: NaN, Infinity
    if not isfinite(value):
        raise ValueError(f"found {digits[:40]}, want numbers that are finite")
    return value
