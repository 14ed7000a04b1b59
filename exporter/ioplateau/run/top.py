"""Top: the live screen of this machine, in a terminal or, with --batch, as plain text.

Shows what the daemon found where one answers; else it samples by itself, and needs none.
"""

from __future__ import annotations

import json
import logging
import shutil
import signal
import sys
from itertools import islice
from queue import Empty
from typing import TYPE_CHECKING, TextIO

from ioplateau.run import charset
from ioplateau.run.about import about
from ioplateau.run.commanderror import CommandError
from ioplateau.run.daemonaddress import DaemonAddress
from ioplateau.run.daemonviews import DaemonViews, NoDaemonError, local_url
from ioplateau.run.settings import ServeSettings
from ioplateau.run.views import ViewSource
from ioplateau.tell import api, screen
from ioplateau.tell.board import Board

if TYPE_CHECKING:
    from ioplateau.run.localviews import LocalViews

TERMINATED = 128 + signal.SIGTERM


class TerminalError(CommandError):
    """A terminal that cannot be drawn on, in a sentence."""


def top(
    settings: ServeSettings,
    title: str,
    *,
    batch: bool,
    count: int | None,
    out: TextIO,
    daemon: DaemonAddress | None,
    alone: bool,
) -> bool:
    """Show this machine until interrupted, "q" is pressed, or `count` screens were shown. False:
    on the last one that was printed no disk and no mount could be read.

    daemon: one to ask; None: the one of this machine, if it answers. alone: ask none.
    Raises TerminalError, NoDaemonError, and OSError if the text cannot be written.
    """
    _silence_log()
    source = _source(settings, daemon, alone=alone)
    with source:
        if batch:
            return _print(source, title, count, out)
        _live(source, title, count)
        return True


def _source(settings: ServeSettings, daemon: DaemonAddress | None, *, alone: bool) -> ViewSource:
    if daemon is not None:
        return DaemonViews(daemon)
    if alone:
        return _sampling(settings)
    here = DaemonAddress(local_url(settings.web.listen_addresses))
    try:
        return DaemonViews(here)
    except NoDaemonError:
        source = _sampling(settings)
        source.origin = f"no daemon tells at {here.place}: sampled here"
        return source


def _sampling(settings: ServeSettings) -> LocalViews:
    # Imported where it is used: who shows a daemon's findings needs no engine.
    from ioplateau.run.localviews import LocalViews

    return LocalViews(settings)


def print_json(settings: ServeSettings, count: int | None, out: TextIO) -> bool:
    """What /api/v1/state tells, of this machine, a line a tick; `count` lines or until interrupted.
    False: as of `top`.
    """
    _silence_log()
    with _sampling(settings) as source:
        return _print_states(source, count, out)


def _silence_log() -> None:
    # The screen says it; a log would be written across it.
    log = logging.getLogger("ioplateau")
    log.addHandler(logging.NullHandler())
    log.propagate = False


def _print_states(source: ViewSource, count: int | None, out: TextIO) -> bool:
    is_storage_unreadable = False
    for view, state in islice(source, count):
        assert state is not None  # it is sampled here
        print(json.dumps(api.state(state, about()), allow_nan=False), file=out, flush=True)
        is_storage_unreadable = view.is_storage_unreadable
    return not is_storage_unreadable


def _print(source: ViewSource, title: str, count: int | None, out: TextIO) -> bool:
    is_storage_unreadable = False
    ascii_only = not charset.is_utf8()
    for view, _ in islice(source, count):
        width = shutil.get_terminal_size((120, 50)).columns
        named = "  ".join(filter(None, (title, source.origin)))
        for line in screen.lines(view, title=named, width=width, ascii_only=ascii_only):
            print(line.text, file=out)
        print(file=out, flush=True)
        is_storage_unreadable = view.is_storage_unreadable
    return not is_storage_unreadable


def _live(source: ViewSource, title: str, count: int | None) -> None:
    try:
        from ioplateau.run import terminal
    except ImportError as error:  # a package of its own on some distributions
        raise TerminalError(f"this Python has no curses ({error}): try --batch") from error
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # and the terminal is put right
    board = Board(f"ioplateau {title}", source.trail, ascii_only=not charset.set_locale())
    feed = _Feed(source, board, count)
    try:
        terminal.show(board, feed.take, lambda: feed.goes_on)
    except terminal.Error as error:
        raise TerminalError(
            f"this terminal cannot be drawn on ({error}): try --batch, or another TERM"
        ) from error


class _Feed:
    """From the source to the board, without waiting."""

    def __init__(self, source: ViewSource, board: Board, count: int | None) -> None:
        self._source, self._board, self._left = source, board, count
        self.goes_on = True

    def take(self) -> bool:
        """Whether there was something new."""
        is_fresh = False
        while self.goes_on:
            try:
                seen = self._source.views.get_nowait()
            except Empty:
                break
            if self._left is not None:
                self._left -= 1
            self.goes_on = seen is not None and self._left != 0
            if seen is not None:
                self._board.origin = self._source.origin
                self._board.see(seen.view)
                is_fresh = True
        return is_fresh
