"""What one attempt to read a source gave: a value with its time, or the reason there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")


class FormatError(ValueError):
    """Text that is not what the kernel's grammar promises; says what was found and wanted."""


class Read(NamedTuple, Generic[T]):
    """A source that answered. `at` is CLOCK_MONOTONIC seconds, taken right before the read."""

    at: float
    value: T
    rejects: Sequence[str] = ()


class Failed(NamedTuple):
    """A source that did not answer, and why, in words for the log."""

    at: float
    why: str


Reading: TypeAlias = Read[T] | Failed
