"""The real daemon, for as long as one likes, while disks, mounts, groups and clients come and go.

    .venv/bin/python bench/soak.py --minutes 20 [--write docs/soak.md]      (root)

Prints a table and exits 1 if anything grew, stopped, failed or was late that the machine did not
make late. Beside the daemon a process that only sleeps keeps the same grid: where that one is late
too, or tasks wait for a CPU, or the hypervisor takes it, the machine was.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))

from churn import Churn
from live_daemon import Daemon, running_daemon

GROWTH_MIB_PER_MINUTE = 0.08
# What a start brings in: every page of code is used for the first time, and an empty history fills:
# its finest level keeps 15 minutes (history/rings.py).
WARM_UP_SHARE, MOST_WARM_UP_SECONDS = 0.4, 900.0
JUDGED_MINUTES = 10.0  # growth over less is noise
LATE_SECONDS = 0.1  # of the process that only sleeps
PRESSED_RATIO = 0.3  # of the time, some task waited for a CPU
STOLEN_RATIO = 0.05
CONTROL = """
import sys, time
begin, number = time.monotonic(), 0
while True:
    number += 1
    due = begin + number
    time.sleep(max(due - time.monotonic(), 0.0))
    late = time.monotonic() - due
    print(f"{time.monotonic():.3f} {late:.4f}", flush=True)
    number += int(late)
"""


@dataclass(slots=True)
class Second:
    """What was seen at one look. Counters of the daemon are since its start."""

    at: float  # monotonic seconds
    ticks: float
    skipped: float
    tick_seconds: float
    resident_mib: float
    threads: int
    descriptors: float
    cpu_waiting: float  # seconds in which some task waited for a CPU, since boot
    stolen: float  # seconds of all processors, since boot
    late_seconds: float  # of the process that only sleeps, the worst since the last look


@dataclass(slots=True)
class Seen:
    seconds: list[Second] = field(default_factory=list)
    unanswered: int = 0
    restarts: int = 0
    errors: list[str] = field(default_factory=list)


class Control:
    """Sleeps on a grid of a second and tells how late it woke."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "control"
        self._read = 0
        with self._file.open("wb") as output:
            self.process = subprocess.Popen([sys.executable, "-c", CONTROL], stdout=output)

    def worst_late(self) -> float:
        text = self._file.read_text()[self._read :]
        whole = text[: text.rfind("\n") + 1]
        self._read += len(whole)
        return max((float(line.split()[1]) for line in whole.splitlines()), default=0.0)


def look(daemon: Daemon, control: Control) -> Second:
    """Raises OSError and LookupError where the daemon does not answer as it should."""
    found = daemon.scrape()
    status = Path(f"/proc/{daemon.process.pid}/status").read_text().split("\n")
    fields = dict(line.split(":", 1) for line in status if ":" in line)
    return Second(
        time.monotonic(),
        found.value("ioplateau_ticks_total"),
        found.value("ioplateau_ticks_skipped_total"),
        found.value("ioplateau_tick_seconds_sum"),
        int(fields["VmRSS"].split()[0]) / 1024,
        int(fields["Threads"]),
        len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir())),
        cpu_waiting_seconds(),
        stolen_seconds(),
        control.worst_late(),
    )


def cpu_waiting_seconds() -> float:
    try:
        line = Path("/proc/pressure/cpu").read_text().split("\n", maxsplit=1)[0]
    except OSError:  # a kernel without PSI
        return 0.0
    return int(line.rpartition("total=")[2]) / 1e6


def stolen_seconds() -> float:
    words = Path("/proc/stat").read_text().split("\n", maxsplit=1)[0].split()
    return int(words[8]) / 100


def soak(minutes: float, seed: int) -> tuple[Seen, Churn]:
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        state = directory / "state"
        state.mkdir()
        arguments = ["--no-cloud", "--state.directory", str(state)]
        daemon = stack.enter_context(running_daemon("", directory, arguments))
        control = Control(directory)
        stack.callback(control.process.wait)
        stack.callback(control.process.kill)
        churn = stack.enter_context(Churn(directory, daemon.url.rpartition("/")[2], seed))
        seen, ends = Seen(), time.monotonic() + minutes * 60
        while (now := time.monotonic()) < ends:
            if daemon.process.poll() is not None:
                seen.restarts += 1
                break
            try:
                seen.seconds.append(look(daemon, control))
            except (OSError, LookupError) as error:
                seen.unanswered += 1
                print(f"no answer: {error!r}", file=sys.stderr)
            time.sleep(max(now + 1 - time.monotonic(), 0.0))
        log = daemon.log.read_text(errors="replace").splitlines()
        seen.errors = [line for line in log if "level=error" in line]
        return seen, churn


def growth_per_minute(seconds: list[Second]) -> float:
    """Of resident memory, MiB: slope of a least-squares line after the warm-up."""
    length = seconds[-1].at - seconds[0].at
    begin = seconds[0].at + min(WARM_UP_SHARE * length, MOST_WARM_UP_SECONDS)
    points = [((one.at - begin) / 60, one.resident_mib) for one in seconds if one.at >= begin]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / below if below else 0.0


def late_ticks(seconds: list[Second]) -> tuple[int, list[str]]:
    """Ticks that were skipped, and a line for each look in which the machine does not explain it."""
    late, unexplained = 0, []
    for place in range(1, len(seconds)):
        skipped = int(seconds[place].skipped - seconds[place - 1].skipped)
        if not skipped:
            continue
        late += skipped
        # A look sees a tick that was late before it; the machine may have been so for longer.
        around = seconds[max(place - 4, 0) : place + 2]
        elapsed = around[-1].at - around[0].at
        worst = max(one.late_seconds for one in around)
        pressed = (around[-1].cpu_waiting - around[0].cpu_waiting) / elapsed
        stolen = (around[-1].stolen - around[0].stolen) / elapsed
        if worst < LATE_SECONDS and pressed < PRESSED_RATIO and stolen < STOLEN_RATIO:
            at = seconds[place].at - seconds[0].at
            unexplained.append(
                f"after {at:.0f} s: {skipped} skipped; the sleeper {worst:.3f} s late, CPU waited "
                f"for {pressed:.0%} of the time, {stolen:.0%} stolen"
            )
    return late, unexplained


def report(seen: Seen, churn: Churn) -> tuple[list[str], bool]:
    """A table in Markdown, and whether all is well."""
    seconds = seen.seconds
    minutes = (seconds[-1].at - seconds[0].at) / 60
    growth = growth_per_minute(seconds)
    late, unexplained = late_ticks(seconds)
    ticks = int(seconds[-1].ticks)
    is_long = minutes >= JUDGED_MINUTES
    verdicts: list[tuple[str, Any, str, bool]] = [
        ("minutes", f"{minutes:.1f}", "", True),
        ("ticks", f"{ticks:,}", "", True),
        ("restarts", seen.restarts, "0", seen.restarts == 0),
        ("lines of errors in the log", len(seen.errors), "0", not seen.errors),
        ("looks that were not answered", seen.unanswered, "0", seen.unanswered == 0),
        ("late ticks", late, "", True),
        ("... that the machine did not make late", len(unexplained), "0", not unexplained),
        ("mean time of a tick", f"{1000 * seconds[-1].tick_seconds / ticks:.1f} ms", "", True),
        ("resident memory at the end", f"{seconds[-1].resident_mib:.1f} MiB", "", True),
        ("growth of it after the warm-up", f"{growth:+.3f} MiB/min",
         f"{GROWTH_MIB_PER_MINUTE}" + ("" if is_long else ", of ten minutes or more"),
         growth <= GROWTH_MIB_PER_MINUTE or not is_long),
        ("threads, at most and at the end",
         f"{max(one.threads for one in seconds)}, {seconds[-1].threads}", "", True),
        ("open descriptors, at most and at the end",
         f"{max(one.descriptors for one in seconds)}, {seconds[-1].descriptors}", "", True),
    ]  # fmt: skip
    lines = ["| what | found | bound | |", "|---|---|---|---|"]
    lines += [
        f"| {what} | {found} | {bound} | {'' if not bound else 'kept' if good else 'NOT KEPT'} |"
        for what, found, bound, good in verdicts
    ]
    came = ", ".join(f"{count:,} {what}" for what, count in sorted(churn.done.items()))
    missed = ", ".join(f"{count:,} {what}" for what, count in sorted(churn.failed.items()))
    lines += ["", f"Came and went: {came}." + (f" Could not be made: {missed}." if missed else "")]
    lines += ["", *(f"- {line}" for line in (*unexplained, *seen.errors[:10]))]
    return lines, all(good for _, _, _, good in verdicts)


HEAD = """# Soak

The real daemon while loop disks with file systems, mounts, control groups, network interfaces and
HTTP clients (well-behaved ones, and ones that hang up, say nothing or talk nonsense) come and go,
several a second. A tick is late where the daemon left one out. It is the machine's doing where a
process that only sleeps on the same grid woke {late} s late or more in those seconds, where tasks
waited for a CPU for {pressed:.0%} of the time, or where the hypervisor took {stolen:.0%} of it. Made by
`make soak` (root), outside CI:
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, metavar="FILE", help="the report, as Markdown")
    options = parser.parse_args()
    seen, churn = soak(options.minutes, options.seed)
    if len(seen.seconds) < 30:
        print("less than half a minute was seen", file=sys.stderr)
        return 1
    lines, is_well = report(seen, churn)
    print("\n".join(lines))
    if options.write:
        head = HEAD.format(late=LATE_SECONDS, pressed=PRESSED_RATIO, stolen=STOLEN_RATIO)
        kernel = Path("/proc/sys/kernel/osrelease").read_text().strip()
        made = f"{datetime.now(UTC):%Y-%m-%d}, Linux {kernel}, Python {sys.version.split()[0]}."
        options.write.write_text("\n".join([head, made, "", *lines]).rstrip() + "\n")
    return not is_well


if __name__ == "__main__":
    sys.exit(main())
