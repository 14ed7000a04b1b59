"""Where no thread can be started the daemon goes on, and starts it as soon as it can."""

import os
import threading
from contextlib import closing
from pathlib import Path

import pytest

from ioplateau.measure.host import Host
from ioplateau.run.clock import SystemClock
from ioplateau.run.consumers import ConsumersReader
from ioplateau.run.owncatalogue import OwnCatalogue
from ioplateau.run.reader import Reader, Source
from ioplateau.run.reload import Reload
from ioplateau.run.sampler import Sampler
from ioplateau.run.writer import FileWriter
from ioplateau.threads import lacks_cpu, started
from ioplateau.web.server import WebServer
from ioplateau.web.settings import WebSettings
from no_threads import no_threads
from waiting import wait_until


def test_that_there_is_none_is_told_once_until_there_is_one(caplog):
    with no_threads():
        lacking = [started("it", int) for _ in range(3)]
    thread = started("it", int)

    assert lacking == [None] * 3
    assert thread is not None
    assert [record.getMessage() for record in caplog.records] == [
        "a thread cannot be started, it is tried again"
    ]


def test_what_work_raises_is_told_and_it_is_run_again_until_it_returns(caplog):
    left = [ValueError("odd"), ArithmeticError("odder")]

    def work():
        if left:
            raise left.pop(0)

    ends = [started("once", work), started("again", work, again_seconds=0.01)]
    for thread in ends:
        thread.join(10.0)

    assert not any(thread.is_alive() for thread in ends)
    assert left == []
    assert [record.getMessage() for record in caplog.records] == ["a thread failed"] * 2
    assert all(record.exc_info for record in caplog.records)


def test_where_nothing_goes_on_without_one_a_sentence_says_what_is_lacking():
    server = WebServer(["127.0.0.1:0"], {}, WebSettings())
    with closing(server), no_threads(), pytest.raises(OSError, match="want more of"):
        server.start()


def test_one_that_waits_for_its_turn_lacks_cpu_and_one_that_waits_in_the_kernel_does_not():
    reading, writing = os.pipe()
    turn = threading.Lock()
    turn.acquire()
    waits = started("waits", turn.acquire)
    reads = started("reads", lambda: os.read(reading, 1))

    assert wait_until(lambda: lacks_cpu(waits) and not lacks_cpu(reads))
    threading.Event().wait(0.1)
    found = lacks_cpu(waits), lacks_cpu(reads)
    turn.release()
    os.write(writing, b"1")
    for thread in (waits, reads):
        thread.join()

    assert found == (True, False)
    assert wait_until(lambda: not lacks_cpu(waits))  # it is no more


def test_the_machine_is_looked_at_as_soon_as_there_is_a_thread():
    sampler = Sampler(Host(Path("/")), SystemClock(), sources=())
    with no_threads():
        before = sampler.take()
    after = sampler.take()

    assert before.static.kernel == ""
    assert after.static.kernel


def test_a_source_that_needs_a_thread_says_that_there_is_none():
    reader = Reader(SystemClock())
    source = Source("it", lambda: b"said")
    with no_threads():
        before = reader.gather([source], 5.0)
    after = reader.gather([source], 5.0)

    assert before.failed == {"it": "it: not read, no thread can be started for it"}
    assert after.texts == {"it": b"said"}


def test_a_signal_is_obeyed_as_soon_as_there_is_a_thread():
    reload = Reload(lambda: "read")
    reload.wanted()
    with no_threads():
        was_begun = reload.begin()

    assert not was_begun
    assert reload.begin()
    assert wait_until(reload.take) == "read"


def test_what_was_handed_over_is_written_with_what_comes_next():
    writer, written = FileWriter(), []
    with no_threads():
        writer.submit("one", lambda: written.append("one"))
    writer.submit("two", lambda: written.append("two"))

    assert writer.finish(5.0)
    assert written == ["one", "two"]


def test_who_causes_the_io_is_looked_at_as_soon_as_there_is_a_thread():
    host, clock = Host(Path("/")), SystemClock()
    reader = ConsumersReader(Sampler(host, clock, sources=()), host, clock)
    with no_threads():
        reader.want()
    reader.want()
    found = wait_until(reader._latest)
    reader.end()

    assert found["processes"] is not None


def test_own_rows_are_read_as_soon_as_there_is_a_thread():
    own = OwnCatalogue()
    with no_threads():
        own.begin("/nowhere")
        own.wait()
        own.take()

    assert wait_until(own.take).complaints
