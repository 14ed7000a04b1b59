"""Threads that may not be had: pids.max and TasksMax count those of others, too."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ioplateau.logs import event

LOG = logging.getLogger(__name__)

AGAIN_SECONDS = 10.0  # a defect that stays must not take a CPU
WANT = "more of pids.max or TasksMax, or of addresses (ulimit -v)"

_lacking: set[str] = set()  # names of threads whose lack was told


def started(
    name: str, work: Callable[[], object], again_seconds: float | None = None
) -> threading.Thread | None:
    """A daemon thread that runs `work`; None: there can be no more threads now, try again
    later. That is logged once a name until it can be had.

    What `work` raises is logged. again_seconds: it is then run again after
    so long, until it returns; None: not again.
    """
    thread = threading.Thread(
        target=lambda: _run(name, work, again_seconds), name=name, daemon=True
    )
    try:
        thread.start()
    except RuntimeError as error:
        if name not in _lacking:
            _lacking.add(name)
            event(LOG, logging.ERROR, "a thread cannot be started, it is tried again",
                  name=name, why=str(error), want=WANT)  # fmt: skip
        return None
    _lacking.discard(name)
    return thread


def _run(name: str, work: Callable[[], object], again_seconds: float | None) -> object:
    while True:
        try:
            return work()
        except Exception as error:  # a defect of ours: what else the thread does must go on
            event(LOG, logging.ERROR, "a thread failed", name=name, why=repr(error),
                  again_seconds=again_seconds, exc_info=True)  # fmt: skip
        if again_seconds is None:
            return None
        time.sleep(again_seconds)


def begin(thread: threading.Thread) -> None:
    """Start a thread that nothing goes on without. Raises OSError with a sentence if there can be no more."""
    try:
        thread.start()
    except RuntimeError as error:
        why = f"thread {thread.name!r} cannot be started: {error}, want {WANT}"
        raise OSError(errno.EAGAIN, why) from error


def lacks_cpu(thread: threading.Thread) -> bool:
    """Whether it waits for a CPU or for its turn among our threads, not for what it asked of the kernel.

    False: or it is not known.
    """
    task = Path(f"/proc/self/task/{thread.native_id}")
    try:
        # Letters of proc(5); the word of the kernel is a function's name, that of a lock a futex.
        is_ready = (task / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"R"
        return is_ready or b"futex" in (task / "wchan").read_bytes()
    except OSError:
        return False
