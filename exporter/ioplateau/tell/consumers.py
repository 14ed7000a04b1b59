"""Who draws most on a budget, in a sentence."""

from __future__ import annotations

from ioplateau.limits.budgets import Dimension
from ioplateau.limits.units import rate
from ioplateau.state import BudgetConsumers, Consumer


def sentence(consumers: BudgetConsumers | None) -> str:
    """Who draws most, and why it cannot be told where it cannot; "" where nobody looked."""
    if consumers is None:
        return ""
    named = (*consumers.groups[:1], *consumers.processes[:1])
    parts = [_first(each) for each in named]
    volumes = ", ".join(f"{each.volume} of pod {each.pod}" for each in consumers.volumes[:2])
    if volumes:
        parts.append(f"persistent volume {volumes}")
    if parts:
        return "most I/O by " + "; ".join([*parts, *filter(None, [consumers.doubt])])
    return "who draws on it cannot be told: " + (
        "; ".join(consumers.unseen) or "no control group or process was seen doing I/O there"
    )


def _first(consumer: Consumer) -> str:
    words = one(consumer)
    return f"the kernel's flusher, which writes for {words}" if consumer.by_flusher else words


def one(consumer: Consumer) -> str:
    """As in: postgresql.service (94.1 MB/s, 97 %)."""
    figures = [rate(consumer.bytes_per_second, Dimension.THROUGHPUT)]
    if consumer.is_at_most:
        figures[0] = f"at most {figures[0]}"
    if consumer.by_flusher:
        figures[0] += " dirtied"
    if consumer.operations_per_second is not None:
        figures.append(rate(consumer.operations_per_second, Dimension.IOPS))
    if consumer.share is not None:
        figures.append(f"{consumer.share:.0%}".replace("%", " %"))
    return f"{consumer.label} ({', '.join(figures)})"
