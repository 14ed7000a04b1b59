"""What a part of the judge keeps over a restart: by budget and by flow, taken up one by one.

A memory is read from a file that anything may have happened to: it is checked as a whole first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ioplateau.judge.case import Case
from ioplateau.judge.shapes import flag, number, record, row, rows, table, text, word
from ioplateau.judge.signals import WatchedFlow
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey, Word

# Wider than anything real, and far from where dividing or adding leaves the numbers there are.
RATE = number(1e-6, 1e18)
AMOUNT = number(0, 1e18)
SECONDS = number(0, 1e12)

_FLOORS = rows(row(number(0, 1e6), SECONDS, number(-1e12, 1e12), AMOUNT, AMOUNT, AMOUNT))
_WATCHED = record({"floors": _FLOORS, "rtt_floors": _FLOORS, "typical": AMOUNT})
_PLATEAU = record(
    {
        "ceilings": table(word(Dimension), rows(row(RATE, SECONDS))),
        "free": rows(RATE),
        "highest": table(word(Dimension), AMOUNT),
        "now": row(word(Dimension), AMOUNT, AMOUNT, flag),
    },
    {"stands": table(word(Dimension), rows(row(RATE, AMOUNT)))},
)
_CLAIM = record({"value": RATE, "score": AMOUNT, "on": flag})
_CASE = record(
    {
        "plateau": _PLATEAU,
        "claims": rows(row(word(Dimension), word(Direction), _CLAIM)),
        "word": word(Word),
        "since": number(-1e12, 1e12),
    }
)
# Of one part.
SAVED = record({}, {"cases": table(text(), _CASE), "senses": table(text(), _WATCHED)})


class SavedCases:
    """Saved memories, which fit SAVED, that wait for their flow or budget to appear."""

    __slots__ = ("_cases", "_watched_flows")

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._cases = dict(memory.get("cases", {}))
        self._watched_flows = dict(memory.get("senses", {}))

    def to_watched(self, flow: FlowKey, watched: WatchedFlow, at: float) -> WatchedFlow:
        values = self._watched_flows.pop(_name(flow), None)
        if values is not None:
            watched.restore(values, at)
        return watched

    def to_case(self, key: BudgetKey, case: Case, at: float) -> Case:
        values = self._cases.pop(_name(key), None)
        if values is not None:
            case.restore(values, at)
        return case


def saved(cases: Iterable[Case], watched_flows: Mapping[FlowKey, WatchedFlow]) -> dict[str, Any]:
    """The memory of one part, as JSON values."""
    return {
        "cases": {_name(case.budget.key): case.memory() for case in cases},
        "senses": {_name(flow): watched.memory() for flow, watched in watched_flows.items()},
    }


def _name(key: BudgetKey | FlowKey) -> str:
    return f"{key.kind}:{key.name}"
