"""Replay says of a recording what was said live, bit for bit."""

import time
from io import BytesIO

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.host import Host
from ioplateau.run import recording
from ioplateau.run.clock import SystemClock
from ioplateau.run.recording import Writer
from ioplateau.run.sampler import Sampler
from ioplateau.tell import prometheus, verdicts

pytestmark = pytest.mark.live

SETTINGS = EngineSettings(
    interval_seconds=0.2, rules=Rules((ConfiguredLimit(disk="*", iops=100.0, source="test"),))
)


def told(state):
    return prometheus.render(state), verdicts.line(state)


def test_a_recording_of_this_machine_replays_to_what_was_told_live(tmp_path):
    sampler, engine, file = Sampler(Host(), SystemClock()), Engine(SETTINGS), BytesIO()
    writer = Writer(file, SETTINGS.interval_seconds)
    live = []
    for _ in range(15):
        snapshot = sampler.take()
        live.append(told(engine.observe(snapshot)))
        writer.write(snapshot)
        time.sleep(SETTINGS.interval_seconds)
    path = tmp_path / "machine.jsonl.gz"
    path.write_bytes(file.getvalue())
    _, snapshots = recording.read(path)
    again = Engine(SETTINGS)
    replayed = [told(again.observe(snapshot)) for snapshot in snapshots]

    assert replayed == live
    assert len(live[-1][0]) > 1000
