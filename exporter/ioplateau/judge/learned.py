"""Limits nobody documents: levels at which a queued flow stays flat, again and again.

A plateau with a queue is a limit only if the application would not have made it by itself:
levels that were seen without a queue speak against it, recurrence speaks for it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import ceil, inf, log, sqrt
from operator import itemgetter, or_
from typing import NamedTuple

from ioplateau.judge import parameters as number
from ioplateau.judge.belief import Belief
from ioplateau.judge.memory import SavedCeiling, SavedNow, SavedPlateau, SavedStand
from ioplateau.judge.phases import burst_seconds, follows, in_part, weight_of
from ioplateau.judge.signals import DEEP, NONE, STRONG
from ioplateau.judge.waits import Drawn, Run, Stands, WaitTimes
from ioplateau.judge.window import (
    DIMENSIONS,
    IOPS,
    THROUGHPUT,
    Level,
    averaged,
    between,
    blocks_in,
    counted_spread,
    is_straight,
    level,
    level_blocks,
    makes_up,
    regime,
)
from ioplateau.limits.budgets import Dimension
from ioplateau.measure.nothing import NO_ENTRIES

# A block is a byte: 1 if its rate is near, and 2 more if a row of blocks begins with it. A stretch is of
# near ones in a row, but for one now and then.
BEGINS = 2
STRETCH = re.compile(b"[\1\3]\1*(?:\0\1+)*")


class RepeatedLevel:
    """A level: value per second, and for how many seconds it was met in all."""

    __slots__ = ("seconds", "value")

    def __init__(self, value: float, seconds: float = 0.0) -> None:
        self.value = value
        self.seconds = seconds


class Met(NamedTuple):
    """A limit learned by meeting it: value per second, seconds met in all, and how sure we
    are, 0 to 1.
    """

    dimension: Dimension
    value: float
    seconds: float

    @property
    def confidence(self) -> float:
        return self.seconds / (self.seconds + number.SUM_BLOCKS)


class Evidence(NamedTuple):
    """Seconds one block counts for a limit, and the limit."""

    gain: float
    dimension: Dimension
    value: float


NO_EVIDENCE = Evidence(0.0, IOPS, 0.0)


class Plateau:
    """Unknown limits of one budget, both dimensions, over time."""

    __slots__ = (
        "_begins",
        "_booked",
        "_calm",
        "_free",
        "_free_levels",
        "_free_seconds",
        "_highest",
        "_looked",
        "_parted",
        "_queued_at",
        "_queued_before",
        "_row",
        "_runs",
        "_stands",
        "_stretch",
        "_visits",
        "_waited",
        "_waits",
        "_whole_rates",
        "_wholes",
        "belief",
        "ceilings",
        "dimension",
        "value",
    )

    def __init__(self) -> None:
        self.ceilings: dict[Dimension, list[RepeatedLevel]] = {
            IOPS: [],
            THROUGHPUT: [],
        }
        # Flat levels seen without a queue, operations per second, and seconds without one in all.
        self._free: list[RepeatedLevel] = []
        self._free_seconds = 0.0
        self._highest = {IOPS: 0.0, THROUGHPUT: 0.0}  # without a queue
        self._looked = 0.0  # seconds in which requests waited and no limit was found
        self._queued_at = 0.0  # operations per second, the last time requests waited
        self._queued_before = 0  # blocks for which requests had waited, the last time they did
        self._stretch = 0  # blocks since then that may be visits
        self._free_levels: list[float] = []  # levels that stayed when the queue went
        self._runs: list[Run] = []
        self._wholes: list[Run] = []  # all of which waited
        self._waited = 0.0  # seconds in which requests waited, in all
        # Up to which of them it is booked where they stood.
        self._booked = {IOPS: 0.0, THROUGHPUT: 0.0}
        self._calm: list[tuple[float, float]] = []
        self._stands = {IOPS: Stands(), THROUGHPUT: Stands()}
        self._waits = WaitTimes()
        # Rates of blocks in which requests waited all the time.
        self._visits = {IOPS: array("d"), THROUGHPUT: array("d")}
        # And all of those blocks, also those that stand, with which of them follow another.
        self._whole_rates = {IOPS: array("d"), THROUGHPUT: array("d")}
        self._begins = array("b")
        # Rates that stayed the same over a look that found hardly anything outstanding.
        self._parted = {IOPS: array("d"), THROUGHPUT: array("d")}
        self._row = 0  # of them in a row up to now
        self.dimension = IOPS
        self.value = 0.0
        self.belief = Belief()

    @property
    def on(self) -> bool:
        """Whether it binds now."""
        return self.belief.held

    def rest(self, dt: float) -> None:
        """A block that says nothing for a limit."""
        self._row = 0
        self._waits.end()
        self.belief.weigh(-1.0, dt)

    def step(
        self,
        drawn: Drawn,
        dt: float,
        *,
        doubts: int,
        allowed: bool,
        settled: bool = True,
        recurs: bool = True,
        hints: Sequence[tuple[Dimension, float]] = (),
    ) -> None:
        """One block in which requests may have waited. doubts: reasons from outside to ask for more
        before something is learned. settled: it was watched for a while without a gap or a stall,
        so that something new may be learned of it. recurs: what was met before may be met again.
        hints: limits of budgets of the same kind, which may have been bought alike.
        """
        weight = weight_of(drawn, drawn.queue)
        if weight or max(drawn.left, drawn.came) >= 1.0:
            self._waited += dt
            self._runs.append(Run(drawn.operations * dt, drawn.bytes * dt, dt, self._waited))
            del self._runs[: -number.SUM_BLOCKS]
        else:
            self._runs.clear()
        if not weight:
            if drawn.is_ordinary or (
                drawn.queue is NONE and drawn.left < 1.0 and not drawn.is_held
            ):
                self._learn_free(drawn, dt)
                self.belief.drop()  # nothing is outstanding any more
            self.rest(dt)
            return
        self._calm.clear()
        self._queued_at = drawn.operations
        if not self.on:
            self._looked += dt
        if allowed:
            self._stand(drawn, dt)
            self._note_visit(drawn)
        else:
            self._booked = dict.fromkeys(DIMENSIONS, self._waited)  # that was another's
        may_learn = (
            allowed
            and settled
            and drawn.queue >= STRONG
            and drawn.operations >= number.LEAST_OPERATIONS
        )
        evidence = (recurs and self._recurrence(drawn, dt, hints, weight)) or (
            may_learn and (self._flatness(drawn, dt, doubts) or self._return(drawn, dt, doubts))
        )
        if not evidence:
            rate = _rate(drawn, self.dimension)
            share = rate / self.value if allowed and self.value else 0.0
            gusts = drawn.excess >= number.STEEP and number.AFAR < share < 1 + number.STEP
            if self.on and share and self._follows(drawn, self.dimension, self.value):
                gain = weight  # a late look blurs two blocks, and not their sum
            elif abs(share - 1) <= 2 * number.SAME_LEVEL:
                gain = 0.0
            else:
                gain = -number.LEAST_PART if gusts else -1.0
            if self.on and self.value and self.is_elsewhere(self.dimension, self.value):
                gain = -inf
            evidence = Evidence(gain, self.dimension, self.value)
        gain = evidence.gain
        self.belief.weigh(gain, dt)
        if gain > 0:
            self.dimension, self.value = evidence.dimension, evidence.value
        if self.on and gain >= 0:
            self._remember(evidence.dimension, evidence.value, dt)

    def _stand(self, drawn: Drawn, dt: float) -> None:
        """Where it stands while requests wait: gusts do not stand anywhere."""
        if min(drawn.came, drawn.left) >= 1.0:
            self._wholes.append(self._runs[-1])
            del self._wholes[: -number.SUM_BLOCKS]
        runs = self._runs
        if len(runs) < number.SUM_BLOCKS:
            runs = self._wholes[-max(number.LEVEL_LEAST, ceil(number.SUM_BLOCKS / dt)) :]
            if min(drawn.came, drawn.left) < 1.0 or not _lasts(runs):
                return
        for which, dimension in enumerate(DIMENSIONS):
            if self.on and dimension is not self.dimension:
                continue  # where it stands follows from the other dimension's limit
            rates = [run[which] / run.seconds for run in runs]
            mean = sum(rates) / len(rates)
            off = number.OFF_LEVEL * mean
            if mean > 0 and max(rates) - mean <= off and mean - min(rates) <= off:
                self._stands[dimension].add(mean, self._book(dimension, runs, dt))

    def _book(self, dimension: Dimension, runs: Sequence[Run], dt: float) -> float:
        """Seconds for which it stood there and which were not booked before, beyond those it takes to be
        seen standing: blocks of many seconds show it late, when it has stood there for longer.
        """
        booked = self._booked[dimension]
        seconds = sum([run.seconds for run in runs if run.waited > booked])
        self._booked[dimension] = self._waited
        return max(dt, seconds - number.SUM_BLOCKS)

    def is_elsewhere(self, dimension: Dimension, value: float) -> bool:
        """Whether requests waited at other levels for longer than at this one: then it is none."""
        return self._moved(dimension, value) > 2 * number.ASKED

    def _moved(self, dimension: Dimension, value: float) -> float:
        """Seconds elsewhere, beyond those that are outweighed here. Those at another limit that was met
        are no more than a doubt: credits were spent, or somebody bought another size. Nobody buys a
        little of it, but a device that wanders passes by levels that are near each other.
        """
        stands = self._stands[dimension]
        here, others = stands.around(value)
        moved = others - number.STANDS_HERE * here
        if moved <= 0:
            return moved
        met = [each.value for each in self._long_met(dimension)]
        bought = [there for there in met if number.STEP < abs(log(there / value)) <= log(2)]
        if max(len(bought), stands.changes) >= number.LEVEL_LEAST:
            return moved  # nobody buys that often
        unmet = moved - sum([stands.around(there)[0] for there in bought])
        return min(moved, max(unmet, 0.0) + number.ASKED_DOUBT * max(1, stands.changes))

    def against(self, dimension: Dimension, value: float) -> Mapping[str, float]:
        """What speaks against a limit of this value, whoever says it, as evidence for a sentence:
        seconds in which requests waited at other levels, and more than it, done without waiting.
        """
        found = {}
        if value > 0 and self._stands[dimension]:
            found["elsewhere_seconds"] = self._stands[dimension].around(value)[1]
        if self._highest[dimension] > (1 + number.OFF_LEVEL) * value:
            found["free_level"] = self._highest[dimension]
        return found or NO_ENTRIES

    def against_any(self, drawn: Drawn) -> Mapping[str, float]:
        """What shows that a flat rate is no limit's, as evidence for a sentence, operations per second: the
        application's own level, or another rate at which requests took as long.
        """
        operations = drawn.operations
        if self._free_near(operations, number.SAME_LEVEL) and self._is_kept(operations):
            return {"own_level": operations}
        other = self._waits.as_long(drawn)
        return {"as_long_at": other.operations} if other else NO_ENTRIES

    def _recurrence(
        self, drawn: Drawn, dt: float, hints: Sequence[tuple[Dimension, float]], weight: float
    ) -> Evidence | None:
        """A level that was a limit before, here or at a sibling, is one again."""
        is_sure = min(2, drawn.queued) * max(1, dt) >= 2 or weight >= number.FULL_SECONDS
        same = number.SAME_LEVEL
        for dimension, rate in _rates(drawn):
            if not self.ceilings[dimension] or _passes_by(drawn, dimension, dt):
                continue
            for value in self._trusted(dimension):
                if self._is_parted(dimension, value):
                    continue
                if is_sure and abs(rate / value - 1) <= same:
                    return Evidence(weight, dimension, value)
                if in_part(drawn, rate, value, (same, same), drawn.level_of(dimension)):
                    return Evidence(1.0, dimension, value)
                if is_sure and self._follows(drawn, dimension, value):
                    return Evidence(weight, dimension, value)
        for dimension, value in hints if is_sure else ():
            rate = _rate(drawn, dimension)
            if abs(rate / value - 1) <= number.SAME_LEVEL:
                flat = drawn.level_of(dimension)
                if (
                    min(flat.count, drawn.queued) >= number.LEVEL_LEAST
                    and flat.spread <= number.SAME_LEVEL
                    and not self.is_elsewhere(dimension, flat.mean)
                ):
                    return Evidence(1.0, dimension, flat.mean)
        return None

    def _follows(self, drawn: Drawn, dimension: Dimension, value: float) -> bool:
        """Whether what was done in sum followed this level up to now."""
        which = DIMENSIONS.index(dimension)
        runs = [(run[which], run.seconds) for run in self._runs]
        same = number.SAME_LEVEL
        return follows(runs, value, burst_seconds(drawn), (same, same))

    @property
    def _has_met(self) -> bool:
        """Whether there was ever a ceiling, as most budgets have none."""
        return any(self.ceilings.values())

    def standing(self, drawn: Drawn) -> tuple[Dimension, float] | None:
        """The trusted ceiling at which what is drawn stands now."""
        if not self._has_met:
            return None
        for dimension, rate in _rates(drawn):
            for value in self._trusted(dimension):
                if abs(rate / value - 1) <= number.SAME_LEVEL:
                    return dimension, value
        return None

    def _trusted(self, dimension: Dimension) -> list[float]:
        """Levels met for long enough, and of those the ones that stood where they were met."""
        return [
            ceiling.value
            for ceiling in self._long_met(dimension)
            if not self.is_elsewhere(dimension, ceiling.value)
        ]

    def _long_met(self, dimension: Dimension) -> list[RepeatedLevel]:
        """Levels met for long enough to be trusted."""
        return [each for each in self.ceilings[dimension] if each.seconds >= number.SUM_BLOCKS]

    def disown(self, drawn: Drawn) -> None:
        """What holds now is another's limit: forget what was learned of it here."""
        self.belief.drop()
        for dimension, rate in _rates(drawn):
            found = self.ceilings[dimension]
            found[:] = [c for c in found if abs(rate / c.value - 1) > number.SAME_LEVEL]

    def _flatness(self, drawn: Drawn, dt: float, doubts: int) -> Evidence | None:
        """A level held under a queue that the application would not have held by itself."""
        if drawn.queued < number.LEVEL_LEAST:
            return None
        dimension, held = _flatter(drawn, *self._of_stretch(drawn))
        count = min(held.count, drawn.queued)
        deep = _is_deep(drawn)
        least = blocks_in(2 * number.LEVEL_LEAST, dt)
        if deep and drawn.is_locked and count >= least and held.spread <= number.OFF_LEVEL:
            return Evidence(1.0, dimension, held.mean)  # nothing else makes them wait like that
        if count < number.LEVEL_LEAST or not held.mean or self.is_elsewhere(dimension, held.mean):
            return None  # no mean: in most of these blocks nothing was done
        found = max(0.0, _odds(drawn, held.spread, count, dt))
        asked = self._asked(drawn, dt, doubts, dimension, held.mean)
        if not deep:
            asked += number.ASKED_SHALLOW
        if found < asked:
            owed = _owed(drawn, dimension, dt)
            if found + _news(owed, doubts) < asked and not (owed and _is_steady(drawn, held)):
                return None
        if self._is_no_limit(drawn, dt, dimension, held.mean):
            return None
        if self._was_exceeded(dimension, held.mean):
            flat = number.SAME_LEVEL if drawn.queue is DEEP else number.RIPPLE
            if not _waits_long(drawn, dt) or held.spread > flat:
                return None
        if _rate(drawn, dimension) > (1 + number.STEP) * held.mean:
            return None  # what stands at a limit may dip below it, not rise above
        # By chance a device or an application does it too, but not for long.
        return Evidence(number.FULL_SECONDS, dimension, held.mean)

    def _note_visit(self, drawn: Drawn) -> None:
        """The rates of a block in which requests waited from beginning to end; of those that stand,
        only the first two since the queue came, as it is how often a rate comes back that counts.
        """
        if drawn.queue >= STRONG:
            self._waits.add(drawn, self._runs[-1])
            if drawn.queued <= self._queued_before:
                self._stretch = 0
            self._queued_before = drawn.queued
        else:
            self._waits.end()
        if drawn.emptied:
            for dimension, rate in _rates(drawn):
                before = drawn.values_of(dimension)[-2:-1]
                if before and abs(before[0] - rate) <= number.SAME_LEVEL * rate:
                    parted = self._parted[dimension]
                    parted.append(rate)
                    del parted[: -number.VISITS]
        if min(drawn.came, drawn.left) < 1.0:
            self._row = 0
            return
        if drawn.was_idle:
            self._row = 0  # what such a block did is no part of a sum
        self._begins.append(0 if self._row else BEGINS)
        del self._begins[: -number.VISITS]
        self._row = 0 if drawn.was_idle else min(self._row + 1, number.VISITS)
        self._stretch += 1
        for dimension, rate in _rates(drawn):
            whole, visits = self._whole_rates[dimension], self._visits[dimension]
            whole.append(rate)
            del whole[: -number.VISITS]
            stands = [abs(each - rate) <= number.RIPPLE * rate for each in visits[-2:]]
            if self._stretch <= 2 or stands != [True, True]:
                visits.append(rate)
                del visits[: -number.VISITS]

    def _return(self, drawn: Drawn, dt: float, doubts: int) -> Evidence | None:
        """A level that many blocks say together, whatever came between. To one below what was done while
        nobody waited the rate must come back by itself, unless requests have waited for long.
        """
        if min(drawn.came, drawn.left) < 1.0:
            return None
        visited = self._visited(drawn, dt)
        summed = self._summed(drawn, dt, doubts)
        found, evidence = max(chain([visited], summed), key=itemgetter(0))
        exceeded = self._was_exceeded(evidence.dimension, evidence.value)
        if exceeded and not _waits_long(drawn, dt):
            found, evidence = visited
            evidence = evidence._replace(gain=number.FULL_SECONDS)
            doubts += 1
        _, dimension, value = evidence
        if not value or found < self._asked(drawn, dt, doubts, dimension, value):
            return None
        is_none = self._is_parted(dimension, value) or self._is_no_limit(
            drawn, dt, dimension, value
        )
        return None if is_none else evidence

    def _is_parted(self, dimension: Dimension, value: float) -> bool:
        """Whether as much was done, often, before and after a look that found hardly anything outstanding: a
        limit leaves no time unused while requests wait for it (utilization law), an application that hands
        over in parts does.
        """
        low, high = (1 - number.SAME_LEVEL) * value, (1 + number.SAME_LEVEL) * value
        parted = sum([low <= rate <= high for rate in self._parted[dimension]])
        if parted < number.LEVEL_LEAST:
            return False
        whole = sum([low <= rate <= high for rate in self._whole_rates[dimension]])
        return parted > number.LEAST_PART * whole

    def _visited(self, drawn: Drawn, dt: float) -> tuple[float, Evidence]:
        """Log-odds of a level to which the rate came back again and again, and not to those beside it:
        a limit that binds for a second or two at a time. How many come there by chance is known from
        its neighbours (Poisson counts).
        """
        best = 0.0, NO_EVIDENCE
        for dimension, rate in _rates(drawn):
            near = max(number.RIPPLE * averaged(dt), 0.5 / drawn.operations)
            visits = sorted(self._visits[dimension])
            here = between(visits, rate, near * rate)
            if not here or not rate:  # reads at the end of a file are of no bytes
                continue
            value = sum(here) / len(here)
            count = len(between(visits, value, near * value))
            beside = len(between(visits, value, (near + 2 * near) * value)) - count  # twice as wide
            chance = max(1.0, beside / 2)
            found = count * log(count / chance) - count + chance if count > chance else 0.0
            if found > best[0]:
                best = found, Evidence(1.0, dimension, value)
        return best

    def _summed(self, drawn: Drawn, dt: float, doubts: int) -> Iterator[tuple[float, Evidence]]:
        """Log-odds of a level to which sums keep: of all blocks that waited and came near to what is
        drawn now, and of those in a row up to now, however much they ripple.
        """
        weight = number.FULL_SECONDS
        asked = 0.0 if _is_deep(drawn) else number.ASKED_SHALLOW
        dimension, held = _flatter(drawn, *(self._level_near(drawn, each) for each in DIMENSIONS))
        rate = _rate(drawn, dimension)
        if held.count >= number.LEVEL_LEAST and abs(rate - held.mean) <= number.OFF_LEVEL * rate:
            found = max(0.0, _odds(drawn, held.spread, held.count, dt))
            found += _news(makes_up(self._near(dimension, held.mean), dt), doubts)
            yield found - asked, Evidence(weight, dimension, held.mean)
        for dimension in DIMENSIONS if self._row else ():
            row = self._whole_rates[dimension][-self._row :].tolist()
            found = _news(makes_up([row], dt), doubts)
            yield found - asked, Evidence(weight, dimension, sum(row) / len(row))

    def _asked(
        self, drawn: Drawn, dt: float, doubts: int, dimension: Dimension, value: float
    ) -> float:
        """The log-odds that are asked before a level is one: more for each try, and for each reason
        to doubt it. Each block is a try, and long ones are few: the chance is the same in an hour.
        """
        tries = 1.0 + self._looked / (2 * number.SETTLED_SECONDS)
        asked = number.ASKED + number.TRY_WEIGHT * log(tries) - log(dt)
        asked += number.ASKED_DOUBT * (doubts + (not drawn.own))
        return asked + max(0.0, self._moved(dimension, value))

    @staticmethod
    def _of_stretch(drawn: Drawn) -> list[Level]:
        """Operations and bytes of the blocks in which requests waited, up to now."""
        levels = [drawn.level_of(IOPS), drawn.level_of(THROUGHPUT)]
        if drawn.queued < levels[0].count:
            return [level(regime(drawn.values_of(each)[-drawn.queued :])) for each in DIMENSIONS]
        return levels

    def _near(self, dimension: Dimension, value: float) -> list[list[float]]:
        """Stretches of blocks in a row all of which waited, and whose rates came near this value, but
        for one now and then.
        """
        low, high = (1 - number.STEP) * value, (1 + number.STEP) * value
        rates = self._whole_rates[dimension].tolist()
        blocks = bytes(map(or_, self._begins, [low <= rate <= high for rate in rates]))
        return [rates[slice(*found.span())] for found in STRETCH.finditer(blocks)]

    def _level_near(self, drawn: Drawn, dimension: Dimension) -> Level:
        """How flat the blocks are that waited and came near to what is drawn now."""
        return level([*chain.from_iterable(self._near(dimension, _rate(drawn, dimension)))])

    def _is_no_limit(self, drawn: Drawn, dt: float, dimension: Dimension, value: float) -> bool:
        """Whether the application made this level by itself, or its requests take as long at others."""
        is_own = self._is_own(drawn, dt, dimension, value)
        return is_own or self._waits.as_long(drawn) is not None

    def _is_own(self, drawn: Drawn, dt: float, dimension: Dimension, value: float) -> bool:
        """Whether this level may be the application's own, on a device that became slow."""
        # Of all blocks: in one of them a request more or less is much where requests are few.
        rate = drawn.level_of(dimension).mean
        operations = drawn.level_of(IOPS).mean * value / rate if rate else drawn.operations
        if not self._is_kept(operations):
            return False
        if any(abs(operations / each - 1) <= number.SAME_LEVEL for each in self._free_levels):
            return True
        if not self._free_near(operations, number.SAME_LEVEL):
            return False
        # At a limit that demand reaches slowly a request's time rises in a line; a slow device stays as slow. Of
        # three long blocks chance makes a line now and then.
        many = max(number.SUM_BLOCKS, blocks_in(2 * number.SUM_BLOCKS, dt))
        latencies = drawn.recent_latency.values[-many:]
        is_line = len(latencies) == many and is_straight(latencies, number.STANDING)
        return not is_line or latencies[-1] < (1 + number.LEAST_PART) * latencies[0]

    def _is_kept(self, operations: float) -> bool:
        """Whether this was done for long while nobody waited: a demand that moves passes any level, an
        application's own is where it stays.
        """
        here = sum([each.seconds for each in self._free_near(operations, number.SAME_LEVEL)])
        if here >= number.LEAST_PART * self._free_seconds:
            return True
        around = sum([each.seconds for each in self._free_near(operations, number.STEP)])
        return here >= max(number.SUM_BLOCKS, number.SHARE_WAITING * around)

    def _was_exceeded(self, dimension: Dimension, value: float) -> bool:
        """Whether more than this was done while nobody waited."""
        return value < (1 - number.OFF_LEVEL) * self._highest[dimension]

    def was_free(self, drawn: Drawn) -> bool:
        """Whether it is where it was before for long while nobody waited."""
        if not self._free:
            return False
        free = self._free_near(drawn.level_of(IOPS).mean, number.SAME_LEVEL)
        return any(each.seconds >= 2 * number.SETTLED_SECONDS for each in free)

    def _free_near(self, operations: float, off: float) -> list[RepeatedLevel]:
        """The levels held without a queue at which as many operations were done, but for this share."""
        return [each for each in self._free if abs(operations / each.value - 1) <= off]

    def _learn_free(self, drawn: Drawn, dt: float) -> None:
        """A level that lasted some blocks and at which nobody waited."""
        calm = self._calm
        if drawn.operations <= 0:
            calm.clear()
            return
        self._free_seconds += dt
        if self._free_seconds > 2 * number.STANDS_HALF_SECONDS:
            self._free_seconds /= 2
            for free in self._free:
                free.seconds /= 2
        calm.append((drawn.operations, drawn.bytes))
        if len(calm) == 2 and (drawn.is_ordinary or drawn.waiting < number.SHARE_WAITING):
            self._discredit(calm)
        least = level_blocks(dt)
        if len(calm) < least:
            return
        rates, volumes = zip(*calm[-least:], strict=True)
        del calm[: 1 - number.LEVEL_LEAST]
        lowest = min(rates)
        if lowest > self._highest[IOPS]:
            self._highest[IOPS] = lowest
            self._outgrow(IOPS, lowest)
        volume = min(volumes)
        if volume > self._highest[THROUGHPUT]:
            self._highest[THROUGHPUT] = volume
            self._outgrow(THROUGHPUT, volume)
        if max(rates) - lowest > number.OFF_LEVEL * lowest:
            return
        mean = sum(rates) / least
        for free in self._free:
            if abs(mean - free.value) <= 2 * number.STANDING * free.value:
                free.seconds += dt
                return
        if len(self._free) >= number.SUM_BLOCKS:
            self._free.remove(min(self._free, key=lambda free: free.seconds))
        self._free.append(RepeatedLevel(mean, least * dt))

    def _discredit(self, calm: list[tuple[float, float]]) -> None:
        """The queue went and the rate stayed: it is the application's own, and no limit."""
        same = number.SAME_LEVEL
        rate = (calm[0][0] + calm[1][0]) / 2
        if abs(calm[0][0] - calm[1][0]) > 2 * same * rate:
            return
        if abs(rate / self._queued_at - 1) <= same if self._queued_at else False:
            if not any(abs(rate / free - 1) <= same for free in self._free_levels):
                self._free_levels.append(rate)
                del self._free_levels[: -number.SUM_BLOCKS]
            volume = (calm[0][1] + calm[1][1]) / 2
            for dimension, value in ((IOPS, rate), (THROUGHPUT, volume)):
                found = self.ceilings[dimension]
                found[:] = [c for c in found if abs(value / c.value - 1) > same]

    def _outgrow(self, dimension: Dimension, free: float) -> None:
        """A rate above a learned limit, and nobody waited: the world has changed."""
        found = self.ceilings[dimension]
        if found:
            found[:] = [
                ceiling for ceiling in found if free <= (1 + number.OFF_LEVEL) * ceiling.value
            ]

    def _remember(self, dimension: Dimension, value: float, dt: float) -> None:
        ceilings = self.ceilings[dimension]
        for ceiling in ceilings:
            if abs(value / ceiling.value - 1) <= number.SAME_LEVEL:
                ceiling.seconds += dt
                ceiling.value += dt / ceiling.seconds * (value - ceiling.value)
                return
        ceilings.append(RepeatedLevel(value, dt))
        if len(ceilings) > number.SUM_BLOCKS:
            ceilings.remove(min(ceilings, key=lambda ceiling: ceiling.seconds))

    def confidence(self) -> float:
        """How sure we are of the limit that holds now, 0 to 1: by how long it was met."""
        for ceiling in self.ceilings[self.dimension]:
            if abs(ceiling.value - self.value) <= number.SAME_LEVEL * ceiling.value:
                return Met(self.dimension, ceiling.value, ceiling.seconds).confidence
        return 0.0

    def met(self) -> tuple[Met, ...]:
        """Every learned limit that is trusted, the longest met first."""
        if not self._has_met:
            return ()
        found = [
            Met(dimension, ceiling.value, ceiling.seconds)
            for dimension in self.ceilings
            for ceiling in self._long_met(dimension)
            if not self.is_elsewhere(dimension, ceiling.value)
        ]
        return tuple(sorted(found, key=lambda limit: -limit.seconds))

    def memory(self) -> SavedPlateau:
        """What must survive a restart."""
        return SavedPlateau(
            {
                dimension: tuple(SavedCeiling(each.value, each.seconds) for each in found)
                for dimension, found in self.ceilings.items()
            },
            dict(self._highest),
            SavedNow(self.dimension, self.value, self.belief.seconds, self.on),
            {dimension: stands.memory() for dimension, stands in self._stands.items()},
            tuple(SavedStand(each.value, each.seconds) for each in self._free),
            self._free_seconds,
        )

    def restore(self, saved: SavedPlateau) -> None:
        """Take up a saved memory."""
        for dimension in self.ceilings:
            found = saved.ceilings.get(dimension, ())[: number.SUM_BLOCKS]
            self.ceilings[dimension] = [RepeatedLevel(*each) for each in found]
            self._highest[dimension] = saved.highest.get(dimension, 0.0)
            self._stands[dimension].restore(saved.stands.get(dimension, ()))
        self._free = [RepeatedLevel(*each) for each in saved.calm[: number.SUM_BLOCKS]]
        self._free_seconds = saved.calm_seconds
        self.dimension, self.value = saved.now.dimension, saved.now.value
        self.belief.restore(saved.now.score, held=saved.now.on)


def _rate(drawn: Drawn, dimension: Dimension) -> float:
    return drawn.operations if dimension is IOPS else drawn.bytes


def _rates(drawn: Drawn) -> tuple[tuple[Dimension, float], tuple[Dimension, float]]:
    return (IOPS, drawn.operations), (THROUGHPUT, drawn.bytes)


def _lasts(runs: Sequence[Run]) -> bool:
    """Whether these are enough to stand somewhere: SUM_BLOCKS of them, or of as many seconds."""
    seconds = sum([run.seconds for run in runs])
    return len(runs) >= number.SUM_BLOCKS or (
        len(runs) >= number.LEVEL_LEAST and seconds >= number.SUM_BLOCKS
    )


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


def _is_deep(drawn: Drawn) -> bool:
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
    if drawn.bytes > number.LARGE_BYTES * drawn.operations:
        return THROUGHPUT, volume
    return IOPS, operations


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


def _news(owed: float, doubts: int) -> float:
    """What remains of the log-odds of a sum that keeps to its line: a device that does all it can
    keeps to one, too, so that each doubt counts against this by itself.
    """
    return max(0.0, owed - number.ASKED_DOUBT * doubts)


def _is_steady(drawn: Drawn, flat: Level) -> bool:
    """Latency far above its floor stands still, and only the rate trembles: so it does where a
    machine is too busy to look at its counters on time. No latency feels that. A latency of more
    than a second says nothing of it: whatever the device does, so long a queue takes the mean over
    all that is in it.
    """
    latency = drawn.flat_latency()
    return (
        drawn.excess >= number.STEEP
        and min(flat.count, latency.count) >= number.RIPPLE_STEPS
        and latency.spread <= min(number.SAME_LEVEL, 0.5 * flat.spread)
        and latency.mean <= 1.0
        and flat.spread <= number.OFF_LEVEL
    )
