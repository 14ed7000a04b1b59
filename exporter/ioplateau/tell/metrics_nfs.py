"""NFS as rows: I/O by superblock, connections by client. Source: /proc/self/mountstats, tcp_info.

A superblock's counters repeat in each of its mounts, so it is told once, under the mount point it was
first seen at; a client's connections repeat in each of its superblocks, so they are told by client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ioplateau.measure import mountstats
from ioplateau.measure.mountstats import (
    DATA,
    DELAY,
    SERVER_READ,
    SERVER_WRITE,
    Mount,
    MountRates,
    Operation,
    OperationRates,
)
from ioplateau.state import NfsMountState
from ioplateau.tell.rows import Labels, MetricTable, Scene, counter, gauge, info

# Mounting and lease upkeep: the client's own calls, repeated in each of its superblocks.
UPKEEP = frozenset(
    {
        "NULL",
        "FSINFO",
        "PATHCONF",
        "SERVER_CAPS",
        "LOOKUP_ROOT",
        "SECINFO_NO_NAME",
        "FSID_PRESENT",
        "EXCHANGE_ID",
        "CREATE_SESSION",
        "BIND_CONN_TO_SESSION",
        "DESTROY_SESSION",
        "DESTROY_CLIENTID",
        "SETCLIENTID",
        "SETCLIENTID_CONFIRM",
        "RECLAIM_COMPLETE",
        "GET_LEASE_TIME",
        "SEQUENCE",
        "RENEW",
    }
)
# Position in mountstats' events, as DELAY is.
# https://github.com/torvalds/linux/blob/v6.1/include/linux/nfs_iostat.h
CONGESTION_WAIT = 18


class NfsMount(NamedTuple):
    state: NfsMountState
    rates: MountRates | None  # over the rate window


class NfsCalls(NamedTuple):
    """One kind of call of one superblock."""

    now: Operation
    is_upkeep: bool


class NfsOperation(NamedTuple):
    """READ, READ_PLUS or WRITE of one superblock, or another kind of call that went wrong."""

    now: Operation
    rates: OperationRates | None  # over the rate window, of DATA
    is_data: bool
    is_quiet: bool  # no call completed in the rate window: its rates are zero, not unknown


class Payload(NamedTuple):
    """READ and WRITE bytes on the wire without headers: what a volume's limit counts."""

    total_bytes: int | None
    bytes_per_second: float | None


def mounts(scene: Scene) -> Iterator[NfsMount]:
    for _, state in sorted(scene.state.mounts.items()):
        span = state.window
        rates = mountstats.rates(span.before, span.after, span.elapsed_seconds) if span else None
        yield NfsMount(state, rates)


def _whole(mount: NfsMount) -> Iterable[tuple[Labels, NfsMount]]:
    yield (mount.state.mount,), mount


def _used(mount: NfsMount) -> list[tuple[str, Operation]]:
    found = sorted(mountstats.everything(mount.state.now.operations).items())
    return [(name, now) for name, now in found if now.operations or now.transmissions]


def _by_operation(mount: NfsMount) -> Iterator[tuple[Labels, NfsCalls]]:
    for name, now in _used(mount):
        yield (mount.state.mount, name), NfsCalls(now, name in UPKEEP)


def _calls_follow_from(mount: NfsMount) -> tuple[object, ...]:
    return mount.state.mount, mount.state.now.operations


def _of_data_or_faulty(mount: NfsMount) -> Iterator[tuple[Labels, NfsOperation]]:
    measured, window = mount.rates, mount.state.window
    watched = window.before.operations if window and measured else {}
    for name, now in _used(mount):
        is_data = name in DATA
        if not (is_data or _is_faulty(now)):
            continue
        rates = measured.operation(name) if is_data and measured else None
        is_quiet = is_data and name in watched and rates is None
        yield (mount.state.mount, name), NfsOperation(now, rates, is_data, is_quiet)


def _operations_follow_from(mount: NfsMount) -> tuple[object, ...]:
    # While a line does not change, what it says is the same object.
    now, window = mountstats.everything(mount.state.now.operations), mount.state.window
    told = mount.state.mount, *map(now.get, DATA), *filter(_is_faulty, now.values())
    if mount.rates is None or window is None:
        return *told, None
    before = mountstats.data(window.before.operations)
    # Where calls were made, their rates depend on the time they took, too: another each time.
    return *told, all(before.get(name) == now.get(name) for name in DATA) or object()


def _is_faulty(call: Operation) -> bool:
    return bool(call.transmissions > call.operations or call.timeouts or call.errors)


def _by_direction(mount: NfsMount) -> Iterator[tuple[Labels, Payload]]:
    moved, rates, name = mount.state.now.bytes, mount.rates, mount.state.mount
    yield (
        (name, "read"),
        Payload(_nth(moved, SERVER_READ), rates.read_bytes_per_second if rates else None),
    )
    yield (
        (name, "write"),
        Payload(_nth(moved, SERVER_WRITE), rates.write_bytes_per_second if rates else None),
    )


def _payload_follows_from(mount: NfsMount) -> tuple[object, ...]:
    moved, window = mount.state.now.bytes, mount.state.window
    if mount.rates is None or window is None:
        return mount.state.mount, moved, None
    return mount.state.mount, moved, window.before.bytes is moved or object()


def _described(mount: NfsMount) -> Iterator[tuple[Labels, NfsMount]]:
    now, entry = mount.state.now, mount.state.entry
    options = now.options
    server, export = mountstats.server_and_export(now.device)
    version = options.get("vers") or now.rpc_program.partition("/")[2]
    yield (
        (
            mount.state.mount,
            server,
            export,
            entry.super_options.get("addr", "") if entry else "",
            version,
            options.get("proto", ""),
            # The option says what was asked for; the lines say what is in force.
            str(len(now.connections)),
            options.get("rsize", ""),
            options.get("wsize", ""),
            next((kind for kind in ("hard", "softerr", "soft") if kind in options), ""),
            options.get("sec", "") or now.security,
        ),
        mount,
    )


def _description_follows_from(mount: NfsMount) -> tuple[object, ...]:
    state, now = mount.state, mount.state.now
    known = (now.device, now.options, now.rpc_program, now.security, len(now.connections))
    return state.mount, state.entry, *known


def _points(mount: NfsMount) -> Iterator[tuple[Labels, NfsMount]]:
    for point in dict.fromkeys(mount.state.mount_points):  # one may be mounted over itself
        yield (mount.state.mount, point), mount


def _nth(numbers: tuple[int, ...], position: int) -> int | None:
    # Older kernels print fewer columns: absent is unknown.
    return numbers[position] if position < len(numbers) else None


def _event(mount: Mount, position: int) -> int | None:
    return int(mount.events[position]) if position < len(mount.events) else None


def _fault(operation: NfsOperation, number: int | None) -> int | None:
    # Of metadata calls only faults that ever happened: twenty quiet calls a mount add up.
    return number if number or operation.is_data else None


def _seconds(milliseconds: int) -> float:
    # Sums of times have been seen below zero, and a counter cannot be.
    return max(milliseconds, 0) / 1000


def _rate(operation: NfsOperation, value: Callable[[OperationRates], float]) -> float | None:
    if operation.rates is None:
        return 0.0 if operation.is_quiet else None
    return value(operation.rates)


CALLS: MetricTable[NfsMount, NfsCalls] = MetricTable(
    "NFS superblocks, by operation",
    ("mount", "operation"),
    mounts,
    _by_operation,
    (
        counter(
            "nfs_operations_total",
            "Calls completed; of every operation ever used.",
            lambda o: o.now.operations,
        ),
        counter(
            "nfs_operation_execute_seconds_total",
            "Time calls took in full, waiting on the client included; not of mounting and lease upkeep.",
            lambda o: None if o.is_upkeep else _seconds(o.now.execute_milliseconds),
        ),
        counter(
            "nfs_operation_rtt_seconds_total",
            "Time calls were on the wire and in the server; not of mounting and lease upkeep.",
            lambda o: None if o.is_upkeep else _seconds(o.now.rtt_milliseconds),
        ),
    ),
    basis=_calls_follow_from,
)

OPERATIONS: MetricTable[NfsMount, NfsOperation] = MetricTable(
    "NFS superblocks, reads and writes",
    ("mount", "operation"),
    mounts,
    _of_data_or_faulty,
    (
        counter(
            "nfs_operation_queue_seconds_total",
            "Time calls waited on the client for a slot or the connection; of reads and writes.",
            lambda o: _seconds(o.now.queue_milliseconds) if o.is_data else None,
        ),
        counter(
            "nfs_bytes_total",
            "Bytes sent and received with headers; of reads and writes.",
            lambda o: o.now.bytes_sent + o.now.bytes_received if o.is_data else None,
        ),
        counter(
            "nfs_retransmissions_total",
            "Calls sent again; of reads and writes, and of others once it happened.",
            lambda o: _fault(o, max(o.now.transmissions - o.now.operations, 0)),
        ),
        counter(
            "nfs_timeouts_total",
            "Major timeouts; of reads and writes, and of others once it happened.",
            lambda o: _fault(o, o.now.timeouts),
        ),
        counter(
            "nfs_errors_total",
            "Calls that ended in an error, a harmless 'no such file' included; of reads and writes, and of others once it happened.",
            lambda o: _fault(o, o.now.errors),
        ),
        gauge(
            "nfs_operations_per_second",
            "Calls completed per second over the rate window (nfsiostat ops/s); of reads and writes.",
            lambda o: _rate(o, lambda r: r.operations_per_second),
        ),
        gauge(
            "nfs_bytes_per_second",
            "Bytes per second over the rate window with headers (nfsiostat kB/s); of reads and writes.",
            lambda o: _rate(o, lambda r: r.bytes_sent_per_second + r.bytes_received_per_second),
        ),
        gauge(
            "nfs_rtt_seconds",
            "Mean time a call was on the wire and in the server over the rate window (nfsiostat avg RTT); none if none completed.",
            lambda o: o.rates.rtt_seconds if o.rates else None,
        ),
        gauge(
            "nfs_await_seconds",
            "Mean time a call took over the rate window, waiting on the client included (nfsiostat avg exe); none if none completed.",
            lambda o: o.rates.execute_seconds if o.rates else None,
        ),
        gauge(
            "nfs_queue_length",
            "Mean calls outstanding over the rate window, on the wire and waiting; of reads and writes.",
            lambda o: _rate(o, lambda r: r.outstanding),
        ),
    ),
    basis=_operations_follow_from,
)

PAYLOAD: MetricTable[NfsMount, Payload] = MetricTable(
    "NFS superblocks, payload",
    ("mount", "direction"),
    mounts,
    _by_direction,
    (
        counter(
            "nfs_payload_bytes_total",
            "File content read from or written to the server, headers left out; compare with a volume's limit.",
            lambda p: p.total_bytes,
        ),
        gauge(
            "nfs_payload_bytes_per_second",
            "File content per second over the rate window, headers left out.",
            lambda p: p.bytes_per_second,
        ),
    ),
    basis=_payload_follows_from,
)

SUPERBLOCKS: MetricTable[NfsMount, NfsMount] = MetricTable(
    "NFS superblocks",
    ("mount",),
    mounts,
    _whole,
    (
        gauge(
            "nfs_mount_age_seconds",
            "Time since it was mounted; it falls when the counters start anew.",
            lambda m: m.state.now.age_seconds,
        ),
        counter(
            "nfs_server_delays_total",
            "How often the server answered 'busy, come back later' (JUKEBOX, DELAY).",
            lambda m: _event(m.state.now, DELAY),
        ),
        counter(
            "nfs_congestion_waits_total",
            "How often a writer had to wait because too much was on its way to the server.",
            lambda m: _event(m.state.now, CONGESTION_WAIT),
        ),
    ),
)

IDENTITY: MetricTable[NfsMount, NfsMount] = MetricTable(
    "NFS superblocks, what they are",
    (
        "mount",
        "server",
        "export",
        "address",
        "version",
        "protocol",
        "nconnect",
        "rsize",
        "wsize",
        "recovery",
        "sec",
    ),
    mounts,
    _described,
    (
        info(
            "nfs_mount_info",
            "How it is mounted: nconnect is the number of connections in force, recovery is hard or soft.",
        ),
    ),
    basis=_description_follows_from,
)

POINTS: MetricTable[NfsMount, NfsMount] = MetricTable(
    "NFS superblocks, where they are mounted now",
    ("mount", "mount_point"),
    mounts,
    _points,
    (
        info(
            "nfs_mount_point_info",
            "Where it is mounted; `mount` stays the point it was first seen at, also when that is unmounted.",
        ),
    ),
    basis=lambda mount: (mount.state.mount, *mount.state.mount_points),
)

TABLES = (CALLS, OPERATIONS, PAYLOAD, SUPERBLOCKS, IDENTITY, POINTS)
