"""A terminal that shows a board until a person has seen enough. The only file that knows curses."""

from __future__ import annotations

import curses
import os
import select
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from ioplateau.tell.screen import Line
from ioplateau.tell.summary import Severity

Error = curses.error

KEY_SECONDS = 0.1
# A lone Esc is a key; the rest of what an arrow key sends follows at once, also over ssh.
ESCAPE_MILLISECONDS = 50
# A terminal that went away is readable and gives nothing, each time.
EMPTY_READS = 5
COLOURS = {
    Severity.BAD: curses.COLOR_RED,
    Severity.WARN: curses.COLOR_YELLOW,
    Severity.GOOD: curses.COLOR_GREEN,
}
KEYS: dict[int | str, str] = {
    curses.KEY_UP: "up",
    curses.KEY_DOWN: "down",
    curses.KEY_LEFT: "left",
    curses.KEY_PPAGE: "page up",
    curses.KEY_NPAGE: "page down",
    curses.KEY_HOME: "home",
    curses.KEY_END: "end",
    curses.KEY_ENTER: "enter",
    curses.KEY_BACKSPACE: "backspace",
    curses.KEY_F1: "h",
    "\n": "enter",
    "\r": "enter",
    "\t": "tab",
    "\x1b": "escape",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x04": "q",
}


class Drawable(Protocol):
    """What is shown, and what keys do to it."""

    def press(self, key: str) -> bool: ...
    def lines(self, height: int, width: int) -> Iterable[Line]: ...


def show(board: Drawable, is_fresh: Callable[[], bool], goes_on: Callable[[], bool]) -> None:
    """Draw the board whenever something `is_fresh`, until the person or what it shows has ended.

    The locale is set (charset.set_locale). The terminal is put right however this ends. Raises Error.
    """
    os.environ.setdefault("ESCDELAY", str(ESCAPE_MILLISECONDS))
    window = curses.initscr()
    try:
        curses.noecho()
        curses.cbreak()
        window.keypad(True)
        window.nodelay(True)
        _watch(window, board, is_fresh, goes_on)
    finally:
        window.keypad(False)
        _put_right()


def _put_right() -> None:
    # One by one: a terminal that went away cannot be put right.
    with suppress(Error):
        curses.echo()
    with suppress(Error):
        curses.nocbreak()
    with suppress(Error):
        curses.endwin()


def _watch(
    window: curses.window,
    board: Drawable,
    is_fresh: Callable[[], bool],
    goes_on: Callable[[], bool],
) -> None:
    if not curses.tigetstr("cup"):
        raise Error("it cannot move its cursor")
    attributes_of = _attributes()
    _draw(window, board, attributes_of)
    empty = 0
    while goes_on():
        has_input = bool(select.select([sys.stdin], [], [], KEY_SECONDS)[0])
        keys = _keys(window)
        empty = empty + 1 if has_input and not keys else 0
        if empty >= EMPTY_READS or not all(
            board.press(KEYS.get(key, key if isinstance(key, str) else ""))
            for key in keys
            if key != curses.KEY_RESIZE
        ):
            return
        if is_fresh() or keys:
            _draw(window, board, attributes_of)


def _keys(window: curses.window) -> list[int | str]:
    """What was pressed since we looked."""
    found: list[int | str] = []
    while True:
        try:
            found.append(window.get_wch())
        except curses.error:
            return found


def _attributes() -> dict[Severity, int]:
    """How each severity is drawn; without colours too, and where nobody wants them: no-color.org."""
    attributes_of = {
        Severity.NONE: curses.A_NORMAL,
        Severity.SOFT: curses.A_DIM,
        Severity.HEAD: curses.A_UNDERLINE,
    }
    with suppress(Error):  # a cursor that cannot be hidden may be seen
        curses.curs_set(0)
    if os.environ.get("NO_COLOR") or not curses.has_colors():
        return attributes_of | dict.fromkeys(COLOURS, curses.A_BOLD)
    curses.start_color()
    curses.use_default_colors()
    for number, (severity, colour) in enumerate(COLOURS.items(), start=1):
        curses.init_pair(number, colour, -1)
        attributes_of[severity] = curses.color_pair(number) | curses.A_BOLD
    return attributes_of


def _draw(window: curses.window, board: Drawable, attributes_of: dict[Severity, int]) -> None:
    height, width = window.getmaxyx()
    window.erase()
    # A character in the last cell of all would scroll.
    for row, line in enumerate(board.lines(height, width - 1)):
        attributes = attributes_of[line.severity] | (curses.A_REVERSE if line.is_selected else 0)
        text = line.text.ljust(width - 1) if line.is_selected else line.text
        try:
            window.addnstr(row, 0, text, width - 1, attributes)
        except curses.error:  # smaller by now
            break
    window.refresh()
