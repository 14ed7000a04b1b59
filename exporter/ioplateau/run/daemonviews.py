"""Views of a running daemon, asked over HTTP: its verdicts, its limits and its history are there at once."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from ioplateau.history import Episode
from ioplateau.measure.linklocal import HEAD_BYTES, BoundedSocket, Deadline, LongError
from ioplateau.run.commanderror import CommandError
from ioplateau.run.daemonaddress import DaemonAddress
from ioplateau.run.views import TickView, ViewSource
from ioplateau.saved import UNSOUND
from ioplateau.tell import apiview, formatting
from ioplateau.tell.view import BudgetView
from ioplateau.web.listen import split_address

# Of a machine that is short of everything, too; where nobody listens the answer comes at once.
PROBE_SECONDS = 1.0
ANSWER_SECONDS = 5.0
EVERY_SECONDS = 1.0
EPISODES_SECONDS = 5.0
TRAIL_SECONDS = 900
MOST_ERROR_LETTERS = 300
# Of the row whose detail is open; after so long nobody looks at it any more.
WANTED_SECONDS = 3.0
# A whole answer may take so many times what is waited for a part of it: it is long, and the line slow.
WHOLE_TIMES = 4.0
MOST_BYTES = 64 << 20  # of an answer: some 20,000 budgets
HIGHEST = 1e100  # a number beyond is none that was measured, and not every sum of it can be told


class NoDaemonError(CommandError):
    """Nobody there whose answer we understand, in a sentence."""


class DaemonViews(ViewSource):
    """Asks the daemon every so many seconds.

    Raises NoDaemonError if it does not answer, or not what we understand.
    """

    def __init__(self, daemon: DaemonAddress, every_seconds: float = EVERY_SECONDS) -> None:
        super().__init__()
        self._daemon = daemon
        self._every = every_seconds
        self._ends = threading.Event()
        self._before: Any = None
        self._episodes: tuple[Episode, ...] = ()
        self._episodes_due = 0.0
        self._trails: dict[tuple[str, str], Sequence[float | None]] = {}
        self._wanted: tuple[float, BudgetView] | None = None
        self.origin = f"daemon at {daemon.place}"
        self._first = self._look(PROBE_SECONDS)

    def trail(self, budget: BudgetView) -> Sequence[float | None]:
        self._wanted = time.monotonic(), budget
        return self._trails.get(budget.key, ())

    def _look(self, seconds: float) -> Any:
        try:
            answer = ask(self._daemon, "/api/v1/state", seconds)
            seen = apiview.view_of(answer, self._before)
        except UNSOUND as error:
            raise NoDaemonError(
                f"{self._daemon.url} answers as no ioplateau {error!r:.200}"
            ) from error
        self._before = answer
        return seen

    def _watch(self) -> None:
        seen, since, origin = self._first, time.time(), self.origin
        while True:
            self._renew_episodes()
            self.put(TickView(seen._replace(episodes=self._episodes)))
            self._renew_trail()
            if self._ends.wait(self._every):
                return
            try:
                seen, since, self.origin = self._look(ANSWER_SECONDS), time.time(), origin
            except NoDaemonError:
                clock = time.strftime("%H:%M:%S", time.localtime(since))
                self.origin = f"{origin}: NO ANSWER since {clock}"

    def _renew_episodes(self) -> None:
        if time.monotonic() < self._episodes_due:
            return
        self._episodes_due = time.monotonic() + EPISODES_SECONDS
        try:
            answer = ask(self._daemon, "/api/v1/episodes", ANSWER_SECONDS)
            self._episodes = apiview.episodes_of(answer)[::-1]
        except (NoDaemonError, *UNSOUND):
            return  # the views tell that it does not answer

    def _renew_trail(self) -> None:
        if self._wanted is None or time.monotonic() - self._wanted[0] > WANTED_SECONDS:
            return
        budget = self._wanted[1]
        nearest = budget.nearest
        if nearest is None:
            return
        asked = {
            "kind": budget.kind,
            "name": budget.name,
            "dimension": nearest.dimension,
            "direction": nearest.direction,
            "seconds": TRAIL_SECONDS,
        }
        try:
            found = ask(self._daemon, f"/api/v1/series?{urlencode(asked)}", ANSWER_SECONDS)
            self._trails[budget.key] = _by_second(found["at"], found["share"])
        except (NoDaemonError, *UNSOUND):
            return  # the views tell that it does not answer

    def _end(self) -> None:
        self._ends.set()


def _by_second(at: Sequence[int], shares: Sequence[float | None]) -> Sequence[float | None]:
    """One value a second; where there is none, nothing is known."""
    if not at:
        return ()
    if not 0 <= at[-1] - at[0] <= 2 * TRAIL_SECONDS:
        raise ValueError(f"seconds from {at[0]} to {at[-1]}, want {TRAIL_SECONDS} at most")
    found: list[float | None] = [None] * (at[-1] - at[0] + 1)
    for second, share in zip(at, shares, strict=True):
        found[second - at[0]] = share
    return found


def ask(daemon: DaemonAddress, path: str, seconds: float) -> Any:
    """The JSON that a daemon answers. Raises NoDaemonError with a sentence.

    Waits `seconds` for each part of the answer, WHOLE_TIMES as long for all.
    """
    url = daemon.url
    deadline = Deadline(seconds, WHOLE_TIMES * seconds)
    try:
        answer, body = _get(daemon, path, seconds, deadline)
        if answer.status != http.client.OK:
            raise NoDaemonError(f"{url} {_refusal(daemon, answer, body)}")
        return json.loads(body, parse_float=_number, parse_int=_number, parse_constant=_number)
    except ssl.SSLCertVerificationError as error:
        why = error.verify_message.rstrip(".")
        raise NoDaemonError(
            f"{url}: its certificate: {why}; --ca-file says who signs them"
        ) from error
    except ssl.SSLError as error:
        raise NoDaemonError(f"{url}: {_of_tls(error)}") from error
    except TimeoutError as error:
        words = (
            f"whole answer within {WHOLE_TIMES * seconds:g}"
            if deadline.is_over
            else f"answer for {seconds:g}"
        )
        raise NoDaemonError(f"{url}: no {words} s") from error
    except OSError as error:
        raise NoDaemonError(f"{url}: {error.strerror or error}") from error
    except LongError as error:
        raise NoDaemonError(f"{url} answers more than {MOST_BYTES:,} bytes") from error
    except (ValueError, RecursionError, http.client.HTTPException) as error:
        raise NoDaemonError(f"{url} answers as no ioplateau: {error!r:.200}") from error


def _get(
    daemon: DaemonAddress, path: str, seconds: float, deadline: Deadline
) -> tuple[http.client.HTTPResponse, bytes]:
    """What is answered, with its body, read until the deadline."""
    parts = urlsplit(daemon.url)
    headers = {"Authorization": daemon.authorization} if daemon.authorization else {}
    connection = (
        http.client.HTTPConnection(parts.netloc, timeout=seconds)
        if daemon.context is None
        else http.client.HTTPSConnection(parts.netloc, timeout=seconds, context=daemon.context)
    )
    try:
        connection.request("GET", parts.path.rstrip("/") + path, headers=headers)
        # Whoever holds the port answers: no more is read and waited for than of a daemon.
        reader = BoundedSocket(connection.sock, deadline.left, MOST_BYTES + HEAD_BYTES)
        answer = http.client.HTTPResponse(reader, method="GET")  # type: ignore[arg-type]
        answer.begin()
        return answer, answer.read()
    finally:
        connection.close()


def _refusal(daemon: DaemonAddress, answer: http.client.HTTPResponse, body: bytes) -> str:
    """What it says instead of an answer, as far as it tells why."""
    if answer.status == http.client.UNAUTHORIZED:
        wrong = "wants a name and a password"
        if daemon.authorization:
            wrong = "does not take this name and password"
        return f"{wrong}: --url=https://NAME@... --password-file=FILE"
    why = _error(body)
    if not why and answer.status == http.client.BAD_REQUEST and daemon.context is None:
        why = "is it behind TLS, https://?"
    status = f"answers {answer.status} {formatting.printable(answer.reason)[:200]}"
    return f"{status}: {why}" if why else status


def _number(text: str) -> float:
    value = float(text)
    if not abs(value) < HIGHEST:  # nan as well
        raise ValueError(f"a number is {text[:40]}, want one below {HIGHEST:g}")
    return value if not text.lstrip("-").isdecimal() else int(text)


def _error(body: bytes) -> str:
    """What an ioplateau says is wrong with a question; "" where the answer is not its."""
    try:
        return formatting.printable(str(json.loads(body)["error"]))[:MOST_ERROR_LETTERS]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _of_tls(error: ssl.SSLError) -> str:
    words = (error.reason or str(error)).replace("_", " ").lower()
    if "certificate required" in words:
        return "wants a certificate of ours: --cert-file and --key-file"
    return f"no TLS that we understand ({words})"


def local_url(addresses: Sequence[str]) -> str:
    """Where a daemon on this machine answers, that listens on the first of `addresses`."""
    host, port = split_address(addresses[0])
    if host in {"", "0.0.0.0", "::"}:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
