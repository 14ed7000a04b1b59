"""Sleeping between ticks, and being woken by a signal or by another thread."""

from __future__ import annotations

import threading
from contextlib import suppress


class Pause:
    """A sleep that may be cut short, once or for good, from any thread and from a signal handler.

    Not threading.Event: its set() takes a lock, and a handler that interrupts wait() of the same
    thread at the wrong instruction would wait for itself forever. To release a lock waits for nobody.
    """

    def __init__(self) -> None:
        self._sleeps = threading.Lock()  # held but for who wakes
        self._sleeps.acquire()
        self.is_over = False

    def end(self) -> None:
        """No sleep from now on."""
        self.is_over = True
        self.wake()

    def wake(self) -> None:
        """Cut short the sleep of now, or else the next one."""
        with suppress(RuntimeError):  # somebody did already
            self._sleeps.release()

    def sleep(self, seconds: float) -> bool:
        """Sleep that long; whether it was cut short."""
        return self.is_over or self._sleeps.acquire(timeout=max(seconds, 0.0))
