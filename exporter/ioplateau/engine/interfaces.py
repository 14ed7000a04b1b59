"""Network interfaces over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioplateau.engine.follower import Follower, Moment, Outcome, follow
from ioplateau.engine.settings import EngineSettings
from ioplateau.judge import ticks
from ioplateau.limits.budgets import FlowKey
from ioplateau.measure import interfaces
from ioplateau.measure.interfaces import InterfaceCounters, InterfaceTable
from ioplateau.measure.mappings import LazyMapping
from ioplateau.measure.ratewindow import Readings, TimedReadings, timed, window
from ioplateau.state import InterfaceState

# How long a new interface is waited for in sysfs, which may be that of another network namespace.
NEW_SECONDS = 10.0


class Interfaces(Follower):
    """Remembers each interface between ticks."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.table: InterfaceTable | None = None
        self.names: tuple[str, ...] = ()
        self._flows: tuple[tuple[FlowKey, Readings[InterfaceCounters]], ...] = ()
        self._links: Mapping[str, Any] = {}
        self._has_failed = False  # the source failed: what the windows hold is old
        self.is_strange = False  # whether some interface is new, and not known to be real
        self._new_until = float("-inf")

    def parse(self, content: bytes) -> InterfaceTable:
        return interfaces.parse(content, self.table)

    def follow(self, found: InterfaceTable | None, moment: Moment) -> Outcome:
        table, at, gap = found, moment.at, moment.is_broken
        self._has_failed = table is None
        self.is_strange = False
        if table is None:
            return Outcome({key: None for key, _ in self._flows})
        self.table = table
        names = tuple(table.interfaces)
        if names != self.names:
            self.names, self._new_until = names, at + NEW_SECONDS
            before = {key.name: (key, history) for key, history in self._flows}
            seconds = self.settings.rate_window_seconds
            self._flows = tuple(
                before.get(name) or (FlowKey("nic", name), Readings(seconds)) for name in names
            )
        self.is_strange = at < self._new_until and interfaces.has_unplaced(
            names, moment.static.files
        )
        read = zip(self._flows, table.interfaces.values(), strict=True)
        return Outcome(
            {
                key: follow(at, history, now, ticks.of_interface, gap=gap)
                for (key, history), now in read
            }
        )

    def states(self, links: Any) -> Mapping[str, InterfaceState]:
        """As of now, made when somebody asks."""
        if isinstance(links, dict):
            self._links = links
        flows, read = self._flows, timed([history for _, history in self._flows])
        told, has_failed = self._links, self._has_failed
        return LazyMapping(
            lambda: {
                key.name: _state(key.name, readings, told.get(key.name), has_failed=has_failed)
                for (key, _), readings in zip(flows, read, strict=True)
                if readings
            }
        )


def _state(
    name: str, readings: TimedReadings[InterfaceCounters], link: Any, *, has_failed: bool
) -> InterfaceState:
    link = link if isinstance(link, dict) else {}
    speed = link.get("speed_mbit")
    return InterfaceState(
        name,
        readings[-1][1],
        None if has_failed else window(readings),
        speed * 1e6 if isinstance(speed, int | float) and speed > 0 else None,
        link.get("up") if isinstance(link.get("up"), bool) else None,
    )
