"""The judge held against recorded requests behind a known limiter, and beside the plain rule.

    uv run --frozen --with numpy --with numba python bench/traces.py --lab ../shared/lab --seeds 7,301

For each seed: F1 per tick, and with 5 s of tolerance about a limit's begin and end, by what was told;
of the plain rule that people have today (95 % of the limit for 5 s) the same; and alarms in 24 h where
nothing binds, also on devices too slow for what is asked of them. Kept in .cache/cases once simulated.
"""

from __future__ import annotations

import argparse
from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path

import cases
import score_adapter
from ioplateau.judge.usage import drawn
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction

ROOT = Path(__file__).resolve().parent.parent
PLAIN_SHARE, PLAIN_TICKS = 0.95, 5
COLUMNS = ("known", "unknown", "high10", "low10", "plain")
ALARMS = ("never_known", "never_unknown", "slow_known", "slow_unknown")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--lab", type=Path, required=True, help="the laboratory: traces/")
    parser.add_argument("--keep", type=Path, default=ROOT / ".cache" / "cases")
    parser.add_argument("--every", type=int, default=1, help="take every so many runs")
    parser.add_argument("--seeds", default="7")
    options = parser.parse_args(arguments)
    print("| seed | " + " | ".join((*COLUMNS, *(f"alarms, {name}" for name in ALARMS))) + " |")
    print("| --- " * (1 + len(COLUMNS) + len(ALARMS)) + "|")
    for seed in map(int, options.seeds.split(",")):
        ours, plain = {}, {}
        for case in cases.traces(options.lab, options.keep, seed, options.every):
            for way in case.budgets:
                ours[case.name, way] = case, cases.said(case, way)
            plain[case.name, "known"] = case, plain_rule(case)
        figures = cases.of_traces(options.lab, ours)
        figures |= {
            name.replace("known", "plain"): figure
            for name, figure in cases.of_traces(options.lab, plain).items()
            if name.startswith("known")
        }
        cells = [f"{figures[f'{way}_f1']:.3f} / {figures[f'{way}_f1_5s']:.3f}" for way in COLUMNS]
        cells += [f"{figures.get(f'{name}_alarms_24h', 0.0):.0f}" for name in ALARMS]
        print(f"| {seed} | " + " | ".join(cells) + " |", flush=True)


def plain_rule(case: cases.Case) -> list[cases.Said]:
    """95 % of a told limit, as a mean over 5 ticks."""
    recent: dict[tuple[BudgetKey, Dimension], deque[float]] = defaultdict(
        lambda: deque(maxlen=PLAIN_TICKS)
    )
    found, seats = [], case.budgets["known"]
    for _, _, seat, flows, _ in case.ticks:
        answers: cases.Said = {}
        for key, budget in seats[min(seat, len(seats) - 1)].items():
            for limit in budget.limits:
                rate = drawn(budget, flows, limit.dimension, Direction.TOTAL)
                if rate is None:
                    continue
                shares = recent[key, limit.dimension]
                shares.append(rate / limit.value)
                if len(shares) == PLAIN_TICKS and sum(shares) >= PLAIN_SHARE * PLAIN_TICKS:
                    kind = score_adapter.NAMES.get((key.kind, limit.dimension))
                    answers[score_adapter.resource_of(key)] = {"limit": kind}
        found.append(answers)
    return found


if __name__ == "__main__":
    main()
