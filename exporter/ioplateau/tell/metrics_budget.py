"""Budgets as rows: each limit in force, how near we are, what throttling cost, what we concluded.

What must survive a missed scrape is a counter: throttled seconds first of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias, TypeVar

from ioplateau.limits.budgets import BudgetKey, Dimension, Origin, Verdict, Word
from ioplateau.state import BudgetConsumers, BudgetState, Consumer, HeldState, LimitState
from ioplateau.tell.rows import Labels, MetricTable, Scene, counter, gauge, info

FlowSeconds: TypeAlias = tuple[Labels, float]
L = TypeVar("L", bound="LimitState | HeldState")
DrawnOn: TypeAlias = tuple[BudgetKey, BudgetConsumers]

MOST_CONSUMERS = 3  # control groups of one throttled budget: a bound for the number of series


class HeldLimit(NamedTuple):
    """A limit that holds requests back now."""

    budget: BudgetKey
    limit: LimitState | HeldState
    began_wall_seconds: float
    confidence_ratio: float | None  # of a learned limit; None: told, or counted by the provider


# What Budget.info may tell, and we pass on.
DESCRIBED = ("sku", "tier", "caching", "lun", "size", "generation")


def budgets(scene: Scene) -> Iterator[BudgetState]:
    for _, state in sorted(scene.state.budgets.items()):
        yield state


def flows(scene: Scene) -> Iterator[FlowSeconds]:
    for (flow, budget, dimension), seconds in sorted(scene.state.flow_throttled_seconds.items()):
        yield (flow.kind, flow.name, budget.kind, budget.name, dimension), seconds


def throttled_and_drawn_on(scene: Scene) -> Iterator[DrawnOn]:
    for budget in budgets(scene):
        if budget.verdict.word is Word.THROTTLED:
            consumers = scene.state.consumers.get(budget.budget.key)
            if consumers is not None:
                yield budget.budget.key, consumers


def _first_groups(drawn_on: DrawnOn) -> Iterator[tuple[Labels, Consumer]]:
    (kind, name), consumers = drawn_on
    for each in consumers.groups[:MOST_CONSUMERS]:
        who = each.group
        yield (kind, name, each.name, who.unit, who.container, who.pod), each


def _limits(state: BudgetState) -> Iterator[tuple[Labels, LimitState]]:
    return _labelled(state.budget.key, state.limits)


def _times(state: BudgetState) -> Iterator[tuple[Labels, LimitState | HeldState]]:
    return _labelled(state.budget.key, _all_limits(state))


def _labelled(key: BudgetKey, limits: Iterable[L]) -> Iterator[tuple[Labels, L]]:
    kind, name = key
    for limit in limits:
        yield (kind, name, limit.dimension, limit.direction), limit


def _all_limits(state: BudgetState) -> tuple[LimitState | HeldState, ...]:
    """Those with a value, and those whose value nobody tells."""
    return (*state.limits, *state.untold)


def episodes(scene: Scene) -> Iterator[HeldLimit]:
    """The limits that hold requests back, each since when."""
    boot_wall_seconds = scene.state.wall - scene.state.mono
    for budget in budgets(scene):
        verdict = budget.verdict
        for limit in _all_limits(budget):
            if limit.throttled:
                # To the second: the two clocks are not read at once, and it must not tremble.
                began = float(round(boot_wall_seconds + verdict.holds_since))
                yield HeldLimit(budget.budget.key, limit, began, _confidence(verdict))


def _confidence(verdict: Verdict) -> float | None:
    if verdict.origin is not Origin.LEARNED or verdict.dimension is Dimension.SLOTS:
        return None
    found = verdict.evidence.get("confidence")
    return found if isinstance(found, float) else 0.0


def _episode(episode: HeldLimit) -> Iterable[tuple[Labels, HeldLimit]]:
    limit = episode.limit
    yield (*episode.budget, limit.dimension, limit.direction), episode


def _words(state: BudgetState) -> Iterator[tuple[Labels, bool]]:
    kind, name = state.budget.key
    for word in Word:
        yield (kind, name, word), word is state.verdict.word


def _words_follow_from(state: BudgetState) -> tuple[object, ...]:
    return state.budget, state.verdict.word


def _description_follows_from(state: BudgetState) -> tuple[object, ...]:
    return state.budget, *[each.limit for each in state.limits]


def _origin_of_each(state: BudgetState) -> Iterator[tuple[Labels, LimitState]]:
    for (kind, name, dimension, direction), limit in _limits(state):
        of = limit.limit
        yield (kind, name, dimension, direction, of.origin, "true" if of.each_client else ""), limit


def _described(state: BudgetState) -> Iterator[tuple[Labels, BudgetState]]:
    kind, name = state.budget.key
    about = state.budget.info
    yield (kind, name, _origins(state), *(about.get(key, "") for key in DESCRIBED)), state


def _origins(state: BudgetState) -> str:
    found = {limit.limit.origin for limit in state.limits}
    return ",".join(origin for origin in Origin if origin in found)


def _effective(dimension: Dimension) -> Callable[[LimitState], float | None]:
    return lambda limit: limit.effective if limit.dimension is dimension else None


def _burst(dimension: Dimension) -> Callable[[LimitState], float | None]:
    return lambda state: (
        state.limit.burst.rate
        if state.limit.burst is not None and state.dimension is dimension
        else None
    )


LIMITS: MetricTable[BudgetState, LimitState] = MetricTable(
    "Budgets, by limit",
    ("kind", "name", "dimension", "direction"),
    budgets,
    _limits,
    (
        gauge(
            "budget_limit_operations_per_second",
            "Operations per second allowed now: the burst limit while there is credit, else the base; while "
            "another level holds than was told, that level.",
            _effective(Dimension.IOPS),
        ),
        gauge(
            "budget_limit_bytes_per_second",
            "Bytes per second allowed now: the burst limit while there is credit, else the base; while "
            "another level holds than was told, that level.",
            _effective(Dimension.THROUGHPUT),
        ),
        gauge(
            "budget_burst_limit_operations_per_second",
            "Operations per second allowed while there is burst credit; no sample for a limit without a burst.",
            _burst(Dimension.IOPS),
        ),
        gauge(
            "budget_burst_limit_bytes_per_second",
            "Bytes per second allowed while there is burst credit; no sample for a limit without a burst.",
            _burst(Dimension.THROUGHPUT),
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
            "While throttled: the time a request takes over its time when none waits. So many times as much "
            "would be done at most if the same requests never waited; nobody counts what was asked for.",
            lambda b: b.demand,
        ),
        gauge(
            "budget_held_ratio",
            "While throttled: the limit that holds over the one that was sold, its burst while there is credit; "
            "below 1, less is given than promised.",
            lambda b: b.held_ratio,
        ),
    ),
)

TIMES: MetricTable[BudgetState, LimitState | HeldState] = MetricTable(
    "Budgets, for how long each limit held",
    ("kind", "name", "dimension", "direction"),
    budgets,
    _times,
    (
        gauge(
            "budget_throttled",
            "1 while the limit holds requests back.",
            lambda b: b.throttled,
        ),
        counter(
            "budget_throttled_seconds_total",
            "Time in which the limit held requests back; 0 from the start, but for a limit that was not told.",
            lambda b: b.throttled_seconds,
        ),
        counter(
            "budget_throttle_episodes_total",
            "How often the limit began to hold requests back, however soon after it last did.",
            lambda b: b.episodes,
        ),
    ),
)

ORIGINS: MetricTable[BudgetState, LimitState] = MetricTable(
    "Budgets, where each limit comes from",
    ("kind", "name", "dimension", "direction", "origin", "each_client"),
    budgets,
    _origin_of_each,
    (
        info(
            "budget_limit_info",
            "Who told the limit, also while another level was learned to hold (then budget_held_ratio is not 1, and "
            "the limit over it is what was told); each_client is true where a volume has it for each of its clients alone.",
        ),
    ),
    basis=_description_follows_from,
)

VERDICTS: MetricTable[BudgetState, bool] = MetricTable(
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

DESCRIPTION: MetricTable[BudgetState, BudgetState] = MetricTable(
    "Budgets, what they are",
    ("kind", "name", "origin", *DESCRIBED),
    budgets,
    _described,
    (info("budget_info", "What the budget was sold as, and where its limits come from."),),
    basis=_description_follows_from,
)

EPISODES: MetricTable[HeldLimit, HeldLimit] = MetricTable(
    "Limits that hold requests back now",
    ("kind", "name", "dimension", "direction"),
    episodes,
    _episode,
    (
        gauge(
            "budget_throttled_since_timestamp_seconds",
            "UNIX time at which the limit began to hold requests back; no sample while it does not.",
            lambda episode: episode.began_wall_seconds,
        ),
        gauge(
            "budget_learned_confidence_ratio",
            "How sure the limit is that holds, where it was learned from a plateau: 0 (nothing is known) to 1; "
            "no sample for a limit that was told, or counted by the provider.",
            lambda episode: episode.confidence_ratio,
        ),
    ),
)

FLOWS: MetricTable[FlowSeconds, float] = MetricTable(
    "Flows, by the budget they suffer from",
    ("flow_kind", "flow", "kind", "name", "dimension"),
    flows,
    lambda flow: (flow,),
    (
        counter(
            "flow_throttled_seconds_total",
            "Time in which the budget's limit held back this disk, mount, interface or control group; 0 from the "
            "start for a limit that was told.",
            lambda seconds: seconds,
        ),
    ),
)

CONSUMERS: MetricTable[DrawnOn, Consumer] = MetricTable(
    "Budgets, who draws on them while they are throttled",
    ("kind", "name", "cgroup", "unit", "container", "pod"),
    throttled_and_drawn_on,
    _first_groups,
    (
        gauge(
            "budget_consumer_bytes_per_second",
            "Bytes per second of the control groups that draw most on a throttled budget, three at most.",
            lambda consumer: consumer.bytes_per_second,
        ),
        gauge(
            "budget_consumer_operations_per_second",
            "Requests per second of these control groups, where the kernel counts them by group.",
            lambda consumer: consumer.operations_per_second,
        ),
    ),
)

TABLES = (LIMITS, TIMES, ORIGINS, EPISODES, VERDICTS, DESCRIPTION, FLOWS, CONSUMERS)
