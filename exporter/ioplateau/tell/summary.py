"""The answer in one line, and which budget comes first: what every screen and page begins with."""

from __future__ import annotations

from enum import StrEnum

from ioplateau.judge.budgets import Word
from ioplateau.state import BudgetState, State
from ioplateau.tell import plain

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


class Mood(StrEnum):
    """How a line is coloured, where there are colours."""

    BAD = "bad"
    WARN = "warn"
    GOOD = "good"
    SOFT = "soft"
    NONE = ""


def headline(state: State | None) -> str:
    """The answer in one line. state: None before the first tick."""
    if state is None:
        return "Starting: nothing measured yet"
    bad = [budget for budget in state.budgets.values() if budget.verdict.word in BAD]
    if len(bad) == 1:
        (kind, name), word = bad[0].budget.key, bad[0].verdict.word
        return f"{name} ({plain.KINDS[kind]}) is {plain.WORDS[word]}"
    if bad:
        return f"{len(bad)} of {len(state.budgets)} budgets are throttled or stalled"
    if not any(budget.limits for budget in state.budgets.values()):
        return "Nothing throttled; no limit is known"
    return "Nothing throttled"


def mood(state: State | None) -> Mood:
    """Of the headline."""
    if state is None or not state.budgets:
        return Mood.NONE
    words = {budget.verdict.word for budget in state.budgets.values()}
    return Mood.BAD if words & BAD else Mood.WARN if words & UNEASY else Mood.GOOD


def mood_of(word: Word) -> Mood:
    """Of one budget's verdict."""
    return Mood.BAD if word in BAD else Mood.WARN if word in UNEASY else Mood.SOFT


def worst_first(state: State) -> list[BudgetState]:
    """Every budget, the worst verdict first, then the nearest to its limit."""
    return sorted(state.budgets.values(), key=_badness)


def _badness(budget: BudgetState) -> tuple[int, float, str, str]:
    nearest = max((limit.utilization or 0.0 for limit in budget.limits), default=0.0)
    return (ORDER.index(budget.verdict.word), -nearest, *budget.budget.key)
