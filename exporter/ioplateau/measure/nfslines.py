"""The lines of one NFS record in mountstats: connections, operations, options, numbers.

Grammar: fs/nfs/super.c nfs_show_stats(), net/sunrpc/stats.c rpc_clnt_show_stats(),
net/sunrpc/xprtsock.c and xprtrdma/transport.c *_print_stats(). Lines are told apart by their
number of fields, never by the versions in the file: distributions back-port columns.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass
from functools import lru_cache
from typing import Any, TypeVar

from ioplateau.measure.escapes import decode
from ioplateau.measure.reading import FormatError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connection:
    """One `xprt:` line: one connection of the client. All cumulative but where noted.

    None: a column this kind or kernel lacks. `*_sum` are lengths sampled at every send:
    divide their growth by the growth of `sends`.
    """

    kind: str  # tcp, udp, rdma, local, or a kind we do not know
    port: int | None  # local port; 0 where the kernel does not say (v4.1 and newer)
    binds: int | None
    connects: int | None
    connect_seconds: int | None
    idle_seconds: int | None  # gauge
    sends: int
    receives: int
    bad_xids: int
    requests_sum: int  # req_u: calls on the wire
    backlog_sum: int  # bklog_u: calls waiting for a slot
    max_slots: int | None  # high-water mark, never falls
    sending_sum: int | None
    pending_sum: int | None


@dataclass(frozen=True, slots=True)
class Operation:
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


def maker(frozen: type[T]) -> Callable[..., T]:
    """A constructor of a frozen dataclass with slots that is three times as fast as its own.

    Its own sets every field through object.__setattr__, 0.1 us each, of which a mount and a
    connection have fourteen. So an open class of the same slots is filled, and then turned into
    the frozen one.
    """
    shape: Any = frozen
    names = [(each.name, Any) for each in fields(shape)]
    draft: Any = make_dataclass(frozen.__name__, names, slots=True)

    def make(*values: Any) -> T:
        made = draft(*values)
        made.__class__ = frozen
        return made  # type: ignore[no-any-return]

    return make


_make_connection = maker(Connection)


def numbers(words: Sequence[bytes]) -> list[int]:
    """The 64-bit numbers `words` are; FormatError if one is none.

    Values from 2**63 on are read as signed: queue times have been seen as
    18446743919241604546, a negative sum that went through %llu.
    """
    try:
        # int() alone would take "1_000" and "+1"; one test for all of them is the cheap one.
        if not b"".join(words).isdigit():
            return [_signed(_number(word)) for word in words]
        values = [int(word) for word in words]
    except ValueError as error:  # FormatError, or int() that refuses 4,300 digits
        raise FormatError(str(error)[:80]) from None
    if values and max(values) >= 2**63:
        return [_signed(value) for value in values]
    return values


def _number(word: bytes) -> int:
    # A minus is real: idle_time goes through %ld.
    digits = word[1:] if word.startswith(b"-") else word
    if not digits.isdigit():
        raise FormatError(f"{word[:24]!r} is not a number")
    return int(word)


def _signed(value: int) -> int:
    if not -(2**63) <= value < 2**64:
        raise FormatError("a number of more than 64 bits")
    return value - 2**64 if value >= 2**63 else value


def options(raw: bytes) -> Mapping[str, str]:
    """What stands after `opts:`, by key; flags map to ""."""
    found: dict[str, str] = {}
    for part in raw.split(b","):
        key, _, value = part.partition(b"=")
        if key:
            found[_name(key)] = _name(value)
    return found


def connection(line: bytes) -> Connection:
    """One `xprt:` line; FormatError if it cannot be one."""
    words = line.split()
    if len(words) < 2:
        raise FormatError("no kind of connection")
    kind = _name(words[1])
    return _LAYOUTS.get(kind, _like_tcp)(kind, numbers(words[2:]))


def _like_tcp(kind: str, values: list[int]) -> Connection:
    _want(values, 10, kind)
    return _make_connection(kind, *values[:10], *_slots(values, 10))


def _udp(kind: str, values: list[int]) -> Connection:
    _want(values, 7, kind)
    port, binds, *counts = values[:7]
    return _make_connection(kind, port, binds, None, None, None, *counts, *_slots(values, 7))


def _local(kind: str, values: list[int]) -> Connection:
    _want(values, 9, kind)
    return _make_connection(kind, None, *values[:9], *_slots(values, 9))


def _rdma(kind: str, values: list[int]) -> Connection:
    # What follows the first ten counts chunks and registrations: RDMA prints no max_slots.
    _want(values, 10, kind)
    return _make_connection(kind, *values[:10], None, None, None)


# Kinds we do not know have so far been tcp under another name.
_LAYOUTS: Mapping[str, Callable[[str, list[int]], Connection]] = {
    "udp": _udp,
    "udp6": _udp,
    "local": _local,
    "rdma": _rdma,
}


def _slots(values: list[int], at: int) -> tuple[int | None, int | None, int | None]:
    # max_slots, sending_u and pending_u came together, with statvers=1.1.
    if len(values) < at + 3:
        return None, None, None
    return values[at], values[at + 1], values[at + 2]


class Operations(Mapping[str, Operation]):
    """The used operations of one per-op table, in its order. Values are parsed when asked for:
    a tick looks at READ and WRITE, only a scrape at the twenty others.
    """

    __slots__ = ("_known", "_lines")

    def __init__(self, lines: Mapping[str, bytes], known: Mapping[str, Operation] = {}) -> None:
        """`lines` by name, all found good by operation_name(); `known`: what was parsed before."""
        self._lines = lines
        self._known = dict(known)

    def __getitem__(self, name: str) -> Operation:
        known = self._known.get(name)
        if known is None:
            line = self._lines[name]
            known = Operation(*numbers(line[line.index(b":") + 1 :].split())[:9])
            self._known[name] = known
        return known

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


class BadOperationError(FormatError):
    """A line of the per-op table of which only the name, at best, is readable."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def operation_name(line: bytes) -> str:
    """Whose line of the per-op table this is; BadOperationError if it is not as it should be."""
    colon = line.find(b":") + 1
    name = operation_label(line[:colon]) if colon < 100 else ""
    if not name:
        raise BadOperationError("", "no name of an operation")
    try:
        _want(numbers(line[colon:].split()), 8, name)
    except FormatError as error:
        raise BadOperationError(name, str(error)) from None
    return name


# A line that is surely good, from the colon on: calls completed, and seven or more numbers
# of less than 64 bits.
is_good_operation = re.compile(rb": [1-9][0-9]{0,17}(?: [0-9]{1,18}){7,}").fullmatch


def is_all_zero(line: bytes) -> bool:
    """Whether a good line of the per-op table has nothing but zeros."""
    return not line[line.find(b":") :].strip(b": 0")


@lru_cache(1024)
def operation_label(raw: bytes) -> str:
    """The name in "        READ:": right-aligned to twelve places, longer ones stick out."""
    return _name(raw.strip(b"\t :"))


def _want(values: list[int], least: int, name: str) -> None:
    if len(values) < least:
        raise FormatError(f"{len(values)} numbers after {name[:24]!r}, want {least} or more")


def _name(raw: bytes) -> str:
    # The same few words in a thousand mounts: one object each.
    return sys.intern(decode(raw))
