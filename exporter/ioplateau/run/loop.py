"""The loop: for each tick of the grid, publish(engine.observe(take())).

The only place where the parts meet. State is published by swapping one reference, so
whoever reads it needs no lock and never sees half a tick.
"""

from __future__ import annotations

import logging
import threading
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

from ioplateau.engine import Engine
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import Clock, Grid
from ioplateau.run.logs import event
from ioplateau.run.sampler import Sampler
from ioplateau.state import SourceState, State
from ioplateau.tell.metrics_self import TICK_BOUNDS

LOG = logging.getLogger(__name__)

@dataclass(slots=True)
class TickTimes:
    """How long ticks took: a histogram."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(TICK_BOUNDS) + 1))
    seconds: float = 0.0

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
    """Runs until stopped, in the caller's thread."""

    def __init__(
        self,
        sampler: Sampler,
        engine: Engine,
        clock: Clock,
        interval_seconds: float,
        after_tick: Callable[[State, Snapshot], None] = lambda state, snapshot: None,  # noqa: ARG005
    ) -> None:
        self._sampler = sampler
        self._engine = engine
        self._clock = clock
        self._interval = interval_seconds
        self._after_tick = after_tick
        self._stop = threading.Event()
        self._known: dict[str, SourceState] = {}
        self._notices: tuple[str, ...] = ()
        self._looked_again = float("-inf")
        self.state: State | None = None  # the published one
        self.times = TickTimes()
        self.skipped = 0

    def stop(self) -> None:
        """End after the present tick. May be called from any thread or signal handler."""
        self._stop.set()

    def run(self, ticks: int | None = None) -> None:
        """Tick on the grid until stopped, or for a number of ticks."""
        grid = Grid(self._clock.mono(), self._interval)
        while ticks is None or ticks > 0:
            due = grid.next(self._clock.mono())
            self.skipped = grid.skipped
            if self._stop.wait(max(due - self._clock.mono(), 0.0)):
                return
            self.tick()
            ticks = ticks - 1 if ticks is not None else None

    def tick(self) -> State:
        """Take one snapshot and publish what it means."""
        start = self._clock.mono()
        snapshot = self._sampler.take()
        state = self._engine.observe(snapshot)
        self.state = state
        self._log_changes(state)
        self._notice_new_shapes(state)
        self._after_tick(state, snapshot)
        self.times.add(self._clock.mono() - start)
        return state

    def _notice_new_shapes(self, state: State) -> None:
        """A disk or mount that the static part does not know yet: look at the machine again."""
        is_new = any(disk.device is None for disk in state.disks.values()) or any(
            mount.entry is None for mount in state.mounts.values()
        )
        if is_new and state.mono - self._looked_again >= 5:
            self._looked_again = state.mono
            self._sampler.look_again()

    def _log_changes(self, state: State) -> None:
        for name, source in state.sources.items():
            before = self._known.get(name)
            if before is source:
                continue
            if not source.up and (before is None or before.up or before.why != source.why):
                event(LOG, logging.WARNING, "source failed", source=name, why=source.why)
            elif source.up and before is not None and not before.up:
                event(LOG, logging.INFO, "source answers again", source=name)
            if source.rejects and (before is None or not before.rejects):
                # Once: a line that is odd now is odd every second.
                event(
                    LOG,
                    logging.WARNING,
                    "source has lines we do not understand",
                    source=name,
                    first=source.last_reject,
                )
            self._known[name] = source
        if state.notices != self._notices:
            for notice in state.notices:
                if notice not in self._notices:
                    event(LOG, logging.WARNING, "notice", what=notice)
            self._notices = state.notices
