"""What would lift the limit of an NFS volume, of a client's slots or of its connections."""

from __future__ import annotations

from collections.abc import Iterable

from ioplateau.limits.budgets import (
    VM,
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    Kind,
    Limit,
    Origin,
)
from ioplateau.limits.claims import Target, VolumeFact
from ioplateau.limits.clouds import discover, registry
from ioplateau.limits.lifting.disks import LEAST_GAIN
from ioplateau.limits.lifting.step import Next, Situation, Step
from ioplateau.limits.tables import Catalogue
from ioplateau.limits.topology import NFS4_MOST_SLOTS, volume_facts
from ioplateau.limits.volumes.ceiling import Figures

# 16 is the kernel's most, NFS_MAX_CONNECTIONS:
# https://github.com/torvalds/linux/blob/v6.1/fs/nfs/fs_context.c
NCONNECT = (4, 8, 16)
MORE_SLOTS = (4, 16, 64, 128)  # times as many
MOST_SLOTS = 65_536  # the kernel's most, RPC_MAX_SLOT_TABLE


def steps(situation: Situation, key: BudgetKey, limit: Limit) -> Iterable[Step]:
    """Every change that gives more than there is now, with its figure."""
    budget = situation.budgets.get(key)
    if budget is None:
        return ()
    if key.kind is Kind.VOLUME:
        return _volume(situation, budget, limit)
    if key.kind is Kind.NFS_SLOTS:
        return _slots(situation, budget, limit)
    return _connections(situation, budget, limit)


def _volume(situation: Situation, budget: Budget, limit: Limit) -> Iterable[Step]:
    """A higher service level, or more quota, of what the volume was sold as."""
    facts = _facts(situation, budget)
    if not facts:
        return
    for action, changed in _offers(facts[-1], situation.catalogue):
        limits, _ = discover.volume_limits(changed, situation.catalogue)
        alike = [other for other in limits if other.dimension is limit.dimension]
        for new in [other for other in alike if other.direction is limit.direction]:
            # What reads and writes have together holds each of them.
            both = [other for other in alike if other.direction is Direction.TOTAL]
            least = min([new, *both], key=lambda other: other.value)
            if least.value >= limit.value * LEAST_GAIN:
                held = new._replace(value=least.value, source=least.source)
                yield _held(situation, action, held, Kind.VOLUME)


def _offers(fact: VolumeFact, catalogue: Catalogue) -> Iterable[tuple[str, VolumeFact]]:
    levels = discover.service_levels(fact.service)
    level = (fact.service_level or "").capitalize()
    for other in levels[levels.index(level) + 1 :] if level in levels else ():
        yield f"service level {other} in place of {level}", fact._replace(service_level=other)
    yield from discover.larger(fact, catalogue)


def _connections(situation: Situation, budget: Budget, limit: Limit) -> Iterable[Step]:
    """More connections to the server: each carries what one of them carries now."""
    now = situation.nfs.connections
    if not now:
        return
    most = _most_connections(situation, budget)
    for count in NCONNECT:
        if now < count <= most:
            more = limit._replace(value=limit.value / now * count)
            words = f"nconnect={count} in place of {now} (a new mount)"
            step = _held(situation, words, more, Kind.NFS_CONNECTION, budget)
            yield step
            if step.gives < more.value:
                return  # more of them would give no more


def _facts(situation: Situation, volume: Budget) -> list[VolumeFact]:
    """What the rules say of a volume, the one that holds last."""
    name = volume.key.name
    mounts = situation.mounts.get(name, (name,))
    target = Target(mounts=mounts, volume=volume.info.get("volume", ""))
    return volume_facts(situation.rules, target, volume.info.get("server", ""))


def _most_connections(situation: Situation, budget: Budget) -> float:
    """More of them are of no use, as the documents of a client's volumes have it."""
    most = float(max(NCONNECT))
    for flow in budget.members:
        volume = situation.budgets.get(BudgetKey(Kind.VOLUME, flow.name))
        for fact in _facts(situation, volume)[-1:] if volume is not None else ():
            service = fact.service or registry.DEFAULT_SERVICE
            figure = Figures(situation.catalogue, service).value("connection/most")
            most = most if figure is None else min(most, figure)
    return most


def _slots(situation: Situation, budget: Budget, limit: Limit) -> Iterable[Step]:
    """More requests at once. Little's law: the rate is what is on its way over the latency. A limit that nobody told
    is what is on its way now.

    https://doi.org/10.1287/opre.9.3.383
    """
    latency = situation.nfs.latency_seconds
    if not latency:
        return
    version, is_told = budget.info.get("version"), limit.origin is not Origin.LEARNED
    if not is_told and version in {"3", "4.0"}:
        return  # over RDMA, or UDP: a table of another name
    most = MOST_SLOTS if version == "3" else NFS4_MOST_SLOTS
    for times in MORE_SLOTS:
        slots = limit.value * times
        if slots <= most:
            rate = limit._replace(dimension=Dimension.IOPS, value=slots / latency)
            words = f"{times} times as many session slots (nfs.max_session_slots), if the server gives them"
            if is_told:
                words = f"{slots:,.0f} slots in place of {limit.value:,.0f}"
            step = _held(situation, words, rate, Kind.NFS_SLOTS, budget)
            yield step
            if step.gives < rate.value:
                return


def _held(
    situation: Situation, action: str, new: Limit, kind: Kind, of: Budget | None = None
) -> Step:
    """A step with what holds it: the new limit itself, the volume, or the VM's network."""
    size = situation.request_bytes
    first, value = Next(kind, new.dimension, new.value), new.value
    above = [BudgetKey(Kind.VM_NETWORK, VM)]
    above += [BudgetKey(Kind.VOLUME, flow.name) for flow in ([] if of is None else of.members)]
    for key in above:
        budget = situation.budgets.get(key)
        for limit in () if budget is None else budget.limits:
            allowed = _as(limit, new.dimension, size)
            if allowed is not None and limit.direction is not Direction.TOTAL:
                is_alike = new.direction is limit.direction
                share = 1.0 if is_alike else _share(situation, limit.direction)
                allowed = allowed / share if share else None
            if allowed is not None and allowed < value:
                first, value = Next(key.kind, limit.dimension, limit.value), allowed
    return Step(action, value, new.dimension, first, new.source)


def _share(situation: Situation, direction: Direction) -> float | None:
    """Of the bytes, what is read or written; None: not known."""
    if situation.write_ratio is None or direction is Direction.WRITE:
        return situation.write_ratio
    return 1.0 - situation.write_ratio


def _as(limit: Limit, dimension: Dimension, size: float | None) -> float | None:
    """What a limit allows in another dimension, at this request size; None: not known."""
    if limit.dimension is dimension:
        return limit.value
    if size is None or Dimension.SLOTS in (limit.dimension, dimension):
        return None
    return limit.value * size if dimension is Dimension.THROUGHPUT else limit.value / size
