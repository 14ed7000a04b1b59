"""What JSON values must look like before we take them up: a file may hold anything.

CEILING = row(number(0.001, 1e18), number(0, 1e12))
CEILING([500.0, 12.5], "ceiling")   # returns; ShapeError names the place otherwise
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeAlias

Shape: TypeAlias = Callable[[object, str], None]

SHOWN_LETTERS = 60


class ShapeError(ValueError):
    """A value that is not what it should be: where, what was found, what was wanted."""


def number(low: float, high: float) -> Shape:
    """A finite number within bounds; true and false are none."""

    def check(value: object, where: str) -> None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and low <= value <= high):  # type: ignore[operator]
            raise _error(where, value, f"a number from {low:g} to {high:g}")

    return check


def text(most_letters: int = 4096) -> Shape:
    """A string, as long as a path at most."""

    def check(value: object, where: str) -> None:
        if not isinstance(value, str) or len(value) > most_letters:
            raise _error(where, value, f"text of at most {most_letters} letters")

    return check


def flag(value: object, where: str) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise _error(where, value, "true or false")


def word(of: type[StrEnum]) -> Shape:
    """One of the words of an enumeration."""
    words = {str(each) for each in of}

    def check(value: object, where: str) -> None:
        if not isinstance(value, str) or value not in words:
            raise _error(where, value, f"one of {', '.join(sorted(words))}")

    return check


def row(*cells: Shape) -> Shape:
    """A list of just these."""

    def check(value: object, where: str) -> None:
        if not isinstance(value, list) or len(value) != len(cells):
            raise _error(where, value, f"a list of {len(cells)}")
        for place, (cell, each) in enumerate(zip(cells, value, strict=True)):
            cell(each, f"{where}[{place}]")

    return check


def rows(each: Shape) -> Shape:
    """A list of any length."""

    def check(value: object, where: str) -> None:
        if not isinstance(value, list):
            raise _error(where, value, "a list")
        for place, one in enumerate(value):
            each(one, f"{where}[{place}]")

    return check


def table(key: Shape, each: Shape) -> Shape:
    """A mapping from what is named by `key`."""

    def check(value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            raise _error(where, value, "an object")
        for name, one in value.items():
            key(name, where)
            each(one, f"{where}.{name}")

    return check


def record(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """A mapping with these keys; what else stands in it may be a newer version's."""

    def check(value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            raise _error(where, value, "an object")
        for name, shape in required.items():
            if name not in value:
                raise ShapeError(f"{where}: no {name!r} in it")
            shape(value[name], f"{where}.{name}")
        for name, shape in (optional or {}).items():
            if name in value:
                shape(value[name], f"{where}.{name}")

    return check


def _error(where: str, value: object, wanted: str) -> ShapeError:
    found = repr(value) if isinstance(value, str | float | bool | None) else type(value).__name__
    return ShapeError(f"{where[:200]}: found {found[:SHOWN_LETTERS]}, want {wanted}")
