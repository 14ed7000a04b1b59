"""Adds what a provider's devices count themselves to a sampler, once such devices are found."""

from __future__ import annotations

from typing import Any

from ioplateau.limits.clouds.aws import is_ebs
from ioplateau.measure import allowances, ebs, interfaces
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import Snapshot, Static
from ioplateau.run.clock import Clock
from ioplateau.run.reader import Source
from ioplateau.run.sampler import Sampler
from ioplateau.state import State

# A question to the device each: not at every tick of a fast sampler.
EVERY_SECONDS = 1.0
# Capabilities do not come by themselves, but a device may be slow to be ready.
REFUSED_SECONDS = 300.0


class ProviderCounters:
    """Watches for EBS volumes and ENA interfaces; called after each tick."""

    def __init__(self, sampler: Sampler, host: Host, clock: Clock) -> None:
        self._sampler = sampler
        self._host = host
        self._clock = clock
        self._static: Static | None = None
        self._volumes: tuple[str, ...] = ()
        self._interfaces: tuple[str, ...] = ()
        self._allowances = allowances.Allowances()
        self._refusal: dict[str, Any] = {}
        self._refused: tuple[str, ...] = ()  # volumes, all of them
        self._refused_until = 0.0

    def __call__(self, state: State, snapshot: Snapshot) -> None:
        if snapshot.static is self._static:
            return
        self._static = snapshot.static
        self._volumes = tuple(
            name
            for name, disk in state.disks.items()
            if disk.device is not None and is_ebs(disk.device)
        )
        files = snapshot.static.files
        self._interfaces = tuple(
            name for name in state.interfaces if interfaces.driver(name, files) == allowances.DRIVER
        )
        if self._volumes:
            self._sampler.add(Source("ebs", self._read_volumes, EVERY_SECONDS))
        if self._interfaces:
            self._sampler.add(Source("allowances", self._read_interfaces, EVERY_SECONDS))

    def _read_volumes(self) -> dict[str, Any]:
        now, volumes = self._clock.mono(), self._volumes
        if now < self._refused_until and volumes == self._refused:
            return self._refusal
        found = ebs.read_all(volumes, self._host.place)
        if all(isinstance(answer, str) for answer in found.values()):
            self._refusal, self._refused = found, volumes
            self._refused_until = now + REFUSED_SECONDS
        return found

    def _read_interfaces(self) -> dict[str, Any]:
        return self._allowances.read(self._interfaces)
