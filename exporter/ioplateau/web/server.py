"""The web server: keeps answering the scraper while others try to stop it.

One thread owns every socket: it accepts, reads request heads and writes answers, never
blocking on any of them. A complete request goes to a small pool of workers, which call the
handler and hand the answer back. So a client that says nothing, trickles, or never reads
costs one descriptor and a few KiB, and no thread.

Each connection carries one request ("Connection: close"). Prometheus simply connects again
for its next scrape, 15 s or more later; in return no slot is held in between, and one total
deadline covers all that a connection may do.

TLS is one more phase, between accept and reading: the same thread steps the handshake as
far as the client's bytes go (some ms of arithmetic, for which OpenSSL lets go of the
interpreter). A password that was not seen before goes to a thread of its own: bcrypt takes
its time, and a flood of wrong ones must not keep the pages waiting.
"""

from __future__ import annotations

import errno
import logging
import os
import resource
import selectors
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from ioplateau.logs import event
from ioplateau.threads import begin
from ioplateau.web import http1, listen
from ioplateau.web.access import Access, announce
from ioplateau.web.connection import Connection, Phase, PlainHttpError, WaitsForError
from ioplateau.web.connections import Connections
from ioplateau.web.fairqueue import source_of
from ioplateau.web.http1 import Handler, Request, Response
from ioplateau.web.settings import WebSettings
from ioplateau.web.workers import RouteHandler, Workers

if TYPE_CHECKING:
    from ioplateau.web.accessfile import AccessFile

LOG = logging.getLogger(__name__)
RECEIVE_BYTES = 16 << 10
# Fewer than half the smallest cap would hold: between two looks at those who wait, newcomers
# cannot push all of them out.
ACCEPTS_A_TURN = 8
CLOSE_SECONDS = 0.9
OPEN = Access()
OUT_OF = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


def _access_file(path: str) -> AccessFile:
    from ioplateau.web.accessfile import AccessFile  # what an open server need not load

    return AccessFile(path)


class WebServer:
    """Serves `routes` (exact path to handler) on `addresses`, from `start` until `close`.

    The sockets are bound at once: ValueError for what is no address, OSError with a sentence
    naming the address that cannot be had. Handlers run in worker threads; one that raises
    is answered with 500 and logged when that begins. slow: paths whose handlers may wait for a
    disk; they have workers of their own, so that all others are answered meanwhile. json_below: the
    beginning of the paths whose errors (401, 404, 429, 500) are JSON.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        routes: Mapping[str, Handler],
        settings: WebSettings | None = None,
        slow: Container[str] = (),
        json_below: str | None = None,
    ) -> None:
        self._settings = settings or WebSettings()
        file = self._settings.config_file
        self._access_file = _access_file(file) if file else None
        is_passed = self._settings.systemd_socket
        self._listeners = listen.passed() if is_passed else listen.listen_all(addresses)
        # What we are bound to, ports resolved: ("[::]:10049",).
        self.addresses = tuple(listen.spell(listener) for listener in self._listeners)
        self._checked: deque[tuple[Connection, Request, Response | None]] = deque()
        self._answers: deque[tuple[Connection, Response]] = deque()
        self._closing = False
        self._wakeup = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._selector = selectors.DefaultSelector()
        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._connections = Connections(
            self._selector,
            self._settings.connections,
            sys.maxsize
            if allowed == resource.RLIM_INFINITY
            else allowed - self._settings.spare_descriptors,
        )
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        for listener in self._listeners:
            self._selector.register(listener, selectors.EVENT_READ)
        self._slow = slow
        self._json_below = json_below
        answer = RouteHandler(routes)
        self._workers = self._answering("web-worker", self._settings.workers, answer)
        self._slow_workers = self._answering("web-slow", self._settings.slow_workers, answer)
        self._checkers: Workers[Connection, Response | None] = Workers(
            "web-passwords",
            1,
            self._check,
            lambda connection: connection.phase is Phase.CHECKING,
            self._is_checked,
            lambda connection: connection.source,
        )
        self._thread = threading.Thread(target=self._serve, name="web", daemon=True)

    @property
    def open_connections(self) -> int:
        """Connections accepted and not yet closed."""
        return len(self._connections)

    @property
    def certificate_ends(self) -> float | None:
        """Until when the certificate is valid, in seconds since 1970; None: no TLS."""
        tls = self._access.tls
        return tls.valid_until if tls else None

    def start(self) -> Self:
        """Begin to serve; the server itself, for `with`. Raises OSError where no thread can be had."""
        announce(self._access)
        self._workers.start()
        self._slow_workers.start()
        if self._access_file:
            self._checkers.start()
        begin(self._thread)
        return self

    def close(self) -> None:
        """Stop listening, cut every connection, end the threads: within a second."""
        if self._closing:
            return
        self._closing = True
        os.eventfd_write(self._wakeup, 1)
        if self._thread.ident is None:
            self._release()
        else:
            self._thread.join(CLOSE_SECONDS / 2)
        threads = (self._workers, self._slow_workers, self._checkers)
        left = [not one.close(CLOSE_SECONDS / 6) for one in threads]
        if not any(left):
            os.close(self._wakeup)

    def _answering(
        self, name: str, count: int, answer: RouteHandler
    ) -> Workers[Connection, Response]:
        return Workers(
            name,
            count,
            answer,
            lambda connection: connection.phase is Phase.WORKING,
            self._done,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _access(self) -> Access:
        return self._access_file.access if self._access_file else OPEN

    # What follows runs in the thread "web", but for what is asked of workers.

    def _serve(self) -> None:
        while not self._closing:
            try:
                self._turn()
            except Exception:
                # Never seen. An error we did not think of must not end the server, nor spin.
                event(LOG, logging.ERROR, "web server: a turn failed", exc_info=True)
                time.sleep(0.1)
        self._release()

    def _turn(self) -> None:
        ready = self._selector.select(self._connections.patience())
        # Those who already wait come before newcomers, who may evict them.
        for key, events in ready:
            if key.data is not None:
                self._step(key.data, events)
        with suppress(BlockingIOError):
            os.eventfd_read(self._wakeup)
        while self._checked:
            self._admit(*self._checked.popleft())
        while self._answers:
            self._take(*self._answers.popleft())
        self._connections.expire()
        for key, _ in ready:
            if isinstance(key.fileobj, socket.socket) and key.data is None:
                self._accept(key.fileobj)
        self._connections.report()

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPTS_A_TURN):
            try:
                accepted, address = listener.accept()
            except OSError as error:
                if error.errno in OUT_OF:
                    self._connections.evict()
                    time.sleep(0.01)  # the listener stays readable: do not spin
                return
            self._begin(accepted, source_of(address))

    def _begin(self, accepted: socket.socket, source: str) -> None:
        end_at = time.monotonic() + self._settings.deadline_seconds
        connection = Connection(accepted, end_at, source)
        accepted.setblocking(False)
        self._connections.add(connection)
        with suppress(OSError):
            # The head and the body of an answer are two sends: the second must not wait for
            # the acknowledgement of the first.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls = self._access_file.look(time.monotonic()).tls if self._access_file else None
        if tls:
            connection.phase, connection.tls = Phase.SHAKING, tls
            try:
                connection.socket = tls.wrap(accepted)
            except OSError:
                self._connections.drop(connection)  # it has gone already
                return
        # Most requests, and greetings of TLS, arrive with the connection.
        self._step(connection, selectors.EVENT_READ)

    def _step(self, connection: Connection, events: int) -> None:
        try:
            if connection.phase is Phase.SHAKING:
                self._handshake(connection)
            elif connection.phase is Phase.READING:
                self._read(connection)
            elif connection.phase is Phase.WRITING:
                self._write(connection)
            elif connection.phase is Phase.LINGERING and not connection.socket.recv(RECEIVE_BYTES):
                self._connections.drop(connection)
        except WaitsForError as wait:
            self._connections.watch(connection, wait.events)
        except BlockingIOError:
            self._connections.watch(connection, events)
        except PlainHttpError:
            self._answer_plainly(connection)
        except OSError:
            # It reset the connection, or its network went away: its affair, nothing to log.
            self._connections.drop(connection)
        except Exception:
            # What we did not think of costs its connection alone: left open, it would be met again
            # at each turn.
            event(LOG, logging.ERROR, "web server: a connection failed", exc_info=True)
            self._connections.drop(connection)

    def _handshake(self, connection: Connection) -> None:
        if connection.tls and not connection.tls.shake(connection.socket):
            event(LOG, logging.DEBUG, "a client certificate without any of client_allowed_sans")
            self._connections.drop(connection)
            return
        connection.phase = Phase.READING
        self._read(connection)

    def _answer_plainly(self, connection: Connection) -> None:
        self._connections.watch(connection, 0)
        connection.socket = socket.socket(fileno=connection.socket.detach())
        connection.socket.setblocking(False)
        self._answer(connection, http1.text(400, "This port speaks HTTPS: ask https://."))

    def _read(self, connection: Connection) -> None:
        part = connection.socket.recv(RECEIVE_BYTES)
        if not part:
            self._connections.drop(connection)
            return
        searched = len(connection.received)
        connection.received += part
        end = http1.head_end(connection.received, searched)
        if end is None and len(connection.received) < self._settings.header_bytes:
            self._connections.watch(connection, selectors.EVENT_READ)
            return
        self._ask(connection, end)

    def _ask(self, connection: Connection, end: int | None) -> None:
        received = bytes(connection.received[:end])
        connection.is_head = http1.is_head(received)
        asked = self._understand(received, whole=end is not None)
        # What follows the head is a pipelined request or a body: neither is served.
        connection.received = bytearray()
        if isinstance(asked, Response):
            self._answer(connection, asked)
            return
        access = self._access
        refusal = access.refuse(asked, time.monotonic())
        if refusal:
            self._answer(connection, self._worded(asked, refusal))
            return
        self._connections.watch(connection, 0)
        if access.needs_check(asked):
            connection.phase = Phase.CHECKING
            self._checkers.ask(connection, asked)
        else:
            self._work(connection, asked)

    def _work(self, connection: Connection, request: Request) -> None:
        connection.phase = Phase.WORKING
        workers = self._slow_workers if request.path in self._slow else self._workers
        workers.ask(connection, request)

    def _admit(self, connection: Connection, request: Request, refusal: Response | None) -> None:
        if connection.phase is not Phase.CHECKING:
            return  # evicted, or out of time
        if refusal:
            self._answer(connection, self._worded(request, refusal))
        else:
            self._work(connection, request)

    def _worded(self, request: Request, response: Response) -> Response:
        is_error = response.status >= 400 and response.content_type == http1.PLAIN
        if is_error and self._json_below and request.path.startswith(self._json_below):
            return http1.as_json(response)
        return response

    def _understand(self, head: bytes, *, whole: bool) -> Request | Response:
        cap = self._settings.header_bytes
        if whole and len(head) <= cap:
            return http1.parse(head, self._settings.request_line_bytes)
        if b"\n" not in head:
            return http1.text(414, "The request line is too long.")
        return http1.text(431, f"The request header is too long, at most {cap} bytes are read.")

    def _take(self, connection: Connection, response: Response) -> None:
        # It may have been evicted, or run out of time, while a worker was busy with it.
        if connection.phase is Phase.WORKING:
            self._answer(connection, response)

    def _answer(self, connection: Connection, response: Response) -> None:
        # Views: sixty clients of one rendered page share its bytes.
        connection.unsent.append(
            memoryview(http1.head(response, time.time(), self._access.headers))
        )
        if response.body and not connection.is_head:
            connection.unsent.append(memoryview(response.body))
        connection.phase = Phase.WRITING
        self._step(connection, selectors.EVENT_WRITE)

    def _write(self, connection: Connection) -> None:
        while connection.unsent:
            part = connection.unsent[0]
            sent = connection.socket.send(part)
            if sent < len(part):
                connection.unsent[0] = part[sent:]
            else:
                connection.unsent.popleft()
        connection.socket.shutdown(socket.SHUT_WR)
        connection.phase = Phase.LINGERING
        leave_at = time.monotonic() + self._settings.linger_seconds
        connection.leave_at = min(connection.end_at, leave_at)
        self._connections.watch(connection, selectors.EVENT_READ)

    def _release(self) -> None:
        self._connections.cut_all()
        for listener in self._listeners:
            listener.close()
        self._selector.close()

    def _check(self, request: Request) -> Response | None:
        # In the thread of the passwords.
        return self._access.check(request)

    def _is_checked(
        self, connection: Connection, request: Request, refusal: Response | None
    ) -> None:
        # In the thread of the passwords.
        self._checked.append((connection, request, refusal))
        os.eventfd_write(self._wakeup, 1)

    def _done(self, connection: Connection, request: Request, response: Response) -> None:
        # In a worker.
        self._answers.append((connection, self._worded(request, response)))
        os.eventfd_write(self._wakeup, 1)
