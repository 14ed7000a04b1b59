"""Record: what was read of the machine, tick by tick, into one compressed file."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ioplateau.engine import Engine
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import Clock, Grid
from ioplateau.run.companions import Companions
from ioplateau.run.logs import event
from ioplateau.run.recording import Writer
from ioplateau.run.sampler import Sampler
from ioplateau.run.settings import ServeSettings

LOG = logging.getLogger(__name__)


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

    A file that is there is replaced. It is complete up to the last tick whenever it ends.
    Raises OSError, which names the file, for one that cannot be written.
    """
    grid = Grid(clock.mono(), interval_seconds)
    count = 0
    try:
        with path.open("wb") as file, closing(Writer(file, interval_seconds)) as writer:
            while ticks is None or count < ticks:
                due = grid.next(clock.mono())
                if wait(max(due - clock.mono(), 0.0)):
                    break
                snapshot = sampler.take()
                writer.write(snapshot)
                seen(snapshot)
                count += 1
    except OSError as error:  # a full disk, at the latest: the error of a write has no name
        why = f"{error.strerror or error}{f', after {count} snapshots' if count else ''}"
        raise OSError(error.errno, why, str(path)) from error
    return count


class Onlooker:
    """Understands what is recorded, so that what belongs to it is looked for as the daemon does."""

    def __init__(self, settings: ServeSettings, sampler: Sampler, clock: Clock) -> None:
        self._engine = Engine(settings.engine)
        self._companions = Companions(settings, sampler, clock)
        self._is_sound = True

    def see(self, snapshot: Snapshot) -> None:
        """Find out what more there is to read. Raises nothing."""
        try:
            self._companions(self._engine.observe(snapshot), snapshot)
        except Exception as error:  # what we cannot understand is what we want to have recorded
            if self._is_sound:
                event(LOG, logging.ERROR, "recorded, but not understood", why=repr(error))
            self._is_sound = False
