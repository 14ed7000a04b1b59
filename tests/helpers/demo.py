"""A disk that the kernel really throttles, and what the daemon says of it, second by second.

`make demo`. Makes a loop device whose backing disk the kernel limits for our load, starts the daemon
on this machine with that limit in its configuration, and reads below, near and at the limit.
About 80 seconds. Needs root, losetup and fio; cleans up after itself, also after Ctrl-C.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from live_daemon import Daemon, Exposition, running_daemon
from throttled_disk import MissingError, ThrottledDisk

LIMIT_IOPS = 500
DEPTH = 16
# What the application asks for, as a share of the limit (None: all it can get), and how long.
PHASES = (
    ("half of the limit", 0.5, 15),
    ("just below the limit", 0.9, 15),
    ("more than the limit allows", None, 25),
    ("half of the limit again", 0.5, 20),
)
HEAD = f"{'second':>6}  {'reads/s':>8}  {'of limit':>8}  {'queue':>6}  {'await':>8}  verdict"


@dataclass(frozen=True, slots=True)
class Tick:
    """The disk's counters at one tick of the daemon."""

    wall: float  # UNIX seconds
    reads: float
    read_seconds: float
    queue_seconds: float

    @classmethod
    def of(cls, now: Exposition, disk: str) -> Tick:
        reading = {"device": disk, "operation": "read"}
        return cls(
            now.value("ioplateau_last_tick_timestamp_seconds"),
            now.value("ioplateau_disk_operations_total", **reading),
            now.value("ioplateau_disk_operation_seconds_total", **reading),
            now.value("ioplateau_disk_queue_seconds_total", device=disk),
        )


def main() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="ioplateau-demo-") as directory:
            show(Path(directory))
    except MissingError as error:
        print(f"make demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped; the disk is gone.")
    return 0


def show(directory: Path) -> None:
    with ThrottledDisk(read_iops=LIMIT_IOPS) as disk:
        config = f'[[limit]]\ndisk = "{disk.name}"\niops = {LIMIT_IOPS}\n'
        print(f"A disk, {disk.device}, that the kernel holds to {LIMIT_IOPS} reads per second.")
        print(f"The daemon was told so:\n\n{config}")
        with running_daemon(config, directory, ["--no-cloud"]) as daemon:
            print(f"It listens at {daemon.url}/ while this runs.\n")
            for what, share, seconds in PHASES:
                print(f"An application asks for {what}.\n{HEAD}")
                load = disk.load(share and share * LIMIT_IOPS, depth=DEPTH, seconds=seconds + 2)
                follow(daemon, disk.name, seconds)
                load.stop()
                print()
            print(summary(daemon.scrape(), disk.name))


def follow(daemon: Daemon, disk: str, seconds: int) -> None:
    """A line a second, from the growth of the counters between two ticks."""
    before = Tick.of(daemon.scrape(), disk)
    for second in range(1, seconds + 1):
        time.sleep(1)
        now = daemon.scrape()
        after = Tick.of(now, disk)
        if after.wall > before.wall:
            print(f"{second:>6}  {line(before, after, now, disk)}", flush=True)
            before = after


def line(before: Tick, after: Tick, now: Exposition, disk: str) -> str:
    elapsed, reads = after.wall - before.wall, after.reads - before.reads
    rate = reads / elapsed
    queue = (after.queue_seconds - before.queue_seconds) / elapsed
    wait = (after.read_seconds - before.read_seconds) / reads * 1000 if reads else 0.0
    told = f"{rate:>8.0f}  {rate / LIMIT_IOPS:>8.0%}  {queue:>6.1f}  {wait:>5.1f} ms"
    return f"{told}  {shown(now.verdict('disk', disk))}"


def shown(verdict: str) -> str:
    if verdict == "throttled" and sys.stdout.isatty():
        return f"\033[1;31m{verdict}\033[0m"
    return verdict


def summary(now: Exposition, disk: str) -> str:
    budget = {"kind": "disk", "name": disk, "dimension": "iops"}
    seconds = now.value("ioplateau_budget_throttled_seconds_total", **budget)
    episodes = now.value("ioplateau_budget_throttle_episodes_total", **budget)
    return (
        f"Throttled for {seconds:.0f} s in {episodes:.0f} episode(s), says "
        f'ioplateau_budget_throttled_seconds_total{{kind="disk",name="{disk}",dimension="iops"}}.'
    )


if __name__ == "__main__":
    sys.exit(main())
