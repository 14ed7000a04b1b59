"""Reads the configuration again on a thread of its own, for SIGHUP.

It may lie on a disk or a server that does not answer: ticks go on meanwhile, with the old settings.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from ioplateau.logs import event
from ioplateau.run.settings import ServeSettings
from ioplateau.threads import started

LOG = logging.getLogger(__name__)

SILENT_SECONDS = 5.0  # from then on it is said that nobody answers


class ReloadError(Exception):
    """New settings that cannot be had; the old ones stay. One sentence a line."""


class Reload:
    """`wanted` may be called by a signal handler, `begin` and `take` by the loop after each tick."""

    def __init__(
        self,
        read: Callable[[], ServeSettings],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """read: the settings as they are written now, or ReloadError."""
        self._read = read
        self._clock = clock
        self._is_wanted = False
        self._found: deque[ServeSettings | ReloadError] = deque()
        self._thread: threading.Thread | None = None
        self._since = 0.0
        self._is_told = False

    def wanted(self) -> None:
        """Have it read soon; once more, if it is being read."""
        self._is_wanted = True

    def begin(self) -> bool:
        """Start reading, if that is wanted and nobody reads; whether it was started. Never waits."""
        if not self._is_wanted or self._thread is not None:
            return False
        self._is_wanted = False
        self._since, self._is_told = self._clock(), False
        self._thread = started("reload", self._run)
        self._is_wanted |= self._thread is None
        return self._thread is not None

    def take(self) -> ServeSettings | ReloadError | None:
        """What was read; None: nothing yet. Never waits."""
        if self._found:
            self._thread = None
            return self._found.popleft()
        if self._thread is not None and not self._is_told:
            silent = self._clock() - self._since
            if silent >= SILENT_SECONDS:
                self._is_told = True
                event(LOG, logging.WARNING,
                      "configuration does not answer, the old one stays until it does",
                      seconds=round(silent))  # fmt: skip
        return None

    def _run(self) -> None:
        try:
            self._found.append(self._read())
        except ReloadError as error:
            self._found.append(error)
        except Exception as error:  # whatever is wrong with it, SIGHUP must work again
            self._found.append(ReloadError(repr(error)))
