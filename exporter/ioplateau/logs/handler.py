"""A log that nobody waits for: lines go to a descriptor by a thread of its own.

Whoever reads standard error may stop reading (a stopped pager, a journal on a full disk). Then a
pipe takes 64 KiB and after that blocks whoever writes, and with it everybody who logs.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from collections import deque

from ioplateau.logs.attributes import FIELDS

MOST_BYTES = 1 << 20  # of lines that wait: some thousands
FLUSH_SECONDS = 1.0


class BackgroundHandler(logging.Handler):
    """Writes records to a descriptor. Lines that do not fit are dropped, and counted in a line as
    soon as one is taken again.
    """

    def __init__(self, number: int, most_bytes: int = MOST_BYTES) -> None:
        super().__init__()
        self._number = number
        self._most = most_bytes
        self._changed = threading.Condition()
        self._lines: deque[bytes] = deque()
        self._bytes = 0  # of the lines that wait, and of the one that is being written
        self._unreported = 0
        self._is_cut = False  # what was taken last ends in the middle of a line
        self._thread: threading.Thread | None = None
        self.dropped = 0  # since the process started

    def emit(self, record: logging.LogRecord) -> None:
        """Have the record written soon. Never waits."""
        try:
            line = self._line(record)
        except Exception:
            self.handleError(record)
            return
        with self._changed:
            if self._bytes + len(line) > self._most:
                self._drop()
                return
            self._lines.append(line)
            self._bytes += len(line)
            if self._thread is None:
                self._thread = self._started()
            self._changed.notify_all()

    def flush(self, seconds: float = FLUSH_SECONDS) -> None:
        """Wait at most so long for what is to be written. Called when the process ends."""
        with self._changed:
            self._changed.wait_for(lambda: not self._bytes, seconds)

    def _started(self) -> threading.Thread | None:
        thread = threading.Thread(target=self._run, name="log", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # there can be no more threads now: the next line tries again
            return None
        return thread

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                line = self._lines.popleft()
            is_taken = self._write(line)
            with self._changed:
                if not is_taken:
                    self._drop()
                unreported, self._unreported = (
                    (self._unreported, 0) if is_taken else (0, self._unreported)
                )
            if unreported and not self._write(self._dropped_notice(unreported)):
                with self._changed:
                    self._unreported += unreported
            with self._changed:
                self._bytes -= len(line)
                self._changed.notify_all()

    def _drop(self) -> None:
        self.dropped += 1
        self._unreported += 1

    def _write(self, line: bytes) -> bool:
        """Whether the descriptor took it. Waits as long as that takes."""
        left = whole = memoryview(b"\n" + line if self._is_cut else line)
        while left:
            try:
                left = left[os.write(self._number, left) :]
            except BlockingIOError:
                # It is shared, and somebody else made it non-blocking.
                poll = select.poll()
                poll.register(self._number, select.POLLOUT)
                poll.poll(1000)
            except OSError:  # nobody can read it any more, or the disk below it is full
                self._is_cut = self._is_cut or len(left) < len(whole)
                return False
        self._is_cut = False
        return True

    def _dropped_notice(self, count: int) -> bytes:
        words = {
            "name": __name__,
            "levelno": logging.WARNING,
            "levelname": "WARNING",
            "msg": "log lines were dropped, standard error did not take them",
            FIELDS: {"lines": count},
        }
        return self._line(logging.makeLogRecord(words))

    def _line(self, record: logging.LogRecord) -> bytes:
        return (self.format(record) + "\n").encode("utf-8", "backslashreplace")
