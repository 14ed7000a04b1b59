"""From signs to a state: a score per limit that rises and falls with seconds of evidence.

One odd second neither begins nor ends throttling; two clean ones do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ioplateau.judge.budgets import Limit
from ioplateau.judge.signals import Queue
from ioplateau.judge.window import Level

FULL, ON, OFF = 3.0, 1.9, 0.5
# Limits are enforced 0 to 3 % above what is sold, and documentation rounds: above is nearer.
BELOW, ABOVE = 0.04, 0.045
STEADY = 0.15  # the smoothed rate speaks for a block this close to it
CEILING_BELOW = 0.015  # once its enforced value is known, a limit is known exactly
LEARN_BLOCKS, LEARN_SPREAD = 8, 0.01
FLAT_RATE = 0.012  # ripple of a limiter over one block
SAME_MISSES, MISS_BLOCKS = 0.12, 5
LONG_PAIRS = 3  # of means, once requests have waited for sixteen blocks
STEEP = 5.0  # latency this far above its floor: a device alone does not do that for long
LONGEST_STEP = 1.25  # seconds one block may count for: two must agree


class Signs(NamedTuple):
    """What one block says of the requests behind a rate.

    level, latency: flatness of rate and latency, where a queue makes them matter. longer: pairs
    of mean rates, over a short and a long stretch in which requests waited all the time.
    elsewhere: another limit is known to hold these requests back. hidden: reads of which the
    unknown part that misses a host's cache draws on this limit too. doubtful: what may count on
    it or not. extra: share of the limit that may come on top, from a server's own cache.
    """

    queue: Queue
    level: Level | None = None
    latency: Level | None = None
    longer: tuple[tuple[float, float], ...] = ()
    excess: float = 0.0
    nominal: float = 1.0
    elsewhere: bool = False
    hidden: float = 0.0
    doubtful: float = 0.0
    extra: float = 0.0


class Claim:
    """One known limit's claim to bind, over time."""

    __slots__ = (
        "_missed", "_misses", "ceiling", "direct", "limit", "on", "reached", "score", "smooth", "value"
    )  # fmt: skip

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.score = 0.0
        self.on = False
        self.smooth = 0.0
        self.ceiling: dict[float, float] = {}  # nominal -> enforced, as observed
        self.value = limit.value  # nominal value now nearest: base or burst
        self.reached = 0.0
        self.direct = False  # reached by what is seen, without a guess at what is not
        self._misses = 0.0  # share of hidden reads that would make up the limit
        self._missed = 0  # blocks in which that share stayed the same

    def step(self, rate: float, dt: float, signs: Signs) -> None:
        """One block."""
        step = min(LONGEST_STEP, dt)
        queue = signs.queue
        self.smooth += (0.5 * dt if dt < 2.0 else 1.0) * (rate - self.smooth)
        value = self._nearest(rate, signs)
        self.direct = value is not None or (self.direct and signs.hidden == 0)
        if value is None and signs.hidden > 0 and queue is Queue.DEEP:
            value = self._with_misses(rate, signs.hidden)
        gain = -1.0
        if value is not None:
            self.value = value
            if queue >= Queue.STRONG:
                gain = 1.0
            elif queue is Queue.WEAK:
                gain = _locked(rate / value, signs)
            else:
                gain = -0.5
        elif (
            self.on
            and queue >= Queue.STRONG
            and signs.excess >= STEEP
            and not signs.elsewhere
            and 0.35 * self.value < rate < 1.3 * self.value
        ):
            gain = -0.2  # gusts: everything still waits, and nothing else is known to hold it
        self.score = min(FULL, max(0.0, self.score + gain * step))
        self.on = self.score >= ON or (self.on and self.score > OFF)
        self.reached = rate / self.value
        if self.on and gain > 0 and signs.level is not None:
            self._learn(signs.level)

    def _nearest(self, rate: float, signs: Signs) -> float | None:
        values: tuple[float, ...] = (self.limit.value,)
        if self.limit.burst is not None:
            values += (self.limit.burst.rate,)
        if signs.elsewhere and not _is_flat(signs.level):
            # Another limit holds these requests back, and it moves them about.
            return next((value for value in values if _stands_at(value, signs)), None)
        smooth = self.smooth if abs(rate - self.smooth) <= STEADY * self.smooth else None
        gusty = signs.longer if not signs.elsewhere else ()
        slack = 0.035 if signs.excess >= STEEP else 0.0
        for value in values:
            exact = self.ceiling.get(value) if signs.queue is Queue.WEAK else None
            if exact is not None:
                low, high = exact * (1 - CEILING_BELOW), exact * (1 + CEILING_BELOW)
            else:
                low = value * (1 - BELOW - self.limit.tolerance)
                high = value * (1 + ABOVE + self.limit.tolerance + signs.extra)
            if (
                low <= rate <= high
                or (signs.doubtful > 0 and low <= rate - signs.doubtful <= high)
                or (smooth is not None and 0.995 * low <= smooth <= 1.005 * high)
                or any(
                    low - slack * value <= short <= high + slack * value
                    and low - slack * value <= long <= high + slack * value
                    for short, long in gusty
                )
            ):
                return value
        return None

    def memory(self) -> dict[str, Any]:
        """What must survive a restart, as JSON values."""
        return {
            "value": self.limit.value,
            "score": self.score,
            "on": self.on,
            "ceiling": [[value, exact] for value, exact in self.ceiling.items()],
        }

    def restore(self, memory: Mapping[str, Any]) -> None:
        """Take up a saved memory."""
        self.score = min(FULL, max(0.0, float(memory["score"])))
        self.on = bool(memory["on"]) and self.score > OFF
        self.ceiling = {float(value): float(exact) for value, exact in memory["ceiling"]}

    def _with_misses(self, rate: float, hidden: float) -> float | None:
        """The limit, if a steady share of the cached reads makes up what is missing to it."""
        value = self.limit.value
        share = (value - rate) / hidden
        if not 0.0 < share <= 1.0:
            self._missed = 0
            return None
        same = abs(share - self._misses) <= SAME_MISSES
        self._misses += 0.3 * (share - self._misses)
        self._missed = min(self._missed + 1, 2 * MISS_BLOCKS) if same else max(0, self._missed - 2)
        return value if self._missed >= MISS_BLOCKS else None

    def _learn(self, level: Level) -> None:
        if self.score < FULL or level.count < LEARN_BLOCKS or level.spread > LEARN_SPREAD:
            return
        if abs(level.mean / self.value - 1) > 0.08:
            return
        before = self.ceiling.get(self.value)
        self.ceiling[self.value] = (
            level.mean if before is None else before + 0.05 * (level.mean - before)
        )


def _is_flat(level: Level | None) -> bool:
    return level is not None and (
        (level.count >= 3 and level.spread <= FLAT_RATE)
        or (level.count >= 6 and level.spread <= 2 * FLAT_RATE)
    )


def _stands_at(value: float, signs: Signs) -> bool:
    """Whether the mean over many blocks stands at a limit, however the blocks jump."""
    if len(signs.longer) < LONG_PAIRS:
        return False
    return all(-0.025 <= mean / value - 1 <= 0.04 for mean in signs.longer[-1])


def _locked(share: float, signs: Signs) -> float:
    """Seconds a block counts in which requests wait, but little.

    A bounded number of requests behind a limit has a steady rate *and* a steady latency; a slow
    device has neither, an application at its own rate only the first, and below the limit.
    """
    level, latency = signs.level, signs.latency
    if level is None or latency is None or level.count < 4:
        return 0.0
    if level.spread > FLAT_RATE:
        # Sampling beats against a limiter's own window: the rate jumps, its mean stands.
        stands = any(
            abs(short / signs.nominal - 1) < 0.03 and abs(long / signs.nominal - 1) < 0.03
            for short, long in signs.longer
        )
        return 0.5 if stands and signs.excess > 1.0 else 0.0
    if latency.count >= 4 and latency.spread <= FLAT_RATE:
        return 1.0
    if share >= 0.995 and level.spread <= 0.005 and signs.excess >= 0.6:
        return 1.0
    return 0.5 if latency.spread <= 2 * FLAT_RATE else -0.5
