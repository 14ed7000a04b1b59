"""Control groups with a block limit: throttled by this machine itself, not by its provider.

The block throttle holds requests back before the disk counts them, so the disk shows a flat
rate without a queue. What tells is the group's own rate, pressed against its own limit.
"""

from __future__ import annotations

from collections.abc import Mapping

from ioplateau.judge import parameters as number
from ioplateau.judge import words
from ioplateau.judge.belief import Belief
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.usage import drawn
from ioplateau.judge.witness import CgroupWitness, Witness
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    FlowKey,
    Kind,
    Limit,
    Verdict,
    Word,
)


class GroupJudge:
    """Remembers every limited group between ticks."""

    def __init__(self) -> None:
        self._budgets: dict[BudgetKey, Budget] = {}
        self._beliefs: dict[tuple[BudgetKey, Limit], Belief] = {}
        self._means: dict[tuple[BudgetKey, Limit], float] = {}
        self._since: dict[BudgetKey, tuple[Word, float]] = {}

    def take_budgets(self, budgets: Mapping[BudgetKey, Budget]) -> None:
        """Take these budgets."""
        self._budgets = {key: b for key, b in budgets.items() if key.kind is Kind.CGROUP}
        limits = {(key, limit) for key, budget in self._budgets.items() for limit in budget.limits}
        self._beliefs = {
            place: belief for place, belief in self._beliefs.items() if place in limits
        }
        self._means = {place: mean for place, mean in self._means.items() if place in self._beliefs}
        self._since = {key: since for key, since in self._since.items() if key in self._budgets}

    def step(
        self,
        at: float,
        seconds: float,
        flows: Mapping[FlowKey, FlowTick | None],
        witness: Witness,
        verdicts: dict[BudgetKey, Verdict],
    ) -> None:
        """Every group, one stretch of `seconds`."""
        for key, budget in self._budgets.items():
            tick = flows.get(budget.members[0])
            if tick is None:
                verdicts[key] = self._say(key, Word.UNKNOWN, at)
                continue
            binding = self._weigh(key, budget, flows, seconds)
            if binding is not None:
                verdicts[key] = self._throttled(budget, at, *binding, witness)
            elif tick.operations_per_second == 0:
                verdicts[key] = self._say(key, Word.IDLE, at)
            else:
                verdicts[key] = self._say(key, Word.HEALTHY, at)

    def _weigh(
        self,
        key: BudgetKey,
        budget: Budget,
        flows: Mapping[FlowKey, FlowTick | None],
        seconds: float,
    ) -> tuple[Limit, float] | None:
        """The limit the group is pressed against the closest, with its share; None: no limit."""
        binding: tuple[Limit, float] | None = None
        for limit in budget.limits:
            rate = drawn(budget, flows, limit.dimension, limit.direction)
            share = rate / limit.value if rate is not None else 0.0
            mean = self._means.get((key, limit), share)
            mean = self._means[key, limit] = mean + min(0.5 * seconds, 1.0) * (share - mean)
            is_near = (
                1 - number.OFF_LIMIT <= share <= 1 + number.STEP
                or 1 - number.OFF_LIMIT <= mean <= 1 + number.STEP
            )
            belief = self._beliefs.setdefault((key, limit), Belief())
            belief.weigh(1 - number.LEAST_PART if is_near else -1.0, seconds)
            if belief.held and (binding is None or share > binding[1]):
                binding = limit, share
        return binding

    def _throttled(
        self, budget: Budget, at: float, limit: Limit, share: float, witness: Witness
    ) -> Verdict:
        group = witness.cgroups.get(budget.key.name)
        evidence: dict[str, float | str] = {"share_of_limit": share}
        if group is not None:
            evidence["device"] = group.device
            if group.pressure_ratio is not None:
                evidence["pressure_ratio"] = group.pressure_ratio
        plain = self._say(budget.key, Word.THROTTLED, at)
        unit = "IOPS" if limit.dimension is Dimension.IOPS else "bytes/s"
        return Verdict(
            budget.key,
            Word.THROTTLED,
            plain.since,
            dimension=limit.dimension,
            direction=limit.direction,
            limit=limit.value,
            origin=limit.origin,
            utilization=share,
            evidence=evidence,
            sentence=(
                f"held at {share * limit.value:,.0f} {unit} of {limit.direction}s by the control "
                f"group's own limit of {limit.value:,.0f} ({limit.source}), not by the disk"
                f"{words.pressure(group.pressure_ratio if group else None)}; "
                f"raise the limit of {_whose(group, budget)}"
            ),
            sufferers=budget.members,
        )

    def _say(self, key: BudgetKey, word: Word, at: float) -> Verdict:
        before = self._since.get(key)
        if before is None or before[0] is not word:
            self._since[key] = before = (word, at)
        return Verdict(key, word, before[1])


def _whose(group: CgroupWitness | None, budget: Budget) -> str:
    path = group.path if group is not None and group.path else budget.key.name
    return "the root control group" if path == "/" else path
