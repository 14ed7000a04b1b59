"""TCP_INFO of the NFS connections, from the kernel's socket diagnostics (inet_diag over netlink).

The only file that imports pyroute2, and only once an NFS mount exists (28 MiB, 0.4 s).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """One established connection to an NFS server. Microseconds and bytes as the kernel has them;
    None: this kernel's tcp_info is shorter."""

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
