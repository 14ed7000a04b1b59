"""What happened beside the I/O itself, a line each."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class What(StrEnum):
    """Kinds of events."""

    LEARNED = "learned"  # a limit was learned, or learned anew
    CONFIGURATION = "configuration"
    GAP = "gap"  # nobody looked: the machine was paused, or so were we
    CLOCK = "clock"  # the wall clock was set
    STARTED = "started"
    STOPPED = "stopped"
    BLIND = "blind"  # a source cannot be read
    SEES = "sees"  # it can again


class Event(NamedTuple):
    """at: UNIX seconds. subject: the budget ("disk sdc") or source it is about; "" for all."""

    at: float
    what: What
    sentence: str
    subject: str = ""
