"""The daemon: the loop in the main thread, the web server beside it, signals and systemd."""

from __future__ import annotations

import gc
import logging
import platform
import resource
import signal
from collections.abc import Callable
from types import FrameType

from ioplateau import __version__
from ioplateau.engine import Engine
from ioplateau.measure import interfaces
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run.clock import SystemClock
from ioplateau.run.companions import Companions
from ioplateau.run.http1 import Handler, Request, Response, text
from ioplateau.run.logs import event
from ioplateau.run.loop import Loop
from ioplateau.run.memory import Memory
from ioplateau.run.settings import ServeSettings
from ioplateau.run.sources import sampler_for
from ioplateau.run.systemd import Systemd
from ioplateau.run.web import WebServer
from ioplateau.state import State
from ioplateau.tell import page, summary
from ioplateau.tell.metrics_self import SelfStats
from ioplateau.tell.prometheus import Exposition

LOG = logging.getLogger(__name__)


class ReloadError(Exception):
    """New settings that cannot be had; the old ones stay. One sentence a line."""


def serve(settings: ServeSettings, reload: Callable[[], ServeSettings]) -> int:
    """Run until SIGTERM or SIGINT. `reload` gives new settings on SIGHUP or raises ReloadError.

    Raises OSError with a sentence for an address that cannot be had.
    """
    daemon = Daemon(settings, reload)
    daemon.run()
    return 0


class Daemon:
    """The parts, and what connects them."""

    def __init__(self, settings: ServeSettings, reload: Callable[[], ServeSettings]) -> None:
        self._settings = settings
        self._reload = reload
        self._wants_reload = False
        self._clock = SystemClock()
        self._started = self._clock.wall()
        self._scrapes = 0
        sampler = sampler_for(settings, self._clock)
        self._companions = Companions(settings, sampler, self._clock)
        self._systemd = Systemd.from_environment()
        self._engine = Engine(settings.engine)
        self._memory = Memory(settings.state_directory)
        self._loop = Loop(
            sampler,
            self._engine,
            self._clock,
            settings.engine.interval_seconds,
            self._after_tick,
        )
        self._exposition = Exposition(self._itself, per_connection=settings.per_connection)
        self._web = WebServer(settings.web.listen_addresses, self._routes(), settings.web)

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)
        with self._web.start():
            event(
                LOG,
                logging.INFO,
                "listening",
                addresses=",".join(self._web.addresses),
                version=__version__,
                interval_seconds=self._settings.engine.interval_seconds,
            )
            self._memory.restore(self._engine.restore, self._clock.wall())
            self._memory.rehearse()
            # Nothing of a tick is cyclic: what it made goes when the next one replaces it, and
            # looking for cycles as often as usual would take an eighth of our time. Connections do
            # leave some, so it is not turned off.
            gc.freeze()
            gc.set_threshold(20_000, 10, 10)
            self._loop.run()
            self._systemd.stopping()
            self._companions.end()
        self._memory.write(self._engine.memory(), self._clock.wall())
        event(LOG, logging.INFO, "stopped", skipped_ticks=self._loop.skipped)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._loop.stop()

    def _on_reload(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._wants_reload = True  # done between two ticks, not inside one

    def _after_tick(self, state: State, snapshot: Snapshot) -> None:
        self._companions(state, snapshot)
        if state.ticks == 1:
            self._systemd.ready()
        self._systemd.alive(summary.headline(state))
        self._memory.keep(self._engine.memory, state.mono, state.wall)
        if self._wants_reload:
            self._wants_reload = False
            self._take_new_settings()

    def _take_new_settings(self) -> None:
        self._systemd.reloading()
        try:
            fresh = self._reload()
        except ReloadError as error:
            for line in str(error).splitlines():
                event(LOG, logging.ERROR, "configuration not taken, the old one stays", why=line)
        else:
            if (fresh.web, fresh.paths, fresh.engine.interval_seconds) != (
                self._settings.web,
                self._settings.paths,
                self._settings.engine.interval_seconds,
            ):
                event(
                    LOG,
                    logging.WARNING,
                    "addresses, paths and the interval change with a restart only",
                )
            self._settings = fresh
            self._companions.configure(fresh)
            self._engine.configure(fresh.engine)
            event(
                LOG, logging.INFO, "configuration reloaded", limits=len(fresh.engine.rules.limits)
            )
        self._systemd.ready()

    def _itself(self) -> SelfStats:
        process = interfaces.own_process()
        times = self._loop.times
        return SelfStats(
            version=__version__,
            python=platform.python_version(),
            tick_counts=times.cumulative,
            ticks=times.ticks,
            tick_seconds=times.seconds,
            ticks_skipped=self._loop.skipped,
            scrapes=self._scrapes,
            certificate_ends=self._web.certificate_ends,
            start_time_seconds=process.start_time_seconds,
            cpu_seconds=process.cpu_seconds,
            resident_bytes=process.resident_bytes,
            open_descriptors=process.open_descriptors,
            max_descriptors=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        )

    def _routes(self) -> dict[str, Handler]:
        return {
            "/": self._landing,
            self._settings.web.telemetry_path: self._metrics,
            "/-/healthy": lambda request: text(200, "ioplateau is healthy."),  # noqa: ARG005
            "/-/ready": self._ready,
        }

    def _ready(self, request: Request) -> Response:  # noqa: ARG002
        if self._loop.state is None:
            return text(503, "ioplateau has not finished its first tick yet.")
        return text(200, "ioplateau is ready.")

    def _metrics(self, request: Request) -> Response:
        state = self._loop.state
        if state is None:
            return text(503, "ioplateau has not finished its first tick yet.")
        self._scrapes += 1
        answer = self._exposition.answer(
            state, request.headers.get("accept", ""), request.headers.get("accept-encoding", "")
        )
        headers = {"Vary": "Accept, Accept-Encoding"}
        if answer.content_encoding:
            headers["Content-Encoding"] = answer.content_encoding
        return Response(200, answer.content_type, answer.body, headers)

    def _landing(self, request: Request) -> Response:  # noqa: ARG002
        links = (
            (self._settings.web.telemetry_path, "Metrics"),
            ("/-/healthy", "Health"),
            ("/-/ready", "Readiness"),
        )
        body = page.page(self._loop.state, version=__version__, links=links)
        return Response(200, "text/html; charset=utf-8", body)
