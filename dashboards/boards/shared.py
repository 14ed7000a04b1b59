"""What several boards show in the same way: verdicts, burst credit, time at a limit."""

from collections.abc import Mapping

from boards.house import (
    Json,
    column,
    credit_thresholds,
    label,
    row,
    share_thresholds,
    stat,
    target,
    timeseries,
    to,
)

RATE = "[$__rate_interval]"
# 0 is what is left when a store was told to drop the words of the ordinary day.
WORDS: Mapping[int, tuple[str, str]] = {
    0: ("not kept", "transparent"),
    1: ("idle", "transparent"),
    2: ("healthy", "green"),
    3: ("app_limited", "blue"),
    4: ("latency_bound", "purple"),
    5: ("affected", "yellow"),
    6: ("saturated", "orange"),
    7: ("throttled", "red"),
    8: ("stalled", "dark-red"),
    9: ("unknown", "text"),
}


def verdicts(where: str) -> str:
    """The verdict that holds as a number: its place in WORDS."""
    weighed = " or ".join(
        f'{number} * ioplateau_budget_verdict{{{where},verdict="{word}"}}'
        for number, (word, _) in WORDS.items()
        if number
    )
    return f"sum without (verdict) ({weighed})"


def episodes(where: str, by: str = "instance, kind, name, dimension") -> str:
    """What marks throttled episodes on every panel of a board."""
    return f"max by ({by}) (ioplateau_budget_throttled{{{where}}}) == 1"


def link_to_vm() -> Json:
    """From any series of an instance to its VM."""
    return to("vm", "This VM", instance=label("instance"))


def time_throttled(where: str, text: str) -> Json:
    return stat(
        "Time throttled",
        text,
        "s",
        target(
            f"max(increase(ioplateau_budget_throttled_seconds_total{{{where}}}[$__range]))", "time"
        ),
        no_value="no limit is known",
    )


def burst_credit(where: str, legend: str, text: str, no_credit: str) -> Json:
    """A row: the credit that is left, and for how long it lasts."""
    return row(
        "Burst credit",
        timeseries(
            "Burst credit left",
            f"Share of the credit that is left. {text}",
            "percentunit",
            target(f"ioplateau_budget_burst_credit_ratio{{{where}}}", legend),
            thresholds=credit_thresholds(),
            no_value=no_credit,
        ),
        timeseries(
            "Time until the credit is used up",
            "At the present rate; no line while the credit is not being used up, or lasts for hours.",
            "s",
            target(f"ioplateau_budget_burst_exhaustion_seconds{{{where}}}", legend),
            highest=3600,
            no_value="no credit is being used up",
        ),
    )


def share_columns() -> list[Json]:
    """Columns of a table: how near to a limit now, at most, and for how long at it."""
    return [
        column("Share of limit now", "percentunit", thresholds=share_thresholds(), key="A"),
        column("Highest", "percentunit", thresholds=share_thresholds(), key="B"),
        column("Time at a limit", "s", key="C"),
    ]


def shares(by: str, where: str) -> list[Json]:
    """The queries of `share_columns`, one row for each of these labels."""
    return [
        target(f"max by ({by}) (ioplateau_budget_utilization_ratio{{{where}}})"),
        target(
            f"max by ({by}) (max_over_time("
            f"ioplateau_budget_peak_utilization_ratio{{{where}}}[$__range]))"
        ),
        target(
            f"max by ({by}) (increase("
            f"ioplateau_budget_throttled_seconds_total{{{where}}}[$__range]))"
        ),
    ]
