"""From what was found to a verdict: the word, since when, and the evidence a person can check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioplateau.judge.blame import Culprit
from ioplateau.judge.budgets import (
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Origin,
    Verdict,
    Word,
)
from ioplateau.judge.case import Case, rate_of
from ioplateau.judge.learned import Plateau
from ioplateau.judge.phases import Claim
from ioplateau.judge.pool import Pool
from ioplateau.judge.signals import Queue, Sense

IDLE_OPERATIONS = 5.0  # per second
SATURATED_SECONDS = 3.0
STALL_SECONDS = 0.9
FLAT_APPLICATION = 0.03


@dataclass(frozen=True, slots=True)
class Ruling:
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
    word = ruling.word
    if word is not case.word:
        case.word = word
        case.since = at
    drawn = case.drawn
    dimension, direction = ruling.dimension, ruling.direction or Direction.TOTAL
    evidence: dict[str, float | str] = {
        "operations_per_second": drawn.operations,
        "bytes_per_second": drawn.bytes,
        "outstanding": drawn.outstanding,
        "waiting": drawn.waiting,
        "excess_latency_ratio": drawn.excess,
    }
    if isinstance(drawn, Sense):
        evidence["latency_seconds"] = drawn.latency
        evidence["floor_seconds"] = (
            (drawn.outstanding - drawn.waiting) / drawn.operations if drawn.operations else 0.0
        )
    share = demand = None
    limit = ruling.limit
    if word is Word.THROTTLED and dimension is not None and dimension is not Dimension.SLOTS:
        rate = rate_of(drawn, dimension, direction)
        level = drawn.level_of(dimension) if direction is Direction.TOTAL else None
        if level is not None:
            evidence["flat_ratio"] = level.spread
            evidence["level"] = level.mean if level.spread < 0.03 else rate
            evidence["blocks"] = level.count
        else:
            evidence["level"] = rate
        if limit:
            share = rate / limit
        base = drawn.outstanding - drawn.waiting
        if base > 0:
            demand = max(1.0, drawn.outstanding / base)
    if ruling.phase:
        evidence["phase"] = ruling.phase
    if ruling.source:
        evidence["source"] = ruling.source
    if ruling.culprit:
        evidence["culprit"] = ruling.culprit
    verdict = Verdict(
        case.budget.key, word, case.since, dimension, ruling.direction, limit, ruling.origin,
        share, demand, ruling.parent, evidence, "", sufferers,
    )  # fmt: skip
    case.verdict = verdict
    return verdict


def quiet(case: Case, at: float, dt: float) -> Verdict:
    """The verdict of a budget that no limit holds back."""
    word = _quiet_word(case, dt)
    if word is case.word and case.verdict is not None and word in {Word.IDLE, Word.UNKNOWN}:
        return case.verdict
    return rule(case, at, Ruling(word))


def _quiet_word(case: Case, dt: float) -> Word:
    drawn = case.drawn
    if not drawn.known:
        return Word.UNKNOWN
    if isinstance(drawn, Pool):
        if drawn.operations < IDLE_OPERATIONS:
            return Word.IDLE
        return Word.HEALTHY
    if drawn.stalled_seconds >= STALL_SECONDS:
        return Word.STALLED
    if drawn.operations < IDLE_OPERATIONS and drawn.queue is Queue.NONE:
        return Word.IDLE
    if drawn.queue >= Queue.STRONG:
        case.saturated_seconds += dt
    else:
        case.saturated_seconds = 0.0
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
