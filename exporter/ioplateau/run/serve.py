"""The daemon: the loop in the main thread, the web server beside it, signals and systemd."""

from __future__ import annotations

import gc
import logging
import resource
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ioplateau import __version__, logs
from ioplateau.engine import without_counts
from ioplateau.history import History, What
from ioplateau.logs import event
from ioplateau.measure import interfaces
from ioplateau.measure.snapshot import Snapshot
from ioplateau.run import cataloguefiles
from ioplateau.run.api import ROOT, Api
from ioplateau.run.clock import Clock
from ioplateau.run.episodelog import EpisodeLog
from ioplateau.run.historyfiles import HistoryFiles
from ioplateau.run.machine import machine
from ioplateau.run.owncatalogue import OwnCatalogue, catalogue_with
from ioplateau.run.pages import Pages
from ioplateau.run.reload import Reload, ReloadError
from ioplateau.run.settings import ServeSettings
from ioplateau.run.statefile import StateFile
from ioplateau.run.systemd import Systemd
from ioplateau.run.writer import FileWriter
from ioplateau.state import State
from ioplateau.tell import failedsources, summary
from ioplateau.tell.metrics_self import SelfStats
from ioplateau.tell.prometheus import Exposition
from ioplateau.web.http1 import Handler, Request, Response, text
from ioplateau.web.server import WebServer

LOG = logging.getLogger(__name__)

# At the end, for the disk to take what is to be kept; systemd waits 15 s for all of us.
FINISH_SECONDS = 5.0
# While nobody looks and nothing is throttled, the ticks of so many seconds are understood at once. More
# would save little: of five four are warm, and a usual scrape comes after three times as many
# (docs/cost.md). A line of the log comes later by as much.
TOGETHER_SECONDS = 5.0
# Sampling stands still, and what is told is old: beyond what a busy machine or its pause explains.
OLD_SECONDS, OLD_INTERVALS = 10.0, 3.0


def serve(settings: ServeSettings, reload: Callable[[], ServeSettings]) -> None:
    """Run until SIGTERM or SIGINT. `reload` gives new settings on SIGHUP or raises ReloadError.

    Raises OSError with a sentence for an address that cannot be had.
    """
    Daemon(settings, reload).run()


class Daemon:
    """The parts, and what connects them."""

    def __init__(
        self,
        settings: ServeSettings,
        reload: Callable[[], ServeSettings],
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._reload = Reload(reload)
        watched = machine(settings, clock=clock)
        self._clock, self._engine = watched.clock, watched.engine
        self._background = watched.background
        self._started = self._clock.wall()
        self._scrapes = 0
        self._systemd = Systemd.from_environment()
        self._catalogue = settings.engine.catalogue
        self._own = OwnCatalogue()
        self._edition = cataloguefiles.edition()
        self._episodes = EpisodeLog()
        self._files = FileWriter()
        # The catalogue is a file of the program's disk: stalled, it must not keep the state from its own.
        self._lifting = FileWriter()
        self._memory = StateFile(settings.state_directory, self._files)
        self._history_files = HistoryFiles(settings.state_directory, self._files)
        self._history = History(
            self._history_files.keep if settings.state_directory else None, threading.RLock()
        )
        self._loop = watched.loop(
            self._after_tick,
            self._before_tick,
            min(TOGETHER_SECONDS, self._systemd.sign_seconds),
        )
        self._api = Api(self._history, lambda: self._loop.state, self._started, self._clock.wall)
        self._exposition = Exposition(self._itself, per_connection=settings.per_connection)
        self._pages = self._make_pages()
        self._web = self._make_web_server()

    def _make_pages(self) -> Pages:
        links = (
            (self._settings.web.telemetry_path, "Metrics"),
            ("/-/healthy", "Health"),
            ("/-/ready", "Readiness"),
        )
        return Pages(
            self._history,
            lambda: self._loop.state,
            self._started,
            links,
            self._settings.engine.rate_window_seconds,
            self._background.consumers.want,
        )

    def _make_web_server(self) -> WebServer:
        web = self._settings.web
        # What makes these answers is loaded by the first question, and looks into the catalogue: files
        # of a disk that may be the one that is stalled.
        slow = {*self._pages.routes(), *self._api.routes()} - {web.telemetry_path}
        return WebServer(web.listen_addresses, self._routes(), web, slow, json_below=ROOT)

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._loop.stop())
        # Begun and taken between two ticks, not inside one.
        signal.signal(signal.SIGHUP, lambda *_: self._reload.wanted())
        self._own.begin(self._settings.catalogue_directory)
        self._own.wait()
        self._take_own_rows()
        with self._web.start():
            event(LOG, logging.INFO, "listening", addresses=",".join(self._web.addresses),
                  version=__version__,
                  interval_seconds=self._settings.engine.interval_seconds)  # fmt: skip
            self._memory.restore(self._take_memory, self._clock.wall())
            self._history_files.restore(self._history)
            self._history.note(What.STARTED, f"ioplateau {__version__} started", self._started)
            self._memory.try_write()
            # Nothing of a tick or a scrape is cyclic: what it made goes when the next one replaces
            # it, and to look for cycles takes time for each object that is new. A thousand disks and
            # mounts make 5,000 a tick that stay until the next scrape; below this it looked each
            # fourth tick, a fourteenth of all our time. A defect may leave cycles, so it is not off.
            gc.freeze()
            gc.enable()  # the command line has it off while modules are imported
            gc.set_threshold(100_000, 10, 10)
            self._loop.run()
            self._systemd.stopping()
            self._background.end()
        wall = self._clock.wall()
        self._memory.write(self._engine.memory(), wall)
        self._history.note(What.STOPPED, "ioplateau stopped", wall)
        self._history_files.keep(self._history, is_last=True)
        if not self._files.finish(FINISH_SECONDS):
            event(LOG, logging.WARNING,
                  "stopped without writing: the state directory does not answer")  # fmt: skip
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # told twice, it still ends well
        event(LOG, logging.INFO, "stopped", skipped_ticks=self._loop.skipped)

    def _after_tick(self, state: State, snapshot: Snapshot) -> None:
        self._pages.after_tick(state)
        changes = self._history.observe(state)
        if changes:
            self._episodes.tell(changes, state.mono)
            if any(not change.is_end for change in changes):
                self._lifting.submit("lifting", lambda: self._tell_lift(state))
        if state.ticks == 1:
            self._systemd.ready()
        if self._systemd.is_listening:
            # Who reads the line reads the newest; each tick that came to something is a sign of life.
            is_newest = self._loop.is_newest(snapshot)
            self._systemd.alive(summary.headline(state) if is_newest else None)
        self._memory.keep(lambda: without_counts(self._engine.memory()), state.mono, state.wall)

    def _take_memory(self, memory: Mapping[str, Any], away_seconds: float) -> None:
        self._engine.restore(memory, away_seconds)
        self._memory.write(without_counts(memory), self._clock.wall() - away_seconds)

    def _before_tick(self) -> None:
        self._take_own_rows()
        if self._reload.begin():
            self._systemd.reloading()
        fresh = self._reload.take()
        if fresh is not None:
            self._take_new_settings(fresh)

    def _take_own_rows(self) -> None:
        own = self._own.take()
        if own is not None:
            self._loop.understand()  # by the rows that were in force
            self._catalogue = catalogue_with(own)
            self._engine.configure(self._settings.engine._replace(catalogue=self._catalogue))

    def _tell_lift(self, state: State) -> None:
        from ioplateau.tell import lifting  # 400 KiB that a machine at no limit does not load

        for episode in self._history.open_episodes():
            budget = state.budgets.get(episode.key)
            if budget is not None and not episode.lift:
                steps = lifting.sentences(state, budget)
                self._history.tell_lift(episode.key, "; ".join(steps))

    def _take_new_settings(self, fresh: ServeSettings | ReloadError) -> None:
        if isinstance(fresh, ReloadError):
            for line in str(fresh).splitlines():
                event(LOG, logging.ERROR, "configuration not taken, the old one stays", why=line)
        else:
            taken, waits = fresh.after(self._settings)
            if waits:
                event(LOG, logging.WARNING, "some settings change with a restart only",
                      settings=",".join(waits))  # fmt: skip
            self._loop.understand()  # by the settings that were in force
            self._settings = taken
            logs.setup(taken.log)
            self._background.configure(taken)
            # The old rows hold until the directory has been read again.
            self._engine.configure(taken.engine._replace(catalogue=self._catalogue))
            self._own.begin(taken.catalogue_directory)
            event(LOG, logging.INFO, "configuration reloaded",
                  limits=len(taken.engine.rules.limits))  # fmt: skip
            self._history.note(What.CONFIGURATION, "configuration reloaded", self._clock.wall())
        self._systemd.ready()

    def _itself(self) -> SelfStats:
        process = interfaces.own_process()
        times = self._loop.times
        return SelfStats(
            version=__version__,
            python=sys.version.partition(" ")[0],
            tick_counts=times.cumulative,
            ticks=times.ticks,
            tick_seconds=times.seconds,
            ticks_skipped=self._loop.skipped,
            scrapes=self._scrapes,
            last_tick_age_seconds=self._loop.age_seconds,
            log_lines_dropped=logs.dropped_lines(),
            certificate_ends=self._web.certificate_ends,
            catalogue_time=self._edition.seconds,
            own_rows=self._own.total,
            start_time_seconds=process.start_time_seconds,
            cpu_seconds=process.cpu_seconds,
            resident_bytes=process.resident_bytes,
            virtual_bytes=process.virtual_bytes,
            open_descriptors=process.open_descriptors,
            max_descriptors=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        )

    def _routes(self) -> dict[str, Handler]:
        routes = {
            **self._pages.routes(),
            self._settings.web.telemetry_path: self._metrics,
            "/-/healthy": self._healthy,
            "/-/ready": self._ready,
            **self._api.routes(),
        }
        return {path: self._caught_up(answer) for path, answer in routes.items()}

    def _caught_up(self, answer: Handler) -> Handler:
        """Of what was sampled until now, whoever asks."""

        def handle(request: Request) -> Response:
            self._loop.catch_up()
            return answer(request)

        return handle

    def _healthy(self, _: Request) -> Response:
        age = self._loop.age_seconds
        reason = f"the last tick was {age:.1f} s ago"
        if self._is_old(age):
            return text(503, f"ioplateau does not sample: {reason}.")
        return text(200, f"ioplateau is healthy: {reason}.")

    def _is_old(self, age_seconds: float) -> bool:
        return age_seconds > max(
            OLD_SECONDS, OLD_INTERVALS * self._settings.engine.interval_seconds
        )

    def _ready(self, _: Request) -> Response:
        state = self._loop.state
        if state is None:
            return text(503, "ioplateau has not finished its first tick yet.")
        unseen = failedsources.vital(state)
        if unseen:
            return text(503, "\n".join(f"ioplateau {words}." for words in unseen))
        return text(200, "ioplateau is ready.")

    def _metrics(self, request: Request) -> Response:
        state = self._loop.state
        if state is None:
            return text(503, "ioplateau has not finished its first tick yet.")
        self._scrapes += 1
        answer = self._exposition.answer(
            state,
            request.headers.get("accept", ""),
            request.headers.get("accept-encoding", ""),
            again=self._is_old(self._loop.age_seconds),
        )
        headers = {"Vary": "Accept, Accept-Encoding"}
        if answer.content_encoding:
            headers["Content-Encoding"] = answer.content_encoding
        return Response(200, answer.content_type, answer.body, headers)
