"""The exposition as prometheus_client itself would write it, from the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from prometheus_client import Metric
from prometheus_client.registry import Collector

from ioplateau.tell.formatting import valid
from ioplateau.tell.prometheus import _buckets, _family, _tables
from ioplateau.tell.rows import Histogram, Labels, MetricRow, Scene


class StateCollector(Collector):
    """The same families for a prometheus_client registry; `scene` is asked at each collection."""

    def __init__(self, scene: Callable[[], Scene]) -> None:
        self._scene = scene

    def collect(self) -> Iterator[Metric]:
        for table, views in _tables(self._scene()):
            distinct: dict[Labels, Any] = {}
            for values, thing in chain.from_iterable(map(table.things, views)):
                distinct.setdefault(tuple(map(valid, values)), thing)
            for row in table.rows:
                family = _family(table, row)
                for values, thing in distinct.items():
                    labels = dict(zip(table.labels, values, strict=True))
                    _add(family, row, labels, row.value(thing))
                if family.samples:
                    yield family


def _add(family: Metric, row: MetricRow[Any], labels: dict[str, str], value: Any) -> None:
    if isinstance(value, Histogram):
        for suffix, bucket, number in _buckets(value):
            le = {"le": bucket[5:-2]} if bucket else {}
            family.add_sample(family.name + suffix, le, number)
    elif value is not None:
        suffix = row.name.removeprefix(row.family)
        family.add_sample(family.name + suffix, labels, value)
