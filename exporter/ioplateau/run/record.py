"""Record: what was read of the machine, tick by tick, into one compressed file."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from ioplateau.engine import Engine
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import Clock, Grid
from ioplateau.run.cloud import Metadata
from ioplateau.run.logs import event
from ioplateau.run.providers import ProviderCounters
from ioplateau.run.recording import Writer
from ioplateau.run.sampler import Sampler
from ioplateau.run.settings import ServeSettings
from ioplateau.run.sources import NfsSockets

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

    The file is complete up to the last tick whenever it ends. Raises OSError for a file
    that cannot be written.
    """
    grid = Grid(clock.mono(), interval_seconds)
    count = 0
    with path.open("wb") as file:
        writer = Writer(file, interval_seconds)
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


class Companions:
    """What the daemon has beside its loop, so that a recording holds what the daemon would read:
    sockets once there is an NFS mount, providers' counters, metadata.
    """

    def __init__(self, settings: ServeSettings, sampler: Sampler, clock: Clock) -> None:
        self._settings = settings
        self._engine = Engine(settings.engine)
        self._metadata = Metadata(clock, sampler.tell)
        self._after_tick = (
            NfsSockets(sampler, settings.nfs_ports),
            ProviderCounters(sampler, settings.paths.host(), clock),
        )
        self._is_sound = True

    def see(self, snapshot: Snapshot) -> None:
        """Find out what more there is to read. Raises nothing."""
        try:
            state = self._engine.observe(snapshot)
            for watch in self._after_tick:
                watch(state, snapshot)
            if self._settings.engine.asks_cloud:
                self._metadata.begin(snapshot.static.files)
        except Exception as error:  # what we cannot understand is what we want to have recorded
            if self._is_sound:
                event(LOG, logging.ERROR, "recorded, but not understood", why=repr(error))
            self._is_sound = False
