"""One budget before the judge: the limits it was told, what is learned of others, and its last verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from ioplateau.judge import parameters as number
from ioplateau.judge.belief import Belief
from ioplateau.judge.known import Claim, Signs
from ioplateau.judge.learned import Plateau
from ioplateau.judge.memory import SavedCase, SavedHold, SavedLimit
from ioplateau.judge.pool import Pool
from ioplateau.judge.sides import Sides, is_one_sided
from ioplateau.judge.signals import NONE, STRONG, WEAK, Queue, WatchedFlow, excess_of
from ioplateau.judge.usage import rate_of
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    Kind,
    Limit,
    Origin,
    Verdict,
    Word,
)


class Interrupted(NamedTuple):
    """The limit that held as there was no reading any more. since: of the verdict; at: when that was."""

    since: float
    hold: SavedHold
    at: float


class Case:
    """What is remembered of one budget between blocks."""

    __slots__ = (
        "_counted_empty_writes",
        "all_calls",
        "at_rest",
        "belief",
        "budget",
        "claims",
        "drawn",
        "hold",
        "interrupted",
        "is_told",
        "other_calls",
        "others",
        "plateau",
        "said_operations",
        "saturated_seconds",
        "say_again",
        "sides",
        "since",
        "verdict",
        "word",
    )  # fmt: skip

    def __init__(self, budget: Budget, drawn: WatchedFlow | Pool, at: float) -> None:
        self.budget = budget
        self.drawn = drawn
        # Flows of which each has a budget of its own with this very limit: other superblocks of a volume.
        self.others: Sequence[tuple[str, WatchedFlow]] = ()
        self.claims = [
            Claim(limit) for limit in budget.limits if limit.dimension is not Dimension.SLOTS
        ]
        # Of a volume its limit of operations once more, as one of all calls: file services count them, other servers
        # may not. How many a second neither read nor write.
        self.all_calls = self._of_all_calls(None)
        self.other_calls = 0.0
        self._tell_least()
        self.plateau = Plateau()
        self._counted_empty_writes: bool | None = None  # by what was learned; None: nothing was yet
        self.sides: Sides | None = None  # from when on requests of one direction waited alone
        self.at_rest = False  # nothing is drawn, and no known limit has evidence left
        self.saturated_seconds = 0.0
        self.belief = Belief()  # of what has no rate: slots
        self.word = Word.UNKNOWN
        self.since = at
        self.hold: SavedHold | None = None
        self.interrupted: Interrupted | None = None  # a limit held when reading failed
        self.verdict: Verdict | None = None
        self.is_told = False  # at rest, and its verdict says so already
        self.say_again = 0.0  # when the sentence is due
        self.said_operations = 0.0  # per second, as it was said

    @property
    def watched(self) -> WatchedFlow:
        """The one flow this budget is drawn by; of a client's several mounts the one that does most."""
        assert isinstance(self.drawn, WatchedFlow)
        return self.drawn

    @property
    def pool(self) -> Pool:
        """The several flows this budget is drawn by."""
        assert isinstance(self.drawn, Pool)
        return self.drawn

    def lasting(self) -> Verdict | None:
        """The verdict that stays true as long as nothing is drawn: no evidence is left that would fade
        with time. None: this budget must be judged in this block.
        """
        is_at_rest = (
            self.is_told
            and self.drawn.asleep
            and (self.at_rest or not self.claims)
            and not (self.plateau.belief.seconds or self.belief.seconds)
            and not (self.sides is not None and self.sides.is_believed)
        )
        return self.verdict if is_at_rest else None

    def replace_limits(self, limits: tuple[Limit, ...]) -> None:
        """Take other limits. Evidence for a limit that stays is kept."""
        old = {claim.limit: claim for claim in self.claims}
        self.claims = [
            old.get(limit) or Claim(limit)
            for limit in limits
            if limit.dimension is not Dimension.SLOTS
        ]
        self.all_calls = self._of_all_calls(self.all_calls)
        self._tell_least()

    def _of_all_calls(self, before: Claim | None) -> Claim | None:
        if self.budget.key.kind is not Kind.VOLUME:
            return None
        for claim in self.claims:
            limit = claim.limit
            if limit.dimension is Dimension.IOPS and limit.direction is Direction.TOTAL:
                is_same = before is not None and before.limit == limit
                return before if is_same else Claim(limit, must_stand=True)
        return None

    def _tell_least(self) -> None:
        """Tell the flow the lowest limits on its bytes and operations. Only a disk's or volume's own: the budget
        of an NFS client's slots has the same flow, and no such limits.
        """
        if self.budget.key.kind in (Kind.DISK, Kind.VOLUME):
            told = [(claim.limit.dimension, claim.limit.value) for claim in self.claims]
            self.watched.told_bytes = min(
                [v for d, v in told if d is Dimension.THROUGHPUT], default=inf
            )
            self.watched.told_operations = min(
                [v for d, v in told if d is Dimension.IOPS], default=inf
            )

    @property
    def limits_to_beat(self) -> Sequence[Claim]:
        """The limits that were told: while there are some, more must speak for an unknown one. None of them if more is
        done than some told limit allows: then the disk has another tier, and all that was told of it is wrong.
        """
        claims = self.claims
        is_more = any(claim.is_outgrown or claim.is_disproved for claim in claims)
        return () if is_more else claims

    @property
    def known_limits(self) -> Sequence[Limit]:
        """Those that were told, and those learned of what nobody told, each as it was met for longest."""
        told = [claim.limit for claim in self.claims]
        found = {(limit.dimension, limit.direction): limit for limit in told}
        learned = [(met, Direction.TOTAL) for met in self.plateau.met()]
        for met, direction in (*learned, *(self.sides.learned() if self.sides else ())):
            way = (met.dimension, direction)
            found.setdefault(way, Limit(*way, met.value, Origin.LEARNED))
        return tuple(found.values())

    @property
    def is_shared_now(self) -> bool:
        """Whether others draw on this very limit now."""
        return bool(self.others) and any(other.active for _, other in self.others)

    @property
    def met(self) -> tuple[Plateau, Direction] | None:
        """The limit nobody told that holds now, and of which direction it is."""
        if self.plateau.belief.held:
            return self.plateau, Direction.TOTAL
        if self.sides is None:
            return None
        side = self.sides.met
        return None if side is None else (side.plateau, side.direction)

    def look_for_limit(
        self,
        dt: float,
        *,
        told: Sequence[Claim],
        allowed: bool,
        doubts: int = 0,
        hints: Sequence[tuple[Dimension, float]] = (),
    ) -> None:
        """Whether a limit that nobody told holds the flow in this block: one of all it does, or of one direction
        alone. See Plateau.step.
        """
        flow = self.watched
        counted, self._counted_empty_writes = self._counted_empty_writes, flow.counts_empty_writes
        if counted is not None and counted is not self._counted_empty_writes:
            self.plateau, self.sides = Plateau(), None  # what was learned is of another sum
        sides, settled = self.sides, flow.is_settled
        if sides is None and allowed and settled and is_one_sided(flow):
            sides = self.sides = Sides()
        is_free, may_learn = allowed, settled
        if sides is not None:
            sides.look(flow)
            is_free = allowed and sides.met is None
            may_learn = settled and not sides.are_flatter(flow)
        self.plateau.step(
            flow, dt, told=told, allowed=is_free, doubts=doubts, settled=may_learn, hints=hints
        )
        if sides is not None:
            allowed = allowed and not self.plateau.on
            sides.step(flow, dt, told=told, allowed=allowed, doubts=doubts, settled=settled)

    def forget_limit(self) -> None:
        """Nothing is outstanding any more."""
        self.plateau.belief.drop()
        if self.sides is not None:
            self.sides.drop()

    def pass_over(self, dt: float) -> None:
        """A block that says nothing for a limit of this budget."""
        self.plateau.rest(dt)
        if self.sides is not None:
            self.sides.rest(dt)

    def pass_silence(self, dt: float) -> None:
        """A block in which none of the requests outstanding was answered."""
        self.plateau.pass_silence(self.drawn, dt)
        if self.sides is not None:
            self.sides.rest(dt)

    def contradicted(
        self, dimension: Dimension, direction: Direction, value: float
    ) -> Limit | None:
        """The told limit nearest to a rate that another limit holds; None: no such limit was told."""
        told = [
            claim.limit
            for claim in self.claims
            if claim.limit.dimension is dimension and claim.limit.direction is direction
        ]
        return min(told, key=lambda limit: abs(limit.value - value), default=None)

    def weigh_claims(
        self, dt: float, *, sibling: bool = False, elsewhere: bool = False
    ) -> Claim | None:
        """Hold one block against every known limit. Returns the one that binds, if any.

        sibling: some member of the same stripe waits. Then this one is treated as waiting too, as a
        stripe's requests queue at one member at a time. elsewhere: another limit, above this budget,
        holds its requests back.
        """
        drawn = self.drawn
        if not (drawn.operations or drawn.bytes or drawn.hidden_operations):
            if self.at_rest:
                return None
            claims = self.claims if self.all_calls is None else (*self.claims, self.all_calls)
            self.at_rest = not any(claim.belief.seconds or claim.smooth > 1.0 for claim in claims)
        else:
            self.at_rest = False
        if not self.claims:
            drawn.near = False
            return None
        queue = STRONG if sibling and drawn.queue < STRONG else drawn.queue
        waits = queue > NONE or drawn.came >= 1.0 or drawn.left >= 1.0
        close = False
        binding: Claim | None = None
        for claim in self.claims:
            limit = claim.limit
            rate = self.rate_of(limit.dimension, limit.direction)
            if not waits and claim.is_far(rate):
                claim.pass_by(rate, dt)
                continue
            claim.step(rate, dt, self._signs(queue, limit, elsewhere=elsewhere))
            if claim.on or rate > (1 - number.STEP) * limit.value:
                close = True
            if claim.on and (binding is None or claim.outweighs(binding)):
                binding = claim
        whole = self.all_calls
        if whole is not None and (self.other_calls or whole.belief.seconds):
            rate = self.rate_of(Dimension.IOPS, Direction.TOTAL) + self.other_calls
            if not waits and whole.is_far(rate):
                whole.pass_by(rate, dt)
            else:
                # How flat reads and writes are, or were while nobody waited, says nothing of the sum.
                signs = self._signs(queue, whole.limit, elsewhere=elsewhere)
                whole.step(rate, dt, signs._replace(level=None, latency=None, was_free=False))
            if whole.on and binding is None:
                binding, close = whole, True
        drawn.near = close
        return binding

    def _signs(self, queue: Queue, limit: Limit, *, elsewhere: bool) -> Signs:
        drawn = self.drawn
        level = latency = None
        is_single = queue < STRONG and drawn.near and drawn.is_single
        # How flat a part of a sum is says nothing of the sum.
        if not self.is_shared_now and (
            limit.direction is Direction.TOTAL or self._is_all(limit.dimension, limit.direction)
        ):
            if elsewhere or queue is WEAK or is_single:
                level, latency = drawn.level_of(limit.dimension), drawn.flat_latency()
            elif drawn.excess >= number.OVERWHELMING_EXCESS:
                level = drawn.level_of(limit.dimension)
        hidden, doubtful = self._unsure(limit)
        is_volume = self.budget.key.kind is Kind.VOLUME
        of_server = is_volume and drawn.excess >= number.STEEP
        waits = drawn.waiting, drawn.excess, drawn.came, drawn.left
        if limit.direction is not Direction.TOTAL and drawn.outstanding > 0:
            queue, waits = _of_direction(drawn, queue, limit.direction)
        stands = min(waits[2:]) >= number.QUEUE_WAITING
        return Signs(
            queue, level, latency, *waits, elsewhere,
            hidden, doubtful, number.STEP if of_server else 0.0, drawn.busy, drawn.busy_most,
            queue > NONE and self.plateau.free.is_usual(drawn), is_single, drawn.was_alone, stands,
            # Of NFS calls that wait it is only known how many there are on average: buffered writes come in gusts.
            stands and not is_volume,
        )  # fmt: skip

    def _unsure(self, limit: Limit) -> tuple[float, float]:
        """Per second, what a limit counts an unknown part of, and what it counts all or nothing of."""
        drawn, direction = self.drawn, limit.direction
        reads, doubtful, flushes = drawn.hidden_bytes, drawn.doubtful_bytes, 0.0
        if limit.dimension is Dimension.IOPS:
            reads, doubtful = drawn.hidden_operations, drawn.doubtful_operations
            flushes = drawn.flushing_operations
        if direction is Direction.WRITE:
            return flushes, doubtful
        if self.budget.key.kind is Kind.DISK and self.budget.skips_reads:
            # Reads that the host's cache answers do not count on the disk's own limits either.
            reads = rate_of(drawn, limit.dimension, Direction.READ)
            return reads, reads
        return (reads, 0.0) if direction is Direction.READ else (reads + flushes, doubtful)

    def _is_all(self, dimension: Dimension, direction: Direction) -> bool:
        """Whether next to nothing is done but in this direction."""
        rate, total = (
            rate_of(self.drawn, dimension, each) for each in (direction, Direction.TOTAL)
        )
        return rate >= (1 - number.STANDING) * total

    def rate_of(self, dimension: Dimension, direction: Direction) -> float:
        """Operations or bytes per second, as this budget counts them."""
        unit = self.budget.operation_bytes
        rate = rate_of(self.drawn, dimension, direction, unit)
        return rate + sum([rate_of(each, dimension, direction, unit) for _, each in self.others])

    def memory(self) -> SavedCase:
        """What must survive a restart."""
        claims = [SavedLimit(c.limit.dimension, c.limit.direction, c.memory()) for c in self.claims]
        sides = () if self.sides is None else self.sides.memory()
        plateau = self.plateau.memory()
        return SavedCase(plateau, tuple(claims), self.word, self.since, self.hold, sides)

    def restore(self, saved: SavedCase, at: float, away_seconds: float) -> None:
        """Take up a memory that was saved `away_seconds` ago; limits that changed since begin anew."""
        self.plateau.restore(saved.plateau)
        if saved.sides:
            self.sides = Sides()
            self.sides.restore(saved.sides)
        claims = {(each.dimension, each.direction): each.claim for each in saved.claims}
        for claim in self.claims:
            known = claims.get((claim.limit.dimension, claim.limit.direction))
            if known is not None and known.value == claim.limit.value:
                claim.restore(known)
        # A clock that is behind is that of another start of the machine.
        if saved.since <= at and away_seconds <= 2 * number.SETTLED_SECONDS:
            self.word, self.since, self.hold = saved.word, saved.since, saved.hold


def apart(
    cases: Mapping[BudgetKey, Case],
) -> tuple[dict[BudgetKey, Case], dict[BudgetKey, Verdict]]:
    """The budgets that must be judged in this block, and the verdicts of those at rest."""
    awake: dict[BudgetKey, Case] = {}
    lasting: dict[BudgetKey, Verdict] = {}
    for key, case in cases.items():
        verdict = case.lasting()
        if verdict is None:
            awake[key] = case
        else:
            lasting[key] = verdict
    return awake, lasting


def _of_direction(
    drawn: WatchedFlow | Pool, queue: Queue, direction: Direction
) -> tuple[Queue, tuple[float, float, float, float]]:
    """What waits for a limit of reads alone, or of writes: none of the others. The queue, and requests
    that wait, over those in service, and of those outstanding as the block began and ended its share.
    """
    held, waiting = drawn.parts[direction is Direction.WRITE]
    excess = excess_of(held, waiting)
    if waiting < number.QUEUE_WAITING or excess < number.QUEUE_EXCESS:
        return min(queue, WEAK), (waiting, excess, 0.0, 0.0)
    share = held / drawn.outstanding
    return max(queue, WEAK), (waiting, excess, drawn.came * share, drawn.left * share)
