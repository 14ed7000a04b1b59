"""One budget before the judge: its claims, its plateau, and the word that holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioplateau.judge.budgets import Budget, Dimension, Direction, Kind, Limit, Verdict, Word
from ioplateau.judge.learned import Plateau
from ioplateau.judge.limits import least_counted
from ioplateau.judge.phases import STEEP, Claim, Signs
from ioplateau.judge.pool import Pool
from ioplateau.judge.signals import Queue, Sense
from ioplateau.judge.window import Level

# A filer may answer some reads from memory, above what it grants the volume.
SERVER_CACHE = 0.10
CLOSE = 0.85  # above this share of a limit nothing is typical


class Case:
    """What is remembered of one budget between blocks."""

    __slots__ = (
        "at_rest",
        "budget",
        "claims",
        "drawn",
        "plateau",
        "saturated_seconds",
        "say_again",
        "score",
        "since",
        "verdict",
        "word",
    )  # fmt: skip

    def __init__(self, budget: Budget, drawn: Sense | Pool) -> None:
        self.budget = budget
        self.drawn = drawn
        self.claims = [
            Claim(limit) for limit in budget.limits if limit.dimension is not Dimension.SLOTS
        ]
        self.plateau = Plateau()
        self.at_rest = False  # nothing drawn, nothing remembered of it
        self.saturated_seconds = 0.0
        self.score = 0.0  # of what has no rate: slots
        self.word = Word.UNKNOWN
        self.since = 0.0
        self.verdict: Verdict | None = None
        self.say_again = 0.0  # when the sentence is due

    @property
    def sense(self) -> Sense:
        """The one flow this budget is drawn by."""
        assert isinstance(self.drawn, Sense)
        return self.drawn

    @property
    def pool(self) -> Pool:
        """The several flows this budget is drawn by."""
        assert isinstance(self.drawn, Pool)
        return self.drawn

    def replace_limits(self, limits: tuple[Limit, ...]) -> None:
        """Other limits: what was learned of those that stay is kept."""
        old = {claim.limit: claim for claim in self.claims}
        self.claims = [
            old.get(limit) or Claim(limit)
            for limit in limits
            if limit.dimension is not Dimension.SLOTS
        ]

    def weigh_claims(
        self, dt: float, *, sibling: bool = False, elsewhere: bool = False
    ) -> Claim | None:
        """One block against every known limit; the one that binds, if any.

        sibling: another member of the same stripe waits, and a stripe's queue gathers at one of
        its members. elsewhere: a limit above this budget holds its requests back.
        """
        drawn = self.drawn
        if not drawn.operations and not drawn.bytes:
            if self.at_rest:
                return None
            self.at_rest = not any(claim.score or claim.smooth > 1.0 for claim in self.claims)
        else:
            self.at_rest = False
        queue = Queue.STRONG if sibling and drawn.queue < Queue.STRONG else drawn.queue
        close = False
        binding: Claim | None = None
        for claim in self.claims:
            limit = claim.limit
            rate = self.rate_of(limit.dimension, limit.direction)
            value = limit.value
            if rate < 0.4 * value and claim.score == 0.0:
                claim.smooth += (0.5 * dt if dt < 2.0 else 1.0) * (rate - claim.smooth)
                claim.reached = rate / value
                continue
            signs = Signs(queue)
            if queue is not Queue.NONE and (rate > 0.8 * value or drawn.hidden_bytes or claim.on):
                signs = self._signs(queue, limit, elsewhere=elsewhere)
            claim.step(rate, dt, signs)
            if rate > CLOSE * value:
                close = True
            if claim.on and (
                binding is None or claim.smooth / claim.value > binding.smooth / binding.value
            ):
                binding = claim
        drawn.near = close
        return binding

    def _signs(self, queue: Queue, limit: Limit, *, elsewhere: bool) -> Signs:
        drawn = self.drawn
        level = latency = None
        longer: tuple[tuple[float, float], ...] = ()
        if limit.direction is Direction.TOTAL:
            level = drawn.level_of(limit.dimension)
            if queue is Queue.WEAK:
                latency = drawn.flat_latency()
            longer = _long_means(drawn.values_of(limit.dimension), drawn.queued, queue)
            if self.budget.operation_bytes is not None and limit.dimension is Dimension.IOPS:
                level, longer = self._counted(level, longer)
        if limit.dimension is Dimension.IOPS:
            hidden, doubtful = drawn.hidden_operations, drawn.doubtful_operations
        else:
            hidden, doubtful = drawn.hidden_bytes, drawn.doubtful_bytes
        of_server = self.budget.key.kind is Kind.VOLUME and drawn.excess >= STEEP
        return Signs(
            queue, level, latency, longer, drawn.excess, limit.value, elsewhere, hidden, doubtful,
            SERVER_CACHE if of_server else 0.0,
        )  # fmt: skip

    def rate_of(self, dimension: Dimension, direction: Direction) -> float:
        """Operations or bytes per second as this budget counts them: where the provider counts
        a large request as several operations, so do we.
        """
        drawn, unit = self.drawn, self.budget.operation_bytes
        if unit is None or dimension is not Dimension.IOPS:
            return rate_of(drawn, dimension, direction)
        counted = 0.0
        if direction is not Direction.WRITE:
            counted += least_counted(drawn.read_operations, drawn.read_bytes, unit)
        if direction is not Direction.READ:
            counted += least_counted(drawn.write_operations, drawn.write_bytes, unit)
        return counted

    def _counted(
        self, level: Level, longer: tuple[tuple[float, float], ...]
    ) -> tuple[Level, tuple[tuple[float, float], ...]]:
        """What was kept of plain operations, as the provider counts them now."""
        plain = self.drawn.operations
        times = self.rate_of(Dimension.IOPS, Direction.TOTAL) / plain if plain else 1.0
        return Level(level.mean * times, level.spread, level.count, level.slow_spread), tuple(
            (short * times, long * times) for short, long in longer
        )

    def memory(self) -> dict[str, Any]:
        """What must survive a restart, as JSON values."""
        return {
            "plateau": self.plateau.memory(),
            "claims": [
                [c.limit.dimension.value, c.limit.direction.value, c.memory()] for c in self.claims
            ],
            "word": self.word.value,
            "since": self.since,
        }

    def restore(self, memory: Mapping[str, Any], at: float) -> None:
        """Take up a saved memory; limits that changed since begin anew."""
        self.plateau.restore(memory["plateau"])
        kept = {(dimension, direction): words for dimension, direction, words in memory["claims"]}
        for claim in self.claims:
            words = kept.get((claim.limit.dimension.value, claim.limit.direction.value))
            if words is not None and words["value"] == claim.limit.value:
                claim.restore(words)
        since = float(memory["since"])
        if since <= at:  # else the machine was started anew, and its clock with it
            self.word, self.since = Word(memory["word"]), since


def rate_of(drawn: Sense | Pool, dimension: Dimension, direction: Direction) -> float:
    """Operations or bytes per second drawn in one direction."""
    if dimension is Dimension.IOPS:
        if direction is Direction.TOTAL:
            return drawn.operations
        return drawn.read_operations if direction is Direction.READ else drawn.write_operations
    if direction is Direction.TOTAL:
        return drawn.bytes
    return drawn.read_bytes if direction is Direction.READ else drawn.write_bytes


def _long_means(values: list[float], queued: int, queue: Queue) -> tuple[tuple[float, float], ...]:
    """Pairs of means over the last blocks in which requests waited: a drain in gusts, or a
    limiter sampled off beat, is at its limit on average, over a short and a long stretch.
    """
    known = len(values)
    if queue is Queue.WEAK:
        queued = known
    elif queue is not Queue.DEEP:
        return ()
    pairs = []
    for short, long in ((3, 6), (4, 8), (8, 16)):
        if queued >= long - 2 and known >= long:
            pairs.append((sum(values[-short:]) / short, sum(values[-long:]) / long))
    return tuple(pairs)
