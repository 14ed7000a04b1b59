"""One HTTP question to a link-local service: past every proxy, following nothing, ending in time.

urllib would ask the proxy; http.client alone waits for ever on a server that trickles.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import socket

WAIT_SECONDS = 1.0
WHOLE_SECONDS = 2.0
HEAD_BYTES = 1 << 16
SIZE_LIMIT = 1 << 20  # user data of 64 KiB and long tags fit; a file server's answer does not


class ServiceRequest(NamedTuple):
    """One question to the service."""

    base: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()


class ServiceAnswer(NamedTuple):
    """What the service said. retry_after: seconds, where it asks to be left alone so long."""

    status: int
    text: str = ""
    retry_after: float | None = None


class NoAnswer(NamedTuple):
    """No answer, and why. is_away: nobody there, so there is no sense in asking the next."""

    why: str
    is_away: bool = True


def ask(
    request: ServiceRequest,
    *,
    wait_seconds: float = WAIT_SECONDS,
    whole_seconds: float = WHOLE_SECONDS,
    size_limit: int = SIZE_LIMIT,
) -> ServiceAnswer | NoAnswer:
    """Ask the service: `wait_seconds` for each byte, `whole_seconds` for all. Never raises."""
    # Costs 12 ms and two megabytes that a machine in no cloud need not pay.
    import http.client
    import socket
    from urllib.parse import urlsplit

    place = urlsplit(request.base)
    deadline = Deadline(wait_seconds, whole_seconds)
    try:
        with socket.create_connection(
            (place.hostname or "", place.port or 80), deadline.left()
        ) as line:
            line.sendall(_request(request, place.netloc))
            # Whatever the head and the chunks claim of their length, no more than this is read.
            reader = BoundedSocket(line, deadline.left, 2 * size_limit + HEAD_BYTES)
            answer = http.client.HTTPResponse(reader, method=request.method)  # type: ignore[arg-type]
            answer.begin()
            body = answer.read(size_limit + 1)
            pause = answer.getheader("Retry-After", "")
    except TimeoutError:
        words = (
            f"whole answer within {whole_seconds:g}"
            if deadline.is_over
            else f"byte for {wait_seconds:g}"
        )
        return NoAnswer(f"{request.base}: no {words} s")
    except LongError:
        return NoAnswer(f"{request.path}: more than {size_limit:,} bytes", is_away=False)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return NoAnswer(f"{request.base}: {error or type(error).__name__}")
    if len(body) > size_limit:
        return NoAnswer(f"{request.path}: more than {size_limit:,} bytes", is_away=False)
    if answer.length:
        return NoAnswer(
            f"{request.path}: cut off {answer.length:,} bytes before its end", is_away=False
        )
    retry_after = float(pause) if re.fullmatch(r"\d{1,5}", pause) else None
    return ServiceAnswer(answer.status, body.decode("utf-8", "replace"), retry_after)


def _request(request: ServiceRequest, host: str) -> bytes:
    length = (("Content-Length", "0"),) if request.method == "PUT" else ()
    fields = (("Host", host), ("Connection", "close"), *length, *request.headers)
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"{request.method} {request.path} HTTP/1.1\r\n{head}\r\n".encode("ascii")


class Deadline:
    """`wait_seconds` for each part of an answer, `whole_seconds` for all of it, from now on."""

    def __init__(self, wait_seconds: float, whole_seconds: float) -> None:
        self._wait = wait_seconds
        self._ends = time.monotonic() + whole_seconds

    def left(self) -> float:
        """Seconds for which the next part may be waited for. Raises TimeoutError: none are left."""
        remaining = self._ends - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        return min(self._wait, remaining)

    @property
    def is_over(self) -> bool:
        """Whether all of the time is gone."""
        return time.monotonic() >= self._ends


class LongError(Exception):
    """More came than is read."""


class BoundedSocket(io.RawIOBase):
    """A socket as HTTPResponse wants it, whose reads all end in time, however slow the bytes,
    and after `most_bytes`, however many come.
    """

    def __init__(self, line: socket.socket, left: Callable[[], float], most_bytes: int) -> None:
        self._line = line
        self._left = left
        self._bytes_left = most_bytes

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._line.settimeout(self._left())
        count = self._line.recv_into(buffer)
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise LongError
        return count
