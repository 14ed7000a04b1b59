"""Record: what was read of the machine, tick by tick, into one compressed file.

A disk that is frozen or throttled takes its time, just when a recording is wanted: a thread of its
own writes, and what is read goes on. What waits for it is bounded; beyond that it is left out.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from ioplateau.logs import event
from ioplateau.measure.snapshot import DISKSTATS, MOUNTSTATS, Snapshot
from ioplateau.run import files, provenance, statefile
from ioplateau.run.clock import Clock, Grid
from ioplateau.run.commanderror import CommandError
from ioplateau.run.machine import Machine
from ioplateau.run.provenance import LIMITS, Provenance, limits_in_force
from ioplateau.run.recording import Writer, is_plain, is_standard
from ioplateau.run.sampler import Sampler
from ioplateau.state import State
from ioplateau.tell import failedsources, formatting
from ioplateau.tell.failedsources import Unseen
from ioplateau.threads import begin

LOG = logging.getLogger(__name__)

# Two minutes of them, a snapshot backup's freeze; 6 KiB each on a small machine.
MOST_WAITING = 120
# At the end, for the disk to take what waits.
FINISH_SECONDS = 30.0


class Recorded(NamedTuple):
    """Snapshots in the file, and those that the disk did not take in time."""

    written: int
    left_out: int


def record(
    path: Path,
    sampler: Sampler,
    clock: Clock,
    interval_seconds: float,
    *,
    ticks: int | None,
    wait: Callable[[float], bool],
    seen: Callable[[Snapshot], Mapping[str, Any]] = lambda _: {},
    made: Provenance | None = None,
) -> Recorded:
    """Write snapshots until `wait` (which sleeps that long) says stop.

    A regular file that is there is replaced, once there is something to be written. It is complete
    up to the last tick whenever it ends. "-" is standard output. seen: called with each snapshot,
    gives what the next one shall tell beside its readings. Raises OSError, which names the file, for one that cannot
    be written, and NothingError where neither disks nor NFS mounts can be seen.
    """
    grid = Grid(clock.mono(), interval_seconds)
    count = 0
    thread: RecordingThread | None = None
    more: Mapping[str, Any] = {}
    with ExitStack() as stack:
        while not (thread is not None and thread.failed) and (ticks is None or count < ticks):
            due = grid.next(clock.mono())
            if wait(max(due - clock.mono(), 0.0)):
                break
            snapshot = sampler.take()
            if thread is None:
                _refuse_nothing(path, snapshot)
                thread = RecordingThread(path, interval_seconds, made)
                stack.enter_context(closing(thread))
            thread.put(snapshot._replace(blobs={**snapshot.blobs, **more}) if more else snapshot)
            more = seen(snapshot)
            count += 1
        return Recorded(0, 0) if thread is None else thread.finish(FINISH_SECONDS)


class RecordingThread:
    """A new file, and a thread that writes into it what is put here. Raises OSError for a file
    that cannot be made; one that cannot be written is `failed`, and told by `finish`.
    """

    def __init__(self, path: Path, interval_seconds: float, made: Provenance | None = None) -> None:
        self._path = path
        self._interval = interval_seconds
        self._made = made
        self._changed = threading.Condition()
        self._waiting: deque[Snapshot] = deque()
        self._is_writing = self._is_closed = False
        self._written = self._left_out = 0
        self._error: Exception | None = None
        descriptor = os.dup(1) if is_standard(path) else files.create(path)
        self._thread = threading.Thread(
            target=self._run, args=(descriptor,), name="record", daemon=True
        )
        begin(self._thread)

    @property
    def failed(self) -> bool:
        return self._error is not None

    def put(self, snapshot: Snapshot) -> None:
        """Have it written soon; it is left out where too many wait. Never waits."""
        with self._changed:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(snapshot)
                self._changed.notify_all()
            else:
                self._left_out += 1

    def finish(self, seconds: float) -> Recorded:
        """Wait at most so long for the disk; what it came to. Raises OSError."""
        with self._changed:
            self._changed.wait_for(lambda: self.failed or not self._is_busy, seconds)
            error, written = self._error, self._written
            left_out = self._left_out + len(self._waiting) + self._is_writing
        if error is not None:  # a full disk, at the latest: the error of a write has no name
            done = f", after {formatting.counted(written, 'snapshot')}" if written else ""
            number, why = errno.EIO, repr(error)  # a defect of ours
            if isinstance(error, OSError):
                number, why = error.errno or errno.EIO, error.strerror or str(error)
            raise OSError(number, f"{why}{done}", str(self._path)) from error
        return Recorded(written, left_out)

    def close(self) -> None:
        """End the thread, when it comes to it."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def _is_busy(self) -> bool:
        return bool(self._waiting) or self._is_writing

    def _run(self, descriptor: int) -> None:
        try:
            with os.fdopen(descriptor, "wb") as file:
                writer = Writer(file, self._interval, self._made, is_plain=is_plain(self._path))
                while (snapshot := self._next()) is not None:
                    writer.write(snapshot)
                    self._done()
        except Exception as error:  # nobody would wait for a thread that ended
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _next(self) -> Snapshot | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            if not self._waiting:
                return None
            self._is_writing = True
            return self._waiting.popleft()

    def _done(self) -> None:
        with self._changed:
            self._is_writing = False
            self._written += 1
            self._changed.notify_all()


def provenance_of(machine: Machine) -> Provenance:
    """Where and with what is recorded, and what an earlier run had learned here."""
    learned: list[Mapping[str, Any]] = []
    settings = machine.settings
    statefile.peek(
        settings.state_directory,
        lambda saved, _away: learned.append(saved),
        machine.clock.wall(),
    )
    return provenance.here(settings.engine, learned[0] if learned else None)


class NothingError(CommandError):
    """There is nothing to record, in a sentence."""


def _refuse_nothing(path: Path, snapshot: Snapshot) -> None:
    sources = (("diskstats", DISKSTATS), ("mountstats", MOUNTSTATS))
    if any(place in snapshot.texts for _, place in sources):
        return
    unseen = [
        failedsources.sentence(name, snapshot.failed.get(place, f"{place}: not read"))
        for name, place in sources
    ]
    raise NothingError(f"{path}: nothing to record: {'; '.join(unseen)}")


class RecordingEngine:
    """Understands what is recorded, so that what belongs to it is looked for as the daemon does."""

    def __init__(self, machine: Machine, tell: Callable[[str], None] = lambda _: None) -> None:
        """tell: called with a sentence for each source without which budgets are missing, once it
        cannot be read.
        """
        self._tell = tell
        self._unseen: dict[str, Unseen] = {}
        self._engine = machine.engine
        self._background = machine.background
        self._is_sound = True
        self._limits: list[list[Any]] = []

    def see(self, snapshot: Snapshot) -> Mapping[str, Any]:
        """Find out what more there is to read; the limits in force, where they changed. Raises
        nothing.
        """
        before = self._limits
        try:
            state = self._engine.observe(snapshot)
            self._tell_unseen(state)
            self._background(state, snapshot)
            self._limits = limits_in_force(self._engine.budgets())
        except Exception as error:  # what we cannot understand is what we want to have recorded
            if self._is_sound:
                event(LOG, logging.ERROR, "recorded, but not understood", why=repr(error))
            self._is_sound = False
        return {LIMITS: self._limits} if self._limits != before else {}

    def _tell_unseen(self, state: State) -> None:
        known = tuple(self._unseen)
        failedsources.add_unseen(self._unseen, state)
        for source, unseen in self._unseen.items():
            if source not in known:
                self._tell(unseen.sentence)
