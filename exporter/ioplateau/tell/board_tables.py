"""The tables of the live screen: which columns there are, and which of them fit.

Every row has a key that stays while the thing is there, so that order and cursor can hold to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import StrEnum
from operator import attrgetter as of
from typing import Any, NamedTuple

from ioplateau.limits.budgets import ALL_DISKS, VM, Direction, Kind, Word
from ioplateau.tell import cells, formatting, ratetables, summary
from ioplateau.tell.ratetables import RateColumn
from ioplateau.tell.summary import Severity
from ioplateau.tell.view import BudgetView, DiskView, LimitView, MountView, View

SHORT_WORDS = {Word.APP_LIMITED: "app", Word.LATENCY_BOUND: "latency"}
# Budgets of one name are told apart; a disk and a volume are what their name says.
SHORT_KINDS = {
    Kind.DISK: "",
    Kind.STRIPE: "",
    Kind.VOLUME: "",
    Kind.VM_UNCACHED: " disks",
    Kind.VM_CACHED: " cached",
    Kind.VM_ULTRA: " ultra",
    Kind.VM_NETWORK: " network",
    Kind.NFS_SLOTS: " slots",
    Kind.NFS_CONNECTION: " connection",
    Kind.CGROUP: " cgroup",
}
DIRECTIONS = {Direction.READ: " r", Direction.WRITE: " w", Direction.TOTAL: ""}
NAME_COLUMNS = 12  # the least; a name takes what the other columns leave
GAP = 1


class Unit(NamedTuple):
    """What a byte rate is divided by, and how that is called in a head."""

    size: float
    name: str


DECIMAL, BINARY = Unit(1e6, "MB"), Unit(2**20, "MiB")


class Column(NamedTuple):
    """What `read` finds on a row's value, as `show` puts it; bytes are divided by the unit first."""

    head: str
    width: int
    read: Callable[[Any], Any]
    show: Callable[[Any], str] = cells.number
    is_text: bool = False
    is_bytes: bool = False

    def tell(self, value: Any, unit: Unit) -> str:
        """The cell; empty for what is not known."""
        found = self.read(value)
        if found is None:
            return ""
        return self.show(found / unit.size if self.is_bytes else found)


class BoardRow(NamedTuple):
    """key: what it is, for as long as it is there. quiet: hidden unless somebody asks."""

    key: Hashable
    name: str
    value: Any
    severity: Severity
    is_quiet: bool
    rank: int = 0  # of its verdict, the worst first


class BoardTable(StrEnum):
    BUDGETS = "budgets"
    DISKS = "disks"
    MOUNTS = "mounts"


NAMES = {
    BoardTable.BUDGETS: "budgets",
    BoardTable.DISKS: "disks",
    BoardTable.MOUNTS: "NFS mounts",
}
NAME_HEADS = {
    BoardTable.BUDGETS: "BUDGET",
    BoardTable.DISKS: "DISK",
    BoardTable.MOUNTS: "NFS MOUNT",
}


def label(budget: BudgetView) -> str:
    """What a budget is called in one cell."""
    if budget.kind is Kind.VM_UNCACHED and budget.lane not in ("", ALL_DISKS):
        return f"{VM} {budget.lane.partition(' ')[0]}"
    return budget.name + SHORT_KINDS[budget.kind]


def rows(view: View, table: BoardTable) -> list[BoardRow]:
    """Every row there is, the worst budget first, disks and mounts by name."""
    match table:
        case BoardTable.BUDGETS:
            return [_budget_row(budget) for budget in view.budgets]
        case BoardTable.DISKS:
            return [_flow_row(Kind.DISK, disk) for disk in view.disks]
        case BoardTable.MOUNTS:
            return [_flow_row(Kind.VOLUME, mount) for mount in view.mounts]


def _budget_row(budget: BudgetView) -> BoardRow:
    severity = summary.severity_of(budget.word)
    return BoardRow(
        budget.key,
        label(budget),
        budget,
        Severity.NONE if severity is Severity.SOFT else severity,
        budget.is_quiet,
        # Not its share of the limit as well: that changes each second, and rows would jump.
        summary.ORDER.index(budget.word),
    )


def _flow_row(kind: Kind, flow: DiskView | MountView) -> BoardRow:
    return BoardRow((kind, flow.name), flow.name, flow, Severity.NONE, flow.is_idle)


def fitting(table: BoardTable, width: int) -> tuple[int, list[Column]]:
    """How wide the name is, and the columns beside it, in `width` columns of the terminal."""
    always, besides = COLUMNS[table]
    rest = width - NAME_COLUMNS - sum(column.width + GAP for column in always)
    chosen = list(always)
    for column in besides:
        # Names grow before there is more beside them.
        if rest - column.width - GAP < NAME_COLUMNS:
            break
        chosen.append(column)
        rest -= column.width + GAP
    grown = max(min(rest, 2 * NAME_COLUMNS), 0)
    if chosen[-1] is SAYS:
        chosen[-1] = SAYS._replace(width=SAYS.width + rest - grown)
    return NAME_COLUMNS + grown, chosen


def head(table: BoardTable, width: int, unit: Unit) -> str:
    """The line above the rows."""
    name_width, chosen = fitting(table, width)
    parts = [cells.left(NAME_HEADS[table], name_width)]
    parts += [_set(column, column.head.replace("MB", unit.name)) for column in chosen]
    return cells.cut((" " * GAP).join(parts).rstrip(), width)


def line(
    table: BoardTable, row: BoardRow, width: int, unit: Unit, *, ascii_only: bool = False
) -> str:
    """One row; whatever is cut is marked."""
    name_width, chosen = fitting(table, width)
    name = cells.printable(row.name, ascii_only=ascii_only)
    # The end of a path tells more than its beginning.
    parts = [cells.left(name, name_width, keep_end=True)]
    for column in chosen:
        text = cells.printable(column.tell(row.value, unit), ascii_only=ascii_only)
        parts.append(_set(column, text))
    return cells.cut((" " * GAP).join(parts).rstrip(), width)


def _set(column: Column, text: str) -> str:
    return cells.left(text, column.width) if column.is_text else cells.right(text, column.width)


def limit(nearest: LimitView | None) -> str:
    """12,800 IOPS; 96 MB/s r."""
    if nearest is None:
        return formatting.UNKNOWN
    return formatting.amount(nearest.dimension, nearest.value) + DIRECTIONS[nearest.direction]


def _used(budget: BudgetView) -> float | None:
    return budget.nearest.utilization if budget.nearest else None


def _source(budget: BudgetView) -> str:
    nearest = budget.nearest
    return formatting.UNKNOWN if nearest is None else nearest.says_briefly


SAYS = Column("SAYS", 40, of("sentence"), str, is_text=True)  # as wide as there is room
BUDGETS = (
    Column("VERDICT", 9, lambda b: SHORT_WORDS.get(b.word, b.word), str, is_text=True),
    Column("FOR", 4, of("held_seconds"), cells.age),
    Column("USED", 4, _used, cells.share),
    Column("LIMIT", 13, lambda b: limit(b.nearest), str, is_text=True),
    Column("IOPS", 6, of("flow.operations_per_second")),
    Column("MB/s", 6, of("flow.bytes_per_second"), is_bytes=True),
    Column("AWAIT", 6, of("flow.await_seconds"), cells.latency),
    Column("QUEUE", 5, of("flow.queue_length")),
)
BUDGETS_BESIDES = (
    Column("KIND", 18, of("title"), str, is_text=True),
    Column("LIMIT FROM", 36, _source, str, is_text=True),
    SAYS,
)
_CELLS: dict[ratetables.Measure, Callable[[Any], str]] = {
    "count": cells.number,
    "bytes": cells.number,
    "rate": cells.number,
    "ratio": lambda value: formatting.figures(value * 100),
    "seconds": cells.latency,
}


def _in_cells(columns: Sequence[RateColumn]) -> tuple[Column, ...]:
    return tuple(
        Column(
            column.head,
            column.width,
            column.read,
            _CELLS[column.measure],
            is_bytes=column.measure == "bytes",
        )
        for column in columns
    )


# Always, and what is added where there is room.
COLUMNS: dict[BoardTable, tuple[Sequence[Column], Sequence[Column]]] = {
    BoardTable.BUDGETS: (BUDGETS, BUDGETS_BESIDES),
    BoardTable.DISKS: (_in_cells(ratetables.DISKS), ()),
    BoardTable.MOUNTS: (_in_cells(ratetables.MOUNTS), ()),
}


class Sort(NamedTuple):
    """An order of rows: largest first by a figure, else as the rows come (worst first, by name)."""

    name: str
    by: Callable[[Any], float | None] | None = None


def _ratio(value: Any) -> float | None:
    if isinstance(value, BudgetView):
        return _used(value)
    return value.busy_ratio if isinstance(value, DiskView) else None


SORTS = (
    Sort("worst"),
    Sort("used", _ratio),
    Sort("IOPS", of("flow.operations_per_second")),
    Sort("bytes", of("flow.bytes_per_second")),
    Sort("await", of("flow.await_seconds")),
    Sort("queue", of("flow.queue_length")),
    Sort("name"),
)


def ordered(found: Sequence[BoardRow], sort: Sort) -> list[BoardRow]:
    """The rows in that order; equal ones, and those without a figure, by name."""
    if sort.name == "name":
        return sorted(found, key=lambda row: row.name)
    if sort.by is None:
        return sorted(found, key=lambda row: (row.rank, row.name))
    by = sort.by
    return sorted(found, key=lambda row: (-(by(row.value) or 0.0), row.name))
