"""The table of calls that ends an NFS record of mountstats: a line an operation.

Grammar: net/sunrpc/stats.c rpc_clnt_show_stats(). v3 has 22 lines, v4 up to 69, most of them
zero for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar, overload

from ioplateau.measure import nfslines
from ioplateau.measure.reading import FormatError

TITLE = b"\tper-op statistics"

D = TypeVar("D")


class Operation(NamedTuple):
    """One line of the per-op table: calls completed, in the kernel's units."""

    operations: int
    transmissions: int
    timeouts: int
    bytes_sent: int  # with RPC and NFS headers
    bytes_received: int
    queue_milliseconds: int  # waiting on the client
    rtt_milliseconds: int  # on the wire and in the server
    execute_milliseconds: int  # from start to end
    errors: int | None = None  # RPC iostats 1.1 and newer


class Operations(Mapping[str, Operation]):
    """The used operations of one per-op table, in its order. Values are parsed when asked for:
    a tick looks at READ and WRITE, only a scrape at the twenty others.
    """

    __slots__ = ("_known", "_lines")

    def __init__(self, lines: Mapping[str, bytes], known: Mapping[str, Operation] = {}) -> None:
        """`lines` by name, all found good by _operation_name(); `known`: what was parsed before."""
        self._lines = lines
        self._known = dict(known)

    def __getitem__(self, name: str) -> Operation:
        known = self._known.get(name)
        if known is None:
            line = self._lines[name]
            known = Operation(*nfslines.numbers(line[line.index(b":") + 1 :].split())[:9])
            self._known[name] = known
        return known

    @overload
    def get(self, name: str, /) -> Operation | None: ...
    @overload
    def get(self, name: str, /, default: Operation) -> Operation: ...
    @overload
    def get(self, name: str, /, default: D) -> Operation | D: ...
    def get(self, name: str, /, default: object = None) -> object:
        # The mapping's own asks forgiveness, which is dear: most mounts have no READ_PLUS.
        return self[name] if name in self._lines else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Operations) and self._lines == other._lines:
            return True
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # unhashable, as other mappings

    def __repr__(self) -> str:
        return repr(dict(self))

    def moved(self, lines: Mapping[str, bytes]) -> Operations:
        """These, with other lines for some of them."""
        known = {name: value for name, value in self._known.items() if name not in lines}
        return Operations({**self._lines, **lines}, known)


class Table(NamedTuple):
    """One table: its text and what it says."""

    text: bytes
    used: Operations
    # Operations whose line was bad; "": lines are missing, and we cannot say whose.
    unreadable: tuple[str, ...] = ()
    # Of a table that moves: its lines, and how each begins, up to the colon.
    lines: Sequence[bytes] = ()
    beginnings: Sequence[bytes] = ()


def read(text: bytes) -> tuple[Table, list[str]]:
    """The table that `text` is, to the blank line that closes it, and what was wrong with it."""
    used: dict[str, bytes] = {}
    names: set[str] = set()
    unreadable: list[str] = []
    wrong: list[str] = []
    table, end, more = text.partition(b"\n\n")
    if not end:
        wrong.append("no blank line at its end")
        unreadable.append("")
    elif more.strip():
        wrong.append(f"more after its blank line: {more[:120]!r}")
        if _is_operation(more[: more.find(b"\n")]):
            unreadable.append("")
    for line in table.split(b"\n"):
        if not line or line == TITLE:
            continue
        try:
            name = _operation_name(line)
        except _BadOperationError as error:
            unreadable.append(error.name)
            wrong.append(f"{error}: {line[:120]!r}")
            continue
        if name in names:
            unreadable.append("")  # it stands where another should
            wrong.append(f"a second {name[:24]!a}")
        elif not _is_all_zero(line):
            used[name] = line
        names.add(name)
    return Table(text, Operations(used), tuple(unreadable)), wrong


def read_moved(text: bytes, last: Table) -> Table | None:
    """The table `last`, in which nothing was wrong, with some lines changed; None if more than
    that happened.
    """
    lines, before = text.split(b"\n"), last.lines or last.text.split(b"\n")
    if len(lines) != len(before):
        return None
    beginnings = last.beginnings or [line[: line.find(b":") + 1] or line for line in before]
    used, changed = last.used, {}
    for line, was, beginning in zip(lines, before, beginnings, strict=True):
        if line == was:
            continue
        if not line.startswith(beginning) or not _is_good(line, len(beginning) - 1):
            return None
        name = _label(beginning)
        if name not in used:
            return None  # used for the first time: its place in the order is not known here
        changed[name] = line
    return Table(text, used.moved(changed), (), lines, beginnings)


# A line that is surely good, from the colon on: calls completed, and seven or more numbers
# of less than 64 bits. (Written out, and without a way back, it takes half as long.)
_is_good = re.compile(
    rb": [1-9][0-9]{0,17}+" + rb" [0-9]{1,18}+" * 7 + rb"(?: [0-9]{1,18}+)*+"
).fullmatch


class _BadOperationError(FormatError):
    """A line of the per-op table of which only the name, at best, is readable."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def _operation_name(line: bytes) -> str:
    """Whose line of the per-op table this is; _BadOperationError if it is not as it should be."""
    colon = line.find(b":") + 1
    name = _label(line[:colon]) if colon < 100 else ""
    if not name:
        raise _BadOperationError("", "no name of an operation")
    try:
        nfslines.want(nfslines.numbers(line[colon:].split()), 8, name)
    except FormatError as error:
        raise _BadOperationError(name, str(error)) from None
    return name


def _is_all_zero(line: bytes) -> bool:
    """Whether a good line of the per-op table has nothing but zeros."""
    return not line[line.find(b":") :].strip(b": 0")


@lru_cache(1024)
def _label(raw: bytes) -> str:
    """The name in "        READ:": right-aligned to twelve places, longer ones stick out."""
    return nfslines.word(raw.strip(b"\t :"))


def _is_operation(line: bytes) -> bool:
    try:
        return bool(_operation_name(line))
    except _BadOperationError:
        return False
