"""The verdicts of one state as a line of JSON: what `replay --format json` prints a snapshot."""

from __future__ import annotations

import json
import math
from typing import Any

from ioplateau.state import BudgetState, State


def line(state: State) -> str:
    """One JSON object without a newline; every budget, in the order of kind and name.

    Times in seconds (`since` on the same clock as `mono`), limits in operations or bytes per
    second or slots, shares from 0 to 1; null for what is not known. Bytes of a mount point that
    are no text stay lone surrogates, as in the recording.
    """
    budgets = [budget(found) for _, found in sorted(state.budgets.items())]
    return json.dumps(
        {"mono": state.mono, "wall": state.wall, "budgets": budgets},
        separators=(",", ":"),
        allow_nan=False,
    )


def budget(found: BudgetState) -> dict[str, Any]:
    """What holds of one budget, as JSON values."""
    verdict = found.verdict
    return {
        "kind": found.budget.key.kind,
        "name": found.budget.key.name,
        "verdict": verdict.word,
        "dimension": verdict.dimension,
        "direction": verdict.direction,
        "limit": finite(verdict.limit),
        "origin": verdict.origin,
        "since": verdict.since,
        "utilization": finite(verdict.utilization),
        "demand": finite(verdict.demand),
        "evidence": {key: finite(value) for key, value in verdict.evidence.items()},
    }


def finite(value: float | str | None) -> float | str | None:
    """JSON has no infinity: programs that read it would stop at one."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
