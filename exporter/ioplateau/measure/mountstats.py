"""/proc/self/mountstats: NFS counters, a record a mount. Grammar: fs/nfs/super.c nfs_show_stats(),
net/sunrpc/stats.c rpc_clnt_show_stats(), net/sunrpc/xprtsock.c *_print_stats().

Reading it never talks to a server and cannot hang on a dead one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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


@dataclass(frozen=True, slots=True)
class Mount:
    """One NFS record. Counters of the superblock (age, events, bytes, operations) repeat in
    every mount of it; connections repeat in every mount of the client."""

    device: str  # "server:/export", escapes decoded
    mount_point: str  # escapes decoded, valid text (undecodable bytes by surrogateescape)
    occurrence: int  # n-th record with this mount point in the file, from 0, other types counted
    fstype: str
    options: Mapping[str, str]  # "vers" -> "4.1"; flags map to ""
    age_seconds: int
    events: tuple[int, ...]
    bytes: tuple[int, ...]  # normal r/w, direct r/w, server r/w, pages r/w
    rpc_program: str  # "100003/4"
    connections: tuple[Connection, ...]
    operations: Mapping[str, Operation]  # only those ever used
    security: str = ""


@dataclass(frozen=True, slots=True)
class MountTable:
    """Every NFS record of the file, in order, and a reason for each line or record we left out."""

    mounts: tuple[Mount, ...] = ()
    rejects: tuple[str, ...] = ()
    # Opaque to callers: the last parse's pieces, so that the next can skip what did not change.
    memo: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OperationRates:
    """One operation over one interval, in base units, by nfsiostat's formulas."""

    operations_per_second: float
    bytes_sent_per_second: float
    bytes_received_per_second: float
    retransmissions_per_second: float
    timeouts_per_second: float
    errors_per_second: float | None
    bytes_per_operation: float | None  # both directions, headers included
    retransmitted_ratio: float | None
    error_ratio: float | None
    queue_seconds: float | None  # mean per call completed
    rtt_seconds: float | None
    execute_seconds: float | None
    outstanding_wire: float  # Little: mean calls on the wire
    outstanding: float  # mean calls in all
    waiting: float  # mean calls waiting on the client


@dataclass(frozen=True, slots=True)
class MountRates:
    """One superblock over one interval. Payload bytes are server_read and server_write."""

    elapsed_seconds: float
    read_bytes_per_second: float
    write_bytes_per_second: float
    operations_per_second: float  # every kind
    operations: Mapping[str, OperationRates]  # those that completed calls in the interval
    data: OperationRates | None  # READ, READ_PLUS and WRITE together


@dataclass(frozen=True, slots=True)
class ConnectionRates:
    """One connection over one interval."""

    sends_per_second: float
    receives_per_second: float
    on_wire: int  # sends - receives now
    mean_requests: float | None  # per send
    mean_backlog: float | None
    mean_sending: float | None
    mean_pending: float | None


@dataclass(frozen=True, slots=True)
class ClientRates:
    """All connections of one client over one interval."""

    elapsed_seconds: float
    calls_per_second: float
    mean_backlog: float | None
    mean_requests: float | None
    busiest_ratio: float | None  # share of the busiest connection; 1/n is perfect balance
    spread: float | None  # max / mean of sends
    on_wire: int
    connections: tuple[ConnectionRates, ...]
