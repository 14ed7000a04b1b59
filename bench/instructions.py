"""Instructions and CPU time of a tick, rung by rung, on the users' Python, without threads and noise.

    .venv/bin/python bench/instructions.py [--sizes small,middle] [--rungs engine,scrape] [--ticks 20]

The same snapshots of a made-up machine, a second apart, for every run. What callgrind (valgrind)
counts in twice as many ticks, less what it counts in half of them, is what the later half took:
start, imports and the first window are not in it. The same code gives the same count within 0.1 %.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import process
from hand_bench import HandBench
from sizes import SIZES, directory, print_rows

TICKS = 20  # from the window being full on
RUNGS = ("read", "sample", "engine", "history", "scrape")
NO_VALGRIND = "no instructions: valgrind is missing here (apt-get install valgrind)"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="small,middle", help="of " + ",".join(SIZES))
    parser.add_argument("--rungs", default=",".join(RUNGS))
    parser.add_argument("--ticks", type=int, default=TICKS)
    parser.add_argument("--keep", type=Path, help="leave callgrind's files in this directory")
    given = parser.parse_args()
    table(given.sizes.split(","), given.rungs.split(","), given.ticks, given.keep)


def table(sizes: list[str], rungs: list[str], ticks: int = TICKS, keep: Path | None = None) -> None:
    """Print a row for each size and rung."""
    has_valgrind = shutil.which("valgrind") is not None
    if not has_valgrind:
        print(NO_VALGRIND)
    rows = []
    for size in sizes:
        with directory() as root:
            told = written(root, size, 2 * ticks)
            for rung in rungs:
                command = process.bench_command("ladder", *arguments(rung, root, told))
                counted = "-"
                if has_valgrind:
                    place = (keep or root) / f"callgrind.{rung}"
                    runs = [instructions(command, n, place) for n in (ticks, 2 * ticks)]
                    counted = f"{(runs[1] - runs[0]) / ticks / 1e3:,.0f}"
                rows.append([size, rung, counted, f"{seconds(command, 2 * ticks) * 1e3:.2f} ms"])
    print_rows(["size", "up to", "thousand instructions, tick", "CPU, tick"], rows)


def written(root: Path, size: str, ticks: int) -> Path:
    """The snapshots, in a file; the machine's files stay as they are at the end."""
    bench = HandBench(root, size)
    told = root / "told"
    snapshots = [bench.snapshot() for _ in range(ticks)]
    shape = {
        name: each if each is None or isinstance(each, str | bytes) else dict(each)
        for name, each in bench.static._asdict().items()
    }
    told.write_bytes(pickle.dumps((shape, [(s.mono, s.texts) for s in snapshots])))
    return told


def arguments(rung: str, root: Path, told: Path) -> list[str]:
    if rung in {"engine", "history", "scrape"}:
        return ["--rung", rung, "--told", str(told)]
    paths = ["--path.procfs", str(root / "proc"), "--path.sysfs", str(root / "sys")]
    return ["--rung", rung, *paths]


def instructions(command: list[str], ticks: int, place: Path) -> int:
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={place}.{ticks}"]
    done = subprocess.run(
        [*valgrind, *command, "--ticks", str(ticks)],
        capture_output=True, check=False, env={**os.environ, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr.decode())
    collected = re.search(rb"Collected : (\d+)", done.stderr)
    assert collected is not None
    return int(collected[1])


def seconds(command: list[str], ticks: int) -> float:
    """CPU time of a tick: the least of some runs, since whatever disturbs only adds."""
    runs = [
        subprocess.run([*command, "--ticks", str(ticks)], capture_output=True, check=True)
        for _ in range(5)
    ]
    return min(float(run.stdout) for run in runs)


if __name__ == "__main__":
    main()
