"""Reads a user's own catalogue directory, `limits.catalogue`, on a thread of its own.

The directory may lie on a disk or a server that does not answer: nobody waits for it but the
start, and that not for long. What was read before holds until something else is read.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from ioplateau.logs import event
from ioplateau.regular import read_regular
from ioplateau.run import cataloguefiles
from ioplateau.threads import started

if TYPE_CHECKING:  # 300 KiB that a daemon without own rows does not load
    from ioplateau.limits.ownrows import OwnRows
    from ioplateau.limits.tables import Catalogue

LOG = logging.getLogger(__name__)

START_SECONDS = 2.0
MOST_TOLD = 20  # complaints in the log; `ioplateau doctor` tells all


def read_directory(directory: str | None) -> OwnRows:
    """Every *.csv of a directory. Whatever is there, this returns, unless a read hangs."""
    from ioplateau.limits.ownrows import MOST_BYTES, NO_ROWS, OwnRows, read

    if directory is None:
        return NO_ROWS
    files: dict[str, bytes] = {}
    wrong: list[str] = []
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".csv"))
    except OSError as error:
        return OwnRows(complaints=(f"{directory}: {error.strerror}: no row of it is in force",))
    for name in names:
        try:
            files[name] = read_regular(os.path.join(directory, name), MOST_BYTES)
        except OSError as error:
            wrong.append(f"{name}: {error.strerror or error}: the file is left out")
    return read(files, wrong)


def catalogue_with(own: OwnRows) -> Catalogue:
    """The package's tables, with own rows over them if there are any."""
    from ioplateau.limits.ownrows import CatalogueWithOwnRows

    below = cataloguefiles.CatalogueFiles()
    return CatalogueWithOwnRows(below, own) if own.rows else below


class OwnCatalogue:
    """`begin`, `wait` and `take` are called by one thread, the loop's."""

    def __init__(self, reading: Callable[[str | None], OwnRows] = read_directory) -> None:
        self._reading = reading
        self._read: deque[OwnRows] = deque(maxlen=1)
        self._thread: threading.Thread | None = None
        self._directory: str | None = None
        self._is_due = False  # no thread could be had for it
        self._own: OwnRows | None = None

    @property
    def total(self) -> int:
        """How many rows are in force."""
        return 0 if self._own is None else self._own.total

    def begin(self, directory: str | None) -> None:
        """Start reading. While an earlier reading hangs, there is no second one for it."""
        if directory is None and self._directory is None:
            return
        if directory == self._directory and self._thread is not None and self._thread.is_alive():
            event(
                LOG, logging.WARNING, "own catalogue does not answer, the old rows stay",
                directory=directory,
            )  # fmt: skip
            return
        self._directory = directory
        self._start()

    def _start(self) -> None:
        directory = self._directory
        target: deque[OwnRows] = deque(maxlen=1)
        self._read = target
        self._thread = started("catalogue", lambda: target.append(self._reading(directory)))
        self._is_due = self._thread is None

    def wait(self, seconds: float = START_SECONDS) -> None:
        """Give the reading a moment, so that the first tick knows its rows."""
        if self._thread is not None:
            self._thread.join(seconds)

    def take(self) -> OwnRows | None:
        """The rows that were read since the last call; None: nothing new."""
        if self._is_due:
            self._start()
        if not self._read:
            return None
        before, own = self._own, self._read.pop()
        self._own = own
        if own == before:
            return None
        for words in own.complaints[:MOST_TOLD]:
            event(LOG, logging.WARNING, "own catalogue: left out", why=words)
        left = len(own.complaints) - MOST_TOLD
        if left > 0:
            event(LOG, logging.WARNING, "own catalogue: more was left out", count=left)
        event(LOG, logging.INFO, "own catalogue", rows=own.total, directory=self._directory)
        return own
