"""A log that nobody waits for, whoever does not read it."""

import fcntl
import logging
import os
import resource
import threading

import pytest

from ioplateau.logs import Lines
from ioplateau.logs.handler import BackgroundHandler
from no_threads import no_threads

LONG = 60.0


@pytest.fixture
def pipe():
    """Both ends of a pipe of one page."""
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    with open(reads, "rb", 0) as reader, open(writes, "wb", 0) as writer:
        yield reader, writer


def handler_to(number, most_bytes=1 << 20):
    handler = BackgroundHandler(number, most_bytes)
    handler.setFormatter(Lines("logfmt", journal=True))
    return handler


def say(handler, message):
    handler.handle(logging.LogRecord("ioplateau", logging.INFO, "", 0, message, None, None))


def test_lines_arrive_in_order_and_whole(pipe):
    reads, writes = pipe
    handler = handler_to(writes.fileno())
    for number in range(20):
        say(handler, f"event-{number}")
    handler.flush(LONG)

    lines = reads.read(1 << 16).decode().splitlines()

    assert lines == [f"<6>level=info msg=event-{number}" for number in range(20)]
    assert handler.dropped == 0


def test_whoever_logs_does_not_wait_and_what_is_lost_is_counted_and_told(pipe):
    reads, writes = pipe
    handler = handler_to(writes.fileno(), most_bytes=10_000)
    for number in range(1000):
        say(handler, f"{number:0100d}")  # into a pipe that nobody reads

    assert 500 < handler.dropped < 1000

    lost = handler.dropped
    found = []
    reader = threading.Thread(target=lambda: found.extend(iter(lambda: reads.read(4096), b"")))
    reader.start()
    handler.flush(LONG)
    writes.close()
    reader.join(LONG)
    said = b"".join(found).decode().splitlines()

    assert sum("level=info" in line for line in said) == 1000 - lost
    told = '<4>level=warning msg="log lines were dropped, standard error did not take them" lines='
    assert sum(int(line.removeprefix(told)) for line in said if "dropped" in line) == lost


UNUSED = 1_000_000  # beyond what this process may open


def test_a_pipe_that_nobody_can_read_any_more_costs_the_lines_and_no_more(pipe):
    reads, writes = pipe
    reads.close()

    assert dropped(writes.fileno()) == 5


def test_so_does_a_full_disk_and_a_closed_descriptor():
    with open("/dev/full", "wb", 0) as full:
        assert dropped(full.fileno()) == 5
    assert dropped(UNUSED) == 5


def test_a_line_that_a_full_disk_cut_off_leaves_the_next_one_whole(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open(tmp_path / "log", "wb", 0) as file:
        handler = handler_to(file.fileno())
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
        try:
            say(handler, "lost")
            handler.flush(LONG)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        say(handler, "heard")
        handler.flush(LONG)
    cut, heard, told = (tmp_path / "log").read_text().splitlines()

    assert (cut, heard) == ("<6>level=i", "<6>level=info msg=heard")
    assert told.endswith(" lines=1")


def dropped(number):
    handler = handler_to(number)
    for _ in range(5):
        say(handler, "unheard")
    handler.flush(LONG)
    return handler.dropped


def test_a_pipe_that_somebody_made_non_blocking_gets_every_line(pipe):
    reads, writes = pipe
    os.set_blocking(writes.fileno(), False)
    handler = handler_to(writes.fileno())
    for number in range(200):
        say(handler, f"{number:0100d}")
    found = b""
    while found.count(b"\n") < 200:
        found += reads.read(4096)

    assert handler.dropped == 0


def test_flush_does_not_wait_for_ever(pipe):
    reads, writes = pipe
    handler = handler_to(writes.fileno())
    for _ in range(100):
        say(handler, "x" * 100)
    handler.flush()
    assert handler._bytes  # more than the pipe takes, so that most of it is left
    found = b""
    while found.count(b"\n") < 100:
        found += reads.read(4096)

    assert found.count(b"x" * 100) == 100
    handler.flush(LONG)  # it must not go on writing into whatever gets the number next


def test_where_there_can_be_no_thread_lines_wait_for_one(pipe):
    reading, writing = pipe
    handler = handler_to(writing.fileno())
    with no_threads():
        say(handler, "first")
    say(handler, "second")
    handler.flush()

    first, second = reading.read(1000).splitlines()
    assert b"first" in first
    assert b"second" in second
