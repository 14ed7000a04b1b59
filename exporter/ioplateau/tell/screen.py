"""The live screen of `top`: the verdicts, then the rates they were made from. Text, line by line."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ioplateau.judge.budgets import Word
from ioplateau.measure import diskstats, mountstats
from ioplateau.measure.diskstats import DiskRates, KindRates
from ioplateau.measure.mountstats import MountRates
from ioplateau.state import BudgetState, State
from ioplateau.tell import plain, summary
from ioplateau.tell.summary import Mood

# Ordinary, and nothing is to be said of it: one line for all of them.
QUIET = frozenset({Word.IDLE, Word.UNKNOWN})
# A sentence under these is what the person came for.
TOLD = summary.BAD | summary.UNEASY | {Word.LATENCY_BOUND}

BUDGETS = ("budget", "kind", "verdict", "for", "used", "limit")
DISKS = ("disk", "r/s", "w/s", "rMB/s", "wMB/s", "r_await", "w_await", "aqu-sz", "%util")
MOUNTS = ("NFS mount", "ops/s", "rMB/s", "wMB/s", "rtt", "exe", "on wire", "waiting", "conns")


class Line(NamedTuple):
    """One line, and how it is coloured where there are colours."""

    text: str
    mood: Mood = Mood.NONE


def lines(
    state: State | None, before: State | None, *, title: str = "", width: int = 100
) -> list[Line]:
    """The whole screen, no line longer than `width`, the most telling first.

    before: the state of an earlier tick, for shares of time; None: there is none.
    """
    found = [_clock(state, title), Line(summary.headline(state), summary.mood(state))]
    if state is not None:
        found += _machine(state, before)
        found += _budgets(state, width)
        found += _disks(state)
        found += _mounts(state)
        found += _notes(state, width)
    return [Line(_printable(line.text)[:width].rstrip(), line.mood) for line in found]


def _clock(state: State | None, title: str) -> Line:
    now = time.strftime("%H:%M:%S", time.localtime(state.wall)) if state else ""
    return Line(f"ioplateau {title}  {now}", Mood.SOFT)


def _machine(state: State, before: State | None) -> Iterator[Line]:
    parts = []
    pressure, memory = state.machine.pressure, state.machine.memory
    was = before.machine.pressure if before else None
    if pressure and was and before and state.mono > before.mono:
        grown = (pressure.some_microseconds - was.some_microseconds) / 1e6
        # The kernel adds up when it likes, and its clock is not ours.
        waited = min(max(grown / (state.mono - before.mono), 0.0), 1.0)
        parts.append(f"tasks wait for I/O {plain.share(waited)} of the time")
    if memory and memory.dirty_bytes is not None:
        parts.append(f"dirty {plain.size(memory.dirty_bytes)}")
    if memory and memory.writeback_bytes is not None:
        parts.append(f"writeback {plain.size(memory.writeback_bytes)}")
    if parts:
        yield Line(" · ".join(parts), Mood.SOFT)


def _budgets(state: State, width: int) -> Iterator[Line]:
    every = summary.worst_first(state)
    budgets = [budget for budget in every if budget.verdict.word not in QUIET]
    if budgets:
        rows = [_budget_row(state, budget) for budget in budgets]
        head, *table = _table(BUDGETS, rows, text_columns=6)
        yield Line("")
        yield head
        for budget, row in zip(budgets, table, strict=True):
            verdict = budget.verdict
            yield Line(row.text, summary.mood_of(verdict.word))
            if verdict.word in TOLD and verdict.sentence:
                for part in textwrap.wrap(plain.valid(verdict.sentence), max(width - 4, 20)):
                    yield Line(f"    {part}")
    quiet = len(every) - len(budgets)
    if quiet:
        yield Line(f"{quiet} more idle or not yet known", Mood.SOFT)


def _budget_row(state: State, budget: BudgetState) -> tuple[str, ...]:
    (kind, name), verdict = budget.budget.key, budget.verdict
    since = plain.duration(state.mono - verdict.since)
    nearest = max(budget.limits, key=lambda limit: limit.utilization or 0.0, default=None)
    words = (name, plain.KINDS[kind], plain.WORDS[verdict.word], since)
    if nearest is None:
        return (*words, "", "limit unknown")
    source = nearest.limit.source or nearest.limit.origin
    ceiling = plain.limit(nearest.dimension, nearest.direction, nearest.effective)
    return (*words, plain.share(nearest.utilization), f"{ceiling} ({source})")


def _disks(state: State) -> Iterator[Line]:
    busy: list[tuple[float, str, DiskRates]] = []
    for name, disk in state.disks.items():
        span = disk.window
        rates = diskstats.rates(span.before, span.after, span.elapsed_seconds) if span else None
        if rates is not None and (rates.operations_per_second or rates.in_flight):
            busy.append((rates.operations_per_second, name, rates))
    busy.sort(key=lambda each: (-each[0], each[1]))
    rows = [_disk_row(name, rates) for _, name, rates in busy]
    yield from _section(DISKS, rows, len(state.disks), "disk")


def _disk_row(name: str, rates: DiskRates) -> tuple[str, ...]:
    def megabytes(kind: KindRates) -> str:
        return plain.figures(kind.bytes_per_second / 1e6)

    read, write = rates.read, rates.write
    return (
        name,
        plain.figures(read.operations_per_second),
        plain.figures(write.operations_per_second),
        megabytes(read),
        megabytes(write),
        _latency(read.await_seconds),
        _latency(write.await_seconds),
        plain.figures(rates.queue_length),
        plain.figures(rates.busy_ratio * 100),
    )


def _mounts(state: State) -> Iterator[Line]:
    busy: list[tuple[float, str, MountRates, int]] = []
    for name, mount in state.mounts.items():
        span = mount.window
        rates = mountstats.rates(span.before, span.after, span.elapsed_seconds) if span else None
        if rates is not None and rates.operations_per_second:
            busy.append((rates.operations_per_second, name, rates, len(mount.now.connections)))
    busy.sort(key=lambda each: (-each[0], each[1]))
    rows = [_mount_row(name, rates, connections) for _, name, rates, connections in busy]
    yield from _section(MOUNTS, rows, len(state.mounts), "NFS mount")


def _mount_row(name: str, rates: MountRates, connections: int) -> tuple[str, ...]:
    def megabytes(bytes_per_second: float | None) -> str:
        return "" if bytes_per_second is None else plain.figures(bytes_per_second / 1e6)

    data = rates.data
    return (
        name,
        plain.figures(rates.operations_per_second),
        megabytes(rates.read_bytes_per_second),
        megabytes(rates.write_bytes_per_second),
        _latency(data.rtt_seconds if data else None),
        _latency(data.execute_seconds if data else None),
        plain.figures(data.outstanding_wire) if data else "",
        plain.figures(data.waiting) if data else "",
        str(connections),
    )


def _latency(seconds: float | None) -> str:
    return "" if seconds is None else plain.seconds(seconds)


def _section(
    head: Sequence[str], rows: Sequence[Sequence[str]], count: int, word: str
) -> Iterator[Line]:
    if not count:
        return
    yield Line("")
    if rows:
        yield from _table(head, rows)
    if count > len(rows):
        quiet = count - len(rows)
        more = "" if not rows else "more "
        yield Line(f"{quiet} {more}idle {word}{'s' if quiet > 1 else ''}", Mood.SOFT)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> list[Line]:
    """Columns as wide as their widest cell; the first `text_columns` are set to the left."""
    cells = [head, *([_printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    found = []
    for row in cells:
        set_out = (
            cell.ljust(width) if number < text_columns else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        found.append(Line("  ".join(set_out).rstrip()))
    return [Line(found[0].text, Mood.SOFT), *found[1:]]


def _notes(state: State, width: int) -> Iterator[Line]:
    failures = [f"{s.name}: {s.why}" for _, s in sorted(state.sources.items()) if not s.up]
    notes = [*failures, *state.notices]
    if notes:
        yield Line("")
    for note in notes:
        for part in textwrap.wrap(f"note: {plain.valid(note)}", max(width, 20)):
            yield Line(part, Mood.SOFT)


def _printable(text: str) -> str:
    """Names come from mount points and devices: none of them may speak to the terminal."""
    text = plain.valid(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
