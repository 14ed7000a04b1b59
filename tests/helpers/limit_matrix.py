"""Disks at their limits and below, by kind of load and depth, all at once; what daemons said of each.

    python tests/helpers/limit_matrix.py          # prints the table of docs/how-it-decides.md; three minutes

Nine disks of throttled_disk.py: reads, writes and buffered writes, 2, 8 and 64 at a time. One daemon
is told every limit; nine more know of one disk each and of no limit. Each load runs below its limit,
then as fast as it goes, then below it again. Needs root and what throttled_disk.py names.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ioplateau.measure import diskstats
from live_daemon import Daemon, Exposition, running_daemon
from throttled_disk import MIB, Load, ThrottledDisk

LIMIT_IOPS = 100  # what a disk that others use as well can always deliver
LIMIT_BYTES = 40_000_000
NEAR = 0.05
DEPTHS = (2, 8, 64)
BELOW = 0.6
# Up to this share of the limit for so long, a disk is below it. fio asks for BELOW, but makes up for
# what it missed while the machine stood still, as fast as the disk takes it: at the limit. On a slow machine
# a look at ten daemons takes seconds, so that is told by the kernel's own counters, read more often.
CLEAR, CLEAR_SECONDS = 0.8, 4.0
COUNTED_SECONDS = 0.25
BELOW_SECONDS, MOST_BELOW_SECONDS, AT_SECONDS, REST_SECONDS = 15, 60, 120, 4
ENOUGH = 20  # ticks at the limit, from the first flagged one on, of every cell
ENOUGH_BELOW = 5  # glances clearly below it
DIRTY_BYTES = 48 * MIB


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of load on one disk. depth: requests at a time; of buffered writes, writers."""

    kind: str  # read, write or buffered
    depth: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.depth}"

    @property
    def is_buffered(self) -> bool:
        return self.kind == "buffered"

    @property
    def dimension(self) -> str:
        return "throughput" if self.is_buffered else "iops"

    @property
    def operation(self) -> str:
        return "read" if self.kind == "read" else "write"

    @property
    def limit(self) -> float:
        return LIMIT_BYTES if self.is_buffered else LIMIT_IOPS

    def done(self, disk: str) -> float:
        """Operations or bytes so far, as the kernel counts them."""
        columns = Path(f"/sys/block/{disk}/stat").read_text(encoding="ascii").split()
        first = 0 if self.operation == "read" else 4
        operations, sectors = float(columns[first]), float(columns[first + 2])
        return diskstats.SECTOR_BYTES * sectors if self.is_buffered else operations

    @property
    def limit_metric(self) -> str:
        unit = "bytes" if self.is_buffered else "operations"
        return f"ioplateau_budget_limit_{unit}_per_second"

    @property
    def counter(self) -> str:
        return f"ioplateau_disk_{'bytes' if self.is_buffered else 'operations'}_total"

    def disk(self) -> ThrottledDisk:
        if self.is_buffered:
            return ThrottledDisk(
                write_bps=LIMIT_BYTES,
                size_bytes=192 * MIB,
                writeback=True,
                dirty_bytes=DIRTY_BYTES,
            )
        return ThrottledDisk(**{f"{self.kind}_iops": LIMIT_IOPS}, size_bytes=32 * MIB)

    def config(self, disk: str) -> str:
        """Of a daemon that knows the limit."""
        key = "bytes_per_second" if self.is_buffered else "iops"
        return f'[[limit]]\ndisk = "{disk}"\n{key} = {self.limit}\n'

    def load(self, disk: ThrottledDisk, share: float | None, seconds: float) -> Load:
        """At `share` of the limit, or as fast as it goes."""
        if not self.is_buffered:
            rate = None if share is None else share * LIMIT_IOPS
            return disk.load(rate, depth=self.depth, seconds=seconds, rw=f"rand{self.kind}")
        each = disk.size_bytes // self.depth
        options = [
            *("--ioengine=psync", f"--numjobs={self.depth}", "--group_reporting"),
            *(f"--size={each}", f"--offset_increment={each}"),
        ]
        size = "256k"
        if share is not None:
            # Written out as it comes. Left to the kernel, it would be held for some seconds and
            # then written as fast as the disk takes it, which is at the limit. So would 64 writers
            # of 256 KiB at once: 16 MiB, for 0.4 s of each 0.7 s. Small writes come evenly.
            options += [f"--rate={round(share * LIMIT_BYTES / self.depth)}"]
            options += ["--sync_file_range=write:1"]
            size = "16k"
        return disk.load(
            depth=1, seconds=seconds, rw="write", bs=size, direct=False, options=tuple(options)
        )


CELLS = tuple(Cell(kind, depth) for kind in ("read", "write", "buffered") for depth in DEPTHS)


@dataclass(frozen=True, slots=True)
class Glance:
    """What one daemon said of one disk at one tick."""

    tick: float
    wall: float  # UNIX seconds
    done: float  # operations or bytes so far
    throttled: frozenset[tuple[str, str, str]]  # (kind, name, dimension) at their limits
    limit: float | None  # the one that holds the disk back


Counted = dict[Cell, list[tuple[float, float]]]  # UNIX seconds, and what the disk had done by then


@contextmanager
def counting(disks: Mapping[Cell, ThrottledDisk]) -> Iterator[Counted]:
    """What the kernel counts of each disk, read several times a second until the context ends."""
    counted: Counted = {cell: [] for cell in disks}
    over = threading.Event()

    def count() -> None:
        while not over.wait(COUNTED_SECONDS):
            for cell, disk in disks.items():
                counted[cell].append((time.time(), cell.done(disk.name)))

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    try:
        yield counted
    finally:
        over.set()
        thread.join()


@dataclass(slots=True)
class Story:
    """One phase of one cell, as one daemon told it, a glance a tick."""

    cell: Cell
    disk: str
    counted: list[tuple[float, float]]
    glances: list[Glance] = field(default_factory=list)
    fio_done: float = 0.0  # operations or bytes, as fio counted them
    fio_rate: float = 0.0

    @property
    def budget(self) -> tuple[str, str, str]:
        """What ought to be blamed."""
        return ("disk", self.disk, self.cell.dimension)

    @property
    def at_limit(self) -> list[Glance]:
        """Ticks at which the disk did what its limit allows. There are others while it is loaded
        where the disk below, or the machine's CPUs, were too busy with others' work.
        """
        return [
            now
            for last, now in pairwise(self.glances)
            if abs((now.done - last.done) / (now.wall - last.wall) / self.cell.limit - 1) <= NEAR
        ]

    @property
    def below_limit(self) -> list[Glance]:
        """Glances before which the disk was clearly below its limit for CLEAR_SECONDS: in each second
        of them, wherever it begins.
        """
        busy = [at for at, rate in seconds_of(self.counted) if rate > CLEAR * self.cell.limit]
        clear = []
        for now in self.glances:
            before = [at for at in busy if at <= now.wall + COUNTED_SECONDS]
            if now.wall - max([*before, self.glances[0].wall]) >= CLEAR_SECONDS:
                clear.append(now)
        return clear

    @property
    def ticks_until_flagged(self) -> int | None:
        """At the limit, the flagged one included; None: never flagged."""
        flags = [self.budget in one.throttled for one in self.at_limit]
        return flags.index(True) + 1 if True in flags else None

    @property
    def flags(self) -> list[bool]:
        """From the first flagged tick on, of every tick at the limit, whether it was flagged."""
        flags = [self.budget in one.throttled for one in self.at_limit]
        return flags[flags.index(True) :] if True in flags else []

    @property
    def wrong(self) -> set[tuple[str, str, str]]:
        """Other budgets that were called throttled."""
        return {budget for one in self.glances for budget in one.throttled} - {self.budget}

    @property
    def limit(self) -> float | None:
        """What it was held to at the end; None: never flagged."""
        return next((one.limit for one in reversed(self.glances) if one.limit is not None), None)

    @property
    def done(self) -> float:
        """Operations or bytes of the load, as the daemon counted them."""
        return self.glances[-1].done - self.glances[0].done


def seconds_of(counted: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Each stretch of about a second: when it ended, and its rate per second."""
    first = 0
    for n, (at, done) in enumerate(counted):
        while first < n - 1 and at - counted[first + 1][0] >= 1.0:
            first += 1
        began, before = counted[first]
        if at - began >= 1.0:
            yield at, (done - before) / (at - began)


def glance(cell: Cell, disk: str, now: Exposition) -> Glance:
    throttled = frozenset(
        (found["kind"], found["name"], found["dimension"])
        for found in now.labels("ioplateau_budget_throttled")
        # The throttle of this rig is a control group's, and others on this machine may have some.
        if found["kind"] != "cgroup" and now.value("ioplateau_budget_throttled", **found) == 1
        if found["kind"] != "disk" or found["name"] == disk
    )
    mine = {"kind": "disk", "name": disk, "dimension": cell.dimension}
    holds = ("disk", disk, cell.dimension) in throttled
    return Glance(
        now.value("ioplateau_ticks_total"),
        now.value("ioplateau_last_tick_timestamp_seconds"),
        sum(now.values(cell.counter, device=disk, operation=cell.operation)),
        throttled,
        now.value(cell.limit_metric, **mine) if holds else None,
    )


Stories = dict[tuple[Cell, bool], Story]


@dataclass(frozen=True, slots=True)
class Observed:
    """The stories by cell and by whether the limit was known: before, at and after the limit."""

    below: Stories
    at: Stories
    after: Stories


def watch(directory: Path) -> Observed:
    """The whole of it. Raises MissingError if this machine cannot."""
    with ExitStack() as stack:
        disks = {cell: stack.enter_context(cell.disk()) for cell in CELLS}
        configs = {
            str(cell): f'[device]\nexclude = ["*"]\ninclude = ["{disk.name}"]\n'
            for cell, disk in disks.items()
        }
        names = ", ".join(f'"{disk.name}"' for disk in disks.values())
        configs["known"] = f'[device]\nexclude = ["*"]\ninclude = [{names}]\n' + "".join(
            cell.config(disk.name) for cell, disk in disks.items()
        )
        daemons = {}
        for name, config in configs.items():
            place = directory / name
            place.mkdir()
            daemons[name] = stack.enter_context(running_daemon(config, place, ["--no-cloud"]))
        counted = stack.enter_context(counting(disks))
        return Observed(
            run(disks, daemons, counted, BELOW),
            run(disks, daemons, counted, None),
            run(disks, daemons, counted, BELOW),
        )


def run(
    disks: dict[Cell, ThrottledDisk],
    daemons: dict[str, Daemon],
    counted: Counted,
    share: float | None,
) -> Stories:
    """Every cell's load until enough is seen of it, below its limit or at it; and a rest."""
    stories = {
        (cell, known): Story(cell, disk.name, counted[cell])
        for cell, disk in disks.items()
        for known in (True, False)
    }
    look(stories, daemons)
    with ExitStack() as stack:
        loads = {cell: cell.load(disk, share, 3600) for cell, disk in disks.items()}
        for load in loads.values():
            stack.callback(load.stop)
        began = time.monotonic()
        while not is_enough(stories, share, time.monotonic() - began):
            time.sleep(1)
            look(stories, daemons)
        for cell, load in loads.items():
            fio = load.finish()[cell.operation]
            for known in (True, False):
                story = stories[cell, known]
                story.fio_done = fio["io_bytes" if cell.is_buffered else "total_ios"]
                story.fio_rate = fio["bw_bytes" if cell.is_buffered else "iops"]
    for _ in range(REST_SECONDS):
        time.sleep(1)
        look(stories, daemons)
    return stories


def is_enough(stories: Stories, share: float | None, seconds: float) -> bool:
    """Whether that was seen which is looked for, or for long enough."""
    if share is None:
        return seconds >= AT_SECONDS or all(len(s.flags) >= ENOUGH for s in stories.values())
    return seconds >= MOST_BELOW_SECONDS or (
        seconds >= BELOW_SECONDS
        and all(len(s.below_limit) >= ENOUGH_BELOW for s in stories.values())
    )


def look(stories: Stories, daemons: dict[str, Daemon]) -> None:
    now = {name: daemon.scrape() for name, daemon in daemons.items()}
    for (cell, known), story in stories.items():
        seen = glance(cell, story.disk, now["known" if known else str(cell)])
        if not story.glances or seen.tick != story.glances[-1].tick:
            story.glances.append(seen)


def table(observed: Observed) -> str:
    """Markdown: what was measured, a line a cell."""
    heads = (
        *("load", "depth", "limit", "found after, known", "unknown", "limit learned"),
        *("held from then on, known", "unknown", "wrong below the limit"),
    )
    lines = [row(heads), row(["---"] * len(heads))]
    for cell in CELLS:
        known, unknown = observed.at[cell, True], observed.at[cell, False]
        wrong = [
            bool(one.throttled)
            for phase in (observed.below, observed.after)
            for flag in (True, False)
            for one in phase[cell, flag].below_limit
        ]
        lines.append(
            row(
                [
                    *(cell.kind, str(cell.depth), shown(cell, cell.limit)),
                    *(until(known), until(unknown), shown(cell, unknown.limit)),
                    *(held(known), held(unknown), f"{sum(wrong)} of {len(wrong)}"),
                ]
            )
        )
    return "\n".join(lines)


def row(words: Iterable[str]) -> str:
    return "| " + " | ".join(words) + " |"


def shown(cell: Cell, limit: float | None) -> str:
    if limit is None:
        return "none"
    return f"{limit / 1e6:.1f} MB/s" if cell.is_buffered else f"{limit:.1f}/s"


def until(story: Story) -> str:
    ticks = story.ticks_until_flagged
    return "never" if ticks is None else f"{ticks} s"


def held(story: Story) -> str:
    return f"{sum(story.flags)} of {len(story.flags)}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ioplateau-matrix-") as place:
        sys.stdout.write(table(watch(Path(place))) + "\n")
