"""The daemon itself as rows: is what it says complete, is it on time, what does it cost.

Sources are part of the state; the running process is not, so a replay leaves it out and gives
the same exposition on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ioplateau.state import SourceState, State
from ioplateau.tell.rows import (
    Histogram,
    Labels,
    MetricTable,
    Scene,
    counter,
    gauge,
    histogram,
    info,
)

# A tick takes 1 ms on a small machine; beyond one second it is late at the default interval.
TICK_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)


class SelfStats(NamedTuple):
    """The running process; counters since it started. None: this system does not say.

    tick_counts: ticks that took at most so long, one number for each of TICK_BOUNDS.
    """

    version: str
    python: str
    tick_counts: tuple[int, ...]
    ticks: int
    tick_seconds: float  # spent in ticks
    ticks_skipped: int
    scrapes: int
    start_time_seconds: float | None  # UNIX time
    cpu_seconds: float | None
    last_tick_age_seconds: float = 0.0
    log_lines_dropped: int = 0
    certificate_ends: float | None = None  # UNIX time; None: no TLS
    catalogue_time: float | None = None  # UNIX time of the newest figure
    own_rows: int = 0  # of the user's own catalogue
    resident_bytes: int | None = None
    virtual_bytes: int | None = None
    open_descriptors: int | None = None
    max_descriptors: int | None = None


def states(scene: Scene) -> Iterable[State]:
    return (scene.state,)


def sources(scene: Scene) -> Iterator[SourceState]:
    for _, source in sorted(scene.state.sources.items()):
        yield source


def processes(scene: Scene) -> Iterable[SelfStats]:
    return () if scene.itself is None else (scene.itself,)


def _state(state: State) -> Iterable[tuple[Labels, State]]:
    yield (), state


def _source(source: SourceState) -> Iterable[tuple[Labels, SourceState]]:
    yield (source.name,), source


def _process(process: SelfStats) -> Iterable[tuple[Labels, SelfStats]]:
    yield (), process


def _build(process: SelfStats) -> Iterable[tuple[Labels, SelfStats]]:
    yield (process.version, process.python), process


SOURCES: MetricTable[SourceState, SourceState] = MetricTable(
    "Sources",
    ("source",),
    sources,
    _source,
    (
        gauge(
            "source_up",
            "1 if the source could be read and understood at its last turn; the log says why not.",
            lambda s: s.up,
        ),
        counter(
            "source_seconds_total",
            "Time spent reading the source, without parsing.",
            lambda s: s.seconds,
        ),
        counter(
            "parse_rejects_total",
            "Lines or records left out because they were not understood.",
            lambda s: s.rejects,
        ),
    ),
)

SAMPLING: MetricTable[State, State] = MetricTable(
    "Sampling",
    (),
    states,
    _state,
    (
        counter("ticks_total", "Ticks observed.", lambda s: s.ticks),
        gauge(
            "last_tick_timestamp_seconds",
            "UNIX time of the tick these numbers are from; old means that sampling stands still.",
            lambda s: s.wall,
        ),
        gauge("sampling_interval_seconds", "Time between two ticks.", lambda s: s.interval_seconds),
    ),
)

BUILD: MetricTable[SelfStats, SelfStats] = MetricTable(
    "Build",
    ("version", "python"),
    processes,
    _build,
    (info("build_info", "Which version runs, on which Python."),),
)

DAEMON: MetricTable[SelfStats, SelfStats] = MetricTable(
    "Daemon",
    (),
    processes,
    _process,
    (
        histogram(
            "tick_seconds",
            "Time a tick took: reading, parsing and judging.",
            lambda p: Histogram(TICK_BOUNDS, p.tick_counts, p.ticks, p.tick_seconds),
        ),
        counter(
            "ticks_skipped_total",
            "Ticks left out because the one before took too long or the machine slept.",
            lambda p: p.ticks_skipped,
        ),
        gauge(
            "last_tick_age_seconds",
            "Time since the last tick that came to something; more than an interval or two means "
            "that sampling stands still, and that these numbers are old.",
            lambda p: p.last_tick_age_seconds,
        ),
        counter(
            "log_lines_dropped_total",
            "Log lines that standard error did not take: nobody reads it, or its disk is full.",
            lambda p: p.log_lines_dropped,
        ),
        counter("scrapes_total", "Scrapes answered.", lambda p: p.scrapes),
        gauge(
            "web_certificate_expiry_timestamp_seconds",
            "UNIX time at which the certificate that is served over TLS expires.",
            lambda p: p.certificate_ends,
        ),
        gauge(
            "catalogue_timestamp_seconds",
            "UNIX time of the newest document that the package's catalogue of limits is from.",
            lambda p: p.catalogue_time,
        ),
        gauge(
            "catalogue_own_rows",
            "Rows of your own catalogue (limits.catalogue) that are in force.",
            lambda p: p.own_rows,
        ),
    ),
)

PROCESS: MetricTable[SelfStats, SelfStats] = MetricTable(
    "Process",
    (),
    processes,
    _process,
    (
        counter("process_cpu_seconds_total", "CPU time of the daemon.", lambda p: p.cpu_seconds),
        gauge("process_resident_memory_bytes", "Memory of the daemon.", lambda p: p.resident_bytes),
        gauge(
            "process_virtual_memory_bytes",
            "Address space of the daemon.",
            lambda p: p.virtual_bytes,
        ),
        gauge(
            "process_start_time_seconds",
            "UNIX time at which the daemon started.",
            lambda p: p.start_time_seconds,
        ),
        gauge("process_open_fds", "Open file descriptors.", lambda p: p.open_descriptors),
        gauge("process_max_fds", "File descriptors allowed.", lambda p: p.max_descriptors),
    ),
    prefix="",  # the names every Prometheus client uses
)

TABLES = (SOURCES, SAMPLING, BUILD, DAEMON, PROCESS)
