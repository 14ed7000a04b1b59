"""A server that stalls is never a limit: not to a daemon that starts amid the stall, not when
the mount was away for a tick, not after a torn reading.

The recording: 162 seconds of an NFS client whose server freezes at snapshot 37 for 20 s, and from
104 to 124 lets through one call a second, of which four wait four seconds each.
"""

from collections.abc import Iterable

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import BudgetKey, Kind, Word
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


def told(snapshots: Iterable[Snapshot]) -> list[tuple[Word, float]]:
    """Of the volume, tick by tick: the verdict, and operations per second where it tells them."""
    engine = Engine(EngineSettings(interval_seconds=1.0))
    states = [engine.observe(snapshot) for snapshot in snapshots]
    found = [state.budgets[VOLUME].verdict for state in states if VOLUME in state.budgets]
    return [
        (verdict.word, float(verdict.evidence.get("operations_per_second", 0.0)))
        for verdict in found
    ]


def is_throttled(snapshots: Iterable[Snapshot]) -> bool:
    return any(word is Word.THROTTLED for word, _ in told(snapshots))


def test_from_whichever_snapshot_the_replay_begins(snapshots):
    wrong = [start for start in range(len(snapshots)) if is_throttled(snapshots[start:])]

    assert not wrong


def test_with_the_mount_missing_for_one_tick(snapshots):
    ticks = (20, 37, 45, *TRICKLE, 125)
    wrong = [tick for tick in ticks if is_throttled(with_text(snapshots, tick, NO_NFS))]

    assert not wrong


@pytest.mark.parametrize("tick", [50, 106, 111, 116, 118])
def test_after_one_torn_reading(snapshots, tick):
    text = snapshots[tick].texts[MOUNTSTATS]
    marks = (b"statvers=", b"\tage:", b"xprt:", b"per-op", b"READ:", b"WRITE:", b"GETATTR:")
    most = max(rate for _, rate in told(snapshots))
    for mark in marks:
        cut = text.rindex(mark) + len(mark)
        for end in (cut, text.rindex(b"\n", 0, cut) + 1, text.index(b"\n", cut) + 1):
            found = told(with_text(snapshots, tick, text[:end]))

            assert Word.THROTTLED not in {word for word, _ in found}, text[:end][-40:]
            assert max(rate for _, rate in found) <= most, text[:end][-40:]


def test_a_torn_reading_costs_itself_alone(snapshots):
    text = snapshots[20].texts[MOUNTSTATS]
    torn = with_text(snapshots, 20, text[: text.rindex(b"READ:")])
    engine = Engine(EngineSettings(interval_seconds=1.0))
    windows = [engine.observe(snapshot).mounts["/mnt/a"].window for snapshot in torn[:24]]
    seconds = [window.elapsed_seconds for window in windows if window is not None]

    assert seconds[18:] == pytest.approx([15.0, 15.0, 15.0, 15.0, 15.0], abs=1.1)


def test_a_gap_is_followed_by_a_while_in_which_nothing_is_learned(snapshots):
    """As if the daemon had been stopped for a minute, and its memory kept."""
    for last in (30, 90):
        for first in TRICKLE:
            assert not is_throttled([*snapshots[:last], *snapshots[first:]])
