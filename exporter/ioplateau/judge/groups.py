"""Control groups with a block limit: throttled by this machine itself, not by its provider.

The block throttle holds requests back before the disk counts them, so the disk shows a flat
rate without a queue. What tells is what the group did in sum over some seconds: as much as its limit
lets pass. A group that is held does that but for its slices of 100 ms, one at a pace of its own does less.

cgroup v1 counts a request as it comes to the throttle (block/blk-throttle.c), v2 as it passes
(blk_cgroup_bio_start()): in v1 a group that submits at once what passes in several seconds does nothing in
the next ones, in which its requests wait.

Whether tasks wait (io.pressure) is told, and decides nothing: they wait for the disk, too, and who waits in
io_getevents() does not sleep in io_schedule(), which is what counts. Measured on Linux 6.18, of fio held by its
group: psync 0.5 of the time, io_uring 0.9, libaio 0.

https://github.com/torvalds/linux/blob/v6.1/block/blk-throttle.c
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import inf

from ioplateau.judge import parameters as number
from ioplateau.judge import words
from ioplateau.judge.belief import Belief
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.usage import drawn
from ioplateau.judge.witness import CgroupWitness, Witness
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    FlowKey,
    Kind,
    Limit,
    Verdict,
    Word,
)
from ioplateau.limits.units import rate


class _Press:
    """How one group is pressed against one of its limits, over time.

    share: of the limit, the mean over the time in which all of it was last used up.
    """

    __slots__ = ("_blocks", "belief", "share")

    def __init__(self) -> None:
        self.belief = Belief()
        self.share = 0.0
        self._blocks: deque[tuple[float, float]] = deque()  # (seconds at the limit, seconds)

    def forget(self) -> None:
        """What was done for a while is not known."""
        self._blocks.clear()

    def step(self, share: float, seconds: float) -> None:
        """One stretch of `seconds`, in which `share` of the limit was used."""
        blocks = self._blocks
        blocks.append((share * seconds, seconds))
        while sum([each for _, each in blocks]) - blocks[0][1] >= number.SUM_BLOCKS:
            blocks.popleft()
        mean = self._used_up()
        if mean is not None:
            self.share = mean
            self.belief.weigh(1 - number.LEAST_PART, seconds)
        elif share:
            self.belief.weigh(-1.0, seconds)
        else:
            self.belief.drop()
            blocks.clear()

    def _used_up(self) -> float | None:
        """Mean share of the limit over the longest time up to now in which all of it was used; 1 where more
        came. None: there is no such time, or each block of it has more than a throttle lets pass.
        """
        ahead = since = 0.0
        least = inf
        mean = None
        for used, seconds in reversed(self._blocks):
            ahead, since = ahead + used - seconds, since + seconds
            least = min(least, used / seconds)
            # What is more than passes may all have come at the end of its block.
            late = max(min(used - seconds, seconds), 0.0)
            behind = min(ahead + late, 0.0)
            if behind >= -number.STANDING * since and least <= 1 + number.STEP:
                mean = 1 + behind / since
        return mean


class GroupJudge:
    """Remembers every limited group between ticks."""

    def __init__(self) -> None:
        self._budgets: dict[BudgetKey, Budget] = {}
        self._presses: dict[tuple[BudgetKey, Limit], _Press] = {}
        self._since: dict[BudgetKey, tuple[Word, float]] = {}
        self._holds: dict[BudgetKey, tuple[Limit, float]] = {}

    def take_budgets(self, budgets: Mapping[BudgetKey, Budget]) -> None:
        """Take these budgets."""
        self._budgets = {key: b for key, b in budgets.items() if key.kind is Kind.CGROUP}
        self._presses = {
            (key, limit): self._presses.get((key, limit)) or _Press()
            for key, budget in self._budgets.items()
            for limit in budget.limits
        }
        self._since = {key: since for key, since in self._since.items() if key in self._budgets}
        self._holds = {key: hold for key, hold in self._holds.items() if key in self._budgets}

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
                for limit in budget.limits:
                    self._presses[key, limit].forget()
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
            done = drawn(budget, flows, limit.dimension, limit.direction)
            press = self._presses[key, limit]
            press.step(done / limit.value if done is not None else 0.0, seconds)
            if press.belief.held and (binding is None or press.share > binding[1]):
                binding = limit, press.share
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
        before = self._holds.get(budget.key)
        if before is None or before[0] != limit or plain.since == at:
            self._holds[budget.key] = before = (limit, at)
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
                f"held at {rate(share * limit.value, limit.dimension)} of {limit.direction}s by the control "
                f"group's own limit of {rate(limit.value, limit.dimension)} ({limit.source}), not by the disk"
                f"{words.pressure(group.pressure_ratio if group else None)}; "
                f"raise the limit of {_whose(group, budget)}"
            ),
            sufferers=budget.members,
            limit_since=before[1],
        )

    def _say(self, key: BudgetKey, word: Word, at: float) -> Verdict:
        before = self._since.get(key)
        if before is None or before[0] is not word:
            self._since[key] = before = (word, at)
        return Verdict(key, word, before[1])


def _whose(group: CgroupWitness | None, budget: Budget) -> str:
    path = group.path if group is not None and group.path else budget.key.name
    return "the root control group" if path == "/" else path
