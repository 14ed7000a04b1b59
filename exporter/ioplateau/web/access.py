"""Who may come in: TLS, passwords and a rate limit, as web.accessfile reads them. Open without."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ioplateau.logs import event
from ioplateau.web.expiry import iso_time
from ioplateau.web.http1 import NO_HEADERS, Request, Response, text

if TYPE_CHECKING:
    from ioplateau.web.passwords import Users
    from ioplateau.web.tls import Tls

LOG = logging.getLogger(__name__)


class RequestBucket:
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


class Access(NamedTuple):
    """What holds for every request. Without anything: open."""

    tls: Tls | None = None
    users: Users | None = None
    bucket: RequestBucket | None = None
    open_paths: frozenset[str] = frozenset()
    headers: Mapping[str, str] = NO_HEADERS

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
    from ioplateau.web.passwords import CHALLENGE

    return text(401, "Name and password, please.", CHALLENGE)


def described(access: Access) -> str:
    """What a log line says of it."""
    parts: list[str] = []
    if access.tls:
        parts.append(f"TLS, certificate valid until {iso_time(access.tls.valid_until)}")
        parts.append(f"client_auth_type {access.tls.client_auth}")
    if access.users:
        parts.append(f"passwords of {access.users.count} users")
    return "; ".join(parts) or "open"


def announce(access: Access) -> None:
    """Say at the start who may come in."""
    if not access.tls and not access.users:
        event(LOG, logging.INFO, "served openly: no TLS, no authentication",
              see="--web.config.file")  # fmt: skip
        return
    event(LOG, logging.INFO, "web configuration", access=described(access))
    if not access.tls:
        event(LOG, logging.WARNING, "passwords without TLS can be read on their way",
              want="tls_server_config")  # fmt: skip
