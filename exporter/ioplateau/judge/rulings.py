"""From what was found to a verdict: the word, since when, and the evidence a person can check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ioplateau.judge import parameters as number
from ioplateau.judge import words
from ioplateau.judge.blame import Culprit
from ioplateau.judge.case import Case, Interrupted
from ioplateau.judge.known import Claim
from ioplateau.judge.memory import SavedHold
from ioplateau.judge.pool import Pool
from ioplateau.judge.signals import NONE, STRONG, WatchedFlow, excess_of
from ioplateau.judge.usage import rate_of
from ioplateau.judge.window import DIMENSIONS, IOPS, Levels
from ioplateau.limits.budgets import (
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Origin,
    Verdict,
    Word,
)
from ioplateau.measure.mappings import NO_ENTRIES

# Asked of each verdict: see signals.STRONG.
THROTTLED, SATURATED, APP_LIMITED = Word.THROTTLED, Word.SATURATED, Word.APP_LIMITED
STALLED, HEALTHY, IDLE, NETWORK = Word.STALLED, Word.HEALTHY, Word.IDLE, Kind.VM_NETWORK
UNKNOWN = Word.UNKNOWN
UNHURRIED = frozenset({Word.HEALTHY, Word.APP_LIMITED, Word.LATENCY_BOUND})
HELD_BACK = frozenset({Word.THROTTLED, Word.AFFECTED})
# Only of these it is told whether they are bound by latency, by the application, saturated or stalled. Of
# slots or a network that would say nothing.
OWN_WORDS = frozenset({Kind.DISK, Kind.STRIPE, Kind.VOLUME})


class Ruling(NamedTuple):
    """The hypothesis that holds, before it is put into a sentence."""

    word: Word
    dimension: Dimension | None = None
    direction: Direction | None = None
    limit: float | None = None
    origin: Origin | None = None
    source: str = ""
    phase: str = ""  # base, burst, learned or counted
    parent: BudgetKey | None = None
    culprit: str = ""
    evidence: Mapping[str, float | str] = NO_ENTRIES

    @staticmethod
    def known(case: Case, claim: Claim) -> Ruling:
        limit = claim.limit
        phase = "burst" if claim.value != limit.value else "base"
        evidence: Mapping[str, float | str] = NO_ENTRIES
        if claim is case.all_calls:
            evidence = {"other_calls_per_second": case.other_calls}
        elif limit.direction is Direction.TOTAL:  # reads and writes are remembered together only
            evidence = case.plateau.against(limit.dimension, claim.value)
        if isinstance(case.drawn, Pool) and case.drawn.may_miss and not claim.direct:
            counted = case.rate_of(limit.dimension, limit.direction)
            evidence = {**evidence, "cache_miss_level": max(0.0, claim.value - counted)}
        return Ruling(
            Word.THROTTLED, limit.dimension, limit.direction, claim.value, limit.origin,
            limit.source, phase, evidence=evidence,
        )  # fmt: skip

    @staticmethod
    def learned(case: Case, culprit: Culprit) -> Ruling:
        assert case.met is not None  # whoever asks has seen it
        plateau, direction = case.met
        dimension, value = plateau.dimension, plateau.value
        evidence: dict[str, float | str] = {
            "confidence": plateau.confidence(),
            **plateau.against(dimension, value),
        }
        contradicted = case.contradicted(dimension, direction, value)
        if contradicted is not None:
            evidence["told"] = contradicted.value
            evidence["told_origin"] = contradicted.origin.value
            if contradicted.burst is not None:
                evidence["told_burst"] = contradicted.burst.rate
        return Ruling(
            Word.THROTTLED,
            dimension,
            direction,
            value,
            Origin.LEARNED,
            phase="learned",
            culprit=culprit.value,
            evidence=evidence,
        )

    @staticmethod
    def counted(
        case: Case, dimension: Dimension | None, direction: Direction = Direction.TOTAL
    ) -> Ruling:
        """The limit that the provider's own counters call exceeded. dimension None: none that we measure."""
        exceeded = dimension, direction
        known = next(
            (c for c in case.claims if (c.limit.dimension, c.limit.direction) == exceeded), None
        )
        limit, origin, source = None, Origin.REPORTED, "counted by the provider"
        if known is not None and known.is_outgrown:
            # An EC2 network in a burst above its baseline: what counts there is no less than what is done.
            limit = known.smooth
        elif known is not None:
            before = None if case.verdict is None else case.verdict.limit
            limit, origin = known.in_force(before), known.limit.origin
            if limit != known.limit.value:
                source = f"its burst, {source}"
        return Ruling(
            Word.THROTTLED,
            dimension,
            direction,
            limit,
            origin,
            source,
            phase="counted",
        )

    @staticmethod
    def of(word: Word, parent: BudgetKey | None = None) -> Ruling:
        return Ruling(word, parent=parent)

    @staticmethod
    def by_member(hot: Sequence[Verdict]) -> Ruling:
        """A stripe is as fast as its slowest member, whose limit is not the stripe's."""
        first = hot[0]
        names = [verdict.key.name for verdict in hot]
        return Ruling(
            Word.THROTTLED,
            first.dimension,
            first.direction,
            phase=str(first.evidence.get("phase", "")),
            parent=first.key,
            culprit=", ".join(names),
        )


_PLAIN = {word: Ruling(word) for word in Word}


def rule(case: Case, at: float, ruling: Ruling, sufferers: tuple[FlowKey, ...] = ()) -> Verdict:
    """The verdict for a ruling, with the measured rates and times as its evidence."""
    before, word = case.verdict, ruling.word
    case.is_told = False
    changed = word is not case.word
    if changed:
        if word is UNKNOWN and case.hold is not None:
            case.interrupted = Interrupted(case.since, case.hold, at)
        case.word = word
        case.since = at
    hold = _hold(case.hold, ruling, at) if word is THROTTLED else None
    if case.interrupted is not None and word is not UNKNOWN:
        hold = _gone_on(case, case.interrupted, hold, at)
    changed = changed or hold != case.hold
    case.hold = hold
    verdict = _verdict(
        case, ruling, sufferers, "" if changed or before is None else before.sentence
    )
    waits = case.drawn.queue >= STRONG
    if (
        changed
        or before is None
        or before.limit != verdict.limit
        or at >= case.say_again
        or (
            case.drawn.queued == 1 and word in UNHURRIED
            if waits
            else _begins_to_clear(before, verdict)
        )
    ):
        # A sentence stays for some seconds, so that a person can read it; the numbers beside it are new.
        patience = 2 if word in UNHURRIED and not waits else 1
        case.say_again = at + patience * number.SETTLED_SECONDS
        case.said_operations = case.drawn.operations
        verdict = verdict._replace(
            sentence=words.sentence(verdict, at, case.budget.lane, case.known_limits)
        )
    case.verdict = verdict
    return verdict


def _begins_to_clear(before: Verdict, now: Verdict) -> bool:
    """Whether discards or flushes are what is outstanding by now."""
    return "clears" in now.evidence and "clears" not in before.evidence


def _hold(before: SavedHold | None, ruling: Ruling, at: float) -> SavedHold:
    """The limit that holds, and since when: another takes over while the word stays."""
    is_learned = ruling.origin is Origin.LEARNED
    hold = SavedHold(ruling.dimension, ruling.direction, is_learned, at)
    return before if before is not None and before[:-1] == hold[:-1] else hold


def _gone_on(
    case: Case, interrupted: Interrupted, hold: SavedHold | None, at: float
) -> SavedHold | None:
    """The limit that holds now, since before reading failed for a while if it held then: nothing else was seen but
    requests that wait.
    """
    since, before, failed_at = interrupted
    is_short = at - failed_at <= 2 * number.SETTLED_SECONDS
    if hold is None and is_short and case.drawn.queue >= STRONG:
        return None  # it may take a block more to be sure
    case.interrupted = None
    if hold is None or not is_short or hold[:-1] != before[:-1]:
        return hold
    case.since = since
    return before


def _verdict(case: Case, ruling: Ruling, sufferers: tuple[FlowKey, ...], sentence: str) -> Verdict:
    drawn = case.drawn
    word, dimension, direction, limit, origin, _, _, parent, _, _ = ruling
    if direction is None:
        operations, outstanding, waiting, excess = (
            drawn.operations, drawn.outstanding, drawn.waiting, drawn.excess
        )  # fmt: skip
    else:
        operations, outstanding, waiting, excess = _requests(case, direction)
    evidence: dict[str, float | str] = {
        "operations_per_second": drawn.operations,
        # Of an interface `bytes` are those of one direction.
        "bytes_per_second": drawn.read_bytes_per_second + drawn.write_bytes_per_second,
        "outstanding": outstanding,
        "waiting": waiting,
        "excess_latency_ratio": excess if excess < words.MOST_EXCESS else words.MOST_EXCESS,
    }
    base = outstanding - waiting if outstanding > waiting else 0.0
    if operations > 0 and isinstance(drawn, WatchedFlow):
        # An interface has the queue of its mounts, and no times.
        evidence["latency_seconds"] = outstanding / operations if drawn.latency else 0.0
        evidence["floor_seconds"] = floor = base / operations
        if drawn.floors.is_guess(floor):
            evidence["floor"] = "guess"
    share = demand = None
    if word is THROTTLED:
        is_all_seen = operations > 0 and not (isinstance(drawn, Pool) and drawn.may_miss)
        asked = asked_ratio(_waiting_now(case, waiting), operations) if is_all_seen else None
        share = _throttled_evidence(case, ruling, evidence, asked)
        if base > 0 and dimension is not Dimension.SLOTS:
            # Little's law backwards: what the same requests would do at the floor's latency.
            # https://doi.org/10.1287/opre.9.3.383
            demand = max(1.0, min(outstanding / base, words.MOST_EXCESS))
    else:
        if word is SATURATED:
            evidence.update(_saturated_evidence(case))
            if isinstance(drawn, WatchedFlow) and drawn.queue_share > number.SHARE_WAITING:
                evidence["queue_share"] = drawn.queue_share
        elif word is HEALTHY and isinstance(drawn, WatchedFlow) and drawn.clear_seconds:
            evidence.update(
                clears=drawn.clears,
                cleared_per_second=drawn.cleared,
                clear_seconds=drawn.clear_seconds,
            )
        if case.claims:
            share = max([claim.reached for claim in case.claims])
    since = None if case.hold is None else case.hold.since
    # As in ticks: its own way takes twice as long.
    return tuple.__new__(
        Verdict,
        (
            case.budget.key, word, case.since, dimension, direction,
            limit, origin, share, demand, parent, evidence, sentence, sufferers, since,
        ),
    )  # fmt: skip


def _requests(case: Case, direction: Direction) -> tuple[float, float, float, float]:
    """Operations per second, requests outstanding, those of them that wait, and their excess: of one direction,
    where it is known how long its requests take, else of all.
    """
    drawn = case.drawn
    if direction is Direction.TOTAL or not any(h for h, _ in drawn.parts):
        return drawn.operations, drawn.outstanding, drawn.waiting, drawn.excess
    held, waiting = drawn.parts[direction is Direction.WRITE]
    return rate_of(drawn, Dimension.IOPS, direction), held, waiting, excess_of(held, waiting)


def _throttled_evidence(
    case: Case, ruling: Ruling, evidence: dict[str, float | str], asked: float | None
) -> float | None:
    """Add the evidence for a limit. asked: see asked_ratio. Returns the share of the limit that is used."""
    texts = {"phase": ruling.phase, "source": ruling.source, "culprit": ruling.culprit}
    evidence.update({name: text for name, text in texts.items() if text})
    evidence.update(ruling.evidence)
    dimension, direction = ruling.dimension, ruling.direction or Direction.TOTAL
    if dimension is None or dimension is Dimension.SLOTS:
        return None
    drawn = case.drawn
    if asked is not None:
        evidence["asked_ratio"] = asked
    rate = case.rate_of(dimension, direction)
    empty = _empty_writes(case, ruling, rate)
    if empty:
        evidence["flushes_per_second"] = empty
        rate -= case.drawn.doubtful_operations  # those known not to count are left out already
    beside = [
        more
        for name in ("cache_miss_level", "other_calls_per_second")
        if isinstance(more := ruling.evidence.get(name), float)
    ]
    rate += sum(beside)
    evidence["level"] = rate
    others = [name for name, other in case.others if other.active]
    if others:
        evidence["together_with"] = ", ".join(others)
    elif not beside and (watched := _levels_of(case, direction)) is not None:
        level = watched.level_of(dimension)
        newest = watched.values_of(dimension)[-1:] or [level.mean]
        is_flat = level.spread < number.OFF_LEVEL
        # One block elsewhere has left a flat level, though two begin the next.
        if not is_flat or abs(newest[0] - level.mean) <= number.OFF_LEVEL * level.mean:
            evidence["flat_ratio"] = level.spread
            evidence["blocks"] = level.count
            if is_flat and rate == rate_of(drawn, dimension, direction):
                evidence["level"] = level.mean
    if isinstance(drawn, Pool) and drawn.operations > 0:
        for member in drawn.members:
            if member.rates[0] > 0:
                evidence[f"share:{member.name}"] = member.rates[0] / drawn.operations
    return rate / ruling.limit if ruling.limit else None


def _levels_of(case: Case, direction: Direction) -> Levels | None:
    """What tells how flat a direction is; None: nothing does."""
    if direction is Direction.TOTAL:
        return case.drawn
    return None if case.sides is None else case.sides.of(direction)


def _empty_writes(case: Case, ruling: Ruling, rate: float) -> float:
    """Writes per second of one flow that have no data and only flush, where its rate without them is nearer to
    the limit.
    """
    counts = ruling.dimension is Dimension.IOPS and ruling.direction is not Direction.READ
    if not (ruling.limit and counts and isinstance(case.drawn, WatchedFlow)):
        return 0.0
    if case.drawn.empty_operations:
        return case.drawn.empty_operations
    empty = case.drawn.doubtful_operations
    return empty if abs(rate - empty - ruling.limit) < abs(rate - ruling.limit) else 0.0


def _waiting_now(case: Case, waiting: float) -> float:
    """Of the requests that waited on average as many as may wait still: of a disk no more than are outstanding
    as the block ends, beyond those in service.
    """
    drawn = case.drawn
    if case.budget.key.kind is not Kind.DISK or isinstance(drawn, Pool):
        return waiting
    return min(waiting, max(0.0, drawn.in_flight - (drawn.outstanding - drawn.waiting)))


def asked_ratio(waiting: float, operations_per_second: float) -> float:
    """At least so many times what a limit gives in a second was asked for.

    Whatever was asked for within T seconds was either served by their end or waits then: with
    `waiting` requests [1] denied so far and X served per second [1/s], at least X T + waiting were
    asked for where X T were given, a ratio of 1 + waiting / (X T) [1]. Limits are given per second,
    so T is 1 s. It is a lower bound: what the application would have asked for if answers had come
    sooner cannot be counted. It also holds for bytes, if the requests that wait are as large as the
    others. Where only one direction is limited, both are of its requests alone.
    """
    return 1 + waiting / operations_per_second


def quiet(case: Case, at: float, dt: float) -> Verdict:
    """The verdict of a budget that no limit holds back."""
    before, last = case.verdict, case.word
    drawn = case.drawn
    if (
        before is not None
        and last in UNHURRIED
        and at < case.say_again
        and drawn.known
        and drawn.queue < STRONG
        and not _does_little(case)
        and not (drawn.own and _one_waits(drawn))
        and not (last is APP_LIMITED and _has_another_pace(case))
    ):
        # The word and its sentence stay until the sentence is due; the figures are new.
        case.saturated_seconds = 0.0
        verdict = _verdict(case, _PLAIN[last], (), before.sentence)
        if not _begins_to_clear(before, verdict):
            case.is_told, case.verdict = False, verdict
            return verdict
        return rule(case, at, _PLAIN[last])
    word = _quiet_word(case, dt)
    if before is not None and word is last is not STALLED and _rests(case, before):
        case.is_told = True
        return before
    return rule(case, at, _PLAIN[word])


def _does_little(case: Case) -> bool:
    """Whether a budget without a queue is idle. An interface counts no operations, and carries more than NFS."""
    drawn = case.drawn
    if case.budget.key.kind is NETWORK:
        return drawn.bytes < number.LEAST_OPERATIONS * number.LARGE_BYTES
    return drawn.operations + drawn.hidden_operations < number.LEAST_OPERATIONS


def _one_waits(drawn: WatchedFlow | Pool) -> bool:
    """Whether one request is outstanding nearly all the time and waits for most of it: by then no application's
    pace is seen, though one request at a time is no queue that proves a limit.
    """
    return (
        isinstance(drawn, WatchedFlow)
        and drawn.own
        and 1 - number.LEAST_PART <= drawn.outstanding < number.QUEUE_WAITING
        and drawn.waiting >= number.SHARE_WAITING * drawn.outstanding
        and drawn.excess >= number.OVERWHELMING_EXCESS
    )


def _has_another_pace(case: Case) -> bool:
    """Whether the rate has left the one that its sentence tells, and not for one block."""
    level, said = case.drawn.level_of(IOPS), case.said_operations
    return level.count > 1 and abs(level.mean - said) > number.STEP * said


def _rests(case: Case, before: Verdict) -> bool:
    """Whether nothing is done or outstanding, neither now nor at the last verdict: then it is still true."""
    drawn, then = case.drawn, before.evidence
    return not (
        drawn.operations
        or drawn.bytes
        or drawn.outstanding
        or then["operations_per_second"]
        or then["bytes_per_second"]
        or then["outstanding"]
    )


def _quiet_word(case: Case, dt: float) -> Word:
    drawn = case.drawn
    if not drawn.known:
        return UNKNOWN
    is_late = isinstance(drawn, WatchedFlow) and drawn.is_late
    if is_late and case.word in (STALLED, IDLE):
        return case.word
    if isinstance(drawn, Pool) or case.budget.key.kind not in OWN_WORDS:
        return IDLE if _does_little(case) else HEALTHY
    if drawn.stalled_seconds >= 2 * number.BLOCK_SECONDS:
        return STALLED
    if _does_little(case) and drawn.queue is NONE:
        return HEALTHY if drawn.clears else IDLE
    # What a limit leaves as it goes is often one request.
    waits = drawn.queue >= STRONG or (
        _one_waits(drawn) and (case.word in UNHURRIED or case.word is SATURATED)
    )
    case.saturated_seconds = case.saturated_seconds + dt if waits else 0.0
    if waits and case.word in HELD_BACK:
        # The queue stays, and only what explained it has gone.
        case.saturated_seconds = max(case.saturated_seconds, drawn.queued * dt)
    if case.saturated_seconds >= number.LEVEL_LEAST:
        return SATURATED
    return _unhurried(drawn)


def _unhurried(watched: WatchedFlow) -> Word:
    always = 1 - number.LEAST_PART
    is_always = watched.busy >= always and watched.outstanding >= always
    # Of many at a time some may wait, if what each takes is a guess or a little longer than that.
    is_many = watched.outstanding > number.OVERWHELMING_WAITING
    most = number.LEAST_PART if is_many else number.QUEUE_EXCESS
    if is_always and watched.excess < most and (watched.was_alone or not is_many):
        return Word.LATENCY_BOUND
    keeps_pace = _keeps_pace(watched, IOPS) and not _one_waits(watched)
    return APP_LIMITED if keeps_pace else HEALTHY


def _saturated_evidence(case: Case) -> Mapping[str, float]:
    """How flat the rate is, if it is: too little to be sure of a limit, but worth a word, as is what shows
    that it is none; or that the server asks to come back later.
    """
    drawn = case.drawn
    if isinstance(drawn, WatchedFlow) and drawn.later:
        return {"later_per_second": drawn.later}
    if drawn.queued < 2 * number.LEVEL_LEAST and not _one_waits(drawn):
        return NO_ENTRIES
    for dimension in DIMENSIONS:
        if _keeps_pace(drawn, dimension):
            level = drawn.level_of(dimension)
            found = {"flat_ratio": level.spread, "blocks": level.count}
            return {**found, **case.plateau.against_any(drawn)}
    return NO_ENTRIES


def _keeps_pace(drawn: WatchedFlow | Pool, dimension: Dimension) -> bool:
    """Whether a rate stands still up to now, by its device's ripple or by an application's own pace."""
    level = drawn.level_of(dimension)
    if level.count < 2 * number.LEVEL_LEAST or level.spread > 2 * number.RIPPLE:
        return False
    rate = rate_of(drawn, dimension, Direction.TOTAL)
    return abs(rate - level.mean) <= number.OFF_LEVEL * level.mean
