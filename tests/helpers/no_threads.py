"""No thread can be started, as where pids.max or TasksMax is used up."""

import threading
from contextlib import contextmanager

NO_ROOM_BYTES = 1 << 47  # of a stack: as much as a process has addresses


@contextmanager
def no_threads():
    """Within it, Thread.start() raises what it raises there."""
    before = threading.stack_size(NO_ROOM_BYTES)
    try:
        yield
    finally:
        threading.stack_size(before)
