"""What a browser may ask for: the page, its content alone, and the files it needs.

Made from the published state and the history when somebody asks; those who ask within the same
tick get the same bytes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ioplateau import __version__
from ioplateau.history import Episode, History, Series
from ioplateau.limits.budgets import Dimension, Direction
from ioplateau.state import State
from ioplateau.web.http1 import Handler, Response

if TYPE_CHECKING:
    from ioplateau.tell.view import BudgetView

HTML = "text/html; charset=utf-8"
EPISODES_SECONDS = 7 * 86_400.0
PAST_SECONDS = 900
WAITING_TICKS = 16  # over which the share of the time that tasks wait is told


class Pages:
    """state: the published one. links: path and text of the page's footer. rate_window_seconds: of the
    state's rates. looked: called when somebody looks at the page.
    """

    def __init__(
        self,
        history: History,
        state: Callable[[], State | None],
        started: float,
        links: tuple[tuple[str, str], ...],
        rate_window_seconds: float,
        looked: Callable[[], None] = lambda: None,
    ) -> None:
        self._looked = looked
        self._history = history
        self._state = state
        self._started = started
        self._links = links
        self._span = f"{rate_window_seconds:g} s"
        self._made: dict[str, tuple[float | None, bytes]] = {}  # of which tick
        self._waited: deque[tuple[float, int]] = deque(maxlen=WAITING_TICKS)

    def after_tick(self, state: State) -> None:
        """Remember for how long tasks have waited: the share of the time needs two readings."""
        pressure = state.machine.pressure
        if pressure is not None:
            self._waited.append((state.mono, pressure.some_microseconds))

    def routes(self) -> Mapping[str, Handler]:
        """Exact path to handler."""
        return {
            "/": lambda _: self._answer("page"),
            "/fragment": lambda _: self._answer("fragment"),
            "/page.css": lambda _: _file("page.css", "text/css; charset=utf-8"),
            "/page.js": lambda _: _file("page.js", "text/javascript; charset=utf-8"),
            "/icon.svg": lambda _: _file("icon.svg", "image/svg+xml"),
        }

    def _answer(self, name: str) -> Response:
        # Imported when somebody looks: nobody does on most machines.
        from ioplateau.tell import page

        self._looked()
        state = self._state()
        tick = None if state is None else state.mono
        found = self._made.get(name)
        if found is None or found[0] != tick:
            make = page.page if name == "page" else page.fragment
            found = self._made[name] = tick, make(*self._contents(state))
        headers = {
            "Content-Security-Policy": page.POLICY,
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        return Response(200, HTML, found[1], headers)

    def _contents(self, state: State | None) -> tuple[Any, ...]:
        from ioplateau.tell import page, view

        wall = state.wall if state else 0.0
        started = self._started + self._history.clock_set_seconds
        watched = max(wall - started, 0.0) if state else None
        around = page.Around(os.uname().nodename, __version__, watched, self._links, self._span)
        episodes: tuple[Episode, ...] = ()
        if state is not None:
            episodes = self._history.episodes(wall - EPISODES_SECONDS)
        seen = view.of(state)
        waited = tuple(self._waited)
        if len(waited) > 1:
            (begun, before), (now, after) = waited[0], waited[-1]
            ratio = view.waiting_ratio(before, after, now - begun)
            seen = seen._replace(io_waiting_ratio=ratio)
        return seen, around, self._past, episodes

    def _past(
        self, budget: BudgetView, dimension: Dimension, direction: Direction
    ) -> Series | None:
        return self._history.series(budget.kind, budget.name, dimension, PAST_SECONDS, direction)


def _file(name: str, kind: str) -> Response:
    import pkgutil

    body = pkgutil.get_data("ioplateau.tell", name) or b""
    return Response(200, kind, body, {"Cache-Control": "no-cache"})
