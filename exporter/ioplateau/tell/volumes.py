"""`ioplateau limits --volume`: what would bind first on a file service, in words and as JSON.

Throughput is shown in the unit of the document: some have MB/s (10^6 bytes), some MiB/s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ioplateau.limits.budgets import Dimension
from ioplateau.limits.tables import catalogue_date
from ioplateau.limits.units import MIB
from ioplateau.limits.volumes.ceiling import VolumeCeiling
from ioplateau.limits.volumes.whatif import (
    VolumeAnswer,
    VolumeCase,
    size_ranges,
)
from ioplateau.tell import cells
from ioplateau.tell.limits import cases_table, size_words


def render(found: VolumeAnswer) -> str:
    """The answer as text, for a terminal."""
    question = found.question
    client = f" from {question.vm_size}" if question.vm_size else ""
    way = f", nconnect {question.connections}" if question.connections > 1 else ""
    lines = [f"{question.title}{client}{way}"]
    rows = [(each.title, _figures(each), _origin(each)) for each in question.ceilings]
    lines += [f"  {row}" for row in cells.aligned(rows)]
    for share, memory in _mixes(found):
        lines += [
            "",
            f"{_mix(share, from_memory=memory, split=question.has_memory)}, first to bind:",
        ]
        parts = size_ranges(question, share, from_memory=memory)
        lines += [f"  {size_words(part, parts)}: {_titles(part.bindings)}" for part in parts]
        lines += ["", *_table(found, share, from_memory=memory)]
    return "\n".join([*lines, "", *(f"note: {notice}" for notice in question.notices)]) + "\n"


def as_json(found: VolumeAnswer) -> dict[str, Any]:
    """The answer as one JSON object; rates per second, bytes as bytes."""
    question = found.question
    return {
        "volume": question.title,
        "vm_size": question.vm_size,
        "connections": question.connections,
        "ceilings": [_ceiling(each) for each in question.ceilings],
        "first": [
            {
                "read_share": share,
                "from_memory": memory,
                "request_bytes": [part.first_bytes, part.last_bytes],
                "bindings": [each.title for each in part.bindings],
            }
            for share, memory in _mixes(found)
            for part in size_ranges(question, share, from_memory=memory)
        ],
        "cases": [
            {
                "request_bytes": case.request_bytes,
                "read_share": case.read_share,
                "from_memory": case.from_memory,
                "burst": case.burst,
                "operations_per_second": _round(case.operations_per_second),
                "bytes_per_second": _round(case.bytes_per_second),
                "bindings": [each.title for each in case.bindings],
            }
            for case in found.cases
        ],
        "notices": list(question.notices),
    }


def _mixes(found: VolumeAnswer) -> Iterable[tuple[float, bool]]:
    """The share of reads, and whether they come from the server's memory, of each case once."""
    return dict.fromkeys((case.read_share, case.from_memory) for case in found.cases)


def _mix(share: float, *, from_memory: bool, split: bool) -> str:
    if share == 0:
        return "writes"
    words = "reads" if share == 1 else f"{share * 100:g} % reads, {(1 - share) * 100:g} % writes"
    if not split:
        return words
    return f"{words}; reads {'from' if from_memory else 'past'} the server's memory"


def _table(found: VolumeAnswer, share: float, *, from_memory: bool) -> list[str]:
    unit_bytes = found.question.unit_bytes
    unit = _unit(unit_bytes)
    head = ("request", "operations/s", unit, "bound by", "in burst: ops/s", unit, "bound by")
    mine = [c for c in found.cases if (c.read_share, c.from_memory) == (share, from_memory)]
    return cases_table(head, mine, lambda case: _cells(case, unit_bytes))


def _cells(case: VolumeCase, unit_bytes: float) -> tuple[str, str, str]:
    if case.operations_per_second is None or case.bytes_per_second is None:
        return "?", "?", "nothing that is known"
    rate = f"{case.bytes_per_second / unit_bytes:,.1f}"
    return f"{case.operations_per_second:,.0f}", rate, _titles(case.bindings)


def _titles(bindings: Iterable[VolumeCeiling]) -> str:
    words = [
        f"{each.title} ({'operations' if each.dimension is Dimension.IOPS else 'bytes'})"
        for each in bindings
    ]
    return " and ".join(dict.fromkeys(words)) or "nothing that is known"


def _figures(ceiling: VolumeCeiling) -> str:
    about = "about " if ceiling.is_measured else ""
    burst = "" if ceiling.burst is None else f" (burst {_rate(ceiling, ceiling.burst)})"
    if not ceiling.write:
        return f"{about}{_rate(ceiling, ceiling.value / ceiling.read)} of reads{burst}"
    if not ceiling.read:
        return f"{about}{_rate(ceiling, ceiling.value / ceiling.write)} of writes{burst}"
    if ceiling.read == ceiling.write:
        return f"{about}{_rate(ceiling, ceiling.value)} in all{burst}"
    reads, writes = ceiling.value / ceiling.read, ceiling.value / ceiling.write
    return f"{about}{_rate(ceiling, reads)} of reads or {_rate(ceiling, writes)} of writes{burst}"


def _rate(ceiling: VolumeCeiling, value: float) -> str:
    if ceiling.dimension is Dimension.IOPS:
        return f"{value:,.0f} operations/s"
    data = value / ceiling.unit_bytes
    shown = f"{data:,.0f}" if data >= 100 else f"{data:,.4g}"
    return f"{shown} {_unit(ceiling.unit_bytes)}"


def _unit(size: float) -> str:
    return "MiB/s" if size == MIB else "MB/s"


def _origin(ceiling: VolumeCeiling) -> str:
    date = ceiling.date or catalogue_date(ceiling.source)
    if date:
        return f"of {date[:7]}"
    return "of a document without a date" if "/" in ceiling.source else ceiling.source


def _ceiling(each: VolumeCeiling) -> dict[str, Any]:
    return {
        "title": each.title,
        "kind": str(each.kind),
        "dimension": str(each.dimension),
        "limit": each.value,
        "read_weight": each.read,
        "write_weight": each.write,
        "burst": each.burst,
        "measured": each.is_measured,
        "source": each.source,
        "date": each.date,
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
