"""The table of calls that ends an NFS record of mountstats: a line an operation.

Grammar: net/sunrpc/stats.c rpc_clnt_show_stats(). v3 has 22 lines, v4 up to 69, most of them
zero for ever.

https://github.com/torvalds/linux/blob/v6.1/net/sunrpc/stats.c
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import compress
from operator import ne
from typing import Any, NamedTuple, TypeVar, overload

from ioplateau.measure import native
from ioplateau.measure.mountstats import nfslines
from ioplateau.measure.mountstats.nfslines import ALIKE
from ioplateau.measure.native import Scan
from ioplateau.measure.parsing import FormatError, word

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


DATA = ("READ", "READ_PLUS", "WRITE")  # what every tick looks at; NFSv4.2 may read with either


class Operations(Mapping[str, Operation]):
    """The used operations of one per-op table, in its order. Those of DATA are there; the twenty
    others stay text until a scrape or a person asks for one.
    """

    __slots__ = ("_text", "known", "places")

    def __init__(self, text: bytes, places: Mapping[str, int], known: dict[str, Operation]) -> None:
        """text: the table; places: the line of each operation, found good by _operation_name();
        known: what was parsed of it.
        """
        self._text = text
        self.places = places
        self.known = known

    def __getattr__(self, name: str) -> Any:
        if name != "known":
            raise AttributeError(name)
        lines = self._text.split(b"\n")
        self.known = {
            data: parsed(lines[self.places[data]]) for data in DATA if data in self.places
        }
        return self.known

    def forget(self) -> None:
        """Hold the text alone: what is asked for is parsed of it again."""
        with suppress(AttributeError):
            del self.known

    def __getitem__(self, name: str) -> Operation:
        known = self.known.get(name)
        if known is None:
            if name not in self.places:
                raise KeyError(name)
            known = self.everything()[name]
        return known

    def everything(self) -> Mapping[str, Operation]:
        """All of them, in their order: who asks for one of the others asks for each."""
        known = self.known
        if len(known) < len(self.places):
            found, scan = None, native.scan
            if scan is not None:
                found = scan.operations(self._text, self.places, known, Operation)
            known = self.known = self._parsed() if found is None else found
        return known

    def _parsed(self) -> dict[str, Operation]:
        known, lines = self.known, self._text.split(b"\n")
        return {name: known.get(name) or parsed(lines[at]) for name, at in self.places.items()}

    @overload
    def get(self, name: str, /) -> Operation | None: ...
    @overload
    def get(self, name: str, /, default: Operation) -> Operation: ...
    @overload
    def get(self, name: str, /, default: D) -> Operation | D: ...
    def get(self, name: str, /, default: object = None) -> object:
        # The mapping's own asks forgiveness, which is dear: most mounts have no READ_PLUS.
        known = self.known.get(name)
        if known is not None:
            return known
        return self[name] if name in self.places else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Operations) and self._text == other._text:
            return self.places == other.places
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # unhashable, as other mappings

    def __repr__(self) -> str:
        return repr(dict(self))

    def moved(self, text: bytes, lines: Sequence[bytes], is_other: Sequence[bool]) -> Operations:
        """These, with other plain numbers in the lines of which `is_other` says so."""
        places = self.places
        known = {name: value for name, value in self.known.items() if not is_other[places[name]]}
        for name in DATA:
            place = places.get(name)
            if place is not None and is_other[place]:
                known[name] = Operation(*map(int, lines[place].split()[1:10]))
        return Operations(text, places, known)


def data(operations: Mapping[str, Operation]) -> Mapping[str, Operation]:
    """Those of DATA, perhaps among others, without a look at the text."""
    return operations.known if isinstance(operations, Operations) else operations


def everything(operations: Mapping[str, Operation]) -> Mapping[str, Operation]:
    """All of them, in their order, where each look costs little."""
    return operations.everything() if isinstance(operations, Operations) else operations


def forget(operations: Mapping[str, Operation]) -> None:
    """Let go of the numbers of a reading that no tick needs any more."""
    if isinstance(operations, Operations):
        operations.forget()


def parsed(line: bytes) -> Operation:
    """What a good line of an operation says."""
    return Operation(*nfslines.numbers(line[line.index(b":") + 1 :].split())[:9])


class OperationTable(NamedTuple):
    """One table: its text and what it says."""

    text: bytes
    used: Operations
    # Operations whose line was bad; "": lines are missing, and we cannot say whose.
    unreadable: tuple[str, ...] = ()
    # Of a table that moves: its lines to the last that was ever used, these with all digits alike,
    # and what stands behind them.
    lines: Sequence[bytes] = ()
    alikes: Sequence[bytes] = ()
    rest: bytes = b""


def read(text: bytes) -> tuple[OperationTable, list[str]]:
    """The table that `text` is, to the blank line that closes it, and what was wrong with it."""
    used: dict[str, int] = {}
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
    lines = table.split(b"\n")
    for place, line in enumerate(lines):
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
            used[name] = place
        names.add(name)
    known = {name: parsed(lines[used[name]]) for name in DATA if name in used}
    return OperationTable(text, Operations(text, used, known), tuple(unreadable)), wrong


def read_moved(text: bytes, last: OperationTable) -> OperationTable | None:
    """The table `last`, in which nothing was wrong, with some numbers changed; None if more than
    that happened.

    Most numbers are as long as they were, so the lines that changed are looked at all together: but
    for which digits they have, they are the same. The first number, of calls completed, is not 0.
    """
    before, alikes, rest = last.lines, last.alikes, last.rest
    if not rest:
        before = last.text.split(b"\n")[: max(last.used.places.values(), default=0) + 1]
        alikes = _alikes(before, last.used)
        rest = last.text[len(b"\n".join(before)) :]
    lines = text[: len(text) - len(rest)].split(b"\n")
    if len(lines) != len(before) or not text.endswith(rest):
        return None
    is_other = [*map(ne, lines, before)]
    changed = b"\n".join(compress(lines, is_other))
    if changed.translate(ALIKE) != b"\n".join(compress(alikes, is_other)):
        alikes = [*map(_longer, lines, alikes, is_other)]
        if b"" in alikes:
            return None
    if b": 0" in changed:
        return None
    return OperationTable(text, last.used.moved(text, lines, is_other), (), lines, alikes, rest)


def moved(scan: Scan, text: bytes, start: int, last: OperationTable) -> OperationTable | None:
    """The same, by the native twin, of the table that begins at `start`."""
    used = last.used
    found = scan.table(text, start, last.text, used.places, used.known, DATA, Operation)
    if found is None:
        return None
    end, known = found
    said = text[start:end]
    return OperationTable(said, Operations(said, used.places, known))


# Of a line that may not change, since it never moved or is not like others: it is no line's.
_FIXED = b"\n"


def _alikes(lines: Sequence[bytes], used: Operations) -> Sequence[bytes]:
    places = {*used.places.values()}
    return [
        line.translate(ALIKE) if place in places and _is_good(line) else _FIXED
        for place, line in enumerate(lines)
    ]


def _longer(line: bytes, alike: bytes, is_other: bool) -> bytes:
    """The line with its digits alike; b"": it is not the operation's of which `alike` is, or not
    surely good.
    """
    if not is_other:
        return alike
    is_same = alike is not _FIXED and line.startswith(alike[: alike.find(b":") + 1])
    return line.translate(ALIKE) if is_same and _is_good(line) else b""


# A line that is surely good: a name without digits, calls completed, and seven or more numbers of
# less than 64 bits.
_is_good = re.compile(rb"[^0-9:\n]+: [1-9][0-9]{0,17}(?: [0-9]{1,18}){7,}").fullmatch


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
    return word(raw.strip(b"\t :"))


def _is_operation(line: bytes) -> bool:
    try:
        return bool(_operation_name(line))
    except _BadOperationError:
        return False
