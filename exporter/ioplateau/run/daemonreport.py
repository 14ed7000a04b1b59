"""The report from what a running daemon remembers: asked over its own HTTP, a budget at a time.

Each question is small, so that the daemon's ticks never wait for one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from math import ceil, nan
from typing import Any, TypeAlias
from urllib.parse import urlencode

from ioplateau.history import Event, What
from ioplateau.history.rings import SPANS
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey, Kind, Limit, Origin
from ioplateau.run import daemonviews
from ioplateau.run.daemonaddress import DaemonAddress
from ioplateau.run.daemonviews import NoDaemonError
from ioplateau.saved import UNSOUND
from ioplateau.tell import apiview, formatting
from ioplateau.tell.failedsources import Unseen
from ioplateau.tell.report.document import ReportSource
from ioplateau.tell.report.samples import (
    COLUMNS,
    LimitKey,
    LimitSamples,
    Samples,
    is_stack,
)

ANSWER_SECONDS = 20.0
# A step of several seconds is told once it is over, by a daemon whose clock may be late.
EDGE_SECONDS = 20.0
# Of a series: where one of them is known, the daemon had a reading.
READINGS = ("rate", "share", "queue_length")
# Kinds of budgets that are one flow each, with what the flow is called.
FLOWS = {Kind.DISK: "disk", Kind.STRIPE: "disk", Kind.VOLUME: "nfs", Kind.CGROUP: "cgroup"}

Ask = Callable[..., Any]
Columns: TypeAlias = dict[str, dict[int, float]]  # of a series: by name, by second what is known


def asking(daemon: DaemonAddress) -> Ask:
    """A function that asks the daemon for a path."""

    def fetch(path: str, **query: object) -> Any:
        words = f"?{urlencode(query)}" if query else ""
        return daemonviews.ask(daemon, f"/api/v1/{path}{words}", ANSWER_SECONDS)

    return fetch


def of_daemon(
    ask: Ask, began: float, ended: float, asked_at: float, now: Callable[[], float]
) -> tuple[Samples, ReportSource]:
    """What the daemon remembers of a span. Raises NoDaemonError.

    All in UNIX seconds; asked_at: when the span was asked for, before the daemon was.
    """
    state = ask("state")
    answer = ask("episodes", since=began, until=ended)
    try:
        events = apiview.events_of(answer)
        first = max(began, _oldest(ask, state["budgets"], asked_at))
        making = _Making(ask, first, ended, asked_at, now)
        samples = making.samples(state["budgets"], state["disks"], events)
        samples.episodes, samples.events = apiview.episodes_of(answer), events
        _take_lifting(samples, state["budgets"])
        if ended >= asked_at:  # since when it cannot see is not told
            samples.unseen = {
                str(each["source"]): Unseen(str(each["sentence"]))
                for each in state["failed_sources"]
                if each["is_vital"]
            }
        return samples, ReportSource(
            str(state["host"]),
            str(state["version"]),
            machine=formatting.machine(
                *(str(state["vm"][part] or "") for part in ("cloud", "size", "region"))
            ),
            began=samples.at[0] if len(samples) else None,
            ended=samples.at[-1] + samples.seconds[-1] if len(samples) else None,
            what="the daemon's memory",
            step_seconds=making.step_seconds,
            asked_from=began,
            asked_to=ended,
        )
    except UNSOUND as error:
        raise NoDaemonError(f"an answer that no ioplateau gives: {error!r:.200}") from error


def _oldest(ask: Ask, budgets: list[dict[str, Any]], asked_at: float) -> float:
    """UNIX seconds from which on anything is remembered, to the minute; within the first minutes those of which
    every second is. All budgets are of the same ticks, so that one of them tells it.
    """
    budget = next((each for each in budgets if each["kind"] in FLOWS), None)
    if budget is None:
        return 0.0
    found = ask(
        "series",
        kind=budget["kind"],
        name=budget["name"],
        dimension=Dimension.IOPS,
        direction=Direction.TOTAL,
        seconds=SPANS[-1].keep_seconds,
    )
    return float(min(found["at"], default=asked_at - SPANS[0].keep_seconds))


class _Making:
    """Columns by second, from answers that each have seconds of their own."""

    def __init__(
        self, ask: Ask, began: float, ended: float, asked_at: float, now: Callable[[], float]
    ) -> None:
        self._ask = ask
        self._began, self._ended, self._now = began, ended, now
        # Asked for more, as for what the asking takes, the daemon would answer in longer steps.
        reach = [size for size in SPANS if size.keep_seconds >= asked_at - began]
        size = min(reach, default=SPANS[-1])
        self._most_seconds, step = size.keep_seconds, size.step_seconds
        late = asked_at - EDGE_SECONDS
        # What comes from here on is asked for by the second.
        self._edge = min(ended, late - late % step if step > 1 else ended)
        self.step_seconds: float | None = None  # the longest; None: nothing was told
        self._steps: dict[int, int] = {}  # second -> length of the sample that begins then
        self._flows: dict[FlowKey, dict[str, dict[int, float]]] = {}
        self._limits: dict[LimitKey, tuple[Limit, dict[int, float], dict[int, float]]] = {}
        self._stacked: set[FlowKey] = set()
        self._lanes: dict[BudgetKey, str] = {}

    def samples(
        self, budgets: list[dict[str, Any]], disks: list[dict[str, Any]], events: Sequence[Event]
    ) -> Samples:
        # Daemons before this one do not tell of the kind.
        kinds = {disk["device"]: disk.get("kind") or "" for disk in disks}
        for budget in budgets:
            kind, name = Kind(budget["kind"]), str(budget["name"])
            if kind in FLOWS:
                self._flow(kind, name)
            if budget["lane"]:
                self._lanes[BudgetKey(kind, name)] = str(budget["lane"])
            if is_stack(BudgetKey(kind, name), kinds.get(name, "")):
                self._stacked.add(FlowKey(FLOWS[kind], name))
            for limit in budget["limits"]:
                self._limit(kind, name, limit)
        return self._made([each for each in events if each.what in (What.STARTED, What.STOPPED)])

    def _series(self, kind: Kind, name: str, dimension: str, direction: str) -> Columns:
        columns: Columns = {column: {} for column in (*READINGS, "limit", "await_seconds")}
        for began, ended, most_seconds in (
            (self._began, self._edge, self._most_seconds),
            (self._edge, self._ended, SPANS[0].keep_seconds),
        ):
            if began < ended:
                found = self._ask(
                    "series",
                    kind=kind,
                    name=name,
                    dimension=dimension,
                    direction=direction,
                    # Counted back from where the daemon is when it answers, to the whole second.
                    seconds=min(ceil(self._now() - began + ANSWER_SECONDS) + 1, most_seconds),
                )
                self._take(found, began, ended, columns)
        return columns

    def _take(self, found: Mapping[str, Any], began: float, ended: float, columns: Columns) -> None:
        """Add what an answer knows of a span."""
        step = int(found["step_seconds"])
        for name, column in columns.items():
            known = _known(found["at"], found[name])
            column.update({at: value for at, value in known.items() if began <= at < ended})
            if name in READINGS:
                self._steps.update(dict.fromkeys(column.keys() - self._steps.keys(), step))
        if any(began <= at < ended for at in found["at"]):
            self.step_seconds = max(self.step_seconds or 0.0, float(step))

    def _flow(self, kind: Kind, name: str) -> None:
        columns: dict[str, dict[int, float]] = {column: {} for column in COLUMNS}
        for direction in (Direction.READ, Direction.WRITE):
            for dimension, word in (
                (Dimension.IOPS, "operations"),
                (Dimension.THROUGHPUT, "bytes"),
            ):
                found = self._series(kind, name, dimension, direction)
                columns[f"{direction}_{word}_per_second"].update(found["rate"])
                # Kept of all requests together, whatever their direction.
                columns[f"{direction}_await_seconds"].update(found["await_seconds"])
                columns["queue_length"].update(found["queue_length"])
        if any(any(column.values()) for column in columns.values()):
            self._flows[FlowKey(FLOWS[kind], name)] = columns

    def _limit(self, kind: Kind, name: str, answer: Mapping[str, Any]) -> None:
        dimension, direction = Dimension(answer["dimension"]), Direction(answer["direction"])
        found = self._series(kind, name, dimension, direction)
        limit = Limit(
            dimension, direction, answer["limit"], Origin(answer["origin"]), answer["source"]
        )
        if found["share"]:
            key = LimitKey(BudgetKey(kind, name), dimension, direction)
            self._limits[key] = limit, found["limit"], found["share"]

    def _made(self, runs: Sequence[Event]) -> Samples:
        seconds = sorted(self._steps)
        # The last one may not be over yet.
        spans = [
            _watched(at, min(float(at + self._steps[at]), self._ended), runs) for at in seconds
        ]
        unknown = array("d", [nan]) * len(seconds)
        samples = Samples(
            array("d", (begin for begin, _ in spans)),
            array("d", (length for _, length in spans)),
            cpu=unknown,
            memory=unknown,
            lanes=self._lanes,
            stacked=self._stacked,
        )
        for flow, columns in self._flows.items():
            samples.flows[flow] = {
                name: array("d", (of.get(at, nan) for at in seconds))
                for name, of in columns.items()
            }
        for key, (limit, values, shares) in self._limits.items():
            samples.limits[key] = LimitSamples(
                limit,
                array("d", (values.get(at, nan) for at in seconds)),
                array("d", (shares.get(at, nan) for at in seconds)),
            )
        return samples


def _watched(begin: float, end: float, runs: Sequence[Event]) -> tuple[float, float]:
    """(begin, seconds) of what a daemon watched of a span. runs: its starts and stops, the oldest first; of
    one that was cut off what lies before the next start is not counted.
    """
    seconds, first, since = 0.0, begin, begin
    for event in runs:
        if begin < event.at < end:
            if event.what is What.STOPPED:
                seconds += max(event.at - since, 0.0)
            elif not seconds:
                first = event.at
            since = event.at if event.what is What.STARTED else end
    return first, seconds + end - since


def _known(at: list[int], values: list[float | None]) -> dict[int, float]:
    return {second: value for second, value in zip(at, values, strict=True) if value is not None}


def _take_lifting(samples: Samples, budgets: list[dict[str, Any]]) -> None:
    for budget in budgets:
        steps = tuple(map(str, budget.get("lifting") or ()))
        if steps:
            samples.lifting[BudgetKey(Kind(budget["kind"]), budget["name"])] = steps
    for episode in samples.episodes:
        if episode.lift and episode.key not in samples.lifting:
            samples.lifting[episode.key] = tuple(episode.lift.split("; "))
