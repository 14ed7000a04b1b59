"""Asks the cloud who we are, beside the loop: questions and answers on a thread of their own.

Which cloud it is, the DMI strings tell first. On a machine in no cloud that we know, nothing
is ever asked, so not one packet leaves.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ioplateau.limits.clouds import discover
from ioplateau.logs import event
from ioplateau.measure.snapshot import Static
from ioplateau.run.clock import Clock
from ioplateau.threads import AGAIN_SECONDS, started

if TYPE_CHECKING:
    from ioplateau.measure.linklocal import NoAnswer, ServiceAnswer, ServiceRequest
    from ioplateau.measure.metadata import Fetcher
    from ioplateau.run.settings import VolumeQuestions
    from ioplateau.run.volumes import VolumeTypes

LOG = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS = 3600.0

# The daemon waits so long for each part of an answer, and for all of it: nobody waits for its thread, and a
# service under load takes seconds.
PART_SECONDS, ANSWER_SECONDS = 5.0, 10.0

# A question ends after linklocal.WHOLE_SECONDS at the latest: five seconds in all.
ONCE_SECONDS = 3.0


def volume_types(settings: VolumeQuestions, clock: Clock) -> VolumeTypes | None:
    """Who finds out what EBS volumes were sold as; None: nobody is to."""
    if not (settings.file or settings.describe):
        return None
    from ioplateau.run.volumes import VolumeTypes  # 500 KiB with what it needs of AWS

    return VolumeTypes(settings, clock)


def fetch_once(
    static: Static,
    clock: Clock,
    volumes: VolumeTypes | None,
    ask: Callable[[ServiceRequest], ServiceAnswer | NoAnswer] | None = None,
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The documents of the cloud that the DMI strings name, and why one is missing.

    For commands that look once; nothing is asked on a machine in no cloud. ask: of whom, if not of
    the metadata service.
    """
    from ioplateau.measure import linklocal
    from ioplateau.measure.metadata import Fetcher

    cloud = discover.detect(static.files)
    fetcher = Fetcher(discover.wanted(cloud))
    ends = clock.mono() + ONCE_SECONDS
    while (now := clock.mono()) < ends and (request := fetcher.next(now)) is not None:
        answer = (ask or linklocal.ask)(request)
        fetcher.take(clock.mono(), answer)
    known, why_not = _told(fetcher, volumes, cloud, static)
    return known, tuple(f"metadata {name}: {why}" for name, why in why_not.items())


def _told(
    fetcher: Fetcher, volumes: VolumeTypes | None, cloud: str, static: Static
) -> tuple[dict[str, str], dict[str, str]]:
    """Every document that is known, and why one is missing."""
    known, why_not = dict(fetcher.known()), dict(fetcher.reasons())
    if volumes is not None:
        known |= volumes.look(cloud, known, static)
        why_not |= volumes.reasons
    return known, why_not


class Metadata:
    """The machine's metadata documents, kept current. `begin` may be called again and again."""

    def __init__(
        self,
        clock: Clock,
        tell: Callable[[Mapping[str, str]], None],
        refresh_seconds: float,
        volumes: VolumeTypes | None,
        again_seconds: float = AGAIN_SECONDS,
    ) -> None:
        """again_seconds: when to ask again after a defect ended it."""
        self._clock = clock
        self._tell = tell
        self._refresh_seconds = refresh_seconds
        self._volumes = volumes
        self._again_seconds = again_seconds
        self._cloud: str | None = None
        self._static = Static()
        self._stop = threading.Event()

    def begin(self, static: Static) -> None:
        """Start asking, once the machine's DMI strings are known; the first call decides. Later ones
        tell how the machine looks now.
        """
        self._static = static
        if self._cloud is not None or not static.files:
            return
        cloud = self._cloud = discover.detect(static.files)
        if not cloud:
            event(LOG, logging.INFO, "no cloud that is known by its DMI, no metadata is asked for")
            return
        # What asks is needed in a cloud.
        from ioplateau.measure.metadata import Fetcher, FetchSettings

        settings = FetchSettings(refresh_seconds=self._refresh_seconds)
        fetcher = Fetcher(discover.wanted(cloud), settings=settings)
        if started("metadata", lambda: self._run(fetcher), self._again_seconds) is None:
            self._cloud = None
            return
        event(LOG, logging.INFO, "asking for metadata", cloud=cloud)

    def end(self) -> None:
        self._stop.set()

    def _run(self, fetcher: Fetcher) -> None:
        from ioplateau.measure.linklocal import ask

        known: Mapping[str, str] = {}
        reasons: Mapping[str, str] = {}
        while not self._stop.is_set():
            now = self._clock.mono()
            request = fetcher.next(now)
            if request is not None:
                answer = ask(request, wait_seconds=PART_SECONDS, whole_seconds=ANSWER_SECONDS)
                fetcher.take(self._clock.mono(), answer)
                continue
            documents, why_not = _told(fetcher, self._volumes, self._cloud or "", self._static)
            if documents != known:
                known = documents
                self._tell(known)
            reasons = _log_news(reasons, why_not)
            wait = min(max(fetcher.due_at() - self._clock.mono(), 0.1), LONGEST_WAIT_SECONDS)
            self._stop.wait(wait)


def _log_news(before: Mapping[str, str], now: Mapping[str, str]) -> Mapping[str, str]:
    for name, why in now.items():
        if before.get(name) != why:
            event(LOG, logging.WARNING, "metadata unavailable", document=name, why=why)
    for name in before.keys() - now.keys():
        event(LOG, logging.INFO, "metadata answers again", document=name)
    return dict(now)
