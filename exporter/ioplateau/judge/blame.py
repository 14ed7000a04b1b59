"""Whose limit is it? The same queue can be the disk's, the VM's, the volume's or the client's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from math import log, sqrt
from operator import mul
from typing import NamedTuple

from ioplateau.judge import parameters as number
from ioplateau.judge.case import Case
from ioplateau.judge.pool import Pool
from ioplateau.judge.signals import NONE, WatchedFlow
from ioplateau.judge.window import DIMENSIONS, IOPS, blocks_in, level
from ioplateau.judge.witness import ClientWitness
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey


class Culprit(Enum):
    """Where a limit nobody knows must be."""

    DISK = "disk"
    VM = "vm"
    EITHER = "disk or VM"


def of_disks(pool: Pool, dt: float) -> Culprit:
    """Disks that wait, no known limit reached: one cap over all, or each its own?"""
    if pool.is_longer and pool.waiting_members and pool.is_locked:
        return Culprit.VM
    if pool.waiting_members <= 1 and not pool.alike:
        return Culprit.EITHER if pool.waiting_members else Culprit.DISK
    is_stripe = len({each.group for each in pool.those_waiting}) == 1
    if pool.alike and not is_stripe:
        return Culprit.VM
    parts = [*_parts_of(pool)]
    if is_stripe and _is_flat_by_its_disks(parts):
        return Culprit.DISK
    if pool.alike or _is_flatter_than_its_disks(parts):
        return Culprit.VM
    if pool.waiting_members > 2 and is_stripe:
        # A stripe of which most members wait, and not one.
        levels = [pool.level_of(each) for each in DIMENSIONS]
        flat = min(levels, key=lambda each: each.spread)
        if flat.spread <= number.RIPPLE and flat.count >= blocks_in(2 * number.LEVEL_LEAST, dt):
            return Culprit.VM
    return Culprit.DISK


class _Parts(NamedTuple):
    """Disks that wait, and their sum, in the same blocks. ratio: the variance of the sum over what it would be if each
    disk moved by itself, as disks at limits of their own do. flattest: spread of the flattest of them.
    """

    blocks: int
    ratio: float
    flattest: float


def _parts_of(pool: Pool) -> Iterator[_Parts]:
    """In operations and in bytes, where both have a level."""
    waiting = [member.watched for member in pool.those_waiting]
    if len(waiting) < 2:
        return
    for dimension in DIMENSIONS:
        count = min([each.level_of(dimension).count for each in (pool, *waiting)])
        if count < number.LEVEL_LEAST:
            continue
        # Of the same blocks, so that none has a step in it that the others have not.
        whole, *parts = [level(each.values_of(dimension)[-count:]) for each in (pool, *waiting)]
        apart = sum([(part.spread * part.mean) ** 2 for part in parts])
        if apart:
            ratio = (whole.spread * whole.mean) ** 2 / apart
            yield _Parts(count, ratio, min([part.spread for part in parts]))


def _is_flatter_than_its_disks(found: Sequence[_Parts]) -> bool:
    """Whether the sum moves less than if each disk moved by itself, also where they are of one stripe: log-odds of
    two variances against one, by likelihoods of normal values.
    """
    return any(
        not ratio
        or (ratio < 1 and (blocks - 1) * log((1 + ratio) / (2 * sqrt(ratio))) > number.ASKED_DOUBT)
        for blocks, ratio, _ in found
    )


def _is_flat_by_its_disks(found: Sequence[_Parts]) -> bool:
    """Whether some disk stands by itself, and the sum moves as much as if each did."""
    return bool(found) and all(
        each.ratio >= number.SHARE_WAITING and each.flattest <= number.STANDING for each in found
    )


def waits_in(watched: WatchedFlow, direction: Direction) -> bool:
    """Whether what waits is of this direction: most of it, or it takes longer than it should by itself."""
    if direction is Direction.TOTAL:
        return True
    held, waiting = watched.parts[direction is Direction.WRITE]
    most = waiting >= number.SHARE_WAITING * watched.waiting
    return waiting > 0 and (most or waiting >= number.QUEUE_EXCESS * (held - waiting))


def waits_for_another(watched: WatchedFlow) -> bool:
    """Whether requests wait where a limit above is known to hold them: a few, or one at a time, are enough."""
    return watched.queue > NONE or (
        watched.operations >= number.LEAST_OPERATIONS and watched.is_slow
    )


def is_apart(watched: WatchedFlow, pool: Pool) -> bool:
    """Whether this disk waits much longer than its siblings: then something of its own does it."""
    return pool.median_delay > 0 and watched.delay > (1 + number.QUEUE_EXCESS) * pool.median_delay


def is_slower(cached: Pool, uncached: Pool | None) -> bool:
    """Whether what a host caches waits longer than what it does not: else its misses, which wait
    for the uncached lane, explain it.
    """
    return (
        uncached is None or cached.median_delay > (1 + number.QUEUE_EXCESS) * uncached.median_delay
    )


def is_one_queue(lane: Case, disks: Mapping[BudgetKey, Case]) -> bool:
    """Whether the disks of a lane of unknown limits wait equally long, and not each at a ceiling
    it is known to have.
    """
    if lane.claims or not lane.pool.alike:
        return False
    for member in lane.pool.members:
        if member.watched.delay > 0:
            case = disks.get(member.key)
            if case and case.plateau.standing(member.watched) is None:
                return True
    return False


def in_one_queue(pool: Pool, disks: Mapping[BudgetKey, Case]) -> set[str]:
    """Moving disks of a pool that its one queue explains: not one that waits longer than its
    siblings, nor one at a ceiling that a sibling has met as well, for disks are often bought alike.
    """
    found = set()
    met: list[tuple[Dimension, float]] = []
    for member in pool.moving:
        case = disks.get(member.key)
        if case is None or is_apart(member.watched, pool):
            continue
        own = case.plateau.standing(member.watched)
        if own is not None:
            met = met or ceilings_met(disks)
            if sum(is_same(own, other) for other in met) >= 2:
                continue
        found.add(member.name)
    return found


def standing_alone(watched: WatchedFlow, pool: Pool, dt: float) -> tuple[Dimension, float] | None:
    """The level at which a disk waits while what its siblings do moves, in operations and in bytes, by
    more than their sum would ripple at a limit: of one that they shared, its part would move, too.
    """
    most = min(watched.queued, len(pool.values_of(IOPS)))
    least = blocks_in(2 * number.LEVEL_LEAST, dt)
    if most < least:
        return None
    for dimension in DIMENSIONS:
        own = watched.level_of(dimension)
        count = min(own.count, most)
        if count < least or own.spread > number.RIPPLE:
            continue
        if all(
            _move_beside(watched.values_of(each)[-count:], pool.values_of(each)[-count:])
            for each in DIMENSIONS
        ):
            return dimension, own.mean
    return None


def _move_beside(mine: Sequence[float], all_: Sequence[float]) -> bool:
    """Whether a sum moves, by what is not mine."""
    whole = level(all_)
    others = level([total - part for total, part in zip(all_, mine, strict=True)])
    least = number.OFF_LEVEL
    return whole.spread >= least and others.spread * others.mean >= least * whole.mean


def gives_way(watched: WatchedFlow, pool: Pool) -> tuple[Dimension, float] | None:
    """The sum that stands while a disk which waits goes over to another level, as its siblings take
    from it what they gain, or leave it what they lose: at a limit of its own a disk does neither.
    """
    half = number.LEVEL_LEAST  # blocks of a level before, and of one after
    least = 2 * half
    if watched.queued < least:
        return None
    rates, waits = (
        watched.values_of(IOPS)[-least:],
        watched.recent_latency.values[-least:],
    )
    asked = [*map(mul, rates, waits)]  # at a time (Little's law)
    before, after = sum(asked[:half]), sum(asked[-half:])
    if abs(after - before) > number.OFF_LEVEL * before:
        return None
    for dimension in DIMENSIONS:
        mine, all_ = watched.values_of(dimension)[-least:], pool.values_of(dimension)[-least:]
        moved = abs(sum(mine[:half]) - sum(mine[-half:]))
        moved_together = abs(sum(all_[:half]) - sum(all_[-half:]))
        if (
            moved >= number.OFF_LEVEL * sum(mine[-half:])
            and moved >= 2 * number.RIPPLE * sum(all_[-half:])
            and moved_together <= number.LITTLE * moved
            and (whole := level(all_)).spread <= number.RIPPLE
        ):
            return dimension, whole.mean
    return None


def stands_at(watched: WatchedFlow, levels: Iterable[tuple[Dimension, float]]) -> bool:
    """Whether a flow stands at one of these levels."""
    return any(
        abs(own.mean / value - 1) <= number.SAME_LEVEL
        and own.spread <= number.SAME_LEVEL
        and min(own.count, watched.queued) >= number.LEVEL_LEAST
        for dimension, value in levels
        for own in [watched.level_of(dimension)]
    )


def is_same(one: tuple[Dimension, float], other: tuple[Dimension, float]) -> bool:
    return one[0] is other[0] and abs(one[1] / other[1] - 1) <= number.SAME_LEVEL


def ceilings_met(disks: Mapping[BudgetKey, Case]) -> list[tuple[Dimension, float]]:
    """Limits that disks without known limits have met."""
    return [
        (met.dimension, met.value)
        for case in disks.values()
        if not case.claims and case.plateau.ceilings
        for met in case.plateau.met()
    ]


def stripe_followers(
    stripes: Iterable[Case], watched_flows: Mapping[FlowKey, WatchedFlow]
) -> set[str]:
    """Members of stripes that are only as slow as a sibling makes them: it waits longer."""
    found: set[str] = set()
    for case in stripes:
        delays = [
            (flow.name, watched_flows[flow].delay)
            for flow in case.budget.members
            if flow in watched_flows
        ]
        longest = max((delay for _, delay in delays), default=0.0)
        found.update(name for name, delay in delays if (1 + number.QUEUE_EXCESS) * delay < longest)
    return found


def waits_for_slots(
    watched: WatchedFlow, client: ClientWitness | None, load: float, *, is_full: bool = False
) -> bool:
    """Whether calls wait on this client while the wire is at ease, or is known to be full and its calls take
    no longer than without a limit. load: calls on the wire, all mounts of the client together.
    """
    if client is None or not watched.active:
        return False
    backlog = client.backlog or 0.0
    if watched.queue_share < number.LEAST_PART and backlog < 1.0:
        return False
    here = watched.queue_load
    if here < 1.0 or (client.sending or 0.0) >= 0.5 * here:
        return False  # calls that wait to be written to a connection have their slots
    limit = client.slot_limit
    # Calls that neither read nor write hold slots, too: the load knows nothing of them. Calls queue for a slot
    # only where none is free, however many there would be for a mount that is made now.
    if limit is not None and backlog < 1.0 and max(load, client.on_wire or 0) < 0.5 * limit:
        return False
    if limit is None and backlog < 1.0 and here < number.QUEUE_WAITING:
        return False
    if is_connection_bound(client):
        return False
    most = 2 * number.QUEUE_EXCESS if backlog > 1.0 else number.QUEUE_EXCESS
    # What takes many times as long as alone waits at the server, for those before it: more at a time would too.
    return watched.rtt_excess < (number.STEEP if is_full else most)


def waits_for_acknowledgements(watched: WatchedFlow) -> bool:
    """Whether a call waits as long as a peer's TCP delays an acknowledgement of what is small."""
    if not watched.active:
        return False
    wait = watched.waiting / watched.operations
    return abs(wait / number.ACKNOWLEDGED_SECONDS - 1) <= number.OFF_LEVEL


def is_connection_bound(client: ClientWitness | None) -> bool:
    """Whether TCP itself says that it could not send more.

    TCP's round trip says nothing of it: a request is acknowledged with its reply, so whatever
    holds back the server holds back the acknowledgement (7 times the minimum seen at half of a
    volume's limit, 150 times at it).
    """
    return client is not None and (client.sender_limited_ratio or 0.0) > number.LITTLE
