"""Metrics are tables of rows: a row says all about one metric, a table what its rows are told of.

Names and labels are a contract with dashboards and alerts: what a person does with them is in
docs/metrics.md, which is made from these tables. Conventions:
https://prometheus.io/docs/practices/naming/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from ioplateau.state import State

V = TypeVar("V")
T = TypeVar("T")

Type: TypeAlias = Literal["counter", "gauge", "info", "histogram"]
Labels: TypeAlias = tuple[str, ...]

UNITS = (
    *("operations_per_second", "requests_per_second", "bytes_per_second"),
    *("seconds", "bytes", "ratio"),
)


class Histogram:
    """What a histogram row's value is: counts are cumulative, one for each bound, then in all."""

    __slots__ = ("bounds", "count", "counts", "total")

    def __init__(
        self, bounds: Sequence[float], counts: Sequence[int], count: int, total: float
    ) -> None:
        self.bounds = bounds
        self.counts = counts
        self.count = count
        self.total = total


class MetricRow(NamedTuple, Generic[T]):
    """One metric.

    name: as dashboards write it, without the table's prefix. value: in the unit the name ends
    in; None where nothing is known, which has no sample.
    """

    name: str
    type: Type
    help: str
    value: Callable[[T], float | Histogram | None]

    @property
    def family(self) -> str:
        """The name without what the type adds to it."""
        return self.name.removesuffix("_total" if self.type == "counter" else "_info")

    @property
    def unit(self) -> str:
        """The base unit that the name ends in; "" for plain numbers."""
        return next((unit for unit in UNITS if self.family.endswith(f"_{unit}")), "")


class Scene(NamedTuple):
    """What one rendering looks at."""

    state: State
    itself: Any = None  # metrics_self.SelfStats; None in a replay, which is no daemon
    per_connection: bool = False


class MetricTable(NamedTuple, Generic[V, T]):
    """Rows over one kind of object.

    views: the objects, with what is worth computing once for several tables.
    things: what of a view the rows are told of, each with its label values.
    basis: objects that decide what the rows say of a view; while they are the same objects, so
    is what was said. None: the things themselves are compared.
    """

    title: str
    labels: Labels
    views: Callable[[Scene], Iterable[V]]
    things: Callable[[V], Iterable[tuple[Labels, T]]]
    rows: tuple[MetricRow[T], ...]
    prefix: str = "ioplateau_"
    basis: Callable[[V], Sequence[object]] | None = None


def counter(name: str, text: str, value: Callable[[T], float | None]) -> MetricRow[T]:
    """Only grows, or starts again from zero: what must survive a missed scrape."""
    return MetricRow(name, "counter", text, value)


def gauge(name: str, text: str, value: Callable[[T], float | None]) -> MetricRow[T]:
    """Goes up and down."""
    return MetricRow(name, "gauge", text, value)


def info(name: str, text: str) -> MetricRow[T]:
    """Always 1: what it tells stands in its labels."""
    return MetricRow(name, "info", text, lambda _: 1)


def histogram(name: str, text: str, value: Callable[[T], Histogram]) -> MetricRow[T]:
    """How often how much."""
    return MetricRow(name, "histogram", text, value)


def from_micro(microseconds: int | None) -> float | None:
    """Seconds; unknown stays unknown."""
    return None if microseconds is None else microseconds / 1e6


def text(value: object) -> str:
    """A label value; unknown is empty, which Prometheus takes for no label."""
    return "" if value is None else str(value)
