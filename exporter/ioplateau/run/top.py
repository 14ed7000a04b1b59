"""Top: the live screen of this machine, in a terminal or, with --batch, as plain text.

Samples by itself: no daemon is needed, and one that runs is not disturbed.
"""

from __future__ import annotations

import logging
import shutil
import signal
import sys
import threading
from dataclasses import dataclass, field
from typing import TextIO

from ioplateau.engine import Engine
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import SystemClock
from ioplateau.run.companions import Companions
from ioplateau.run.loop import Loop
from ioplateau.run.memory import Memory
from ioplateau.run.settings import ServeSettings
from ioplateau.run.sources import sampler_for
from ioplateau.state import State
from ioplateau.tell import screen

WINDOW_SECONDS = 3.0  # of rates: a screen that is watched should move
TERMINATED = 128 + signal.SIGTERM


class TerminalError(Exception):
    """A terminal that cannot be drawn on, in a sentence."""


@dataclass(slots=True)
class _Watched:
    """The last two states."""

    title: str
    before: State | None = None
    now: State | None = None
    fresh: threading.Event = field(default_factory=threading.Event)

    def see(self, state: State) -> None:
        self.before, self.now = self.now, state
        self.fresh.set()

    def lines(self, width: int) -> list[screen.Line]:
        return screen.lines(self.now, self.before, title=self.title, width=width)


def top(
    settings: ServeSettings,
    title: str,
    *,
    batch: bool,
    count: int | None,
    out: TextIO,
) -> None:
    """Show this machine until interrupted, "q" is pressed, or `count` screens were shown.

    Raises TerminalError.
    """
    # The screen says it; a log would be written across it.
    logging.getLogger("ioplateau").addHandler(logging.NullHandler())
    logging.getLogger("ioplateau").propagate = False
    clock = SystemClock()
    interval = settings.engine.interval_seconds
    window = min(settings.engine.rate_window_seconds, max(WINDOW_SECONDS, 2 * interval))
    engine = Engine(settings.engine._replace(rate_window_seconds=window))
    Memory(settings.state_directory).peek(engine.restore, clock.wall())
    sampler = sampler_for(settings, clock)
    companions = Companions(settings, sampler, clock)
    watched = _Watched(title)

    def after_tick(state: State, snapshot: Snapshot) -> None:
        companions(state, snapshot)
        watched.see(state)
        if batch and state.ticks > 1:
            _print(watched, out)

    loop = Loop(sampler, engine, clock, interval, after_tick)
    ticks = None if count is None else count + 1  # the first has no rates
    if batch:
        loop.run(ticks)
    else:
        _live(loop, watched, ticks)


def _print(watched: _Watched, out: TextIO) -> None:
    width = shutil.get_terminal_size((120, 50)).columns
    for line in watched.lines(width):
        print(line.text, file=out)
    print(file=out, flush=True)


def _live(loop: Loop, watched: _Watched, ticks: int | None) -> None:
    try:
        from ioplateau.run import terminal
    except ImportError as error:  # a package of its own on some distributions
        raise TerminalError(f"this Python has no curses ({error}): try --batch") from error
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # and the terminal is put right
    sampling = threading.Thread(target=loop.run, args=(ticks,), name="sampling", daemon=True)
    sampling.start()
    try:
        terminal.show(watched.lines, watched.fresh, sampling.is_alive)
    except terminal.Error as error:
        raise TerminalError(
            f"this terminal cannot be drawn on ({error}): try --batch, or another TERM"
        ) from error
    finally:
        loop.stop()
