"""Disks, stripes and the VM's lanes: who is held back, by whose limit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ioplateau.judge import parameters as number
from ioplateau.judge.blame import (
    Culprit,
    ceilings_met,
    gives_way,
    in_one_queue,
    is_apart,
    is_one_queue,
    is_same,
    is_slower,
    of_disks,
    standing_alone,
    stands_at,
    stripe_followers,
    waits_for_another,
    waits_in,
)
from ioplateau.judge.case import Case, apart
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.hypotheses import Hypotheses, any_of, conclude
from ioplateau.judge.known import Claim
from ioplateau.judge.pool import Member, Pool
from ioplateau.judge.providers import instance_exceeded, of_instance, volume_exceeded
from ioplateau.judge.restart import Restartable
from ioplateau.judge.rulings import Ruling
from ioplateau.judge.signals import STRONG, WatchedFlow
from ioplateau.judge.window import DIMENSIONS, IOPS, THROUGHPUT
from ioplateau.judge.witness import Witness
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Verdict,
    Word,
)

# Each stripe asks at each tick: see signals.STRONG.
DISK, THROTTLED = Kind.DISK, Word.THROTTLED
LANES = (Kind.VM_UNCACHED, Kind.VM_CACHED, Kind.VM_ULTRA)


# Lanes that some limit holds, and what it is of: reads, writes or both.
Held: TypeAlias = Mapping[BudgetKey, Direction]


class FoundInLanes(NamedTuple):
    """Limits of lanes that nobody told, as far as their plateaus show them."""

    held: set[BudgetKey]  # the lanes that are
    culprit: Culprit  # whose limit it is where disks wait
    shared: set[str]  # disks that wait in a lane's queue
    is_close: bool  # some lane stands close to a limit that was told


class DiskJudge(Restartable):
    """Remembers every disk, stripe and lane between blocks."""

    def __init__(self) -> None:
        super().__init__()
        self._disks: dict[BudgetKey, Case] = {}
        self._stripes: dict[BudgetKey, Case] = {}
        self._lanes: dict[BudgetKey, Case] = {}
        self._uncached: Pool | None = None  # what draws on the lane that no cache answers
        # A host's cache may answer some of what these are asked.
        self._read_cached: set[str] = set()
        self._write_cached: set[str] = set()
        self._stripe_of: dict[str, str] = {}
        self._lanes_over: dict[str, tuple[BudgetKey, ...]] = {}  # of disks and stripes
        self._held_before: Held = {}  # in the block before
        self._held_by_misses: set[BudgetKey] = set()  # lanes, as far as what disks learned shows
        # Levels that some disk kept while the sum of all moved: disks are often bought alike.
        self._own_levels: list[tuple[Dimension, float]] = []
        self._own: set[str] = set()  # disks at one of them, in this block
        # Sums that stood while a disk that waited gave way to another, and who did while this one stands.
        self._shared_sums: list[tuple[Dimension, float]] = []
        self._gave_way: set[str] = set()
        self._in_turn: set[str] = set()  # those that do as much as one of them, in this block

    # -- who sits here

    def take_budgets(self, budgets: Mapping[BudgetKey, Budget], at: float) -> None:
        """Take these budgets; those that stay keep their memory."""
        self._saved.begin(at)
        disks = {key: b for key, b in budgets.items() if key.kind is Kind.DISK}
        self._read_cached = {flow.name for b in disks.values() for flow in b.skips_reads}
        self._write_cached = {flow.name for b in disks.values() for flow in b.skips_writes}
        flows = {member for b in disks.values() for member in b.members}
        stripes = {key: b for key, b in budgets.items() if key.kind is Kind.STRIPE}
        flows |= {FlowKey("disk", key.name) for key in stripes}
        before = {*self._watched_flows.values()}
        self._watched_flows = {
            flow: self._watched_flows.get(flow) or self._new(flow, at) for flow in flows
        }
        stayed = before & {*self._watched_flows.values()}
        self._disks = {
            key: self._saved.carried_on(
                self._disks.get(key), b, self._watched_flows[b.members[0]], at
            )
            for key, b in disks.items()
        }
        self._stripes = {
            key: self._saved.carried_on(
                self._stripes.get(key), b, self._watched_flows[FlowKey("disk", key.name)], at
            )
            for key, b in stripes.items()
        }
        self._stripe_of = {flow.name: key.name for key, b in stripes.items() for flow in b.members}
        self._lanes = {
            key: self._lane(self._lanes.get(key), b, stayed, at)
            for key, b in budgets.items()
            if key.kind in LANES
        }
        self._uncached = next(
            (each.pool for key, each in self._lanes.items() if key.kind is Kind.VM_UNCACHED), None
        )
        self._lanes_over = {
            key.name: tuple(
                [lane for lane, each in self._lanes.items() if _is_below(each, b.members)]
            )
            for key, b in (*disks.items(), *stripes.items())
        }

    def _new(self, flow: FlowKey, at: float) -> WatchedFlow:
        # A host's cache answers within the unit in which the kernel counts: in half of it on average.
        reads, writes = [
            number.COUNTED_SECONDS / 2 if flow.name in cached else number.PRIOR_SECONDS
            for cached in (self._read_cached, self._write_cached)
        ]
        return self._saved.to_watched(flow, WatchedFlow((reads, writes)), at)

    def not_counting_empty_writes(self) -> list[FlowKey]:
        """The disks of which it is known that their limits do not count writes without data."""
        watched_flows = self._watched_flows.items()
        return [
            flow
            for flow, watched in watched_flows
            if watched.empty_writes is not None and not watched.empty_writes.are_counted
        ]

    def _lane(
        self, before: Case | None, budget: Budget, stayed: Collection[WatchedFlow], at: float
    ) -> Case:
        members = []
        groups: dict[str, int] = {}
        for flow in budget.members:
            watched = self._watched_flows.get(flow)
            if watched is None:
                continue
            stripe = self._stripe_of.get(flow.name, flow.name)
            members.append(
                Member(
                    flow.name,
                    watched,
                    reads=flow not in budget.skips_reads,
                    writes=flow not in budget.skips_writes,
                    group=groups.setdefault(stripe, len(groups)),
                )
            )
        # Disks that come or go change nothing of the VM's limit. If one that stays counts otherwise, or no more,
        # what was seen is not the sum that the limit is of.
        if before is not None and _drawn_by(before.pool.members, stayed) == _drawn_by(
            members, stayed
        ):
            before.pool.take(members)
            return self._saved.carried_on(before, budget, before.pool, at)
        pool = Pool(members, is_cache=budget.key.kind is Kind.VM_CACHED)
        return self._saved.carried_on(None, budget, pool, at)

    # -- one block

    def step(
        self,
        at: float,
        dt: float,
        flows: Mapping[FlowKey, FlowTick | None],
        witness: Witness,
        verdicts: dict[BudgetKey, Verdict],
    ) -> None:
        """Every budget judged here, one block."""
        self._look(at, dt, flows)
        awake, lasting = apart(self._disks)
        bound = self._bind_disks(dt, awake)
        lanes = self._bind_lanes(dt, awake, bound)
        held = {key: claim.limit.direction for key, claim in lanes.items()}
        above = self._find_in_lanes(dt, held)
        self._find_in_disks(dt, awake, bound, held, above)
        for key in above.held:  # a limit that nobody told is of both directions
            held[key] = Direction.TOTAL
            lanes.pop(key, None)
        volumes = of_instance(witness.ebs.values())
        exceeded = instance_exceeded(volumes)
        if volumes:
            # What of this lane was inferred is not said either.
            held = {key: of for key, of in held.items() if key.kind is not Kind.VM_UNCACHED}
            if exceeded is not None:
                held |= {
                    key: Direction.TOTAL for key in self._lanes if key.kind is Kind.VM_UNCACHED
                }
        self._held_before = {
            key: of for key, of in held.items() if (claim := lanes.get(key)) is None or claim.direct
        }
        for key, case in self._disks.items():
            if witness.ebs and (ebs := witness.ebs.get(key.name)) is not None:
                says = self._counted(case, volume_exceeded(ebs), self._if_waiting(case, held))
            elif (verdict := lasting.get(key)) is not None:
                verdicts[key] = verdict
                continue
            else:
                says = self._of_disk(
                    case, bound.get(key), above.culprit, self._if_waiting(case, held)
                )
            verdicts[key] = conclude(case, at, dt, says, case.budget.members)
        for key, case in self._stripes.items():
            says = self._of_stripe(case, dt, verdicts, self._if_waiting(case, held))
            itself = (FlowKey("disk", key.name),)
            members = case.budget.members if says.known is not None else itself
            verdicts[key] = conclude(case, at, dt, says, members)
        for key, case in self._lanes.items():
            if volumes and key.kind is Kind.VM_UNCACHED:
                says, members = self._counted(case, exceeded), case.budget.members
            else:
                of = held.get(key, Direction.TOTAL)
                says, members = self._of_lane(case, lanes.get(key)), _waiting(case.pool, of)
            verdicts[key] = conclude(case, at, dt, says, members)

    def _look(self, at: float, dt: float, flows: Mapping[FlowKey, FlowTick | None]) -> None:
        for flow, watched in self._watched_flows.items():
            tick = flows.get(flow)
            if tick is None:
                watched.miss()
            elif not (watched.asleep and watched.sleeps_on(tick)):
                stalled = watched.stalled_seconds
                watched.look(tick, at, dt)
                if stalled or watched.resumes:
                    watched.resume(stalled)

    def unsettle(self) -> None:
        """A gap: nothing new is learned just after it."""
        for watched in self._watched_flows.values():
            watched.unsettle()

    def _bind_disks(self, dt: float, awake: Mapping[BudgetKey, Case]) -> dict[BudgetKey, Claim]:
        bound = {}
        siblings = self._siblings()
        for key, case in awake.items():
            claim = case.weigh_claims(
                dt,
                sibling=key.name in siblings,
                elsewhere=key.name not in siblings
                and self._holder(case, self._held_before) is not None,
            )
            if claim is not None:
                bound[key] = claim
        return bound

    def _off_now(self, disk: BudgetKey, claim: Claim) -> float:
        """Of this block, as the lane's is: what is smoothed would lag behind it."""
        limit = claim.limit
        return self._disks[disk].rate_of(limit.dimension, limit.direction) / claim.value - 1

    def _siblings(self) -> set[str]:
        """Members of stripes of which some member waits."""
        found: set[str] = set()
        for case in self._stripes.values():
            watched_flows = [self._watched_flows.get(flow) for flow in case.budget.members]
            if any(watched is not None and watched.queue >= STRONG for watched in watched_flows):
                found.update(flow.name for flow in case.budget.members)
        return found

    def _bind_lanes(
        self, dt: float, awake: Mapping[BudgetKey, Case], bound: dict[BudgetKey, Claim]
    ) -> dict[BudgetKey, Claim]:
        lanes: dict[BudgetKey, Claim] = {}
        self._own = set()
        self._held_by_misses = set()
        self._in_turn = set()
        for key, case in self._lanes.items():
            pool = case.pool
            pool.add_up()
            fit = _nearest(case)
            # A disk that is as near to the lane's limit as to its own does not explain itself.
            worst = min([_misfit(off) for off, _ in _offs(case)]) + number.SAME_LEVEL
            told = {
                disk.name
                for disk, claim in bound.items()
                if _misfit(self._off_now(disk, claim)) <= worst
            }
            if key.kind is Kind.VM_UNCACHED and fit > number.OFF_LIMIT:
                self._own = self._standing_alone(pool, dt)
                told |= self._own
                self._note_shared(pool)
            explained = set(told)
            # What a disk was thought to have learned explains nothing at the lane's known limit.
            may_miss = self._may_miss(case)
            if fit > number.OFF_LIMIT and not is_one_queue(case, self._disks):
                explained.update(disk.name for disk, own in awake.items() if own.met)
                explained -= self._gave_way | self._in_turn | (may_miss - told)
            pool.weigh(explained, told, may_miss)
            claim = case.weigh_claims(
                dt,
                elsewhere=(pool.is_cache and bool(lanes))
                or (fit > number.OFF_LIMIT and self._all_at_their_own(pool)),
            )
            if pool.near:
                for member in pool.members:
                    member.watched.near = True
            if claim is not None:
                lanes[key] = claim
                if may_miss:
                    self._held_by_misses.add(key)
                names = {
                    member.name
                    for member in pool.members
                    if member.rates[0] > 0 and waits_in(member.watched, claim.limit.direction)
                }
                for disk in [d for d in bound if d.name in names and d.name not in explained]:
                    del bound[disk]
        return lanes

    def _may_miss(self, lane: Case) -> set[str]:
        """Disks that stand at a level nobody told, though a told limit of this lane may explain it: by reads that
        miss a host's cache.
        """
        if not lane.claims or not lane.pool.may_hold_misses:
            return set()
        cached = {member.key for member in lane.pool.moving if not member.reads}
        return {key.name for key, case in self._disks.items() if key in cached and case.met}

    def _standing_alone(self, pool: Pool, dt: float) -> set[str]:
        """Disks that wait at a level which is no part of what all disks share: it stands while their
        sum moves, or has done so before, there or at a sibling.
        """
        found = set()
        for member in pool.moving if len(pool.moving) > 1 else ():
            watched = member.watched
            if watched.queue < STRONG or not (member.reads and member.writes):
                continue
            alone = standing_alone(watched, pool, dt)
            if alone is not None:
                _note(self._own_levels, alone)
            if alone is not None or stands_at(watched, self._own_levels):
                found.add(member.name)
        return found

    def _note_shared(self, pool: Pool) -> None:
        """Note which disks that wait give way to others, or take from them, while the sum of all stands:
        it is the sum that is held.
        """
        if not self._is_shared(pool):
            self._gave_way = set()
        for member in pool.moving if len(pool.moving) > 1 else ():
            watched = member.watched
            alone = member.reads and member.writes and member.name not in self._stripe_of
            if not alone or (shared := gives_way(watched, pool)) is None:
                continue
            _note(self._shared_sums, shared)
            self._gave_way.add(member.name)
        self._in_turn = self._as_much(pool) if self._gave_way else set()

    def _as_much(self, pool: Pool) -> set[str]:
        """Disks that wait and do as much as another one that made room while the sum of all stood: served in turn, a
        disk that waits gets less than another only if a limit of its own holds it.
        """
        levels = [
            (each.name, (dimension, mean))
            for each in pool.moving
            for dimension in DIMENSIONS
            if each.name in self._gave_way and (mean := each.watched.level_of(dimension).mean)
        ]
        return {
            each.name
            for each in pool.moving
            if each.reads and each.writes and each.name not in self._stripe_of
            if stands_at(each.watched, [level for name, level in levels if name != each.name])
        }

    def _is_shared(self, pool: Pool) -> bool:
        """Whether the sum is where it stood as a disk gave way to others."""
        rates = (IOPS, pool.operations), (THROUGHPUT, pool.bytes)
        return any(is_same(rate, shared) for shared in self._shared_sums for rate in rates)

    def _all_at_their_own(self, pool: Pool) -> bool:
        """Whether every disk that waits stands at a limit of its own."""
        cases = [self._disks.get(member.key) for member in pool.those_waiting]
        return bool(cases) and all(case and _nearest(case) <= number.OFF_LIMIT for case in cases)

    def _find_in_lanes(self, dt: float, held: Held) -> FoundInLanes:
        """Plateaus of lanes, where no limit that was told holds them. held: by such a limit."""
        culprit = Culprit.DISK
        found: set[BudgetKey] = set()
        shared: set[str] = set()
        is_close = False
        for key, case in self._lanes.items():
            pool = case.pool
            if not pool.operations and not case.plateau.belief.seconds:
                continue
            if pool.is_cache and found and not is_slower(pool, self._uncached):
                case.plateau.rest(dt)
                continue
            who = Culprit.DISK
            waits = pool.queue >= STRONG and not pool.may_miss
            if waits:
                # What stands close to a told limit is likelier that limit, told wrong, than a disk's.
                is_told_wrong = any(
                    all(waits_in(each.watched, direction) for each in pool.those_waiting)
                    for off, direction in _offs(case)
                    if abs(off) <= number.STEP
                )
                is_close = is_close or is_told_wrong
                is_vms = is_told_wrong or self._is_shared(pool)
                who = Culprit.VM if is_vms else of_disks(pool, dt)
            if is_one_queue(case, self._disks):
                shared |= in_one_queue(pool, self._disks)
            if waits and culprit is not Culprit.VM:
                culprit = who
            is_held = any(
                lane in held and waits_in(member.watched, held[lane])
                for member in pool.members
                for lane in self._lanes_over[member.name]
            )
            case.plateau.step(
                pool,
                dt,
                told=case.limits_to_beat,
                allowed=who is Culprit.VM and not is_held,
                recurs=case.plateau.on or who is not Culprit.DISK or not waits,
            )
            if case.plateau.on and not is_held:
                found.add(key)
                shared |= in_one_queue(pool, self._disks)
                if pool is self._uncached:
                    shared |= self._in_turn
        return FoundInLanes(found, culprit, shared, is_close)

    def _find_in_disks(
        self,
        dt: float,
        awake: Mapping[BudgetKey, Case],
        bound: Mapping[BudgetKey, Claim],
        held: Held,
        above: FoundInLanes,
    ) -> None:
        """Plateaus of disks, where no limit that was told holds them or a lane of theirs. held: such lanes."""
        shared = above.shared
        # What shows that a lane is held is learned on.
        held = {key: of for key, of in held.items() if key not in self._held_by_misses}
        waits = any(case.drawn.queue >= STRONG for case in awake.values())
        hints = ceilings_met(self._disks) if waits else []
        if waits:
            shared = shared | stripe_followers(self._stripes.values(), self._watched_flows)
        for key, case in awake.items():
            watched = case.watched
            if not watched.active:
                if not watched.in_flight:
                    case.forget_limit()
                elif watched.stalled_seconds:
                    case.pass_silence(dt)
                elif case.plateau.belief.seconds or case.met:
                    case.pass_over(dt)
                continue
            if key.name in shared and key.name not in self._own:
                if case.plateau.on:
                    case.plateau.disown(watched)
                case.pass_over(dt)
                continue
            is_free = key not in bound and not (held and self._holder(case, held))
            case.look_for_limit(
                dt,
                told=case.limits_to_beat,
                allowed=is_free and self._may_be_its_own(key, case, above),
                hints=hints if is_free else (),
            )

    def _may_be_its_own(self, disk: BudgetKey, case: Case, above: FoundInLanes) -> bool:
        """Whether a plateau of this disk may be a limit of its own, and not the lane's."""
        whole = self._uncached
        if whole is None or not self._lanes_over[disk.name]:
            return True
        if not (above.is_close or whole.alike):
            return True
        if case.claims:
            return False
        if disk.name in self._own:
            return True
        return is_apart(case.watched, whole) if above.held else above.culprit is not Culprit.VM

    def _holder(self, case: Case, held: Held) -> BudgetKey | None:
        """The first of these lanes that a disk or stripe draws on, with requests that wait for it, if any do."""
        for lane in self._lanes_over[case.budget.key.name]:
            if lane in held and waits_in(case.watched, held[lane]):
                return lane
        return None

    def _if_waiting(self, case: Case, held: Held) -> BudgetKey | None:
        return self._holder(case, held) if held and waits_for_another(case.watched) else None

    # -- hypotheses

    @staticmethod
    def _counted(
        case: Case, exceeded: Dimension | None, elsewhere: BudgetKey | None = None
    ) -> Hypotheses:
        """The provider counts exceeded time itself; inference has nothing to add."""
        counted = Ruling.counted(case, exceeded) if exceeded is not None else None
        return Hypotheses(counted=counted, elsewhere=elsewhere)

    def _of_disk(
        self, case: Case, claim: Claim | None, culprit: Culprit, elsewhere: BudgetKey | None
    ) -> Hypotheses:
        met = None
        if case.met and elsewhere not in self._held_by_misses:
            met = Ruling.learned(case, self._whose(case.budget.key, culprit))
        return any_of(claim, met, elsewhere)

    def _whose(self, disk: BudgetKey, culprit: Culprit) -> Culprit:
        """Where one disk waits, or all stand as their sum does, and no limit of its lanes is known, it may be
        the lane's as well: of which another disk, at its own, leaves the rest.
        """
        lanes = self._lanes_over[disk.name]
        if not lanes:
            return Culprit.DISK
        if any(self._lanes[lane].claims for lane in lanes) or disk.name in self._own:
            return culprit
        waiting = sum(
            case.watched.queue >= STRONG
            for key, case in self._disks.items()
            if self._lanes_over[key.name]
        )
        is_open = waiting <= 1 or (culprit is Culprit.DISK and self._sum_stands())
        return Culprit.EITHER if is_open else culprit

    def _sum_stands(self) -> bool:
        """Whether what all disks do together is as flat as a limiter's rate."""
        whole = self._uncached
        levels = [whole.level_of(each) for each in DIMENSIONS] if whole is not None else []
        return any(
            each.count >= number.LEVEL_LEAST and each.spread <= number.RIPPLE for each in levels
        )

    @staticmethod
    def _of_stripe(
        case: Case, dt: float, verdicts: Mapping[BudgetKey, Verdict], elsewhere: BudgetKey | None
    ) -> Hypotheses:
        hot: Sequence[Verdict] = ()
        if case.drawn.operations > 0:
            keys = [BudgetKey(DISK, flow.name) for flow in case.budget.members]
            hot = [v for key in keys if (v := verdicts.get(key)) and v.word is THROTTLED]
        return Hypotheses(known=case.weigh_claims(dt), members=hot, elsewhere=elsewhere)

    @staticmethod
    def _of_lane(case: Case, claim: Claim | None) -> Hypotheses:
        met = Ruling.learned(case, Culprit.VM) if case.plateau.on else None
        return any_of(claim, met, None)

    # -- memory

    def cases(self) -> Iterable[Case]:
        return (*self._disks.values(), *self._stripes.values(), *self._lanes.values())


def _is_below(lane: Case, flows: Collection[FlowKey]) -> bool:
    return not {*flows}.isdisjoint(lane.budget.members)


def _drawn_by(
    members: Iterable[Member], flows: Collection[WatchedFlow]
) -> dict[str, tuple[bool, bool]]:
    """Whether reads, and writes, of each of these disks count on a lane; who is not in it is left out."""
    return {m.name: (m.reads, m.writes) for m in members if m.watched in flows}


def _waiting(pool: Pool, direction: Direction) -> tuple[FlowKey, ...]:
    return tuple(
        [
            FlowKey("disk", member.name)
            for member in pool.moving
            if waits_for_another(member.watched) and waits_in(member.watched, direction)
        ]
    )


def _note(levels: list[tuple[Dimension, float]], level: tuple[Dimension, float]) -> None:
    """Keep one more level, unless it is known."""
    if not any(is_same(level, known) for known in levels):
        levels.append(level)
        del levels[: -number.SUM_BLOCKS]


def _misfit(off: float) -> float:
    """A rate off a limit by this share, as it speaks against that limit. What is missing counts twice:
    a provider enforces what was sold, or some percent more.
    """
    return off if off > 0 else -2 * off


def _offs(case: Case) -> list[tuple[float, Direction]]:
    """By which shares the sum is off its known limits, base or burst, and of what they are; none: far off."""
    return [
        (case.rate_of(c.limit.dimension, c.limit.direction) / value - 1, c.limit.direction)
        for c in case.claims
        for value in c.values
    ] or [(1.0, Direction.TOTAL)]


def _nearest(case: Case) -> float:
    """How near the sum is to one of its known limits, as a share."""
    return min([abs(off) for off, _ in _offs(case)])
