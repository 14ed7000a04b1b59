"""Network interfaces over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioplateau.engine.settings import EngineSettings
from ioplateau.judge import ticks
from ioplateau.judge.budgets import FlowKey
from ioplateau.judge.flows import FlowTick
from ioplateau.measure.delta import History
from ioplateau.measure.interfaces import InterfaceCounters, InterfaceTable
from ioplateau.state import InterfaceState


class Interfaces:
    """Remembers each interface between ticks."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.table: InterfaceTable | None = None
        self.names: tuple[str, ...] = ()
        self._histories: dict[str, History[InterfaceCounters]] = {}
        self._links: Mapping[str, Any] = {}

    def observe(
        self,
        at: float,
        table: InterfaceTable | None,
        *,
        gap: bool,
        flows: dict[FlowKey, FlowTick | None],
    ) -> None:
        if table is None:
            for name in self.names:
                flows[FlowKey("nic", name)] = None
            return
        self.table = table
        names = tuple(table.interfaces)
        if names != self.names:
            self.names = names
            for gone in self._histories.keys() - set(names):
                del self._histories[gone]
        for name, now in table.interfaces.items():
            flows[FlowKey("nic", name)] = self._follow(at, name, now, gap=gap)

    def _follow(
        self, at: float, name: str, now: InterfaceCounters, *, gap: bool
    ) -> FlowTick | None:
        history = self._histories.get(name)
        if history is None:
            history = self._histories[name] = History(self.settings.rate_window_seconds)
        last = history.last
        tick = None
        if last is not None and not gap and at > last[0]:
            tick = ticks.of_interface(last[1], now, at - last[0])
        if tick is None:
            history.restart(at, now)
        else:
            history.push(at, now)
        return tick

    def states(self, links: Any) -> dict[str, InterfaceState]:
        if isinstance(links, dict):
            self._links = links
        found = {}
        for name in self.names:
            history = self._histories[name]
            link = self._links.get(name)
            link = link if isinstance(link, dict) else {}
            speed = link.get("speed_mbit")
            if history.last is not None:
                found[name] = InterfaceState(
                    name,
                    history.last[1],
                    history.window,
                    speed * 1e6 if isinstance(speed, int | float) and speed > 0 else None,
                    link.get("up") if isinstance(link.get("up"), bool) else None,
                )
        return found
