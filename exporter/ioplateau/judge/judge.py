"""The judge: rates, limits and witnesses in; for every budget a verdict with its evidence out.

Each block of ticks is one pass: look at every flow, hold the disks and lanes against their limits, then
the mounts, then the control groups, and put what holds into words. Work and memory per budget are constant. What may hold a
budget back, what speaks for it and against it, and which of it is said: hypotheses.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ioplateau.judge import words
from ioplateau.judge.disks import DiskJudge
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.flushes import without_empty_writes
from ioplateau.judge.groups import GroupJudge
from ioplateau.judge.memory import SavedJudge
from ioplateau.judge.mounts import MountJudge
from ioplateau.judge.window import Blocks
from ioplateau.judge.witness import NOTHING, Witness
from ioplateau.limits.budgets import Budget, BudgetKey, FlowKey, Verdict, Word


class Judge:
    """Owns what must be remembered between ticks."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._budgets: Mapping[BudgetKey, Budget] | None = None
        self._disks = DiskJudge()
        self._mounts = MountJudge()
        self._groups = GroupJudge()
        self._verdicts: dict[BudgetKey, Verdict] = {}
        self._is_gap = False  # nothing was judged since the last one

    def observe(
        self,
        at: float,
        elapsed: float | None,
        budgets: Mapping[BudgetKey, Budget],
        flows: Mapping[FlowKey, FlowTick | None],
        witness: Witness | None = None,
    ) -> Mapping[BudgetKey, Verdict]:
        """One tick. elapsed None: a gap, of which nothing is known and nothing changes; after two of
        them with no block between, nothing is known at all.
        """
        if budgets is not self._budgets:
            self._take_budgets(budgets, at)
        if elapsed is None:
            self._blocks.clear()
            self._disks.unsettle()
            self._mounts.unsettle()
            if self._is_gap:
                self._verdicts = {key: _unknown(was, at) for key, was in self._verdicts.items()}
            self._is_gap = True
            return self._verdicts
        block = self._blocks.add(elapsed, flows, witness or NOTHING)
        if block is None:
            return self._verdicts
        seconds, merged, seen = block
        self._is_gap = False
        verdicts: dict[BudgetKey, Verdict] = {}
        self._disks.step(at, seconds, merged, seen, verdicts)
        self._mounts.step(at, seconds, merged, seen, verdicts)
        self._groups.step(at, seconds, merged, seen, verdicts)
        self._verdicts = verdicts
        return verdicts

    def as_counted(
        self, flows: Mapping[FlowKey, FlowTick | None]
    ) -> Mapping[FlowKey, FlowTick | None]:
        """The flows of a tick, without the writes that are known not to count on their limits."""
        apart = self._disks.not_counting_empty_writes()
        if not apart:
            return flows
        counted = dict(flows)
        for flow in apart:
            tick = counted.get(flow)
            if tick is not None:
                counted[flow] = without_empty_writes(tick)
        return counted

    def _take_budgets(self, budgets: Mapping[BudgetKey, Budget], at: float) -> None:
        self._budgets = budgets
        self._disks.take_budgets(budgets, at)
        self._mounts.take_budgets(budgets, at)
        self._groups.take_budgets(budgets)
        self._verdicts = {
            key: self._verdicts.get(key) or Verdict(key, Word.UNKNOWN, at) for key in budgets
        }

    def memory(self) -> SavedJudge:
        """All that must survive a restart."""
        return SavedJudge(self._disks.memory(), self._mounts.memory())

    def forget(self, flows: Collection[FlowKey]) -> None:
        """Another disk or server stands under each of these names from the next tick on."""
        self._disks.forget(flows)
        self._mounts.forget(flows)

    def wait_for(self, names: Collection[str]) -> None:
        """These are gone from the next tick on, and may come back."""
        self._disks.wait_for(names)
        self._mounts.wait_for(names)

    def rename(self, names: Mapping[str, str]) -> None:
        """What is waited for under each of these names has another from the next tick on."""
        self._disks.rename(names)
        self._mounts.rename(names)

    @property
    def awaited(self) -> set[str]:
        """The names of what was restored and has not appeared yet, or is gone."""
        return self._disks.awaited | self._mounts.awaited

    def let_go(self, names: Collection[str]) -> None:
        """These are waited for no more."""
        self._disks.let_go(names)
        self._mounts.let_go(names)

    def restore(self, saved: SavedJudge, away_seconds: float) -> None:
        """Take up a memory that was saved `away_seconds` ago."""
        self._disks.restore(saved.disks, away_seconds)
        self._mounts.restore(saved.mounts, away_seconds)


def _unknown(before: Verdict, at: float) -> Verdict:
    if before.word is Word.UNKNOWN:
        return before
    return Verdict(before.key, Word.UNKNOWN, at, sentence=words.NO_RATES)
