"""The books: how much of each limit is used, for how long it held, and what credit is left.

What is counted here survives missed scrapes and, through `memory`, restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from math import inf
from typing import Any, NamedTuple, TypeVar

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.usage import FlowClock, Meter, WindowMean, drawn, is_throttled_at
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    LimitPlace,
    Origin,
    Verdict,
    Word,
)
from ioplateau.limits.claims import doubt, is_outdone, outdone, settle
from ioplateau.limits.credits import (
    NEAR_ABOVE,
    CreditBucket,
    away,
    exhaustion_seconds,
    filled,
    fitted,
    is_sound,
    observe,
)
from ioplateau.saved import Count, Rate, Seconds, as_row, wrong
from ioplateau.state import HeldState, LimitState, has_moved

# "At the present rate": a burst should show within seconds, one odd tick should not.
PACE_SECONDS = 5.0
# Until the first tick sets the window.
RESTORED_WINDOW_SECONDS = 15.0

# Whose limits of the configuration nothing passes by right. An instance's network does for hours where its
# limit is a baseline; what a control group is allowed is its kernel's to keep.
KEPT = frozenset({
    Kind.DISK, Kind.STRIPE, Kind.VM_UNCACHED, Kind.VM_CACHED, Kind.VM_ULTRA, Kind.VOLUME,
})  # fmt: skip

# Budgets that are no more, of which what was counted is kept.
MOST_ABSENT = 200


@as_row
class SavedMeter(NamedTuple):
    """For how long, and how often, a limit held."""

    key: BudgetKey
    dimension: Dimension
    direction: Direction
    throttled_seconds: Seconds
    episodes: Count


@as_row
class SavedLevel(NamedTuple):
    """A limit that was learned."""

    key: BudgetKey
    dimension: Dimension
    direction: Direction
    value: Rate


@as_row
class SavedCredit(NamedTuple):
    """The bucket of a limit."""

    key: BudgetKey
    dimension: Dimension
    direction: Direction
    bucket: CreditBucket


@as_row
class SavedSeconds(NamedTuple):
    """For how long a flow suffered from a budget."""

    flow: FlowKey
    key: BudgetKey
    dimension: Dimension
    seconds: Seconds


@as_row
class SavedThrottle(NamedTuple):
    """A limit that holds."""

    key: BudgetKey
    dimension: Dimension
    direction: Direction


class SavedAccounts(NamedTuple):
    """What of the accounts survives a restart. holds: of the meters, those whose episode goes on."""

    meters: tuple[SavedMeter, ...] = ()
    learned: tuple[SavedLevel, ...] = ()
    credits: tuple[SavedCredit, ...] = ()
    flows: tuple[SavedSeconds, ...] = ()
    holds: tuple[SavedThrottle, ...] = ()


def check(found: SavedAccounts, where: str) -> None:
    """Raise ShapeError where numbers that are well each by itself do not agree."""
    for place, credit in enumerate(found.credits):
        if not is_sound(credit.bucket):
            raise wrong(f"{where}.credits[{place}]", "numbers that do not agree", "a bucket")


K = TypeVar("K")


class Accounts:
    """One book for each budget, dimension and direction."""

    def __init__(self) -> None:
        self._meters: dict[LimitPlace, Meter] = {}
        self._learned: dict[BudgetKey, dict[tuple[Dimension, Direction], Limit]] = {}
        self._buckets: dict[LimitPlace, CreditBucket] = {}
        self._paces: dict[LimitPlace, WindowMean] = {}
        self._words: dict[LimitPlace, str] = {}  # the last correction of each bucket
        self._above: dict[LimitPlace, float] = {}  # seconds in a row far above a configured limit
        # Such limits, and what was done then, the first time.
        self._outdone: dict[LimitPlace, tuple[Limit, float]] = {}
        self._clock = FlowClock()
        self._passed = 0.0  # seconds since the tick before
        self._budgets: Mapping[BudgetKey, Budget] = {}
        self._unheld: dict[tuple[FlowKey, BudgetKey, Dimension], float] = {}
        # Of the last run, not seen in this one, or gone in this one.
        self._awaited: set[BudgetKey] = set()
        self._untold: set[LimitPlace] = set()  # that have held, and whose limit has no value
        self._holds: set[LimitPlace] = set()  # of the last run, not met in this one
        self._began = inf  # the first tick that was booked
        self.moved: list[BudgetKey] = []  # in this tick, a limit of theirs in force did

    @property
    def flow_seconds(self) -> Mapping[tuple[FlowKey, BudgetKey, Dimension], float]:
        """For how long each flow suffered; 0 where a limit was told and has held nobody yet: a counter
        that is born with its first seconds has no increase by them.
        """
        counted = {
            key: seconds for key, seconds in self._clock.seconds.items() if key[1] in self._budgets
        }
        return {**self._unheld, **counted}

    @property
    def learned(self) -> Collection[BudgetKey]:
        """The budgets of which a limit was met that nobody told."""
        return self._learned.keys()

    @property
    def corrections(self) -> tuple[str, ...]:
        """What credit models had to be told by observation, in words."""
        return tuple(
            f"credit of {key[0].kind} {key[0].name}: {words}" for key, words in self._words.items()
        )

    def tick(self, elapsed: float | None, held: Iterable[Verdict], passed: float) -> None:
        """Count this tick for every flow that suffers. passed: seconds since the tick before, also where
        `elapsed` tells none: in a gap, or while the machine slept.
        """
        self._clock.observe(elapsed, held)
        self._passed = passed
        self.moved = []

    def keep_only(self, budgets: Mapping[BudgetKey, Budget]) -> None:
        """Close the books of budgets that are no more.

        What was counted waits for them to come back: a mount whose record was damaged for a
        tick, a lane whose cloud has not told of it yet. What was observed goes at once, for the
        next disk of that name may be another, unless it is waited for. So does the credit
        of a limit that has none any more, or is not configured any more.
        """
        self._budgets = budgets
        self._unheld = {
            (flow, key, limit.dimension): 0.0
            for key, budget in budgets.items()
            for limit in budget.limits
            for flow in budget.members
        }
        self._awaited = {key for key in self._awaited if key not in budgets}
        self._drop_observed(lambda key: not self._is_kept(key))
        bursting = {
            (key, limit.dimension, limit.direction)
            for key, budget in budgets.items()
            for limit in budget.limits
            if limit.burst is not None
        }
        # Those met in this run: of others a cloud may not have told yet.
        for place in self._paces.keys() - bursting:
            if place[0] not in self._awaited:
                for book in (self._buckets, self._paces, self._words):
                    book.pop(place, None)
        members = {flow for budget in budgets.values() for flow in budget.members}
        _drop_oldest(self._meters, lambda place: place[0] not in budgets)
        self._untold &= self._meters.keys()
        _drop_oldest(
            self._clock.seconds, lambda key: key[1] not in budgets or key[0] not in members
        )

    def forget(self, flows: Collection[FlowKey]) -> None:
        """Another disk or server stands under each of these names: what was observed of it goes, and what was
        counted stays, as long as the name does.
        """
        names = {flow.name for flow in flows}
        self._drop_observed(lambda key: key.name in names)

    def wait_for(self, names: Collection[str]) -> None:
        """These are gone: what was observed of them waits for them to come back."""
        observed = {*self._learned, *(place[0] for place in self._buckets)}
        self._awaited |= {key for key in observed if key.name in names}

    def rename(self, names: Mapping[str, str]) -> None:
        """What waits under each of these names has another now. What was counted stays with the name: a
        counter that becomes another's goes back, or jumps.
        """
        moved = {
            key: key._replace(name=names[key.name]) for key in self._awaited if key.name in names
        }
        taken = {*names.values()}
        self._drop_observed(lambda key: key.name in taken and key not in moved)
        self._learned = {moved.get(key, key): found for key, found in self._learned.items()}
        self._buckets = {
            (moved.get(key, key), dimension, direction): bucket
            for (key, dimension, direction), bucket in self._buckets.items()
        }
        self._awaited = {moved.get(key, key) for key in self._awaited}
        left = moved.keys() - {*moved.values()}
        self._drop_observed(lambda key: key in left)

    @property
    def awaited(self) -> set[str]:
        """The names of those of which something waits for them to appear, or to come back."""
        return {key.name for key in self._awaited}

    def let_go(self, names: Collection[str]) -> None:
        """These are waited for no more: what was observed of them goes."""
        gone = {key for key in self._awaited if key.name in names}
        self._awaited -= gone
        self._drop_observed(gone.__contains__)

    def _drop_observed(self, is_gone: Callable[[BudgetKey], bool]) -> None:
        for learned in [key for key in self._learned if is_gone(key)]:
            del self._learned[learned]
        observed: tuple[dict[LimitPlace, Any], ...] = (
            self._buckets, self._paces, self._words, self._above, self._outdone,
        )  # fmt: skip
        for book in observed:
            for place in [place for place in book if is_gone(place[0])]:
                del book[place]

    def _is_kept(self, key: BudgetKey) -> bool:
        return key in self._budgets or key in self._awaited

    def book(
        self,
        budget: Budget,
        at: float,
        elapsed: float | None,
        flows: Mapping[FlowKey, FlowTick | None],
        verdict: Verdict,
        window_seconds: float,
    ) -> tuple[LimitState, ...]:
        """One tick of one budget: a line for each limit, known or learned."""
        self._began = min(self._began, at)
        limits = self._limits(budget, verdict, flows)
        return tuple(
            [
                self._line(budget, limit, at, elapsed, flows, verdict, window_seconds)
                for limit in limits
            ]
        )

    def _line(
        self,
        budget: Budget,
        limit: Limit,
        at: float,
        elapsed: float | None,
        flows: Mapping[FlowKey, FlowTick | None],
        verdict: Verdict,
        window_seconds: float,
    ) -> LimitState:
        place = (budget.key, limit.dimension, limit.direction)
        meter = self._meters.get(place)
        if meter is None:
            meter = self._meters[place] = Meter(window_seconds)
        meter.mean.seconds = window_seconds
        rate = drawn(budget, flows, limit.dimension, limit.direction)
        throttled = is_throttled_at(verdict, limit.dimension, limit.direction)
        if limit.origin is Origin.CONFIGURED and budget.key.kind in KEPT:
            self._compare(place, limit, rate, elapsed)
        bucket = before = self._buckets.get(place)
        if limit.burst is not None or before is not None:
            bucket = self._credit(place, limit, rate, elapsed, throttled)
        is_spent = limit.burst is not None and self._is_spent(
            budget, limit, verdict.limit if throttled else None
        )
        sold = _in_force(limit, bucket, is_spent=is_spent)
        effective = verdict.limit if throttled and verdict.limit else sold
        # In the tick in which the credit ends, more than the base was still allowed.
        allowed = (
            effective if throttled else max(_in_force(limit, before, is_spent=is_spent), effective)
        )
        share = None if rate is None or not allowed else rate / allowed
        if throttled and place in self._holds:
            self._go_on(place, meter, verdict)
        meter.observe(at, elapsed, share, throttled=throttled)
        if meter.in_force is not None and has_moved(meter.in_force, effective):
            self.moved.append(budget.key)
        meter.in_force = effective
        credit = left = None
        if bucket is not None:
            credit = bucket.ratio
            pace = self._pace(place, rate, elapsed)
            left = None if pace is None else exhaustion_seconds(bucket, pace)
        return LimitState(
            limit,
            effective,
            meter.utilization,
            meter.peak(at),
            throttled,
            meter.throttled_seconds,
            meter.episodes,
            verdict.demand if throttled else None,
            credit,
            left,
            # Nobody sold what was learned.
            effective / sold if throttled and limit.origin is not Origin.LEARNED else None,
            share,
        )

    def _go_on(self, place: LimitPlace, meter: Meter, verdict: Verdict) -> None:
        """Limits that held as the last run ended: a verdict that is older than this one goes on, and its episode
        is counted.
        """
        self._holds.discard(place)
        meter.throttled = verdict.since < self._began

    def book_untold(
        self, at: float, elapsed: float | None, verdicts: Mapping[BudgetKey, Verdict]
    ) -> dict[BudgetKey, tuple[HeldState, ...]]:
        """One tick of all limits that have held and whose value nobody tells, after those that are booked."""
        return {
            place[0]: (self._held(place, at, elapsed, verdicts[place[0]]),)
            for place in self._untold
            if place[0] in self._budgets and not self._budgets[place[0]].limits
        }

    def _held(
        self, place: LimitPlace, at: float, elapsed: float | None, verdict: Verdict
    ) -> HeldState:
        _, dimension, direction = place
        meter = self._meters.get(place)
        if meter is None:
            meter = self._meters[place] = Meter(RESTORED_WINDOW_SECONDS)
        throttled = is_throttled_at(verdict, dimension, direction)
        if throttled and place in self._holds:
            self._go_on(place, meter, verdict)
        meter.observe(at, elapsed, None, throttled=throttled)
        return HeldState(dimension, direction, throttled, meter.throttled_seconds, meter.episodes)

    def _compare(
        self, place: LimitPlace, limit: Limit, rate: float | None, elapsed: float | None
    ) -> None:
        if rate is None or elapsed is None or not is_outdone(limit, rate):
            self._above.pop(place, None)
            return
        self._above[place] = self._above.get(place, 0.0) + elapsed
        before = self._outdone.get(place)
        if self._above[place] >= PACE_SECONDS and (before is None or before[0] != limit):
            self._outdone[place] = limit, rate

    def _is_spent(self, budget: Budget, limit: Limit, held: float | None) -> bool:
        """Whether a burst of unknown credit is over: it is held at its base or below (held: the
        rate at which requests wait, None: none do), or the budget's counted credit is used up, on
        which gp2's throughput depends.
        """
        if held is not None and held <= NEAR_ABOVE * limit.value:
            return True
        buckets = (
            self._buckets.get((budget.key, each.dimension, each.direction))
            for each in budget.limits
        )
        return any(bucket is not None and not bucket.has_credit for bucket in buckets)

    def _pace(self, place: LimitPlace, rate: float | None, elapsed: float | None) -> float | None:
        """The present rate, without the jitter of single ticks."""
        pace = self._paces.get(place)
        if pace is None:
            pace = self._paces[place] = WindowMean(PACE_SECONDS)
        if rate is None or elapsed is None:
            pace.clear()
        else:
            pace.add(elapsed, rate)
        return pace.mean

    def _credit(
        self,
        place: LimitPlace,
        limit: Limit,
        rate: float | None,
        elapsed: float | None,
        throttled: bool,
    ) -> CreditBucket | None:
        """The bucket after this tick; None: this limit has no credit, or of unknown size."""
        before = self._buckets.get(place)
        bucket = filled(limit) if before is None else fitted(before, limit)
        if bucket is not before:
            self._words.pop(place, None)  # of another one
        if bucket is None:
            self._buckets.pop(place, None)
            return None
        if rate is not None and elapsed is not None:
            bucket, words = observe(bucket, rate, elapsed, is_held=throttled)
            if words:
                self._words[place] = words
        else:
            bucket = away(bucket, self._passed)  # what was done then, nobody saw
        self._buckets[place] = bucket
        return bucket

    def _limits(
        self, budget: Budget, verdict: Verdict, flows: Mapping[FlowKey, FlowTick | None]
    ) -> tuple[Limit, ...]:
        """The known limits, and those that were found: once met, they stay."""
        if verdict.dimension is not None:
            if verdict.limit:
                self._learn(verdict, verdict.dimension, verdict.limit)
            elif verdict.origin is Origin.REPORTED:
                self._note_counted(budget, verdict, verdict.dimension, flows)
            elif verdict.dimension is Dimension.SLOTS and not budget.limits:
                self._untold.add((budget.key, Dimension.SLOTS, Direction.TOTAL))
        learned = self._learned.get(budget.key)
        if not learned:
            return budget.limits
        known = {(limit.dimension, limit.direction) for limit in budget.limits}
        found = (limit for way, limit in learned.items() if way not in known)
        return (*budget.limits, *found)

    def _learn(self, verdict: Verdict, dimension: Dimension, value: float) -> None:
        way = (dimension, verdict.direction or Direction.TOTAL)
        before = self._learned.get(verdict.key, {}).get(way)
        if verdict.origin is Origin.LEARNED:
            if before is None or before.value != value:
                self._learned.setdefault(verdict.key, {})[way] = _observed(*way, value)
        elif before is not None and verdict.word is Word.THROTTLED:
            del self._learned[verdict.key][way]  # the known limit was met after all

    def _note_counted(
        self,
        budget: Budget,
        verdict: Verdict,
        dimension: Dimension,
        flows: Mapping[FlowKey, FlowTick | None],
    ) -> None:
        """A limit that the provider counts as exceeded and nobody told: the most that was done then."""
        way = (dimension, verdict.direction or Direction.TOTAL)
        rate = drawn(budget, flows, *way)
        found = self._learned.setdefault(budget.key, {})
        before = found.get(way)
        most = before.value if before is not None and before.origin is Origin.REPORTED else 0.0
        if rate is not None and rate > most:
            found[way] = Limit(*way, rate, Origin.REPORTED, "counted by the provider")

    def with_learned(self, budget: Budget) -> Budget:
        """The budget with what was learned beside what is known, and why one of them lost."""
        learned = self._learned.get(budget.key, {}).values()
        if not learned:
            return budget
        limits, lost = settle([*budget.limits, *learned])
        return budget._replace(limits=limits, rejected=(*budget.rejected, *lost))

    def doubts(self, budgets: Mapping[BudgetKey, Budget]) -> tuple[str, ...]:
        """Where observation and what we were told of a limit disagree, in words."""
        held = (
            (key, doubt(known, learned[known.dimension, known.direction]))
            for key, learned in self._learned.items()
            if key in budgets
            for known in budgets[key].limits
            if (known.dimension, known.direction) in learned
        )
        passed = (
            (key, outdone(limit, rate))
            for (key, *way), (limit, rate) in self._outdone.items()
            if key in budgets
            and limit in budgets[key].limits
            and tuple(way) not in self._learned.get(key, {})
        )
        return tuple(f"{key.kind} {key.name}: {words}" for key, words in (*held, *passed) if words)

    def memory(self) -> SavedAccounts:
        """All that must survive a restart."""
        return SavedAccounts(
            meters=tuple(
                SavedMeter(*place, meter.throttled_seconds, meter.episodes)
                for place, meter in self._meters.items()
                if meter.episodes
            ),
            learned=tuple(
                SavedLevel(key, *way, limit.value)
                for key, learned in self._learned.items()
                for way, limit in learned.items()
                if limit.origin is Origin.LEARNED
            ),
            credits=tuple(SavedCredit(*place, bucket) for place, bucket in self._buckets.items()),
            flows=tuple(
                SavedSeconds(flow, key, dimension, seconds)
                for (flow, key, dimension), seconds in self._clock.seconds.items()
            ),
            holds=tuple(
                SavedThrottle(*place)
                for place, meter in self._meters.items()
                if meter.throttled or place in self._holds
            ),
        )

    def restore(self, saved: SavedAccounts, away_seconds: float) -> None:
        """Take back what `memory` gave, `away_seconds` ago."""
        for key, dimension, direction, seconds, episodes in saved.meters:
            meter = Meter(RESTORED_WINDOW_SECONDS, seconds, episodes)
            self._meters[key, dimension, direction] = meter
            if dimension is Dimension.SLOTS:
                self._untold.add((key, dimension, direction))
        self._holds = set(saved.holds)
        for key, dimension, direction, value in saved.learned:
            observed = _observed(dimension, direction, value)
            self._learned.setdefault(key, {})[dimension, direction] = observed
        for key, dimension, direction, bucket in saved.credits:
            self._buckets[key, dimension, direction] = away(bucket, away_seconds)
        for flow, key, dimension, seconds in saved.flows:
            self._clock.seconds[flow, key, dimension] = seconds
        self._awaited = {*self._learned, *(place[0] for place in self._buckets)}


def _drop_oldest(book: dict[K, Any], is_absent: Callable[[K], bool]) -> None:
    """Of what is absent, keep the newest entries."""
    for key in [key for key in book if is_absent(key)][:-MOST_ABSENT]:
        del book[key]


def _observed(dimension: Dimension, direction: Direction, value: float) -> Limit:
    return Limit(dimension, direction, value, Origin.LEARNED, "plateau observed")


def _in_force(limit: Limit, bucket: CreditBucket | None, *, is_spent: bool) -> float:
    """The limit now: the burst while there is credit or, of credit that nobody counts, until it
    is seen to be spent.
    """
    if bucket is not None:
        return bucket.limit_in_force
    if limit.burst is None or is_spent:
        return limit.value
    return max(limit.value, limit.burst.rate)
