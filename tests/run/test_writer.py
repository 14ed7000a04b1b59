"""Jobs that touch a disk, and callers that do not wait for it."""

import logging
import threading

from ioplateau.run.writer import FileWriter

LONG = 60.0


class HeldJob:
    """A job that stands still until it is let go."""

    def __init__(self):
        self.begun, self.open = threading.Event(), threading.Event()

    def __call__(self):
        self.begun.set()
        assert self.open.wait(LONG)


def test_while_a_job_stands_still_only_the_newest_of_each_name_waits():
    writer, held, done = FileWriter(), HeldJob(), []
    writer.submit("state", held)
    assert held.begun.wait(LONG)
    for number in range(1000):
        writer.submit("state", lambda number=number: done.append(("state", number)))
    writer.submit("episodes", lambda: done.append(("episodes", 0)))

    assert not writer.finish(0.01)
    assert done == []

    held.open.set()

    assert writer.finish(LONG)
    assert done == [("state", 999), ("episodes", 0)]


def test_a_job_that_raises_is_said_once_and_costs_no_other(caplog):
    writer, done = FileWriter(), []

    def broken():
        raise RuntimeError("odd")

    with caplog.at_level(logging.INFO):
        for _ in range(3):
            writer.submit("state", broken)
            assert writer.finish(LONG)
        writer.submit("episodes", lambda: done.append(1))
        assert writer.finish(LONG)

    assert done == [1]
    assert [record.message for record in caplog.records] == ["a job failed"]


def test_what_fails_again_after_it_was_done_is_said_again(caplog):
    writer = FileWriter()

    def broken():
        raise RuntimeError("odd")

    for job in (broken, lambda: None, broken):
        writer.submit("state", job)
        assert writer.finish(LONG)

    assert [record.message for record in caplog.records] == ["a job failed", "a job failed"]


def test_how_long_a_name_is_behind_is_told():
    now = [100.0]
    writer, held = FileWriter(lambda: now[0]), HeldJob()

    assert writer.behind_seconds("state") == 0.0

    writer.submit("state", held)
    now[0] = 130.0
    writer.submit("state", held)

    assert writer.behind_seconds("state") == 30.0
    assert writer.behind_seconds("episodes") == 0.0

    held.open.set()

    assert writer.finish(LONG)
    assert writer.behind_seconds("state") == 0.0


def test_with_nothing_to_do_nothing_is_waited_for():
    assert FileWriter().finish(LONG)
