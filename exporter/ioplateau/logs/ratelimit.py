"""A bound on how often events of one kind are logged, whatever comes between them.

Without it a client decides how much we log: each request that fails would be a traceback.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ioplateau.logs.attributes import KIND, LEFT_OUT

BURST = 20  # a configuration may have so many errors, each of which must be read
EVERY_SECONDS = 30.0
# Kinds are constants in the code; of libraries nobody knows.
MOST_KINDS = 256


class _Allowance:
    __slots__ = ("at", "left", "left_out")

    def __init__(self, left: float, at: float) -> None:
        self.left = left
        self.at = at  # monotonic seconds
        self.left_out = 0


class RateLimit(logging.Filter):
    """Of each kind BURST at once, then one every EVERY_SECONDS."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.RLock()  # a warning of the interpreter's may come in between
        self._kinds: dict[tuple[str, int, str], _Allowance] = {}  # the longest unheard first

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it; tells the record how many of its kind were not."""
        kind = (record.name, record.levelno, str(getattr(record, KIND, record.msg)))
        with self._lock:
            allowance = self._allowance(kind, self._clock())
            if allowance.left < 1:
                allowance.left_out += 1
                return False
            allowance.left -= 1
            setattr(record, LEFT_OUT, allowance.left_out)
            allowance.left_out = 0
            return True

    def _allowance(self, kind: tuple[str, int, str], now: float) -> _Allowance:
        known = self._kinds.pop(kind, None) or _Allowance(BURST, now)
        self._kinds[kind] = known
        if len(self._kinds) > MOST_KINDS:
            del self._kinds[next(iter(self._kinds))]
        known.left = min(BURST, known.left + (now - known.at) / EVERY_SECONDS)
        known.at = now
        return known
