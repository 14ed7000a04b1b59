"""Takes a snapshot: reads every source that is due, and goes around one that does not answer.

Sources are read by a helper thread. If a read hangs, that thread is left behind with it, a
new one reads the rest, and the source is reported as not answering until the read returns.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ioplateau.measure import sysblock
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import (
    DISKSTATS,
    MEMINFO,
    MOUNTSTATS,
    NETDEV,
    PRESSURE,
    STAT,
    Snapshot,
    Static,
)
from ioplateau.run.clock import Clock

MOUNTINFO = "/proc/self/mountinfo"
# Whole small files that tell what the machine is; read with the static part.
FACTS = (
    "/proc/sys/kernel/osrelease",
    "/proc/sys/sunrpc/tcp_max_slot_table_entries",
    "/proc/sys/sunrpc/tcp_slot_table_entries",
    "/sys/module/nfs/parameters/max_session_slots",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/board_vendor",
    "/sys/class/dmi/id/chassis_asset_tag",
    "/sys/class/dmi/id/bios_vendor",
)


@dataclass(frozen=True, slots=True)
class Source:
    """Something read again and again. `name` is a path, or a key of the snapshot's blobs."""

    name: str
    read: Callable[[], Any]  # bytes for a path, a JSON value for a blob; raises OSError
    every_seconds: float = 0.0  # 0: every tick


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """answer_seconds: how long one tick waits for its sources; half the shortest usual
    interval, so that one dead source cannot make a tick late. static_seconds: how often the
    machine's shape is looked at again although nothing says that it changed;
    first_look_seconds: how long the first tick waits for it.
    """

    answer_seconds: float = 0.4
    first_look_seconds: float = 2.0
    static_seconds: float = 60.0


def files(host: Host) -> tuple[Source, ...]:
    """The kernel files of a tick. /proc/stat is long on large machines and only feeds two
    counters, so it is read every fifth second.
    """
    return (
        Source(DISKSTATS, lambda: host.read(DISKSTATS)),
        Source(MOUNTSTATS, lambda: host.read(MOUNTSTATS)),
        Source(NETDEV, lambda: host.read(NETDEV)),
        Source(PRESSURE, lambda: host.read(PRESSURE)),
        Source(MEMINFO, lambda: host.read(MEMINFO)),
        Source(STAT, lambda: host.read(STAT), every_seconds=5.0),
    )


@dataclass(slots=True)
class _Gathered:
    texts: dict[str, bytes] = field(default_factory=dict)
    blobs: dict[str, Any] = field(default_factory=dict)
    at: dict[str, float] = field(default_factory=dict)
    took: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class Sampler:
    """One machine's reader. `take` is called by one thread."""

    def __init__(
        self,
        host: Host,
        clock: Clock,
        sources: Sequence[Source] | None = None,
        settings: SamplerSettings | None = None,
    ) -> None:
        self._host = host
        self._clock = clock
        self._sources = list(sources if sources is not None else files(host))
        self._settings = settings or SamplerSettings()
        self._due: dict[str, float] = {}
        self._stuck: set[str] = set()
        self._reader = _Reader(clock, self._stuck)
        self._static = Static()
        self._static_due = float("-inf")
        self._look_thread: threading.Thread | None = None
        self._looked: deque[Static] = deque(maxlen=1)
        self._documents: Mapping[str, str] = {}

    def add(self, source: Source) -> None:
        """Read one more source from the next tick on."""
        if all(source.name != known.name for known in self._sources):
            self._sources.append(source)

    def tell(self, documents: Mapping[str, str]) -> None:
        """Metadata documents as now known; they travel with the static part."""
        if dict(documents) != dict(self._documents):
            self._documents = dict(documents)
            self._static = replace(self._static, documents=self._documents)

    def look_again(self) -> None:
        """The machine's shape changed: read the static part at the next tick."""
        self._static_due = float("-inf")

    def take(self) -> Snapshot:
        """Read what is due. Never raises for a source and never waits long for one."""
        mono, wall, boot = self._clock.mono(), self._clock.wall(), self._clock.boot()
        gathered = _Gathered()
        self._look(mono)
        self._gather(self._work(mono), gathered)
        return Snapshot(
            mono=mono,
            mono_end=self._clock.mono(),
            wall=wall,
            boot=boot,
            static=self._static,
            texts=gathered.texts,
            blobs=gathered.blobs,
            at=gathered.at,
            took=gathered.took,
            failed=gathered.failed,
        )

    def close(self) -> None:
        self._reader.leave()

    def _work(self, now: float) -> list[Source]:
        due = []
        for source in self._sources:
            if source.every_seconds:
                # A little early is on time: ticks jitter around the grid.
                if now < self._due.get(source.name, now) - 0.05:
                    continue
                self._due[source.name] = now + source.every_seconds
            due.append(source)
        return due

    def _look(self, now: float) -> None:
        """Keep the static part current, off the tick: asking a disk who it is can be as slow
        as the disk. Only the first look is waited for, so that the first tick knows names.
        """
        has_table = self._static.mountinfo is not None
        due = now >= self._static_due or (has_table and self._host.mounts_changed(MOUNTINFO))
        if due and (self._look_thread is None or not self._look_thread.is_alive()):
            is_first = self._look_thread is None
            self._static_due = now + self._settings.static_seconds
            last = self._static
            self._look_thread = threading.Thread(
                target=lambda: self._looked.append(read_static(self._host, last)),
                name="look",
                daemon=True,
            )
            self._look_thread.start()
            if is_first:
                self._look_thread.join(self._settings.first_look_seconds)
        if self._looked:
            found = replace(self._looked.pop(), documents=self._documents)
            if found != self._static:  # the same object means that nothing changed
                self._static = found

    def _gather(self, work: list[Source], gathered: _Gathered) -> None:
        deadline = self._clock.mono() + self._settings.answer_seconds
        todo = []
        for source in work:
            if source.name in self._stuck:
                gathered.failed[source.name] = "does not answer: an earlier read still hangs"
            else:
                todo.append(source)
        while todo:
            task = _Task(todo, gathered)
            self._reader.run(task)
            if task.done.wait(max(deadline - self._clock.mono(), 0.0)):
                return
            hung = task.abandon()
            if hung is None:  # it finished after all
                return
            self._stuck.add(hung.name)
            gathered.failed[hung.name] = (
                f"no answer within {self._settings.answer_seconds:g} s, going on without it"
            )
            self._reader.leave()
            self._reader = _Reader(self._clock, self._stuck)
            todo = todo[todo.index(hung) + 1 :]
            deadline = self._clock.mono() + self._settings.answer_seconds


class _Task:
    """Sources to read in order. Whoever reads writes only while not abandoned."""

    def __init__(self, sources: Sequence[Source], gathered: _Gathered) -> None:
        self.sources = sources
        self.done = threading.Event()
        self._gathered = gathered
        self._lock = threading.Lock()
        self._abandoned = False
        self._reading: Source | None = None

    def begin(self, source: Source) -> None:
        with self._lock:
            self._reading = source

    def end(self, source: Source, at: float, took: float, answer: Any, why: str) -> bool:
        """Book one answer; False if nobody waits for it any more."""
        with self._lock:
            if self._abandoned:
                return False
            self._reading = None
            gathered = self._gathered
            gathered.at[source.name], gathered.took[source.name] = at, took
            if why:
                gathered.failed[source.name] = why
            elif isinstance(answer, bytes):
                gathered.texts[source.name] = answer
            else:
                gathered.blobs[source.name] = answer
            return True

    def abandon(self) -> Source | None:
        """Stop waiting; the source that hangs, or None if the task just ended."""
        with self._lock:
            if self._reading is None and self.done.is_set():
                return None
            self._abandoned = True
            asked = self._gathered.at
            return self._reading or next(s for s in self.sources if s.name not in asked)


class _Reader:
    """A thread that reads tasks until told to leave."""

    def __init__(self, clock: Clock, stuck: set[str]) -> None:
        self._clock = clock
        self._stuck = stuck
        self._wake = threading.Semaphore(0)
        self._task: _Task | None = None
        self._leaving = False
        self._thread: threading.Thread | None = None

    def run(self, task: _Task) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._main, name="reader", daemon=True)
            self._thread.start()
        self._task = task
        self._wake.release()

    def leave(self) -> None:
        self._leaving = True
        self._wake.release()

    def _main(self) -> None:
        while True:
            self._wake.acquire()
            if self._leaving:
                return
            task = self._task
            assert task is not None
            for source in task.sources:
                if not self._read(task, source):
                    return
            task.done.set()

    def _read(self, task: _Task, source: Source) -> bool:
        task.begin(source)
        at = self._clock.mono()
        answer, why = None, ""
        try:
            answer = source.read()
        except OSError as error:
            why = f"{source.name}: {error.strerror or error}"
        except Exception as error:  # a defect in one source must not end the loop
            why = f"{source.name}: {type(error).__name__}: {error}"
        if task.end(source, at, self._clock.mono() - at, answer, why):
            return True
        self._stuck.discard(source.name)  # it came back: the next tick may ask again
        return False


def read_static(host: Host, last: Static | None = None) -> Static:
    """The machine's shape: block devices, mounts, and a few small files. Raises nothing."""
    facts = {path: text.strip() for path in FACTS if (text := _said(host, path)) is not None}
    lines = (_said(host, DISKSTATS) or "").splitlines()
    names = [words[2] for line in lines if len(words := line.split(None, 3)) > 2]
    tree = sysblock.read(host, names, last.block if last is not None else None)
    try:
        mounts: bytes | None = host.read(MOUNTINFO)
    except OSError:
        mounts = None
    return Static(
        kernel=facts.get("/proc/sys/kernel/osrelease", ""),
        block=tree.block,
        slaves=tree.slaves,
        holders=tree.holders,
        partitions=tree.partitions,
        mountinfo=mounts,
        files=facts,
    )


def _said(host: Host, path: str) -> str | None:
    try:
        return host.read_once(path).decode("utf-8", "replace")
    except OSError:
        return None
