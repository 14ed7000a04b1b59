"""For how long we keep what is known of a disk or a mount that is absent: gone, or not seen since a restart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf

from ioplateau.measure.mappings import NO_ENTRIES

# Runs and the time between them together: who comes later under that name may be another.
MOST_SECONDS = 86400.0
# Of what goes while the daemon runs: it was left out of a reading, or is mounted again.
MOST_GONE_SECONDS = 60.0
# Names that an earlier run waited for already.
MOST_AWAITED = 200


class Absences:
    """For how long each name has been absent: in runs that saw nothing of it, and in this one."""

    def __init__(self) -> None:
        # Seconds away until this run; of what went in it, so many that it is over a minute later.
        self._before: Mapping[str, float] = NO_ENTRIES
        self._passed = 0.0  # seconds of this run
        self._due = inf  # of this run, when some may be over

    def restore(self, saved: Mapping[str, float], away_seconds: float) -> None:
        """Take back what `memory` gave, `away_seconds` ago."""
        self._before = {name: seconds + away_seconds for name, seconds in saved.items()}
        self._due = 0.0

    def wait_for(self, names: Collection[str]) -> None:
        """These are gone, and waited for from now on."""
        left = MOST_SECONDS - MOST_GONE_SECONDS - self._passed
        self._before = {**self._before, **dict.fromkeys(names, left)}
        self._due = min(self._due, self._passed + MOST_GONE_SECONDS)

    def rename(self, names: Mapping[str, str]) -> None:
        """These have other names now."""
        self._before = {names.get(name, name): away for name, away in self._before.items()}

    def is_due(self, passed: float) -> bool:
        """Whether to look for what is over, `passed` seconds later."""
        self._passed += passed
        return self._passed >= self._due

    def over(self, waiting: Collection[str]) -> set[str]:
        """Those of the names waited for that were away for too long, or longer than enough others."""
        before = {name: self._before.get(name, 0.0) for name in waiting}
        known = sorted(self._before.keys() & before.keys(), key=before.__getitem__)
        gone = {*known[MOST_AWAITED:]}
        gone |= {name for name, away in before.items() if away + self._passed >= MOST_SECONDS}
        left = {name: away for name, away in before.items() if name not in gone}
        self._before = {name: left[name] for name in self._before if name in left}
        self._due = MOST_SECONDS - max(left.values()) if left else inf
        return gone

    def memory(self, waiting: Collection[str]) -> dict[str, float]:
        """What must survive a restart: seconds by each name waited for."""
        return {name: self._before.get(name, 0.0) + self._passed for name in sorted(waiting)}
