"""docs/metrics.md, written from the tables: python -m ioplateau.tell.reference > docs/metrics.md."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ioplateau.limits.budgets import Dimension, Direction, Kind, Origin, Word
from ioplateau.tell.prometheus import TABLES
from ioplateau.tell.rows import MetricRow, MetricTable

HEAD = """\
# Metrics

Everything `/metrics` tells. This page is made from the tables in `exporter/ioplateau/tell/`;
`python -m ioplateau.tell.reference` writes it anew.

Units are base units and stand in the name: seconds, bytes, ratios from 0 to 1. Names that end in
`_total` only grow, so a missed scrape loses nothing; the other numbers are of the last tick or a
mean over the rate window (15 s by default, so that usual scrapes leave no time out). What is not
known has no sample: an absent series is not zero.

Throttled seconds and episodes go on after a clean end, with a state directory (`state.directory`). After a kill or a
power cut they begin at 0.

`mount`, and the `name` of an NFS budget, is the point at which we first saw the file system mounted (of a
client's budget: the first of its file systems), with `#2` where another has that name; of a PersistentVolume that
kubelet mounts for pods its name, of a second one of that name the mount point. It stays as long as
the file system or the client does, whichever mount points come and go; `ioplateau_nfs_mount_point_info`
tells where a file system is mounted now.

| Label | Its values |
| --- | --- |
"""
AFTER_VALUES = """
In `ioplateau_budget_info` `origin` has those of all limits of the budget, with commas between them.
An empty label is one of which nothing is known.
"""
# Labels whose values are words of ours; what verdicts mean stands in how-it-decides.md.
VALUES = {
    "kind": Kind,
    "dimension": Dimension,
    "direction": Direction,
    "origin": Origin,
    "verdict": Word,
}


def text() -> str:
    """The page."""
    values = "".join(_values(label, words) for label, words in VALUES.items())
    return (
        HEAD + values + AFTER_VALUES + "".join(part for table in TABLES for part in _section(table))
    )


def _values(label: str, words: Iterable[str]) -> str:
    return f"| `{label}` | {', '.join(f'`{word}`' for word in words)} |\n"


def _section(table: MetricTable[Any, Any]) -> Iterator[str]:
    yield f"\n## {table.title}\n\n"
    labels = ", ".join(f"`{label}`" for label in table.labels)
    yield f"Labels: {labels}\n\n" if labels else "No labels.\n\n"
    yield "| Metric | Type | Unit | What it says |\n| --- | --- | --- | --- |\n"
    for row in table.rows:
        yield _line(table.prefix, row)


def _line(prefix: str, row: MetricRow[Any]) -> str:
    unit = row.unit.replace("_per_second", "/s")
    return f"| `{prefix}{row.name}` | {row.type} | {unit} | {row.help} |\n"


if __name__ == "__main__":
    sys.stdout.write(text())
