"""The report's sources: a recording, the daemon's memory, this machine looked at for a while."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ioplateau import __version__
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run import daemonreport, recording
from ioplateau.run.clock import SystemClock
from ioplateau.run.commanderror import CommandError
from ioplateau.run.daemonaddress import DaemonAddress
from ioplateau.run.daemonviews import NoDaemonError
from ioplateau.run.loop import Loop
from ioplateau.run.machine import machine
from ioplateau.run.replay import Replayed
from ioplateau.run.settings import ServeSettings
from ioplateau.state import State
from ioplateau.tell import formatting
from ioplateau.tell.report.document import ReportSource
from ioplateau.tell.report.samples import Collector, Samples

MOST_DAMAGED = 5  # lines that are told one by one
DEFAULT_SECONDS = 86_400.0  # what somebody asks for who says nothing
# "M" is a month to many, and there are no months here; no other letter is two units.
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*((?i:s|min|h|d|w)|m)")
_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604_800.0}


class ReportError(CommandError):
    """What is wrong with what was asked for, in one sentence."""


class TimeSpan(NamedTuple):
    """UNIX seconds; None: from the beginning, to the end."""

    began: float | None = None
    ended: float | None = None

    def holds(self, wall: float) -> bool:
        return (self.began is None or wall >= self.began) and (
            self.ended is None or wall <= self.ended
        )


def length(text: str) -> float:
    """Seconds of "90s", "30min", "24h", "7d". Raises ReportError."""
    found = _LENGTH.fullmatch(text.strip())
    seconds = float(found[1]) * _UNITS[found[2].lower()] if found else 0.0
    if not seconds:
        raise ReportError(f"{text!r} is no length of time, want one like 30min, 24h or 7d")
    return seconds


def moment(text: str) -> float:
    """UNIX seconds of "2026-11-22T10:00", in UTC unless it says otherwise. Raises ReportError."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ReportError(f"{text!r} is no time, want one like 2026-11-22T10:00") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def span(since: str | None, began: str | None, ended: str | None, now: float) -> TimeSpan:
    """What --since, --from and --to ask for. Raises ReportError."""
    if since is not None and began is not None:
        raise ReportError("--since and --from say the same: give one of them")
    first = now - length(since) if since is not None else None
    first = moment(began) if began is not None else first
    last = moment(ended) if ended is not None else None
    if first is not None and first > now:
        raise ReportError(f"--from {began} is in the future: there is nothing to report yet")
    if first is not None and last is not None and last <= first:
        raise ReportError(f"--to {ended} is not after the beginning: the span is empty")
    return TimeSpan(first, last)


def end_of(path: Path | str) -> float:
    """UNIX seconds of a recording's last snapshot, 0 without one. Raises RecordingError, and ReportError for
    standard input, which is read once.
    """
    if recording.is_standard(Path(path)):
        raise ReportError(
            "--since counts from the end, which standard input tells last: say --from"
        )
    _, snapshots = recording.read(path)
    return max((snapshot.wall for snapshot in snapshots), default=0.0)


def of_recording(
    path: Path | str, settings: ServeSettings, wanted: TimeSpan
) -> tuple[Samples, ReportSource]:
    """What a recording tells. Raises RecordingError."""
    seen: list[float] = []
    damaged: list[str] = []
    machine = ""
    collector = Collector()
    replayed = Replayed(path, settings.engine, damaged.append)

    for state in replayed:
        machine = _machine(state) or machine
        if wanted.holds(state.wall):
            seen.append(state.wall)
            collector.observe(state)
    samples = collector.finish()
    made = replayed.header.provenance
    source = ReportSource(
        host=made.host,
        version=made.version or __version__,
        kernel=replayed.header.static.kernel,
        machine=machine,
        began=seen[0] if seen else None,
        ended=seen[-1] if seen else None,
        what=f"recording {Path(path).name}",
        damaged=_first_of(damaged),
        notes=replayed.notes,
        step_seconds=replayed.header.interval_seconds,
        asked_from=wanted.began,
        asked_to=wanted.ended,
    )
    return samples, source


def _first_of(reasons: Sequence[str]) -> tuple[str, ...]:
    more = len(reasons) - MOST_DAMAGED
    return (*reasons[:MOST_DAMAGED], *((f"{more} more lines",) if more > 0 else ()))


def remembered(
    daemon: DaemonAddress, wanted: TimeSpan, asked_at: float
) -> tuple[Samples, ReportSource]:
    """What the daemon remembers of a span, which was asked for at asked_at. Raises ReportError."""
    ended = asked_at if wanted.ended is None else min(wanted.ended, asked_at)
    began = ended - DEFAULT_SECONDS if wanted.began is None else wanted.began
    try:
        return daemonreport.of_daemon(
            daemonreport.asking(daemon), began, ended, asked_at, SystemClock().wall
        )
    except NoDaemonError as error:
        raise ReportError(
            f"no daemon tells ({error}): give its --url, a RECORDING, or --minutes N to look live"
        ) from error


def live(
    settings: ServeSettings, seconds: float, on_loop: Callable[[Loop], None]
) -> tuple[Samples, ReportSource]:
    """What the machine does for so many seconds. on_loop: called with the loop before it runs."""
    watched = machine(settings)
    collector = Collector()

    def after_tick(state: State, _: Snapshot) -> None:
        collector.observe(state)

    began = watched.clock.wall()
    loop = watched.loop(after_tick)
    on_loop(loop)
    loop.run(max(round(seconds / settings.engine.interval_seconds), 1) + 1)
    watched.background.end()
    samples = collector.finish()
    source = ReportSource(
        platform.node(),
        __version__,
        platform.release(),
        _machine(collector.last),
        began,
        watched.clock.wall(),
        "looked at live",
        step_seconds=settings.engine.interval_seconds,
    )
    return samples, source


def _machine(state: State | None) -> str:
    if state is None:
        return ""
    identity = state.sold.identity
    return formatting.machine(identity.cloud, identity.vm_size, identity.region)
