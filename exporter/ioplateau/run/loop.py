"""The loop: for each tick of the grid, publish(engine.observe(take())).

Each tick is sampled when it is due. While nobody looks and nothing is throttled, a few are
understood together: code and data that have left the CPU's caches since the last tick cost as much
as all the rest of it (docs/cost.md). What is found is the same, tick by tick; only who waits for a
line of the log waits that much longer, and that another disk came under a name and number within a second
is seen by so much later.

The parts are put together in machine.py. State is published by swapping one reference, so
whoever reads it needs no lock and never sees half a tick.
"""

from __future__ import annotations

import logging
import threading
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate

from ioplateau.engine import Engine
from ioplateau.logs import event
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import Clock, Grid
from ioplateau.run.pause import Pause
from ioplateau.run.sampler import Sampler
from ioplateau.run.statelog import StateLog
from ioplateau.state import State
from ioplateau.tell.metrics_self import TICK_BOUNDS

LOG = logging.getLogger(__name__)

# Ticks in a row after which the last good state is too old to be shown.
MOST_FAILED = 10
SILENT_SECONDS = 60.0  # between two lines on ticks that fail
# Between two looks at the machine's shape for what is unfamiliar, which may stay so.
SHAPES_SECONDS = 5.0
# For whoever asks until what was sampled is understood; after it the state before has to do. A
# thousand mounts take 0.02 s a tick, a source that hangs holds the ticking thread for 0.8.
ASKED_SECONDS = 0.25


class TickTimes:
    """How long ticks took: a histogram."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(TICK_BOUNDS) + 1)
        self.seconds = 0.0

    @property
    def cumulative(self) -> tuple[int, ...]:
        """Ticks at or below each bound."""
        return tuple(accumulate(self.counts[:-1]))

    @property
    def ticks(self) -> int:
        return sum(self.counts)

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(TICK_BOUNDS, seconds)] += 1
        self.seconds += seconds


class Loop:
    """Runs until stopped, in the caller's thread. before_tick: called when a tick is due, before it
    is sampled; after_tick: when one was understood. together: ticks that may be understood at once.
    """

    def __init__(
        self,
        sampler: Sampler,
        engine: Engine,
        clock: Clock,
        interval_seconds: float,
        after_tick: Callable[[State, Snapshot], None] = lambda *_: None,
        before_tick: Callable[[], None] = lambda: None,
        together: int = 1,
    ) -> None:
        self._sampler = sampler
        self._engine = engine
        self._clock = clock
        self._interval = interval_seconds
        self._after_tick = after_tick
        self._before_tick = before_tick
        self._together = together
        self._pause = Pause()
        # What was sampled and is not understood yet, with the seconds that sampling took.
        self._waiting: list[tuple[Snapshot, float]] = []
        self._understood = threading.Condition()  # held to clear what waits, and to count it
        self._rounds = 0
        self._news = StateLog()
        self._failed = 0  # ticks in a row that came to nothing
        self._silent_until = self._looked_again = float("-inf")
        self.state: State | None = None  # the published one; None: none yet, or none that is fresh
        self.times = TickTimes()
        self.skipped = 0
        self._taken_at = float("-inf")  # the last snapshot
        self._fresh_at: float | None = None  # when a state was last published, or we began to

    @property
    def age_seconds(self) -> float:
        """Since the last tick that came to something; before the first, since `run` began."""
        fresh_at = self._fresh_at
        return 0.0 if fresh_at is None else max(self._clock.mono() - fresh_at, 0.0)

    def stop(self) -> None:
        """End after the present tick. May be called from any thread or signal handler."""
        self._pause.end()

    def run(self, ticks: int | None = None) -> None:
        """Tick on the grid until stopped, or for a number of ticks."""
        self._fresh_at, self._taken_at = self._clock.mono(), float("-inf")
        grid = Grid(self._fresh_at, self._interval)
        while ticks is None or ticks > 0:
            due = grid.next(self._clock.mono(), self._taken_at)
            self.skipped = grid.skipped
            if self._is_over_before(due):
                break
            self.tick()
            ticks = ticks - 1 if ticks is not None else None
        self.understand()

    def _is_over_before(self, due: float) -> bool:
        """Sleep until then, but for what is asked; whether we were stopped."""
        while self._pause.sleep(due - self._clock.mono()):
            if self._pause.is_over:
                return True
            self.understand()
        return False

    def tick(self) -> None:
        """Take one snapshot; understand it and publish what it means, unless that can wait."""
        try:
            self._before_tick()
        except Exception as error:
            self._fail(error)
        start = self._clock.mono()
        snapshot = self._sampler.take()
        self._taken_at = snapshot.mono
        self._waiting.append((snapshot, self._clock.mono() - start))
        if len(self._waiting) >= self._together or self._is_pressing:
            self.understand()

    @property
    def _is_pressing(self) -> bool:
        """Whether each tick is understood when it was taken: what is said of it is waited for."""
        state = self.state
        return state is None or state.is_unfamiliar or state.is_throttled

    def understand(self) -> None:
        """Publish what the ticks mean that were taken and wait. By the ticking thread alone."""
        if not self._waiting:
            return
        for snapshot, took in self._waiting:
            start = self._clock.mono()
            try:
                self._publish(snapshot)
            except Exception as error:
                self._fail(error)
            else:
                self._failed = 0
            self.times.add(took + self._clock.mono() - start)
        with self._understood:
            self._waiting.clear()
            self._rounds += 1
            self._understood.notify_all()

    def is_newest(self, snapshot: Snapshot) -> bool:
        """Whether no later one waits to be understood. By the ticking thread alone."""
        return not self._waiting or snapshot is self._waiting[-1][0]

    def catch_up(self) -> None:
        """Have all that was sampled understood, for who is about to look at `state`. By any other
        thread; waits ASKED_SECONDS at most.
        """
        with self._understood:
            if self._waiting:
                rounds = self._rounds
                self._pause.wake()
                self._understood.wait_for(lambda: self._rounds != rounds, ASKED_SECONDS)

    def _publish(self, snapshot: Snapshot) -> None:
        state = self._engine.observe(snapshot)
        self.state, self._fresh_at = state, snapshot.mono_end
        self._news.tell(state)
        self._notice_new_shapes(state)
        self._after_tick(state, snapshot)

    def _fail(self, error: Exception) -> None:
        """A defect of ours: one odd reading must not take all the others with it. If it stays,
        no state is better than an old one.
        """
        self._failed += 1
        now = self._clock.mono()
        if now >= self._silent_until:  # every other tick may fail
            self._silent_until = now + SILENT_SECONDS
            event(LOG, logging.ERROR, "a tick failed", why=repr(error), exc_info=True)
        if self._failed >= MOST_FAILED:
            self.state = None

    def _notice_new_shapes(self, state: State) -> None:
        """A disk or mount that the static part does not know yet: look at the machine again."""
        is_due = state.mono - self._looked_again >= SHAPES_SECONDS
        if state.is_unfamiliar and state.ticks > 1 and is_due:
            self._looked_again = state.mono
            self._sampler.look_again()
