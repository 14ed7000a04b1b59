"""From what was found to a verdict: the word, since when, and the evidence a person can check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ioplateau.judge import words
from ioplateau.judge.blame import Culprit
from ioplateau.judge.budgets import (
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Origin,
    Verdict,
    Word,
)
from ioplateau.judge.case import Case, rate_of
from ioplateau.judge.learned import Plateau
from ioplateau.judge.phases import Claim
from ioplateau.judge.pool import Pool
from ioplateau.judge.signals import Queue, Sense
from ioplateau.measure.nothing import NO_ENTRIES

IDLE_OPERATIONS = 5.0  # per second
SATURATED_SECONDS = 3.0
STALL_SECONDS = 0.9
FLAT_APPLICATION = 0.03
PATIENCE_SECONDS, LONG_PATIENCE_SECONDS = 5.0, 10.0
MOST_EXCESS = 1000.0
UNHURRIED = frozenset({Word.HEALTHY, Word.APP_LIMITED, Word.LATENCY_BOUND})
# Budgets whose members' own pace is a word about them; of slots or a network it is none.
OWN_WORDS = frozenset({Kind.DISK, Kind.STRIPE, Kind.VOLUME})


class Ruling(NamedTuple):
    """What holds, before it is put into words."""

    word: Word
    dimension: Dimension | None = None
    direction: Direction | None = None
    limit: float | None = None
    origin: Origin | None = None
    source: str = ""
    phase: str = ""  # base, burst or learned
    parent: BudgetKey | None = None
    culprit: str = ""
    evidence: Mapping[str, float | str] = NO_ENTRIES

    @staticmethod
    def known(claim: Claim) -> Ruling:
        limit = claim.limit
        phase = "burst" if claim.value != limit.value else "base"
        return Ruling(
            Word.THROTTLED, limit.dimension, limit.direction, claim.value, limit.origin,
            limit.source, phase,
        )  # fmt: skip

    @staticmethod
    def learned(plateau: Plateau, culprit: Culprit) -> Ruling:
        return Ruling(
            Word.THROTTLED,
            plateau.dimension,
            Direction.TOTAL,
            plateau.value,
            Origin.LEARNED,
            phase="learned",
            culprit=culprit.value,
            evidence={"confidence": plateau.confidence()},
        )

    @staticmethod
    def counted(case: Case, dimension: Dimension, direction: Direction = Direction.TOTAL) -> Ruling:
        """What the provider itself counts as exceeded."""
        known = next((c.limit for c in case.claims if c.limit.dimension is dimension), None)
        return Ruling(
            Word.THROTTLED,
            dimension,
            direction,
            known.value if known is not None else case.rate_of(dimension, direction),
            known.origin if known is not None else Origin.REPORTED,
            "counted by the provider",
            phase="counted",
        )

    @staticmethod
    def of(word: Word, parent: BudgetKey | None = None) -> Ruling:
        return Ruling(word, parent=parent)

    @staticmethod
    def by_member(hot: Sequence[Verdict]) -> Ruling:
        """A stripe is as fast as its slowest member."""
        first = hot[0]
        return Ruling(
            Word.THROTTLED, first.dimension, first.direction, first.limit, first.origin,
            phase=str(first.evidence.get("phase", "")), parent=first.key,
            culprit=", ".join(verdict.key.name for verdict in hot),
        )  # fmt: skip


def rule(case: Case, at: float, ruling: Ruling, sufferers: tuple[FlowKey, ...] = ()) -> Verdict:
    """The verdict for a ruling, with evidence from what was drawn."""
    before = case.verdict
    changed = ruling.word is not case.word
    if changed:
        case.word = ruling.word
        case.since = at
    verdict = _verdict(
        case, ruling, sufferers, "" if changed or before is None else before.sentence
    )
    if changed or before is None or before.limit != verdict.limit or at >= case.say_again:
        # The words follow the numbers with a little patience; they are for people.
        patience = LONG_PATIENCE_SECONDS if ruling.word in UNHURRIED else PATIENCE_SECONDS
        case.say_again = at + patience
        verdict = verdict._replace(sentence=words.sentence(verdict, at))
    case.verdict = verdict
    return verdict


def _verdict(case: Case, ruling: Ruling, sufferers: tuple[FlowKey, ...], sentence: str) -> Verdict:
    drawn = case.drawn
    evidence: dict[str, float | str] = {
        "operations_per_second": drawn.operations,
        "bytes_per_second": drawn.bytes,
        "outstanding": drawn.outstanding,
        "waiting": drawn.waiting,
        "excess_latency_ratio": min(drawn.excess, MOST_EXCESS),
    }
    operations = drawn.operations
    base = max(0.0, drawn.outstanding - drawn.waiting)
    if operations > 0 and isinstance(drawn, Sense):
        evidence["latency_seconds"] = drawn.latency
        evidence["floor_seconds"] = base / operations
    share = demand = None
    if ruling.word is Word.THROTTLED:
        share = _throttled_evidence(case, ruling, evidence)
        # Little's law backwards: what the same requests would do at the floor's latency.
        demand = max(1.0, min(drawn.outstanding / base, MOST_EXCESS)) if base > 0 else None
    elif case.claims:
        share = max(claim.reached for claim in case.claims)
    if ruling.dimension is Dimension.SLOTS:
        demand = None
    return Verdict(
        case.budget.key, ruling.word, case.since, ruling.dimension, ruling.direction,
        ruling.limit, ruling.origin, share, demand, ruling.parent, evidence, sentence, sufferers,
    )  # fmt: skip


def _throttled_evidence(
    case: Case, ruling: Ruling, evidence: dict[str, float | str]
) -> float | None:
    """Add what proves a limit; the share of it that is drawn."""
    told = {"phase": ruling.phase, "source": ruling.source, "culprit": ruling.culprit}
    evidence.update({name: text for name, text in told.items() if text})
    evidence.update(ruling.evidence)
    dimension, direction = ruling.dimension, ruling.direction or Direction.TOTAL
    if dimension is None or dimension is Dimension.SLOTS:
        return None
    drawn = case.drawn
    rate = case.rate_of(dimension, direction)
    evidence["level"] = rate
    if direction is Direction.TOTAL:
        level = drawn.level_of(dimension)
        evidence["flat_ratio"] = level.spread
        evidence["blocks"] = level.count
        if level.spread < 0.03 and rate == rate_of(drawn, dimension, direction):
            evidence["level"] = level.mean
    if isinstance(drawn, Pool) and drawn.operations > 0:
        for member in drawn.members:
            if member.rates[0] > 0:
                evidence[f"share:{member.name}"] = member.rates[0] / drawn.operations
    return rate / ruling.limit if ruling.limit else None


def quiet(case: Case, at: float, dt: float) -> Verdict:
    """The verdict of a budget that no limit holds back."""
    before = case.verdict
    drawn = case.drawn
    if (
        before is not None
        and case.word in UNHURRIED
        and at < case.say_again
        and drawn.known
        and drawn.queue < Queue.STRONG
        and drawn.operations >= IDLE_OPERATIONS
    ):
        case.saturated_seconds = 0.0
        return before
    word = _quiet_word(case, dt)
    if before is not None and word is case.word and word in {Word.IDLE, Word.UNKNOWN}:
        return before
    return rule(case, at, Ruling(word))


def _quiet_word(case: Case, dt: float) -> Word:
    drawn = case.drawn
    if not drawn.known:
        return Word.UNKNOWN
    if isinstance(drawn, Pool) or case.budget.key.kind not in OWN_WORDS:
        return Word.IDLE if drawn.operations < IDLE_OPERATIONS else Word.HEALTHY
    if drawn.stalled_seconds >= STALL_SECONDS:
        return Word.STALLED
    if drawn.operations < IDLE_OPERATIONS and drawn.queue is Queue.NONE:
        return Word.IDLE
    waits = drawn.queue >= Queue.STRONG
    case.saturated_seconds = case.saturated_seconds + dt if waits else 0.0
    if case.saturated_seconds >= SATURATED_SECONDS:
        return Word.SATURATED
    return _unhurried(drawn)


def _unhurried(sense: Sense) -> Word:
    if sense.busy >= 0.75 and 0.7 <= sense.outstanding <= 8 and sense.excess < 0.6:
        return Word.LATENCY_BOUND
    level = sense.level_of(Dimension.IOPS)
    if level.count >= 5 and level.spread <= FLAT_APPLICATION:
        return Word.APP_LIMITED
    return Word.HEALTHY
