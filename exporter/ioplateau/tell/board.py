"""The live screen of `top` as a thing of its own: views and keys go in, lines come out.

It owns no terminal and no clock: `see` takes what is known now, `press` a key by its name, and
`lines` says what a terminal of some size shows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from ioplateau.tell import board_detail, cells, formatting, screen
from ioplateau.tell import board_tables as tables
from ioplateau.tell.board_listing import MOVES, Listing
from ioplateau.tell.screen import Line
from ioplateau.tell.summary import Severity
from ioplateau.tell.view import BudgetView, View
from ioplateau.tell.view import machine as told_of

SENTENCE_LINES = 2
HEAD_LINES = 3
KEYS = ("q quit  h help  Enter detail", "q quit  h help")  # help has all
BACK = frozenset({"q", "Q", "escape", "enter", "left", "h", "?", "n", "e"})

Trail = Callable[[BudgetView], Sequence[float | None]]


def no_trail(_: BudgetView) -> Sequence[float | None]:
    """Nothing is remembered."""
    return ()


class Board:
    """What a person looks at, and how. trail: a budget's shares of its limit, oldest first.

    `origin` says where the views come from.
    """

    def __init__(self, title: str, trail: Trail = no_trail, *, ascii_only: bool = False) -> None:
        self.origin = ""
        self._title = title
        self._trail = trail
        self._ascii = ascii_only
        self._listing = Listing(ascii_only=ascii_only)
        self._view: View | None = None
        self._paused: View | None = None
        self._is_typing = False
        self._open = ""  # "", "detail", "help", "notes" or "episodes": what lies over the table
        self._scrolled = 0  # of that
        listing = self._listing
        self._actions: dict[str, Callable[[], None]] = {
            "tab": listing.next_table,
            "s": listing.next_sort,
            "i": listing.toggle_quiet,
            "u": listing.toggle_unit,
            "escape": listing.clear_filter,
            "/": self._begin_filter,
            "p": self._pause,
            " ": self._pause,
            "enter": lambda: self._lay_over("detail"),
            "h": lambda: self._lay_over("help"),
            "?": lambda: self._lay_over("help"),
            "n": lambda: self._lay_over("notes"),
            "e": lambda: self._lay_over("episodes"),
        }

    def see(self, view: View) -> None:
        """What is known now."""
        self._view = view

    @property
    def selected(self) -> BudgetView | None:
        """The budget under the cursor."""
        view = self._shown
        every = view.budgets if view else ()
        return next((budget for budget in every if budget.key == self._listing.cursor), None)

    def press(self, key: str) -> bool:
        """A character, or "up", "down", "page up", "page down", "home", "end", "enter", "escape",
        "backspace", "tab". False: the person has seen enough.
        """
        if self._is_typing:
            self._type(key)
        elif self._open:
            self._press_over(key)
        elif key in {"q", "Q"}:
            return False
        elif key in MOVES and self._shown:
            self._listing.move(key, self._shown)
        elif key in self._actions:
            self._actions[key]()
        return True

    def lines(self, height: int, width: int) -> list[Line]:
        """At most `height` lines of at most `width` columns."""
        view = self._shown
        if view is None:
            found = [Line(self._title, Severity.SOFT), Line("Waiting for the first figures")]
        elif self._open:
            found = self._over(view, height, width)
        else:
            found = self._table(view, height, width)
        return [
            line._replace(text=cells.cut(self._printable(line.text), width).rstrip())
            for line in found[:height]
        ]

    @property
    def _shown(self) -> View | None:
        return self._paused or self._view

    def _printable(self, text: str) -> str:
        return cells.printable(text, ascii_only=self._ascii)

    def _table(self, view: View, height: int, width: int) -> list[Line]:
        head = self._head(view, width)
        if height < HEAD_LINES + 5:  # hardly a window: the answer, and what fits
            head = head[1:2]
        # Before the foot: it tells of the rows that are shown.
        sentence = SENTENCE_LINES if height > HEAD_LINES + SENTENCE_LINES + 6 else 0
        body = self._listing.lines(view, max(height - len(head) - sentence - 2, 0), width)
        return [*head, *body, *self._sentence(view, width, sentence), self._status(view, width)]

    def _head(self, view: View, width: int) -> list[Line]:
        now = screen.clock(view)
        end = f"PAUSED {now}" if self._paused else now
        parts = (self._title, told_of(view), self.origin)
        begin = self._printable(" · ".join(filter(None, parts)))
        room = max(width - len(end) - 1, 0)
        return [
            Line(f"{cells.left(begin, room)} {end}", Severity.SOFT),
            Line(view.headline, view.severity),
            Line(screen.machine(view), Severity.SOFT),
        ]

    def _sentence(self, view: View, width: int, count: int) -> list[Line]:
        """What is said of the row under the cursor, in `count` lines exactly; a cut is marked."""
        chosen = self.selected or (view.budgets[0] if view.budgets else None)
        if not count or chosen is None:
            return [Line("")] * count
        said = f"{tables.label(chosen)}: {chosen.sentence or formatting.WORDS[chosen.word]}"
        parts = textwrap.wrap(self._printable(said), max(width, 20))
        if len(parts) > count:
            parts = [*parts[: count - 1], cells.cut(" ".join(parts[count - 1 :]), width)]
        return [Line(part) for part in [*parts, *[""] * (count - len(parts))]]

    def _status(self, view: View, width: int) -> Line:
        if self._is_typing:
            return Line(f"filter: {self._listing.filter}_   Enter keeps it, Esc clears it")
        notes = [f"{len(view.notes)} notes (n)"] if view.notes else []
        past = [f"{len(view.episodes)} episodes (e)"] if view.episodes else []
        told = "  ".join([self._listing.status(view), *notes, *past])
        long, short = KEYS
        if cells.columns(f"{told}  {long}") <= width:
            return Line(f"{told}  {long}", Severity.SOFT)
        return Line(f"{cells.cut(told, max(width - len(short) - 2, 0))}  {short}", Severity.SOFT)

    def _over(self, view: View, height: int, width: int) -> list[Line]:
        if self._open == "help":
            found = board_detail.help_lines()
        elif self._open == "notes":
            found = board_detail.notes(view, width)
        elif self._open == "episodes":
            found = board_detail.episodes(view, width)
        else:
            budget = self.selected
            found = board_detail.detail(budget, self._trail(budget) if budget else (), width)
        room = max(height - 1, 1)
        self._scrolled = max(min(self._scrolled, len(found) - room), 0)
        shown = found[self._scrolled : self._scrolled + room]
        below = len(found) - self._scrolled - len(shown)
        more = f"  {below} more lines below" if below else ""
        blank = [Line("")] * (room - len(shown))
        return [*shown, *blank, Line(f"Esc back  up down scroll{more}", Severity.SOFT)]

    def _press_over(self, key: str) -> None:
        if key in BACK:
            self._open = ""
        elif key in MOVES:
            self._scrolled = max(MOVES[key](self._scrolled, 10, 1 << 20), 0)

    def _type(self, key: str) -> None:
        if key in {"enter", "escape"}:
            self._is_typing = False
        self._listing.edit_filter(key)

    def _begin_filter(self) -> None:
        self._is_typing = True

    def _pause(self) -> None:
        self._paused = None if self._paused else self._view

    def _lay_over(self, what: str) -> None:
        self._open, self._scrolled = what, 0
        self._listing.hold()
