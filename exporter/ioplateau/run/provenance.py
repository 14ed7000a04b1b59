"""What a recording says of where it was made: so that it replays with the same words elsewhere.

Recordings come from strangers: everything is checked before anything of it is used.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from ioplateau import __version__, saved
from ioplateau.engine import EngineSettings
from ioplateau.limits.budgets import Budget
from ioplateau.limits.claims import ConfiguredLimit, DiskFact, VmFact, VolumeFact
from ioplateau.limits.clouds.discover import NO_FACTS, Facts
from ioplateau.limits.topology import Rules

KEY = "provenance"  # in the header
LIMITS = "limits_in_force"  # in the snapshot from which on they hold
MOST_RULES = 1000


class Provenance(NamedTuple):
    """host, version: of who recorded. learned: what was known of unknown limits when it began, as
    the state file has it; None: nothing.
    """

    host: str = ""
    version: str = ""
    rules: Rules = Rules()
    facts: Facts = NO_FACTS
    rate_window_seconds: float | None = None
    asks_cloud: bool = True
    learned: Mapping[str, Any] | None = None


NOWHERE = Provenance()


class _Header(NamedTuple):
    """Provenance as it is written."""

    host: str = ""
    ioplateau: str = ""
    limits: tuple[ConfiguredLimit, ...] = ()
    volumes: tuple[VolumeFact, ...] = ()
    vm: VmFact | None = None
    disks: tuple[DiskFact, ...] = ()
    rate_window_seconds: Annotated[float, saved.Bounds(1e-3, 3600)] | None = None
    asks_cloud: bool = True
    learned: Mapping[str, Any] | None = None


def here(settings: EngineSettings, learned: Mapping[str, Any] | None) -> Provenance:
    """Of what is recorded now, with these settings."""
    return Provenance(
        os.uname().nodename,
        __version__,
        settings.rules,
        settings.facts,
        settings.rate_window_seconds,
        settings.asks_cloud,
        learned,
    )


def as_json(provenance: Provenance) -> dict[str, Any]:
    """For the header."""
    header = _Header(
        provenance.host,
        provenance.version,
        tuple(provenance.rules.limits),
        tuple(provenance.rules.volumes),
        provenance.facts.vm,
        tuple(provenance.facts.disks),
        provenance.rate_window_seconds,
        provenance.asks_cloud,
        provenance.learned,
    )
    found: dict[str, Any] = saved.write(header)
    return found


def from_json(value: Any) -> Provenance:
    """What a header holds. Raises saved.ShapeError with what is wrong in it."""
    header = saved.read(_Header, value, KEY)
    for rules in (header.limits, header.volumes, header.disks):
        if len(rules) > MOST_RULES:
            raise saved.ShapeError(f"{KEY}: found {len(rules)} rules, want at most {MOST_RULES}")
        for amount in (field for rule in rules for field in rule if isinstance(field, float)):
            if amount <= 0:
                raise saved.ShapeError(f"{KEY}: a rule has {amount:g}, want more than 0")
    return Provenance(
        header.host,
        header.ioplateau,
        Rules(header.limits, header.volumes),
        Facts(header.vm, header.disks),
        header.rate_window_seconds,
        header.asks_cloud,
        header.learned,
    )


def applied(provenance: Provenance, settings: EngineSettings) -> EngineSettings:
    """The settings to replay with: what is said here and now rules, else what was said there."""
    if settings.rules != Rules() or settings.facts != NO_FACTS:
        return settings
    return settings._replace(
        rules=provenance.rules,
        facts=provenance.facts,
        rate_window_seconds=provenance.rate_window_seconds or settings.rate_window_seconds,
        asks_cloud=settings.asks_cloud and provenance.asks_cloud,
    )


def limits_in_force(budgets: tuple[Budget, ...]) -> list[list[Any]]:
    """Kind, name, dimension, direction, value and source of every limit."""
    return [
        [*budget.key, limit.dimension, limit.direction, limit.value, limit.source]
        for budget in budgets
        for limit in budget.limits
    ]


def differences(recorded: Any, budgets: tuple[Budget, ...]) -> tuple[str, ...]:
    """A sentence for each limit that was another where it was recorded."""
    now = {tuple(row[:4]): row[4:] for row in limits_in_force(budgets)}
    found = []
    for row in recorded if isinstance(recorded, list) else ():
        is_row = (
            isinstance(row, list) and len(row) == 6 and all(isinstance(w, str) for w in row[:4])
        )
        if not is_row or not _is_number(row[4]):
            continue
        value, source = now.get(tuple(row[:4]), (None, ""))
        if value is None or not math.isclose(value, row[4], rel_tol=1e-6):
            here_is = "no limit" if value is None else f"{value:,.0f} ({source})"
            words = f"{row[0]} {row[1]}, {row[2]} {row[3]}"
            found.append(f"{words}: recorded with {row[4]:,.0f} ({row[5]!s:.80}), here {here_is}")
    return tuple(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
