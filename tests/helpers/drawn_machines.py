"""Recordings of really throttled disks whose limit, load and times were drawn, not chosen.

    python tests/helpers/drawn_machines.py SEED...   # tests/machines/drawn_SEED for each, all at once; a minute
    python tests/helpers/drawn_machines.py --one-sided SEED...   # tests/machines/one_sided_SEED

Each is a loop device of throttled_disk.py, on which the kernel holds reads and writes to their shares
of one limit, or one direction alone, while the other does what it likes. Only the device's own line of /proc/diskstats is kept, and the machine's small files.
"""

from __future__ import annotations

import json
import math
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ioplateau.measure.snapshot import DISKSTATS, MEMINFO, PRESSURE, Snapshot, Static
from ioplateau.run import recording
from throttled_disk import MIB, ThrottledDisk

MACHINES = Path(__file__).resolve().parent.parent / "machines"
GUARD_SECONDS = 3
READ_SHARES = (0.0, 0.3, 0.5, 0.7, 1.0)
SIZES = (4, 8, 16, 32, 64, 128, 256)  # KiB
# What a disk that others use as well can deliver, eight such loads together.
IOPS, MOST_BYTES = (60.0, 600.0), 12e6


@dataclass(frozen=True, slots=True)
class Drawn:
    """What one recording is of. jitter: requests come at random moments instead of evenly."""

    read_iops: int
    write_iops: int
    depth: int
    size_bytes: int
    jitter: bool
    below: float  # of the limit, before it is reached
    below_seconds: int
    at_seconds: int
    after: float
    after_seconds: int
    others: float = (
        0.0  # requests of the other direction, which is not limited, as a share of the limit
    )

    @property
    def iops(self) -> int:
        return self.read_iops + self.write_iops

    @property
    def read_percent(self) -> int:
        return round(100 * self.read_iops / self.iops)


def drawn(seed: int) -> Drawn:
    r = random.Random(seed)
    size = r.choice(SIZES) * 1024
    iops = min(math.exp(r.uniform(math.log(IOPS[0]), math.log(IOPS[1]))), MOST_BYTES / size)
    depth = round(math.exp(r.uniform(math.log(3), math.log(64))))
    share = r.choice(READ_SHARES)
    return Drawn(
        read_iops=_enforceable(iops * share),
        write_iops=_enforceable(iops * (1 - share)),
        depth=depth,
        size_bytes=size,
        jitter=r.random() < 0.5,
        below=r.uniform(0.3, 0.85),
        below_seconds=r.randint(12, 16),
        at_seconds=r.randint(22, 28),
        after=r.uniform(0.2, 0.7),
        after_seconds=r.randint(9, 12),
    )


def one_sided(seed: int) -> Drawn:
    """Reads limited, or writes, beside others that are not and come at rates that change."""
    r = random.Random(f"one-sided {seed}")
    both = drawn(seed)
    reads = r.random() < 0.5
    return replace(
        both,
        read_iops=both.iops if reads else 0,
        write_iops=0 if reads else both.iops,
        others=math.exp(r.uniform(math.log(0.1), math.log(1.5))),
    )


def _enforceable(iops: float) -> int:
    """The kernel lets pass whole operations in each 0.1 s (throtl_slice, block/blk-throttle.c): of a
    limit of 46 a second, 40 were measured.
    """
    return 0 if iops == 0 else max(10, 10 * round(iops / 10))


def record(seeds: list[int], draw: Callable[[int], Drawn], root: Path = MACHINES) -> None:
    """All of them at once."""
    with ExitStack() as stack:
        threads = []
        for seed in seeds:
            what = draw(seed)
            disk = ThrottledDisk(
                read_iops=what.read_iops or None,
                write_iops=what.write_iops or None,
                size_bytes=64 * MIB,
            )
            arguments = (seed, what, stack.enter_context(disk), root / f"{draw.__name__}_{seed}")
            threads.append(threading.Thread(target=_record, args=arguments))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _record(seed: int, what: Drawn, disk: ThrottledDisk, place: Path) -> None:
    phases: list[dict[str, Any]] = []
    with recorded(place, disk.name) as done:
        beside = threading.Thread(target=_load_beside, args=(seed, what, disk, done))
        beside.start()
        time.sleep(3)
        for name, share, seconds in (
            ("below", what.below, what.below_seconds),
            ("at", None, what.at_seconds),
            ("after", what.after, what.after_seconds),
        ):
            phases.append(_phase(name, share, seconds, what, disk))
        time.sleep(2)
    beside.join()
    limit: dict[str, Any] = {"iops": what.iops}
    if what.others:
        limit["direction"] = _direction(what)
    about = f"drawn with seed {seed} by tests/helpers/drawn_machines.py"
    write_labels(place, about, {disk.name: limit}, asdict(what), phases)


def _direction(what: Drawn) -> str:
    """The one that is limited."""
    return "read" if what.read_iops else "write"


def _load_beside(seed: int, what: Drawn, disk: ThrottledDisk, done: threading.Event) -> None:
    """The other direction, for some seconds at each rate."""
    r = random.Random(f"beside {seed}")
    rw = "randwrite" if what.read_iops else "randread"
    while what.others and not done.is_set():
        rate = max(1.0, what.others * what.iops * r.uniform(0.3, 1.7))
        load = disk.load(rate, depth=4, seconds=60, rw=rw, options=("--rate_process=poisson",))
        done.wait(r.uniform(2, 9))
        load.stop()


def _phase(
    name: str, share: float | None, seconds: int, what: Drawn, disk: ThrottledDisk
) -> dict[str, Any]:
    percent = what.read_percent
    rw = {0: "randwrite", 100: "randread"}.get(percent, "randrw")
    options = [f"--rwmixread={percent}"] if rw == "randrw" else []
    start = time.monotonic()
    if share is not None:
        reads, writes = round(what.read_iops * share), round(what.write_iops * share)
        # Two numbers are of reads and of writes, and none may be nothing.
        options.append(f"--rate_iops={reads or writes},{writes or reads}")
        options += ["--rate_process=poisson"] if what.jitter else []
    load = disk.load(
        depth=what.depth, seconds=seconds, rw=rw, bs=str(what.size_bytes), options=tuple(options)
    )
    before = _done(disk.name, what)
    # fio begins late where CPUs are busy.
    while load.running() and _done(disk.name, what) == before:
        time.sleep(0.05)
        start = time.monotonic()
    fio = load.result()
    end = time.monotonic()
    binding = None
    if share is None:
        binding = {
            "scope": "disk",
            "metric": "either",  # all requests are of one size: operations or bytes, who can tell
            "value": what.iops,
            "devices": [disk.name],
        }
    iops = fio["read"]["iops"] + fio["write"]["iops"]
    return {
        "name": name,
        "start_mono": start,
        "end_mono": end,
        "demand": "as fast as it goes" if share is None else f"{share:.2f} of the limit",
        "binding": binding,
        "fio": {"iops": round(iops, 2)},
        "achieved_over_limit": round(iops / what.iops, 3),
    }


def _done(disk: str, what: Drawn) -> list[str]:
    """Reads and writes so far, of those that are limited."""
    words = Path(f"/sys/block/{disk}/stat").read_text().split()
    limits = zip((what.read_iops, what.write_iops), (words[0], words[4]), strict=True)
    return [done for limit, done in limits if limit]


@contextmanager
def recorded(place: Path, disk: str) -> Iterator[threading.Event]:
    """Record this disk to that directory once a second, as long as the context lasts. Yields what tells its end."""
    place.mkdir(parents=True, exist_ok=True)
    done = threading.Event()
    arguments = (place / "recording.jsonl.gz", disk, done)
    writer = threading.Thread(target=_write, args=arguments)
    writer.start()
    try:
        yield done
    finally:
        done.set()
        writer.join()


def write_labels(
    place: Path,
    about: str,
    limits: dict[str, dict[str, Any]],
    what: dict[str, Any],
    phases: list[dict[str, Any]],
) -> None:
    """Beside a recording: what was limited to what, what was drawn, and which limit bound when."""
    labels = {
        "scenario": place.name,
        "about": about,
        "hz": 1,
        "guard_s": GUARD_SECONDS,
        "limits": limits,
        "drawn": what,
        "phases": phases,
    }
    (place / "labels.json").write_text(json.dumps(labels, indent=1) + "\n")


def _write(file: Path, disk: str, done: threading.Event) -> None:
    size = Path(f"/sys/block/{disk}/size").read_text().strip()
    number = Path(f"/sys/block/{disk}/dev").read_text().strip()
    release = Path("/proc/sys/kernel/osrelease").read_text().strip()
    static = Static(release, {disk: {"dev": number, "size": size}})
    with file.open("wb") as output:
        writer = recording.Writer(output, 1.0)
        for snapshot in _snapshots(disk, static, done):
            writer.write(snapshot)


def _snapshots(disk: str, static: Static, done: threading.Event) -> Iterator[Snapshot]:
    due = time.monotonic()
    while not done.wait(max(0.0, due - time.monotonic())):
        due += 1.0
        mono, wall = time.monotonic(), time.time()
        lines = Path(DISKSTATS).read_bytes().splitlines(keepends=True)
        texts = {DISKSTATS: b"".join(line for line in lines if line.split()[2] == disk.encode())}
        texts[PRESSURE] = Path(PRESSURE).read_bytes()
        wanted = (b"MemTotal", b"Dirty:", b"Writeback:")
        memory = Path(MEMINFO).read_bytes().splitlines(keepends=True)
        texts[MEMINFO] = b"".join(line for line in memory if line.startswith(wanted))
        yield Snapshot(mono, time.monotonic(), wall, static, texts=texts)


if __name__ == "__main__":
    one = sys.argv[1:2] == ["--one-sided"]
    record([int(word) for word in sys.argv[1 + one :]], one_sided if one else drawn)
