"""Writes the files of the state directory, on a thread of its own.

A frozen file system (fsfreeze, as snapshot backups use it) or a throttled disk holds a write up
for minutes. Whoever samples, judges or serves hands the write over and goes on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ioplateau.logs import event
from ioplateau.threads import started

LOG = logging.getLogger(__name__)


class FileWriter:
    """Runs jobs one after another; of those with one name, the newest that is not begun.

    So at most one job a name waits, however long the disk takes: give each file one name, and
    let the job hold all that is to be written. What is appended waits with its owner, and the
    job takes what waits then:

        writer.submit("episodes", self._write_waiting)

    A job that raises is logged once until it succeeds again. The thread starts with the first job
    and ends with the process.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: dict[str, Callable[[], object]] = {}  # the oldest name first
        self._since: dict[str, float] = {}  # when a job of the name was first not done
        self._failing: set[str] = set()
        self._thread: threading.Thread | None = None

    def submit(self, name: str, job: Callable[[], object]) -> None:
        """Have `job` run soon, instead of the one of this name that waits. Never blocks."""
        with self._changed:
            self._waiting[name] = job
            self._since.setdefault(name, self._clock())
            if self._thread is None:
                self._thread = started("files", self._run)
            self._changed.notify_all()

    def behind_seconds(self, name: str | None = None) -> float:
        """For how long a job of this name (None: any) has waited or run; 0: nothing is to be done."""
        with self._changed:
            since = (
                min(self._since.values(), default=None) if name is None else self._since.get(name)
            )
        return 0.0 if since is None else self._clock() - since

    def finish(self, seconds: float) -> bool:
        """Wait at most so long until nothing is left to do; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._since, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                name = next(iter(self._waiting))
                job = self._waiting.pop(name)
            self._do(name, job)
            del job  # what it holds may be large
            with self._changed:
                if name in self._waiting:
                    self._since[name] = self._clock()
                else:
                    del self._since[name]
                self._changed.notify_all()

    def _do(self, name: str, job: Callable[[], object]) -> None:
        try:
            job()
        except Exception as error:
            if name not in self._failing:
                self._failing.add(name)
                event(LOG, logging.ERROR, "a job failed", what=name, why=repr(error))
        else:
            self._failing.discard(name)
