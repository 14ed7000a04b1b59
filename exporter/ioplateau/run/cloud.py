"""Asks the cloud who we are, beside the loop: questions and answers on a thread of their own.

Which cloud it is, the DMI strings tell first. On a machine in no cloud that we know, nothing
is ever asked, so not one packet leaves.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from ioplateau.judge.clouds import discover
from ioplateau.measure import linklocal
from ioplateau.measure.metadata import Fetcher, FetchSettings
from ioplateau.run.clock import Clock
from ioplateau.run.logs import event

LOG = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS = 3600.0

Ask = Callable[[linklocal.Request], "linklocal.Answer | linklocal.Silence"]


# A question ends after linklocal.WHOLE_SECONDS at the latest: five seconds in all.
ONCE_SECONDS = 3.0


def fetch_once(
    files: Mapping[str, str], clock: Clock, *, base: str | None = None, ask: Ask = linklocal.ask
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The documents of the cloud that the DMI strings name, and why one is missing.

    For commands that look once; nothing is asked on a machine in no cloud.
    """
    fetcher = Fetcher(discover.wanted(discover.detect(files)), base=base)
    ends = clock.mono() + ONCE_SECONDS
    while (now := clock.mono()) < ends and (request := fetcher.next(now)) is not None:
        answer = ask(request)
        fetcher.take(clock.mono(), answer)
    reasons = tuple(f"metadata {name}: {why}" for name, why in fetcher.reasons().items())
    return fetcher.known(), reasons


class Metadata:
    """The machine's metadata documents, kept current. `begin` may be called again and again."""

    def __init__(
        self,
        clock: Clock,
        tell: Callable[[Mapping[str, str]], None],
        *,
        settings: FetchSettings | None = None,
        base: str | None = None,
        ask: Ask = linklocal.ask,
    ) -> None:
        self._clock = clock
        self._tell = tell
        self._settings = settings or FetchSettings()
        self._base = base
        self._ask = ask
        self._cloud: str | None = None
        self._stop = threading.Event()

    def begin(self, files: Mapping[str, str]) -> None:
        """Start asking, once the machine's DMI strings are known; the first call decides."""
        if self._cloud is not None or not files:
            return
        self._cloud = discover.detect(files)
        if not self._cloud:
            event(LOG, logging.INFO, "no cloud that is known by its DMI, no metadata is asked for")
            return
        event(LOG, logging.INFO, "asking for metadata", cloud=self._cloud)
        fetcher = Fetcher(discover.wanted(self._cloud), self._base, self._settings)
        threading.Thread(target=self._run, args=(fetcher,), name="metadata", daemon=True).start()

    def end(self) -> None:
        self._stop.set()

    def _run(self, fetcher: Fetcher) -> None:
        known: Mapping[str, str] = {}
        reasons: Mapping[str, str] = {}
        while not self._stop.is_set():
            now = self._clock.mono()
            request = fetcher.next(now)
            if request is not None:
                answer = self._ask(request)
                fetcher.take(self._clock.mono(), answer)
                continue
            if fetcher.known() != known:
                known = dict(fetcher.known())
                self._tell(known)
            reasons = _log_news(reasons, fetcher.reasons())
            wait = min(max(fetcher.due_at() - self._clock.mono(), 0.1), LONGEST_WAIT_SECONDS)
            self._stop.wait(wait)


def _log_news(before: Mapping[str, str], now: Mapping[str, str]) -> Mapping[str, str]:
    for name, why in now.items():
        if before.get(name) != why:
            event(LOG, logging.WARNING, "metadata not to be had", document=name, why=why)
    for name in before.keys() - now.keys():
        event(LOG, logging.INFO, "metadata answers again", document=name)
    return dict(now)
