"""What it costs to find out who does it: a look over 5,000 real processes and 500 control groups.

    python bench/consumers.py [--processes 5000]

Prints the CPU time of one look beside that of reading the same files with `cat`, which is the
floor of any program, and the share of one CPU that looking takes while something is throttled.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ioplateau.measure.grouptraffic import GroupTraffic
from ioplateau.measure.host import Host
from ioplateau.measure.processes import Processes
from ioplateau.run.consumers import EVERY_SECONDS, MOST_CPU_SHARE

LOOKS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--processes", type=int, default=5000)
    parser.add_argument("--groups", type=int, default=500)
    options = parser.parse_args()
    children = [_sleeper() for _ in range(options.processes)]
    try:
        with tempfile.TemporaryDirectory() as place:
            _groups(Path(place), options.groups)
            _tell(Path(place))
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


def _sleeper() -> int:
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    return child


def _groups(root: Path, count: int) -> None:
    (root / "sys/fs/cgroup").mkdir(parents=True)
    (root / "sys/fs/cgroup/cgroup.controllers").write_text("io\n")
    for number in range(count):
        group = root / f"sys/fs/cgroup/system.slice/unit{number}.service"
        group.mkdir(parents=True)
        (group / "io.stat").write_text(
            f"8:0 rbytes={number} wbytes=0 rios={number} wios=0 dbytes=0 dios=0\n"
        )


def _tell(root: Path) -> None:
    looks = Processes(Host())
    looks.look(time.monotonic())
    found = looks.look(time.monotonic())
    processes = _seconds(lambda: looks.look(time.monotonic()))
    floor = _seconds(_read_every_io)
    traffic = GroupTraffic(Host(root))
    groups = _seconds(lambda: traffic.look(time.monotonic()))
    look = processes + groups
    every = max(EVERY_SECONDS, look / MOST_CPU_SHARE)
    print(f"processes seen          {found.seen if found else 0:10,d}")
    print(f"a look at processes     {processes * 1e3:10.1f} ms of CPU")
    print(f"  opening and reading   {floor * 1e3:10.1f} ms, ratio {processes / floor:.2f}")
    print(f"a look at groups        {groups * 1e3:10.1f} ms of CPU")
    print(f"while throttled         {look / every:10.2%} of one CPU, a look every {every:.0f} s")


def _read_every_io() -> None:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                descriptor = os.open(f"/proc/{name}/io", os.O_RDONLY)
            except OSError:
                continue
            with suppress(OSError):
                os.pread(descriptor, 4096, 0)
            os.close(descriptor)


def _seconds(work: Callable[[], object]) -> float:
    found = []
    for _ in range(LOOKS):
        before = resource.getrusage(resource.RUSAGE_SELF)
        work()
        after = resource.getrusage(resource.RUSAGE_SELF)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(found)


if __name__ == "__main__":
    main()
