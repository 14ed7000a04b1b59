"""What runs beside sampling: sockets once there is an NFS mount, providers' counters, metadata."""

from __future__ import annotations

from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import Clock
from ioplateau.run.cloud import Metadata, volume_types
from ioplateau.run.consumers import ConsumersReader
from ioplateau.run.providers import ProviderCounters
from ioplateau.run.sampler import Sampler
from ioplateau.run.settings import ServeSettings
from ioplateau.run.sources import NfsSockets
from ioplateau.state import State


class BackgroundReaders:
    """Called after each tick: whoever samples with them reads all that there is to read."""

    def __init__(self, settings: ServeSettings, sampler: Sampler, clock: Clock) -> None:
        self._settings = settings
        self._sampler = sampler
        self._clock = clock
        self._metadata = self._asker()
        self._sockets = NfsSockets(sampler, settings.nfs_ports)
        self._providers = ProviderCounters(sampler, settings.paths.host(), clock)
        self.consumers = ConsumersReader(sampler, settings.paths.host(), clock)

    def __call__(self, state: State, snapshot: Snapshot) -> None:
        """Find out what more there is to read."""
        self.add_sources(state, snapshot)
        if state.held:
            self.consumers(state)
        if self._settings.engine.asks_cloud:
            self._metadata.begin(snapshot.static)

    def add_sources(self, state: State, snapshot: Snapshot, *, wait_seconds: float = 0.0) -> None:
        """Have read what this tick showed to be there. wait_seconds: for what takes a moment."""
        self._sockets.look(snapshot, wait_seconds)
        self._providers(state, snapshot)

    def configure(self, fresh: ServeSettings) -> None:
        """From now on ask for metadata as these settings say."""
        before, self._settings = self._settings, fresh
        if (before.engine.asks_cloud, before.refresh_seconds, before.volumes) != (
            fresh.engine.asks_cloud,
            fresh.refresh_seconds,
            fresh.volumes,
        ):
            self._metadata.end()
            self._metadata = self._asker()

    def end(self) -> None:
        """Ask nobody any more."""
        self._metadata.end()
        self.consumers.end()

    def _asker(self) -> Metadata:
        volumes = volume_types(self._settings.volumes, self._clock)
        return Metadata(self._clock, self._sampler.tell, self._settings.refresh_seconds, volumes)
