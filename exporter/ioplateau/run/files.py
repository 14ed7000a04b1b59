"""Files in places where others may write too: nothing planted there is followed or waited for.

A link, a FIFO or a device under a name of ours is an error with a sentence, never read, never
written. A file is replaced by renaming a new one onto it, so that a crash or a full disk leaves
the last good one.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from ioplateau.regular import OddFileError, open_regular, read_whole

NEW = ".new"
PRIVATE = 0o600  # of what is remembered of a machine: names of processes, mounts and servers


def read(path: Path, most_bytes: int) -> bytes:
    """The whole of a regular file. Raises OddFileError for anything else, and OSError."""
    with open_regular(path, follows_links=False) as file:
        return read_whole(file, most_bytes)


def create(path: Path) -> int:
    """A descriptor of a new, empty file for writing, in place of a regular one of that name.

    The old one is not written to, so nothing that shares it (a hard link) is harmed. Raises
    OddFileError for a link, a device and the like, and OSError.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return _create_new(path)
    if stat.S_ISLNK(mode):
        raise OddFileError(path, "is a symbolic link, want a new or a regular file")
    if not stat.S_ISREG(mode):
        raise OddFileError(path, "is there and no regular file")
    path.unlink()
    return _create_new(path)


def replace(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Let `path` hold this and be on the disk. mode: less the umask. Raises OSError; the old content stays then."""
    fresh = _written_beside(path, content, mode)
    try:
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise


def try_write(path: Path, size_bytes: int) -> None:
    """Do what `replace` does with so many bytes, but leave `path` as it is. Raises OSError."""
    _written_beside(path, b" " * size_bytes, PRIVATE).unlink()


def _written_beside(path: Path, content: bytes, mode: int) -> Path:
    # Beside the file, so that renaming is possible, by a name that nobody else gives: of out.html not out.new.
    fresh = path.with_name(f".{path.name}{NEW}")
    # What a crash left, or what somebody put there: the name goes, what a link names stays.
    fresh.unlink(missing_ok=True)
    try:
        with open(_create_new(fresh, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    return fresh


def _create_new(path: Path, mode: int = 0o666) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, mode)
