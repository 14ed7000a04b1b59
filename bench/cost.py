"""What ioplateau costs: ratios to node_exporter, and to merely reading the same bytes.

On the users' Python, as the packages run it (process.py); instructions where valgrind is there.

    .venv/bin/python bench/cost.py [--quick] [--seconds 90] [--sizes small,middle,large]

Everything that is compared runs at the same time on the same files: the daemon with its tick a
second and a scrape each 15 s, node_exporter with the same collectors and a scrape each 15 s, and
bench/floor.py, which reads what a tick reads and throws it away. A process of its own, whose time
nobody is charged with, moves the files each second. One slice of 15 s gives one value of each
ratio; the table has the median over the slices, with the lowest and highest behind it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import catalogue
import instructions
import judging
import process
from process import Program, Scrape
from sizes import SIZES, directory, print_rows

SLICE_SECONDS = 15
WARM_UP_SECONDS = 18  # until the daemon's window of 15 s is full and node_exporter's heap is grown
THEIR_SECOND, OUR_SECOND = 4, 11  # of a slice, at which each is scraped: not at once
MIB = 1 << 20
MISHAPS = ("ioplateau_parse_rejects_total", "ioplateau_ticks_skipped_total")


@dataclass(slots=True)
class Slice:
    """What 15 seconds cost, in seconds of CPU."""

    ticks: list[float] = field(default_factory=list)  # of each second without a scrape
    floors: list[float] = field(default_factory=list)
    ours: float = 0.0
    theirs: float = 0.0
    our_scrape: Scrape | None = None
    their_scrape: Scrape | None = None

    # Means: a few ticks are understood together, and a process with so little to do as the floor
    # is woken late on a busy machine, and catches up.
    @property
    def tick(self) -> float:
        return statistics.mean(self.ticks)

    @property
    def floor(self) -> float:
        return statistics.mean(self.floors)


@dataclass(frozen=True, slots=True)
class Result:
    """One size, measured."""

    name: str
    shape: tuple[int, int, int]
    slices: list[Slice]
    our_start: float
    their_start: float
    our_memory: tuple[int, int]  # VmRSS and VmHWM at the end
    their_memory: tuple[int, int]

    def of(self, scrape: str) -> list[Scrape]:
        return [getattr(each, scrape) for each in self.slices]


def measure(name: str, seconds: int) -> Result:
    """Run all four programs on one tree."""
    shape = SIZES[name]
    with ExitStack() as stack:
        root = stack.enter_context(directory())
        stack.enter_context(process.advancing_tree(root, *shape))
        procfs, sysfs = f"{root}/proc", f"{root}/sys"
        # One after the other: a start is work, and has its own row.
        theirs = stack.enter_context(process.node_exporter(root))
        their_start = theirs.first_scrape()
        ours = stack.enter_context(process.ioplateau(procfs, sysfs))
        our_start = ours.first_scrape()
        floor = stack.enter_context(process.floor(procfs))
        warm_up(ours, theirs)
        slices = [one_slice(ours, theirs, floor) for _ in range(max(seconds // SLICE_SECONDS, 1))]
        check(name, slices)
        return Result(
            name,
            shape,
            slices,
            our_start,
            their_start,
            memory(ours),
            memory(theirs),
        )


def warm_up(ours: Program, theirs: Program) -> None:
    until = time.monotonic() + WARM_UP_SECONDS
    for program in (theirs, ours, theirs, ours):
        program.scrape()
        time.sleep(1)
    time.sleep(max(until - time.monotonic(), 0))


def one_slice(ours: Program, theirs: Program, floor: Program) -> Slice:
    """Fifteen seconds: clocks are read each second, between two ticks more often than not."""
    found = Slice()
    begun = time.monotonic()
    our_begin, their_begin = ours.cpu_seconds, theirs.cpu_seconds
    before, floor_before = our_begin, floor.cpu_seconds
    for second in range(SLICE_SECONDS):
        if second == THEIR_SECOND:
            found.their_scrape = theirs.scrape()
        elif second == OUR_SECOND:
            found.our_scrape = ours.scrape()
        time.sleep(max(begun + second + 1 - time.monotonic(), 0))
        if second == OUR_SECOND - 1:
            ours.settle()  # or the scrape would pay for ticks that wait
        now, floor_now = ours.cpu_seconds, floor.cpu_seconds
        if second != OUR_SECOND:
            found.ticks.append(now - before)
        found.floors.append(floor_now - floor_before)
        before, floor_before = now, floor_now
    found.ours = ours.cpu_seconds - our_begin
    found.theirs = theirs.cpu_seconds - their_begin
    return found


def check(name: str, slices: Sequence[Slice]) -> None:
    """Say where one of the two did not do what it was measured at."""
    found: set[str] = set()
    for each in slices:
        assert each.our_scrape is not None
        assert each.their_scrape is not None
        for line in each.our_scrape.text.splitlines():
            series, _, value = line.rpartition(" ")
            if (series.startswith("ioplateau_source_up") and not float(value)) or (
                series.startswith(MISHAPS) and float(value)
            ):
                found.add(line)
        found.update(re.findall(r"node_scrape_collector_success{.*} 0", each.their_scrape.text))
    if found:
        print(f"{name}: not all was as it should be: {', '.join(sorted(found))}\n")


def memory(program: Program) -> tuple[int, int]:
    return program.memory_bytes("VmRSS"), program.memory_bytes("VmHWM")


def spread(values: Sequence[float], form: str = "{:.2f}") -> str:
    """The median, and the lowest and highest."""
    low, middle, high = (form.format(f(values)) for f in (min, statistics.median, max))
    return middle if low == high else f"{middle} ({low} to {high})"


def column(result: Result) -> list[tuple[str, str]]:
    """The rows of one size."""
    slices = result.slices
    ours, theirs = result.of("our_scrape"), result.of("their_scrape")
    scrapes = list(zip(ours, theirs, strict=True))
    return [
        ("**CPU per second, ours : theirs**", spread([s.ours / s.theirs for s in slices])),
        ("CPU per second, ours", spread([s.ours * 1e3 / SLICE_SECONDS for s in slices], MS)),
        ("CPU per second, theirs", spread([s.theirs * 1e3 / SLICE_SECONDS for s in slices], MS)),
        (
            "**tick : their scrape (CPU)**",
            spread([s.tick / s.theirs for s in slices], "{:.4f}"),
        ),
        ("CPU of a tick", spread([s.tick * 1e3 for s in slices], MS)),
        ("CPU of their scrape", spread([s.theirs * 1e3 for s in slices], "{:.0f} ms")),
        ("tick : reading its files", spread([s.tick / s.floor for s in slices])),
        ("CPU of reading its files", spread([s.floor * 1e3 for s in slices], MS)),
        ("scrape takes, ours : theirs", spread([a.seconds / b.seconds for a, b in scrapes])),
        ("scrape takes, ours", spread([s.seconds * 1e3 for s in ours], "{:.0f} ms")),
        ("scrape takes, theirs", spread([s.seconds * 1e3 for s in theirs], "{:.0f} ms")),
        (
            "**resident memory, ours : theirs**",
            f"{result.our_memory[0] / result.their_memory[0]:.2f}",
        ),
        ("resident (highest), ours", mebibytes(result.our_memory)),
        ("resident (highest), theirs", mebibytes(result.their_memory)),
        ("series, ours : theirs", f"{ours[-1].series / theirs[-1].series:.2f}"),
        ("series, ours", f"{ours[-1].series:,}"),
        ("series, theirs", f"{theirs[-1].series:,}"),
        ("a scrape's bytes (gzip), ours", volume(ours[-1])),
        ("a scrape's bytes (gzip), theirs", volume(theirs[-1])),
        ("start to first answer, ours", f"{result.our_start:.2f} s"),
        ("start to first answer, theirs", f"{result.their_start:.2f} s"),
    ]


MS, MS2 = "{:.1f} ms", "{:.2f} ms"


def mebibytes(pair: tuple[int, int]) -> str:
    return f"{pair[0] / MIB:.1f} ({pair[1] / MIB:.1f}) MiB"


def volume(scrape: Scrape) -> str:
    return f"{scrape.text_bytes:,} ({scrape.wire_bytes:,})"


def print_table(results: Sequence[Result]) -> None:
    columns = [column(result) for result in results]
    heads = [f"{r.name}: {' / '.join(map(str, r.shape))}" for r in results]
    print_rows(
        ["disks / mounts / nconnect", *heads],
        [[cells[0][0], *(text for _, text in cells)] for cells in zip(*columns, strict=True)],
    )


def price_of_nfs() -> None:
    """Memory of the same machine without NFS mounts and with them: netlink is imported for them."""
    disks, mounts, nconnect = SIZES["small"]
    found = {}
    for count in (0, mounts):
        with (
            directory() as root,
            process.advancing_tree(root, disks, count, nconnect),
            process.ioplateau(f"{root}/proc", f"{root}/sys") as ours,
        ):
            ours.first_scrape()
            time.sleep(WARM_UP_SECONDS)
            ours.scrape()
            found[count] = memory(ours)
    print_rows(
        [f"resident (highest), {disks} disks", "ours"],
        [[f"{count} NFS mounts", mebibytes(pair)] for count, pair in found.items()],
    )


def this_machine(seconds: int) -> None:
    """On the real /proc and /sys, beside node_exporter with the same collectors: the floor is the
    kernel's own work there.
    """
    with process.node_exporter() as theirs, process.ioplateau() as ours, process.floor() as floor:
        their_start, start = theirs.first_scrape(), ours.first_scrape()
        start_cpu = ours.cpu_seconds
        warm_up(ours, theirs)
        slices = [one_slice(ours, theirs, floor) for _ in range(max(seconds // SLICE_SECONDS, 1))]
        tick = statistics.median([s.tick for s in slices])
        least = statistics.median([s.floor for s in slices])
        disks = len(Path("/proc/diskstats").read_text().splitlines())
        mounts = Path("/proc/self/mountstats").read_bytes().count(b"statvers=")
        rows = [
            ["what there is", f"{disks} lines of diskstats, {mounts} NFS mounts"],
            ["**CPU per second, ours : theirs**", spread([s.ours / s.theirs for s in slices])],
            ["CPU per second, ours", spread([s.ours * 1e3 / SLICE_SECONDS for s in slices], MS2)],
            [
                "CPU per second, theirs",
                spread([s.theirs * 1e3 / SLICE_SECONDS for s in slices], MS2),
            ],
            ["tick : reading its files", f"{tick / least:.2f}"],
            ["CPU of a tick", MS2.format(tick * 1e3)],
            ["CPU of reading its files", MS2.format(least * 1e3)],
            ["resident (highest), ours", mebibytes(memory(ours))],
            ["resident (highest), theirs", mebibytes(memory(theirs))],
            ["start to first answer, ours (CPU)", f"{start:.2f} s ({start_cpu:.2f} s)"],
            ["start to first answer, theirs", f"{their_start:.2f} s"],
        ]
        print_rows(["this machine's /proc and /sys", platform.release()], rows)


def ladder(seconds: int) -> None:
    """CPU per second on the real /proc and /sys, rung by rung, all at the same time."""
    with ExitStack() as stack:
        rungs = {
            says: stack.enter_context(process.rung(name))
            for says, name in (
                ("waking once a second", "sleep"),
                ("and reading the files", "read"),
                ("and making snapshots of them", "sample"),
                ("and understanding them", "engine"),
            )
        }
        web = stack.enter_context(process.ioplateau())
        web.first_scrape()
        rungs["and the rest of the daemon, scraped each 15 s"] = web
        time.sleep(WARM_UP_SECONDS)
        before = {says: program.cpu_seconds for says, program in rungs.items()}
        for _ in range(max(seconds // SLICE_SECONDS, 1)):
            time.sleep(SLICE_SECONDS)
            web.scrape()
        span = max(seconds // SLICE_SECONDS, 1) * SLICE_SECONDS
        print_rows(
            ["a Python that does no more than", "CPU per second"],
            [
                [says, MS2.format((p.cpu_seconds - before[says]) * 1e3 / span)]
                for says, p in rungs.items()
            ],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seconds", type=int, default=90, help="measured per size, in slices of 15"
    )
    parser.add_argument(
        "--sizes",
        default="small,middle,large",
        help="of " + ",".join(SIZES) + "; empty: this machine only",
    )
    parser.add_argument("--quick", action="store_true", help="two slices of each: a look, no more")
    given = parser.parse_args()
    seconds = 2 * SLICE_SECONDS if given.quick else given.seconds
    sizes = given.sizes.split(",") if given.sizes else []
    if unknown := set(sizes) - SIZES.keys():
        parser.error(f"no such size: {', '.join(sorted(unknown))}")
    python = process.python_version()
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, {process.PYTHON[0]} {python}, load")
    print(f"{' '.join(f'{each:.2f}' for each in os.getloadavg())}; medians, (lowest to highest)\n")
    if sizes:
        print_table([measure(name, seconds) for name in sizes])
        print()
        price_of_nfs()
        print()
    this_machine(min(seconds, 30))
    print()
    ladder(min(seconds, 30))
    print()
    instructions.table([size for size in sizes if size != "large"], list(instructions.RUNGS))
    print()
    catalogue.main()
    print()
    judging.main()
    print(f"\nload at the end {' '.join(f'{each:.2f}' for each in os.getloadavg())}")


if __name__ == "__main__":
    main()
