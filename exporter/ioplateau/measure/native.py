"""The native twin of the lean scan (_scan.c), where it was built and is wanted.

It is never needed: what it does not understand, and everything where it is not, Python reads, with the
same values. IOPLATEAU_NATIVE=0 in the environment leaves it out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol


class Scan(Protocol):
    """What the twin offers. Each but the first gives None where more than plain numbers (1 to 18
    digits) changed since the last look.
    """

    def rest(
        self,
        text: bytes,
        at: int,
        records: list[Any],
        lines: bytes,
        connections: object,
        seen: dict[str, int],
        mounts: list[Any],
        kept: list[Any],
        kind: type,
        /,
    ) -> int:
        """Where in the text, from the record at `at` on, the first stands that is not the one of
        `records` but for its age and its connections, which are all `lines`. Those before it are
        put to `mounts` and `kept` and counted in `seen`.
        """

    def front(
        self, text: bytes, start: int, last: bytes, counts_start: int, counts_end: int, /
    ) -> tuple[tuple[bytes, ...], tuple[int, ...], int] | None:
        """Of the front at `start`, which is `last` but for what stands between the counts' start
        and end: events, bytes, and where in the text these end.
        """

    def columns(
        self, text: bytes, places: tuple[int, ...], /
    ) -> tuple[tuple[int, ...], ...] | None:
        """Of lines of tcp connections with thirteen numbers each, the columns at `places`."""

    def table(
        self,
        text: bytes,
        start: int,
        last: bytes,
        places: Mapping[str, int],
        known: Mapping[str, Any],
        data: tuple[str, ...],
        kind: type,
        /,
    ) -> tuple[int, dict[str, Any]] | None:
        """Of the table at `start`, which is `last` but for numbers in the lines of `places`: where
        in the text it ends, and the operations of `known` that stand as they stood, with those of
        `data` that moved, each of this kind.
        """

    def operations(
        self, text: bytes, places: Mapping[str, int], known: Mapping[str, Any], kind: type, /
    ) -> dict[str, Any] | None:
        """The operations of a table whose lines are at `places`: of `known`, else each of this kind."""

    def disks(
        self, text: bytes, lines: tuple[bytes, ...], disks: Mapping[str, Any], kind: type, /
    ) -> tuple[dict[str, Any], tuple[bytes, ...]] | None:
        """The disks of a file whose last lines were `lines`, of `disks`, and its lines."""

    def grown(
        self,
        before: tuple[Any, ...],
        after: tuple[Any, ...],
        first: int,
        end: int,
        gauge: int,
        /,
    ) -> tuple[int, ...] | None:
        """By how much the columns from `first` to `end` grew, 0 for the one at `gauge`; None: one
        fell, is not there, or grew by 2**31 or more.
        """


def built(name: str) -> Any:
    """The twin of this name; None: it was not built, is not wanted, or not for a Python like this."""
    # A free-threaded Python has no stable ABI, and takes up an abi3 module to fail with it all the same:
    # https://docs.python.org/3.13/howto/free-threading-extensions.html#limited-c-api-and-stable-abi
    if os.environ.get("IOPLATEAU_NATIVE") == "0" or "t" in sys.abiflags:
        return None
    try:
        return import_module(name)
    except ImportError:
        return None


scan: Scan | None = built("ioplateau.measure._scan")
