"""A few threads that answer requests, so that the thread with the sockets never waits."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from ioplateau.logs import event
from ioplateau.threads import begin
from ioplateau.web import http1
from ioplateau.web.fairqueue import FairQueue
from ioplateau.web.http1 import Handler, Request, Response

LOG = logging.getLogger(__name__)
SILENT_SECONDS = 60.0
END = "end"  # no address
T = TypeVar("T")
R = TypeVar("R")


class Workers(Generic[T, R]):
    """Calls `answer`, which must not raise, in `count` daemon threads.

    ask(token, request) is later followed by done(token, request, answer), called in a worker;
    by nothing where `is_wanted(token)` no longer held when a worker came to it, or sooner: what nobody
    waits for is not kept while a worker hangs. source_of: who
    asks; whoever asks much waits for himself only.
    """

    def __init__(
        self,
        name: str,
        count: int,
        answer: Callable[[Request], R],
        is_wanted: Callable[[T], bool],
        done: Callable[[T, Request, R], None],
        source_of: Callable[[T], str] = lambda _: "",
    ) -> None:
        self._answer = answer
        self._is_wanted = is_wanted
        self._done = done
        self._source_of = source_of
        self._jobs: FairQueue[tuple[T, Request] | None] = FairQueue(
            lambda job: job is None or is_wanted(job[0])
        )
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True)
            for number in range(count)
        ]

    def start(self) -> None:
        for thread in self._threads:
            begin(thread)

    def ask(self, token: T, request: Request) -> None:
        self._jobs.put(self._source_of(token), (token, request))

    def close(self, patience_seconds: float) -> bool:
        """End the threads. False: one is inside something slow and was left behind."""
        for _ in self._threads:
            self._jobs.put(END, None)
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(patience_seconds / len(self._threads))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while job := self._jobs.get():
            token, request = job
            if self._is_wanted(token):
                self._done(token, request, self._answer(request))


class RouteHandler:
    """`routes` (exact path to handler) as one handler that never raises.

    A page that does is answered with 500, and logged once a minute, whatever comes between:
    clients decide how often it is asked for, and how.
    """

    def __init__(
        self, routes: Mapping[str, Handler], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._routes = routes
        self._clock = clock
        self._silent_until: dict[str, float] = {}

    def __call__(self, request: Request) -> Response:
        handler = self._routes.get(request.path)
        if handler is None:
            return http1.text(404, "Nothing is served at this path.")
        try:
            return handler(request)
        except Exception as error:
            self._complain(request.path, error)
            return http1.text(500, "This page failed; the log says why.")

    def _complain(self, path: str, error: Exception) -> None:
        now = self._clock()
        if now >= self._silent_until.get(path, now):
            self._silent_until[path] = now + SILENT_SECONDS
            event(LOG, logging.ERROR, "a page fails", path=path, error=repr(error), exc_info=True)
