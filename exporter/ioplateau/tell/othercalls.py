"""NFS calls that neither read nor write, of mounts that spend their time on them.

Verdicts are of reads and writes, so that a mount which looks up names all the time is idle to them.
"""

from __future__ import annotations

from typing import NamedTuple

from ioplateau.judge import words
from ioplateau.measure import mountstats
from ioplateau.measure.mountstats import DATA, MountRates
from ioplateau.state import State
from ioplateau.tell.formatting import counted

# Calls outstanding on average (Little's law): from here on somebody waits for them all the time.
LEAST_OUTSTANDING = 1.0
MOST_NAMED = 3  # mounts
OF_DATA = {*DATA, "COMMIT"}  # which waits for what was written to be on the server's disk


class OtherCalls(NamedTuple):
    """Of one mount over the rate window. outstanding: on average. The rest is of the operation that takes most
    of the time.
    """

    outstanding: float
    busiest: str
    operations_per_second: float
    execute_seconds: float


def of(rates: MountRates) -> OtherCalls | None:
    """None: reads and writes take more time, or nobody waits for other calls all the time."""
    operations = rates.operations
    others = {name: each for name, each in operations.items() if name not in OF_DATA}
    outstanding = sum([each.outstanding for each in others.values()])
    data = sum([each.outstanding for name, each in operations.items() if name in OF_DATA])
    if outstanding < max(LEAST_OUTSTANDING, data):
        return None
    name, busiest = max(others.items(), key=lambda each: each[1].outstanding)
    return OtherCalls(outstanding, name, busiest.operations_per_second, busiest.execute_seconds)


def notices(state: State) -> list[str]:
    """A sentence for each mount that spends its time on such calls, the busiest first."""
    busy = []
    for each in state.mounts.values():
        span = each.window
        rates = mountstats.rates(span.before, span.after, span.elapsed_seconds) if span else None
        calls = None if rates is None else of(rates)
        if calls is not None:
            busy.append((each.mount, calls))
    busy.sort(key=lambda each: -each[1].outstanding)
    told = [
        f"{mount}: {calls.outstanding:.1f} calls at a time neither read nor write, most of them {calls.busiest} "
        f"({calls.operations_per_second:,.0f} a second, {words.duration(calls.execute_seconds)} each)"
        for mount, calls in busy[:MOST_NAMED]
    ]
    more = len(busy) - MOST_NAMED
    return [*told, f"so it is with {counted(more, 'more mount')}"] if more > 0 else told
