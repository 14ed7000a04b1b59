"""Sleeping between ticks, and being woken by a signal."""

from __future__ import annotations

import threading
from contextlib import suppress


class Pause:
    """A sleep that may be ended for good, from any thread and from a signal handler.

    Not threading.Event: its set() takes a lock, and a handler that interrupts wait() of the same
    thread at the wrong instruction would wait for itself forever. To release a lock waits for nobody.
    """

    def __init__(self) -> None:
        self._sleeps = threading.Lock()  # held until the end
        self._sleeps.acquire()
        self._is_over = False

    def end(self) -> None:
        """No sleep from now on."""
        self._is_over = True
        with suppress(RuntimeError):  # it was ended before
            self._sleeps.release()

    def sleep(self, seconds: float) -> bool:
        """Sleep that long, or until `end`; whether it is over."""
        if not self._is_over:
            self._sleeps.acquire(timeout=max(seconds, 0.0))
        return self._is_over
