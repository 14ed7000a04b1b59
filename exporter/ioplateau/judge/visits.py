"""Rates of the blocks in which requests waited from beginning to end, in a row or not: a limit is where
they come back to.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import chain
from math import log
from operator import or_

from ioplateau.judge import parameters as number
from ioplateau.judge.signals import STRONG
from ioplateau.judge.waits import Drawn, drawn_rate, drawn_rates
from ioplateau.judge.window import IOPS, THROUGHPUT, Level, averaged, between, level
from ioplateau.limits.budgets import Dimension

# A block is a byte: 1 if its rate is near, and 2 more if a row of blocks begins with it. A stretch is of
# near ones in a row, but for one now and then.
BEGINS = 2
STRETCH = re.compile(b"[\1\3]\1*(?:\0\1+)*")


class Visits:
    """The last VISITS of those blocks."""

    __slots__ = ("_begins", "_came", "_parted", "_queued", "_rates", "_row", "_stretch")

    def __init__(self) -> None:
        self._rates = {IOPS: array("d"), THROUGHPUT: array("d")}
        self._begins = array("b")  # of each: BEGINS, if it does not follow the one before
        # Of blocks that stand the first two, as it is how often a rate comes back that counts.
        self._came = {IOPS: array("d"), THROUGHPUT: array("d")}
        # Rates that stayed the same over a look that found hardly anything outstanding.
        self._parted = {IOPS: array("d"), THROUGHPUT: array("d")}
        self._row = 0  # blocks in a row up to now
        self._queued = 0  # blocks for which requests had waited, the last time they did
        self._stretch = 0  # blocks since then

    def rest(self) -> None:
        """A block in which nothing waits."""
        self._row = 0

    def add(self, drawn: Drawn) -> None:
        """A block in which requests wait."""
        if drawn.queue >= STRONG:
            if drawn.queued <= self._queued:
                self._stretch = 0
            self._queued = drawn.queued
        if drawn.emptied:
            self._add_parted(drawn)
        if min(drawn.came, drawn.left) < 1.0:
            self._row = 0
            return
        if drawn.was_idle:
            self._row = 0  # what such a block did is no part of a sum
        self._begins.append(0 if self._row else BEGINS)
        del self._begins[: -number.VISITS]
        self._row = 0 if drawn.was_idle else min(self._row + 1, number.VISITS)
        self._stretch += 1
        for dimension, rate in drawn_rates(drawn):
            _append(self._rates[dimension], rate)
            came = self._came[dimension]
            stands = [abs(each - rate) <= number.RIPPLE * rate for each in came[-2:]]
            if self._stretch <= 2 or stands != [True, True]:
                _append(came, rate)

    def _add_parted(self, drawn: Drawn) -> None:
        for dimension, rate in drawn_rates(drawn):
            before = drawn.values_of(dimension)[-2:-1]
            if before and abs(before[0] - rate) <= number.SAME_LEVEL * rate:
                _append(self._parted[dimension], rate)

    def is_parted(self, dimension: Dimension, value: float) -> bool:
        """Whether as much was done, often, before and after a look that found hardly anything outstanding: a
        limit leaves no time unused while requests wait for it (utilization law), an application that hands
        over in parts does.
        """
        low, high = (1 - number.SAME_LEVEL) * value, (1 + number.SAME_LEVEL) * value
        parted = sum([low <= rate <= high for rate in self._parted[dimension]])
        if parted < number.LEVEL_LEAST:
            return False
        whole = sum([low <= rate <= high for rate in self._rates[dimension]])
        return parted > number.LEAST_PART * whole

    def is_of_one_size(self) -> bool:
        """Whether requests were of the same bytes in all of these blocks."""
        rates = zip(self._rates[IOPS], self._rates[THROUGHPUT], strict=True)
        sizes = [volume / operations for operations, volume in rates if operations]
        return level(sizes).spread <= number.STANDING

    def returns(
        self, drawn: Drawn, dt: float, dimensions: Sequence[Dimension]
    ) -> tuple[float, Dimension, float]:
        """Log-odds of a level to which the rate came back again and again, and not to those beside it, and
        that level: a limit that binds for a second or two at a time. How many come there by chance is known
        from its neighbours (Poisson counts).
        """
        best = 0.0, IOPS, 0.0
        for dimension in dimensions:
            rate = drawn_rate(drawn, dimension)
            near = max(number.RIPPLE * averaged(dt), 0.5 / drawn.operations)
            came = sorted(self._came[dimension])
            here = between(came, rate, near * rate)
            if not here or not rate:  # reads at the end of a file are of no bytes
                continue
            value = sum(here) / len(here)
            count = len(between(came, value, near * value))
            beside = len(between(came, value, (near + 2 * near) * value)) - count  # twice as wide
            # Rates of whole parts come as a comb: its teeth are farther apart, and as many come to each.
            other = max(
                (
                    len(between(came, each, near * value))
                    for each in between(came, value, number.STEP * value)
                    if abs(each - value) > 2 * near * value
                ),
                default=0,
            )
            chance = max(1.0, beside / 2, other)
            found = count * log(count / chance) - count + chance if count > chance else 0.0
            if found > best[0]:
                best = found, dimension, value
        return best

    def in_row(self, dimension: Dimension) -> list[float]:
        """The rates of the blocks in a row up to now."""
        return self._rates[dimension][-self._row :].tolist() if self._row else []

    def near(self, dimension: Dimension, value: float) -> list[list[float]]:
        """Stretches of blocks in a row whose rates came near this value, but for one now and then."""
        low, high = (1 - number.STEP) * value, (1 + number.STEP) * value
        rates = self._rates[dimension].tolist()
        blocks = bytes(map(or_, self._begins, [low <= rate <= high for rate in rates]))
        return [rates[slice(*found.span())] for found in STRETCH.finditer(blocks)]

    def level_near(self, dimension: Dimension, value: float) -> Level:
        """How flat the blocks are that came near this value."""
        return level([*chain.from_iterable(self.near(dimension, value))])


def _append(rates: array[float], rate: float) -> None:
    """One more, of VISITS at most."""
    rates.append(rate)
    del rates[: -number.VISITS]
