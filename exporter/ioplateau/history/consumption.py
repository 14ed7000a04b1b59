"""How much each consumer did on a budget during an episode: readings of consumers, added up by label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from ioplateau.limits.budgets import BudgetKey, Dimension
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.saved import Amount, as_row
from ioplateau.state import BudgetConsumers

Consumers: TypeAlias = Mapping[BudgetKey, BudgetConsumers]

# Whom a reading shows is found out when somebody asks, as the store does every ten seconds, and remembered
# by the reading: until then none is added up by the thread that ticks.
MOST_WAITING = 4
MOST_LABELS = 16


@as_row
class ConsumerTotal(NamedTuple):
    """A control group or process by its label. requests: 0 where nobody counts them."""

    label: str
    bytes: Amount
    requests: Amount = 0.0


class Tally(NamedTuple):
    """What each consumer did. Immutable, so any thread may read it."""

    sums: tuple[ConsumerTotal, ...] = ()
    waiting: tuple[Consumers, ...] = ()  # readings that are not in the sums, the oldest first
    until: float = float("-inf")  # monotonic seconds of the last reading that is

    def plus(self, key: BudgetKey, reading: Consumers) -> Tally:
        """With one more reading; the same one again, as at the next tick, adds nothing."""
        waiting = self.waiting
        if reading is NO_ENTRIES or (waiting and waiting[-1] is reading):
            return self
        waiting = (*waiting, reading)
        if len(waiting) <= MOST_WAITING:
            return self._replace(waiting=waiting)
        return _added(self, key, waiting[0])._replace(waiting=waiting[1:])

    def totals(self, key: BudgetKey) -> tuple[ConsumerTotal, ...]:
        """The sums of all readings."""
        tally = self
        for reading in self.waiting:
            tally = _added(tally, key, reading)
        return tally.sums


def drew_most(totals: tuple[ConsumerTotal, ...], dimension: Dimension | None) -> str:
    """The label of the consumer that did most of what the limit counts; "" where none is known."""
    by_requests = dimension is Dimension.IOPS and all(each.requests for each in totals)
    return max(
        totals,
        key=lambda each: each.requests if by_requests else each.bytes,
        default=ConsumerTotal("", 0.0),
    ).label


def _added(tally: Tally, key: BudgetKey, reading: Consumers) -> Tally:
    found = reading.get(key)
    if found is None or found.at <= tally.until:  # of one reading, made again in another order
        return tally
    sums = {each.label: each for each in tally.sums}
    labels = set[str]()
    for each in found.groups or found.processes:
        _, size, requests = sums.get(each.label, ConsumerTotal("", 0.0))
        size += each.bytes_per_second * found.seconds
        requests += (each.operations_per_second or 0.0) * found.seconds
        sums[each.label] = ConsumerTotal(each.label, size, requests)
        labels.add(each.label)
    # Who has just come may stay: of the others those that drew least are let go.
    kept = sorted(sums.values(), key=lambda each: (each.label in labels, each.bytes), reverse=True)
    return tally._replace(sums=tuple(kept[:MOST_LABELS]), until=found.at)
