"""Limits nobody documents: levels at which a queued flow stays flat, again and again.

A plateau with a queue is a limit only if the application would not have made it by itself:
levels that were seen without a queue speak against it, recurrence speaks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, log, sqrt
from typing import NamedTuple

from ioplateau.judge import parameters as number
from ioplateau.judge.belief import Belief
from ioplateau.judge.known import Claim, in_part, weight_of
from ioplateau.judge.levels import Ceilings, FreeLevels, Met, RepeatedLevel
from ioplateau.judge.memory import SavedNow, SavedPlateau
from ioplateau.judge.signals import DEEP, NONE, STRONG
from ioplateau.judge.standing import Standing
from ioplateau.judge.visits import Visits
from ioplateau.judge.waits import Drawn, WaitTimes, drawn_rate, drawn_rates
from ioplateau.judge.window import (
    DIMENSIONS,
    IOPS,
    THROUGHPUT,
    Level,
    averaged,
    blocks_in,
    counted_spread,
    is_straight,
    level,
    makes_up,
    regime,
)
from ioplateau.limits.budgets import Dimension
from ioplateau.measure.mappings import NO_ENTRIES


class Evidence(NamedTuple):
    """Seconds one block counts for a limit, and the limit."""

    gain: float
    dimension: Dimension
    value: float


class Plateau:
    """Unknown limits of one budget, both dimensions, over time."""

    __slots__ = (
        "_looked",
        "_standing",
        "_visits",
        "_waits",
        "belief",
        "ceilings",
        "dimension",
        "free",
        "value",
    )

    def __init__(self) -> None:
        self.ceilings = Ceilings()
        self.free = FreeLevels(self.ceilings)
        self._standing = Standing(self.ceilings)
        self._visits = Visits()
        self._waits = WaitTimes()
        self._looked = 0.0  # seconds in which requests waited and no limit was found
        self.dimension = IOPS
        self.value = 0.0
        self.belief = Belief()

    @property
    def on(self) -> bool:
        """Whether it binds now."""
        return self.belief.held

    def rest(self, dt: float) -> None:
        """A block that says nothing for a limit."""
        self._standing.rest()
        self._weaken(dt)

    def pass_silence(self, drawn: Drawn, dt: float) -> None:
        """A block in which none of those outstanding was answered."""
        self._standing.add_silence(drawn, dt)
        self._weaken(dt)

    def _weaken(self, dt: float) -> None:
        self._visits.rest()
        self._waits.end()
        self.belief.weigh(-1.0, dt)

    def step(
        self,
        drawn: Drawn,
        dt: float,
        *,
        allowed: bool,
        told: Sequence[Claim] = (),
        doubts: int = 0,
        settled: bool = True,
        recurs: bool = True,
        hints: Sequence[tuple[Dimension, float]] = (),
    ) -> None:
        """One block in which requests may have waited. told: limits that an unknown one must beat. doubts: other
        reasons from outside to ask for more before something is learned. settled: it was watched for a while
        without a gap or a stall, so that something new may be learned of it. recurs: what was met before may be
        met again. hints: limits of budgets of the same kind, which may have been bought alike.
        """
        weight = weight_of(drawn, drawn.queue)
        if weight or drawn.left >= 1.0 or drawn.came >= 1.0:
            self._standing.add(drawn, dt)
        else:
            self._standing.end()
        if not weight:
            if drawn.is_ordinary or (
                drawn.queue is NONE and drawn.left < 1.0 and not drawn.is_held
            ):
                self.free.learn(drawn, dt)
                self.belief.drop()  # nothing is outstanding any more
            if drawn.operations or not drawn.stays:
                self._standing.rest()
            elif drawn.came < 1.0:
                self._standing.add_silence(drawn, dt)
            self._weaken(dt)
            return
        self.free.end(drawn)
        if not self.on:
            self._looked += dt
        if allowed:
            self._note(drawn, dt)
        else:
            self._standing.pass_over()
        may_learn = (
            allowed
            and settled
            and drawn.queue >= STRONG
            and drawn.operations >= number.LEAST_OPERATIONS
        )
        evidence = self._recurrence(drawn, dt, hints, weight) if recurs else None
        if not evidence and may_learn:
            new = self._flatness(drawn, dt, doubts, told) or self._return(drawn, dt, doubts, told)
            evidence = new if new and _is_waited_for(drawn, new.dimension) else None
        if not evidence:
            evidence = Evidence(self._gain_at(drawn, weight, allowed), self.dimension, self.value)
        gain = evidence.gain
        self.belief.weigh(gain, dt)
        if gain > 0:
            self.dimension, self.value = evidence.dimension, evidence.value
        if self.on and gain >= 0:
            self.ceilings.remember(evidence.dimension, evidence.value, dt)

    def _gain_at(self, drawn: Drawn, weight: float, allowed: bool) -> float:
        """Seconds this block counts for the limit that is looked at, where nothing new speaks for one."""
        rate = drawn_rate(drawn, self.dimension)
        share = rate / self.value if allowed and self.value else 0.0
        gusts = drawn.excess >= number.STEEP and number.AFAR < share < 1 + number.STEP
        if self.on and self.value and self._is_disproved(drawn, self.dimension, self.value):
            return -inf
        if self.on and share and self._standing.follows(drawn, self.dimension, self.value):
            return weight  # a late look blurs two blocks, and not their sum
        if abs(share - 1) <= 2 * number.SAME_LEVEL:
            return 0.0
        if not gusts:
            return -1.0
        return -0.5 if self._falls_behind(drawn) else -number.LEAST_PART

    def _falls_behind(self, drawn: Drawn) -> bool:
        """Whether less is done than the limit that is looked at lets pass, but for one burst, while requests stand at
        each tick. What stands still may be at the next limit, as credits are spent.
        """
        stood = drawn.is_counted and min(drawn.came, drawn.left) >= number.QUEUE_WAITING
        moves = drawn.level_of(self.dimension).spread > 2 * number.RIPPLE
        return stood and moves and self._standing.is_behind(drawn, self.dimension, self.value)

    def _note(self, drawn: Drawn, dt: float) -> None:
        """Note what a block did in which requests waited for this budget."""
        # Where the other dimension stands follows from the limit that holds.
        self._standing.book(drawn, dt, (self.dimension,) if self.on else DIMENSIONS)
        self._visits.add(drawn)
        if drawn.queue >= STRONG:
            self._waits.add(drawn, self._standing.newest)
        else:
            self._waits.end()

    def is_elsewhere(self, dimension: Dimension, value: float) -> bool:
        """Whether requests waited at other levels for longer than at this one: then it is none."""
        return self._standing.is_elsewhere(dimension, value)

    def _is_disproved(self, drawn: Drawn, dimension: Dimension, value: float) -> bool:
        """Whether requests waited at other levels for longer, or come in parts at this one."""
        return self.is_elsewhere(dimension, value) or self._comes_in_parts(drawn, dimension, value)

    def _comes_in_parts(self, drawn: Drawn, dimension: Dimension, value: float) -> bool:
        """Whether the rate stays where looks find hardly anything outstanding, and requests do not take so long on
        average as only a limit makes them: so does a device that is not full, with what an application hands over.
        """
        if not self._visits.is_parted(dimension, value):
            return False
        times = drawn.recent_latency.values
        floor = times[-1] / (1 + drawn.excess)
        return sum(times) < (1 + number.STEEP) * floor * len(times)

    def against(self, dimension: Dimension, value: float) -> Mapping[str, float]:
        """What speaks against a limit of this value, whoever says it, as evidence for a sentence:
        seconds in which requests waited at other levels, and more than it, done without waiting.
        """
        found = {}
        elsewhere = self._standing.elsewhere_seconds(dimension, value) if value > 0 else None
        if elsewhere is not None:
            found["elsewhere_seconds"] = elsewhere
        if self.free.highest(dimension) > (1 + number.OFF_LEVEL) * value:
            found["free_level"] = self.free.highest(dimension)
        return found or NO_ENTRIES

    def against_any(self, drawn: Drawn) -> Mapping[str, float]:
        """What shows that a flat rate is no limit's, as evidence for a sentence, operations per second: the
        application's own level, or another rate at which requests took as long.
        """
        operations = drawn.operations
        if self.free.has(operations) and self.free.is_kept(operations):
            return {"own_level": operations}
        other = self._waits.as_long(drawn)
        return {"as_long_at": other.operations} if other else NO_ENTRIES

    def _recurrence(
        self, drawn: Drawn, dt: float, hints: Sequence[tuple[Dimension, float]], weight: float
    ) -> Evidence | None:
        """A level that was a limit before, here or at a sibling, is one again."""
        is_sure = min(2, drawn.queued) * max(1, dt) >= 2 or weight >= number.FULL_SECONDS
        same = number.SAME_LEVEL
        for dimension, rate in drawn_rates(drawn):
            if not self.ceilings.of(dimension) or _passes_by(drawn, dimension, dt):
                continue
            for value in [each.value for each in self._trusted(dimension)]:
                if self._visits.is_parted(dimension, value):
                    continue
                if is_sure and abs(rate / value - 1) <= same:
                    return Evidence(weight, dimension, value)
                if in_part(drawn, rate, value, (same, same), drawn.level_of(dimension)):
                    return Evidence(1.0, dimension, value)
                if is_sure and self._standing.follows(drawn, dimension, value):
                    return Evidence(weight, dimension, value)
        for dimension, value in hints if is_sure else ():
            rate = drawn_rate(drawn, dimension)
            if abs(rate / value - 1) <= number.SAME_LEVEL:
                flat = drawn.level_of(dimension)
                if (
                    min(flat.count, drawn.queued) >= number.LEVEL_LEAST
                    and flat.spread <= number.SAME_LEVEL
                    and not self.is_elsewhere(dimension, flat.mean)
                ):
                    return Evidence(1.0, dimension, flat.mean)
        return None

    def standing(self, drawn: Drawn) -> tuple[Dimension, float] | None:
        """The trusted ceiling at which what is drawn stands now."""
        if not self.ceilings:
            return None
        for dimension, rate in drawn_rates(drawn):
            for ceiling in self._trusted(dimension):
                if abs(rate / ceiling.value - 1) <= number.SAME_LEVEL:
                    return dimension, ceiling.value
        return None

    def _trusted(self, dimension: Dimension) -> list[RepeatedLevel]:
        """Levels met for long enough, and of those the ones that stood where they were met."""
        return [
            ceiling
            for ceiling in self.ceilings.long_met(dimension)
            if not self.is_elsewhere(dimension, ceiling.value)
        ]

    def disown(self, drawn: Drawn) -> None:
        """What holds now is another's limit: forget what was learned of it here."""
        self.belief.drop()
        for dimension, rate in drawn_rates(drawn):
            self.ceilings.forget(dimension, rate)

    def _flatness(
        self, drawn: Drawn, dt: float, doubts: int, told: Sequence[Claim]
    ) -> Evidence | None:
        """A level held under a queue that the application would not have held by itself."""
        if drawn.queued < number.LEVEL_LEAST:
            return None
        dimension, held = _flatter(drawn, *self._of_stretch(drawn))
        count = min(held.count, drawn.queued)
        is_steep = _waits_steeply(drawn)
        least = blocks_in(2 * number.LEVEL_LEAST, dt)
        if is_steep and count >= least and held.spread <= number.OFF_LEVEL and drawn.is_locked:
            return Evidence(1.0, dimension, held.mean)  # nothing else makes them wait like that
        if count < number.LEVEL_LEAST or not held.mean or self.is_elsewhere(dimension, held.mean):
            return None  # no mean: in most of these blocks nothing was done
        found = max(0.0, _odds(drawn, held.spread, count, dt))
        beside = _beside_told(drawn, told, dimension, held.mean)
        asked = self._asked(drawn, dt, doubts + beside, dimension, held.mean)
        if not is_steep:
            asked += number.ASKED_SHALLOW
        if found < asked:
            owed = _owed(drawn, dimension, dt)
            if found + _news(owed, doubts + max(0, beside)) < asked and not (
                owed and _is_steady(drawn, held, dt)
            ):
                return None
        if self._comes_in_parts(drawn, dimension, held.mean):
            return None
        if self._is_no_limit(drawn, dt, dimension, held.mean):
            return None
        if self.free.exceeds(dimension, held.mean):
            flat = number.SAME_LEVEL if drawn.queue is DEEP else number.RIPPLE
            if not _waits_long(drawn, dt) or held.spread > flat:
                return None
        if drawn_rate(drawn, dimension) > (1 + number.STEP) * held.mean:
            return None  # what stands at a limit may dip below it, not rise above
        # By chance a device or an application does it too, but not for long.
        return Evidence(number.FULL_SECONDS, dimension, held.mean)

    def _return(
        self, drawn: Drawn, dt: float, doubts: int, told: Sequence[Claim]
    ) -> Evidence | None:
        """A level that many blocks say together, whatever came between. To one below what was done while
        nobody waited the rate must come back by itself, unless requests have waited for long.
        """
        if min(drawn.came, drawn.left) < 1.0:
            return None
        # Of requests of one size both say the same: what is doubted in one is no limit in the other.
        dimensions = [_told_by_size(drawn)] if self._visits.is_of_one_size() else DIMENSIONS
        returns = self._visits.returns(drawn, dt, dimensions)
        gain = 1.0
        found, dimension, value = returns
        for summed in self._summed(drawn, dt, doubts + bool(told), dimensions):
            if summed[0] > found:
                found, dimension, value = summed
                gain = number.FULL_SECONDS
        if self.free.exceeds(dimension, value) and not _waits_long(drawn, dt):
            found, dimension, value = returns
            gain = number.FULL_SECONDS
            doubts += 1
        beside = _beside_told(drawn, told, dimension, value)
        if not value or found < self._asked(drawn, dt, doubts + beside, dimension, value):
            return None
        if self._visits.is_parted(dimension, value):
            return None
        if self._is_no_limit(drawn, dt, dimension, value):
            return None
        return Evidence(gain, dimension, value)

    def _summed(
        self, drawn: Drawn, dt: float, doubts: int, dimensions: Sequence[Dimension]
    ) -> Iterator[tuple[float, Dimension, float]]:
        """Log-odds of a level to which sums keep, and that level: of all blocks that waited and came near
        to what is drawn now, and of those in a row up to now, however much they ripple.
        """
        asked = 0.0 if _waits_steeply(drawn) else number.ASKED_SHALLOW
        dimension, held = _flatter(
            drawn, *(self._visits.level_near(*each) for each in drawn_rates(drawn))
        )
        rate = drawn_rate(drawn, dimension)
        if held.count >= number.LEVEL_LEAST and abs(rate - held.mean) <= number.OFF_LEVEL * rate:
            found = max(0.0, _odds(drawn, held.spread, held.count, dt))
            found += _news(makes_up(self._visits.near(dimension, held.mean), dt), doubts)
            yield found - asked, dimension, held.mean
        for dimension in dimensions:
            row = self._visits.in_row(dimension)
            if row:
                found = _news(makes_up([row], dt), doubts)
                yield found - asked, dimension, sum(row) / len(row)

    def _asked(
        self, drawn: Drawn, dt: float, doubts: float, dimension: Dimension, value: float
    ) -> float:
        """The log-odds that are asked before a level is one: more for each try, and for each reason
        to doubt it. Each block is a try, and long ones are few: the chance is the same in an hour.
        """
        tries = 1.0 + self._looked / (2 * number.SETTLED_SECONDS)
        asked = number.ASKED + number.TRY_WEIGHT * log(tries) - log(dt)
        # Its own history says that they wait, or they take several times what one at a time was seen to take.
        is_seen = drawn.own or (drawn.was_alone and drawn.excess >= number.OVERWHELMING_EXCESS)
        asked += number.ASKED_DOUBT * (doubts + (not is_seen))
        return asked + max(0.0, self._standing.moved(dimension, value))

    @staticmethod
    def _of_stretch(drawn: Drawn) -> list[Level]:
        """Operations and bytes of the blocks in which requests waited, up to now."""
        levels = [drawn.level_of(IOPS), drawn.level_of(THROUGHPUT)]
        if drawn.queued < levels[0].count:
            return [level(regime(drawn.values_of(each)[-drawn.queued :])) for each in DIMENSIONS]
        return levels

    def _is_no_limit(self, drawn: Drawn, dt: float, dimension: Dimension, value: float) -> bool:
        """Whether the application made this level by itself, or its requests take as long at others."""
        is_own = self._is_own(drawn, dt, dimension, value)
        return is_own or self._waits.as_long(drawn) is not None

    def _is_own(self, drawn: Drawn, dt: float, dimension: Dimension, value: float) -> bool:
        """Whether this level may be the application's own, on a device that became slow."""
        # Of all blocks: in one of them a request more or less is much where requests are few.
        rate = drawn.level_of(dimension).mean
        operations = drawn.level_of(IOPS).mean * value / rate if rate else drawn.operations
        if not self.free.is_kept(operations):
            return False
        if self.free.stayed(operations):
            return True
        if not self.free.has(operations):
            return False
        # At a limit that demand reaches slowly a request's time rises in a line; a slow device stays as slow. Of
        # three long blocks chance makes a line now and then.
        many = max(number.SUM_BLOCKS, blocks_in(2 * number.SUM_BLOCKS, dt))
        latencies = drawn.recent_latency.values[-many:]
        is_line = len(latencies) == many and is_straight(latencies, number.STANDING)
        return not is_line or latencies[-1] < (1 + number.LEAST_PART) * latencies[0]

    def confidence(self) -> float:
        """How sure we are of the limit that holds now, 0 to 1: by how long it was met."""
        return self.ceilings.confidence(self.dimension, self.value)

    def met(self) -> tuple[Met, ...]:
        """Every learned limit that is trusted, the longest met first."""
        if not self.ceilings:
            return ()
        found = [
            Met(dimension, ceiling.value, ceiling.seconds)
            for dimension in DIMENSIONS
            for ceiling in self._trusted(dimension)
        ]
        return tuple(sorted(found, key=lambda limit: -limit.seconds))

    def memory(self) -> SavedPlateau:
        """What must survive a restart."""
        highest, calm, calm_seconds = self.free.memory()
        now = SavedNow(self.dimension, self.value, self.belief.seconds, self.on)
        standing = self._standing.memory()
        stands = {dimension: found for dimension, (found, _) in standing.items()}
        moves = {dimension: found for dimension, (_, found) in standing.items()}
        return SavedPlateau(
            self.ceilings.memory(), highest, now, stands, calm, calm_seconds, moves, self._looked
        )

    def restore(self, saved: SavedPlateau) -> None:
        """Take up a saved memory."""
        self.ceilings.restore(saved.ceilings)
        self.free.restore(saved.highest, saved.calm, saved.calm_seconds)
        self._standing.restore(saved.stands, saved.moves)
        self._looked = saved.looked
        self.dimension, self.value = saved.now.dimension, saved.now.value
        self.belief.restore(saved.now.score, held=saved.now.on)


def _beside_told(drawn: Drawn, told: Sequence[Claim], dimension: Dimension, value: float) -> float:
    """Reasons to doubt a level, of limits that were told: one where it is another. Half of one less than none where it
    is close to one of them and it is known that requests wait: likelier it is that one, told a little wrong. A limit
    that may be anywhere within two decades is as close by chance once in 20 times: log-odds of 3.
    """
    is_close = (drawn.was_alone or drawn.queue is DEEP) and any(
        claim.is_close(dimension, value) for claim in told
    )
    return -0.5 if is_close else float(bool(told))


def _passes_by(drawn: Drawn, dimension: Dimension, dt: float) -> bool:
    """Whether requests have waited for long while the rate stood nowhere, not in sum either: then it only
    passes by the levels at which it was before.
    """
    held = drawn.level_of(dimension)
    if min(held.count, drawn.queued) < number.SUM_BLOCKS or held.spread <= number.SAME_LEVEL:
        return False
    return not _owed(drawn, dimension, dt)


def _owed(drawn: Drawn, dimension: Dimension, dt: float) -> float:
    """Log-odds that what was done while requests waited keeps to a line in sum."""
    return makes_up([regime(drawn.values_of(dimension)[-drawn.queued :])], dt)


def _is_waited_for(drawn: Drawn, dimension: Dimension) -> bool:
    """Whether half of what was done is of a direction that is not served at once: a limit on all holds both. A
    fifth of a time that is next to nothing is no wait, so a fifth of a request waits at least.
    """
    rates = (
        (drawn.read_operations_per_second, drawn.write_operations_per_second)
        if dimension is IOPS
        else (drawn.read_bytes_per_second, drawn.write_bytes_per_second)
    )
    least = number.LEAST_PART
    # Of an interface there are no times.
    waits = [
        not held or waiting >= least * max(1.0, held - waiting) for held, waiting in drawn.parts
    ]
    done = sum([rate for rate, does in zip(rates, waits, strict=True) if does])
    return done >= number.SHARE_WAITING * sum(rates)


def _waits_steeply(drawn: Drawn) -> bool:
    """Few at a time can not be many that wait: then it is the time they wait that tells."""
    return drawn.queue is DEEP or drawn.excess >= number.STEEP


def _waits_long(drawn: Drawn, dt: float) -> bool:
    """Whether requests have waited for so long without an end that a lower level may be doubted no more."""
    return drawn.queued >= blocks_in(2 * number.SUM_BLOCKS, dt)


def _flatter(drawn: Drawn, operations: Level, volume: Level) -> tuple[Dimension, Level]:
    """In what a level is flat. Where both are, as requests are of one size, the size tells."""
    if _is_flatter(operations, volume, drawn.values_of(THROUGHPUT)):
        return IOPS, operations
    if _is_flatter(volume, operations, drawn.values_of(IOPS)):
        return THROUGHPUT, volume
    dimension = _told_by_size(drawn)
    return dimension, operations if dimension is IOPS else volume


def _told_by_size(drawn: Drawn) -> Dimension:
    """In what a limit is more likely one, of requests of this size."""
    return THROUGHPUT if drawn.bytes > number.LARGE_BYTES * drawn.operations else IOPS


def _is_flatter(one: Level, other: Level, others: Sequence[float]) -> bool:
    """Whether one is twice as flat as the other, and not only for beginning later."""
    if one.spread >= 0.5 * other.spread:
        return False
    return one.count >= other.count or one.spread < 0.5 * level(others[-one.count :]).spread


def _odds(drawn: Drawn, spread: float, count: int, dt: float) -> float:
    """Log-odds of a limit against chance, of so many blocks of this spread."""
    # Of few operations one more or less is all that can be told, of a short block when it ended.
    looks = max(number.SAMPLING_SECONDS / dt, counted_spread(drawn.operations * dt))
    spread = max(looks, spread * sqrt(drawn.crowd))
    # How much a device ripples is its own, and once known is no news in the next block: the less
    # if by its floor it has about one request in service (utilization law), as a device has that
    # serves one after the other and does all it can. https://doi.org/10.1287/opre.9.3.383
    is_serial = 0.5 <= drawn.outstanding - drawn.waiting <= 2.0
    most = number.SUM_BLOCKS - 1 if is_serial else number.RIPPLE_STEPS
    return min(count - 1, most) * log(_usual_spread(spread, dt, is_serial) / spread)


def _usual_spread(spread: float, dt: float, is_serial: bool) -> float:
    """Spread of what is no limiter, against which this one is held. In long blocks any rate ripples less, so
    there it is less, unless this one is as flat as a limiter's would be in such blocks: of a device that
    serves one request after the other, as flat as looks can tell.
    """
    share = averaged(dt)
    flat = share * (number.SAMPLING_SECONDS if is_serial else number.RIPPLE)
    return number.OFF_LEVEL * max(share, min(1.0, flat / spread))


def _news(owed: float, doubts: float) -> float:
    """What remains of the log-odds of a sum that keeps to its line: a device that does all it can
    keeps to one, too, so that each doubt counts against this by itself.
    """
    return max(0.0, owed - number.ASKED_DOUBT * doubts)


def _is_steady(drawn: Drawn, flat: Level, dt: float) -> bool:
    """Latency far above its floor stands still, and only the rate trembles: so it does where a
    machine is too busy to look at its counters on time. No latency feels that. One that is not far shorter
    than a block says nothing of it: whatever the device does, so long a queue takes the mean over all that
    is in it.
    """
    latency = drawn.flat_latency()
    return (
        drawn.excess >= number.STEEP
        and min(flat.count, latency.count) >= number.RIPPLE_STEPS
        and latency.spread <= min(number.SAME_LEVEL, 0.5 * flat.spread)
        and latency.mean <= number.LEAST_PART * dt
        and flat.spread <= number.OFF_LEVEL
    )
