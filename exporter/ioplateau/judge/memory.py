"""What of the judge survives a restart, as typed values (saved.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from ioplateau.limits.budgets import Dimension, Direction, Word
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.saved import Amount, Bounds, Moment, Rate, Seconds, as_row


@as_row
class SavedFloor(NamedTuple):
    """The least latency of one class of requests. at: CLOCK_MONOTONIC of the run that saw it."""

    name: Annotated[int, Bounds(0, 4 * 64)]  # Floors.observe, of 64 bits of bytes
    seconds: Seconds
    at: Moment
    blocks: Amount
    size: Amount
    alone_blocks: Amount


@as_row
class SavedAlone(NamedTuple):
    """How long requests of one class took while nobody waited: mean logarithm of the seconds, and the mean
    square off it.
    """

    name: Annotated[int, Bounds(0, 4 * 64)]
    blocks: Amount
    mean: Annotated[float, Bounds(-50, 50)]
    square: Amount


class SavedFlow(NamedTuple):
    """What a flow's requests take that do not wait, and whether its limits count writes without data."""

    floors: tuple[SavedFloor, ...]
    rtt_floors: tuple[SavedFloor, ...]
    alone: tuple[SavedAlone, ...] = ()
    counts_empty_writes: bool = True


@as_row
class SavedCeiling(NamedTuple):
    """A level that was met, and for how many seconds in all."""

    value: Rate
    seconds: Seconds


@as_row
class SavedStand(NamedTuple):
    """Seconds spent at one level; old ones count less."""

    value: Rate
    seconds: Amount


@as_row
class SavedMoves(NamedTuple):
    """How often the level moved by a step; old ones count less. last: the level by now, 0: it never stood."""

    changes: Amount
    last: Amount


@as_row
class SavedNow(NamedTuple):
    """The unknown limit that is looked at. score: seconds of evidence."""

    dimension: Dimension
    value: Amount
    score: Amount
    on: bool


class SavedPlateau(NamedTuple):
    """Unknown limits of a budget. calm: levels at which nobody waited, in operations per second;
    calm_seconds: for how long nobody did, at any rate. looked: for how long requests waited and none was found.
    """

    ceilings: Mapping[Dimension, tuple[SavedCeiling, ...]]
    highest: Mapping[Dimension, Amount]
    now: SavedNow
    stands: Mapping[Dimension, tuple[SavedStand, ...]] = NO_ENTRIES
    calm: tuple[SavedStand, ...] = ()
    calm_seconds: Amount = 0.0
    moves: Mapping[Dimension, SavedMoves] = NO_ENTRIES
    looked: Seconds = 0.0


class SavedClaim(NamedTuple):
    """Seconds of evidence that a known limit of this value binds."""

    value: Rate
    score: Amount
    on: bool


@as_row
class SavedLimit(NamedTuple):
    """Which of a budget's limits a claim is of."""

    dimension: Dimension
    direction: Direction
    claim: SavedClaim


class SavedHold(NamedTuple):
    """Which limit holds requests back, a learned one by any value, and since when: CLOCK_MONOTONIC."""

    dimension: Dimension | None
    direction: Direction | None
    is_learned: bool
    since: Moment


class SavedCase(NamedTuple):
    """One budget. since: CLOCK_MONOTONIC from when on its word holds. hold: None: no limit holds. sides: of reads,
    and of writes, once requests of one direction waited alone.
    """

    plateau: SavedPlateau
    claims: tuple[SavedLimit, ...]
    word: Word
    since: Moment
    hold: SavedHold | None = None
    sides: tuple[SavedPlateau, ...] = ()


class SavedPart(NamedTuple):
    """The budgets and the flows that one part of the judge follows, by "kind:name". senses: of the
    flows, by the name that they have had in every file.
    """

    cases: Mapping[str, SavedCase] = NO_ENTRIES
    senses: Mapping[str, SavedFlow] = NO_ENTRIES


class SavedJudge(NamedTuple):
    """All of it."""

    disks: SavedPart = SavedPart()
    mounts: SavedPart = SavedPart()
