"""Metrics are tables of rows: a row says all about one metric, a table what its rows are told of.

Names and labels are a contract with dashboards and alerts: what a person does with them is in
docs/metrics.md, which is made from these tables. Conventions:
https://prometheus.io/docs/practices/naming/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from ioplateau.state import State

V = TypeVar("V")
T = TypeVar("T")

Type: TypeAlias = Literal["counter", "gauge", "info", "histogram"]
Labels: TypeAlias = tuple[str, ...]

# Longest suffix first: "_bytes_per_second" ends in "_second" too.
UNITS: tuple[tuple[str, str], ...] = (
    ("_operations_per_second", "operations_per_second"),
    ("_requests_per_second", "requests_per_second"),
    ("_bytes_per_second", "bytes_per_second"),
    ("_seconds", "seconds"),
    ("_bytes", "bytes"),
    ("_ratio", "ratio"),
)


@dataclass(frozen=True, slots=True)
class Histogram:
    """What a histogram row's value is: counts are cumulative, one for each bound, then in all."""

    bounds: Sequence[float]
    counts: Sequence[int]
    count: int
    total: float


@dataclass(frozen=True, slots=True, eq=False)
class Row(Generic[T]):
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
        return next((unit for suffix, unit in UNITS if self.family.endswith(suffix)), "")


@dataclass(frozen=True, slots=True)
class Scene:
    """What one rendering looks at."""

    state: State
    itself: Any = None  # metrics_self.SelfStats; None in a replay, which is no daemon
    per_connection: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Table(Generic[V, T]):
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
    rows: tuple[Row[T], ...]
    prefix: str = "ioplateau_"
    basis: Callable[[V], Sequence[object]] | None = None


def counter(name: str, text: str, value: Callable[[T], float | None]) -> Row[T]:
    """Only grows, or starts again from zero: what must survive a missed scrape."""
    return Row(name, "counter", text, value)


def gauge(name: str, text: str, value: Callable[[T], float | None]) -> Row[T]:
    """Goes up and down."""
    return Row(name, "gauge", text, value)


def info(name: str, text: str) -> Row[T]:
    """Always 1: its labels are the news."""
    return Row(name, "info", text, lambda _: 1)


def histogram(name: str, text: str, value: Callable[[T], Histogram]) -> Row[T]:
    """How often how much."""
    return Row(name, "histogram", text, value)


def text(value: object) -> str:
    """A label value; unknown is empty, which Prometheus takes for no label."""
    return "" if value is None else str(value)
