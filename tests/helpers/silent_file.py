"""A file that does not answer, as one on a server that is away."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def silent(path: Path, text: str) -> Iterator[None]:
    """In place of `path` a file with this text, whose opening waits until the block ends.

    For at most the 45 seconds of /proc/sys/fs/lease-break-time: fcntl(2), F_SETLEASE.
    """
    fresh = path.with_name("silent")
    fresh.write_text(text)
    descriptor = os.open(fresh, os.O_RDWR)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # SIGIO would end us
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fresh.rename(path)
        yield
    finally:
        os.close(descriptor)
