"""What the benchmarks share: sizes of made-up machines, a place for their files, a table."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Disks, NFS mounts, connections of a client.
SIZES = {"small": (16, 8, 4), "middle": (64, 100, 8), "large": (256, 1000, 16)}


@contextmanager
def directory() -> Iterator[Path]:
    """In memory where that can be had, so that no disk is part of the measurement."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    made = Path(tempfile.mkdtemp(prefix="ioplateau-bench-", dir=place))
    try:
        yield made
    finally:
        shutil.rmtree(made)


def print_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [head, ["---"] * len(head), *rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    for line in lines:
        cells = (f"{text:{width}}" for text, width in zip(line, widths, strict=True))
        print(f"| {' | '.join(cells)} |")
