"""Budgets as rows: each limit in force, how near we are, what throttling cost, what we concluded.

What must survive a missed scrape is a counter: throttled seconds first of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from ioplateau.judge.budgets import Dimension, Origin, Word
from ioplateau.state import BudgetState, LimitState
from ioplateau.tell.rows import Labels, Scene, Table, counter, gauge, info

FlowSeconds: TypeAlias = tuple[Labels, float]

# What Budget.info may tell, and we pass on.
DESCRIBED = ("sku", "tier", "caching", "lun", "size", "generation")


def budgets(scene: Scene) -> Iterator[BudgetState]:
    for _, state in sorted(scene.state.budgets.items()):
        yield state


def flows(scene: Scene) -> Iterator[FlowSeconds]:
    for (flow, budget, dimension), seconds in sorted(scene.state.flow_throttled_seconds.items()):
        yield (flow.kind, flow.name, budget.kind, budget.name, dimension), seconds


def _limits(state: BudgetState) -> Iterator[tuple[Labels, LimitState]]:
    kind, name = state.budget.key
    for limit in state.limits:
        yield (kind, name, limit.dimension, limit.direction), limit


def _words(state: BudgetState) -> Iterator[tuple[Labels, bool]]:
    kind, name = state.budget.key
    for word in Word:
        yield (kind, name, word), word is state.verdict.word


def _words_follow_from(state: BudgetState) -> tuple[object, ...]:
    return state.budget, state.verdict.word


def _description_follows_from(state: BudgetState) -> tuple[object, ...]:
    return state.budget, *[each.limit for each in state.limits]


def _described(state: BudgetState) -> Iterator[tuple[Labels, BudgetState]]:
    kind, name = state.budget.key
    told = state.budget.info
    yield (kind, name, _origins(state), *(told.get(key, "") for key in DESCRIBED)), state


def _origins(state: BudgetState) -> str:
    found = {limit.limit.origin for limit in state.limits}
    return ",".join(origin for origin in Origin if origin in found)


def _itself(flow: FlowSeconds) -> Iterable[tuple[Labels, float]]:
    yield flow


def _effective(dimension: Dimension) -> Callable[[LimitState], float | None]:
    return lambda limit: limit.effective if limit.dimension is dimension else None


def _held(state: LimitState) -> float | None:
    if not state.throttled or state.limit.origin is Origin.LEARNED:
        return None  # nobody promised what was learned
    return state.effective / state.limit.value


LIMITS: Table[BudgetState, LimitState] = Table(
    "Budgets, by limit",
    ("kind", "name", "dimension", "direction"),
    budgets,
    _limits,
    (
        gauge(
            "budget_limit_operations_per_second",
            "Operations per second allowed now: the burst limit while there is credit, else the base.",
            _effective(Dimension.IOPS),
        ),
        gauge(
            "budget_limit_bytes_per_second",
            "Bytes per second allowed now: the burst limit while there is credit, else the base.",
            _effective(Dimension.THROUGHPUT),
        ),
        gauge(
            "budget_limit_slots",
            "Requests that may be on their way at once.",
            _effective(Dimension.SLOTS),
        ),
        gauge(
            "budget_utilization_ratio",
            "Share of the limit used, mean over the rate window.",
            lambda b: b.utilization,
        ),
        gauge(
            "budget_peak_utilization_ratio",
            "Share of the limit used in the busiest tick of the last 60 s.",
            lambda b: b.peak_utilization,
        ),
        gauge(
            "budget_throttled",
            "1 while the limit holds requests back.",
            lambda b: b.throttled,
        ),
        counter(
            "budget_throttled_seconds_total",
            "Time in which the limit held requests back.",
            lambda b: b.throttled_seconds,
        ),
        counter(
            "budget_throttle_episodes_total",
            "How often the limit began to hold requests back.",
            lambda b: b.episodes,
        ),
        gauge(
            "budget_burst_credit_ratio",
            "Share of the burst credit that is left.",
            lambda b: b.credit_ratio,
        ),
        gauge(
            "budget_burst_exhaustion_seconds",
            "Time until the burst credit is used up at the present rate.",
            lambda b: b.exhaustion_seconds,
        ),
        gauge(
            "budget_demand_ratio",
            "Estimated demand over the limit while throttled: 1.5 means half as much again was asked for.",
            lambda b: b.demand,
        ),
        gauge(
            "budget_held_ratio",
            "While throttled: the limit that holds over the one that was sold; below 1, less is given than promised.",
            _held,
        ),
    ),
)

VERDICTS: Table[BudgetState, bool] = Table(
    "Budgets, what we concluded",
    ("kind", "name", "verdict"),
    budgets,
    _words,
    (
        gauge(
            "budget_verdict", "1 for the verdict that holds, 0 for the others.", lambda holds: holds
        ),
    ),
    basis=_words_follow_from,
)

DESCRIPTION: Table[BudgetState, BudgetState] = Table(
    "Budgets, what they are",
    ("kind", "name", "origin", *DESCRIBED),
    budgets,
    _described,
    (info("budget_info", "What the budget was sold as, and where its limits come from."),),
    basis=_description_follows_from,
)

FLOWS: Table[FlowSeconds, float] = Table(
    "Flows, by the budget they suffer from",
    ("flow_kind", "flow", "kind", "name", "dimension"),
    flows,
    _itself,
    (
        counter(
            "flow_throttled_seconds_total",
            "Time in which the budget's limit held back this disk, mount or interface.",
            lambda seconds: seconds,
        ),
    ),
)

TABLES = (LIMITS, VERDICTS, DESCRIPTION, FLOWS)
