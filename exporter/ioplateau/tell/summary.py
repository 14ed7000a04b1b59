"""The answer in one line, and which budget comes first: what every screen and page begins with."""

from __future__ import annotations

from enum import StrEnum

from ioplateau.limits.budgets import Word
from ioplateau.state import BudgetState, State
from ioplateau.tell import failedsources, formatting

# The worst first.
ORDER = (
    Word.STALLED,
    Word.THROTTLED,
    Word.SATURATED,
    Word.AFFECTED,
    Word.LATENCY_BOUND,
    Word.APP_LIMITED,
    Word.HEALTHY,
    Word.IDLE,
    Word.UNKNOWN,
)
BAD = frozenset({Word.STALLED, Word.THROTTLED})
UNEASY = frozenset({Word.SATURATED, Word.AFFECTED})


class Severity(StrEnum):
    """How a line is coloured, where there are colours."""

    BAD = "bad"
    WARN = "warn"
    GOOD = "good"
    SOFT = "soft"
    HEAD = "head"
    NONE = ""


def headline(state: State | None) -> str:
    """The answer in one line. state: None before the first tick."""
    if state is None:
        return "Starting: nothing measured yet"
    unseen = "; ".join(failedsources.vital(state))
    bad = [budget for budget in state.budgets.values() if budget.verdict.word in BAD]
    if bad:
        return f"{_bad(state, bad)}; {unseen}" if unseen else _bad(state, bad)
    if unseen:
        return unseen[0].upper() + unseen[1:]
    if not any(budget.limits for budget in state.budgets.values()):
        return "Nothing throttled; no limit is known"
    return "Nothing throttled"


def _bad(state: State, bad: list[BudgetState]) -> str:
    if len(bad) == 1:
        budget, word = bad[0].budget, bad[0].verdict.word
        what = formatting.kind(budget.key.kind, budget.lane)
        return f"{budget.key.name} ({what}) is {formatting.WORDS[word]}"
    return f"{len(bad)} of {len(state.budgets)} budgets are throttled or stalled"


def severity(state: State | None) -> Severity:
    """Of the headline."""
    if state is None:
        return Severity.NONE
    words = {budget.verdict.word for budget in state.budgets.values()}
    if words & BAD:
        return Severity.BAD
    if words & UNEASY or failedsources.vital(state):
        return Severity.WARN
    return Severity.GOOD if state.budgets else Severity.NONE


def severity_of(word: Word) -> Severity:
    """Of one budget's verdict."""
    return Severity.BAD if word in BAD else Severity.WARN if word in UNEASY else Severity.SOFT


def worst_first(state: State) -> list[BudgetState]:
    """Every budget, the worst verdict first, then the nearest to its limit."""
    return sorted(state.budgets.values(), key=_badness)


def _badness(budget: BudgetState) -> tuple[int, float, str, str]:
    nearest = max((limit.utilization or 0.0 for limit in budget.limits), default=0.0)
    return (ORDER.index(budget.verdict.word), -nearest, *budget.budget.key)
