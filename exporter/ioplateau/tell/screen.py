"""The screen of `top` as plain text: the verdicts, then the rates they were made from, line by line."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ioplateau.limits.budgets import Word
from ioplateau.tell import cells, formatting, ratetables, summary
from ioplateau.tell.ratetables import RateTable
from ioplateau.tell.summary import Severity
from ioplateau.tell.view import BudgetView, View

# Ordinary, and nothing is to be said of it: one line for all of them.
QUIET = frozenset({Word.IDLE, Word.UNKNOWN})
# A sentence under these is what the person came for.
TOLD = summary.BAD | summary.UNEASY | {Word.LATENCY_BOUND}

BUDGETS = ("budget", "kind", "verdict", "for", "used", "limit")


class Line(NamedTuple):
    """One line, and how it is coloured where there are colours."""

    text: str
    severity: Severity = Severity.NONE
    is_selected: bool = False


def lines(view: View, *, title: str = "", width: int = 100, ascii_only: bool = False) -> list[Line]:
    """The whole screen, no line longer than `width`, the most telling first."""
    found = [
        Line(f"ioplateau {title}  {clock(view)}", Severity.SOFT),
        Line(view.headline, view.severity),
        *_machine(view),
        *_budgets(view, width),
        *_disks(view, width),
        *_mounts(view, width),
        *_notes(view, width),
    ]
    return [
        line._replace(
            text=cells.cut(cells.printable(line.text, ascii_only=ascii_only).rstrip(), width)
        )
        for line in found
    ]


def machine(view: View) -> str:
    """The state of the machine as a whole, in a line; "" if nothing is known."""
    parts = []
    if view.io_waiting_ratio is not None:
        parts.append(f"tasks wait for I/O {formatting.share(view.io_waiting_ratio)} of the time")
    if view.dirty_bytes is not None:
        parts.append(f"dirty {formatting.size(view.dirty_bytes)}")
    if view.writeback_bytes is not None:
        parts.append(f"writeback {formatting.size(view.writeback_bytes)}")
    return " · ".join(parts)


def clock(view: View) -> str:
    """When it was looked, as people here read it; "" before the first look."""
    return time.strftime("%H:%M:%S %Z", time.localtime(view.wall)) if view.wall else ""


def _machine(view: View) -> Iterator[Line]:
    words = machine(view)
    if words:
        yield Line(words, Severity.SOFT)


def _budgets(view: View, width: int) -> Iterator[Line]:
    budgets = [budget for budget in view.budgets if budget.word not in QUIET]
    if budgets:
        rows = [_budget_row(budget) for budget in budgets]
        head, *table = _table(BUDGETS, rows, width, text_columns=6)
        yield Line("")
        yield head
        for budget, row in zip(budgets, table, strict=True):
            yield Line(row.text, summary.severity_of(budget.word))
            if budget.word in TOLD and budget.sentence:
                yield from _wrapped(budget.sentence, width)
                yield from _wrapped(budget.drawn_by, width)
    quiet = len(view.budgets) - len(budgets)
    if quiet:
        yield Line(f"{quiet} more idle or not yet known", Severity.SOFT)


def _wrapped(sentence: str, width: int) -> Iterator[Line]:
    for part in textwrap.wrap(formatting.valid(sentence), max(width - 4, 20)):
        yield Line(f"    {part}")


def _budget_row(budget: BudgetView) -> tuple[str, ...]:
    nearest = budget.nearest
    held = formatting.duration(budget.held_seconds)
    words = (budget.name, budget.title, formatting.WORDS[budget.word], held)
    if nearest is None:
        return (*words, "", "limit unknown")
    ceiling = formatting.limit(nearest.dimension, nearest.direction, nearest.value)
    return (*words, formatting.share(nearest.utilization), f"{ceiling} ({nearest.says_briefly})")


def _disks(view: View, width: int) -> Iterator[Line]:
    disks = sorted(view.disks, key=lambda disk: (-disk.operations_per_second, disk.name))
    yield from _section(ratetables.disks(disks, view.disk_count), width)


def _mounts(view: View, width: int) -> Iterator[Line]:
    mounts = sorted(view.mounts, key=lambda mount: (-mount.operations_per_second, mount.name))
    yield from _section(ratetables.mounts(mounts, view.mount_count), width)


def _section(what: RateTable, width: int) -> Iterator[Line]:
    if what.rows or what.idle:
        yield Line("")
    if what.rows:
        yield from _table(what.head, what.rows, width)
    if what.idle:
        yield Line(what.idle, Severity.SOFT)


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int, text_columns: int = 1
) -> list[Line]:
    """Columns as wide as their widest cell; the first `text_columns` are set to the left. Names give way."""
    first, *others = cells.aligned([head, *rows], range(text_columns, len(head)), width)
    return [Line(first, Severity.SOFT), *map(Line, others)]


def _notes(view: View, width: int) -> Iterator[Line]:
    if view.notes:
        yield Line("")
    for note in view.notes:
        for part in textwrap.wrap(f"note: {formatting.valid(note)}", max(width, 20)):
            yield Line(part, Severity.SOFT)
