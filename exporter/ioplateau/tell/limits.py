"""`ioplateau limits` in words and as JSON: every budget's limit with its origin, or a what-if."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ioplateau.limits.budgets import Budget, Direction, Kind, Limit
from ioplateau.limits.units import MB, rate
from ioplateau.limits.whatif import (
    HITS,
    NONE,
    Binding,
    SizeRange,
    WhatIfAnswer,
    WhatIfCase,
    every,
    size_ranges,
)
from ioplateau.tell import cells, formatting

if TYPE_CHECKING:
    from ioplateau.limits.volumes.whatif import VolumeCase, VolumeSizeRange

C = TypeVar("C", bound="WhatIfCase | VolumeCase")
S = TypeVar("S", bound="SizeRange | VolumeSizeRange")

TITLE = 20  # columns for what a limit is of, the least
MBS = "MB are 10^6 bytes"
MIBS = "where the documents mean MiB, throughput is up to 4.9 % more"
CACHE = {
    HITS: "reads, all answered by the host's cache",
    "misses": "reads that miss the host's cache, and writes through it",
    NONE: "reads and writes",
}


def render(found: WhatIfAnswer) -> str:
    """The answer as text, for a terminal."""
    question = found.question
    titles = [(title, limits) for _, title, limits in question.shared()]
    disks = Counter((disk.title, disk.limits) for disk in question.disks)
    titles += [
        (f"{count} x {title}" if count > 1 else title, limits)
        for (title, limits), count in disks.items()
    ]
    width = max((len(title) + 2 for title, _ in titles), default=0)
    lines = [question.vm_size]
    lines += [f"  {title:<{max(width, TITLE)}}{_sold(limits)}" for title, limits in titles]
    answers: dict[tuple[str, ...], list[str]] = {}
    for cache_outcome, direction in _ways(found):
        parts = [f"  {words}" for words in _size_range_lines(found, cache_outcome, direction)]
        answer = (cache_outcome, *parts, "", *_table(found, cache_outcome, direction))
        ways = f"{direction}s" if direction is not Direction.TOTAL else CACHE[cache_outcome]
        answers.setdefault(answer, []).append(ways)
    for (_, *answer_lines), asked in answers.items():
        lines += ["", f"{' or '.join(asked)}, first to bind:", *answer_lines]
    # Whose documents leave it open, has a tolerance for it.
    is_open = any(limit.tolerance for limit in every(question))
    lines += ["", f"{MBS}; {MIBS}." if is_open else f"{MBS}."]
    lines += [f"note: {notice}" for notice in question.notices]
    return _text(lines)


def _text(lines: Iterable[str]) -> str:
    return "\n".join(map(formatting.printable, lines)) + "\n"


def as_json(found: WhatIfAnswer) -> dict[str, Any]:
    """The answer as one JSON object; rates per second, bytes as bytes."""
    question = found.question
    return {
        "vm_size": question.vm_size,
        "lanes": [
            {"kind": str(key.kind), "title": title, "limits": [*map(limit_json, limits)]}
            for key, title, limits in question.shared()
        ],
        "disks": [
            {"name": disk.name, "title": disk.title, "limits": [*map(limit_json, disk.limits)]}
            for disk in question.disks
        ],
        "first": [
            {
                "cache": cache_outcome,
                "direction": str(direction),
                "request_bytes": [part.first_bytes, part.last_bytes],
                "bindings": [*map(_binding, part.bindings)],
            }
            for cache_outcome, direction in _ways(found)
            for part in size_ranges(question, cache_outcome, direction)
        ],
        "cases": [_case(case) for case in found.cases],
        "notices": list(question.notices),
    }


def _ways(found: WhatIfAnswer) -> Iterable[tuple[str, Direction]]:
    """What becomes of a request at the host's cache, and whether it reads or writes, of each case once."""
    return dict.fromkeys((case.cache, case.direction) for case in found.cases)


def _sold(limits: Iterable[Limit]) -> str:
    return ", ".join(_figures(limit) for limit in limits) or "not documented"


def _figures(limit: Limit) -> str:
    burst = f" (burst {_rate(limit, limit.burst.rate)})" if limit.burst is not None else ""
    way = "" if limit.direction is Direction.TOTAL else f" {limit.direction}"
    return f"{_rate(limit, limit.value)}{way}{burst}"


def _rate(limit: Limit | Binding, value: float) -> str:
    return rate(value, limit.dimension, ".4g" if value < 1000 * MB else ".0f")


def _size_range_lines(found: WhatIfAnswer, cache_outcome: str, direction: Direction) -> list[str]:
    parts = size_ranges(found.question, cache_outcome, direction)
    is_open = any(c.operations_per_second is None for c in found.cases if c.cache == cache_outcome)
    # What holds the other disks is not all that may bind.
    more = [_unknown(found, cache_outcome)] if is_open else []
    words = []
    for part in parts:
        bound = [_bound(part.bindings)] if part.bindings or not more else []
        words.append(f"{size_words(part, parts)}: {' and '.join((*bound, *more))}")
    return words


def _unknown(found: WhatIfAnswer, cache_outcome: str) -> str:
    is_cache = cache_outcome == HITS and Kind.VM_CACHED not in found.question.lanes
    return f"{'the host cache' if is_cache else 'a disk'}, of which no limit is known"


def size_words(part: S, parts: Sequence[S]) -> str:
    """For which requests one of all parts holds: "requests up to 8 KiB"."""
    low, high = size_text(part.first_bytes), size_text(part.last_bytes)
    if len(parts) == 1:
        return "at every request size"
    if part is parts[0]:
        return f"requests up to {high}"
    return f"requests from {low}" if part is parts[-1] else f"requests of {low} to {high}"


def size_text(size: int) -> str:
    """Bytes for people: "8 KiB". One range of sizes ends half a KiB below the next."""
    if size < 1024:
        return f"{size} B"
    half_kib = round(size / 512)
    if half_kib % 2048 == 0:
        return f"{half_kib // 2048} MiB"
    kib = f"{size / 1024:,.4g}" if size < 1000 * 1024 else f"{half_kib / 2:,.1f}".removesuffix(".0")
    return f"{kib} KiB"


def _bound(bindings: Sequence[Binding]) -> str:
    if not bindings:
        return "no known limit"
    return " and ".join(
        (f"each of {bound.count} " if bound.count > 1 else "")
        + f"{bound.title}, {_rate(bound, bound.value)}"
        for bound in bindings
    )


def _table(found: WhatIfAnswer, cache_outcome: str, direction: Direction) -> list[str]:
    head = ("request", "IOPS", "MB/s", "bound by", "in burst: IOPS", "MB/s", "bound by")
    way = (cache_outcome, direction)
    cases = [case for case in found.cases if (case.cache, case.direction) == way]
    unknown = _unknown(found, cache_outcome)
    return cases_table(head, cases, lambda case: _cells(case, unknown))


def cases_table(
    head: tuple[str, ...], cases: Sequence[C], tell: Callable[[C], tuple[str, str, str]]
) -> list[str]:
    """A line for each request size; what is done in burst, where anything bursts, stands beside it."""
    rows = [head]
    bursts = {case.request_bytes: case for case in cases if case.burst}
    for case in cases:
        if not case.burst:
            burst = bursts.get(case.request_bytes)
            more = tell(burst) if burst is not None else ("", "", "")
            rows.append((size_text(case.request_bytes), *tell(case), *more))
    shown = 7 if bursts else 4
    return cells.aligned([row[:shown] for row in rows], {1, 2, 4, 5})


def _cells(case: WhatIfCase, unknown: str) -> tuple[str, str, str]:
    if case.operations_per_second is None or case.bytes_per_second is None:
        return "?", "?", unknown
    operations, data = case.operations_per_second, case.bytes_per_second / MB
    return f"{operations:,.0f}", f"{data:,.1f}", _bound(case.bindings)


def _case(case: WhatIfCase) -> dict[str, Any]:
    data = case.bytes_per_second
    return {
        "request_bytes": case.request_bytes,
        "cache": case.cache,
        "direction": str(case.direction),
        "burst": case.burst,
        "operations_per_second": _round(case.operations_per_second),
        "bytes_per_second": _round(data),
        "megabytes_per_second": None if data is None else round(data / MB, 3),
        "operations_per_second_if_mebibytes": _round(case.operations_per_second_if_mebibytes),
        "bindings": [_binding(bound) for bound in case.bindings],
        "disks": [
            {
                "name": share.disk,
                "title": share.title,
                "operations_per_second": _round(share.operations_per_second),
                "bytes_per_second": _round(share.bytes_per_second),
                "bound_by": None if share.binding is None else share.binding.title,
            }
            for share in case.shares
        ],
    }


def _round(value: float | None) -> float | None:
    return None if value is None or value == float("inf") else round(value, 3)


def _binding(bound: Binding) -> dict[str, Any]:
    return {
        "kind": str(bound.budget.kind),
        "name": bound.budget.name,
        "title": bound.title,
        "dimension": str(bound.dimension),
        "limit": bound.value,
        "count": bound.count,
    }


def limit_json(limit: Limit) -> dict[str, Any]:
    """One limit as JSON values."""
    burst = limit.burst
    return {
        "dimension": str(limit.dimension),
        "direction": str(limit.direction),
        "limit": limit.value,
        "origin": str(limit.origin),
        "source": limit.source,
        "burst": None if burst is None else {"rate": burst.rate, "bucket": burst.bucket},
        "tolerance": limit.tolerance,
    }


def budgets_text(
    budgets: Iterable[Budget], notices: Iterable[str] = (), unseen: Sequence[str] = ()
) -> str:
    """Every budget with its limits, where they come from, and what was rejected.

    unseen: what cannot be seen, a sentence each; it comes first.
    """
    head = ("BUDGET", "LIMIT", "DIRECTION", "ORIGIN", "SOURCE", "DRAWN ON BY")
    rows: list[tuple[str, ...]] = [head]
    after: dict[int, list[str]] = {}
    for budget in budgets:
        name = formatting.budget(budget.key, budget.lane) + formatting.mapper(budget.info)
        members = " ".join(member.name for member in budget.members)
        if not budget.limits:
            rows.append((name, "unknown", "", "", "", members))
        for limit in budget.limits:
            rows.append(
                (name, _figures(limit), limit.direction, limit.origin, limit.source, members)
            )
            name = members = ""
        after[len(rows) - 1] = [f"    not {_figures(lost)}: {why}" for lost, why in budget.rejected]
    lines = cells.aligned(rows)
    shown = [line for place, row in enumerate(lines) for line in (row, *after.get(place, ()))]
    if len(shown) == 1:
        shown = [] if unseen else ["no disk, NFS mount or interface with a budget was found"]
    return _text([*unseen, *shown, *(f"note: {notice}" for notice in notices)])


def budgets_json(
    budgets: Iterable[Budget], notices: Iterable[str] = (), unseen: Sequence[str] = ()
) -> dict[str, Any]:
    """The same as one JSON object."""
    return {
        "budgets": [
            {
                "kind": str(budget.key.kind),
                "name": budget.key.name,
                "limits": [limit_json(limit) for limit in budget.limits],
                "rejected": [limit_json(lost) | {"why": why} for lost, why in budget.rejected],
                "members": [{"kind": m.kind, "name": m.name} for m in budget.members],
                "parents": [{"kind": str(p.kind), "name": p.name} for p in budget.parents],
                "info": dict(budget.info),
            }
            for budget in budgets
        ],
        "notices": list(notices),
        "unseen": list(unseen),
    }
