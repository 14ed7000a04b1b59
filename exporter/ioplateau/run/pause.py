"""Sleeping between ticks, and being woken by a signal."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue


class Pause:
    """A sleep that may be ended for good, from any thread and from a signal handler.

    Not threading.Event: its set() takes a lock, and a handler that interrupts wait() of the same
    thread at the wrong instruction would wait for itself forever. SimpleQueue.put() is reentrant.
    """

    def __init__(self) -> None:
        self._woken: SimpleQueue[None] = SimpleQueue()
        self._is_over = False

    def end(self) -> None:
        """No sleep from now on."""
        self._is_over = True
        self._woken.put(None)

    def sleep(self, seconds: float) -> bool:
        """Sleep that long, or until `end`; whether it is over."""
        if not self._is_over:
            with suppress(Empty):
                self._woken.get(timeout=max(seconds, 0.0))
        return self._is_over
