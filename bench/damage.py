"""Damaged ticks by the hundred thousand, as many seeds at once as there are processors.

    .venv/bin/python bench/damage.py [--ticks 100000] [--seed 1]

Prints a line a part with its seed; exits 1 where a tick, or telling it, raised anything.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))

from damage import endured

PART = 2000


def part(seed: int) -> str:
    """What a part raised; empty: nothing."""
    try:
        endured(Random(seed), PART)
    except Exception:
        return traceback.format_exc(limit=-4)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + -(-options.ticks // PART))
    begin, wrong = time.monotonic(), 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for seed, raised in zip(seeds, pool.map(part, seeds), strict=True):
            if raised:
                wrong += 1
                print(f"seed {seed}:\n{raised}")
    seconds = time.monotonic() - begin
    print(f"{len(seeds) * PART:,} damaged ticks in {seconds:.0f} s, {wrong} parts raised something")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
