"""Takes a snapshot: reads every source that is due, and goes around one that does not answer.

What is read every tick, what seldom, and what of it is the machine's shape. How sources are
read, and what becomes of one that hangs, stands in reader.py.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ioplateau.engine.sources import FILES
from ioplateau.measure import interfaces, ownview, sysblock
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import DISKSTATS, MOUNTINFO, Snapshot, Static
from ioplateau.run.clock import Clock
from ioplateau.run.reader import Reader, Source
from ioplateau.threads import lacks_cpu, started

SHAPE = "sysfs"  # what the look at the machine's shape is called where it fails
LOOK_SECONDS = 10.0  # a healthy look takes 0.3 ms a disk
# Whole small files that tell what the machine is; read with the static part.
FACTS = (
    "/proc/sys/kernel/osrelease",
    "/proc/sys/sunrpc/tcp_max_slot_table_entries",
    # For who reads a recording; nothing here is worked out from these two.
    "/proc/sys/sunrpc/tcp_slot_table_entries",
    "/sys/module/nfs/parameters/max_session_slots",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/board_vendor",
    "/sys/class/dmi/id/chassis_asset_tag",
    "/sys/class/dmi/id/bios_vendor",
    "/sys/class/dmi/id/bios_version",
)

# A mount may have come with a client of other slots; but mounts of containers come every second.
LOOK_AGAIN_SECONDS = 10.0
RETRY_SECONDS = 5.0  # a seldom source that failed is asked again sooner


class SamplerSettings(NamedTuple):
    """answer_seconds: how long one tick waits for its sources; half the shortest usual
    interval, so that dead sources cannot make a tick late. static_seconds: how often the
    machine's shape is looked at again although nothing says that it changed;
    first_look_seconds: how long the first tick waits for it.
    """

    answer_seconds: float = 0.4
    first_look_seconds: float = 2.0
    static_seconds: float = 60.0


def files(host: Host) -> tuple[Source, ...]:
    """The kernel files of a tick."""
    return tuple(_file(host, each.key, each.every_seconds) for each in FILES)


def _file(host: Host, path: str, every_seconds: float = 0.0) -> Source:
    # The kernel makes these from its memory, and none waits for a device or a server; only to open
    # one may hang, where it is not the kernel's (a pipe, a dead server's file).
    return Source(
        path,
        partial(host.read, path),
        every_seconds,
        host.place(path),
        is_prompt=partial(host.is_prompt, path),
    )


class Sampler:
    """One machine's reader. `take` is called by one thread, the rest by any."""

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
        self._mounts = _file(host, MOUNTINFO)
        self._settings = settings or SamplerSettings()
        self._due: dict[str, float] = {}
        self._reader = Reader(clock)
        self._static = Static()
        self._documents = self._static.documents
        self._static_due = self._mounts_due = float("-inf")
        self._look_thread: threading.Thread | None = None
        self._look_began = 0.0
        self._looked: deque[tuple[Static, str]] = deque(maxlen=1)
        self._unseen = ""  # why the look at the machine's shape came to nothing

    def add(self, source: Source) -> None:
        """Read one more source from the next tick on."""
        if all(source.name != known.name for known in self._sources):
            self._sources.append(source)

    def tell(self, documents: Mapping[str, str]) -> None:
        """Metadata documents as now known; they travel with the static part."""
        self._documents = dict(documents)  # the next `take` takes them up

    def look_again(self) -> None:
        """The machine's shape changed: read the static part at the next tick."""
        self._static_due = self._mounts_due = float("-inf")

    def take(self) -> Snapshot:
        """Read what is due. Never raises for a source and never waits long for one."""
        self._look(self._clock.mono())
        mono, wall, boot = self._clock.mono(), self._clock.wall(), self._clock.boot()
        gathered = self._reader.gather(self._work(mono), self._settings.answer_seconds)
        for name in gathered.failed:
            if name in self._due:
                self._due[name] = min(self._due[name], mono + RETRY_SECONDS)
        late = self._late_look(mono)
        if late:
            gathered.failed[SHAPE] = f"{self._host.place('/sys')}: {late}, what is known is old"
        self._take_up(gathered.texts.pop(MOUNTINFO, None))
        if self._unseen:
            gathered.failed.setdefault(SHAPE, self._unseen)
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

    def _work(self, now: float) -> list[Source]:
        due = []
        for source in self._sources:
            if source.every_seconds:
                # A little early is on time: ticks jitter around the grid.
                if now < self._due.get(source.name, now) - 0.05:
                    continue
                self._due[source.name] = now + source.every_seconds
            due.append(source)
        # Beside mountstats, so that a new mount has its superblock in the same tick. A change
        # between the two reads is seen by the next poll.
        if now >= self._mounts_due or self._host.mounts_changed(MOUNTINFO):
            self._mounts_due = now + self._settings.static_seconds
            self._static_due = min(self._static_due, self._look_began + LOOK_AGAIN_SECONDS)
            due.insert(0, self._mounts)
        return due

    def _look(self, now: float) -> None:
        """Keep the static part current, off the tick: asking a disk who it is can be as slow
        as the disk. Only the first look is waited for, so that the first tick knows names.
        """
        thread = self._look_thread
        if now >= self._static_due and (thread is None or not thread.is_alive()):
            last = self._static
            look = started("look", lambda: self._looked.append(_look(self._host, last)))
            if look is None:
                return
            self._static_due, self._look_began = now + self._settings.static_seconds, now
            self._look_thread = look
            if thread is None:
                look.join(self._settings.first_look_seconds)

    def _late_look(self, now: float) -> str:
        """Why there is no end of the look at the machine's shape; "": it is not late."""
        thread = self._look_thread
        if thread is None or now - self._look_began <= LOOK_SECONDS or not thread.is_alive():
            return ""
        return "a look below it lacks CPU" if lacks_cpu(thread) else "a read below it hangs"

    def _take_up(self, mounts: bytes | None) -> None:
        """What came in of the static part, from three sides."""
        static, documents = self._static, self._documents
        if self._looked:
            found, self._unseen = self._looked.pop()
            # The reader's mount table is the newer one.
            known = static.mountinfo if static.mountinfo is not None else found.mountinfo
            found = found._replace(mountinfo=known, documents=static.documents)
            if found != static:  # the same object means that nothing changed
                static = found
        if mounts is not None and mounts != static.mountinfo:
            static = static._replace(mountinfo=mounts)
        if documents != static.documents:
            static = static._replace(documents=documents)
        self._static = static


def _look(host: Host, last: Static) -> tuple[Static, str]:
    """The machine's shape, and why nothing can be told of its disks; "": it can."""
    why = ""
    for place in ("/sys/class/block", "/sys/block"):  # either will do
        try:
            host.list(place)
        except OSError as error:
            why = f"{error.filename}: {error.strerror}"
        else:
            why = ""
            break
    return read_static(host, last), why


def read_static(host: Host, last: Static | None = None) -> Static:
    """The machine's shape: block devices, mounts, and a few small files. Raises nothing."""
    facts = {path: text.strip() for path in FACTS if (text := _said(host, path)) is not None}
    lines = (_said(host, DISKSTATS) or "").splitlines()
    names = [words[2] for line in lines if len(words := line.split(None, 3)) > 2]
    tree = sysblock.read(host, names, last.block if last is not None else None)
    try:
        mounts: bytes | None = host.read_once(MOUNTINFO)
    except OSError:
        mounts = None
    return Static(
        kernel=facts.get("/proc/sys/kernel/osrelease", ""),
        block=tree.block,
        slaves=tree.slaves,
        holders=tree.holders,
        partitions=tree.partitions,
        mountinfo=mounts,
        files=facts | ownview.read(host) | interfaces.read_places(host),
    )


def _said(host: Host, path: str) -> str | None:
    try:
        return host.read_once(path).decode("utf-8", "replace")
    except OSError:
        return None
