"""/api/v1/: what the daemon found, as JSON. Answered from memory: no request waits for a disk.

What makes the answers is loaded by the first question: most daemons are only scraped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from ioplateau.history import History
from ioplateau.history.rings import SPANS
from ioplateau.limits.budgets import Dimension, Direction, Kind
from ioplateau.run.about import about
from ioplateau.state import State
from ioplateau.tell import formatting
from ioplateau.web.http1 import Handler, Request, Response

ROOT = "/api/"  # below which errors are JSON too
PREFIX = f"{ROOT}v1/"
LONGEST_SECONDS = float(SPANS[-1].keep_seconds)
DEFAULT_SECONDS = 900.0


class _WrongError(Exception):
    """A question that cannot be answered: status and sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Api:
    """Answers from the published state and the history."""

    def __init__(
        self,
        history: History,
        state: Callable[[], State | None],
        started: float,
        wall: Callable[[], float],
    ) -> None:
        self._history = history
        self._state = state
        self._wall = wall
        self._started = started

    def routes(self) -> dict[str, Handler]:
        """Exact path to handler."""
        found: dict[str, Callable[[Mapping[str, str]], dict[str, Any]]] = {
            "state": self.state,
            "episodes": self.episodes,
            "series": self.series,
        }
        return {PREFIX + name: _answering(answer) for name, answer in found.items()}

    def state(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """The last tick."""
        _known(asked)
        state = self._state()
        if state is None:
            raise _WrongError(503, "ioplateau has not finished its first tick yet")
        from ioplateau.tell import api

        return api.state(state, about(self._started + self._history.clock_set_seconds))

    def episodes(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """Episodes and events of a span."""
        _known(asked, "since", "until")
        now = self._wall()
        until = _number(asked, "until", now)
        since = _number(asked, "since", until - LONGEST_SECONDS)
        if since > until:
            raise _WrongError(400, f"since is {since:.15g}, want at most until, {until:.15g}")
        # What goes on has no end yet, and is in the answer of now though the clock was set back since.
        reach = math.inf if until >= now else until
        found = [
            each
            for each in self._history.episodes(since, reach)
            if each.ended is None or each.began <= until
        ]
        from ioplateau.tell import api

        return api.episodes(found, self._history.events(since, until), since, until)

    def series(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """One budget in one dimension."""
        _known(asked, "kind", "name", "dimension", "seconds", "direction")
        kind = _word(asked, "kind", [*Kind])
        name = asked.get("name")
        if name is None:
            raise _WrongError(400, "name is missing, want that of a budget of /api/v1/state")
        dimension = _word(asked, "dimension", [*Dimension])
        if dimension == Dimension.SLOTS and kind != Kind.NFS_SLOTS:
            raise _WrongError(
                400, f"dimension is 'slots', want another: only {Kind.NFS_SLOTS} has it"
            )
        way = _word(asked, "direction", [*Direction]) if "direction" in asked else None
        seconds = _number(asked, "seconds", DEFAULT_SECONDS)
        if not 1 <= seconds <= LONGEST_SECONDS:
            raise _WrongError(400, f"seconds is {seconds:.15g}, want 1 to {LONGEST_SECONDS:.0f}")
        found = self._history.series(kind, self._named(kind, name), dimension, seconds, way)
        if found is None:
            raise _WrongError(404, f"there is no budget {kind} '{name[:200]}'")
        from ioplateau.tell import api

        return api.series(found)

    def _named(self, kind: str, shown: str) -> str:
        """The budget's own name by the one that is shown: bytes that are no text differ."""
        state = self._state()
        names = (key.name for key in (state.budgets if state else ()) if key.kind == kind)
        return next((name for name in names if formatting.valid(name) == shown), shown)


def _answering(answer: Callable[[Mapping[str, str]], dict[str, Any]]) -> Handler:
    def handle(request: Request) -> Response:
        try:
            return _json(200, answer(_query(request.query)))
        except _WrongError as error:
            return _json(error.status, {"error": str(error)})

    return handle


def _query(text: str) -> dict[str, str]:
    try:
        # Bytes of a mount point that are no text travel as in the state: as shown there.
        asked = parse_qs(text, keep_blank_values=True, max_num_fields=20)
    except ValueError as error:
        raise _WrongError(400, f"the query cannot be read: {error}") from error
    for name, values in asked.items():
        if len(values) > 1:
            raise _WrongError(400, f"{name[:40]!r} is there {len(values)} times, want it once")
    return {name: values[0] for name, values in asked.items()}


def _known(asked: Mapping[str, str], *names: str) -> None:
    for name in asked:
        if name not in names:
            want = f"want {', '.join(names)}" if names else "nothing can be asked here"
            raise _WrongError(400, f"there is no {name[:40]!r}, {want}")


def _word(asked: Mapping[str, str], name: str, words: list[Any]) -> str:
    found = asked.get(name)
    if found is None or found not in words:
        told = "missing" if found is None else repr(found[:40])
        raise _WrongError(400, f"{name} is {told}, want one of {', '.join(words)}")
    return found


def _number(asked: Mapping[str, str], name: str, default: float) -> float:
    text = asked.get(name)
    if text is None:
        return default
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise _WrongError(400, f"{name} is {text[:40]!r}, want a number of seconds")
    return found


def _json(status: int, value: dict[str, Any]) -> Response:
    body = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    headers = {"Cache-Control": "no-store"}
    return Response(status, "application/json", body, headers)
