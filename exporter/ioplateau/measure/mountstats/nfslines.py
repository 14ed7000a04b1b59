"""The lines of one NFS record in mountstats: connections, options, numbers.

Grammar: fs/nfs/super.c nfs_show_stats(), net/sunrpc/stats.c rpc_clnt_show_stats(),
net/sunrpc/xprtsock.c and xprtrdma/transport.c *_print_stats(). Lines are told apart by their
number of fields, never by the versions in the file: distributions back-port columns.

https://github.com/torvalds/linux/blob/v6.1/fs/nfs/super.c
https://github.com/torvalds/linux/blob/v6.1/net/sunrpc/stats.c
https://github.com/torvalds/linux/blob/v6.1/net/sunrpc/xprtsock.c
https://github.com/torvalds/linux/blob/v6.1/net/sunrpc/xprtrdma/transport.c
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, overload

from ioplateau.measure import native
from ioplateau.measure.parsing import FormatError, word


class NfsConnection(NamedTuple):
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

    @property
    def on_wire(self) -> int:
        """Calls sent and not answered now. Of a call that was given up, or sent twice, an answer is counted that
        nobody awaited: xprt_lookup_rqst(), https://github.com/torvalds/linux/blob/v6.1/net/sunrpc/xprt.c
        """
        return max(self.sends - self.receives - self.bad_xids, 0)


def numbers(words: Sequence[bytes]) -> list[int]:
    """The 64-bit numbers `words` are; FormatError if one is none.

    Values from 2**63 on are read as signed: queue times have been seen as
    18446743919241604546, a negative sum that went through %llu.
    """
    try:
        # int() alone would take "1_000" and "+1"; one test for all of them is the cheap one.
        if not b"".join(words).isdigit():
            return [_signed(_number(word)) for word in words]
        values = [*map(int, words)]
    except ValueError as error:  # FormatError, or int() that refuses 4,300 digits
        raise FormatError(str(error)[:80]) from None
    if values and max(values) >= 2**63:
        return [_signed(value) for value in values]
    return values


# With all digits alike, a number that may be one of more than 64 bits.
ALIKE = bytes.maketrans(b"0123456789", b"0" * 10)
_LONG = b"0" * 19

Digits: TypeAlias = tuple[bytes, ...]


def digits(words: Sequence[bytes]) -> Digits:
    """The 64-bit numbers `words` are, as they stand: for who seldom reads them; FormatError as of
    numbers().
    """
    if b"".join(words).isdigit() and max(map(len, words)) < 19:
        return tuple(words)
    return tuple([b"%d" % value for value in numbers(words)])


def number(word: bytes) -> int:
    """The one number `word` is; FormatError as of numbers()."""
    return int(word) if word.isdigit() and len(word) < 19 else numbers((word,))[0]


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


def connection(line: bytes) -> NfsConnection:
    """One `xprt:` line; FormatError if it cannot be one."""
    words = line.split()
    if len(words) < 2:
        raise FormatError("no kind of connection")
    kind = _kind(words[1])
    return _LAYOUTS.get(kind, _like_tcp)(kind, numbers(words[2:]))


_TCP = b"\txprt:\ttcp "


class NfsConnections(Sequence[NfsConnection]):
    """The connections of one client. What every tick asks of each is there, in their order; all
    else stays text until a scrape or a person asks for it.
    """

    __slots__ = (
        "_made",
        "_text",
        "backlog_sums",
        "bad_xids",
        "connects",
        "ports",
        "receives",
        "sending_sums",
        "sends",
    )

    def __init__(
        self,
        columns: Iterable[tuple[int, ...]],
        text: bytes = b"",
        made: tuple[NfsConnection, ...] | None = None,
    ) -> None:
        """columns: those of COLUMNS; text: good lines, a connection each, unless all is made."""
        self._text = text
        self._made = made
        self._set(columns)

    def _set(self, columns: Iterable[tuple[int, ...]]) -> None:
        (
            self.ports, self.connects, self.sends, self.receives,
            self.bad_xids, self.backlog_sums, self.sending_sums,
        ) = columns  # fmt: skip

    @classmethod
    def of(cls, *made: NfsConnection) -> NfsConnections:
        """These connections."""
        return cls(_columns(made), made=made)

    def forget(self) -> None:
        """Hold the lines alone, if there are any: what is asked for is parsed of them again."""
        if self._text:
            self._made = None
            with suppress(AttributeError):  # it was forgotten before
                del self.ports, self.connects, self.sends, self.receives
                del self.bad_xids, self.backlog_sums, self.sending_sums

    def __getattr__(self, name: str) -> Any:
        if name not in self.__slots__:
            raise AttributeError(name)
        self._set(_columns(self._all()))
        return getattr(self, name)

    def _all(self) -> tuple[NfsConnection, ...]:
        made = self._made
        if made is None:
            made = self._made = tuple(map(connection, self._text.split(b"\n")[:-1]))
        return made

    @overload
    def __getitem__(self, at: int) -> NfsConnection: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[NfsConnection, ...]: ...
    def __getitem__(self, at: int | slice) -> NfsConnection | tuple[NfsConnection, ...]:
        return self._all()[at]

    def __iter__(self) -> Iterator[NfsConnection]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self.sends)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NfsConnections) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash((self.ports, self.sends))

    def __repr__(self) -> str:
        return f"NfsConnections.of{self._all()!r}"


# 0 where a kind or a kernel lacks it.
COLUMNS = ("port", "connects", "sends", "receives", "bad_xids", "backlog_sum", "sending_sum")
# Where they stand in a line of tcp, behind its kind.
_PLACES = tuple(NfsConnection._fields.index(name) - 1 for name in COLUMNS)


def _columns(made: Sequence[NfsConnection]) -> Iterator[tuple[int, ...]]:
    return (tuple([getattr(one, name) or 0 for one in made]) for name in COLUMNS)


NO_CONNECTIONS = NfsConnections.of()


def tcp_connections(text: bytes) -> NfsConnections | None:
    """Every connection of `text`, if each is a line of tcp with thirteen plain numbers: then one look
    at all of them is enough. None: some line is another, and each is to be read by itself.
    """
    if native.scan is not None and (columns := native.scan.columns(text, _PLACES)) is not None:
        return NfsConnections(columns, text)
    words = text.split()
    count, rest = divmod(len(words), 15)
    if (
        rest
        or text.count(b"\n") != count
        or text.count(b"\n" + _TCP) != count - 1
        or not (text.startswith(_TCP) and text.endswith(b"\n"))
    ):
        return None
    # Where a line has more words than another, its neighbour's name is among the numbers.
    del words[::15], words[::14]
    if not b"".join(words).isdigit() or _LONG in text.translate(ALIKE):
        return None
    return NfsConnections([tuple(map(int, words[place::13])) for place in _PLACES], text)


@lru_cache(32)
def _kind(raw: bytes) -> str:
    return word(raw[:32])


def _like_tcp(kind: str, values: list[int]) -> NfsConnection:
    if len(values) >= 13:
        return NfsConnection._make((kind, *values[:13]))
    want(values, 10, kind)
    return NfsConnection._make((kind, *values[:10], *_slots(values, 10)))


def _udp(kind: str, values: list[int]) -> NfsConnection:
    want(values, 7, kind)
    port, binds, *counts = values[:7]
    return NfsConnection._make((kind, port, binds, None, None, None, *counts, *_slots(values, 7)))


def _local(kind: str, values: list[int]) -> NfsConnection:
    want(values, 9, kind)
    return NfsConnection._make((kind, None, *values[:9], *_slots(values, 9)))


def _rdma(kind: str, values: list[int]) -> NfsConnection:
    # What follows the first ten counts chunks and registrations: RDMA prints no max_slots.
    want(values, 10, kind)
    return NfsConnection._make((kind, *values[:10], None, None, None))


# Kinds we do not know have so far been tcp under another name.
_LAYOUTS: Mapping[str, Callable[[str, list[int]], NfsConnection]] = {
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


def want(values: list[int], least: int, name: str) -> None:
    """FormatError if there are too few."""
    if len(values) < least:
        raise FormatError(f"{len(values)} numbers after {name[:24]!r}, want {least} or more")
