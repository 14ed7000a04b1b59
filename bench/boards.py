"""What the dashboards' queries take: 500 synthetic VMs, 3 hours of a sample each 15 s, the slowest first.

python bench/boards.py [STEP_SECONDS]   # a minute to make them; Debian's prometheus

Each is asked three times, and the fastest counts. More than a second is too much.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import boards_and_rules as ours  # noqa: E402
from board_queries import ask, prometheus_of_the_fleet  # noqa: E402

SHOWN = 12
ROUNDS = 3


def main() -> int:
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with (
        tempfile.TemporaryDirectory() as directory,
        prometheus_of_the_fleet(Path(directory), step) as prometheus,
    ):
        costs = [
            (min(ask(prometheus, shown, step)[1] for _ in range(ROUNDS)), shown)
            for shown in ours.every_expression()
        ]
    costs.sort(key=lambda one: -one[0].seconds)
    print(f"{'seconds':>8} {'samples':>10} {'held':>9}  board: panel")
    for cost, shown in costs[:SHOWN]:
        print(
            f"{cost.seconds:8.3f} {cost.samples:10,} {cost.peak_samples:9,}  "
            f"{shown.board}: {shown.panel['title']}"
        )
    print(f"{len(costs)} queries, {sum(cost.seconds for cost, _ in costs):.2f} s in all")
    return int(costs[0][0].seconds > 1)


if __name__ == "__main__":
    sys.exit(main())
