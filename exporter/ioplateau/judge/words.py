"""A verdict in one sentence, for a person who doubts it: every number in it is evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ioplateau.judge import parameters as number
from ioplateau.limits import units
from ioplateau.limits.budgets import (
    ALL_DISKS,
    BudgetKey,
    Dimension,
    Direction,
    Kind,
    Limit,
    Origin,
    Verdict,
    Word,
    lane_words,
)
from ioplateau.limits.units import rate

OWNERS: Mapping[Kind, str] = {
    Kind.DISK: "its disk limit",
    Kind.STRIPE: "its limit",
    Kind.VM_CACHED: "the VM's limit for cached disks",
    Kind.VM_ULTRA: "the VM's limit for Ultra disks",
    Kind.VM_NETWORK: "the VM's network limit",
    Kind.VOLUME: "its volume limit",
    Kind.NFS_SLOTS: "the client's own slots",
    Kind.NFS_CONNECTION: "what its connections can carry",
    Kind.CGROUP: "its control group's limit",
}

CLIENTS = frozenset({Kind.NFS_SLOTS, Kind.NFS_CONNECTION})

# Of what was asked for over what a limit gives in a second, see rulings.asked_ratio.
LEAST_ASKED = 1.05
MANY_TIMES = 3  # beyond it nobody sizes by the figure
# Off a limit by more than limits are documented and counted wrong, as a share; requests that wait on
# average; a rate that is not flat, as a share, seen over so many blocks.
OFF, FEW_WAITING, RESTLESS, BLOCKS = 0.05, 0.5, 0.1, 3
FAR = 0.25  # off a limit so much that nobody would say of the rate that it is held there
ALWAYS, SEVERAL = 0.8, 1.5  # requests outstanding on average: one nearly always; more than that
NEAR_FLOOR = 0.1  # time over the floor, as a share, that says nothing of waiting
SLOW = 4.0  # times the floor from which on a wait of few is worth a word, though it is no queue
MOST_EXCESS = 1000.0  # the most that an excess is told as: it may have no end
LITTLE_PRESSURE = 0.1  # share of the time in which tasks wait anyway


def sentence(
    verdict: Verdict, at: float, lane: str = ALL_DISKS, known: Sequence[Limit] = ()
) -> str:
    """What holds, on what evidence. at: CLOCK_MONOTONIC seconds of the verdict. lane: Budget.lane. known: the
    budget's limits, told and learned.
    """
    match verdict.word:
        case Word.THROTTLED:
            return _throttled(verdict, at, lane)
        case Word.AFFECTED:
            return _affected(verdict, lane)
    return _SAY[verdict.word](verdict, at, known)


def pressure(ratio: float | None) -> str:
    """Whether tasks waited, for or against a limit of their group. ratio: of the time; None: unknown."""
    # None at all says little: who submits and asks later (libaio) does not wait as the kernel counts it.
    if ratio is None or round(ratio, 2) == 0:
        return ""
    told = f"its tasks waited {ratio:.0%} of the time"
    return f"; against it: {told}" if ratio < LITTLE_PRESSURE else f": {told}"


def owner(key: BudgetKey, lane: str) -> str:
    """Whose limit this budget's is. lane: Budget.lane of it, or of a disk below it."""
    if key.kind is Kind.VM_UNCACHED:
        return f"the VM's limit for {lane_words(key, lane)}"
    return OWNERS[key.kind]


def duration(seconds: float) -> str:
    """Rough time in one unit, from two hours on in two: "31 ms", "1.7 s", "43 s", "12 min", "3 d 2 h"."""
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 0.9995:  # else rounded to 1000 ms
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:  # else rounded to 10.0 s
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else units.duration(seconds)


def _throttled(verdict: Verdict, at: float, lane: str) -> str:
    if verdict.dimension is Dimension.SLOTS:
        return _slots(verdict, at)
    if verdict.key.kind is Kind.STRIPE and verdict.parent is not None:
        held = str(verdict.evidence.get("culprit"))
        if ", " in held:
            return f"as slow as its members {held}, which are held back"
        return f"as slow as its member {held}, which is held back"
    level = _number(verdict, "level") or verdict.limit or 0.0
    proofs = [*_waiting(verdict), *_flat(verdict, at)]
    is_far = abs(_off(verdict, level)) >= FAR
    standing = verdict.limit if is_far and verdict.limit else level
    held = "was held" if is_far else "held"
    if verdict.dimension is not None:
        held += f" at {rate(standing, verdict.dimension)}{_direction(verdict)}"
    if flushes := _number(verdict, "flushes_per_second"):
        held += f", {flushes:,.0f} empty writes of flushes apart,"
    if misses := _number(verdict, "cache_miss_level"):
        held += f", {rate(misses, verdict.dimension)} of it reads that miss the host's cache,"
    if calls := _number(verdict, "other_calls_per_second"):
        held += f", {calls:,.0f} of them calls that neither read nor write,"
    if others := verdict.evidence.get("together_with"):
        held += f" together with {others}"
    text = f"{held}{_contradicted(verdict, standing)} by {_by(verdict, lane)}"
    if is_far:
        text += f", {rate(level, verdict.dimension)} now"
    if proofs:
        text += ": " + ", ".join(proofs)
    doubts = _against(verdict, level)
    if doubts:
        text += "; against it: " + ", ".join(doubts)
    asked = _number(verdict, "asked_ratio")
    if asked is not None and asked >= LEAST_ASKED:
        many = asked > MANY_TIMES
        times = f"more than {MANY_TIMES}" if many else f"at least {asked:.1f}"
        text += f"; {times} times what it gives in a second was asked for"
    return text


def _off(verdict: Verdict, level: float) -> float:
    """By which share the rate is above the limit, below 0 below it; 0 where that says nothing: who counts
    a limit himself needs no level.
    """
    if not verdict.limit or verdict.evidence.get("phase") == "counted":
        return 0.0
    return level / verdict.limit - 1


def _contradicted(verdict: Verdict, level: float) -> str:
    """A limit that was told and is not the one that holds."""
    told = _number(verdict, "told")
    if told is None:
        return ""
    side = "below" if level < told else "above"
    origin, burst = verdict.evidence.get("told_origin"), _number(verdict, "told_burst")
    bursts = "" if burst is None else f", burst {rate(burst, verdict.dimension)}"
    return f", {side} the {rate(told, verdict.dimension)} told ({origin}{bursts}),"


def _by(verdict: Verdict, lane: str) -> str:
    whose = owner(verdict.key, lane)
    if verdict.origin is Origin.LEARNED:
        culprit = str(verdict.evidence.get("culprit", ""))
        if verdict.key.kind is Kind.DISK and culprit == "disk or VM":
            return "a limit of the disk or of the VM (learned; what other disks do does not tell which)"
        return f"{whose} (learned)"
    if verdict.limit is None or verdict.origin is None:
        return whose
    limit = rate(verdict.limit, verdict.dimension)
    source = verdict.evidence.get("source")
    named = f"{limit}, {verdict.origin}" + (f", {source}" if source else "")
    phase = " while its burst lasts" if verdict.evidence.get("phase") == "burst" else ""
    return f"{whose}{phase} ({named})"


def _waiting(verdict: Verdict) -> list[str]:
    found = []
    waiting = _number(verdict, "waiting")
    if waiting is not None and waiting >= FEW_WAITING:
        found.append(f"{waiting:,.0f} requests wait" if waiting >= 1.5 else "requests wait")
    latency, floor = _number(verdict, "latency_seconds"), _number(verdict, "floor_seconds")
    if latency and floor and latency / floor - 1 < NEAR_FLOOR:
        depth = _number(verdict, "outstanding") or 0.0
        found.append(f"about {depth:.1f} requests at a time, always {duration(latency)} each")
    elif latency and floor:
        guess = " (a guess)" if verdict.evidence.get("floor") == "guess" else ""
        found.append(f"{duration(latency)} instead of {duration(floor)}{guess}")
    if verdict.evidence.get("phase") == "counted":
        found.append("counted by the provider itself")
    return found


def _flat(verdict: Verdict, at: float) -> list[str]:
    held = _for(verdict, at)
    flat = _number(verdict, "flat_ratio")
    if flat is None or flat >= RESTLESS:
        return [held.lstrip()] if held else []
    # The limit may have held for longer than the rate stands at this level.
    return [f"flat within {flat:.1%}", *([f"held{held}"] if held else [])]


def _for(verdict: Verdict, at: float) -> str:
    """How long it has held: " for 43 s"; "" as it begins."""
    seconds = at - verdict.holds_since
    return f" for {duration(seconds)}" if seconds > 0 else ""


def _against(verdict: Verdict, level: float) -> list[str]:
    """What speaks against a limit that is called binding, and did not outweigh what speaks for it."""
    found = []
    elsewhere, free = _number(verdict, "elsewhere_seconds"), _number(verdict, "free_level")
    if elsewhere is not None and elsewhere >= 1.0:
        found.append(f"requests waited at other levels for {duration(elsewhere)}")
    if free is not None:
        found.append(f"{rate(free, verdict.dimension)} was done while none waited")
    if verdict.evidence.get("phase") == "counted":
        return found  # who counts it himself needs no queue and no level
    off = _off(verdict, level)
    if OFF <= abs(off) < FAR:
        found.append(f"it is {abs(off):.0%} {'above' if off > 0 else 'below'} that limit now")
    waiting = _number(verdict, "waiting")
    if waiting is not None and waiting < FEW_WAITING:
        found.append("hardly any request waits now")
    blocks, flat = _number(verdict, "blocks"), _number(verdict, "flat_ratio")
    if flat is not None and flat >= RESTLESS and blocks is not None and blocks >= BLOCKS:
        found.append(f"its rate moves by {flat:.0%}")
    return found


def _direction(of: Verdict | Limit) -> str:
    if of.direction in {None, Direction.TOTAL}:
        return ""
    return f" of {of.direction}s"


def _slots(verdict: Verdict, at: float) -> str:
    slots = f"all {verdict.limit:,.0f} slots" if verdict.limit else "the slots"
    text = f"{slots} of this client are taken"
    backlog, share = _number(verdict, "waiting_calls"), _number(verdict, "queue_share")
    if backlog:
        text += f": {backlog:,.0f} calls wait for one"
    if share:
        text += f", {share:.0%} of a call's time passes before it is sent"
    if held := _for(verdict, at):
        text += f",{held}"
    holders = verdict.evidence.get("culprit")
    if holders:
        why = f"calls of {holders}, which take long, hold most of them"
    elif verdict.evidence.get("floor") == "unseen":
        why = "no call was seen alone on the wire, so that the server may be slow, too"
    else:
        why = "the server is not the cause"
    return f"{text}; {why}"


def _waits_alone(verdict: Verdict) -> bool:
    """Whether one request at a time is outstanding all the time, and waits for most of it."""
    outstanding = _number(verdict, "outstanding") or 0.0
    waiting = _number(verdict, "waiting") or 0.0
    return ALWAYS <= outstanding < SEVERAL and waiting >= outstanding / 2


def _queue(verdict: Verdict) -> str:
    proofs = ", ".join(_waiting(verdict)) or "requests wait"
    if _waits_alone(verdict):
        proofs = proofs.replace("requests wait", "one request at a time, each waits")
    return proofs


def _at_none(known: Sequence[Limit]) -> str:
    """That no limit that is known holds the budget, with those there are."""
    if not known:
        return "at no known limit"
    *more, last = map(_known, known)
    limits = f"limits of {', '.join(more)} and {last}" if more else f"limit of {last}"
    return f"not held by its {limits}"


def _known(limit: Limit) -> str:
    """A limit that does not hold now: "3,500 IOPS of reads (learned)"."""
    learned = " (learned)" if limit.origin is Origin.LEARNED else ""
    burst = limit.burst and f" (burst {rate(limit.burst.rate, limit.dimension)})"
    return f"{rate(limit.value, limit.dimension)}{_direction(limit)}{burst or learned}"


def _saturated(verdict: Verdict, _at: float, known: Sequence[Limit]) -> str:
    proofs, share = _queue(verdict), _number(verdict, "queue_share")
    if share:
        proofs += f", {share:.0%} of a call's time passes before it is sent"
    proofs += f", but {_at_none(known)}"
    untold = f"{'another' if known else 'a'} limit nobody told"
    later = _number(verdict, "later_per_second")
    if later:
        return f"{proofs}, and the server answers 'come back later' {later:,.1f} times a second"
    operations, floor = _number(verdict, "own_level"), _number(verdict, "floor_seconds") or 0.0
    if operations and ALWAYS <= operations * floor < SEVERAL:
        return (
            f"{proofs}, and one request at a time does as much: "
            f"a device that serves one after the other, or {untold}"
        )
    if operations:
        return (
            f"{proofs}, and as much was done while none waited: "
            "the device or server has become slow"
        )
    other = _number(verdict, "as_long_at")
    if other:
        return (
            f"{proofs}, and they took as long at {other:,.0f} IOPS: "
            "a slow device or server, or a limit that has changed"
        )
    flat = _number(verdict, "flat_ratio")
    if flat is None:
        doubt, shared = " and not flat", "a limit shared with others"
    else:
        doubt, shared = (
            f", flat within {flat:.1%}, which does not prove one yet",
            untold,
        )
    return f"{proofs}{doubt}: an overloaded device or server, a neighbour, or {shared}"


# Of a VM's limits, which have no times of their own: whether requests wait, and where, its disks and mounts tell.
def _idle(verdict: Verdict, _at: float, _known: Sequence[Limit]) -> str:
    kind = verdict.key.kind
    # Of NFS other calls are not counted.
    is_nfs = kind in CLIENTS or kind is Kind.VOLUME
    return "(almost) no reads or writes" if is_nfs else "nothing to do"


def _healthy(verdict: Verdict, _at: float, known: Sequence[Limit]) -> str:
    if verdict.key.kind.startswith("vm_"):
        return _at_none(known)
    return _now_and_then(verdict) or _clears(verdict) or "requests are served at once"


def _clears(verdict: Verdict) -> str:
    """Which requests are outstanding that are no reads or writes; "": none are."""
    each, what = _number(verdict, "clear_seconds"), verdict.evidence.get("clears")
    if not each:
        return ""
    return (
        f"{_number(verdict, 'cleared_per_second'):,.1f} {what} a second, {duration(each)} each, some always "
        "outstanding, which are held against no limit; no reads or writes wait"
    )


def _now_and_then(verdict: Verdict) -> str:
    """How many wait and how long, where they do and no queue stands, or none of a client's own; "": they
    do not.
    """
    latency, floor = _number(verdict, "latency_seconds"), _number(verdict, "floor_seconds")
    waiting = _number(verdict, "waiting") or 0.0
    # A guess of what they take alone is no reason to say that some wait a little.
    is_queue = waiting >= number.QUEUE_WAITING and verdict.evidence.get("floor") != "guess"
    slow = 1 + number.QUEUE_EXCESS if is_queue else SLOW
    if waiting >= FEW_WAITING and latency and floor and latency >= slow * floor:
        proofs, kind = _queue(verdict), verdict.key.kind
        if kind in CLIENTS:  # whether they wait all the time is the volume's to say
            return f"{proofs}, but not because of {OWNERS[kind]}"
        return proofs if _waits_alone(verdict) else f"{proofs}, but not all the time"
    return ""


def _stalled(verdict: Verdict, at: float, _known: Sequence[Limit]) -> str:
    held = _for(verdict, at)
    return f"requests are outstanding and (almost) none was answered{held}: not a limit"


def _affected(verdict: Verdict, lane: str) -> str:
    parent = verdict.parent
    if parent is None:
        return "waits for a limit above it"
    whose = "" if parent.kind.startswith("vm_") else f" ({parent.name})"
    return f"waits because of {owner(parent, lane)}{whose}"


def _latency_bound(verdict: Verdict, _at: float, _known: Sequence[Limit]) -> str:
    depth = _number(verdict, "outstanding") or 0.0
    latency = _number(verdict, "latency_seconds") or 0.0
    return (
        f"about {depth:.1f} requests at a time, {duration(latency)} each, none waits: "
        "more at a time would bring more"
    )


def _app_limited(verdict: Verdict, _at: float, _known: Sequence[Limit]) -> str:
    operations = _number(verdict, "operations_per_second") or 0.0
    waits = _now_and_then(verdict) or "none waits"
    return f"flat at {operations:,.0f} IOPS by the application's own pace: {waits}"


def _number(verdict: Verdict, name: str) -> float | None:
    value = verdict.evidence.get(name)
    return value if isinstance(value, (int, float)) else None


NO_RATES = "no rates: a first reading, a gap or a reset"

_SAY: Mapping[Word, Callable[[Verdict, float, Sequence[Limit]], str]] = {
    Word.IDLE: _idle,
    Word.HEALTHY: _healthy,
    Word.APP_LIMITED: _app_limited,
    Word.LATENCY_BOUND: _latency_bound,
    Word.SATURATED: _saturated,
    Word.STALLED: _stalled,
    Word.UNKNOWN: lambda *_: NO_RATES,
}
