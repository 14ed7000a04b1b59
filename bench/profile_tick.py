"""Where a tick's and a scrape's time goes, function by function, without the threads around them.

    .venv/bin/python bench/profile_tick.py [--size middle] [--ticks 60] [--sort tottime]

A made-up machine advances a second between ticks; only sampler, engine and exposition are
charged. The profiler makes calls dear, so first the same is timed without it.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable

from hand_bench import HandBench
from sizes import SIZES, directory

WARM_UP = 20  # ticks: until the rate window is full


def run(bench: HandBench, ticks: int, charge: Callable[[], None], rest: Callable[[], None]) -> None:
    """Ticks and a scrape every fifteenth, with the clock or the profiler on for them only."""
    for number in range(ticks):
        snapshot = bench.snapshot()
        charge()
        state = bench.engine.observe(snapshot)
        rest()
        if number % 15 == 14:
            bench.scrape(state)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", default="middle", choices=SIZES)
    parser.add_argument("--ticks", type=int, default=60)
    parser.add_argument("--sort", default="tottime")
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--scrape", action="store_true", help="profile scrapes instead")
    given = parser.parse_args()
    with directory() as root:
        bench = HandBench(root, given.size)
        run(bench, WARM_UP, lambda: None, lambda: None)
        timed(bench, given.ticks)
        profiler = cProfile.Profile()
        if given.scrape:
            profile_scrapes(bench, profiler, given.ticks // 15)
        else:
            run(bench, given.ticks, profiler.enable, profiler.disable)
        pstats.Stats(profiler).sort_stats(given.sort).print_stats(given.rows)


def timed(bench: HandBench, ticks: int) -> None:
    begun: list[float] = []
    took: list[float] = []
    run(
        bench,
        ticks,
        lambda: begun.append(time.thread_time()),
        lambda: took.append(time.thread_time() - begun[-1]),
    )
    print(f"observe: {statistics.median(took) * 1e3:.2f} ms, at most {max(took) * 1e3:.2f} ms")
    scrapes = []
    for _ in range(5):
        for _ in range(15):
            state = bench.engine.observe(bench.snapshot())
        start = time.thread_time()
        bench.scrape(state)
        scrapes.append(time.thread_time() - start)
    print(f"scrape: {statistics.median(scrapes) * 1e3:.2f} ms, at most {max(scrapes) * 1e3:.2f} ms")


def profile_scrapes(bench: HandBench, profiler: cProfile.Profile, scrapes: int) -> None:
    for _ in range(scrapes):
        for _ in range(15):
            state = bench.engine.observe(bench.snapshot())
        profiler.enable()
        bench.scrape(state)
        profiler.disable()


if __name__ == "__main__":
    main()
