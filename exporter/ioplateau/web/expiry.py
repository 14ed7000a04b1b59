"""Says once that the certificate in force ends soon, and once that it has ended."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from ioplateau.logs import event

LOG = logging.getLogger(__name__)

# Whoever renews by machine does it a third of the lifetime, or 30 days, before the end: what is
# left is too little only if that failed. A certificate of a day has hours.
SOON_SECONDS = 14 * 86400.0
SOON_RATIO = 0.25


class Expiry:
    """Looks at the certificate in force again and again; each is warned of by itself."""

    def __init__(self) -> None:
        self._warned_of: tuple[float, bool] | None = None

    def look(self, valid_from: float, valid_until: float, wall: float) -> None:
        """`wall` and the certificate's two ends: seconds since 1970."""
        soon = min(SOON_SECONDS, SOON_RATIO * (valid_until - valid_from))
        if valid_until - wall > soon:
            return
        has_ended = wall >= valid_until
        if self._warned_of == (valid_until, has_ended):
            return
        self._warned_of = (valid_until, has_ended)
        until = iso_time(valid_until)
        if has_ended:
            event(LOG, logging.ERROR, "the certificate has expired, clients refuse it",
                  valid_until=until, want="a new one in its place, no restart")  # fmt: skip
        else:
            event(LOG, logging.WARNING, "the certificate expires soon",
                  valid_until=until, want="a new one in its place, no restart")  # fmt: skip


def iso_time(seconds: float) -> str:
    """Seconds since 1970 as people write them: 2026-11-21T17:00:00Z."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
