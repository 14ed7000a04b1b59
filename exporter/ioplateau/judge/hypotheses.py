"""From evidence to a verdict: what may hold one budget's requests back, and which of it does.

The path of a block: rates of each flow (`window`) become signs of a queue, latency held against its
floor (`signals`; of several flows `pool`). These are weighed for and against each hypothesis, in
seconds of evidence, which one integrator adds up (`belief.Belief`, for every hypothesis the same:
held from ON_SECONDS on, until nothing is left). `disks` and `mounts` ask from the outside in who
is to be asked at all (`blame`), and `conclude`, below, takes the first that holds, the surest first.

counted: what the provider itself counts (providers)
    for: it says that more was asked for than it gave
known: a limit that was told (phases.Claim)
    for: requests wait, and the rate, or what was done in sum, follows the limit's line
    against: it is away from that line; nothing is outstanding; another limit explains the wait; it is
        below, where it was for long while nobody waited
met: a level nobody told (learned.Plateau); the network's, told or not, while its mounts wait (mounts)
    for: flatness under a queue, in log-odds against chance; it was met before; it comes back
    against: the rate stayed when the queue went; requests waited at other levels; more was done
    while none waited. Each doubt, and each try in vain, asks for more log-odds
members: one disk of a stripe
    for: that disk's own verdict
slots: too few calls may be under way (blame.waits_for_slots)
    for: calls wait on this client while the wire is at ease, or while those on the wire stay as many
        whatever each takes, and the rates do not stand (mounts)
    against: the wire is slow as well; slots are free
elsewhere: a budget further out, or a connection that TCP says is full (blame.is_connection_bound)
    for: it is held back itself, and requests wait here
And where none of these holds (rulings.quiet):
stalled: requests are outstanding, and none is answered (signals, mounts)
saturated: requests wait for some seconds: a slow device, or a limit shared with others
none waits: bound by latency, at the application's own pace, healthy, idle

A control group has one hypothesis only, its own limit, and no queue that could be seen: `groups`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ioplateau.judge.case import Case
from ioplateau.judge.phases import Claim
from ioplateau.judge.rulings import Ruling, quiet, rule
from ioplateau.limits.budgets import BudgetKey, FlowKey, Verdict, Word


class Hypotheses(NamedTuple):
    """What holds of one budget in this block, the surest first. None or empty: not that."""

    counted: Ruling | None = None
    known: Claim | None = None
    met: Ruling | None = None
    members: Sequence[Verdict] = ()
    slots: Ruling | None = None
    elsewhere: BudgetKey | None = None


def conclude(
    case: Case, at: float, dt: float, found: Hypotheses, sufferers: tuple[FlowKey, ...]
) -> Verdict:
    """The verdict: the first hypothesis that holds, or what the queue alone says."""
    if found.counted is not None:
        ruling = found.counted
    elif found.known is not None:
        ruling = Ruling.known(case, found.known)
    elif found.met is not None:
        ruling = found.met
    elif found.members:
        ruling = Ruling.by_member(found.members)
    elif found.slots is not None:
        ruling = found.slots
    elif found.elsewhere is not None:
        return rule(case, at, Ruling.of(Word.AFFECTED, parent=found.elsewhere))
    else:
        return quiet(case, at, dt)
    return rule(case, at, ruling, sufferers)
