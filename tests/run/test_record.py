"""Recording onto a disk that takes its time."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from ioplateau.measure.snapshot import DISKSTATS, Snapshot, Static
from ioplateau.run.record import MOST_WAITING, RecordingThread

STANDARD = Path("-")
MORE_THAN_A_PIPE_TAKES = os.urandom(1 << 20)


@contextmanager
def standard_output(descriptor):
    kept = os.dup(1)
    os.dup2(descriptor, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def snapshot(second, text=MORE_THAN_A_PIPE_TAKES):
    at = float(second)
    return Snapshot(at, at, 1e9 + at, Static(), texts={DISKSTATS: text})


def test_what_waits_for_a_frozen_disk_is_bounded_and_what_is_left_out_is_told():
    reading, writing = os.pipe()
    with standard_output(writing):
        thread = RecordingThread(STANDARD, 1.0)
    os.close(writing)
    for second in range(MOST_WAITING + 50):
        thread.put(snapshot(second, MORE_THAN_A_PIPE_TAKES if second == 0 else b""))
    frozen = thread.finish(0.0)
    thread.close()
    with open(reading, "rb") as pipe:
        while pipe.read(1 << 16):  # it takes what comes, until the thread has ended
            pass
    thawed = thread.finish(0.0)

    assert frozen == (0, MOST_WAITING + 50)
    assert thawed.written in (MOST_WAITING, MOST_WAITING + 1)
    assert thawed.written + thawed.left_out == MOST_WAITING + 50


def test_what_cannot_be_written_ends_the_recording_with_its_reason(tmp_path):
    thread = RecordingThread(tmp_path / "it.jsonl", 1.0)
    thread.put(snapshot(0, b""))
    thread.put(snapshot(1, b"")._replace(blobs={"odd": object()}))

    with pytest.raises(OSError, match=r"TypeError\(.*\), after 1 snapshot: '.*/it.jsonl'"):
        thread.finish(30.0)
    assert thread.failed
