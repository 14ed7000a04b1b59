"""What would lift the limit of a disk, of the VM over its disks, or of a control group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ioplateau.limits import whatif
from ioplateau.limits.budgets import Budget, BudgetKey, Dimension, Kind, Limit, lane_words
from ioplateau.limits.claims import counted
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.ask import disk_of
from ioplateau.limits.clouds.identity import DATA, Sold
from ioplateau.limits.lifting.step import Choice, Next, Situation, Step
from ioplateau.limits.whatif import HITS, MISSES, NONE, Question

# So much more is worth a change.
LEAST_GAIN = 1.02
ANOTHER = "another"  # the name of a disk that is added


class _Load(NamedTuple):
    """What the disks of a budget are asked for: requests of one size, each of them counted there as
    so many operations.
    """

    request_bytes: int
    operations: int
    is_cached: bool  # the host's cache answers

    def in_units_of(self, dimension: Dimension, requests: float) -> float:
        """Requests/s as the budget's limits count them: operations/s or bytes/s."""
        is_iops = dimension is Dimension.IOPS
        return requests * (self.operations if is_iops else self.request_bytes)


def steps(situation: Situation, key: BudgetKey, limit: Limit) -> Iterable[Step]:
    """Every change that the machine's cloud offers and that gives more than there is now."""
    budget = situation.budgets.get(key)
    cloud = discover.cloud_of(situation.sold.identity)
    if budget is None or limit.dimension is Dimension.SLOTS:
        return
    if limit.burst is not None and limit.burst.rate > limit.value:
        yield Step(
            "less load for a while, so that burst credit fills again",
            limit.burst.rate,
            limit.dimension,
            source=limit.source,
        )
    if cloud is None:
        return
    disks = tuple(flow.name for flow in budget.members if flow.kind == "disk")
    disks = tuple(name for name in disks if name in situation.sold.disks)
    if not disks:
        return
    load = _load(situation, budget, limit)
    now = _given(situation.sold, disks, load)
    present = limit.value if now is None else load.in_units_of(limit.dimension, now[0])
    choices = [*cloud.choices(situation.sold.identity, disks, key.kind, situation.catalogue)]
    if key.kind is Kind.DISK and _has_room(situation.sold, disks[0]):
        choices.append(_striped(situation.sold, disks[0]))
    for choice in choices:
        sold = cloud.sold(choice.identity, situation.catalogue)
        added = tuple(name for name in choice.identity.disks if name not in situation.sold.disks)
        given = _given(
            sold, (*disks, *added), load._replace(is_cached=choice.is_cached or load.is_cached)
        )
        if given is None:
            continue
        gives = load.in_units_of(limit.dimension, given[0])
        if gives >= max(present, limit.value) * LEAST_GAIN:
            yield Step(choice.action, gives, limit.dimension, given[1])


def of_group(situation: Situation, key: BudgetKey, limit: Limit) -> Iterable[Step]:
    """A control group's own limit can be raised up to what its disk may do."""
    group = situation.budgets.get(key)
    device = "" if group is None else group.info.get("device", "")
    disk = situation.budgets.get(BudgetKey(Kind.DISK, device))
    for other in () if disk is None else disk.limits:
        if other.dimension is limit.dimension and other.value > limit.value * LEAST_GAIN:
            then = Next(Kind.DISK, other.dimension, other.value)
            action = f"a higher limit for the control group {key.name}"
            yield Step(action, other.value, limit.dimension, then, other.source)


def _has_room(sold: Sold, name: str) -> bool:
    """Whether the VM can have a second disk like this one. An OS disk, and what a VM size brings with
    it, it has as they are.
    """
    identity = sold.identity
    present = (*identity.disks.values(), *identity.unplaced)
    count = sum(1 for disk in present if disk.role == DATA)
    most = sold.most_data_disks
    return identity.disks[name].role == DATA and (most is None or count < most)


def _striped(sold: Sold, name: str) -> Choice:
    disk = sold.disks[name].identity
    identity = sold.identity._replace(
        disks={**sold.identity.disks, ANOTHER: disk._replace(device=ANOTHER, name="", lun=None)}
    )
    return Choice(f"a second disk like {name}, striped with it", identity)


def _given(sold: Sold, disks: tuple[str, ...], load: _Load) -> tuple[float, Next | None] | None:
    """Requests/s that these disks get together, and what holds them; None: no limit known."""
    asked = tuple(disk_of(name, sold.disks[name]) for name in disks if name in sold.disks)
    question = Question(sold.identity.vm_size, dict(sold.lanes), asked, by_sku=sold.by_sku)
    cache_outcome = (
        (HITS if load.is_cached else MISSES) if any(disk.hit for disk in asked) else NONE
    )
    case = whatif.case(question, load.request_bytes, cache_outcome)
    if case.operations_per_second is None or not case.bindings:
        return None
    # The lane where a lane and the disks bind together: it would hold the next step as well.
    first = case.bindings[0]
    value = first.value * first.count
    then = Next(first.budget.kind, first.dimension, value)
    if then.kind is Kind.VM_UNCACHED:
        then = then._replace(lane=lane_words(first.budget, discover.lane_of(sold.identity)))
    return case.operations_per_second, then


def _load(situation: Situation, budget: Budget, limit: Limit) -> _Load:
    size, unit = _request_bytes(situation, limit), budget.operation_bytes
    is_cached = budget.key.kind is Kind.VM_CACHED
    return _Load(size, counted(size, unit) if unit else 1, is_cached)


def _request_bytes(situation: Situation, limit: Limit) -> int:
    """Of the budget's requests; where nobody knows, one that the other dimension does not hold:
    small where operations bind, large where bytes do.
    """
    if situation.request_bytes:
        return max(round(situation.request_bytes), 512)
    return 4096 if limit.dimension is Dimension.IOPS else 1 << 20
