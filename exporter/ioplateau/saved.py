"""Typed values as JSON and back: what survives a restart, whoever keeps it.

A value is a NamedTuple of numbers, texts, words of enumerations, of what may be None, of tuples,
mappings and other NamedTuples. It is read as a whole or not at all: ShapeError names the place. Keys
of a newer version are passed over; a key that an older one did not write takes its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from ioplateau.limits.budgets import BudgetKey, FlowKey

T = TypeVar("T")
Reader = Callable[[object, str], Any]
Writer = Callable[[Any], Any]

MOST_LETTERS = 1 << 16
SHOWN_LETTERS = 60
MOST_VERSION_LETTERS = 200


# What reading a value of unknown shape raises, with or without this module.
UNSOUND = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class ShapeError(ValueError):
    """A value that is not what it should be: where, what was found, what was wanted."""


class NewerError(ValueError):
    """Written by a later version in a way that this one could misread, in one sentence."""


class Bounds(NamedTuple):
    """Of a number, both included; far from where adding or dividing leaves the numbers there are."""

    low: float
    high: float


FINITE = Bounds(-1e300, 1e300)
Rate = Annotated[float, Bounds(1e-6, 1e18)]
Amount = Annotated[float, Bounds(0, 1e18)]
Seconds = Annotated[float, Bounds(0, 1e12)]
Moment = Annotated[float, Bounds(-1e12, 1e12)]
Count = Annotated[int, Bounds(0, 1e15)]


class FileHead(NamedTuple):
    """What every version of a file begins with."""

    format: Annotated[float, Bounds(0, 1e9)]
    ioplateau: str = "of an unknown version"


# Written as lists; a row within a row stands flat in it.
_ROWS: set[type] = {BudgetKey, FlowKey}


def as_row(kind: type[T]) -> type[T]:
    """A NamedTuple that is written as a list of its fields, not as an object."""
    _ROWS.add(kind)
    return kind


def write(value: Any) -> Any:
    """JSON values of a NamedTuple, as its annotations say, or of a tuple of some."""
    if type(value) is tuple:
        return [write(each) for each in value]
    written = _writer(cast("Any", type(value)))
    return value if written is None else written(value)


def read(kind: type[T], value: object, where: str) -> T:
    """The value of a type that `write` wrote. Raises ShapeError, also for what is only nearly one."""
    found: T = _reader(cast("Any", kind))(value, where)
    return found


def check_format(value: object, newest: int, where: str) -> None:
    """Raises NewerError if the format of a file is later than `newest`, ShapeError if it has none."""
    head = read(FileHead, value, where)
    if head.format > newest:
        raise NewerError(
            f"ioplateau {head.ioplateau[:MOST_VERSION_LETTERS]} wrote it in format {head.format:g}, "
            f"this version reads up to {newest}"
        )


def wrong(where: str, value: object, wanted: str) -> ShapeError:
    """The error for a value that is not what it should be."""
    found = repr(value) if isinstance(value, str | float | bool | None) else type(value).__name__
    return ShapeError(f"{where[:200]}: found {found[:SHOWN_LETTERS]}, want {wanted}")


@cache
def _writer(wanted: Any) -> Writer | None:
    """A function that writes values of one annotation; None: they are JSON as they are."""
    origin, parts = get_origin(wanted), get_args(wanted)
    if wanted is Any or origin is Annotated or wanted in (int, float, str, bool):
        return None
    if origin in (Union, UnionType):
        (some,) = (_writer(part) for part in parts if part is not NoneType)
        return None if some is None else lambda value: None if value is None else some(value)
    if origin is tuple:
        each = _writer(parts[0])
        return list if each is None else lambda values: [each(value) for value in values]
    if origin is Mapping:
        return _written_mapping(_writer(parts[1]))
    if issubclass(wanted, StrEnum):
        return str
    return _written_row(wanted) if wanted in _ROWS else _written_record(wanted)


def _written_mapping(each: Writer | None) -> Writer:
    if each is None:
        return lambda values: {str(name): value for name, value in values.items()}
    return lambda values: {str(name): each(value) for name, value in values.items()}


def _written_row(kind: Any) -> Writer:
    hints = _hints(kind).values()
    cells = [(hint in _ROWS, _writer(hint)) for hint in hints]
    if all(written is None for _, written in cells):
        return list

    def row(value: Any) -> list[Any]:
        found: list[Any] = []
        for (is_flat, written), field in zip(cells, value, strict=True):
            cell = field if written is None else written(field)
            found += cell if is_flat else [cell]
        return found

    return row


def _written_record(kind: Any) -> Writer:
    fields = [(name, _writer(hint)) for name, hint in _hints(kind).items()]
    return lambda value: {
        name: field if written is None else written(field)
        for (name, written), field in zip(fields, value, strict=True)
    }


@cache
def _reader(wanted: Any) -> Reader:
    """A function that reads values of one annotation."""
    if wanted is Any:
        return lambda value, where: value  # noqa: ARG005
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _number(parts[0], parts[1])
    if origin in (Union, UnionType):
        return _optional(parts)
    if origin is tuple:
        return _several(_reader(parts[0]))
    if origin is Mapping:
        return _mapping(_reader(parts[0]), _reader(parts[1]))
    if wanted in (int, float):
        return _number(wanted, FINITE)
    if issubclass(wanted, StrEnum):
        return _word(wanted)
    if wanted in (str, bool):
        return _plain(wanted)
    return _row(wanted) if wanted in _ROWS else _record(wanted)


def _number(kind: type, bounds: Bounds) -> Reader:
    def number(value: object, where: str) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if kind is int and not isinstance(value, int):
            is_number = False
        if not (is_number and bounds.low <= value <= bounds.high):  # type: ignore[operator]
            raise wrong(where, value, f"a number from {bounds.low:g} to {bounds.high:g}")
        return kind(value)

    return number


def _plain(kind: type) -> Reader:
    def plain(value: object, where: str) -> Any:
        if not isinstance(value, kind) or (isinstance(value, str) and len(value) > MOST_LETTERS):
            raise wrong(where, value, "text" if kind is str else "true or false")
        return value

    return plain


def _word(kind: type[StrEnum]) -> Reader:
    words = {str(each): each for each in kind}

    def word(value: object, where: str) -> StrEnum:
        if not isinstance(value, str) or value not in words:
            raise wrong(where, value, f"one of {', '.join(sorted(words))}")
        return words[value]

    return word


def _optional(parts: tuple[Any, ...]) -> Reader:
    (some,) = (_reader(part) for part in parts if part is not NoneType)
    return lambda value, where: None if value is None else some(value, where)


def _several(each: Reader) -> Reader:
    def several(value: object, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise wrong(where, value, "a list")
        return tuple(each(one, f"{where}[{place}]") for place, one in enumerate(value))

    return several


def _mapping(name: Reader, each: Reader) -> Reader:
    def mapping(value: object, where: str) -> Mapping[Any, Any]:
        if not isinstance(value, Mapping):
            raise wrong(where, value, "an object")
        return {name(key, where): each(one, f"{where}.{key}") for key, one in value.items()}

    return mapping


def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in kind._fields}


def _record(kind: Any) -> Reader:
    readers = {name: _reader(hint) for name, hint in _hints(kind).items()}
    needed = [name for name in kind._fields if name not in kind._field_defaults]

    def record(value: object, where: str) -> Any:
        if not isinstance(value, Mapping):
            raise wrong(where, value, "an object")
        for name in needed:
            if name not in value:
                raise ShapeError(f"{where}: no {name!r} in it")
        found = {
            name: each(value[name], f"{where}.{name}")
            for name, each in readers.items()
            if name in value
        }
        return kind(**found)

    return record


def _width(hint: Any) -> int:
    return sum(map(_width, _hints(hint).values())) if hint in _ROWS else 1


def _row(kind: Any) -> Reader:
    columns = [(hint in _ROWS, _width(hint), _reader(hint)) for hint in _hints(kind).values()]
    count = sum(width for _, width, _ in columns)

    def row(value: object, where: str) -> Any:
        if not isinstance(value, list) or len(value) != count:
            raise wrong(where, value, f"a list of {count}")
        fields, at = [], 0
        for is_flat, width, each in columns:
            cell = value[at : at + width] if is_flat else value[at]
            fields.append(each(cell, f"{where}[{at}]"))
            at += width
        return kind(*fields)

    return row
