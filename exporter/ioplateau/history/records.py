"""What must survive a restart: blocks of cells, episodes, events, limits in force. All but the cells
are written and read as `saved` does with any typed value; cells are packed here.

A reader takes what it knows and leaves the rest: keys may be added, none changes its meaning.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple

from ioplateau.history.episodes import Episode
from ioplateau.history.events import Event
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.saved import as_row

CELLS = 60  # in a chunk (rings.Chunk), and in a block at most


class Block(NamedTuple):
    """Cells of one level from UNIX second `start` on. seen: a byte a cell, 1 where looked at.
    rows: float16 cells of those that moved (rings.Cell in the units of rings.py).
    """

    step_seconds: int
    start: int
    seen: bytes
    rows: Mapping[FlowKey, bytes]


@as_row
class InForce(NamedTuple):
    """A limit from a UNIX second on."""

    key: BudgetKey
    dimension: Dimension
    direction: Direction
    at: int
    value: float


class HistoryPart(NamedTuple):
    """All that belongs to ten seconds: what ended in them, and what goes on."""

    blocks: tuple[Block, ...] = ()
    ended: tuple[Episode, ...] = ()
    unfinished: Mapping[BudgetKey, Episode] = NO_ENTRIES
    events: tuple[Event, ...] = ()
    limits: tuple[InForce, ...] = ()

    def put_together(self) -> None:
        """Make what is made when somebody asks, and let go what it is made of."""
        for each in self.blocks:
            len(each.rows)
        len(self.unfinished)


def block_json(block: Block) -> dict[str, Any]:
    rows: dict[str, dict[str, str]] = {}
    for (kind, name), row in block.rows.items():
        rows.setdefault(kind, {})[name] = b64encode(row).decode()
    seen = "".join("1" if cell else "0" for cell in block.seen)
    return {"step": block.step_seconds, "t": block.start, "seen": seen, "rows": rows}


def block(value: Mapping[str, Any], cell_bytes: int) -> Block:
    """Raises ValueError and the like for what is none."""
    seen = bytes(letter == "1" for letter in value["seen"])
    rows = {
        FlowKey(str(kind), str(name)): b64decode(row, validate=True)
        for kind, named in value["rows"].items()
        for name, row in named.items()
    }
    step, start = int(value["step"]), int(value["t"])
    if step < 1 or start % step or not 0 < len(seen) <= CELLS:
        raise ValueError(f"{len(seen)} cells of {step} s from {start} on")
    if any(len(row) != len(seen) * cell_bytes for row in rows.values()):
        raise ValueError(f"a row is not {len(seen)} cells long")
    return Block(step, start, seen, rows)
