"""Sleeping until told otherwise, by a thread or by a signal handler, once or for good."""

import signal
import threading

from ioplateau.run.pause import Pause


def test_a_sleep_that_nobody_ends_is_slept():
    assert Pause().sleep(0.01) is False


def test_a_time_that_has_passed_is_no_sleep():
    assert Pause().sleep(-5.0) is False


def test_an_end_lasts():
    pause = Pause()
    pause.end()

    assert pause.sleep(1000.0) is True
    assert pause.sleep(1000.0) is True


def test_another_thread_ends_a_sleep():
    pause = Pause()
    threading.Timer(0.05, pause.end).start()

    assert pause.sleep(1000.0) is True


def test_another_thread_cuts_one_sleep_short():
    pause = Pause()
    threading.Timer(0.05, pause.wake).start()

    assert pause.sleep(1000.0) is True
    assert pause.sleep(0.01) is False
    assert pause.is_over is False


def test_who_wakes_a_waking_one_cuts_its_next_sleep_short_and_no_more():
    pause = Pause()
    pause.wake()
    pause.wake()

    assert pause.sleep(1000.0) is True
    assert pause.sleep(0.01) is False


def test_a_signal_handler_ends_the_sleep_that_it_interrupts():
    pause = Pause()
    before = signal.signal(signal.SIGALRM, lambda *_: pause.end())
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    ended = pause.sleep(1000.0)
    signal.signal(signal.SIGALRM, before)

    assert ended is True


def test_a_storm_of_signals_neither_blocks_nor_ends_a_sleep_early():
    """With threading.Event a handler that interrupts wait() at the wrong place never returns."""
    pause, seen = Pause(), []

    def handler(*_):
        seen.append(1)
        if len(seen) == 2000:
            pause.end()

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    while not pause.sleep(0.0001):
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)

    assert len(seen) >= 2000
