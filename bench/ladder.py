"""A daemon of which only the lower rungs are there: what each of them costs.

    python bench/ladder.py --rung sleep|read|sample|engine [--path.procfs /proc] [--path.sysfs /sys]
    python bench/ladder.py --rung read|sample|engine|history|scrape --ticks 60 --told FILE

Without --ticks in real time, a tick a second until standard input closes: "sleep" only wakes up,
"read" reads what a tick reads and throws it away, "sample" makes snapshots, "engine" understands
them. With --ticks as fast as it goes, on the snapshots of FILE (see instructions.py), for whoever
counts instructions; "history" remembers what the engine found, and "scrape" is asked after each.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path

Tick = Callable[[int], object]


def sleeping(procfs: str, sysfs: str) -> Tick:  # noqa: ARG001
    return lambda number: number


def reading(procfs: str, sysfs: str) -> Tick:  # noqa: ARG001
    import floor

    always = floor.descriptors(procfs, floor.EACH_TICK)
    seldom = floor.descriptors(procfs, floor.EACH_FIFTH)
    return lambda number: floor.read(always if number % 5 else [*always, *seldom])


def sampling(procfs: str, sysfs: str) -> Tick:
    from ioplateau.engine.settings import EngineSettings
    from ioplateau.run.clock import SystemClock
    from ioplateau.run.settings import PathSettings, ServeSettings
    from ioplateau.run.sources import sampler_for

    paths = PathSettings(procfs=procfs, sysfs=sysfs)
    sampler = sampler_for(ServeSettings(EngineSettings(), paths=paths), SystemClock())
    return lambda number: sampler.take()  # noqa: ARG005


def understanding(procfs: str, sysfs: str) -> Tick:
    from ioplateau.engine import Engine
    from ioplateau.engine.settings import EngineSettings

    take = sampling(procfs, sysfs)
    engine = Engine(EngineSettings(asks_cloud=False))
    return lambda number: engine.observe(take(number))  # type: ignore[arg-type]


RUNGS = {"sleep": sleeping, "read": reading, "sample": sampling, "engine": understanding}


def told(path: Path, rung: str) -> Tick:
    """The snapshots of a file, one after the other."""
    from ioplateau.engine import Engine
    from ioplateau.engine.settings import EngineSettings
    from ioplateau.history import History
    from ioplateau.measure.snapshot import Snapshot, Static
    from ioplateau.tell.prometheus import Exposition

    shape, readings = pickle.loads(path.read_bytes())
    static = Static(**shape)
    snapshots = [Snapshot(at, at, at, static, boot=at, texts=texts) for at, texts in readings]
    engine, exposition, history = Engine(EngineSettings()), Exposition(), History()

    def tick(number: int) -> None:
        state = engine.observe(snapshots[number])
        if rung == "history":
            history.observe(state)
        if rung == "scrape":
            exposition.answer(state, "text/plain;version=0.0.4", "gzip")

    return tick


def settle() -> None:
    """As the daemon does before its loop."""
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)


def in_real_time(tick: Tick) -> None:
    due, number = time.monotonic(), 0
    while not select.select([sys.stdin], [], [], max(due - time.monotonic(), 0.0))[0]:
        tick(number)
        number += 1
        due += 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rung", choices=(*RUNGS, "history", "scrape"), required=True)
    parser.add_argument("--path.procfs", dest="procfs", default="/proc")
    parser.add_argument("--path.sysfs", dest="sysfs", default="/sys")
    parser.add_argument("--ticks", type=int)
    parser.add_argument("--told", type=Path)
    given = parser.parse_args()
    if given.told is not None:
        tick = told(given.told, given.rung)
    else:
        tick = RUNGS[given.rung](given.procfs, given.sysfs)
    settle()
    if given.ticks is None:
        in_real_time(tick)
        return
    begun = time.process_time()
    for number in range(given.ticks):
        if number == given.ticks // 2:
            begun = time.process_time()
        tick(number)
    print((time.process_time() - begun) / (given.ticks - given.ticks // 2))


if __name__ == "__main__":
    main()
