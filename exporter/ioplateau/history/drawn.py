"""Who drew how much on a budget while an episode went on: looks, added up by label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from ioplateau.limits.budgets import BudgetKey, Dimension
from ioplateau.measure.nothing import NO_ENTRIES
from ioplateau.saved import Amount, as_row
from ioplateau.state import BudgetConsumers

Consumers: TypeAlias = Mapping[BudgetKey, BudgetConsumers]

# Whom a look shows is found out when somebody asks, as the store does every ten seconds, and remembered
# by the look: so long none is added up by the thread that ticks.
MOST_WAITING = 4
MOST_LABELS = 16


@as_row
class DrawnBy(NamedTuple):
    """A control group or process by its label. requests: 0 where nobody counts them."""

    label: str
    bytes: Amount
    requests: Amount = 0.0


class Tally(NamedTuple):
    """What each drew. Any thread may ask, as nothing of it changes."""

    sums: tuple[DrawnBy, ...] = ()
    waiting: tuple[Consumers, ...] = ()  # looks that are not in the sums, the oldest first
    until: float = float("-inf")  # monotonic seconds of the last look that is

    def seen(self, key: BudgetKey, look: Consumers) -> Tally:
        """With one more look, or the one that was there at the last tick too."""
        waiting = self.waiting
        if look is NO_ENTRIES or (waiting and waiting[-1] is look):
            return self
        waiting = (*waiting, look)
        if len(waiting) <= MOST_WAITING:
            return self._replace(waiting=waiting)
        return _added(self, key, waiting[0])._replace(waiting=waiting[1:])

    def drawn(self, key: BudgetKey) -> tuple[DrawnBy, ...]:
        """The sums of all looks."""
        tally = self
        for look in self.waiting:
            tally = _added(tally, key, look)
        return tally.sums


def drew_most(drawn: tuple[DrawnBy, ...], dimension: Dimension | None) -> str:
    """The label of who drew most of what the limit counts; "" where nobody is known."""
    by_requests = dimension is Dimension.IOPS and all(each.requests for each in drawn)
    return max(
        drawn,
        key=lambda each: each.requests if by_requests else each.bytes,
        default=DrawnBy("", 0.0),
    ).label


def _added(tally: Tally, key: BudgetKey, look: Consumers) -> Tally:
    found = look.get(key)
    if found is None or found.at <= tally.until:  # of one look, made again in another order
        return tally
    sums = {each.label: each for each in tally.sums}
    labels = set[str]()
    for each in found.groups or found.processes:
        _, size, requests = sums.get(each.label, DrawnBy("", 0.0))
        size += each.bytes_per_second * found.seconds
        requests += (each.operations_per_second or 0.0) * found.seconds
        sums[each.label] = DrawnBy(each.label, size, requests)
        labels.add(each.label)
    # Who has just come may stay: of the others those that drew least are let go.
    kept = sorted(sums.values(), key=lambda each: (each.label in labels, each.bytes), reverse=True)
    return tally._replace(sums=tuple(kept[:MOST_LABELS]), until=found.at)
