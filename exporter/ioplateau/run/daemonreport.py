"""The report from what a running daemon remembers: asked over its own HTTP, a budget at a time.

Each question is small, so that the daemon's ticks never wait for one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from math import ceil, nan
from typing import Any
from urllib.parse import urlencode

from ioplateau.history import Event, What
from ioplateau.history.rings import SPANS
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey, Kind, Limit, Origin
from ioplateau.run import daemonviews
from ioplateau.run.daemonaddress import DaemonAddress
from ioplateau.run.daemonviews import NoDaemonError
from ioplateau.tell import apiview
from ioplateau.tell.blindness import Unseen
from ioplateau.tell.report.document import ReportSource
from ioplateau.tell.report.samples import (
    COLUMNS,
    LimitKey,
    LimitSamples,
    Samples,
    is_stack,
)

ANSWER_SECONDS = 20.0
# Kinds of budgets that are one flow each, with what the flow is called.
FLOWS = {Kind.DISK: "disk", Kind.STRIPE: "disk", Kind.VOLUME: "nfs", Kind.CGROUP: "cgroup"}

Ask = Callable[..., Any]


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
        making = _Making(ask, began, ended, asked_at, now)
        samples = making.samples(state["budgets"], state["disks"])
        samples.episodes = apiview.episodes_of(answer)
        samples.events = tuple(
            apiview.checked(
                Event(each["at"], What(each["what"]), each["sentence"], each["subject"])
            )
            for each in answer["events"]
        )
        _take_lifting(samples, state["budgets"])
        if ended >= asked_at:  # since when it cannot see is not told
            samples.unseen = {
                str(each["source"]): Unseen(str(each["sentence"]))
                for each in state["blind"]
                if each["is_vital"]
            }
        return samples, ReportSource(
            str(state["host"]),
            str(state["version"]),
            began=samples.at[0] if len(samples) else None,
            ended=samples.at[-1] + samples.seconds[-1] if len(samples) else None,
            what="the daemon's memory",
            step_seconds=making.step_seconds,
        )
    except apiview.MISUNDERSTOOD as error:
        raise NoDaemonError(f"an answer that no ioplateau gives: {error!r:.200}") from error


class _Making:
    """Columns by second, from answers that each have seconds of their own."""

    def __init__(
        self, ask: Ask, began: float, ended: float, asked_at: float, now: Callable[[], float]
    ) -> None:
        self._ask = ask
        self._began, self._ended, self._now = began, ended, now
        # Asked for more, as for what the asking takes, the daemon would answer in longer steps.
        reach = [size.keep_seconds for size in SPANS if size.keep_seconds >= asked_at - began]
        self._most_seconds = min(reach, default=SPANS[-1].keep_seconds)
        self.step_seconds: float | None = None  # the longest; None: nothing was told
        self._steps: dict[int, int] = {}  # second -> length of the sample that begins then
        self._flows: dict[FlowKey, dict[str, dict[int, float]]] = {}
        self._limits: dict[LimitKey, tuple[Limit, dict[int, float], dict[int, float]]] = {}
        self._stacked: set[FlowKey] = set()
        self._lanes: dict[BudgetKey, str] = {}

    def samples(self, budgets: list[dict[str, Any]], disks: list[dict[str, Any]]) -> Samples:
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
        return self._made()

    def _series(self, kind: Kind, name: str, dimension: str, direction: str) -> Mapping[str, Any]:
        found: dict[str, Any] = self._ask(
            "series",
            kind=kind,
            name=name,
            dimension=dimension,
            direction=direction,
            # Counted back from where the daemon is when it answers, to the whole second.
            seconds=min(ceil(self._now() - self._began + ANSWER_SECONDS) + 1, self._most_seconds),
        )
        step = int(found["step_seconds"])
        for at in found["at"]:
            if self._began <= at < self._ended:
                self._steps[at] = step
                self.step_seconds = max(self.step_seconds or 0.0, float(step))
        return found

    def _flow(self, kind: Kind, name: str) -> None:
        columns: dict[str, dict[int, float]] = {column: {} for column in COLUMNS}
        for direction in (Direction.READ, Direction.WRITE):
            for dimension, word in (
                (Dimension.IOPS, "operations"),
                (Dimension.THROUGHPUT, "bytes"),
            ):
                found = self._series(kind, name, dimension, direction)
                into = columns[f"{direction}_{word}_per_second"]
                into.update(_known(found["at"], found["rate"]))
                # Kept of all requests together, whatever their direction.
                waits = _known(found["at"], found["await_seconds"])
                columns[f"{direction}_await_seconds"].update(waits)
                columns["queue_length"].update(_known(found["at"], found["queue_length"]))
        if any(any(column.values()) for column in columns.values()):
            self._flows[FlowKey(FLOWS[kind], name)] = columns

    def _limit(self, kind: Kind, name: str, answer: Mapping[str, Any]) -> None:
        dimension, direction = Dimension(answer["dimension"]), Direction(answer["direction"])
        found = self._series(kind, name, dimension, direction)
        limit = Limit(
            dimension, direction, answer["limit"], Origin(answer["origin"]), answer["source"]
        )
        values = _known(found["at"], found["limit"])
        shares = _known(found["at"], found["share"])
        if shares:
            key = LimitKey(BudgetKey(kind, name), dimension, direction)
            self._limits[key] = limit, values, shares

    def _made(self) -> Samples:
        seconds = sorted(self._steps)
        # The last one may not be over yet.
        lengths = (min(float(self._steps[at]), self._ended - at) for at in seconds)
        samples = Samples(array("d", seconds), array("d", lengths))
        samples.stacked, samples.lanes = self._stacked, self._lanes
        unknown = array("d", [nan]) * len(seconds)
        samples.cpu, samples.memory = unknown, unknown
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
