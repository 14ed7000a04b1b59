"""Asks the kernel's socket diagnostics (inet_diag over netlink) for TCP_INFO of the NFS connections.

The only file that imports pyroute2, its messages without its sockets, and only once an NFS mount
exists (0.7 MiB; with its sockets 4). It finds the connections by a dump, for which the kernel walks
the hash of every socket of the machine. In between each is asked for by its addresses, which costs
the same on a busy machine as on a quiet one. pyroute2 needs 210 us for one such question, more than
for a dump; written down here they go to the kernel in one message and cost 10 us each.

Anybody may open connections to such a port, so the kernel is told the servers' addresses as well, and
of more than MOST_CONNECTIONS the others are left out.

No privilege is needed. Sockets show only in the network namespace of their mount.
See linux/inet_diag.h, linux/sock_diag.h, linux/tcp.h and net/ipv4/inet_diag.c.

https://github.com/torvalds/linux/blob/v6.1/include/uapi/linux/inet_diag.h
https://github.com/torvalds/linux/blob/v6.1/net/ipv4/inet_diag.c
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from ioplateau import libraries
from ioplateau.measure.notice import Notice

FIND_SECONDS = 30.0
# A connection that went away comes back soon, perhaps from another port; and where one is new others
# follow, as a mount opens them one after the other.
FIND_AGAIN_SECONDS = 2.0
MOST_CONNECTIONS = 2048  # 128 servers with nconnect=16; asked for in 20 ms
MOST_PROMPT = 128  # asked for in the tick's own thread: 1 ms
MOST_ADDRESSES = 1024  # the kernel's program of conditions is at most 64 KiB


class SocketDiagnostics:
    """The established TCP connections to some ports of servers, asked of the kernel.

    Belongs to one thread at a time.
    """

    def __init__(
        self, server_ports: Iterable[int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Raises OSError where netlink is not allowed."""
        self._ports = tuple(server_ports)
        self._addresses: tuple[str, ...] = ()
        self._clock = clock
        self._find_at = self._found_at = float("-inf")
        self._known: tuple[_Question, ...] = ()
        self._is_cut = False
        self._netlink = _Netlink()
        self._library = _library()

    def read(self) -> list[dict[str, Any]]:
        """Each connection as the fields of a TcpSocket: JSON values, for recordings; and a notice if
        there are more than are looked at.

        An empty list: none here; perhaps the mount's network namespace is another. Raises
        OSError for what the kernel refuses.
        """
        now = self._clock()
        if now >= self._find_at:
            before, found = self._known, tuple(islice(self._find(), MOST_CONNECTIONS + 1))
            self._known, self._is_cut = found[:MOST_CONNECTIONS], len(found) > MOST_CONNECTIONS
            is_grown = not set(before).issuperset(self._known)
            self._found_at = now
            self._find_at = now + (FIND_AGAIN_SECONDS if is_grown else FIND_SECONDS)
        answers = [self._netlink.ask(some) for some in _batches(self._known)]
        known = [each for answer in answers for each in answer if each is not None]
        if len(known) < len(self._known):
            self._find_at = min(self._find_at, now + FIND_AGAIN_SECONDS)
        return [*known, _CUT.as_json()] if self._is_cut else known

    @property
    def is_prompt(self) -> bool:
        """Whether a read only asks for the connections that are known, which never waits, and for few."""
        return self._clock() < self._find_at and len(self._known) <= MOST_PROMPT

    def find_soon(self, server_ports: Iterable[int] = (), addresses: Iterable[str] = ()) -> None:
        """There may be new ones; to these ports, where some are told, of these servers; without: of any."""
        self._ports = tuple(server_ports) or self._ports
        self._addresses = tuple(addresses)
        self._find_at = min(self._find_at, self._found_at + FIND_AGAIN_SECONDS)

    def close(self) -> None:
        self._netlink.close()

    def _find(self) -> Iterator[_Question]:
        filters = _filters(self._addresses)
        for port in self._ports:
            for family, condition in filters:
                yield from map(_Question.of, self._dump(family, port, condition))

    def _dump(self, family: int, port: int, condition: bytes) -> Iterator[Any]:
        # The kernel filters by state, port and address; nothing else travels.
        body = (
            struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, 1 << _ESTABLISHED)
            + struct.pack(">HH", 0, port)
            + bytes(44)
            + condition
        )
        flags = _NLM_F_REQUEST | _NLM_F_DUMP
        header = _HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, flags, 0, 0)
        with _socket() as asked:
            asked.send(header + body)
            while True:
                for message in self._library.parse(asked.recv(1 << 16)):
                    header = message["header"]
                    if header["error"] is not None:
                        raise OSError(0, f"socket diagnostics refused: {header['error']}")
                    if header["type"] == _NLMSG_DONE:
                        return
                    yield message


@cache
def _library() -> Any:
    """What of pyroute2 reads the answers."""
    # Its own socket brings asyncio, ctypes and multiprocessing, and the package itself all protocols.
    return libraries.part("pyroute2", _imported, without=("pyroute2.netlink.nlsocket",))


def _imported() -> Any:
    from pyroute2.netlink.diag import inet_diag_msg
    from pyroute2.netlink.marshal import Marshal

    answers = Marshal()
    answers.msg_map = {_SOCK_DIAG_BY_FAMILY: inet_diag_msg}
    return answers


def _filters(addresses: Sequence[str]) -> list[tuple[int, bytes]]:
    """Each family that is asked, and the attribute with the condition that a remote address is one of these.

    Without a condition if there are none, too many, or one that is no address.
    """
    families = (socket.AF_INET, socket.AF_INET6)
    try:
        packed = [_packed(address) for address in addresses[:MOST_ADDRESSES]]
    except OSError:
        packed = []
    if not packed or len(addresses) > MOST_ADDRESSES:
        return [(family, b"") for family in families]
    by_family = zip(families, (4, 16), strict=True)
    mine = [(family, [each for each in packed if len(each) == size]) for family, size in by_family]
    return [(family, _one_of(family, some)) for family, some in mine if some]


def _packed(address: str) -> bytes:
    host = address.partition("%")[0]  # the interface of a link-local one follows
    return socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)


def _one_of(family: int, addresses: Sequence[bytes]) -> bytes:
    """A program for inet_diag_bc_run(): a condition that holds goes on to a jump to the end, which accepts;
    one that does not skips it, the last one past the end, which rejects.
    """
    program = b""
    for address in reversed(addresses):
        size = 12 + len(address)
        condition = struct.pack("=BBH", _BC_D_COND, size, size + 4) + struct.pack(
            "=BBxxi", family, 8 * len(address), _ANY_PORT
        )
        jump = struct.pack("=BBH", _BC_JMP, 4, 4 + len(program)) if program else b""
        program = condition + address + jump + program
    return struct.pack("=HH", 4 + len(program), _INET_DIAG_REQ_BYTECODE) + program


class _Question(NamedTuple):
    """A request for one socket, ready to be sent but for its number."""

    body: bytes

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> _Question:
        """From one message of a dump, whose cookie tells this socket from later ones."""
        family = message["idiag_family"]
        cookie = message["idiag_cookie"]
        return cls(
            struct.pack("=BBBBI", family, socket.IPPROTO_TCP, _WANT_TCP_INFO, 0, _ANY_STATE)
            + struct.pack(">HH", message["idiag_sport"], message["idiag_dport"])
            + socket.inet_pton(family, message["idiag_src"]).ljust(16, b"\0")
            + socket.inet_pton(family, message["idiag_dst"]).ljust(16, b"\0")
            + struct.pack("=IQ", message["idiag_if"], cookie)
        )


_NETLINK_SOCK_DIAG = 4
_NLMSG_ERROR = 2
_NLMSG_DONE = 3
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_NLM_F_DUMP = 0x300
_ESTABLISHED = 1
_ANY_STATE = 0xFFF
_INET_DIAG_INFO = 2
_INET_DIAG_REQ_BYTECODE = 1
_BC_JMP = 1
_BC_D_COND = 8
_ANY_PORT = -1
_WANT_TCP_INFO = 1 << (_INET_DIAG_INFO - 1)
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr: length, type, flags, sequence, port
_NOT_THERE = (errno.ENOENT, errno.ESTALE)  # closed since, or another socket has the address now
# Answers wait in the receive buffer, 212,992 bytes by default: some hundred would fit.
_BATCH = 32
_CUT = Notice(
    f"more than {MOST_CONNECTIONS:,} connections to NFS servers: the others are left out",
    "NFS connections not followed",
)


def _batches(questions: Sequence[_Question]) -> Iterator[Sequence[_Question]]:
    for start in range(0, len(questions), _BATCH):
        yield questions[start : start + _BATCH]


def _socket() -> socket.socket:
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
    return socket.socket(socket.AF_NETLINK, kind, _NETLINK_SOCK_DIAG)


class _Netlink:
    """A socket for questions about single sockets; the kernel answers while we send."""

    def __init__(self) -> None:
        self._socket = _socket()
        self._socket.setblocking(False)
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def ask(self, questions: Sequence[_Question]) -> list[dict[str, Any] | None]:
        """An answer for each question; None: that socket is there no more."""
        first = self._sequence + 1
        self._sequence = (self._sequence + len(questions)) % 2**31
        message = b"".join(
            _HEADER.pack(
                _HEADER.size + len(question.body),
                _SOCK_DIAG_BY_FAMILY,
                _NLM_F_REQUEST,
                first + number,
                0,
            )
            + question.body
            for number, question in enumerate(questions)
        )
        self._socket.send(message)
        answers: list[dict[str, Any] | None] = [None] * len(questions)
        for sequence, answer in self._answers():
            if 0 <= sequence - first < len(answers):
                answers[sequence - first] = answer
        return answers

    def _answers(self) -> Iterator[tuple[int, dict[str, Any] | None]]:
        while True:
            try:
                datagram = self._socket.recv(1 << 16)
            except BlockingIOError:
                return
            length, kind, _, sequence, _ = _HEADER.unpack_from(datagram)
            if kind == _SOCK_DIAG_BY_FAMILY:
                yield sequence, _answer(datagram[_HEADER.size : length])
            elif kind == _NLMSG_ERROR:
                (negative,) = struct.unpack_from("=i", datagram, _HEADER.size)
                if -negative not in _NOT_THERE:
                    raise OSError(-negative, os.strerror(-negative))


# struct inet_diag_msg: family, state, timer, retrans; ports, addresses; interface, cookie;
# expires, rqueue, wqueue, uid, inode. Attributes follow.
_MESSAGE = struct.Struct("=BBBB2s2s16s16sIQ5I")


def _answer(body: bytes) -> dict[str, Any] | None:
    family, state, _, _, sport, dport, src, dst, _, _, _, rqueue, wqueue, _, _ = (
        _MESSAGE.unpack_from(body)
    )
    if state != _ESTABLISHED:
        return None  # closing, or a listener on the same port
    size = 4 if family == socket.AF_INET else 16
    return {
        "local_address": socket.inet_ntop(family, src[:size]),
        "local_port": int.from_bytes(sport),
        "remote_address": socket.inet_ntop(family, dst[:size]),
        "remote_port": int.from_bytes(dport),
        "state": "ESTABLISHED",
        **_tcp_info(_attribute(body, _INET_DIAG_INFO)),
        "receive_queue_bytes": rqueue,
        "send_queue_bytes": wqueue,
    }


def _attribute(body: bytes, wanted: int) -> bytes:
    at = _MESSAGE.size
    while at + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, at)
        if kind == wanted:
            return body[at + 4 : at + length]
        at += max((length + 3) & ~3, 4)
    return b""


_U32, _U64 = struct.Struct("=I"), struct.Struct("=Q")
# Where each column begins in struct tcp_info, which only ever grows at its end.
_TCP_INFO: tuple[tuple[str, struct.Struct, int], ...] = (
    ("segment_bytes", _U32, 16),
    ("rtt_microseconds", _U32, 68),
    ("congestion_window", _U32, 80),
    ("retransmits", _U32, 100),
    ("bytes_received", _U64, 128),
    ("min_rtt_microseconds", _U32, 148),
    ("delivery_rate_bytes_per_second", _U64, 160),
    ("busy_microseconds", _U64, 168),
    ("receiver_limited_microseconds", _U64, 176),
    ("sender_limited_microseconds", _U64, 184),
    ("bytes_sent", _U64, 200),
)
_NO_MINIMUM = 2**32 - 1  # no round trip was measured yet


def _tcp_info(raw: bytes) -> dict[str, int | None]:
    info: dict[str, int | None] = {
        name: form.unpack_from(raw, at)[0] if at + form.size <= len(raw) else None
        for name, form, at in _TCP_INFO
    }
    if info["min_rtt_microseconds"] == _NO_MINIMUM:
        info["min_rtt_microseconds"] = None
    return info
