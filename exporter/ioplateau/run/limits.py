"""What this machine is allowed, found in two ticks, for `ioplateau limits`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ioplateau.engine import Engine
from ioplateau.judge.budgets import Budget
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import SystemClock
from ioplateau.run.cloud import fetch_once
from ioplateau.run.memory import Memory
from ioplateau.run.sampler import Sampler
from ioplateau.run.settings import ServeSettings


@dataclass(frozen=True, slots=True)
class Found:
    """Budgets with their limits, and what an operator should know."""

    budgets: tuple[Budget, ...]
    notices: tuple[str, ...]


def look(
    settings: ServeSettings, sampler_for: Callable[[ServeSettings, SystemClock], Sampler]
) -> Found:
    """Two ticks of this machine, with what its cloud tells and an earlier run has learned."""
    clock = SystemClock()
    sampler = sampler_for(settings, clock)
    engine = Engine(settings.engine)
    first = sampler.take()
    engine.observe(first)
    notices = ask_cloud(settings, sampler, first, clock)
    unread = Memory(settings.state_directory).peek(engine.restore, clock.wall())
    if unread:
        notices = (*notices, f"what an earlier run learned cannot be read: {unread}")
    state = engine.observe(sampler.take())
    return Found(engine.budgets(), (*notices, *state.notices))


def ask_cloud(
    settings: ServeSettings, sampler: Sampler, first: Snapshot, clock: SystemClock
) -> tuple[str, ...]:
    """Ask for the metadata documents once, for the next tick; why one of them is missing."""
    if not settings.engine.asks_cloud:
        return ()
    documents, reasons = fetch_once(first.static.files, clock)
    sampler.tell(documents)
    return reasons
