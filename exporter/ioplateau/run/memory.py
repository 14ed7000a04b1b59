"""What must survive a restart, in one file of the state directory.

Written to a new file that then takes the old one's place, so that a crash or a full disk
leaves the last good one. A file that cannot be understood is set aside, never deleted.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioplateau import __version__
from ioplateau.run.logs import event

LOG = logging.getLogger(__name__)

# Counts up when an older ioplateau could misread what we write.
FORMAT = 1
NAME = "state.json"
# A block of every file system: a full disk still takes a file of nothing.
REHEARSED_BYTES = 4096

# What comes of taking up something that is no memory of ours.
UNSOUND = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError),
    *(ArithmeticError, RecursionError),
)


class _NewerError(Exception):
    """Written by a later version."""


class Memory:
    """The memory file. Without a directory it does nothing. Raises nothing."""

    def __init__(self, directory: Path | str | None, every_seconds: float = 60.0) -> None:
        self._path = None if directory is None else Path(directory) / NAME
        self._every = every_seconds
        self._due: float | None = None
        self._fails = False

    def restore(self, take: Callable[[Mapping[str, Any], float], None], wall: float) -> None:
        """Give what was kept to `take`, with the seconds that have passed since."""
        if self._path is None:
            return
        try:
            self._give(take, wall)
        except _NewerError as error:
            self._set_aside("newer", str(error))
            return
        except FileNotFoundError:
            return
        except OSError as error:
            event(
                LOG,
                logging.WARNING,
                "state file cannot be read, starting without it",
                file=self._path,
                why=error.strerror,
            )
        except UNSOUND as error:
            self._set_aside("corrupt", f"{type(error).__name__}: {error}")
        else:
            event(LOG, logging.INFO, "state restored", file=self._path)

    def peek(self, take: Callable[[Mapping[str, Any], float], None], wall: float) -> str:
        """As restore, for those whose file it is not: nothing is set aside. Why not, or ""."""
        if self._path is None:
            return ""
        try:
            self._give(take, wall)
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"{self._path}: {error.strerror}"
        except (_NewerError, *UNSOUND) as error:
            return f"{self._path}: {type(error).__name__}: {error}"
        return ""

    def _give(self, take: Callable[[Mapping[str, Any], float], None], wall: float) -> None:
        assert self._path is not None
        kept = json.loads(self._path.read_bytes())
        found = kept["format"]
        if found > FORMAT:
            by = kept.get("ioplateau", "of an unknown version")
            raise _NewerError(
                f"ioplateau {by} wrote it in format {found}, this version reads up to {FORMAT}"
            )
        take(kept["memory"], max(wall - float(kept["wall"]), 0.0))

    def keep(self, memory: Callable[[], Mapping[str, Any]], mono: float, wall: float) -> None:
        """Write when it is time to."""
        if self._due is None:
            self._due = mono + self._every
        if mono >= self._due:
            self._due = mono + self._every
            self.write(memory(), wall)

    def write(self, memory: Mapping[str, Any], wall: float) -> None:
        """Write now."""
        kept = {"format": FORMAT, "ioplateau": __version__, "wall": wall, "memory": memory}
        self._put(json.dumps(kept), lambda fresh, path: fresh.replace(path))

    def rehearse(self) -> None:
        """Find out now whether it can be written, not when it is due; what is kept stays."""
        self._put(" " * REHEARSED_BYTES, lambda fresh, path: fresh.unlink())  # noqa: ARG005

    def _put(self, text: str, then: Callable[[Path, Path], object]) -> None:
        if self._path is None:
            return
        fresh = self._path.with_suffix(".new")
        try:
            with fresh.open("w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            then(fresh, self._path)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            if not self._fails:  # once: a full disk is full every minute
                event(
                    LOG,
                    logging.WARNING,
                    "state cannot be kept, a restart will forget it",
                    file=self._path,
                    why=_reason(error, self._path.parent),
                )
            self._fails = True
        else:
            if self._fails:
                event(LOG, logging.INFO, "state is kept again", file=self._path)
            self._fails = False

    def _set_aside(self, ending: str, why: str) -> None:
        assert self._path is not None
        aside = self._path.with_suffix(f".{ending}")
        try:
            self._path.replace(aside)
            event(
                LOG,
                logging.WARNING,
                "state file set aside, starting without it",
                file=aside,
                why=why,
            )
        except OSError as error:
            event(
                LOG,
                logging.WARNING,
                "state file is of no use and cannot be set aside",
                file=self._path,
                why=f"{why}; {error.strerror}",
            )


def _reason(error: OSError, directory: Path) -> str:
    if error.errno == errno.ENOENT:
        return f"there is no directory {directory}"
    return error.strerror or repr(error)
