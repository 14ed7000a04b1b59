"""What several boards show in the same way: verdicts, burst credit, time at a limit."""

from collections.abc import Mapping

from boards.style import (
    Json,
    bands,
    column,
    credit_thresholds,
    label,
    row,
    share_thresholds,
    stat,
    target,
    time_thresholds,
    timeseries,
    to,
)
from ioplateau.limits.budgets import Kind, Word
from ioplateau.tell import formatting

RATE = "[$__rate_interval]"
COLOURS: Mapping[Word, str] = {
    Word.IDLE: "transparent",
    Word.HEALTHY: "green",
    Word.APP_LIMITED: "blue",
    Word.LATENCY_BOUND: "purple",
    Word.AFFECTED: "yellow",
    Word.SATURATED: "orange",
    Word.THROTTLED: "red",
    Word.STALLED: "dark-red",
    Word.UNKNOWN: "text",
}
# 0 is what is left when a store was told to drop the verdicts of the ordinary day.
WORDS: Mapping[int, tuple[str, str]] = {0: ("not kept", "transparent")} | {
    number: (formatting.WORDS[word], color)
    for number, (word, color) in enumerate(COLOURS.items(), 1)
}
KINDS: Mapping[str, tuple[str, str]] = {
    str(kind): (words, "") for kind, words in formatting.KINDS.items()
}

# What a person can do, in the words of the alerts: steps with figures are on the VM's own page.
_DISK = "A larger or faster disk, or less I/O, lifts it"
_VM = "A larger VM size lifts it (on Azure host caching, too), a faster disk does not"
_SLOTS = (
    "NFSv3 and v4.0: more RPC slots or connections (nconnect) lift it; v4.1 and newer: more session "
    "slots (nfs.max_session_slots), as far as the server gives them"
)
LIFTS: Mapping[str, tuple[str, str]] = {
    Kind.DISK: (_DISK, ""),
    Kind.STRIPE: (_DISK, ""),
    Kind.VM_UNCACHED: (_VM, ""),
    Kind.VM_ULTRA: (_VM, ""),
    Kind.VM_CACHED: ("A larger VM size or caching fewer disks lifts it", ""),
    Kind.VM_NETWORK: (
        "A larger VM size or less traffic lifts it; NFS writes go over it too",
        "",
    ),
    Kind.VOLUME: (
        "More quota or a higher service level of the volume lifts it, or less I/O of any of its clients",
        "",
    ),
    Kind.NFS_SLOTS: (_SLOTS, ""),
    Kind.NFS_CONNECTION: ("More connections (nconnect) lift it", ""),
    Kind.CGROUP: (
        "Its own block limit (io.max) on this machine lifts it, no size of disk or VM does",
        "",
    ),
}


def verdict_bands(what: str, where: str, legend: str, w: int = 24) -> Json:
    """Bands of the verdicts of a few budgets; what: a sentence more on them."""
    weighed = " or ".join(
        f'{number} * ioplateau_budget_verdict{{{where},verdict="{word}"}}'
        for number, word in enumerate(COLOURS, 1)
    )
    return bands(
        "Verdict",
        f"What was concluded. {what}",
        target(f"sum without (verdict) ({weighed})", legend),
        otherwise(
            "no verdict in this range",
            f"count_over_time(ioplateau_budget_verdict{{{where}}}[$__range] @ end())",
        ),
        values=WORDS,
        w=w,
        h=4,
    )


def throttled_bands(
    title: str, what: str, where: str, legend: str, w: int = 24, h: int = 4
) -> Json:
    """Bands of the limits that held requests back in the range, and of no others."""
    once = f"max_over_time(ioplateau_budget_throttled{{{where}}}[$__range] @ end()) == 1"
    return bands(
        title,
        what,
        target(f"{held_back(f'ioplateau_budget_throttled{{{where}}}')} and ({once})", legend),
        otherwise("nothing was throttled in this range", once),
        w=w,
        h=h,
    )


def held_back(series: str) -> str:
    """Its highest since the step before: over days a step is longer than most of what happens.

    Where a step has no sample it is the last one; "+ 0" since a line with the metric's name would be another.
    """
    return f"(max_over_time({series}[$__interval]) or {series} + 0)"


def counted(series: str) -> Json:
    """How many of these are 1; nothing where there are none of them: 0 would be a claim that nobody checked."""
    return target(f"count({series} == 1) or 0 * count({series})", "count")


def otherwise(words: str, something: str) -> Json:
    """A line with these words where an expression has nothing."""
    return target(f"vector(0) unless on () ({something})", words)


def link_to_vm() -> Json:
    """From any series of an instance to its VM."""
    return to("vm", "This VM", instance=label("instance"))


def seconds_throttled(where: str) -> str:
    """For how long each budget was held in the range: of its limits at most one holds at a time."""
    return (
        "sum without (dimension, direction) ("
        f"increase(ioplateau_budget_throttled_seconds_total{{{where}}}[$__range]))"
    )


def time_throttled(where: str, text: str) -> Json:
    return stat(
        "Time throttled",
        f"{text} Yellow from a minute on, red from seven and a half: where the alerts begin.",
        "s",
        target(f"max({seconds_throttled(where)})", "time"),
        thresholds=time_thresholds(),
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
        column("Time throttled", "s", thresholds=time_thresholds(), key="C"),
    ]


def shares(by: str, where: str) -> list[Json]:
    """The queries of `share_columns`, one row for each of these labels."""
    return [
        target(f"max by ({by}) (ioplateau_budget_utilization_ratio{{{where}}})"),
        target(
            f"max by ({by}) (max_over_time("
            f"ioplateau_budget_peak_utilization_ratio{{{where}}}[$__range]))"
        ),
        target(f"max by ({by}) ({seconds_throttled(where)})"),
    ]
