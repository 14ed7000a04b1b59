"""What would lift a limit: each step with the rate it would give, and which limit binds next.

A step is a change that the documents of the provider give a figure for; without a figure there is
no step. Steps are made when somebody asks, never in a tick: they look into the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable

from ioplateau.limits.budgets import BudgetKey, Kind, Limit
from ioplateau.limits.lifting.step import Situation, Step


def steps(situation: Situation, key: BudgetKey, limit: Limit) -> tuple[Step, ...]:
    """What would lift `limit` of the budget `key`; the smallest gain first, empty if unknown."""
    found = tuple(_of(situation, key, limit))
    return tuple(sorted(found, key=lambda step: step.gives))


def _of(situation: Situation, key: BudgetKey, limit: Limit) -> Iterable[Step]:
    if key.kind in (Kind.VOLUME, Kind.NFS_SLOTS, Kind.NFS_CONNECTION):
        from ioplateau.limits.lifting import nfs

        return nfs.steps(situation, key, limit)
    from ioplateau.limits.lifting import disks

    if key.kind is Kind.CGROUP:
        return disks.of_group(situation, key, limit)
    return disks.steps(situation, key, limit)
