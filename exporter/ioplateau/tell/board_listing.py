"""The table of the live screen: which rows, in which order, and which of them is looked at."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from ioplateau.tell import board_tables as tables
from ioplateau.tell import cells, formatting
from ioplateau.tell.board_tables import BINARY, DECIMAL, SORTS, BoardRow, BoardTable
from ioplateau.tell.screen import Line
from ioplateau.tell.summary import Severity
from ioplateau.tell.view import BudgetView, View

# By figures the order is made anew this often: rows that change places each second cannot be read.
ORDER_SECONDS = 10.0
# What a key makes of the row that is looked at, the rows of a page, the rows in all.
MOVES: dict[str, Callable[[int, int, int], int]] = {
    "up": lambda at, *_: at - 1,
    "k": lambda at, *_: at - 1,
    "down": lambda at, *_: at + 1,
    "j": lambda at, *_: at + 1,
    "page up": lambda at, page, _: at - page,
    "page down": lambda at, page, _: at + page,
    "home": lambda *_: 0,
    "end": lambda _at, _page, count: count - 1,
}


class Listing:
    """The rows of one table at a time: which, in which order, and which of them is looked at."""

    def __init__(self, *, ascii_only: bool) -> None:
        self.filter = ""
        self.cursor: Hashable = None
        self._is_held = False  # until somebody chose a row, the first one is looked at
        self._ascii = ascii_only
        self._table = BoardTable.BUDGETS
        self._sort = SORTS[0]
        self._unit = DECIMAL
        self._shows_quiet = False
        self._top = 0
        self._page = 10
        self._order: dict[Hashable, int] = {}
        self._ordered_at = float("-inf")
        self._ordered: tuple[object, ...] = ()
        self._shown: set[Hashable] = set()

    def next_table(self) -> None:
        every = list(BoardTable)
        self._table = every[(every.index(self._table) + 1) % len(every)]
        self._is_held = False

    def next_sort(self) -> None:
        self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]

    def toggle_quiet(self) -> None:
        self._shows_quiet = not self._shows_quiet
        self._shown.clear()

    def toggle_unit(self) -> None:
        self._unit = BINARY if self._unit is DECIMAL else DECIMAL

    def clear_filter(self) -> None:
        self.filter = ""
        self._shown.clear()

    def edit_filter(self, key: str) -> None:
        """Take a key that is pressed while the filter is typed."""
        if key == "escape":
            self.clear_filter()
        elif key == "backspace":
            self.filter = self.filter[:-1]
        elif len(key) == 1 and key.isprintable():
            self.filter += key

    def hold(self) -> None:
        """The row that is looked at is chosen."""
        self._is_held = True

    def move(self, key: str, view: View) -> None:
        """Look at another row: a key of MOVES."""
        found = self.rows(view)
        if found:
            to = MOVES[key](self._hold_cursor(found), self._page, len(found))
            self.cursor = found[max(min(to, len(found) - 1), 0)].key
            self._is_held = True

    def lines(self, view: View, room: int, width: int) -> list[Line]:
        """The head and exactly `room` lines below it."""
        found = self.rows(view)
        self._page = max(room, 1)
        at = self._hold_cursor(found)
        self._top = max(min(self._top, at, len(found) - self._page), at - self._page + 1, 0)
        lines = [self._line(row, width) for row in found[self._top : self._top + room]]
        if not found:
            lines = [Line(self._nothing(view), Severity.SOFT)][:room]
        head = Line(tables.head(self._table, width, self._unit), Severity.HEAD)
        return [head, *lines, *[Line("")] * (room - len(lines))]

    def status(self, view: View) -> str:
        """Which rows these are, and what is left out."""
        count = len(self.rows(view))
        last = min(self._top + self._page, count)
        parts = [f"{self._top + 1}-{last} of {count}" if count else f"no {self._table}"]
        parts.append(f"by {self._sort.name}")
        if self.filter:
            parts.append(f"filter {cells.printable(self.filter)}")
        elif not self._shows_quiet:
            every = tables.rows(view, self._table)
            hidden = sum(row.is_quiet and row.key not in self._shown for row in every)
            parts += [f"{hidden} idle (i shows)"] if hidden else []
        return "  ".join(parts)

    def _nothing(self, view: View) -> str:
        """Why no row is shown, and what shows one."""
        if not tables.rows(view, self._table):
            return f"there are no {tables.NAMES[self._table]}"
        return (
            "none matches; Esc clears the filter" if self.filter else "all are idle; i shows them"
        )

    def rows(self, view: View) -> list[BoardRow]:
        """Those that are shown, in the order in which they are shown."""
        wanted = [row for row in tables.rows(view, self._table) if self._wants(row)]
        # What was shown once stays, until somebody asks otherwise: rows do not come and go.
        self._shown.update(row.key for row in wanted)
        made_of = (self._table, self._sort, *sorted((repr(row.key), row.rank) for row in wanted))
        is_old = not 0 <= view.wall - self._ordered_at < ORDER_SECONDS
        if made_of != self._ordered or (is_old and self._sort.by):
            placed = tables.ordered(wanted, self._sort)
            self._order = {row.key: number for number, row in enumerate(placed)}
            self._ordered, self._ordered_at = made_of, view.wall
        return sorted(wanted, key=lambda row: self._order[row.key])

    def _line(self, row: BoardRow, width: int) -> Line:
        text = tables.line(self._table, row, width, self._unit, ascii_only=self._ascii)
        return Line(text, row.severity, is_selected=row.key == self.cursor)

    def _wants(self, row: BoardRow) -> bool:
        if self.filter:
            words = [row.name]
            if isinstance(row.value, BudgetView):
                words += [row.value.title, formatting.WORDS[row.value.word], row.value.word]
            return any(self.filter.lower() in word.lower() for word in words)
        return self._shows_quiet or not row.is_quiet or row.key in self._shown

    def _hold_cursor(self, found: Sequence[BoardRow]) -> int:
        """Where the row is that is looked at; the first one, if it is gone or none was chosen."""
        places = {row.key: number for number, row in enumerate(found)}
        if self.cursor not in places or not self._is_held:
            self.cursor = found[0].key if found else None
        return places.get(self.cursor, 0)
