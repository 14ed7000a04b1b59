"""What a part of the judge keeps over a restart: by budget and by flow, taken up one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ioplateau.judge.case import Case
from ioplateau.judge.memory import SavedPart
from ioplateau.judge.signals import WatchedFlow
from ioplateau.limits.budgets import BudgetKey, FlowKey


class SavedCases:
    """Saved memories that wait for their flow or budget to appear."""

    __slots__ = ("_cases", "_watched_flows")

    def __init__(self, saved: SavedPart) -> None:
        self._cases = dict(saved.cases)
        self._watched_flows = dict(saved.senses)

    def to_watched(self, flow: FlowKey, watched: WatchedFlow, at: float) -> WatchedFlow:
        saved = self._watched_flows.pop(_name(flow), None)
        if saved is not None:
            watched.restore(saved, at)
        return watched

    def forget(self, names: Collection[str]) -> None:
        """What was saved of these flows, "kind:name", and of the budgets named like them, is another's."""
        bare = {name.partition(":")[2] for name in names}
        for flow in names:
            self._watched_flows.pop(flow, None)
        for case in [each for each in self._cases if each.partition(":")[2] in bare]:
            del self._cases[case]

    def to_case(self, key: BudgetKey, case: Case, at: float) -> Case:
        saved = self._cases.pop(_name(key), None)
        if saved is not None:
            case.restore(saved, at)
        return case


def saved_part(cases: Iterable[Case], watched_flows: Mapping[FlowKey, WatchedFlow]) -> SavedPart:
    """The memory of one part."""
    return SavedPart(
        {_name(case.budget.key): case.memory() for case in cases},
        {_name(flow): watched.memory() for flow, watched in watched_flows.items()},
    )


def names_of(flows: Iterable[FlowKey]) -> set[str]:
    """As they are saved."""
    return set(map(_name, flows))


def _name(key: BudgetKey | FlowKey) -> str:
    return f"{key.kind}:{key.name}"
