"""The first judge: a budget is throttled while its rate is at a known limit and requests queue.

It knows no history. The real one takes its place through the same interface.
"""

from __future__ import annotations

from collections.abc import Mapping

from ioplateau.judge.budgets import Budget, BudgetKey, FlowKey, Limit, Verdict, Word
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.usage import drawn

CLOSE = 0.97  # within 3 % of the limit
QUEUED = 1.5  # requests outstanding: one is somebody working, two is somebody waiting


class Judge:
    """Verdict of every budget, each tick."""

    def __init__(self) -> None:
        self._since: dict[BudgetKey, tuple[Word, float]] = {}

    def observe(
        self,
        at: float,
        elapsed: float | None,
        budgets: Mapping[BudgetKey, Budget],
        flows: Mapping[FlowKey, FlowTick | None],
        witness: object = None,  # noqa: ARG002 - the real judge listens to it
    ) -> Mapping[BudgetKey, Verdict]:
        verdicts = {}
        for key, budget in budgets.items():
            word, limit, share = _look(budget, flows) if elapsed is not None else _BLIND
            before = self._since.get(key)
            since = before[1] if before is not None and before[0] is word else at
            self._since[key] = (word, since)
            verdicts[key] = _verdict(budget, word, since, limit, share)
        for gone in self._since.keys() - budgets.keys():
            del self._since[gone]
        return verdicts

    def memory(self) -> dict[str, object]:
        return {}

    def restore(self, memory: Mapping[str, object]) -> None:
        """Nothing to remember."""


_BLIND: tuple[Word, Limit | None, float | None] = (Word.UNKNOWN, None, None)


def _look(
    budget: Budget, flows: Mapping[FlowKey, FlowTick | None]
) -> tuple[Word, Limit | None, float | None]:
    queue = 0.0
    for member in budget.members:
        tick = flows.get(member)
        if tick is None:
            return _BLIND
        queue += max(tick.queue_length or 0.0, 0.0)
    nearest: Limit | None = None
    share: float | None = None
    for limit in budget.limits:
        rate = drawn(budget, flows, limit.dimension, limit.direction)
        if rate is not None and (share is None or rate / limit.value > share):
            nearest, share = limit, rate / limit.value
    if share is not None and share >= CLOSE and queue >= QUEUED:
        return Word.THROTTLED, nearest, share
    if all(_is_idle(flows.get(member)) for member in budget.members):
        return Word.IDLE, nearest, share
    return Word.HEALTHY, nearest, share


def _is_idle(tick: FlowTick | None) -> bool:
    return tick is not None and tick.operations_per_second == 0 and tick.bytes_per_second == 0


def _verdict(
    budget: Budget, word: Word, since: float, limit: Limit | None, share: float | None
) -> Verdict:
    if word is not Word.THROTTLED or limit is None or share is None:
        return Verdict(budget.key, word, since, utilization=share)
    return Verdict(
        budget.key,
        word,
        since,
        dimension=limit.dimension,
        direction=limit.direction,
        limit=limit.value,
        origin=limit.origin,
        utilization=share,
        evidence={"share_of_limit": share},
        sentence=f"at {share:.0%} of its {limit.origin} limit, and requests queue",
        sufferers=budget.members,
    )
