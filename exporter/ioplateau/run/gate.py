"""Who may come in: what web-config.yml says, in force, and read again when a file changes."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ioplateau.run import webconfig
from ioplateau.run.expiry import Expiry, spelt
from ioplateau.run.http1 import Request, Response, text
from ioplateau.run.logs import event
from ioplateau.run.passwords import CHALLENGE, Users
from ioplateau.run.webconfig import WebConfig, WebConfigError
from ioplateau.run.webkeys import ProblemsError

if TYPE_CHECKING:
    from ioplateau.run.tls import Tls

LOG = logging.getLogger(__name__)
# A look is a stat() of four files: nothing, but not for each connection of a flood.
LOOK_SECONDS = 1.0
MOST_BYTES = 1 << 20
Stamp: TypeAlias = Mapping[str, tuple[int, ...] | None]


class Bucket:
    """`burst` requests at once, then one every `seconds`."""

    def __init__(self, seconds: float, burst: int) -> None:
        self._seconds, self._burst = seconds, burst
        self._tokens, self._at = float(burst), 0.0

    def take(self, mono: float) -> bool:
        """Whether one more is allowed at `mono` (seconds)."""
        gained = (mono - self._at) / self._seconds if self._at else 0.0
        self._tokens, self._at = min(self._burst, self._tokens + gained), mono
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


@dataclass(frozen=True, slots=True)
class Gate:
    """What holds for every request. Without anything: open."""

    tls: Tls | None = None
    users: Users | None = None
    bucket: Bucket | None = None
    open_paths: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)

    def refuse(self, request: Request, mono: float) -> Response | None:
        """At once: the answer to a request that may not come in; None: it may, or `check` it."""
        if self.bucket and not self.bucket.take(mono):
            return text(429, "Too many requests: the rate limit of web-config.yml.")
        if self._asks(request) and self._known(request) is False:
            return unauthorized()
        return None

    def needs_check(self, request: Request) -> bool:
        """Whether only `check` can tell."""
        return self._asks(request) and self._known(request) is None

    def check(self, request: Request) -> Response | None:
        """As `refuse`, for as long as bcrypt takes."""
        if not self.users or self.users.check(request.headers.get("authorization", "")):
            return None
        return unauthorized()

    def _asks(self, request: Request) -> bool:
        return self.users is not None and request.path not in self.open_paths

    def _known(self, request: Request) -> bool | None:
        said = request.headers.get("authorization", "")
        return self.users.known(said) if self.users else None


def unauthorized() -> Response:
    """401, and how to do better."""
    return text(401, "Name and password, please.", CHALLENGE)


class GateFile:
    """The gate as the file at `path` describes it. Raises WebConfigError at the beginning.

    Later `look` takes a changed file; a broken one leaves the old gate, and is logged once.
    So is a certificate that ends. wall: the clock that certificates are held to.
    """

    def __init__(self, path: str, wall: Callable[[], float] = time.time) -> None:
        self._path = Path(path)
        self._wall = wall
        self._expiry = Expiry()
        self._others: tuple[str, ...] = ()
        self._look_at = 0.0
        self._stamp: Stamp = {}
        self._gate = self._made()

    @property
    def gate(self) -> Gate:
        return self._gate

    def look(self, mono: float) -> Gate:
        """The gate in force, read again if a file changed; looks at most once a second."""
        if mono >= self._look_at:
            self._look_at = mono + LOOK_SECONDS
            stamp = self._stamps()
            if stamp != self._stamp:
                self._stamp = stamp
                self._take()
            if tls := self._gate.tls:
                self._expiry.look(tls.valid_from, tls.valid_until, self._wall())
        return self._gate

    def _take(self) -> None:
        try:
            fresh = self._made()
            self._must_protect(fresh)
        except WebConfigError as error:
            for problem in error.problems:
                event(LOG, logging.ERROR, "web configuration not taken, the old one stays",
                      why=problem)  # fmt: skip
        else:
            self._gate = fresh
            event(LOG, logging.INFO, "web configuration reloaded", gate=described(fresh))

    def _must_protect(self, fresh: Gate) -> None:
        # An editor empties a file before it writes it; a slip must not open the doors.
        for name, before, after in (
            ("tls_server_config", self._gate.tls, fresh.tls),
            ("basic_auth_users", self._gate.users, fresh.users),
        ):
            if before and not after:
                raise WebConfigError(
                    str(self._path), [f"{name} is gone; that takes a restart if it is meant"]
                )
        if fresh.tls and not self._gate.tls:
            raise WebConfigError(
                str(self._path), ["tls_server_config is new: http to https takes a restart"]
            )

    def _made(self) -> Gate:
        own = _stamp(str(self._path))  # before reading: what changes meanwhile is seen next time
        try:
            with open(self._path, "rb") as file:
                content, mode = file.read(MOST_BYTES), os.fstat(file.fileno()).st_mode
        except OSError as error:
            raise WebConfigError(str(self._path), [error.strerror or repr(error)]) from error
        try:
            config = webconfig.parse(content)
            self._others = tuple(str(self._path.parent / name) for name in config.files)
            self._stamp = {**self._stamps(), str(self._path): own}
            return _gate(config, self._path.parent, mode, self._wall())
        except ProblemsError as error:
            raise WebConfigError(str(self._path), error.problems) from error

    def _stamps(self) -> Stamp:
        return {name: _stamp(name) for name in (str(self._path), *self._others)}


def _gate(config: WebConfig, base: Path, mode: int, wall: float) -> Gate:
    problems: list[str] = []
    tls, users = None, None
    try:
        if config.tls:
            tls = _tls(config.tls, base, mode, wall)
    except ProblemsError as error:
        problems += error.problems
    try:
        users = Users(config.users) if config.users else None
    except ProblemsError as error:
        problems += error.problems
    if problems:
        raise ProblemsError(problems)
    bucket = Bucket(config.rate_seconds, config.rate_burst) if config.rate_seconds else None
    return Gate(tls, users, bucket, config.open_paths, config.headers)


def _tls(config: webconfig.TlsConfig, base: Path, mode: int, wall: float) -> Tls:
    from ioplateau.run import tls

    return tls.Tls(config, tls.read(config, base, mode), wall)


def _stamp(name: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size


def described(gate: Gate) -> str:
    """What a log line says of it."""
    parts: list[str] = []
    if gate.tls:
        parts.append(f"TLS, certificate valid until {spelt(gate.tls.valid_until)}")
    if gate.users:
        parts.append(f"passwords of {gate.users.count} users")
    return "; ".join(parts) or "open"


def announce(gate: Gate) -> None:
    """Say at the start who may come in."""
    if not gate.tls and not gate.users:
        event(LOG, logging.INFO, "served openly: no TLS, no authentication",
              see="--web.config.file")  # fmt: skip
        return
    event(LOG, logging.INFO, "web configuration", gate=described(gate))
    if not gate.tls:
        event(LOG, logging.WARNING, "passwords without TLS can be read on their way",
              want="tls_server_config")  # fmt: skip
