"""Episodes in the log: a line when one begins and one when it ends, seldom enough to be read."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from typing import Any

from ioplateau.history.episodes import Change, Episode
from ioplateau.limits.budgets import BudgetKey
from ioplateau.logs import event
from ioplateau.tell import formatting

LOG = logging.getLogger(__name__)

# A budget that comes and goes all day is worth a line a few times, then now and then.
MOST_EPISODES, WITHIN_SECONDS = 3, 600.0


class EpisodeLog:
    """Remembers what was told of each budget."""

    def __init__(self) -> None:
        self._logged_at: dict[BudgetKey, deque[float]] = {}  # when a begin was told
        # Whose begin was not told. One that an earlier run began is not among them.
        self._untold: set[BudgetKey] = set()
        self._silent: dict[BudgetKey, int] = {}  # episodes that were not

    def tell(self, changes: Iterable[Change], now: float) -> None:
        """Log what began and what ended. now: CLOCK_MONOTONIC seconds."""
        for episode, is_end in changes:
            key = episode.key
            if not is_end:
                if self._may_tell(key, now):
                    _began(episode, self._silent.pop(key, None))
                else:
                    self._untold.add(key)
                    self._silent[key] = self._silent.get(key, 0) + 1
            elif key in self._untold:
                self._untold.discard(key)
            else:
                _ended(episode)
        if len(self._logged_at) > 1000:  # budgets that are no more
            self._logged_at = {
                key: logged_at
                for key, logged_at in self._logged_at.items()
                if now - logged_at[-1] < 86400
            }

    def _may_tell(self, key: BudgetKey, now: float) -> bool:
        logged_at = self._logged_at.setdefault(key, deque(maxlen=MOST_EPISODES))
        if len(logged_at) == MOST_EPISODES and now - logged_at[0] < WITHIN_SECONDS:
            return False
        logged_at.append(now)
        return True


def _began(episode: Episode, unlogged: int | None) -> None:
    event(
        LOG,
        logging.INFO,
        "episode began",
        **_named(episode),
        what=formatting.valid(episode.sentence) or None,
        suppressed_episodes=unlogged,
    )


def _ended(episode: Episode) -> None:
    lasted = None
    if episode.ended is not None:
        # Where the clock was set back meanwhile, the seconds that were counted are more.
        lasted = formatting.duration(max(episode.ended - episode.began, episode.held_seconds))
    event(
        LOG,
        logging.INFO,
        "episode ended",
        **_named(episode),
        lasted=lasted,
        interruptions=episode.interruptions or None,
        requests_waiting=_rounded(episode.requests_waiting),
        waited=formatting.duration(episode.waited_seconds) if episode.waited_seconds else None,
        top_consumer=formatting.valid(episode.drew_most) or None,
    )


def _named(episode: Episode) -> dict[str, Any]:
    """What both lines begin with."""
    return {
        "kind": str(episode.kind),
        "name": formatting.valid(episode.name),
        "verdict": str(episode.word),
        "limit": formatting.limit_of(episode) or None,
        "origin": episode.origin and str(episode.origin),
    }


def _rounded(value: float | None) -> str | None:
    return None if value is None else formatting.figures(value)
