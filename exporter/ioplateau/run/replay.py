"""Replay: the fold over a recording, with the same words as live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ioplateau.engine import Engine, EngineSettings
from ioplateau.run import recording
from ioplateau.state import State


def states(path: Path | str, settings: EngineSettings | None = None) -> Iterator[State]:
    """One state a snapshot. The interval is the recording's own. Raises RecordingError."""
    header, snapshots = recording.read(path)
    engine = Engine(replace(settings or EngineSettings(), interval_seconds=1.0 / header.hz))
    for snapshot in snapshots:
        yield engine.observe(snapshot)
