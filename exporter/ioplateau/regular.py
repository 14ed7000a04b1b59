"""Reads files in whose place may be something else: no pipe is waited for, no device read."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path
from typing import BinaryIO

LEASE_LOOK_SECONDS = 0.05


class OddFileError(OSError):
    """Something under a file's name that is no regular file, or larger than is sensible."""

    def __init__(self, path: Path | str, why: str) -> None:
        self.why = why
        super().__init__(errno.EINVAL, why, str(path))


def read_regular(path: Path | str, most_bytes: int) -> bytes:
    """The whole of a regular file. Raises OddFileError for anything else or more, and OSError."""
    with open_regular(path) as file:
        return read_whole(file, most_bytes)


def open_regular(path: Path | str, *, follows_links: bool = True) -> BinaryIO:
    """A regular file, for reading. Raises OddFileError for anything else, and OSError."""
    extra = 0 if follows_links else os.O_NOFOLLOW
    try:
        return open(path, "rb", opener=lambda name, flags: _opened(name, flags | extra))
    except ValueError as error:  # a NUL, or a letter that names cannot be written with here
        raise OSError(errno.EINVAL, "no file has such a name", str(path)) from error
    except OSError as error:
        if error.errno == errno.ELOOP and not follows_links:
            raise OddFileError(path, "a symbolic link, want a regular file") from error
        raise


def read_whole(file: BinaryIO, most_bytes: int) -> bytes:
    """What an open file has left. Raises OddFileError if that is more than `most_bytes`, and OSError."""
    # A sparse file costs nothing to make, so its size is asked for first; that is no promise either.
    if os.fstat(file.fileno()).st_size <= most_bytes:
        content = file.read(most_bytes + 1)
        if len(content) <= most_bytes:
            return content
    raise OddFileError(str(file.name), f"more than {most_bytes:,} bytes, want fewer")


def _opened(path: str, flags: int) -> int:
    number = _open_at_once(path, flags)
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return number
    os.close(number)
    why = os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "no regular file"
    raise OddFileError(path, why)


def _open_at_once(path: str, flags: int) -> int:
    while True:
        try:
            # O_NONBLOCK: a FIFO without a writer must not hold us up.
            return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
        except BlockingIOError:  # fcntl(2), "Leases": whoever holds one has 45 s to give it up
            time.sleep(LEASE_LOOK_SECONDS)
