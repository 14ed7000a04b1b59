"""What a room of the judge keeps over a restart: by budget and by flow, taken up one by one.

A memory is read from a file that anything may have happened to: what does not fit is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from ioplateau.judge.budgets import BudgetKey, FlowKey
from ioplateau.judge.case import Case
from ioplateau.judge.signals import Sense


class _Kept(Protocol):
    def restore(self, memory: Mapping[str, Any], at: float) -> None: ...


class Kept:
    """Saved memories that wait for their flow or budget to appear."""

    __slots__ = ("_cases", "_senses")

    def __init__(self, memory: object = None) -> None:
        self._cases = _table(memory, "cases")
        self._senses = _table(memory, "senses")

    def to_sense(self, flow: FlowKey, sense: Sense, at: float) -> Sense:
        _take(self._senses.pop(_name(flow), None), sense, at)
        return sense

    def to_case(self, key: BudgetKey, case: Case, at: float) -> Case:
        _take(self._cases.pop(_name(key), None), case, at)
        return case


def saved(cases: Iterable[Case], senses: Mapping[FlowKey, Sense]) -> dict[str, Any]:
    """The memory of a room, as JSON values."""
    return {
        "cases": {_name(case.budget.key): case.memory() for case in cases},
        "senses": {_name(flow): sense.memory() for flow, sense in senses.items()},
    }


def _name(key: BudgetKey | FlowKey) -> str:
    return f"{key.kind}:{key.name}"


def _table(memory: object, name: str) -> dict[str, Any]:
    found = memory.get(name) if isinstance(memory, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def _take(memory: object, keeper: _Kept, at: float) -> None:
    if not isinstance(memory, Mapping):
        return
    try:
        keeper.restore(memory, at)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError):
        return
