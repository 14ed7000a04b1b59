"""What this machine is allowed, found in two ticks, for `ioplateau limits`."""

from __future__ import annotations

from typing import NamedTuple

from ioplateau.limits.budgets import Budget
from ioplateau.run.machine import Machine
from ioplateau.tell import failedsources


class Found(NamedTuple):
    """Budgets with their limits, and what an operator should know."""

    budgets: tuple[Budget, ...]
    notices: tuple[str, ...]
    unseen: tuple[str, ...] = ()  # what cannot be seen, a sentence each
    is_storage_unreadable: bool = False  # no disk and no mount is seen, since they cannot be read


def look(machine: Machine) -> Found:
    """Two ticks of this machine, with what its cloud tells and an earlier run has learned."""
    _, first = machine.tick()
    notices = machine.ask_cloud(first)
    unread = machine.recall()
    if unread:
        notices = (*notices, f"what an earlier run learned cannot be read: {unread}")
    state, _ = machine.tick()
    return Found(
        machine.engine.budgets(),
        (*notices, *state.notices),
        failedsources.vital(state),
        failedsources.is_storage_unreadable(state),
    )
