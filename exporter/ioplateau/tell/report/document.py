"""A report as a document: sections of paragraphs, tables and plots, whatever it is rendered to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isnan
from typing import NamedTuple, TypeAlias

from ioplateau.history import Episode
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey, Kind
from ioplateau.state import has_moved
from ioplateau.tell import formatting
from ioplateau.tell.failedsources import Unseen
from ioplateau.tell.report import figures
from ioplateau.tell.report.figures import Spread, Tenths
from ioplateau.tell.report.samples import Samples

NEVER = "-"
SPREAD = ("50th", "90th", "99th", "average", "minimum", "maximum")  # as `_row` tells them
MOST_POINTS = 600  # of one line of a plot: a point for each pixel or two


class Paragraph(NamedTuple):
    text: str


class ReportTable(NamedTuple):
    """Rows of words; all columns but the first are numbers if `is_numbers`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_numbers: bool = True


# UNIX seconds, each with a value; None breaks the line.
Points: TypeAlias = tuple[tuple[float, float | None], ...]


class Plot(NamedTuple):
    """Lines over time, by name. limit: a level drawn across; one_way: of which of the lines it is, as
    in " of reads"; "": of their sum.
    """

    title: str
    unit: str
    lines: tuple[tuple[str, Points], ...]
    limit: float | None = None
    one_way: str = ""


class ReportSection(NamedTuple):
    title: str
    blocks: tuple[Paragraph | ReportTable | Plot, ...]


class ReportSource(NamedTuple):
    """Whose report it is. began, ended: UNIX seconds of what was looked at; None: nothing. asked_from, asked_to:
    of the span that was asked for; None: from the beginning, to the end.
    """

    host: str = ""
    version: str = ""  # ioplateau's, that looked
    kernel: str = ""
    machine: str = ""  # as formatting.machine() tells it
    began: float | None = None
    ended: float | None = None
    what: str = ""  # "recording slow.jsonl.gz", "the daemon's memory", "looked at live"
    damaged: tuple[str, ...] = ()  # what could not be read of it
    notes: tuple[str, ...] = ()  # what is to be known besides
    step_seconds: float | None = None  # each reading is a mean over so long; None: not known
    asked_from: float | None = None
    asked_to: float | None = None


class Report(NamedTuple):
    title: str
    sections: tuple[ReportSection, ...]


def document(samples: Samples, source: ReportSource) -> Report:
    """The whole report, in the order in which one reads it."""
    title = f"Storage report of {source.host}" if source.host else "Storage report"
    sections = [
        ReportSection("What was looked at", tuple(_looked_at(samples, source))),
        ReportSection("What was found", tuple(_found(samples, source))),
        ReportSection("What else happened", tuple(_events(samples))),
    ]
    if len(samples):
        sections += [
            ReportSection("What would lift it", tuple(_lifting(samples))),
            ReportSection("How near the limits", tuple(_tenths(samples, source))),
            ReportSection("Requirements", tuple(_requirements(samples, source))),
            ReportSection("Sizes of requests", tuple(_request_sizes(samples, source))),
            ReportSection("Over time", tuple(_plots(samples))),
        ]
    return Report(title, tuple(section for section in sections if section.blocks))


def _looked_at(samples: Samples, source: ReportSource) -> Iterable[Paragraph | ReportTable]:
    facts = [("host", source.host), ("machine", source.machine), ("kernel", source.kernel)]
    facts += [("ioplateau", source.version), ("made from", source.what)]
    if source.began is not None and source.ended is not None:
        facts += [("from", formatting.date(source.began)), ("to", formatting.date(source.ended))]
        facts += [("length", formatting.duration(source.ended - source.began))]
    else:
        for name, wall in (("asked for from", source.asked_from), ("to", source.asked_to)):
            facts += [(name, formatting.date(wall))] if wall is not None else []
    seen = sum(samples.seconds)
    facts += [("time with readings", formatting.duration(seen) if len(samples) else "none")]
    facts += [("readings", _means(source))]
    yield ReportTable(
        ("", ""), tuple((name, value) for name, value in facts if value), is_numbers=False
    )
    if not len(samples) and not samples.episodes:
        yield Paragraph("Nothing was measured in this time: there is nothing to report of it.")
    for why in source.damaged:
        yield Paragraph(f"Damaged: {why}")
    for note in source.notes:
        yield Paragraph(f"Note: {note}")


def _means(source: ReportSource) -> str:
    """What to know of readings that are not of each second; "": they are."""
    seconds = source.step_seconds
    if seconds is None or seconds <= 1:
        return ""
    return f"means of {formatting.seconds(seconds)}; shorter peaks are higher"


def _sentence(words: str) -> str:
    return f" {words[0].upper()}{words[1:]}." if words else ""


def _found(samples: Samples, source: ReportSource) -> Iterable[Paragraph | ReportTable]:
    for each in samples.unseen.values():
        yield Paragraph(_unseen(each))
    if not samples.episodes:
        if len(samples):
            what = "Nothing that could be seen" if samples.unseen else "Nothing"
            yield Paragraph(f"{what} was throttled, saturated or stalled.")
        return
    count = formatting.counted(len(samples.episodes), "episode")
    if source.began is not None and source.ended is not None:
        held = figures.covered_seconds(samples.episodes, source.began, source.ended)
        count += f", {formatting.duration(held)} in all"
    yield Paragraph(f"{count}.")
    rows = tuple(_episode(each, source.ended) for each in samples.episodes)
    columns = (
        "from",
        "lasted",
        "held",
        "budget",
        "verdict",
        "limit",
        "share",
        "waiting",
        "drew most",
    )
    yield ReportTable((*columns, "in words"), rows, is_numbers=False)
    if not all(each.drew_most for each in samples.episodes):
        yield Paragraph(
            "Where nobody is named who drew most, nobody looked for who it was, or it could not be seen."
        )


def _unseen(found: Unseen) -> str:
    """Like "Cannot see the disks: /proc/diskstats: no such file or directory (for 2 s)."."""
    span = f" (for {formatting.duration(found.seconds)})" if found.seconds else ""
    return f"{found.sentence[0].upper()}{found.sentence[1:]}{span}."


def _events(samples: Samples) -> Iterable[ReportTable]:
    """Gaps, restarts, clock changes, what was learned."""
    rows = tuple((formatting.date(event.at), event.sentence) for event in samples.events)
    if rows:
        yield ReportTable(("at", "what"), rows, is_numbers=False)


def _episode(episode: Episode, until: float | None) -> tuple[str, ...]:
    """until: UNIX seconds up to which one that goes on is looked at; None: not known."""
    held = episode.held_seconds
    ended = until if episode.ended is None else episode.ended
    # Where the clock was set back meanwhile, the seconds that were counted are more.
    lasted = formatting.duration(held if ended is None else max(ended - episode.began, held))
    limit = formatting.limit_of(episode)
    waiting = episode.requests_waiting
    share = episode.mean_share
    return (
        formatting.date(episode.began),
        lasted if episode.ended is not None else f"{lasted}, goes on",
        formatting.duration(held),
        formatting.budget(episode.key, episode.lane),
        formatting.WORDS[episode.word],
        f"{limit} ({episode.origin})" if limit else NEVER,
        NEVER if share is None else formatting.share(share),
        NEVER if waiting is None else formatting.figures(waiting),
        episode.drew_most or NEVER,
        episode.sentence,
    )


def _lifting(samples: Samples) -> Iterable[Paragraph]:
    for key, steps in samples.lifting.items():
        for step in steps:
            yield Paragraph(f"{budget_name(samples, key)}: {step}")


def _tenths(samples: Samples, source: ReportSource) -> Iterable[Paragraph | ReportTable]:
    found = figures.tenths(samples)
    if not found:
        yield Paragraph("No limit is known that anything was drawn on.")
        return
    yield Paragraph(
        "Share of the time with readings of it, by the share of the limit that was used."
        + _sentence(_means(source))
    )
    edges = [f"{10 * tenth}-{10 * tenth + 10} %" for tenth in range(figures.TENTHS)]
    rows = tuple(
        (
            budget_name(samples, each.key.budget),
            _in_force(each),
            *(_part(seconds / each.known) for seconds in each.seconds),
            _part(each.above / each.known),
            formatting.share(each.most),
        )
        for each in found
    )
    yield ReportTable(("budget", "limit", *edges, "above", "most"), rows)


def _in_force(found: Tenths) -> str:
    """Which limit the shares are of; of several in turn the span: "200 IOPS to 400 IOPS in force"."""
    dimension, direction = found.key.dimension, found.key.direction
    if not has_moved(found.most_value, found.least_value):
        return formatting.limit(dimension, direction, found.value)
    least = formatting.amount(dimension, found.least_value)
    return f"{least} to {formatting.limit(dimension, direction, found.most_value)} in force"


def budget_name(samples: Samples, key: BudgetKey) -> str:
    """As in: disk sdc."""
    return formatting.budget(key, samples.lanes.get(key, ""))


def _part(share: float) -> str:
    if share == 0:
        return NEVER
    return "< 0.1 %" if share < 0.001 else f"{share * 100:.1f} %"


def _requirements(samples: Samples, source: ReportSource) -> Iterable[Paragraph | ReportTable]:
    yield Paragraph(
        "Over the time in which there was any I/O; the 90th percentile was not exceeded in 90 % "
        "of it. Random or sequential: unknown, the kernel does not count it."
        + _sentence(_means(source))
    )
    disks = figures.whole_disks(samples)
    whole = [("All disks together", disks)] if len(disks) > 1 else []
    each = [(_flow(key), [key]) for key in figures.storage(samples)]
    for title, keys in [*whole, *each]:
        found = figures.checklist(samples, keys)
        rows = (
            _row("operations per second", found.operations, formatting.count),
            _row("share of reads", found.read_ratio, formatting.share),
            _row("share of writes", found.write_ratio, formatting.share),
            _row("request size", found.request_bytes, formatting.size),
            _row("throughput", found.throughput, formatting.bytes_per_second),
            _row("latency", found.latency, formatting.seconds),
            _row("queue depth", found.queue, formatting.figures),
        )
        yield ReportTable((title, *SPREAD), rows)
    machine = (
        _row("CPU in use", figures.spread(samples.cpu, samples.seconds), formatting.share),
        _row("memory in use", figures.spread(samples.memory, samples.seconds), formatting.share),
    )
    yield ReportTable(("The machine", *SPREAD), machine)


def _row(name: str, spread: Spread, say: Callable[[float], str]) -> tuple[str, ...]:
    values = (spread.p50, spread.p90, spread.p99, spread.mean, spread.least, spread.most)
    return (name, *(formatting.UNKNOWN if value is None else say(value) for value in values))


def _flow(key: FlowKey) -> str:
    kinds = {"nfs": "NFS mount", "cgroup": formatting.KINDS[Kind.CGROUP]}
    return f"{kinds.get(key.kind, key.kind)} {key.name}"


def _request_sizes(samples: Samples, source: ReportSource) -> Iterable[Paragraph | ReportTable]:
    """Counters give a mean for each reading, not each request."""
    edges = [f"to {formatting.size(size)}" for size in figures.REQUEST_SIZES]
    edges.append("larger")
    rows = []
    for key in figures.storage(samples):
        found = figures.request_sizes(samples, key)
        for side, word in enumerate(("reads", "writes")):
            if any(each[side] for each in found):
                rows.append((f"{_flow(key)}, {word}", *(_part(each[side]) for each in found)))
    if rows:
        within = formatting.seconds(source.step_seconds) if _means(source) else "second"
        yield Paragraph(f"Share of the requests, by the mean size within their {within}.")
        yield ReportTable(("", *edges), tuple(rows))


def _plots(samples: Samples) -> Iterable[Plot]:
    for key in figures.storage(samples):
        columns, name = samples.flows[key], _flow(key)
        limits = _limits_of(samples, key)
        for title, unit, dimension, pairs in (
            (
                "operations per second",
                "IOPS",
                Dimension.IOPS,
                ("read_operations", "write_operations"),
            ),
            ("throughput", "B/s", Dimension.THROUGHPUT, ("read_bytes", "write_bytes")),
        ):
            lines = tuple(
                (word, _thinned(samples, columns[f"{column}_per_second"]))
                for word, column in zip(("reads", "writes"), pairs, strict=True)
            )
            yield Plot(f"{name}: {title}", unit, lines, *limits.get(dimension, ()))
        reads = _thinned(samples, columns["read_await_seconds"])
        writes = _thinned(samples, columns["write_await_seconds"])
        # The same where it is kept of all requests together.
        waits = (("", reads),) if reads == writes else (("reads", reads), ("writes", writes))
        yield Plot(f"{name}: latency", "s", waits)
        yield Plot(f"{name}: queue depth", "", (("", _thinned(samples, columns["queue_length"])),))


def _limits_of(samples: Samples, flow: FlowKey) -> dict[Dimension, tuple[float, str]]:
    """The last known limits of the flow's own budget, as `Plot` has them: one of reads or writes alone only
    where there is none of both together.
    """
    found: dict[Dimension, tuple[float, str]] = {}
    for key, each in samples.limits.items():
        known = [value for value in each.values if not isnan(value)]
        if not known or key.budget.name != flow.name:
            continue
        if key.direction is Direction.TOTAL:
            found[key.dimension] = known[-1], ""
        else:
            found.setdefault(key.dimension, (known[-1], f" of {key.direction}s"))
    return found


def _thinned(samples: Samples, column: Sequence[float]) -> Points:
    """At most MOST_POINTS points: the highest of each stretch, so that no peak is lost."""
    stride = max(-(-len(column) // MOST_POINTS), 1)
    points: list[tuple[float, float | None]] = []
    for start in range(0, len(column), stride):
        known = [value for value in column[start : start + stride] if not isnan(value)]
        # The longer of both: the last one may not be over yet, and the newest are of a second each.
        length = max(samples.seconds[max(start - stride, 0)], samples.seconds[start])
        if points and samples.at[start] - points[-1][0] > 3 * stride * length:
            points.append((samples.at[start], None))  # a gap is no line
        points.append((samples.at[start], max(known) if known else None))
    return tuple(points)
