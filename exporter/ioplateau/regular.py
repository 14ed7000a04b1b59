"""Opens a file that is read again and again: no pipe, which would be waited for, and no device."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path | str) -> BinaryIO:
    """A regular file, for reading. Raises OSError, also for anything else."""
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:  # a NUL, or a letter that names cannot be written with here
        raise OSError(errno.EINVAL, "no file has such a name", str(path)) from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # of a directory open() says so
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return open(path, "rb")
