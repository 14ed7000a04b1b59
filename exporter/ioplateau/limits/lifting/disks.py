"""What would lift the limit of a disk, of the VM over its disks, or of a control group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ioplateau.limits import whatif
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    Kind,
    Limit,
    Origin,
    lane_words,
)
from ioplateau.limits.claims import counted, settle
from ioplateau.limits.clouds import discover
from ioplateau.limits.clouds.ask import disk_of
from ioplateau.limits.clouds.identity import DATA, DiskIdentity, Draws, Sold, SoldDisk
from ioplateau.limits.lifting.step import Choice, Next, Situation, Step, with_disk
from ioplateau.limits.topology import LANES, lane_claims
from ioplateau.limits.whatif import HITS, MISSES, NONE, Question

# So much more is worth a change.
LEAST_GAIN = 1.02
ANOTHER = "another"  # the name of a disk that is added


class _Load(NamedTuple):
    """What the disks of a budget are asked for: requests of one size, each of them counted there as
    so many operations, and what part of them are writes.
    """

    request_bytes: int
    operations: int
    write_ratio: float
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
    disks = tuple(flow.name for flow in budget.members if flow.kind == "disk")
    load = _load(situation, budget, limit)
    yield from _rested(situation, disks, load, limit)
    disks = tuple(name for name in disks if name in situation.sold.disks)
    # What the configuration says of a stripe holds on any machine.
    if cloud is None or not disks or _is_said_of_stripe(key, limit):
        return
    now = _given(situation, situation.sold, disks, load)
    present = limit.value if now is None else load.in_units_of(limit.dimension, now[0])
    in_burst = limit.burst is None and present * LEAST_GAIN < limit.value
    if in_burst:  # held at a limit without credit above that of the VM, which has some now
        then = _given(situation, situation.sold, disks, load, burst=True)
        in_burst = then is not None and now is not None and then[0] >= now[0] * LEAST_GAIN
    choices = [*cloud.choices(situation.sold.identity, disks, key.kind, situation.catalogue)]
    fellows = _fellows(situation.sold, budget)
    is_alone = "stack" not in budget.info
    if key.kind is Kind.DISK and is_alone and _has_room(situation.sold, disks[0]):
        choices.append(_striped(situation.sold, disks[0]))
    reached: dict[str, float] = {}
    for choice in choices:
        if choice.is_cached and load.write_ratio == 1.0:
            continue  # it helps reads alone
        sold = cloud.sold(choice.identity, situation.catalogue)
        added = tuple(name for name in choice.identity.disks if name not in situation.sold.disks)
        asked = load._replace(is_cached=choice.is_cached or load.is_cached)
        # A disk's burst on demand is no credit, and told as what the VM does without.
        is_on_demand = any(choice.identity.disks[name].on_demand_burst for name in disks)
        burst = in_burst and not is_on_demand
        given = _given(situation, sold, (*disks, *added), asked, burst=burst)
        if given is None:
            continue
        gives = load.in_units_of(limit.dimension, given[0])
        least = max(present, limit.value, reached.get(choice.ladder, 0.0))
        if gives >= least * LEAST_GAIN:
            if choice.ladder:
                reached[choice.ladder] = gives
            action = f"{choice.action}{fellows}{', while burst credit lasts' if burst else ''}"
            yield Step(action, gives, limit.dimension, given[1])


def of_group(situation: Situation, key: BudgetKey, limit: Limit) -> Iterable[Step]:
    """A control group's own limit can be raised up to what its disk and the VM may do."""
    group = situation.budgets.get(key)
    if group is None:
        return
    load = _load(situation, group, limit)
    disk = group.info.get("device", "")
    given = _given(situation, situation.sold, (disk,), load)
    gives = 0.0 if given is None else load.in_units_of(limit.dimension, given[0])
    if given is not None and gives >= limit.value * LEAST_GAIN:
        action = f"a higher limit for the control group {key.name}"
        yield Step(action, gives, limit.dimension, given[1])


def _rested(
    situation: Situation, disks: tuple[str, ...], load: _Load, limit: Limit
) -> Iterable[Step]:
    """With credit again: the limit's burst, or what else holds below it."""
    if limit.burst is None:
        return
    gives, then = limit.burst.rate, None
    given = _given(situation, situation.sold, disks, load, burst=True)
    allowed = math.inf if given is None else load.in_units_of(limit.dimension, given[0])
    if given is not None and allowed < gives and not math.isclose(allowed, gives):
        gives, then = allowed, given[1]
    if gives >= limit.value * LEAST_GAIN:
        action = "less load for a while, so that burst credit fills again"
        yield Step(action, gives, limit.dimension, then, limit.source)


def _is_said_of_stripe(key: BudgetKey, limit: Limit) -> bool:
    return key.kind is Kind.STRIPE and limit.origin is Origin.CONFIGURED


def _has_room(sold: Sold, name: str) -> bool:
    """Whether the VM can have a second disk like this one. An OS disk, and what a VM size brings with
    it, it has as they are.
    """
    identity = sold.identity
    present = (*identity.disks.values(), *identity.unplaced)
    count = sum(1 for disk in present if disk.role == DATA)
    most = sold.most_data_disks
    return identity.disks[name].role == DATA and (most is None or count < most)


def _fellows(sold: Sold, budget: Budget) -> str:
    """A word of the disks that lie with this one below one device and have no more than it: a stripe is as
    fast as its slowest. Empty: none.
    """
    names = budget.info.get("stack_disks", "").split()
    alike = [name for name in names if name in sold.disks and name != budget.key.name]
    own = sold.disks[budget.key.name].limits if budget.key.name in sold.disks else ()
    count = sum(1 for name in alike if sold.disks[name].limits == own)
    if not count:
        return ""
    others = f"{count} more disks" if count > 1 else "one more disk"
    return f", and alike for {others} of {budget.info['stack']} where it is a stripe"


def _striped(sold: Sold, name: str) -> Choice:
    second = sold.disks[name].identity._replace(device=ANOTHER, name="", lun=None)
    identity = with_disk(sold.identity, ANOTHER, second)
    return Choice(f"a second disk like {name}, striped with it", identity)


def _given(
    situation: Situation, sold: Sold, disks: Sequence[str], load: _Load, *, burst: bool = False
) -> tuple[float, Next | None] | None:
    """Requests/s that these disks get together, and what holds them; None: no limit known."""
    question = _question(situation, sold, disks)
    has_cache = any(disk.hit for disk in question.disks)
    if has_cache and load.is_cached and not question.lanes.get(Kind.VM_CACHED):
        return None  # what the cache gives is not known, whatever holds the writes
    cache_outcome = (HITS if load.is_cached else MISSES) if has_cache else NONE
    case = whatif.case(
        question, load.request_bytes, cache_outcome, burst=burst, write_ratio=load.write_ratio
    )
    if case.operations_per_second is None or not case.bindings:
        return None
    # The lane where a lane and the disks bind together: it would hold the next step as well.
    first = case.bindings[0]
    value = first.value * first.count
    then = Next(first.budget.kind, first.dimension, value, sized=first.sized)
    if then.kind is Kind.VM_UNCACHED:
        then = then._replace(lane=lane_words(first.budget, discover.lane_of(sold.identity)))
    return case.operations_per_second, then


def _question(situation: Situation, sold: Sold, names: Sequence[str]) -> Question:
    """These disks of a machine as it is sold, and over that what the configuration says of what stays as
    it is now: of a disk, of one that is added like the first, of the lanes of a VM of the same size.
    """
    lanes = dict(sold.lanes)
    if sold.identity.vm_size == situation.sold.identity.vm_size:
        lanes = {kind: settle(lane_claims(kind, sold, situation.rules))[0] for kind in LANES}
    found = ((name, _disk(situation, sold, name, names[0])) for name in names)
    disks = tuple(disk_of(name, disk) for name, disk in found if disk is not None)
    return Question(sold.identity.vm_size, lanes, disks, by_sku=sold.by_sku)


def _disk(situation: Situation, sold: Sold, name: str, first: str) -> SoldDisk | None:
    budget = situation.budgets.get(BudgetKey(Kind.DISK, first if name == ANOTHER else name))
    disk = sold.disks.get(name)
    if disk is None or budget is None:
        return disk if budget is None else _of_nobody(budget)
    if name != ANOTHER and disk.identity != situation.sold.disks[name].identity:
        return disk
    said = (limit for limit in budget.limits if limit.origin is Origin.CONFIGURED)
    return disk._replace(limits=settle([*disk.limits, *said])[0])


def _of_nobody(budget: Budget) -> SoldDisk:
    """A disk of which nobody knows as what it was sold: the limits that its budget has."""
    counts_on = (*(parent.kind for parent in budget.parents), Kind.DISK)
    identity = DiskIdentity(device=budget.key.name)
    return SoldDisk(identity, Draws(counts_on, counts_on), budget.limits, budget.operation_bytes)


def _load(situation: Situation, budget: Budget, limit: Limit) -> _Load:
    size, unit = _request_bytes(situation, limit), budget.operation_bytes
    is_cached = budget.key.kind is Kind.VM_CACHED
    written = _write_ratio(situation, limit)
    return _Load(size, counted(size, unit) if unit else 1, written, is_cached)


def _write_ratio(situation: Situation, limit: Limit) -> float:
    """Of what the limit counts; where nobody knows, reads."""
    if limit.direction is Direction.TOTAL:
        return situation.write_ratio or 0.0
    return float(limit.direction is Direction.WRITE)


def _request_bytes(situation: Situation, limit: Limit) -> int:
    """Of the budget's requests; where nobody knows, one that the other dimension does not hold:
    small where operations bind, large where bytes do.
    """
    if situation.request_bytes:
        return max(round(situation.request_bytes), 512)
    return 4096 if limit.dimension is Dimension.IOPS else 1 << 20
