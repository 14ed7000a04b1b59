"""Adds what a provider's devices count themselves to a sampler, once such devices are found."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from ioplateau.limits.clouds.aws import is_ebs, is_instance_store
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
ReadAll: TypeAlias = Callable[..., dict[str, Any]]  # as ebs.read_all


class ProviderCounters:
    """Watches for EBS and instance store volumes and ENA interfaces; called after each tick."""

    def __init__(
        self, sampler: Sampler, host: Host, clock: Clock, read_all: ReadAll = ebs.read_all
    ) -> None:
        self._read_all = read_all
        self._sampler = sampler
        self._host = host
        self._clock = clock
        self._static: Static | None = None
        self._volumes: tuple[str, ...] = ()
        self._stores: tuple[str, ...] = ()
        self._silent: Collection[str] = ()  # of those the ones that do not count
        self._interfaces: tuple[str, ...] = ()
        self._allowances = allowances.Allowances()
        self._refusal: dict[str, Any] = {}
        self._refused: tuple[str, ...] = ()  # volumes, all of them
        self._refused_until = 0.0

    def __call__(self, state: State, snapshot: Snapshot) -> None:
        if snapshot.static is self._static:
            return
        self._static = snapshot.static
        devices = {name: disk.device for name, disk in state.disks.items() if disk.device}
        self._volumes = tuple(name for name, device in devices.items() if is_ebs(device))
        self._stores = tuple(name for name, device in devices.items() if is_instance_store(device))
        files = snapshot.static.files
        self._interfaces = tuple(
            name for name in state.interfaces if interfaces.driver(name, files) == allowances.DRIVER
        )
        if self._volumes or self._stores:
            self._sampler.add(Source("ebs", self._read_volumes, EVERY_SECONDS))
        if self._interfaces:
            self._sampler.add(Source("allowances", self._read_interfaces, EVERY_SECONDS))

    def _read_volumes(self) -> dict[str, Any]:
        now, stores = self._clock.mono(), self._stores
        asked = (*self._volumes, *(name for name in stores if name not in self._silent))
        if now < self._refused_until and asked == self._refused:
            return self._refusal
        found = self._read_all(asked, self._host.place, store=stores)
        self._silent = [name for name in stores if name not in found]
        if all(isinstance(answer, str) for answer in found.values()):
            self._refusal, self._refused = found, asked
            self._refused_until = now + REFUSED_SECONDS
        return found

    def _read_interfaces(self) -> dict[str, Any]:
        return self._allowances.read(self._interfaces)
