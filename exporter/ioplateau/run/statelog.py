"""What of a state is new and worth a line in the log: once, when it begins and when it ends."""

from __future__ import annotations

import logging
import re

from ioplateau.history.events import turned_sources
from ioplateau.logs import event
from ioplateau.measure.notice import Notice
from ioplateau.state import SourceState, State
from ioplateau.tell import failedsources

LOG = logging.getLogger(__name__)

# The same notice with other figures, or one of the same kind, is nothing new.
SILENT_SECONDS = 600.0
# Not those of names: sda1, limit[0].
_FIGURES = re.compile(r"(?<![\w\[])\d[\d.,]*")


class StateLog:
    """Remembers what was told."""

    def __init__(self) -> None:
        self._down: dict[str, float] = {}  # when each failing source was last seen to fail
        self._odd: set[str] = set()  # sources with lines that we do not understand
        self._notices: tuple[str, ...] = ()
        self._logged_at: dict[str, float] = {}  # when each notice was told, by its kind

    def tell(self, state: State) -> None:
        """Log what changed since the last state."""
        if self._down or not state.are_sources_well:
            for source in turned_sources(state, self._down):
                _tell_turn(source)
            for source in state.sources.values():
                self._tell_rejects(source)
        if state.notices != self._notices:
            self._tell_notices(state)

    def _tell_rejects(self, source: SourceState) -> None:
        if source.rejects and source.name not in self._odd:
            # Once: a line that is odd now is odd every second.
            self._odd.add(source.name)
            event(LOG, logging.WARNING, "source has lines we do not understand",
                  source=source.name, first=source.last_reject)  # fmt: skip

    def _tell_notices(self, state: State) -> None:
        now = state.mono
        recent = {kind: at for kind, at in self._logged_at.items() if now - at < SILENT_SECONDS}
        self._logged_at = dict(recent)
        gone = {_kind(notice) for notice in self._notices if notice not in state.notices}
        for notice in state.notices:
            kind = _kind(notice)
            if notice not in self._notices and kind not in gone and kind not in recent:
                event(LOG, logging.WARNING, "notice", what=notice)
                self._logged_at[kind] = now
        self._notices = state.notices


def _tell_turn(source: SourceState) -> None:
    if source.up:
        event(LOG, logging.INFO, "source answers again", source=source.name)
        return
    words = failedsources.sentence(source.name, source.why)
    event(LOG, logging.WARNING, "source failed", source=source.name, why=words)


def _kind(notice: str) -> str:
    """What tells it from others: where it has no kind of its own, its words without figures."""
    kind = notice.kind if isinstance(notice, Notice) else ""
    return kind or _FIGURES.sub("#", notice)
