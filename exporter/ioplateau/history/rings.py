"""What every flow did lately: by the second, by ten seconds, by the minute, in a stated size.

Kept by flow, since what a budget is drawn on is the sum of its members. All columns add up over
members and average over time. A chunk holds the same 60 cells of every flow that moved in them:
what rests costs nothing, and where the size does not suffice, the chunk that was written to the longest
ago goes, so that every flow reaches equally far back. A chunk has a size of its own, since devices that come and go
without end would make it larger all the while: of what comes after that nothing is known in it.
"""

from __future__ import annotations

import math
import struct
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, reduce
from itertools import repeat
from operator import mul
from typing import NamedTuple, TypeAlias

from ioplateau.history.records import CELLS, Block
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.window import joined
from ioplateau.limits.budgets import FlowKey
from ioplateau.measure.mappings import LazyMapping

Flows: TypeAlias = Mapping[FlowKey, FlowTick | None]
Lock: TypeAlias = AbstractContextManager[object]
NO_LOCK: Lock = nullcontext()

COLUMNS = 6
NAN = math.nan

# Cells are float16 (11 bits: within 0.05 %), which reaches to 65504: so operations are in units of
# 64 a second and bytes in MiB a second. Powers of two lose nothing.
_CELL = struct.Struct(f"<{COLUMNS}e")
_OPERATIONS, _BYTES = 1 / 64, 2.0**-20
_UNITS = (64.0, 64.0, 2.0**20, 2.0**20, 1.0, 1.0)
MOST = 65504.0
CELL_BYTES = _CELL.size
ROW_SIZE = CELLS * CELL_BYTES
# What a row costs beside its cells: its object, its entry, a share of its chunk. Measured.
ROW_BYTES = 130


class Cell(NamedTuple):
    """One flow in one cell: means over time; nan: not known.

    waiting_seconds: seconds that requests spent until they were answered, per second; over
    operations it is the await.
    """

    read_operations_per_second: float = 0.0
    write_operations_per_second: float = 0.0
    read_bytes_per_second: float = 0.0
    write_bytes_per_second: float = 0.0
    queue_length: float = 0.0
    waiting_seconds: float = 0.0


REST = Cell()
NOT_KNOWN = Cell(*repeat(NAN, COLUMNS))


class RingSize(NamedTuple):
    """How long a level's cells are, how much watched time it keeps, and within what size."""

    step_seconds: int
    keep_seconds: int
    most_bytes: int


# One flow that never rests needs 13 KiB, 130 KiB and 150 KiB for all of it.
SPANS = (
    RingSize(1, 15 * 60, 1_250_000),
    RingSize(10, 24 * 3600, 950_000),
    RingSize(60, 7 * 24 * 3600, 700_000),
)


class Chunk:
    """60 cells of every flow that moved in them."""

    __slots__ = ("_most_rows", "rows", "seen")

    def __init__(self, most_rows: int) -> None:
        self.seen = bytearray(CELLS)  # 1: the machine was looked at
        self.rows: dict[FlowKey, bytearray] = {}
        self._most_rows = most_rows

    def row(self, key: FlowKey) -> bytearray | None:
        """The row to write into; made when there is none. None: the chunk is full."""
        row = self.rows.get(key)
        if row is None and len(self.rows) < self._most_rows:
            row = self.rows[key] = bytearray(ROW_SIZE)
        return row

    def look(self, place: int, count: int = 1) -> None:
        """Book that the machine was looked at. What such cells hold that are lived again, since the clock was
        set back, goes: what rests now writes nothing.
        """
        if any(self.seen[place : place + count]):
            nothing, first = bytes(count * CELL_BYTES), place * CELL_BYTES
            for row in self.rows.values():
                row[first : first + len(nothing)] = nothing
        self.seen[place : place + count] = b"\1" * count

    def cells(self, key: FlowKey) -> list[Cell] | None:
        """All cells of a flow; None: it rested."""
        row = self.rows.get(key)
        if row is None:
            return None if len(self.rows) < self._most_rows else [NOT_KNOWN] * CELLS
        return [Cell(*map(mul, cell, _UNITS)) for cell in _CELL.iter_unpack(row)]

    def take(self, other: Chunk, keys: Iterable[FlowKey]) -> None:
        """What another one has of these flows."""
        rows = {key: bytearray(row) for key in keys if (row := other.rows.get(key)) is not None}
        self.rows, self.seen = rows, bytearray(other.seen)
        if len(other.rows) >= other._most_rows:
            self._most_rows = len(rows)

    @property
    def size_bytes(self) -> int:
        return (ROW_SIZE + ROW_BYTES) * len(self.rows)


class Ring:
    """Chunks of one cell length. Written by one thread, read by any."""

    def __init__(self, span: RingSize) -> None:
        self.span = span
        self.chunk_seconds = span.step_seconds * CELLS
        # By the UNIX second of the first cell. In the order in which they were written to: by their
        # times a clock that is set could make all of them old, or the one that is being written.
        self.chunks: dict[int, Chunk] = {}
        self._most_chunks = 1 + math.ceil(span.keep_seconds / self.chunk_seconds)
        # Of one chunk, so that something is left of those before.
        self._most_rows = span.most_bytes * 2 // 3 // (ROW_SIZE + ROW_BYTES)

    def chunk(self, second: int) -> Chunk:
        """The chunk that a second falls into, to write to."""
        start = second - second % self.chunk_seconds
        chunk = self.chunks.get(start)
        if chunk is None:
            chunk = Chunk(self._most_rows)
            self.chunks = {**self.chunks, start: chunk}
            # The new one will be as large as the last.
            self.trim(max(one.size_bytes for one in list(self.chunks.values())[-2:]))
        elif start != next(reversed(self.chunks)):
            others = {other: one for other, one in self.chunks.items() if other != start}
            self.chunks = {**others, start: chunk}
        return chunk

    def look(self, second: int) -> None:
        """Book that the machine was looked at."""
        self.chunk(second).look(second % self.chunk_seconds // self.span.step_seconds)

    def is_seen(self, second: int) -> bool:
        """Whether there is a cell of this time."""
        chunk = self.chunks.get(second - second % self.chunk_seconds)
        place = second % self.chunk_seconds // self.span.step_seconds
        return chunk is not None and bool(chunk.seen[place])

    def cells(
        self, keys: Iterable[FlowKey], first: int, last: int
    ) -> Iterator[tuple[int, Mapping[FlowKey, Cell]]]:
        """(UNIX second, cells of those that moved) of every cell looked at from first to last, in any order."""
        step, wanted = self.span.step_seconds, tuple(keys)
        for start, chunk in list(self.chunks.items()):
            if start + self.chunk_seconds <= first or start > last:
                continue
            rows = {key: cells for key in wanted if (cells := chunk.cells(key)) is not None}
            for place, is_seen in enumerate(bytes(chunk.seen)):
                second = start + place * step
                if is_seen and first <= second <= last:
                    yield second, {key: cells[place] for key, cells in rows.items()}

    def trim(self, coming: int = 0) -> None:
        """Those written to the longest ago go: too many chunks, and what does not fit beside `coming` bytes."""
        chunks = self.chunks
        total = coming + sum(chunk.size_bytes for chunk in chunks.values())
        for start in tuple(chunks)[:-1]:
            if total <= self.span.most_bytes and len(chunks) <= self._most_chunks:
                break
            total -= chunks.pop(start).size_bytes


class _Ten(NamedTuple):
    """Ten seconds from a UNIX second on, and their ticks by second: several, of less than a second."""

    start: int
    ticks: dict[int, tuple[Flows, ...]]


class Rings:
    """The three levels. `add` keeps a tick as it is: one thread calls it, which never waits. `settle`
    writes the cells of ten seconds that are over, and after each minute the coarser levels: any thread.

    lock: of what is written, where more than one thread settles or asks.
    """

    def __init__(self, spans: Iterable[RingSize] = SPANS, lock: Lock = NO_LOCK) -> None:
        self.levels = tuple(Ring(span) for span in spans)
        self.moved: set[FlowKey] = set()  # of those there are: what never moved is not even unknown
        self._present = _Ten(-10, {})  # none: no tick lies in it
        self._newest = -10  # the second of the last tick
        self._over: deque[_Ten] = deque()  # those before it that are not written yet
        self._lock = lock

    def add(self, second: int, flows: Flows) -> bool:
        """One tick at a UNIX second; whether it is the first of ten. Several in a row within a second are
        kept as their mean over time; a second that is lived again is what it was the last time.
        """
        start, ticks = self._present
        is_same, self._newest = second == self._newest, second
        if 0 <= second - start < 10:
            ticks[second] = (*ticks[second], flows) if is_same else (flows,)
            return False
        if ticks:
            self._over.append(self._present)
        self._present = _Ten(second - second % 10, {second: (flows,)})
        return True

    def settle(self) -> None:
        """Write the tens of seconds that are over."""
        with self._lock:
            self._settle()

    def settle_all(self) -> None:
        """Write what was taken: no tick comes any more, or it is written again with those that come."""
        with self._lock:
            self._settle()
            self._write_ten(self._present)

    def _settle(self) -> None:
        while self._over:
            ten = self._over[0]
            self._write_ten(ten)
            follower = self._over[1] if len(self._over) > 1 else self._present
            minute = ten.start - ten.start % CELLS
            if follower.start - follower.start % CELLS != minute:
                self._fold_minute(minute)
                first, *_ = tuple(follower.ticks.values())  # at once: ticks come meanwhile
                self.moved &= first[-1].keys()
            self._over.popleft()

    def _write_ten(self, ten: _Ten) -> None:
        if ten.ticks:
            chunk = self.levels[0].chunk(ten.start)
            before = len(chunk.rows)
            for second, several in tuple(ten.ticks.items()):
                self._write(chunk, second % CELLS, _mean_flows(several))
            if len(chunk.rows) > before:
                self.levels[0].trim()

    def _write(self, chunk: Chunk, place: int, flows: Flows) -> None:
        chunk.look(place)
        at, rows, pack, moved = place * CELL_BYTES, chunk.rows, _CELL.pack_into, self.moved
        resting: FlowTick | None = None  # what rests within a source is told by the same tick
        for key, tick in flows.items():
            if tick is None:
                if key in moved and (row := chunk.row(key)) is not None:
                    pack(row, at, *NOT_KNOWN)
            elif tick is resting:
                continue
            elif tick[1] or tick[2] or tick[3] or tick[4] or tick[7] or tick[8]:
                _, reads, writes, read_bytes, write_bytes, read_await, write_await, queue = tick[:8]
                waiting = NAN
                if queue is None:
                    queue = NAN
                else:
                    waiting = (read_await or 0.0) * reads + (write_await or 0.0) * writes
                    # A disk that answers nothing completes nothing: what is in flight waits.
                    queue = queue or tick[8] or 0.0
                row = rows.get(key)
                if row is None:
                    row = chunk.row(key)
                    if row is None:
                        continue
                    moved.add(key)
                try:
                    pack(
                        row, at, reads * _OPERATIONS, writes * _OPERATIONS, read_bytes * _BYTES,
                        write_bytes * _BYTES, queue, waiting,
                    )  # fmt: skip
                except OverflowError:
                    cell = Cell(reads, writes, read_bytes, write_bytes, queue, waiting)
                    pack(row, at, *_cut(cell))
            else:
                resting = tick

    def _fold_minute(self, start: int) -> None:
        for number, level in enumerate(self.levels[1:], start=1):
            self.fold(number, start, max(CELLS // level.span.step_seconds, 1))
            level.trim()

    def cells(
        self, number: int, keys: Iterable[FlowKey], first: int, last: int
    ) -> list[tuple[int, Mapping[FlowKey, Cell]]]:
        """(UNIX second, cells of those that moved) of every cell of a level that was looked at, first to
        last, in rising order. From any thread.
        """
        wanted = tuple(keys)
        present = self._present  # before the rest is written: what is over by now is in the rows
        self.settle()
        if present.ticks and number:
            # A cell of now or later that is there is of before the clock was set back.
            last = min(
                last, present.start - present.start % self.levels[number].span.step_seconds - 1
            )
        found = dict(self.levels[number].cells(wanted, first, last))
        if present.ticks:
            lately = Rings([level.span for level in self.levels])
            lately._take(self, present, wanted)
            step = lately.levels[number].span.step_seconds
            if number:
                ten = present.start
                for start in range(ten - ten % CELLS, ten - ten % step, step):
                    lately.fold(number, start)
            found |= lately.levels[number].cells(wanted, first, last)
        return sorted(found.items())

    def _take(self, other: Rings, present: _Ten, wanted: Iterable[FlowKey]) -> None:
        """What another one has of these flows in the minute that goes on."""
        self.moved = set(other.moved)
        chunk = self.levels[0].chunk(present.start)
        known = other.levels[0].chunks.get(present.start - present.start % CELLS)
        if known is not None:
            chunk.take(known, wanted)
        for second, several in tuple(present.ticks.items()):
            known_flows = [{key: flows[key] for key in wanted if key in flows} for flows in several]
            self._write(chunk, second % CELLS, _mean_flows(known_flows))

    def fold(self, number: int, start: int, count: int = 1) -> None:
        """Make `count` cells of level `number` from `start` on of the finer level's cells, all of one
        chunk of either.
        """
        fine, coarse = self.levels[number - 1], self.levels[number]
        chunk = fine.chunks.get(start - start % fine.chunk_seconds)
        if chunk is None:
            return
        step = fine.span.step_seconds
        each = coarse.span.step_seconds // step
        first = start % fine.chunk_seconds // step
        seen = chunk.seen
        looked = [
            [at for at in range(each) if seen[place + at]]
            for place in range(first, first + count * each, each)
        ]
        if not all(looked):
            if count > 1:
                for place in range(count):
                    self.fold(number, start + place * coarse.span.step_seconds)
            return
        goal = coarse.chunk(start)
        at = start % coarse.chunk_seconds // coarse.span.step_seconds
        goal.look(at, count)
        # What was not looked at is 0.
        cuts = [
            (
                slice(place * each * COLUMNS + column, (place + 1) * each * COLUMNS, COLUMNS),
                len(known),
            )
            for place, known in enumerate(looked)
            for column in range(COLUMNS)
        ]
        unpack_from, pack_into = _cells(count * each).unpack_from, _cells(count).pack_into
        for key, row in list(chunk.rows.items()):
            values = unpack_from(row, first * CELL_BYTES)
            means = [sum(values[cut]) / cells for cut, cells in cuts]
            if math.isnan(sum(means)):
                each_cell = [values[at : at + COLUMNS] for at in range(0, len(values), COLUMNS)]
                means = [
                    mean
                    for place, known in enumerate(looked)
                    for mean in _known_means([each_cell[place * each + at] for at in known])
                ]
            if any(means) and (into := goal.row(key)) is not None:
                pack_into(into, at * CELL_BYTES, *means)

    def block(self, number: int, start: int, count: int) -> Block | None:
        """`count` cells of a level, all of one chunk; None: nobody looked. Whoever asks for its rows
        first makes them.
        """
        level = self.levels[number]
        step = level.span.step_seconds
        chunk = level.chunks.get(start - start % level.chunk_seconds)
        first = start % level.chunk_seconds // step
        seen = bytes(chunk.seen[first : first + count]) if chunk is not None else b""
        if chunk is None or not any(seen):
            return None
        cut, rows = slice(first * CELL_BYTES, (first + count) * CELL_BYTES), chunk.rows
        return Block(step, start, seen, LazyMapping(lambda: _cut_out(rows, cut)))

    def restore(self, block: Block) -> None:
        """Take up what `block` gave; of cells that are there already it says what is so since."""
        level = next(
            (one for one in self.levels if one.span.step_seconds == block.step_seconds), None
        )
        if level is None:
            return
        chunk = level.chunk(block.start)
        first = block.start % level.chunk_seconds // block.step_seconds
        places = range(first, min(first + len(block.seen), CELLS))
        fresh = [at for at in places if block.seen[at - first]]
        for at in fresh:
            chunk.look(at)
        for key, cells in block.rows.items():
            row = chunk.row(key)
            if row is None:
                continue
            for at in fresh:
                cell = cells[(at - first) * CELL_BYTES :][:CELL_BYTES]
                row[at * CELL_BYTES : (at + 1) * CELL_BYTES] = cell
        self.moved |= block.rows.keys()

    def fill(self) -> None:
        """Make the coarse cells that are not there of the finer ones that are, and those of lately: seconds may
        have been lived again since, as the clock was set back.
        """
        lately = min(self.levels[0].chunks, default=0)
        for number in range(1, len(self.levels)):
            fine, coarse = self.levels[number - 1], self.levels[number]
            step = coarse.span.step_seconds
            for start, chunk in list(fine.chunks.items()):
                for at in range(0, fine.chunk_seconds, step):
                    first = at // fine.span.step_seconds
                    cells = chunk.seen[first : first + step // fine.span.step_seconds]
                    is_anew = start + at >= lately and all(cells)
                    if any(cells) and (is_anew or not coarse.is_seen(start + at)):
                        self.fold(number, start + at)

    @property
    def size_bytes(self) -> int:
        """What is kept, in bytes."""
        return sum(
            chunk.size_bytes for level in self.levels for chunk in list(level.chunks.values())
        )


def _mean_flows(several: Sequence[Flows]) -> Flows:
    """Ticks of one second as one; of a flow, what is known of it."""
    if len(several) == 1:
        return several[0]
    keys = {key: None for flows in several for key in flows}
    return {
        key: _mean_tick([tick for flows in several if (tick := flows.get(key)) is not None])
        for key in keys
    }


def _mean_tick(several: Sequence[FlowTick]) -> FlowTick | None:
    """The mean over their time; None: there are none."""
    return reduce(joined, map(_with_queue, several)) if several else None


def _with_queue(tick: FlowTick) -> FlowTick:
    """A disk that completes nothing counts no queue: then it is what is in flight."""
    if tick.queue_length is None or tick.queue_length or not tick.in_flight:
        return tick
    return tick._replace(queue_length=float(tick.in_flight))


def _cut_out(rows: Mapping[FlowKey, bytearray], cut: slice) -> dict[FlowKey, bytes]:
    """The cells of those flows that moved in them."""
    cells = [(key, bytes(row[cut])) for key, row in list(rows.items())]
    return {key: row for key, row in cells if any(row)}


@cache
def _cells(count: int) -> struct.Struct:
    """So many cells, one after the other."""
    return struct.Struct(f"<{COLUMNS * count}e")


def _cut(cell: Cell) -> list[float]:
    """In the units of a cell, at most what it can hold."""
    return [min(value / unit, MOST) for value, unit in zip(cell, _UNITS, strict=True)]


def _known_means(cells: Sequence[tuple[float, ...]]) -> Iterable[float]:
    """The mean of the cells whose rates are known; nan: of one of them it is not known."""
    known = [cell for cell in cells if not math.isnan(cell[0])]
    return [sum(column) / len(known) for column in zip(*known, strict=True)] if known else NOT_KNOWN
