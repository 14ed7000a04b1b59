"""Known limits: whether each binds, from what one block shows, by seconds of evidence.

A limit binds while its line is followed and requests wait: what was done since a queue stands is
held in sum against what a bucket allows (rate times time and one burst, network calculus), so that
no beat between the limiter's window and our sampling can blur it.

https://leboudec.github.io/netcal/
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import NamedTuple, Protocol

from ioplateau.judge import parameters as number
from ioplateau.judge.belief import Belief
from ioplateau.judge.memory import SavedClaim
from ioplateau.judge.signals import STRONG, WEAK, Queue
from ioplateau.judge.window import Level, Recent, blocks_in, level, regime
from ioplateau.limits.budgets import Dimension, Direction, Limit


class Waits(Protocol):
    """What tells that requests wait, of a flow or of a sum of them."""

    @property
    def waiting(self) -> float: ...
    @property
    def busy(self) -> float: ...
    @property
    def busy_most(self) -> float: ...
    @property
    def excess(self) -> float: ...
    @property
    def came(self) -> float: ...
    @property
    def left(self) -> float: ...


class Signs(NamedTuple):
    """What one block says of the requests behind a rate.

    level, latency: flatness of rate and latency, where a queue makes them matter. waiting, excess:
    requests that wait on average (Little), and their time over the floor, as a share. came, left:
    requests outstanding as the block began and ended, beyond what is in service. elsewhere: another
    limit is known to hold these requests back. hidden: of which an unknown part draws on this limit, reads
    that may miss a host's cache and writes that flush. doubtful: what may count on it or not. extra: share of
    the limit that may come on top, from a server's own cache. busy: share of the block in which
    something was outstanding, of several disks at least; busy_most: at most. was_free: as much was
    done for long while nobody waited. is_single: one at a time is always outstanding.
    was_alone: requests were seen one at a time, so that it is known when nobody waits. stands: requests
    stood at both looks, beyond what is in service: a limit that binds lets as much pass as it allows then.
    counted: they were counted at the looks, and are no mean between them.
    """

    queue: Queue
    level: Level | None = None
    latency: Level | None = None
    waiting: float = 0.0
    excess: float = 0.0
    came: float = 0.0
    left: float = 0.0
    elsewhere: bool = False
    hidden: float = 0.0
    doubtful: float = 0.0
    extra: float = 0.0
    busy: float = 1.0
    busy_most: float = 1.0
    was_free: bool = False
    is_single: bool = False
    was_alone: bool = True
    stands: bool = False
    counted: bool = False


class Claim:
    """One known limit's claim to bind, over time."""

    __slots__ = (
        "_bound_seconds",
        "_missed",
        "_misses",
        "_passed",
        "_recent",
        "_runs",
        "_stood",
        "belief",
        "direct",
        "limit",
        "must_stand",
        "reached",
        "smooth",
        "value"
    )  # fmt: skip

    def __init__(self, limit: Limit, *, must_stand: bool = False) -> None:
        """must_stand: it binds only while the rate stands still at it, as nobody tells what it counts."""
        self.limit = limit
        self.must_stand = must_stand
        self.belief = Belief()
        self.smooth = 0.0
        self.value = limit.value  # nominal value now nearest: base or burst
        self.reached = 0.0  # share of `value` in the last block
        self.direct = False  # reached by what is seen, without a guess at what is not
        self._runs: list[tuple[float, float]] = []  # amount and seconds of blocks with a queue
        # Of those at both of whose ends many requests stood.
        self._stood: list[tuple[float, float]] = []
        self._bound_seconds = 0.0  # for so long it has bound, in all
        self._passed = 0.0  # seconds' worth of it that were done beyond what it lets pass; inf: it is disproved
        self._recent = Recent()  # what was done, block by block, while it must stand still
        self._misses = 0.0  # share of what is hidden that would make up the limit
        self._missed = 0  # blocks in which that share stayed the same

    @property
    def on(self) -> bool:
        """Whether it binds now."""
        return self.belief.held

    @property
    def values(self) -> tuple[float, ...]:
        """Base and burst."""
        burst = self.limit.burst
        return (self.limit.value,) if burst is None else (self.limit.value, burst.rate)

    @property
    def is_outgrown(self) -> bool:
        """Whether more is done than it allows, base and burst: then it was told wrong."""
        most = max(self.values)
        return self.smooth > (1 + number.OFF_LEVEL + self.limit.tolerance) * most

    def in_force(self, before: float | None) -> float:
        """The burst where more is done than the base allows, in this block and for some, the base where as much
        is. Where less is, neither is told by it: the one that was in force before (None: none was), else the burst.
        """
        base, most = self.values[0], self.values[-1]
        done = min(self.smooth, self.reached * self.value)
        off = number.OFF_LEVEL + self.limit.tolerance
        if done > (1 + off) * base:
            return most
        if done >= (1 - off) * base:
            return base
        return before if before is not None and before in self.values else most

    def outweighs(self, other: Claim) -> bool:
        """Whether it is this limit that holds, of two that seem to bind: the one that is used most. Of two that are
        used by reads that miss a cache it is the one that the least share of them reaches.
        """
        if self._missed and other._missed and not (self.direct or other.direct):
            return self._misses < other._misses
        return self.smooth / self.value > other.smooth / other.value

    def is_close(self, dimension: Dimension, rate: float) -> bool:
        """Whether a rate is close to this limit on all, base or burst, and yet too far off for it to bind."""
        limit = self.limit
        if limit.dimension is not dimension or limit.direction is not Direction.TOTAL:
            return False
        least = number.OFF_LIMIT + limit.tolerance
        return any(least < abs(rate / value - 1) <= number.STEP for value in self.values)

    def step(self, rate: float, dt: float, signs: Signs) -> None:
        """One block."""
        weight = weight_of(signs, signs.queue) or float(_wait_long(signs))
        # What a limit elsewhere explains is no sign that more counts on this one than surely does.
        counted = rate - signs.doubtful if signs.elsewhere else rate
        if weight or max(signs.left, signs.came) >= 1.0:
            self._runs.append((counted * dt, dt))
            del self._runs[: -number.SUM_BLOCKS]
        else:
            self._runs.clear()
        if signs.stands and min(signs.came, signs.left) >= number.OVERWHELMING_WAITING:
            self._stood.append((counted * dt, dt))
            del self._stood[: -number.SUM_BLOCKS]
        else:
            self._stood.clear()
        self._follow(rate, dt)
        self._hold_against_most(rate, dt, signs)
        value = self._nearest(counted, signs)
        if not (self.must_stand or self.is_disproved):
            self._recent.forget()
        elif not self._stands(counted):
            value = None
        elif value is not None:
            self._passed = 0.0
        self.direct = value is not None or (self.direct and signs.hidden == 0)
        if value is None and signs.hidden > 0 and signs.queue >= STRONG and not signs.elsewhere:
            value = self._with_misses(rate - signs.doubtful, signs.hidden)
        if value is not None:
            self.value = value
        gain = self._gain(counted, weight, signs, dt, is_near=value is not None)
        self.belief.weigh(gain, dt)
        if self.belief.held and gain > 0:
            self._bound_seconds += dt
        self.reached = rate / self.value

    def is_far(self, rate: float) -> bool:
        """Whether nothing speaks for it, and this rate is far below it."""
        return rate < number.AFAR * self.limit.value and self.belief.seconds == 0.0

    def pass_by(self, rate: float, dt: float) -> None:
        """One block far below it, in which nothing waits: there is nothing to be weighed."""
        self._runs.clear()
        self._stood.clear()
        self._recent.forget()
        self._follow(rate, dt)
        self.reached = rate / self.value

    def _follow(self, rate: float, dt: float) -> None:
        self.smooth += (0.5 * dt if dt < 2.0 else 1.0) * (rate - self.smooth)

    def _stands(self, rate: float) -> bool:
        """Whether this rate and those before it stand still. Of a limit that was passed by two alike are enough."""
        self._recent.add(rate)
        recent = level(regime(self._recent.values))
        if recent.count == 2 and not self.must_stand:
            return recent.spread <= number.STANDING
        return _is_flat(recent) and abs(rate / recent.mean - 1) <= number.SAME_LEVEL

    @property
    def is_disproved(self) -> bool:
        """Whether more was done than it and its bursts let pass, and no rate has stood still at it since: till then a
        rate near it is one that comes by, as a slow device's.
        """
        return self._passed == inf

    def _hold_against_most(self, rate: float, dt: float, signs: Signs) -> None:
        """Add up what was done for certain beyond what it lets pass."""
        most = (1 + number.OFF_LEVEL + self.limit.tolerance) * max(self.values)
        self._passed += ((rate - signs.doubtful) / most - 1) * dt
        # What is served while (almost) nothing is answered counts once it is.
        is_late = rate < number.LITTLE * most and max(signs.came, signs.left) >= 1.0
        if self._passed < 0 and not is_late:
            self._passed = 0.0
        elif self._passed > number.LEVEL_LEAST:
            self._passed = inf

    def _gain(self, rate: float, weight: float, signs: Signs, dt: float, *, is_near: bool) -> float:
        """Seconds of evidence in a second of this block:

        -inf        it holds, and more was done than it and one burst let pass;
        weight, <=1 the rate stands above it: it may be a late look;
        2.5         many wait at it, and it has bound for long before (FULL_SECONDS);
        1           the same, but only for a part of the block (gusts of buffered writes);
        weight      a long block kept to it while something was outstanding;
        weight      many wait near it, 2.5 of very many; <= 1 where less was done than it lets pass;
        -0.5 to 1   near it few wait, or one at a time: see _locked;
        -0.5        near it nobody waits;
        -inf        off it, and another limit holds what waits, or nothing is outstanding any more;
        -0.5, -0.2  off it in a gust, while everything still waits for long: counted at the looks, or not;
        -1          off it.
        """
        if self.on and self._is_surpassed(rate, dt, signs):
            return -inf
        has_bound = self._bound_seconds >= number.SUM_BLOCKS and not signs.elsewhere
        # A mean of many that wait says less than as many counted: one gust near a limit, and what it did before.
        is_doubtful = not signs.counted and self._is_behind()
        is_held = weight > 0 and at_its_pace(signs, rate, self.value)
        if is_held and is_near and self._is_exceeded(self.value, signs):
            return min(weight, 1.0)  # one block near it may be a late look: two in a row are none
        if is_held and has_bound:
            if is_near and (self.on or not is_doubtful):
                return number.FULL_SECONDS  # one that has bound before needs one second
            # Two parts in a row: buffered writes come in gusts that nobody waits for.
            if self._is_in_part(rate, signs):
                return 1.0
        is_long = dt >= 2.0 and not signs.elsewhere
        if is_held and not is_near and is_long and self._is_near_while_busy(rate, signs):
            return weight
        if is_near:
            if is_held:  # what was behind it until now must stand at it for two seconds
                return min(weight, 1.0) if not self.on and self._is_behind() else weight
            if not weight and (signs.queue is WEAK or signs.is_single):
                return _locked(rate, self.value, signs, dt)
            return -0.5  # near the limit, and nobody waits for it
        if signs.elsewhere or (not is_held and signs.left < 1.0):
            return -inf  # another limit explains what waits, or nothing is outstanding any more
        # Where only a guess says that requests wait, one or two are no queue.
        is_steep = signs.excess >= number.STEEP and (signs.was_alone or signs.waiting >= 2.0)
        is_gust = self._is_gust() and not (is_doubtful or self._stands_below(signs))
        if self.on and is_steep and is_gust:
            return -0.5 if signs.counted else -number.LEAST_PART
        return -1.0

    def _stands_below(self, signs: Signs) -> bool:
        """Whether the rate stands still, further below the limit than one that was told a little too high."""
        below = number.STEP + self.limit.tolerance
        level = signs.level
        return level is not None and _is_flat(level) and level.mean < (1 - below) * self.value

    def _is_behind(self) -> bool:
        """Whether less was done while many requests stood than the limit lets pass but for one burst."""
        behind = sum([dt - done / self.value for done, dt in self._stood])
        return behind > 2 * number.BURST_SECONDS

    def _is_exceeded(self, value: float, signs: Signs) -> bool:
        """Whether the rate stands above a limit while requests wait, as far as its last blocks tell."""
        above = number.OFF_LIMIT + self.limit.tolerance + signs.extra
        level = signs.level
        return level is not None and _is_flat(level) and level.mean > (1 + above) * value

    def _is_surpassed(self, rate: float, dt: float, signs: Signs) -> bool:
        """Whether more was done than the limit, told a little too low, and one burst let pass."""
        most = (1 + number.STEP + self.limit.tolerance + signs.extra) * max(self.values)
        return rate * dt > most * (dt + 2 * number.BURST_SECONDS)

    def _is_in_part(self, rate: float, signs: Signs) -> bool:
        slack = self.limit.tolerance
        band = number.OFF_LIMIT + slack, number.OFF_LIMIT + slack + signs.extra
        return in_part(signs, rate, self.value, band, signs.level)

    def _is_near_while_busy(self, rate: float, signs: Signs) -> bool:
        """Whether this limit was kept to for the part of a long block in which something was outstanding, by
        requests that waited for several times as long as they are served: a flush that ends before the block.
        """
        if signs.busy < number.AFAR or signs.excess < number.OVERWHELMING_EXCESS:
            return False
        off = number.OFF_LIMIT + self.limit.tolerance
        return abs(rate / (signs.busy * self.value) - 1) <= off

    def _is_gust(self) -> bool:
        """Whether everything still waits, and no more was done than the limit and one burst."""
        if not self._runs:
            return False
        amount, seconds = self._runs[-1]
        ahead = sum([done / self.value - dt for done, dt in self._runs])
        is_moving = amount >= number.AFAR * self.value * seconds
        return is_moving and ahead <= 2 * number.BURST_SECONDS

    def _nearest(self, rate: float, signs: Signs) -> float | None:
        """Base or burst, whichever this block or what was done in sum stands at."""
        slack = self.limit.tolerance
        # Another limit that holds these requests back moves them about.
        is_own = not signs.elsewhere or _is_flat(signs.level)
        for value in self.values:
            if signs.was_free and rate < (1 - number.RIPPLE) * value:
                continue  # the application's own rate, whose requests have become slow
            if is_own:
                low = value * (1 - number.OFF_LIMIT - slack)
                high = value * (1 + number.OFF_LIMIT + slack + signs.extra)
                if low <= rate <= high:
                    return value
                if signs.doubtful > 0 and low <= rate - signs.doubtful <= high:
                    return value
            if self._conforms(value, signs) and not self._is_exceeded(value, signs):
                return value
        return None

    def _conforms(self, value: float, signs: Signs) -> bool:
        """Whether what was done since requests wait followed a limit's line up to now."""
        burst = number.BURST_SECONDS if signs.elsewhere else burst_seconds(signs)
        slack = self.limit.tolerance
        above = number.OFF_LIMIT + slack + signs.extra
        below = number.OFF_LIMIT + slack
        least = number.SUM_BLOCKS if signs.elsewhere else 2
        return follows(self._runs, value, burst, (below, above), slack, least)

    def memory(self) -> SavedClaim:
        """What must survive a restart."""
        return SavedClaim(self.limit.value, self.belief.seconds, self.belief.held)

    def restore(self, saved: SavedClaim) -> None:
        """Take up a saved memory."""
        self.belief.restore(saved.score, held=saved.on)

    def _with_misses(self, rate: float, hidden: float) -> float | None:
        """The limit, if a steady share of what is hidden makes up what is missing to it."""
        value = self.limit.value
        share = (value - rate) / hidden
        if not 0.0 < share <= 1 + number.OFF_LIMIT:
            self._missed = 0
            return None
        if not self._missed:
            self._misses = share
        same = abs(share - self._misses) <= number.STEP
        self._misses += 0.5 * (share - self._misses)
        most = 2 * number.LEVEL_LEAST
        self._missed = min(self._missed + 1, most) if same else max(0, self._missed - 2)
        return value if self._missed >= number.LEVEL_LEAST else None


def burst_seconds(drawn: Waits) -> float:
    """Seconds at a limit by which a sum may leave its line: more where the queue leaves no doubt."""
    is_steep = drawn.excess >= number.STEEP and drawn.waiting >= number.OVERWHELMING_WAITING
    return 2 * number.BURST_SECONDS if is_steep else number.BURST_SECONDS


def follows(
    runs: Sequence[tuple[float, float]],
    value: float,
    burst: float,
    band: tuple[float, float],
    slack: float = 0.0,
    least: int = 2,
) -> bool:
    """Whether what was done in blocks of (amount, seconds), the newest last, followed the line of
    `value` per second: never off by more than `burst` seconds at it, and over `least` blocks or
    more within `band` (shares below and above) in sum. slack: share by which the line is unsure.
    """
    below, above = band
    ahead = seconds = 0.0
    for count, (amount, dt) in enumerate(reversed(runs), 1):
        ahead += amount / value - dt
        seconds += dt
        if not -burst <= ahead - slack * seconds <= burst + 2 * slack * seconds:
            return False
        is_long = count >= least or seconds >= least
        if count >= 2 and is_long and -below * seconds <= ahead <= above * seconds:
            return True
    return False


def in_part(
    drawn: Waits, rate: float, value: float, band: tuple[float, float], level: Level | None
) -> bool:
    """Whether a limit was followed for a part of a block, as long as something was outstanding:
    what must be done while it binds is `value` times that part (utilization law), and what passed
    unhindered comes on top. Requests must wait so much longer than they are served that being busy
    is waiting. A rate that stands still below the limit, and exceeds it while busy, is the
    application's own. level: of the blocks up to this one. band: shares below and above.
    """
    below, above = band
    busy = min(1.0, drawn.busy)
    least = value * max(number.AFAR, busy * (1 - below))
    if drawn.excess < number.OVERWHELMING_EXCESS or not least <= rate <= value * (1 + above):
        return False
    if not at_its_pace(drawn, rate, value):
        return False
    is_more = busy * value * (1 + above) < rate < value * (1 - below)
    return not (
        is_more and level and _is_flat(level) and abs(rate / level.mean - 1) <= number.RIPPLE
    )


def at_its_pace(drawn: Waits, rate: float, value: float) -> bool:
    """Whether half of what was done, or more, may have passed at the limit's pace: of that there is `value`
    times the part of the block in which something was outstanding (utilization law), and what is more passed
    unhindered. What stands at both looks was outstanding all the time: Linux 5.7 to 6.9 erases busy time.
    """
    stands = min(drawn.came, drawn.left) >= number.QUEUE_WAITING
    return stands or drawn.busy_most * value >= number.SHARE_WAITING * rate


def weight_of(drawn: Waits, queue: Queue) -> float:
    """Seconds that a second of this queue counts. Busy time has no part in it: Linux 5.7 to 6.9
    erases some at each arrival.
    """
    waiting, excess, left = drawn.waiting, drawn.excess, drawn.left
    many = number.OVERWHELMING_WAITING
    if (waiting >= many and excess >= number.OVERWHELMING_EXCESS) or (
        left >= many and drawn.came >= many
    ):
        return number.FULL_SECONDS
    is_queue = (
        queue >= STRONG
        or (waiting >= number.QUEUE_WAITING and excess >= number.QUEUE_EXCESS)
        or (waiting >= number.SHARE_WAITING and excess >= number.OVERWHELMING_EXCESS)
        or left >= number.QUEUE_WAITING
    )
    return 1.0 if is_queue else 0.0


def _wait_long(drawn: Waits) -> bool:
    """Whether few wait, but long: the fewer they are, the longer. One at a time must wait for more than
    half of its time.
    """
    return (
        number.SHARE_WAITING <= drawn.waiting < number.QUEUE_WAITING
        and drawn.waiting * drawn.excess >= number.QUEUE_WAITING
    )


def _is_flat(level: Level | None) -> bool:
    return level is not None and (
        (level.count >= number.LEVEL_LEAST and level.spread <= number.RIPPLE)
        or (level.count >= 2 * number.LEVEL_LEAST and level.spread <= 2 * number.RIPPLE)
    )


def _locked(rate: float, value: float, signs: Signs, dt: float) -> float:
    """Seconds a second counts in which requests wait, but little.

    A bounded number of requests behind a limit has a steady rate *and* a steady latency; a slow
    device has neither, an application at its own rate only the first, and below the limit: so a rate
    below what is sold by more than a limiter ripples speaks against it, however steady both are. So does one
    that was there while nobody waited; of requests never seen one at a time it is not known whether they did.
    Otherwise a steady rate of all that is sold is the limit's, whatever latency does.
    """
    if rate < (1 - number.RIPPLE) * value or (signs.was_free and signs.was_alone):
        return -0.5
    level, latency = signs.level, signs.latency
    sold = (1 - number.STANDING) * value
    is_sold = level is not None and min(rate, level.mean) >= sold
    if is_sold and signs.waiting * signs.excess >= number.QUEUE_WAITING:
        return 1.0  # many wait a little, at what is sold: below it a device's ripple is as many
    if (
        level is None
        or latency is None
        or level.count < blocks_in(number.LEVEL_LEAST + 1, dt)
        or level.spread > number.RIPPLE
    ):
        return 0.0
    if signs.is_single:
        # One at a time that is always outstanding goes at its device's pace: no device keeps one like that, at
        # just what is sold, nor one whose times move while the rate does not: a limit makes up for them. They
        # average out as the root of time.
        is_made_up = level.spread <= number.SHARE_WAITING * latency.spread
        spread = level.spread if is_made_up else latency.spread
        return 1.0 if spread * sqrt(dt) <= number.STANDING else 0.0
    if is_sold or (latency.count > number.LEVEL_LEAST and latency.spread <= number.RIPPLE):
        return 1.0
    is_flat = rate >= sold and level.spread <= number.STANDING
    if is_flat and signs.excess >= number.QUEUE_EXCESS:
        return 1.0
    return 0.5 if latency.spread <= 2 * number.RIPPLE else -0.5
