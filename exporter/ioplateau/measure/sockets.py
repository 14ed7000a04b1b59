"""TCP_INFO of the NFS connections, as inetdiag.py had it from the kernel or a recording kept it."""

from __future__ import annotations

from typing import NamedTuple

from ioplateau.measure.notice import is_notice
from ioplateau.measure.parsing import is_count

# A socket by its four words: local and remote address and port.
Name = tuple[str, int, str, int]


class TcpSocket(NamedTuple):
    """One established connection to an NFS server. Microseconds and bytes as the kernel has them;
    None: this kernel's tcp_info is shorter.
    """

    local_address: str
    local_port: int
    remote_address: str
    remote_port: int
    state: str
    rtt_microseconds: int | None
    min_rtt_microseconds: int | None
    congestion_window: int | None  # segments
    segment_bytes: int | None  # snd_mss
    retransmits: int | None  # total_retrans, cumulative segments
    delivery_rate_bytes_per_second: int | None
    bytes_sent: int | None
    bytes_received: int | None
    busy_microseconds: int | None  # cumulative: time with data outstanding or queued
    receiver_limited_microseconds: int | None  # rwnd_limited
    sender_limited_microseconds: int | None  # sndbuf_limited
    receive_queue_bytes: int
    send_queue_bytes: int


class TcpCounts(NamedTuple):
    """What a connection counts from its beginning on, or several together; None: not known."""

    retransmits: int | None = None
    busy_microseconds: int | None = None
    receiver_limited_microseconds: int | None = None
    sender_limited_microseconds: int | None = None
    congestion_limited_microseconds: int | None = None


def name(one: TcpSocket) -> Name:
    """What tells it from the other sockets of one reading."""
    return (one.local_address, one.local_port, one.remote_address, one.remote_port)


def counts(one: TcpSocket) -> TcpCounts:
    """What it counted since it was connected."""
    return TcpCounts(
        one.retransmits,
        one.busy_microseconds,
        one.receiver_limited_microseconds,
        one.sender_limited_microseconds,
        _congestion_limited_microseconds(one),
    )


def _congestion_limited_microseconds(one: TcpSocket) -> int | None:
    # tcp_get_info_chrono_stats(): busy is all the time with data to send; what neither the
    # receiver's window nor our buffer held back, the congestion window paced.
    busy, receiver = one.busy_microseconds, one.receiver_limited_microseconds
    sender = one.sender_limited_microseconds
    if busy is None or receiver is None or sender is None:
        return None
    return max(busy - receiver - sender, 0)


def parse(blob: object) -> tuple[tuple[TcpSocket, ...], tuple[str, ...]]:
    """Every entry that is what read() gives, and a reason for each that is not."""
    if not isinstance(blob, list):
        return (), (f"tcp: {repr(blob)[:120]}, want a list",)
    found: list[TcpSocket] = []
    rejects: list[str] = []
    for entry in blob:
        if is_notice(entry):
            continue
        if wrong := _wrong(entry):
            rejects.append(f"tcp: {wrong}: {repr(entry)[:120]}")
        else:
            found.append(TcpSocket(*map(entry.get, _KINDS)))
    return tuple(found), tuple(rejects)


# Kinds of the columns, as annotated above: "str", "int" or "int | None".
_KINDS = {name: kind.__forward_arg__ for name, kind in TcpSocket.__annotations__.items()}
_TYPES = {"str": (str,), "int": (int,), "int | None": (int, type(None))}
_COLUMNS = [(name, _TYPES[kind]) for name, kind in _KINDS.items()]


def _wrong(entry: object) -> str:
    if not isinstance(entry, dict):
        return "want an object"
    for name, types in _COLUMNS:
        value = entry.get(name)
        if type(value) not in types or (type(value) is int and not is_count(value)):
            return f"{name} is {repr(value)[:40]}, want {_KINDS[name]}"
    return ""
