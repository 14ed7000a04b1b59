"""The floor: what it costs merely to read what a tick reads, at the same pace, and throw it away.

    .venv/bin/python bench/floor.py --path.procfs /proc

As the daemon does: one process, descriptors kept open, pread until there is no more, each
second, until standard input closes. The kernel makes the bytes while it is read, so on a real
machine that is what nobody who wants the bytes can save.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
import time
from collections.abc import Sequence

CHUNK = 1 << 18
EACH_TICK = ("diskstats", "self/mountstats", "net/dev", "pressure/io", "meminfo")
EACH_FIFTH = ("stat",)


def read(descriptors: Sequence[int]) -> int:
    """How many bytes there were."""
    total = 0
    for descriptor in descriptors:
        size = 0
        while part := os.pread(descriptor, CHUNK, size):
            size += len(part)
        total += size
    return total


def descriptors(procfs: str, names: Sequence[str]) -> list[int]:
    """Open descriptors of those that are there: not every kernel has pressure/."""
    found = []
    for name in names:
        try:
            found.append(os.open(f"{procfs}/{name}", os.O_RDONLY | os.O_CLOEXEC))
        except FileNotFoundError:
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--path.procfs", dest="procfs", default="/proc")
    procfs = parser.parse_args().procfs
    always, seldom = descriptors(procfs, EACH_TICK), descriptors(procfs, EACH_FIFTH)
    due = time.monotonic()
    ticks = 0
    while not select.select([sys.stdin], [], [], max(due - time.monotonic(), 0.0))[0]:
        read(always)
        if ticks % 5 == 0:
            read(seldom)
        ticks += 1
        due += 1.0


if __name__ == "__main__":
    main()
