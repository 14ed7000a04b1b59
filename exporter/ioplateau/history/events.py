"""What happened beside the I/O itself, a line each."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ioplateau.state import SourceState, State

# A source that fails every other second has failed once.
WELL_SECONDS = 10.0


class What(StrEnum):
    """Kinds of events."""

    LEARNED = "learned"  # a limit was learned, or learned anew
    CONFIGURATION = "configuration"
    GAP = "gap"  # no samples: the machine was paused, or so were we
    CLOCK = "clock"  # the wall clock was set
    STARTED = "started"
    STOPPED = "stopped"
    SOURCE_FAILED = "source_failed"
    SOURCE_RECOVERED = "source_recovered"  # for WELL_SECONDS by now


class Event(NamedTuple):
    """at: UNIX seconds. subject: the budget ("disk sdc") or source it is about; "" for all."""

    at: float
    what: What
    sentence: str
    subject: str = ""


def turned_sources(state: State, failed_at: dict[str, float]) -> list[SourceState]:
    """Those that began to fail, or that have been well for WELL_SECONDS since. failed_at: monotonic seconds
    at which each that fails was last seen to; it is brought up to date.
    """
    turned: list[SourceState] = []
    for source in state.sources.values():
        before = failed_at.get(source.name)
        if not source.up:
            failed_at[source.name] = state.mono
            if before is None:
                turned.append(source)
        elif before is not None and state.mono - before >= WELL_SECONDS:
            del failed_at[source.name]
            turned.append(source)
    return turned
