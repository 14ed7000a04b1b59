"""Record: what was read of the machine, tick by tick, into one compressed file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import Clock, Grid
from ioplateau.run.recording import Writer
from ioplateau.run.sampler import Sampler


def record(
    path: Path,
    sampler: Sampler,
    clock: Clock,
    interval_seconds: float,
    *,
    ticks: int | None,
    wait: Callable[[float], bool],
    seen: Callable[[Snapshot], None] = lambda snapshot: None,  # noqa: ARG005
) -> int:
    """Write snapshots until `wait` (which sleeps that long) says stop; how many there are.

    The file is complete up to the last tick whenever it ends. Raises OSError for a file
    that cannot be written.
    """
    grid = Grid(clock.mono(), interval_seconds)
    count = 0
    with path.open("wb") as file:
        writer = Writer(file, 1.0 / interval_seconds)
        try:
            while ticks is None or count < ticks:
                due = grid.next(clock.mono())
                if wait(max(due - clock.mono(), 0.0)):
                    break
                snapshot = sampler.take()
                writer.write(snapshot)
                seen(snapshot)
                count += 1
        finally:
            writer.close()
    return count
