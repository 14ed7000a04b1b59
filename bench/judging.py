"""What judging costs: CPU of a tick's verdicts, and memory of a budget, at 12 and at 300 budgets.

A made-up machine in memory, no files: half of the disks and a quarter of the mounts are busy and
healthy, a quarter of either is held at its configured limit, the rest is idle. The judge's time
is taken inside whole ticks, as a share of them: all else of a tick (parsing, rates, books) is in
the same second under the same load.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

import tree
from ioplateau.engine import Engine, EngineSettings
from ioplateau.judge.judge import Judge
from ioplateau.limits.budgets import BudgetKey, Verdict
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure import snapshot as sources
from ioplateau.measure.snapshot import Snapshot, Static
from ioplateau.state import State
from machine import Machine, Shape

# Disks, mounts and connections; budgets are also stripes, lanes, slots, connections, network.
SHAPES = {12: Shape(5, 3, 4), 300: Shape(96, 152, 8)}
WARM_UP = 75  # ticks: until the longest window, the peak's, is full
TICKS = 120
HELD_DISK, HELD_MOUNT = 500, 200  # operations a second
PATHS = {
    sources.DISKSTATS: "proc/diskstats",
    sources.MOUNTSTATS: f"proc/{tree.PID}/mountstats",
    sources.NETDEV: f"proc/{tree.PID}/net/dev",
    sources.PRESSURE: "proc/pressure/io",
    sources.STAT: "proc/stat",
    sources.MEMINFO: "proc/meminfo",
}


class Stopwatch(Judge):
    """A judge that takes its own time."""

    seconds = 0.0

    def observe(self, *given: Any, **named: Any) -> Mapping[BudgetKey, Verdict]:
        begun = time.thread_time()
        verdicts = super().observe(*given, **named)
        self.seconds = time.thread_time() - begun
        return verdicts


class Bench:
    """One machine and one engine."""

    def __init__(self, shape: Shape) -> None:
        self.machine = Machine(shape)
        self.judge = Stopwatch()
        self.now = 0.0
        limits = [ConfiguredLimit(vm="uncached", iops=500_000.0)]
        for number, disk in enumerate(d for d in self.machine.disks if not d.partition_of):
            disk.held = HELD_DISK if number % 4 == 1 and not disk.slaves else 0
            iops = float(disk.held or 20_000)
            limits.append(ConfiguredLimit(disk=disk.name, iops=iops, bytes_per_second=1e9))
        for number, mount in enumerate(self.machine.mounts):
            mount.held = HELD_MOUNT if number % 4 == 2 else 0
            iops = float(mount.held or 50_000)
            limits.append(ConfiguredLimit(mount=mount.point, iops=iops, bytes_per_second=1e9))
        settings = EngineSettings(rules=Rules(limits=tuple(limits)), asks_cloud=False)
        self.engine = Engine(settings, self.judge)
        standing = tree.standing(self.machine)
        self.static = Static(
            block={d.name: {"size": str(d.sectors)} for d in self.machine.disks},
            slaves={d.name: tuple(s.name for s in d.slaves) for d in self.machine.disks},
            partitions={d.name: d.partition_of.name for d in self.machine.disks if d.partition_of},
            mountinfo=standing[f"proc/{tree.PID}/mountinfo"].encode(),
        )

    def tick(self) -> tuple[State, float]:
        """A second later: what is known, and the CPU of finding out."""
        self.now += 1.0
        self.machine.advance(1.0)
        moved = tree.moving(self.machine)
        texts = {path: moved[place].encode() for path, place in PATHS.items()}
        snapshot = Snapshot(
            mono=self.now, mono_end=self.now, wall=self.now, static=self.static, texts=texts
        )
        begun = time.thread_time()
        state = self.engine.observe(snapshot)
        return state, time.thread_time() - begun


def held_bytes(root: object) -> int:
    """Bytes of all that is reachable from `root`, but for code and what belongs to it."""
    seen: set[int] = set()
    found, todo = 0, [root]
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, type | ModuleType | FunctionType | Enum):
            continue
        seen.add(id(each))
        found += sys.getsizeof(each)
        todo.extend(gc.get_referents(each))
    return found


def row(budgets: int) -> str:
    """One size, measured."""
    bench = Bench(SHAPES[budgets])
    for _ in range(WARM_UP):
        bench.tick()
    judging, ticks = [], []
    for _ in range(TICKS):
        state, took = bench.tick()
        judging.append(bench.judge.seconds)
        ticks.append(took)
    assert len(state.budgets) == budgets, f"{len(state.budgets)} budgets, want {budgets}"
    words = Counter(each.verdict.word.value for each in state.budgets.values())
    judge, tick = statistics.median(judging), statistics.median(ticks)
    share = statistics.median([a / b for a, b in zip(judging, ticks, strict=True)])
    kept = held_bytes(bench.judge) / budgets
    named = ", ".join(f"{count} {word}" for word, count in words.most_common())
    return (
        f"| {budgets:7} | {judge * 1e3:8.2f} ms | {judge * 1e6 / budgets:10.1f} us |"
        f" {tick * 1e3:7.2f} ms | {share:13.2f} | {kept / 1024:8.1f} KiB | {named} |"
    )


def main() -> int:
    """Print the table."""
    print(f"judging, medians of {TICKS} ticks of a second")
    print(
        "| budgets | judge, tick | judge, budget | whole tick | judge of tick | kept, budget | words |"
    )
    print(
        "| ---     | ---         | ---           | ---        | ---           | ---          | --- |"
    )
    for budgets in SHAPES:
        print(row(budgets))
    return 0


if __name__ == "__main__":
    sys.exit(main())
