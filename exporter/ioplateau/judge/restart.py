"""What a part of the judge keeps over a restart, and for a while of what is gone: by budget and by flow, taken up
one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from ioplateau.judge.case import Case
from ioplateau.judge.memory import SavedPart
from ioplateau.judge.pool import Pool
from ioplateau.judge.signals import WatchedFlow
from ioplateau.limits.budgets import Budget, BudgetKey, FlowKey

T = TypeVar("T")


class SavedCases:
    """Saved memories that wait for their flow or budget to appear."""

    __slots__ = ("_away_seconds", "_cases", "_first_at", "_watched_flows")

    def __init__(self, saved: SavedPart, away_seconds: float) -> None:
        """saved: `away_seconds` before the first tick."""
        self._cases = dict(saved.cases)
        self._watched_flows = dict(saved.senses)
        self._away_seconds = away_seconds
        self._first_at: float | None = None

    def begin(self, at: float) -> None:
        """What waits is about to be asked for; the first time, at the first tick."""
        if self._first_at is None:
            self._first_at = at

    def to_watched(self, flow: FlowKey, watched: WatchedFlow, at: float) -> WatchedFlow:
        saved = self._watched_flows.pop(_name(flow), None)
        if saved is not None:
            watched.restore(saved, at)
        return watched

    @property
    def names(self) -> set[str]:
        """Of what still waits, without kinds."""
        return {_bare(each) for each in (*self._cases, *self._watched_flows)}

    def forget(self, names: Collection[str]) -> None:
        """What was saved of the flows and budgets with these names waits no more: it is another's, or too old."""
        for book in (self._cases, self._watched_flows):
            for each in [each for each in book if _bare(each) in names]:
                del book[each]

    def put(self, part: SavedPart) -> None:
        """Let this wait from now on, and nothing else. It is taken for as old as what was saved: what comes back is
        not known for a tick, so a verdict begins anew in any case.
        """
        self._cases, self._watched_flows = dict(part.cases), dict(part.senses)

    def rename(self, names: Mapping[str, str]) -> None:
        """What waits under each of these names waits under another; what waited there goes."""
        self._cases = _renamed(self._cases, names)
        self._watched_flows = _renamed(self._watched_flows, names)

    def carried_on(
        self, before: Case | None, budget: Budget, drawn: WatchedFlow | Pool, at: float
    ) -> Case:
        """The case of a budget: as it was in the block before, else as it was saved, else a new one."""
        if before is not None and before.drawn is drawn:
            if before.budget.limits != budget.limits:
                before.replace_limits(budget.limits)
            before.budget = budget
            return before
        case = Case(budget, drawn, at)
        saved = self._cases.pop(_name(budget.key), None)
        if saved is not None:
            assert self._first_at is not None  # take_budgets() began
            case.restore(saved, at, self._away_seconds + at - self._first_at)
        return case

    def memory(
        self, cases: Iterable[Case], watched_flows: Mapping[FlowKey, WatchedFlow]
    ) -> SavedPart:
        """The memory of one part, with what still waits."""
        now = {_name(case.budget.key): case.memory() for case in cases}
        flows = {_name(flow): watched.memory() for flow, watched in watched_flows.items()}
        return SavedPart({**self._cases, **now}, {**self._watched_flows, **flows})


class Restartable:
    """A part of the judge that an earlier run's memory is handed to."""

    def __init__(self) -> None:
        self._watched_flows: dict[FlowKey, WatchedFlow] = {}
        self._saved = SavedCases(SavedPart(), 0.0)

    def cases(self) -> Iterable[Case]:
        """Every budget judged here."""
        raise NotImplementedError

    def memory(self) -> SavedPart:
        """All that must survive a restart."""
        return self._saved.memory(self.cases(), self._watched_flows)

    def restore(self, saved: SavedPart, away_seconds: float) -> None:
        """Memories saved `away_seconds` ago, taken up as their disks or mounts appear."""
        self._saved = SavedCases(saved, away_seconds)

    def forget(self, flows: Collection[FlowKey]) -> None:
        """Others stand under these names now; before the budgets of that are taken."""
        for flow in flows:
            self._watched_flows.pop(flow, None)
        self.let_go({flow.name for flow in flows})

    def wait_for(self, names: Collection[str]) -> None:
        """What is known of these waits for them to come back; before budgets without them are taken."""
        cases = [case for case in self.cases() if case.budget.key.name in names]
        flows = {flow: one for flow, one in self._watched_flows.items() if flow.name in names}
        self._saved.put(self._saved.memory(cases, flows))

    def rename(self, names: Mapping[str, str]) -> None:
        """What waits under each of these names has another now; before the budgets of that are taken."""
        taken = {*names.values()}
        self._watched_flows = {
            flow: one for flow, one in self._watched_flows.items() if flow.name not in taken
        }
        self._saved.rename(names)

    @property
    def awaited(self) -> set[str]:
        """The names of what was saved and has not appeared yet, or is gone."""
        return self._saved.names

    def let_go(self, names: Collection[str]) -> None:
        """These are waited for no more."""
        self._saved.forget(names)


def _name(key: BudgetKey | FlowKey) -> str:
    return f"{key.kind}:{key.name}"


def _renamed(book: Mapping[str, T], names: Mapping[str, str]) -> dict[str, T]:
    changed = {*names, *names.values()}
    stays = {key: one for key, one in book.items() if _bare(key) not in changed}
    moved = {
        f"{key.partition(':')[0]}:{names[_bare(key)]}": one
        for key, one in book.items()
        if _bare(key) in names
    }
    return {**stays, **moved}


def _bare(name: str) -> str:
    return name.partition(":")[2]
