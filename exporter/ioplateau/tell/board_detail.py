"""What lies over the table of the live screen when somebody asks: one budget, help, notes."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Sequence

from ioplateau.history import Episode
from ioplateau.tell import cells, formatting, summary
from ioplateau.tell.screen import Line
from ioplateau.tell.summary import Severity
from ioplateau.tell.view import BudgetView, LimitView, View

HELP = """\
Keys
  up down, j k    the row before, the next; page up, page down, home, end
  Enter           everything about the row        Esc, q   back
  Tab             budgets, disks, NFS mounts
  s               sort: worst, used, IOPS, bytes, await, queue, name
  /               filter by name, kind or verdict; Esc clears it
  i               show or hide the idle           n   notes, sources that fail
  e               episodes: what was held back, and when
  u               MB/s (10^6) or MiB/s (2^20)
  p, space        pause: the screen stands still, measuring goes on
  h, ?            this page                       q   quit

Columns
  VERDICT   what holds; "app" is limited by the application, "latency" is
            bound by latency, "affected" is held back by another budget
  FOR       for how long the verdict has held
  USED      share of the nearest limit, over the rate window
  AWAIT     mean time of an operation, queueing included
  QUEUE     mean number of requests in flight

By figures the order is made anew every 10 s, so that rows can be read."""


def help_lines() -> list[Line]:
    """The keys and the columns."""
    return [Line(text) for text in HELP.splitlines()]


def notes(view: View, width: int) -> list[Line]:
    """What an operator should know, and which source fails."""
    found = [Line("Notes", Severity.HEAD)]
    for note in view.notes or ("There are none.",):
        found += _wrap(note, width)
    return found


def episodes(view: View, width: int) -> list[Line]:
    """What was held back from when until when, the newest first, two lines each."""
    found = [Line("Episodes", Severity.HEAD)]
    for episode in view.episodes:
        found += _episode(episode, view.wall, width)
    return found if view.episodes else [*found, Line("There are none.")]


def _episode(episode: Episode, now: float, width: int) -> Iterator[Line]:
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(episode.began))
    lasted = formatting.duration((now if episode.ended is None else episode.ended) - episode.began)
    name = f"{episode.name} ({formatting.kind(episode.kind, episode.lane)})"
    parts = [began, name, formatting.WORDS[episode.word]]
    parts.append(f"for {lasted}" + ("" if episode.ended is not None else ", goes on"))
    if episode.peak_share is not None:
        parts.append(f"up to {formatting.share(episode.peak_share)}")
    if episode.drew_most:
        parts.append(f"most by {episode.drew_most}")
    severity = summary.severity_of(episode.word) if episode.ended is None else Severity.NONE
    yield Line(cells.cut(formatting.printable("  ".join(parts)), width), severity)
    if episode.sentence:
        yield Line(cells.cut(f"    {formatting.printable(episode.sentence)}", width), Severity.SOFT)


def detail(budget: BudgetView | None, trail: Sequence[float | None], width: int) -> list[Line]:
    """Everything about one budget. trail: shares of its limit, a second each, oldest first."""
    if budget is None:
        return [Line("It is not there any more.")]
    return list(_detail(budget, trail, width))


def _detail(budget: BudgetView, trail: Sequence[float | None], width: int) -> Iterator[Line]:
    severity = summary.severity_of(budget.word)
    held = formatting.duration(budget.held_seconds)
    yield Line(f"{budget.name} ({budget.title})", Severity.HEAD)
    yield Line(f"{formatting.WORDS[budget.word]} for {held}", severity)
    yield from _wrap(budget.sentence, width)
    yield from _wrap(budget.drawn_by, width)
    for step in budget.lifts:
        yield from _wrap(f"to lift it: {step}", width)
    if budget.sufferers:
        yield from _wrap(f"who suffers: {', '.join(budget.sufferers)}", width)
    if any(share is not None for share in trail):
        yield Line("")
        yield Line(f"share of its limit, the last {formatting.duration(len(trail))}", Severity.HEAD)
        yield Line(cells.sparkline(trail, min(width, 120)))
    yield from _limits(budget, width)
    yield from _pairs("Now", _flow(budget), width)
    known = budget.evidence.items()
    evidence = dict(_evidence(name, value) for name, value in known if value is not None)
    yield from _pairs("Evidence", evidence, width)
    yield from _pairs("What it is", dict(budget.info), width)


def _limits(budget: BudgetView, width: int) -> Iterator[Line]:
    yield Line("")
    yield Line("Limits", Severity.HEAD)
    if not budget.limits:
        yield Line("none is known")
    for limit in budget.limits:
        yield from _wrap("; ".join(_limit(limit)), width)
    for limit, why in budget.rejected:
        yield from _wrap(f"not {ceiling(limit)}: {why}", width)


def _limit(limit: LimitView) -> Iterator[str]:
    yield f"{formatting.share(limit.utilization)} of {ceiling(limit)}"
    if limit.peak_utilization is not None:
        yield f"highest in a minute {formatting.share(limit.peak_utilization)}"
    if limit.credit_ratio is not None:
        yield f"burst credit {formatting.share(limit.credit_ratio)}"
    if limit.exhaustion_seconds is not None:
        yield f"used up in {formatting.duration(limit.exhaustion_seconds)}"
    if limit.throttled_seconds:
        held = formatting.duration(limit.throttled_seconds)
        yield f"throttled {held} in {formatting.counted(limit.episodes, 'episode')}"


def ceiling(limit: LimitView) -> str:
    """500 IOPS (configured: config.toml limit[0])."""
    return f"{formatting.limit(limit.dimension, limit.direction, limit.value)} ({limit.says})"


def _flow(budget: BudgetView) -> dict[str, str]:
    flow = budget.flow
    found = {
        "operations": formatting.operations_per_second(flow.operations_per_second),
        "bytes": formatting.bytes_per_second(flow.bytes_per_second),
        "await": formatting.seconds(flow.await_seconds),
        "queue": formatting.UNKNOWN
        if flow.queue_length is None
        else formatting.figures(flow.queue_length),
    }
    return {key: value for key, value in found.items() if value != formatting.UNKNOWN}


def _evidence(name: str, value: float | str) -> tuple[str, str]:
    """As words: ("excess latency", "1450 %") of excess_latency_ratio; the end of a name tells its unit."""
    begin, _, unit = name.rpartition("_")
    words = name.replace("_", " ")
    if isinstance(value, str):
        return words, value
    if name == "bytes_per_second":
        return "bytes", formatting.bytes_per_second(value)
    if unit == "seconds":
        return begin.replace("_", " "), formatting.seconds(value)
    if unit == "ratio":
        return begin.replace("_", " "), f"{value * 100:.4g} %"
    return words, f"{value:.4g}"


def _pairs(title: str, found: dict[str, str], width: int) -> Iterator[Line]:
    if found:
        yield Line("")
        yield Line(title, Severity.HEAD)
        yield from _wrap(", ".join(f"{key} {value}" for key, value in found.items()), width)


def _wrap(text: str, width: int) -> list[Line]:
    return [Line(part) for part in textwrap.wrap(formatting.valid(text), max(width, 20))]
