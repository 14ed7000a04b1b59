"""The state as an exposition, in the text format and in OpenMetrics.

The only file that imports prometheus_client, without the servers in it: it writes the heads of
families and numbers, and says what is valid. Samples are joined here, with one label set
for all rows of a table, and those of a quiet disk or mount are taken over from the last scrape, all
of them at once: 1 us a series instead of 7. The tests hold the result to the library's own
generate_latest(), byte for byte.

Formats: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from operator import is_, itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

from ioplateau import libraries
from ioplateau.measure import native
from ioplateau.state import State
from ioplateau.tell import (
    metrics_budget,
    metrics_client,
    metrics_disk,
    metrics_machine,
    metrics_nfs,
    metrics_self,
)
from ioplateau.tell.formatting import valid
from ioplateau.tell.metrics_self import SelfStats
from ioplateau.tell.rows import Histogram, Labels, MetricRow, MetricTable, Scene

TABLES: tuple[MetricTable[Any, Any], ...] = (
    *metrics_budget.TABLES,
    *metrics_disk.TABLES,
    *metrics_nfs.TABLES,
    *metrics_client.TABLES,
    *metrics_machine.TABLES,
    *metrics_self.TABLES,
)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
# What is written, by the type and version that are asked for. Our names are those that the escaping
# "underscores" leaves as they are, whatever escaping is asked for.
CONTENT_TYPES: Mapping[tuple[str, str], str] = {
    ("application/openmetrics-text", ""):
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
    ("application/openmetrics-text", "1.0.0"):
        "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
    ("text/plain", ""): TEXT,
    ("text/plain", "0.0.4"): TEXT,
    ("text/plain", "1.0.0"): "text/plain; version=1.0.0; charset=utf-8; escaping=underscores",
    ("text/*", ""): TEXT,
    ("*/*", ""): TEXT,
}  # fmt: skip

# What was told last time, by table; one for each view.
Memo: TypeAlias = dict[str, "RenderedTable"]


def _library() -> tuple[Any, ...]:
    from prometheus_client.exposition import generate_latest
    from prometheus_client.metrics_core import Metric
    from prometheus_client.openmetrics import exposition as openmetrics
    from prometheus_client.utils import floatToGoString

    return generate_latest, openmetrics.generate_latest, Metric, floatToGoString


# 8 MiB of an HTTP server, TLS and mail come with them.
_ITS_SERVERS = ("http.server", "ssl", "urllib.error", "urllib.request", "wsgiref.simple_server")
_library_number: Callable[[float], str]
generate_latest, generate_openmetrics, Metric, _library_number = libraries.part(
    "prometheus_client", _library, without=_ITS_SERVERS
)


class Twin(Protocol):
    """What _samples.c offers."""

    def columns(
        self,
        names: tuple[str, ...],
        labels: list[str],
        values: list[list[Any]],
        spell: Callable[[float], str],
        /,
    ) -> Sequence[bytes] | None:
        """What `_columns` gives; None: some value is no number. spell: for those it does not."""


twin: Twin | None = native.built("ioplateau.tell._samples")


class ScrapeAnswer(NamedTuple):
    """What a scraper gets."""

    body: bytes
    content_type: str
    content_encoding: str  # "gzip" or ""


class Measures(NamedTuple):
    """The rows of a table: their names in full, and what the value of each is."""

    names: tuple[str, ...]
    values: Sequence[Callable[[Any], Any]]


class RenderedView(NamedTuple):
    """All samples of one view in one table."""

    basis: Sequence[Any]  # what they follow from
    values: Sequence[Labels]  # of each thing
    labels: list[str]  # its label set
    columns: Sequence[bytes]  # samples of all things, by row


class RenderedTable(NamedTuple):
    """All views of one table. is_distinct: no two things have the same labels."""

    views: Sequence[RenderedView] = ()
    is_distinct: bool = True


NOTHING_TOLD = RenderedTable()


class Exposition:
    """Answers scrapes: each state is rendered once per format, however many ask.

    itself: asked once per state for the running process. Any thread may call.
    """

    def __init__(
        self, itself: Callable[[], SelfStats] | None = None, *, per_connection: bool = False
    ) -> None:
        self._itself = itself
        self._per_connection = per_connection
        # Scrapers that come together wait for one rendering instead of making one each.
        self._lock = threading.Lock()
        self._scene: Scene | None = None
        self._bodies: dict[tuple[bool, bool], bytes] = {}
        self._memo: Memo = {}

    def answer(
        self, state: State, accept: str = "", accept_encoding: str = "", *, again: bool = False
    ) -> ScrapeAnswer:
        """The exposition of `state` as the Accept and Accept-Encoding headers want it.

        again: render it anew, since the process has changed what it says of itself.
        """
        content_type, openmetrics = negotiate(accept)
        packed = wants_gzip(accept_encoding)
        with self._lock:
            if again:
                self._scene = None
            body = self._body(state, openmetrics=openmetrics, packed=packed)
        return ScrapeAnswer(body, content_type, "gzip" if packed else "")

    def _body(self, state: State, *, openmetrics: bool, packed: bool) -> bytes:
        if self._scene is None or self._scene.state is not state:
            itself = self._itself() if self._itself else None
            self._scene = Scene(state, itself, self._per_connection)
            self._bodies = {}
        body = self._bodies.get((openmetrics, packed))
        if body is None:
            parts = _render(self._scene, self._memo, openmetrics=openmetrics)
            body = _packed(parts) if packed else b"".join(parts)
            self._bodies[openmetrics, packed] = body
        return body


def _packed(parts: Iterable[bytes]) -> bytes:
    """A gzip file of all of it, which is never in memory as a whole."""
    # Against the library's level 9: a fourteenth of the time, a fifth more bytes.
    packer = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return b"".join([*map(packer.compress, parts), packer.flush()])


def render(
    state: State,
    self_stats: SelfStats | None = None,
    *,
    openmetrics: bool = False,
    per_connection: bool = False,
) -> bytes:
    """The exposition of one state; the same state gives the same bytes."""
    parts = _render(Scene(state, self_stats, per_connection), {}, openmetrics=openmetrics)
    return b"".join(parts)


def negotiate(accept: str) -> tuple[str, bool]:
    """The content type to answer with, and whether it is OpenMetrics: what an Accept header wants
    most of what is written, and text where it wants none of that.
    """
    asked = ((name, said.get("version", "")) for name, said in _wanted(accept))
    content_type = next((CONTENT_TYPES[each] for each in asked if each in CONTENT_TYPES), TEXT)
    return content_type, content_type.startswith("application/openmetrics-text")


def wants_gzip(accept_encoding: str) -> bool:
    """Whether gzip stands in an Accept-Encoding header, and not with weight 0."""
    return any(name == "gzip" for name, _ in _wanted(accept_encoding))


def _wanted(header: str) -> list[tuple[str, Mapping[str, str]]]:
    """What an Accept header lists, with its parameters: what weighs most first, weight 0 left out."""
    # The library's choose_encoder() passes weights over, and takes any version for one it writes.
    # https://www.rfc-editor.org/rfc/rfc9110#section-12.4.2
    found: list[tuple[float, str, Mapping[str, str]]] = []
    for each in header.lower().split(","):
        name, *pairs = (part.strip() for part in each.split(";"))
        said = {
            key.strip(): value.strip(' \t"')
            for key, _, value in (pair.partition("=") for pair in pairs)
        }
        found.append((_weight(said.get("q", "1")), name, said))
    found.sort(key=itemgetter(0), reverse=True)
    return [(name, said) for weight, name, said in found if weight > 0]


def _weight(words: str) -> float:
    try:
        return float(words)
    except ValueError:
        return 0.0  # what is no number asks for nothing that we understand


def _render(scene: Scene, memo: Memo, *, openmetrics: bool) -> list[bytes]:
    parts: list[bytes] = []
    for table, views in _tables(scene):
        rendered = _rendered(table, views, memo.get(table.title, NOTHING_TOLD))
        memo[table.title] = rendered  # what is gone is forgotten
        told = rendered.views if rendered.is_distinct else _distinct(table, views)
        columns = zip(*(each.columns for each in told), strict=True)
        for row, column in zip(table.rows, columns, strict=False):
            samples = b"".join(column)
            if samples:
                parts += (_head(table, row, openmetrics=openmetrics), samples)
    if openmetrics:
        parts.append(b"# EOF\n")
    return parts


def _tables(scene: Scene) -> Iterator[tuple[MetricTable[Any, Any], list[Any]]]:
    """Each table with its views, whose things may be none, or two with the same labels."""
    views: dict[Callable[[Scene], Iterable[Any]], list[Any]] = {}
    for table in TABLES:
        if table.views not in views:
            views[table.views] = list(table.views(scene))
        yield table, views[table.views]


def _rendered(
    table: MetricTable[Any, Any], views: Sequence[Any], last: RenderedTable
) -> RenderedTable:
    """Each view with its samples, taken over from the last time where they must be the same:
    most disks and mounts are quiet. A view usually stands where it stood.
    """
    measures = _measures(table)
    padded = chain(last.views, repeat(None))
    found = [_one(table, measures, view, known) for view, known in zip(views, padded, strict=False)]
    if len(found) == len(last.views) and all(map(_has_same_labels, found, last.views)):
        return RenderedTable(found, last.is_distinct)
    return RenderedTable(found, not _has_duplicates(found))


def _has_same_labels(one: RenderedView, other: RenderedView) -> bool:
    return one.labels is other.labels


def _one(
    table: MetricTable[Any, Any], measures: Measures, view: Any, last: RenderedView | None
) -> RenderedView:
    basis: Sequence[Any]
    if table.basis is None:
        basis = things = list(table.things(view))
        if last is not None and last.basis == basis:
            return last
    else:
        basis = table.basis(view)
        if last is not None and len(last.basis) == len(basis) and all(map(is_, last.basis, basis)):
            return last
        things = list(table.things(view))
    values = [each for each, _ in things]
    if last is not None and last.values == values:
        labels = last.labels
    else:
        labels = [_label_set(table.labels, each) for each in values]
    columns = _columns(measures, labels, [thing for _, thing in things])
    return RenderedView(basis, values, labels, columns)


def _has_duplicates(rendered: Sequence[RenderedView]) -> bool:
    labels = list(chain.from_iterable(each.labels for each in rendered))
    return len(set(labels)) < len(labels)


def _distinct(table: MetricTable[Any, Any], views: Iterable[Any]) -> list[RenderedView]:
    """As told, but one duplicate would make Prometheus throw the whole scrape away: the first
    stays.
    """
    measures = _measures(table)
    found: dict[str, Sequence[bytes]] = {}
    for values, thing in chain.from_iterable(map(table.things, views)):
        labels = _label_set(table.labels, values)
        if labels not in found:
            found[labels] = _columns(measures, [labels], [thing])
    return [RenderedView((), (), [], columns) for columns in found.values()]


def _measures(table: MetricTable[Any, Any]) -> Measures:
    names = tuple([table.prefix + row.name for row in table.rows])
    return Measures(names, [row.value for row in table.rows])


def _columns(measures: Measures, labels: list[str], things: Iterable[Any]) -> Sequence[bytes]:
    """For each row the samples of all things; of what is not known there is none."""
    values = [[value(thing) for value in measures.values] for thing in things]
    if twin is not None:
        written = twin.columns(measures.names, labels, values, _number)
        if written is not None:
            return written
    if not values:
        return [b""] * len(measures.names)
    return [
        _column(name, labels, column)
        for name, column in zip(measures.names, zip(*values, strict=True), strict=True)
    ]


def _column(name: str, labels: Sequence[str], values: Sequence[Any]) -> bytes:
    samples = "".join(
        [
            f"{name}{each} {_number(value)}\n"
            if type(value) is not Histogram
            else _histogram(name, value)
            for each, value in zip(labels, values, strict=True)
            if value is not None
        ]
    )
    return samples.encode()


def _histogram(name: str, value: Histogram) -> str:
    return "".join(
        f"{name}{suffix}{bucket} {_number(count)}\n" for suffix, bucket, count in _buckets(value)
    )


def _number(value: float) -> str:
    """The library's own digits, without its checks where they cannot matter."""
    if type(value) is int and 0 <= value < _EXACT:
        if value < 1_000_000:
            return f"{value}.0"
        # Most samples are the kernel's counters, so its own digits will do.
        digits = str(value)
        return f"{digits[0]}.{digits[1:]}".rstrip("0.") + f"e+{len(digits) - 1:02}"
    return repr(float(value)) if -1e6 < value < 1e6 else _library_number(value)


_EXACT = 10**15  # below, every digit of a whole number is one of its float


def _buckets(value: Histogram) -> Iterator[tuple[str, str, float]]:
    for bound, count in zip(value.bounds, value.counts, strict=True):
        yield "_bucket", f'{{le="{_number(bound)}"}}', count
    yield "_bucket", '{le="+Inf"}', value.count
    yield "_count", "", value.count
    yield "_sum", "", value.total


def _family(table: MetricTable[Any, Any], row: MetricRow[Any]) -> Any:
    return Metric(table.prefix + row.family, row.help, row.type, row.unit)


@cache
def _head(table: MetricTable[Any, Any], row: MetricRow[Any], *, openmetrics: bool) -> bytes:
    encode = generate_openmetrics if openmetrics else generate_latest
    head: bytes = encode(_One(_family(table, row)))
    return head.removesuffix(b"# EOF\n")


class _One:
    """What the library takes for a registry, with one family."""

    def __init__(self, family: Any) -> None:
        self._family = family

    def collect(self) -> Iterable[Any]:
        return (self._family,)


def _label_set(names: Labels, values: Labels) -> str:
    shape, order = _shape(names)
    return shape % tuple([_escaped(values[position]) for position in order])


@cache
def _shape(names: Labels) -> tuple[str, tuple[int, ...]]:
    # By name, as the library writes them.
    order = tuple(sorted(range(len(names)), key=names.__getitem__))
    pairs = ",".join(f'{names[position]}="%s"' for position in order)
    return ("{" + pairs + "}" if pairs else ""), order


def _escaped(value: str) -> str:
    return valid(value).replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
