"""NFS clients as rows: all connections to one server for one version, and the kernel's TCP figures.

Series per connection multiply by nconnect, so they are told on request only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ioplateau.measure import mountstats
from ioplateau.measure.mountstats import ClientRates, ConnectionRates, NfsConnection
from ioplateau.measure.sockets import TcpCounts, TcpSocket
from ioplateau.state import NfsClientState
from ioplateau.tell.rows import Labels, MetricTable, Scene, counter, from_micro, gauge, info


class MeasuredClient(NamedTuple):
    state: NfsClientState
    rates: ClientRates | None  # over the rate window
    per_connection: bool


class MeasuredConnection(NamedTuple):
    now: NfsConnection
    rates: ConnectionRates | None


class MeasuredSockets(NamedTuple):
    now: tuple[TcpSocket, ...]
    counts: TcpCounts  # also of those that were open before


def clients(scene: Scene) -> Iterator[MeasuredClient]:
    for _, state in sorted(scene.state.clients.items()):
        span = state.window
        rates = (
            mountstats.client_rates(span.before, span.after, span.elapsed_seconds) if span else None
        )
        yield MeasuredClient(state, rates, scene.per_connection)


def _named(client: MeasuredClient) -> Labels:
    key = client.state.key
    return (key.server, key.version, key.protocol)


def _whole(client: MeasuredClient) -> Iterable[tuple[Labels, MeasuredClient]]:
    yield _named(client), client


def _described(client: MeasuredClient) -> Iterable[tuple[Labels, MeasuredClient]]:
    yield (*_named(client), client.state.address), client


def _sockets(client: MeasuredClient) -> Iterator[tuple[Labels, MeasuredSockets]]:
    if client.state.sockets is not None:
        yield _named(client), MeasuredSockets(client.state.sockets, client.state.tcp)


def _connections(client: MeasuredClient) -> Iterator[tuple[Labels, MeasuredConnection]]:
    if not client.per_connection:
        return
    rates = client.rates.connections if client.rates else ()
    for number, now in enumerate(client.state.now):
        recent = rates[number] if number < len(rates) else None
        yield (*_named(client), str(number)), MeasuredConnection(now, recent)


def _sum(sockets: Iterable[TcpSocket], value: Callable[[TcpSocket], int | None]) -> int | None:
    known = [number for one in sockets if (number := value(one)) is not None]
    return sum(known) if known else None


def _most(sockets: Iterable[TcpSocket], value: Callable[[TcpSocket], int | None]) -> int | None:
    return max((number for one in sockets if (number := value(one)) is not None), default=None)


def _least(sockets: Iterable[TcpSocket], value: Callable[[TcpSocket], int | None]) -> int | None:
    return min((number for one in sockets if (number := value(one)) is not None), default=None)


def _window_bytes(one: TcpSocket) -> int | None:
    if one.congestion_window is None or one.segment_bytes is None:
        return None
    return one.congestion_window * one.segment_bytes


def _connects(client: NfsClientState) -> int | None:
    # Linux 6.1 prints 2 for each connection of a fresh mount: the first cannot be told apart.
    known = [one.connects for one in client.now if one.connects is not None]
    return sum(known) + client.carried.connects if known else None


CLIENTS: MetricTable[MeasuredClient, MeasuredClient] = MetricTable(
    "NFS clients",
    ("server", "version", "protocol"),
    clients,
    _whole,
    (
        gauge("nfs_connections", "Connections to the server.", lambda c: len(c.state.now)),
        gauge("nfs_client_mounts", "Superblocks that share them.", lambda c: len(c.state.mounts)),
        counter(
            "nfs_client_requests_total",
            "Requests sent, over all connections.",
            lambda c: sum(one.sends for one in c.state.now) + c.state.carried.sends,
        ),
        counter(
            "nfs_client_replies_total",
            "Replies received, over all connections.",
            lambda c: sum(one.receives for one in c.state.now) + c.state.carried.receives,
        ),
        counter(
            "nfs_client_unmatched_replies_total",
            "Replies nobody waited for, as after a retransmission.",
            lambda c: sum(one.bad_xids for one in c.state.now) + c.state.carried.bad_xids,
        ),
        counter(
            "nfs_client_connects_total",
            "Connections made, as the kernel counts: two for a first one, so only growth means reconnecting.",
            lambda c: _connects(c.state),
        ),
        counter(
            "nfs_client_backlog_requests_total",
            "Requests found waiting for a slot, added up at every send; divide by the growth of requests sent.",
            lambda c: sum(one.backlog_sum for one in c.state.now) + c.state.carried.backlog_sum,
        ),
        gauge(
            "nfs_client_requests_per_second",
            "Requests sent per second over the rate window.",
            lambda c: c.rates.calls_per_second if c.rates else None,
        ),
        gauge(
            "nfs_client_backlog_length",
            "Mean requests waiting for a slot when one was sent, over the rate window.",
            lambda c: c.rates.mean_backlog if c.rates else None,
        ),
        gauge(
            "nfs_client_wire_length",
            "Mean requests on the wire of one connection when one was sent, over the rate window.",
            lambda c: c.rates.mean_requests if c.rates else None,
        ),
        gauge(
            "nfs_client_requests_on_wire",
            "Requests sent and not answered at the last tick; one that is lost, so that it is sent again, stays counted.",
            lambda c: sum(one.on_wire for one in c.state.now),
        ),
        gauge(
            "nfs_client_slots_used_peak",
            "Most slots ever in use on one connection; the kernel never lowers it.",
            lambda c: max(
                (n for one in c.state.now if (n := one.max_slots) is not None), default=None
            ),
        ),
        gauge(
            "nfs_client_slots_limit",
            "Slots a connection may use (sunrpc.tcp_max_slot_table_entries; with v4.0 1,024 at most, which "
            "all connections share); not known for v4.1 and newer.",
            lambda c: c.state.slot_limit,
        ),
        gauge(
            "nfs_client_busiest_connection_ratio",
            "Share of the busiest connection in the requests of the rate window; 1/n is perfect balance.",
            lambda c: c.rates.busiest_ratio if c.rates else None,
        ),
    ),
)

TCP: MetricTable[MeasuredClient, MeasuredSockets] = MetricTable(
    "NFS clients, TCP",
    ("server", "version", "protocol"),
    clients,
    _sockets,
    (
        gauge("nfs_tcp_sockets", "Sockets the kernel told us of.", lambda s: len(s.now)),
        gauge(
            "nfs_tcp_rtt_seconds",
            "Smoothed round trip of the slowest connection.",
            lambda s: from_micro(_most(s.now, lambda one: one.rtt_microseconds)),
        ),
        gauge(
            "nfs_tcp_min_rtt_seconds",
            "Fastest round trip seen: the network without queues.",
            lambda s: from_micro(_least(s.now, lambda one: one.min_rtt_microseconds)),
        ),
        gauge(
            "nfs_tcp_congestion_window_bytes",
            "Smallest congestion window of the connections.",
            lambda s: _least(s.now, _window_bytes),
        ),
        gauge(
            "nfs_tcp_delivery_rate_bytes_per_second",
            "Rate at which sent data last arrived, summed over connections.",
            lambda s: _sum(s.now, lambda one: one.delivery_rate_bytes_per_second),
        ),
        gauge(
            "nfs_tcp_receive_queue_bytes",
            "Bytes received that the NFS client has not taken yet.",
            lambda s: sum(one.receive_queue_bytes for one in s.now),
        ),
        gauge(
            "nfs_tcp_send_queue_bytes",
            "Bytes the NFS client sent that the server has not confirmed.",
            lambda s: sum(one.send_queue_bytes for one in s.now),
        ),
        counter(
            "nfs_tcp_retransmits_total",
            "Segments sent again, summed over connections.",
            lambda s: s.counts.retransmits,
        ),
        counter(
            "nfs_tcp_busy_seconds_total",
            "Time with data to send, summed over connections.",
            lambda s: from_micro(s.counts.busy_microseconds),
        ),
        counter(
            "nfs_tcp_receiver_limited_seconds_total",
            "Time the server's receive window held sending back.",
            lambda s: from_micro(s.counts.receiver_limited_microseconds),
        ),
        counter(
            "nfs_tcp_sender_limited_seconds_total",
            "Time our own send buffer held sending back.",
            lambda s: from_micro(s.counts.sender_limited_microseconds),
        ),
        counter(
            "nfs_tcp_congestion_limited_seconds_total",
            "Time with data to send that only the congestion window, that is the network, held back.",
            lambda s: from_micro(s.counts.congestion_limited_microseconds),
        ),
    ),
)

IDENTITY: MetricTable[MeasuredClient, MeasuredClient] = MetricTable(
    "NFS clients, what they are",
    ("server", "version", "protocol", "address"),
    clients,
    _described,
    (info("nfs_client_info", "Where the server's name led."),),
)

CONNECTIONS: MetricTable[MeasuredClient, MeasuredConnection] = MetricTable(
    "NFS connections, on request",
    ("server", "version", "protocol", "connection"),
    clients,
    _connections,
    (
        counter("nfs_connection_requests_total", "Requests sent.", lambda c: c.now.sends),
        counter("nfs_connection_replies_total", "Replies received.", lambda c: c.now.receives),
        counter("nfs_connection_connects_total", "Times connected.", lambda c: c.now.connects),
        gauge(
            "nfs_connection_requests_per_second",
            "Requests sent per second over the rate window.",
            lambda c: c.rates.sends_per_second if c.rates else None,
        ),
        gauge(
            "nfs_connection_backlog_length",
            "Mean requests waiting for a slot when one was sent, over the rate window.",
            lambda c: c.rates.mean_backlog if c.rates else None,
        ),
        gauge(
            "nfs_connection_requests_on_wire",
            "Requests sent and not answered at the last tick; one that is lost, so that it is sent again, stays counted.",
            lambda c: c.now.on_wire,
        ),
    ),
)

TABLES = (CLIENTS, TCP, IDENTITY, CONNECTIONS)
