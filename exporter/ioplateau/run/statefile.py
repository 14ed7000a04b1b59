"""What must survive a restart, in one file of the state directory.

A crash or a full disk leaves the last good one. A file that cannot be read or understood is
set aside, never deleted. The disk is asked by the writer's thread only: whoever samples hands over what is to
be written, and goes on.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from ioplateau.logs import event
from ioplateau.regular import OddFileError
from ioplateau.run import files, statetext
from ioplateau.run.statetext import SavedState
from ioplateau.run.writer import FileWriter
from ioplateau.saved import UNSOUND, NewerError

LOG = logging.getLogger(__name__)

NAME = "state.json"
# A block of every file system: a full disk still takes a file of nothing.
TRIED_BYTES = 4096
MOST_BYTES = 16 << 20  # 256 disks and 1,000 mounts keep 2 MB
# A disk that is asked at the start answers within so long, or we start without it.
RESTORE_SECONDS = 10.0
# A disk that takes longer than this to write is worth a line.
SILENT_SECONDS = 10.0
LOOK_SECONDS = 5.0  # between two looks whether it does

# What a memory is given to, with the seconds that passed since it was kept; raises ValueError.
Take = Callable[[Mapping[str, Any], float], None]


class StateFile:
    """The memory file. Without a directory it does nothing. Raises nothing."""

    def __init__(
        self,
        directory: Path | str | None,
        writer: FileWriter,
        *,
        every_seconds: float = 60.0,
        restore_seconds: float = RESTORE_SECONDS,
    ) -> None:
        self._path = _place(directory)
        self._writer = writer
        self._every = every_seconds
        self._restore_seconds = restore_seconds
        self._due: float | None = None
        self._looked = float("-inf")  # when we looked whether it answers
        self._is_silent = False  # the disk, when it was last looked at
        self._fails = False  # in the writer's thread
        self._held = -1  # the directory, locked

    def restore(self, take: Take, wall: float) -> None:
        """Give what was kept to `take`. wall: UNIX seconds now."""
        path = self._path
        if path is None:
            return
        found: SimpleQueue[SavedState | None] = SimpleQueue()
        given_up: list[bool] = []

        def look() -> None:
            self._lock(path.parent)
            found.put(_looked_at(path, wall))
            if given_up:  # it is about to be written anew
                _set_aside(path, "late", "the state directory did not answer when it was wanted")

        self._writer.submit("restore", look)
        try:
            known = found.get(timeout=self._restore_seconds)
        except Empty:
            given_up.append(True)
            if found.empty():
                event(LOG, logging.WARNING, "state directory does not answer, starting without it",
                      file=path)  # fmt: skip
                return
            known = found.get()
        if known is None:
            return
        try:
            take(known.memory, known.away_seconds)
        except Exception as error:  # whatever is wrong in it, it must not stop the start
            why = f"{type(error).__name__}: {error}"
            self._writer.submit("restore", lambda: _set_aside(path, "corrupt", why))
        else:
            event(LOG, logging.INFO, "state restored", file=path)

    def _lock(self, directory: Path) -> None:
        """Tell of another daemon that keeps its state here: each would write over the other's. The lock is the
        directory's own, and goes with this process.
        """
        try:
            self._held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return  # writing says what is wrong with it
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            event(LOG, logging.WARNING,
                  "another daemon keeps its state in this directory, each will write over the other's",
                  file=directory)  # fmt: skip
        except OSError:
            pass  # a file system without locks

    def keep(self, memory: Callable[[], Mapping[str, Any]], mono: float, wall: float) -> None:
        """Write when it is time to, and tell when the disk does not answer."""
        if self._path is None:
            return
        if self._due is None:
            self._due = mono + self._every
        if mono >= self._due:
            self._due = mono + self._every
            self.write(memory(), wall)
        elif mono < self._looked + LOOK_SECONDS:
            return
        self._looked = mono
        # All files of the directory are the writer's: the history is written six times as often.
        is_silent = self._writer.behind_seconds() > SILENT_SECONDS
        if is_silent and not self._is_silent:
            event(LOG, logging.WARNING, "state directory does not answer, state is not being kept",
                  file=self._path)  # fmt: skip
        elif self._is_silent and not is_silent:
            event(LOG, logging.INFO, "state directory answers again", file=self._path)
        self._is_silent = is_silent

    def write(self, memory: Mapping[str, Any], wall: float) -> None:
        """Write as soon as the disk takes it."""
        if self._path is None:
            return
        try:
            text = statetext.encode(memory, wall)  # here and now: its owner goes on changing it
        except ValueError as error:  # a defect of ours, and no reason to lose a tick
            event(LOG, logging.ERROR, "state cannot be kept", why=str(error))
            return
        self._hand_over(lambda path: files.replace(path, text, files.PRIVATE))

    def try_write(self) -> None:
        """Find out now whether it can be written, not when it is due; what is kept stays."""
        self._hand_over(lambda path: files.try_write(path, TRIED_BYTES))

    def _hand_over(self, put: Callable[[Path], None]) -> None:
        path = self._path
        if path is not None:
            self._writer.submit(NAME, lambda: self._put(path, put))

    def _put(self, path: Path, put: Callable[[Path], None]) -> None:
        try:
            put(path)
        except OSError as error:
            if not self._fails:  # once: a full disk is full every minute
                event(LOG, logging.WARNING, "state cannot be kept, a restart will forget it",
                      file=path, why=_reason(error, path.parent))  # fmt: skip
            self._fails = True
        else:
            if self._fails:
                event(LOG, logging.INFO, "state is kept again", file=path)
            self._fails = False


def peek(directory: Path | str | None, take: Take, wall: float) -> str:
    """As StateFile.restore, for those whose file it is not: nothing is set aside. Why not, or ""."""
    path = _place(directory)
    if path is None:
        return ""
    try:
        known = statetext.read(files.read(path, MOST_BYTES), wall)
        take(known.memory, known.away_seconds)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path}: {error.strerror}"
    except UNSOUND as error:
        return f"{path}: {error}"
    return ""


def _place(directory: Path | str | None) -> Path | None:
    return None if directory is None else Path(directory) / NAME


def _looked_at(path: Path, wall: float) -> SavedState | None:
    """What the file keeps; None: nothing that can be used, and a line says why."""
    try:
        return statetext.read(files.read(path, MOST_BYTES), wall)
    except (FileNotFoundError, NotADirectoryError):
        return None  # if there is no directory, writing says so
    except NewerError as error:
        _set_aside(path, "newer", str(error))
    except OddFileError as error:
        _set_aside(path, "corrupt", error.why)
    except OSError as error:
        _set_aside(path, "unread", error.strerror or repr(error))
    except UNSOUND as error:
        _set_aside(path, "corrupt", f"{type(error).__name__}: {error}")
    return None


def _set_aside(path: Path, ending: str, why: str) -> None:
    aside = path.with_suffix(f".{ending}")
    try:
        path.replace(aside)
        event(LOG, logging.WARNING, "state file set aside, starting without it",
              file=aside, why=why)  # fmt: skip
    except FileNotFoundError:
        pass  # there is none, or no more
    except OSError as error:
        event(LOG, logging.WARNING, "state file is of no use and cannot be set aside",
              file=path, why=f"{why}; {error.strerror}")  # fmt: skip


def _reason(error: OSError, directory: Path) -> str:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"there is no directory {directory}"
    return error.strerror or repr(error)
