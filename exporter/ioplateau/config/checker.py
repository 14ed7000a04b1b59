"""Holds a tree of settings against a table of keys and says everything that is wrong at once.

Knows nothing of our settings: a table maps sections to keys and keys to checks. Whatever
tree TOML can spell, `check` returns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

SHOWN_CHARACTERS = 60


class Check(NamedTuple):
    """What a key wants. accept: a TOML value to a setting, or ValueError; read: text of a
    flag or the environment to a TOML value, or ValueError; want_text: what that wants, if it is another thing.
    """

    want: str
    accept: Callable[[Any], Any]
    read: Callable[[str], Any]
    want_text: str = ""


class Section(NamedTuple):
    """A [table] of keys, or a [[table]] that may be repeated. called: other words for its keys."""

    keys: Mapping[str, Check]
    is_repeated: bool = False
    called: Mapping[str, str] = MappingProxyType({})


Table: TypeAlias = Mapping[str, Section]
# Accepted values by section: one mapping each, or a list of them for a repeated section.
# A key whose value was refused is None there: it was said, and TOML has no None of its own.
Values: TypeAlias = dict[str, Any]


def accepted(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that were not refused."""
    return {key: value for key, value in values.items() if value is not None}


def check(tree: Mapping[str, Any], table: Table) -> tuple[Values, list[str]]:
    """What could be accepted, and a sentence for each thing that could not."""
    values: Values = {name: [] if one.is_repeated else {} for name, one in table.items()}
    problems: list[str] = []
    for name, found in tree.items():
        section = table.get(name)
        if section is None:
            problems.append(f"{_key(name)}: {_unknown(name, found, table, table)}")
        elif section.is_repeated:
            values[name] = _repeated(name, found, table, problems)
        else:
            values[name] = _one(name, name, found, table, problems)
    return values, problems


def read(check: Check, words: str) -> Any:
    """A setting from the text of a flag or variable. Raises ValueError saying what is wrong."""
    try:
        return check.accept(check.read(words))
    except (ValueError, TypeError, OverflowError, OSError):
        raise ValueError(f"found {_shown(words)}, want {check.want_text or check.want}") from None


def _repeated(name: str, found: Any, table: Table, problems: list[str]) -> list[Any]:
    if not isinstance(found, list):
        problems.append(f"{name}: found {_shown(found)}, want [[{name}]] with two brackets")
        return []
    return [
        _one(name, f"{name}[{number}]", entry, table, problems)
        for number, entry in enumerate(found)
    ]


def _one(name: str, path: str, found: Any, table: Table, problems: list[str]) -> dict[str, Any]:
    if not isinstance(found, Mapping):
        wanted = "a table of keys" if table[name].is_repeated else f"a table, [{name}]"
        hint = _repeatable(name, table) if isinstance(found, list) else ""
        problems.append(f"{path}: found {_shown(found)}, want {wanted}{hint}")
        return {}
    values: dict[str, Any] = {}
    keys = table[name].keys
    for key, value in found.items():
        wish = keys.get(key)
        if wish is None:
            meant = table[name].called.get(key.lower())
            hint = f'; did you mean "{meant}"?' if meant in keys else ""
            problems.append(f"{path}.{_key(key)}: {_unknown(key, value, keys, table, hint)}")
            continue
        try:
            values[key] = wish.accept(value)
        except (ValueError, TypeError, OverflowError):
            values[key] = None
            problems.append(f"{path}.{key}: found {_shown(value)}, want {wish.want}")
    return values


def _repeatable(name: str, table: Table) -> str:
    from difflib import get_close_matches

    known = [each for each, section in table.items() if section.is_repeated]
    near = get_close_matches(name, known, n=1, cutoff=0.8)
    return f"; did you mean [[{near[0]}]]?" if near else ""


def _unknown(key: str, found: Any, here: Iterable[str], table: Table, hint: str = "") -> str:
    return f"unknown key (found {_shown(found)}){hint or f'; {_nearest(key, list(here), table)}'}"


def _nearest(key: str, here: list[str], table: Table) -> str:
    from difflib import get_close_matches  # only who has made a mistake needs it

    # Written in the wrong section, or at the top, where TOML puts what precedes a section.
    elsewhere = {leaf: f"{name}.{leaf}" for name, one in table.items() for leaf in one.keys}
    for known, spelled, cutoff in (
        ({name: name for name in here}, "{}", 0.6),
        ({name: name for name in table}, "section [{}]", 0.8),
        (elsewhere, "{}", 0.8),
    ):
        near = get_close_matches(key[:SHOWN_CHARACTERS], known, n=1, cutoff=cutoff)
        if near:
            return f'did you mean "{spelled.format(known[near[0]])}"?'
    return f"known here: {', '.join(sorted(here))}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", name) else _shown(name)


def _shown(value: Any) -> str:
    """A value about as TOML writes it, in one line of bearable length."""
    try:
        if isinstance(value, bool | str):
            said = json.dumps(value)
        elif isinstance(value, list | dict):
            said = f"a {'list' if isinstance(value, list) else 'table'} of {len(value)}"
        else:
            said = str(value)
    except ValueError:  # an integer of more than 4,300 digits has no text
        said = "a number of thousands of digits"
    return said if len(said) <= SHOWN_CHARACTERS else f"{said[:SHOWN_CHARACTERS]}..."


# The checks.


def number(low: float, high: float, unit: str) -> Check:
    """A number from `low` to `high`, both included."""
    want = f"a number from {low:g} to {high:g} ({unit})"
    return Check(want, lambda value: _within(value, low, high), float)


def above_zero(unit: str) -> Check:
    """A number that a rate or a size can be: above zero, at most 1e15."""
    want = f"a number above 0 and at most 1e15 ({unit})"
    return Check(want, lambda value: _within(value, 1e-9, 1e15), float)


def whole(low: int, high: int, unit: str = "") -> Check:
    """A whole number from `low` to `high`."""

    def accept(value: Any) -> int:
        _must(type(value) is int and low <= value <= high)
        return int(value)

    return Check(f"a whole number from {low} to {high}{unit and f' ({unit})'}", accept, int)


def text(want: str = "a text that is not empty", pattern: str = r"[^\x00-\x1f\x7f]+") -> Check:
    """A string that matches `pattern` as a whole."""

    def accept(value: Any) -> str:
        _must(isinstance(value, str) and re.fullmatch(pattern, value) is not None)
        return str(value)

    return Check(want, accept, str)


def choice(*words: str) -> Check:
    """One of `words`."""

    def accept(value: Any) -> str:
        _must(isinstance(value, str) and value in words)
        return str(value)

    return Check("one of " + ", ".join(f'"{word}"' for word in words), accept, str)


def boolean() -> Check:
    """True or false; in text also yes, no, on, off, 1, 0."""
    words = {"true": True, "yes": True, "on": True, "1": True}
    words |= {"false": False, "no": False, "off": False, "0": False}

    def accept(value: Any) -> bool:
        _must(isinstance(value, bool))
        return bool(value)

    def spelled(said: str) -> bool:
        _must(said.lower() in words)
        return words[said.lower()]

    return Check("true or false", accept, spelled)


def several(one: Check, *, empty: bool) -> Check:
    """A list of what `one` wants; in text separated by commas."""

    def accept(value: Any) -> tuple[Any, ...]:
        _must(isinstance(value, list) and (empty or bool(value)))
        return tuple(one.accept(entry) for entry in value)

    def spelled(said: str) -> list[Any]:
        return [one.read(part.strip()) for part in said.split(",") if part.strip()]

    return Check(f"a list{'' if empty else ', not empty,'} of: {one.want}", accept, spelled)


def _within(value: Any, low: float, high: float) -> float:
    # type(): true is an int too. Not a number compares false with everything.
    _must(type(value) in {int, float} and low <= value <= high)
    return float(value)


def _must(is_good: bool) -> None:
    if not is_good:
        raise ValueError
