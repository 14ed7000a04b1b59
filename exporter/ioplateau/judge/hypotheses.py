"""From evidence to a verdict: what may hold one budget's requests back, and which of it does.

The path of a block of ticks:

1. Rates of each flow (`window`), and the time of its requests held against their floor, tell whether
   requests wait (`signals`; for several flows together `pool`).
2. That is weighed for and against each hypothesis below, in seconds of evidence. One integrator adds
   them up (`belief.Belief`): a hypothesis holds from ON_SECONDS on, until no evidence is left.
3. `disks` and `mounts` go from the outside in, and ask only where a queue may be this budget's own
   (`blame`).
4. `conclude`, below, takes the first hypothesis that holds. Their order is from the surest to the least
   sure.

counted: the provider counts it itself (providers)
    for: its counter says that more was asked for than it gave
known: a limit that was told (known.Claim)
    for: requests wait, and the rate, or the sum over some blocks, is what the limit allows
    against: the rate is off the limit; nothing is outstanding; another limit explains the waiting; the
        rate is below the limit, and was as high for long while nobody waited
met: a limit that nobody told, learned by meeting it (learned.Plateau); also a network's limit, told or
not, while the mounts on it wait (mounts)
    for: the rate is flat while requests wait, more than chance explains (log-odds); it is at a level
        that was a limit before; it comes back to this level again and again. Of reads alone, or of writes
        (sides): requests of the other direction do not wait
    against: the queue went and the rate stayed, or it was there for long while nobody waited; requests
        waited at other levels too, or took as long at quite another rate; more was done while nobody
        waited. More log-odds are asked for by each reason to doubt, and by each look that found nothing; fewer
        just beside a limit that was told
members: one disk of a stripe is throttled
    for: that disk's own verdict
slots: the NFS client may not send more calls at once (blame.waits_for_slots)
    for: calls wait on this client although the wire is fast; or the number of calls on the wire stays
        the same however long each takes, if not many times as long as alone, and the rates move (mounts)
    against: the wire is slow as well; slots are free
elsewhere: another budget is the limit, one further out or a connection that TCP calls full
(blame.is_connection_bound)
    for: that one is throttled, and requests wait here

Where none of these holds (rulings.quiet):

stalled: requests are outstanding, and none is answered (signals, mounts)
saturated: requests have waited for some seconds, or one at a time has, for most of it. The device is slow, or its limit is shared with others
otherwise nobody waits: latency_bound, app_limited, healthy or idle

A control group is judged in `groups`: it has one hypothesis only, its own limit, and its queue can not be
seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ioplateau.judge.case import Case
from ioplateau.judge.known import Claim
from ioplateau.judge.rulings import Ruling, quiet, rule
from ioplateau.judge.signals import WatchedFlow
from ioplateau.limits.budgets import BudgetKey, FlowKey, Verdict, Word


class Hypotheses(NamedTuple):
    """The hypotheses that hold for one budget in this block, the surest first. None or empty: it does not hold."""

    counted: Ruling | None = None
    known: Claim | None = None
    met: Ruling | None = None
    members: Sequence[Verdict] = ()
    slots: Ruling | None = None
    elsewhere: BudgetKey | None = None


NONE_HOLDS = Hypotheses()  # of nearly all budgets, in nearly all blocks


def any_of(claim: Claim | None, met: Ruling | None, elsewhere: BudgetKey | None) -> Hypotheses:
    """Those of a budget that nobody else counts for us."""
    if claim is None and met is None and elsewhere is None:
        return NONE_HOLDS
    return Hypotheses(known=claim, met=met, elsewhere=elsewhere)


def conclude(
    case: Case, at: float, dt: float, found: Hypotheses, sufferers: tuple[FlowKey, ...]
) -> Verdict:
    """The verdict: the first hypothesis that holds, or what the queue alone says."""
    if found is NONE_HOLDS:
        return quiet(case, at, dt)
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
        ruling, sufferers = Ruling.of(Word.AFFECTED, parent=found.elsewhere), ()
    else:
        return quiet(case, at, dt)
    if isinstance(case.drawn, WatchedFlow):
        case.drawn.held_back()
    return rule(case, at, ruling, sufferers)
