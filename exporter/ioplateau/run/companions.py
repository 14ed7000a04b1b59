"""What runs beside sampling: sockets once there is an NFS mount, providers' counters, metadata."""

from __future__ import annotations

from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import Clock
from ioplateau.run.cloud import Metadata
from ioplateau.run.providers import ProviderCounters
from ioplateau.run.sampler import Sampler
from ioplateau.run.settings import ServeSettings
from ioplateau.run.sources import NfsSockets
from ioplateau.state import State


class Companions:
    """Called after each tick; a sampler with them reads what the daemon reads."""

    def __init__(self, settings: ServeSettings, sampler: Sampler, clock: Clock) -> None:
        self._metadata = Metadata(clock, sampler.tell) if settings.engine.asks_cloud else None
        self._sockets = NfsSockets(sampler, settings.nfs_ports)
        self._providers = ProviderCounters(sampler, settings.paths.host(), clock)

    def __call__(self, state: State, snapshot: Snapshot) -> None:
        """Find out what more there is to read."""
        self._sockets(state, snapshot)
        self._providers(state, snapshot)
        if self._metadata is not None:
            self._metadata.begin(snapshot.static.files)
