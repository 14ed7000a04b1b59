"""A server that stalls is never a limit: not to a daemon that starts amid the stall, not when
the mount was away for a tick, not after a torn reading.

The recording: 162 seconds of an NFS client whose server freezes at snapshot 37 for 20 s, and from
104 to 124 lets through one call a second, of which four wait four seconds each.
"""

import copy
from collections.abc import Iterable

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import BudgetKey, Kind, Word
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.snapshot import MOUNTSTATS, Snapshot
from ioplateau.run import recording
from scoring import recordings

VOLUME = BudgetKey(Kind.VOLUME, "/mnt/a")
NO_NFS = b"device proc mounted on /proc with fstype proc\n"
TRICKLE = range(104, 124)


@pytest.fixture(scope="module")
def snapshots() -> tuple[Snapshot, ...]:
    return tuple(recording.read(recordings.MACHINES / "nfs_server_stall/recording.jsonl.gz")[1])


def with_text(snapshots: tuple[Snapshot, ...], tick: int, text: bytes) -> list[Snapshot]:
    changed = snapshots[tick]._replace(texts={**snapshots[tick].texts, MOUNTSTATS: text})
    return [*snapshots[:tick], changed, *snapshots[tick + 1 :]]


def fresh() -> Engine:
    return Engine(EngineSettings(interval_seconds=1.0))


def copied(engine: Engine) -> Engine:
    """One that has seen the same: what is common to many replays is replayed once."""
    return copy.deepcopy(engine, {id(NO_ENTRIES): NO_ENTRIES})


def told(snapshots: Iterable[Snapshot], engine: Engine | None = None) -> list[tuple[Word, float]]:
    """Of the volume, tick by tick: the verdict, and operations per second where it tells them."""
    engine = engine or fresh()
    states = [engine.observe(snapshot) for snapshot in snapshots]
    found = [state.budgets[VOLUME].verdict for state in states if VOLUME in state.budgets]
    return [
        (verdict.word, float(verdict.evidence.get("operations_per_second", 0.0)))
        for verdict in found
    ]


def is_throttled(snapshots: Iterable[Snapshot], engine: Engine | None = None) -> bool:
    return any(word is Word.THROTTLED for word, _ in told(snapshots, engine))


def test_a_copied_engine_goes_on_as_the_one_it_was_copied_from(snapshots):
    engine = fresh()
    first = told(snapshots[:106], engine)

    assert first + told(snapshots[106:], copied(engine)) == told(snapshots)
    assert first + told(snapshots[106:], engine) == told(snapshots)


@pytest.mark.parametrize("first", range(4))
def test_from_whichever_snapshot_the_replay_begins(snapshots, first):
    starts = range(first, len(snapshots), 4)
    wrong = [start for start in starts if is_throttled(snapshots[start:])]

    assert not wrong


def test_with_the_mount_missing_for_one_tick(snapshots):
    engine, seen, wrong = fresh(), 0, []
    for tick in (20, 37, 45, *TRICKLE, 125):
        before = is_throttled(snapshots[seen:tick], engine)
        seen = tick
        if before or is_throttled(with_text(snapshots, tick, NO_NFS)[tick:], copied(engine)):
            wrong.append(tick)

    assert not wrong


@pytest.mark.parametrize("tick", [50, 106, 111, 116, 118])
def test_after_one_torn_reading(snapshots, tick):
    text = snapshots[tick].texts[MOUNTSTATS]
    marks = (b"statvers=", b"\tage:", b"xprt:", b"per-op", b"READ:", b"WRITE:", b"GETATTR:")
    most = max(rate for _, rate in told(snapshots))
    engine = fresh()
    before = told(snapshots[:tick], engine)
    for mark in marks:
        cut = text.rindex(mark) + len(mark)
        for end in (cut, text.rindex(b"\n", 0, cut) + 1, text.index(b"\n", cut) + 1):
            torn = with_text(snapshots, tick, text[:end])
            found = before + told(torn[tick:], copied(engine))

            assert Word.THROTTLED not in {word for word, _ in found}, text[:end][-40:]
            assert max(rate for _, rate in found) <= most, text[:end][-40:]


def test_a_torn_reading_costs_itself_alone(snapshots):
    text = snapshots[20].texts[MOUNTSTATS]
    torn = with_text(snapshots, 20, text[: text.rindex(b"READ:")])
    engine = fresh()
    windows = [engine.observe(snapshot).mounts["/mnt/a"].window for snapshot in torn[:24]]
    seconds = [window.elapsed_seconds for window in windows if window is not None]

    assert seconds[18:] == pytest.approx([15.0, 15.0, 15.0, 15.0, 15.0], abs=1.1)


def test_a_gap_is_followed_by_a_while_in_which_nothing_is_learned(snapshots):
    """As if the daemon had been stopped for a minute, and its memory kept."""
    for last in (30, 90):
        engine = fresh()
        assert not is_throttled(snapshots[:last], engine)
        for first in TRICKLE:
            assert not is_throttled(snapshots[first:], copied(engine))
