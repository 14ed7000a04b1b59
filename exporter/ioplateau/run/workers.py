"""A few threads that call request handlers, so that the thread with the sockets never waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Generic, TypeVar

from ioplateau.run import http1
from ioplateau.run.http1 import Handler, Request, Response
from ioplateau.run.logs import event

LOG = logging.getLogger(__name__)
T = TypeVar("T")


class Workers(Generic[T]):
    """Answers requests from `routes` (exact path to handler) in `count` daemon threads.

    ask(token, request) is later followed by done(token, request, response), called in a
    worker. A handler that raises is answered with 500, and logged when that begins.
    """

    def __init__(
        self,
        routes: Mapping[str, Handler],
        count: int,
        done: Callable[[T, Request, Response], None],
    ) -> None:
        self._routes = routes
        self._done = done
        self._jobs: SimpleQueue[tuple[T, Request] | None] = SimpleQueue()
        self._failing: set[str] = set()
        self._threads = [
            threading.Thread(target=self._work, name=f"web-worker-{number}", daemon=True)
            for number in range(count)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def ask(self, token: T, request: Request) -> None:
        self._jobs.put((token, request))

    def close(self, patience_seconds: float) -> bool:
        """End the threads. False: one is inside a slow handler and was left behind."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(patience_seconds / len(self._threads))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        while job := self._jobs.get():
            token, request = job
            self._done(token, request, self._respond(request))

    def _respond(self, request: Request) -> Response:
        handler = self._routes.get(request.path)
        if handler is None:
            return http1.text(404, "Nothing is served at this path.")
        try:
            response = handler(request)
        except Exception as error:
            self._complain(request.path, error)
            return http1.text(500, "This page failed; the log says why.")
        self._failing.discard(request.path)
        return response

    def _complain(self, path: str, error: Exception) -> None:
        if path not in self._failing:
            self._failing.add(path)
            event(LOG, logging.ERROR, "a page fails", path=path, error=repr(error), exc_info=True)
