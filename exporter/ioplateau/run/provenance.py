"""What a recording says of where it was made: so that it replays with the same words elsewhere.

Recordings come from strangers: everything is checked before anything of it is used.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from ioplateau import __version__
from ioplateau.engine import EngineSettings
from ioplateau.limits.budgets import Budget, Direction
from ioplateau.limits.claims import ConfiguredLimit, DiskFact, VmFact, VolumeFact
from ioplateau.limits.clouds.discover import NO_FACTS, Facts
from ioplateau.limits.topology import Rules

T = TypeVar("T", ConfiguredLimit, VolumeFact, VmFact, DiskFact)

KEY = "provenance"  # in the header
LIMITS = "limits_in_force"  # in the snapshot from which on they hold
MOST_RULES = 1000
MOST_LETTERS = 4096


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
    return {
        "host": provenance.host,
        "ioplateau": provenance.version,
        "limits": [rule._asdict() for rule in provenance.rules.limits],
        "volumes": [rule._asdict() for rule in provenance.rules.volumes],
        "vm": None if provenance.facts.vm is None else provenance.facts.vm._asdict(),
        "disks": [fact._asdict() for fact in provenance.facts.disks],
        "rate_window_seconds": provenance.rate_window_seconds,
        "asks_cloud": provenance.asks_cloud,
        "learned": provenance.learned,
    }


def from_json(value: Any) -> Provenance:
    """What a header holds. Raises ValueError or TypeError with what is wrong in it."""
    if not isinstance(value, dict):
        raise TypeError(f"{KEY}: found {type(value).__name__}, want an object")
    window, learned = value.get("rate_window_seconds"), value.get("learned")
    if window is not None and not (_is_number(window) and 0 < window <= 3600):
        raise ValueError(f"{KEY}: rate_window_seconds is {window!r:.40}, want 0 to 3600")
    if learned is not None and not isinstance(learned, dict):
        raise ValueError(f"{KEY}: learned is {type(learned).__name__}, want an object")
    vm = value.get("vm")
    return Provenance(
        _text(value.get("host", "")),
        _text(value.get("ioplateau", "")),
        Rules(_all(ConfiguredLimit, value, "limits"), _all(VolumeFact, value, "volumes")),
        Facts(None if vm is None else _one(VmFact, vm), _all(DiskFact, value, "disks")),
        None if window is None else float(window),
        value.get("asks_cloud") is not False,
        learned,
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


def _all(kind: type[T], value: Mapping[str, Any], name: str) -> tuple[T, ...]:
    rules = value.get(name) or []
    if not isinstance(rules, list) or len(rules) > MOST_RULES:
        raise ValueError(f"{KEY}: {name} is no list of at most {MOST_RULES}")
    return tuple(_one(kind, each) for each in rules)


def _one(kind: type[T], value: Any) -> T:
    """A rule of the configuration; keys that a newer version has are passed over."""
    if not isinstance(value, dict):
        raise TypeError(f"{KEY}: found {type(value).__name__}, want an object")
    found: dict[str, Any] = {}
    for name, annotation in kind.__annotations__.items():
        if name in value:
            each = value[name]
            wanted = _words(annotation)
            if not _FITS[wanted](each):
                raise ValueError(f"{KEY}: {name} is {each!r:.60}, want {wanted}")
            found[name] = Direction(each) if wanted == "Direction" else each
    try:
        return kind(**found)
    except TypeError as error:
        raise ValueError(f"{KEY}: {error}") from error


def _words(annotation: Any) -> str:
    """typing.NamedTuple keeps them as a ForwardRef."""
    return str(getattr(annotation, "__forward_arg__", annotation))


def _text(value: Any) -> str:
    if not _is_text(value):
        raise ValueError(f"{KEY}: found {value!r:.60}, want text")
    return str(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MOST_LETTERS


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# By the annotations of the rules.
_FITS: Mapping[str, Callable[[Any], bool]] = {
    "str": _is_text,
    "str | None": lambda value: value is None or _is_text(value),
    "float | None": lambda value: value is None or (_is_number(value) and value > 0),
    "int | None": lambda value: value is None or _is_whole(value),
    "bool": lambda value: isinstance(value, bool),
    "bool | None": lambda value: value is None or isinstance(value, bool),
    "Direction": lambda value: _is_text(value) and value in list(Direction),
}
