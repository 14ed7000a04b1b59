"""A terminal that shows lines until a person has seen enough. The only file that knows curses."""

from __future__ import annotations

import curses
import locale
from collections.abc import Callable, Sequence
from threading import Event

from ioplateau.tell.screen import Line
from ioplateau.tell.summary import Mood

Error = curses.error

KEY_SECONDS = 0.1
COLOURS = {
    Mood.BAD: curses.COLOR_RED,
    Mood.WARN: curses.COLOR_YELLOW,
    Mood.GOOD: curses.COLOR_GREEN,
}


def show(lines: Callable[[int], Sequence[Line]], fresh: Event, goes_on: Callable[[], bool]) -> None:
    """Draw lines(width) whenever `fresh` is set, until "q", or until it no longer goes on.

    The terminal is put right however this ends. Raises Error.
    """
    locale.setlocale(locale.LC_ALL, "")
    curses.wrapper(_watch, lines, fresh, goes_on)


def _watch(
    window: curses.window,
    lines: Callable[[int], Sequence[Line]],
    fresh: Event,
    goes_on: Callable[[], bool],
) -> None:
    moods = _moods()
    window.timeout(round(KEY_SECONDS * 1000))
    _draw(window, lines, moods)
    while goes_on():
        key = window.getch()
        if key in (ord("q"), ord("Q")):
            return
        if fresh.is_set() or key == curses.KEY_RESIZE:
            fresh.clear()
            _draw(window, lines, moods)


def _moods() -> dict[Mood, int]:
    """How each mood is drawn; without colours too."""
    moods = {Mood.NONE: curses.A_NORMAL, Mood.SOFT: curses.A_DIM}
    if not curses.has_colors():
        return moods | dict.fromkeys(COLOURS, curses.A_BOLD)
    curses.use_default_colors()
    for number, (mood, colour) in enumerate(COLOURS.items(), start=1):
        curses.init_pair(number, colour, -1)
        moods[mood] = curses.color_pair(number) | curses.A_BOLD
    return moods


def _draw(
    window: curses.window, lines: Callable[[int], Sequence[Line]], moods: dict[Mood, int]
) -> None:
    height, width = window.getmaxyx()
    every = lines(width - 1)  # a character in the last cell of all would scroll
    cut = len(every) > height
    shown = [*every[: height - 1], Line("...", Mood.SOFT)] if cut else every
    window.erase()
    for row, line in enumerate(shown):
        window.addnstr(row, 0, line.text, width - 1, moods[line.mood])
    window.refresh()
