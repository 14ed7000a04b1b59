"""Looks for who causes the I/O, on a thread of its own, only while somebody wants to know.

Two rounds over /proc/<pid>/io and the control groups make a look, each round after the second another one.
Nothing is read while nothing is throttled and nobody asks.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from ioplateau.measure import grouptraffic, processes
from ioplateau.measure.host import Host
from ioplateau.run.clock import Clock
from ioplateau.run.reader import Source
from ioplateau.run.sampler import Sampler
from ioplateau.state import State
from ioplateau.threads import AGAIN_SECONDS, started

FIRST_SECONDS = 1.0  # between the first rounds: whoever asks waits for two of them
# The second look comes as soon as the first: who fills the page cache up to its limit may stand still for a
# second until it is written (balance_dirty_pages() in mm/page-writeback.c), and is not seen by that look.
FIRST_ROUNDS = 3
EVERY_SECONDS = 3.0  # between the following ones
# A round over 5,000 processes takes about 0.15 s of CPU (bench/consumers.py): where it takes much,
# the next one waits, so that it is never more than this share of one CPU. The first ones are not kept
# waiting for each other; what they took together is waited for after them.
MOST_CPU_SHARE = 0.02
WANTED_SECONDS = 15.0  # after the last tick that was throttled, or the last person who looked
NAME = "consumers"


class Pace:
    """When the next round is due, in seconds of CLOCK_MONOTONIC, by the CPU time that the rounds took."""

    def __init__(self) -> None:
        self._free_at = float("-inf")  # when all that was spent is within our share
        self._in_a_row = 0

    def rest(self) -> None:
        """Nobody wants to know any more: the next round is a first one again."""
        self._in_a_row = 0

    def due(self, now: float) -> float:
        """When to begin the first round of a row that is wanted from `now` on."""
        return max(now, self._free_at)

    def after(self, began: float, took: float) -> float:
        """When to begin the next one, after a round that began then and took so many seconds of CPU."""
        self._in_a_row += 1
        self._free_at = max(self._free_at, began) + took / MOST_CPU_SHARE
        if self._in_a_row < FIRST_ROUNDS:
            return began + FIRST_SECONDS
        return max(began + EVERY_SECONDS, self._free_at)


class ConsumersReader:
    """Called after each tick; `want` may be called by any thread."""

    def __init__(
        self, sampler: Sampler, host: Host, clock: Clock, again_seconds: float = AGAIN_SECONDS
    ) -> None:
        """again_seconds: when to look again after a defect ended it."""
        self._sampler = sampler
        self._host = host
        self._clock = clock
        self._again_seconds = again_seconds
        self._wanted_until = float("-inf")
        self._fresh: dict[str, Any] | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()  # one thread, whoever wants to know
        self._wake = threading.Event()
        self._end = threading.Event()

    def __call__(self, state: State) -> None:
        """Look for a while if anything is throttled."""
        if state.is_throttled:
            self.want()

    def want(self) -> None:
        """Somebody wants to know: look for the next seconds."""
        self._wanted_until = self._clock.mono() + WANTED_SECONDS
        with self._starting:
            if self._thread is None:
                self._sampler.add(Source(NAME, self._latest, is_prompt=lambda: True))
                self._thread = started(NAME, self._run, self._again_seconds)
        self._wake.set()

    def end(self) -> None:
        """Look no more."""
        self._end.set()
        self._wake.set()

    def _latest(self) -> dict[str, Any] | None:
        fresh, self._fresh = self._fresh, None
        return fresh

    def _run(self) -> None:
        each_process = processes.Processes(self._host)
        groups = grouptraffic.GroupTraffic(self._host)
        pace = Pace()
        while not self._end.is_set():
            if self._clock.mono() >= self._wanted_until:
                each_process.forget()
                groups.forget()
                pace.rest()
                self._wake.clear()
                if self._clock.mono() >= self._wanted_until:
                    self._wake.wait()
                now = self._clock.mono()
                self._end.wait(pace.due(now) - now)
                continue
            # On a machine that is short of CPU a round takes long by the clock, and no more of a CPU.
            began, cpu = self._clock.mono(), time.thread_time()
            found = self._round(each_process, groups)
            due, now = pace.after(began, time.thread_time() - cpu), self._clock.mono()
            if found is not None:
                self._fresh = {**found, "next_seconds": due - now}
            self._end.wait(due - now)

    def _round(
        self, each: processes.Processes, groups: grouptraffic.GroupTraffic
    ) -> dict[str, Any] | None:
        """One round: a look, if it made one."""
        at, refused, seen = self._clock.boot(), "", None
        try:
            seen = each.look(at)
        except OSError as error:
            refused = f"/proc: {error.strerror or error}"
        counted = groups.look(at)
        if seen is None and counted is None:
            return None
        return {
            "processes": None if seen is None else processes.as_json(seen),
            "groups": None if counted is None else grouptraffic.as_json(counted),
            "refused": refused,
        }
