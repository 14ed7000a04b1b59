"""One NFS mount: where the time goes, and whether its connections share the work."""

from boards.frame import MOUNT, NFS_INSTANCE, dashboard
from boards.shared import RATE, counted, link_to_vm, throttled_bands, time_throttled, verdict_bands
from boards.style import (
    Json,
    any_is_bad,
    cell,
    column,
    plain,
    row,
    stat,
    table,
    target,
    timeseries,
    to,
)

MOUNTS = 'instance=~"$instance",mount=~"$mount"'
BUDGET = 'instance=~"$instance",kind=~"volume|nfs_.+",name=~"$mount"'
VOLUME = 'instance=~"$instance",kind="volume",name=~"$mount"'
WHO = "{{instance}} {{mount}}"
DATA = f'{MOUNTS},operation=~"READ|READ_PLUS|WRITE"'
READS = f'{MOUNTS},operation=~"READ|READ_PLUS"'
# The clients (server and version) that the chosen mounts use.
OF_MOUNT = (
    "and on (instance, server, version, protocol) "
    f"max by (instance, server, version, protocol) (ioplateau_nfs_mount_info{{{MOUNTS}}})"
)
CLIENT = "{{instance}} {{server}} v{{version}}"


def _client(metric: str) -> str:
    return f'{metric}{{instance=~"$instance"}} {OF_MOUNT}'


def _client_rate(metric: str) -> str:
    return f'rate({metric}{{instance=~"$instance"}}{RATE}) {OF_MOUNT}'


def board() -> Json:
    return dashboard(
        "nfs",
        "ioplateau / NFS mount",
        "An NFS mount: its volume's limit, where operations spend their time, slots, connections, TCP.",
        [NFS_INSTANCE, MOUNT],
        [_plateau(), _operations(), _connections(), _trouble(), _tcp(), _options()],
        throttled=f"ioplateau_budget_throttled{{{BUDGET}}}",
        # Some alerts are of the VM as a whole: those have no name.
        alerts='instance=~"$instance",name=~"|$mount"',
    )


def _plateau() -> Json:
    links = [link_to_vm()]
    return row(
        "At its limit?",
        stat(
            "Share of the volume's limit",
            "What this VM alone draws of the limit, mean of 15 s. Other clients draw on it too: see the "
            "volume over the fleet.",
            "percentunit",
            target(f"max(ioplateau_budget_utilization_ratio{{{VOLUME}}})", "share"),
            links=[to("volume", "Volumes over the fleet")],
        ),
        time_throttled(
            BUDGET,
            "The longest time that the limits of one of these (volume, slots, connection) held calls back in this "
            "range.",
        ),
        stat(
            "Connections",
            "TCP connections to the servers of these mounts: nconnect in force.",
            "short",
            target(f"sum({_client('ioplateau_nfs_connections')})", "connections"),
            no_value="no NFS mounts",
        ),
        stat(
            "Busiest connection",
            "Share of the busiest connection in the requests. One of four connections with 100 % carries "
            "everything; 25 % is perfect balance.",
            "percentunit",
            target(f"max({_client('ioplateau_nfs_client_busiest_connection_ratio')})", "busiest"),
            thresholds=plain(),
            no_value="no traffic",
        ),
        stat(
            "Not answered",
            "Mounts whose server has stopped answering.",
            "short",
            counted(f'ioplateau_budget_verdict{{{VOLUME},verdict="stalled"}}'),
            thresholds=any_is_bad(),
            no_value="no NFS mounts",
        ),
        stat(
            "Queue length",
            "Calls outstanding, on the wire and waiting on the client, summed over the mounts.",
            "short",
            target(f"sum(ioplateau_nfs_queue_length{{{DATA}}})", "calls"),
            no_value="no NFS mounts",
        ),
        timeseries(
            "Throughput against the volume's limit",
            "File content read and written, headers left out, and the limit of the volume (dashed). "
            "Flat at the line with calls queueing below: the volume is throttled.",
            "Bps",
            target(
                f"sum by (instance, mount) (ioplateau_nfs_payload_bytes_per_second{{{MOUNTS}}})",
                WHO,
            ),
            target(
                f"ioplateau_budget_limit_bytes_per_second{{{VOLUME}}}",
                "{{instance}} {{name}} {{direction}} limit",
            ),
            links=links,
            no_value="no NFS mounts",
        ),
        timeseries(
            "Calls against the volume's limit",
            "READ and WRITE calls per second, and the limit in operations where there is one (dashed).",
            "iops",
            target(
                f"sum by (instance, mount) (ioplateau_nfs_operations_per_second{{{DATA}}})", WHO
            ),
            target(
                f"ioplateau_budget_limit_operations_per_second{{{VOLUME}}}",
                "{{instance}} {{name}} {{direction}} limit",
            ),
            links=links,
            no_value="no NFS mounts",
        ),
        timeseries(
            "Calls outstanding",
            "Mean calls on the wire and waiting. Rising while the rate stays flat: they are held back.",
            "short",
            target(f"sum by (instance, mount) (ioplateau_nfs_queue_length{{{DATA}}})", WHO),
            no_value="no NFS mounts",
        ),
        throttled_bands(
            "Throttled",
            "Each limit of the volume, of the slots or of a single connection that held calls back in "
            "this range; red while it does.",
            BUDGET,
            "{{instance}} {{name}} {{kind}} {{dimension}} {{direction}}",
            w=12,
        ),
        verdict_bands(
            "Stalled: the server does not answer, which is no limit.",
            VOLUME,
            "{{instance}} {{name}}",
            w=12,
        ),
    )


def _ranked(counter: str) -> str:
    """Rates of the ten series that grew most in the range."""
    return (
        f"rate({counter}{{{MOUNTS}}}{RATE}) and "
        f"topk(10, increase({counter}{{{MOUNTS}}}[$__range] @ end()))"
    )


def _operations() -> Json:
    each = f"{WHO} {{{{operation}}}}"
    return row(
        "Where the time goes",
        timeseries(
            "Time of a READ: in full and on the wire",
            "Execute is all of it, RTT is network and server. What lies between is waiting on the client, "
            "for a slot or for its connection.",
            "s",
            target(f"ioplateau_nfs_await_seconds{{{READS}}}", f"{each} execute"),
            target(f"ioplateau_nfs_rtt_seconds{{{READS}}}", f"{each} RTT"),
            no_value="nothing was read",
        ),
        timeseries(
            "Time of a WRITE: in full and on the wire",
            "Execute is all of it, RTT is network and server. What lies between is waiting on the client.",
            "s",
            target(f'ioplateau_nfs_await_seconds{{{MOUNTS},operation="WRITE"}}', f"{WHO} execute"),
            target(f'ioplateau_nfs_rtt_seconds{{{MOUNTS},operation="WRITE"}}', f"{WHO} RTT"),
            no_value="nothing was written",
        ),
        timeseries(
            "Calls waiting on the client",
            "Calls' worth of time spent waiting for a slot or the connection. Above 1 for long: more slots "
            "would help, or, up to v4.0, more connections.",
            "short",
            target(f"rate(ioplateau_nfs_operation_queue_seconds_total{{{DATA}}}{RATE})", each),
            no_value="no NFS mounts",
        ),
        timeseries(
            "Throughput, reads up and writes down",
            "File content per second.",
            "Bps",
            target(
                f"ioplateau_nfs_payload_bytes_per_second{{{MOUNTS}}}", f"{WHO} {{{{direction}}}}"
            ),
            mirrored=True,
            no_value="no NFS mounts",
        ),
        timeseries(
            "Calls by operation: the 10 most frequent in this range",
            "Many GETATTR or LOOKUP are a workload of metadata, which limits in bytes do not count.",
            "iops",
            target(_ranked("ioplateau_nfs_operations_total"), each),
            many=True,
            no_value="no NFS mounts",
        ),
        timeseries(
            "Calls at the server: the 10 operations with the most time in this range",
            "Calls' worth of time on the wire and in the server.",
            "short",
            target(_ranked("ioplateau_nfs_operation_rtt_seconds_total"), each),
            many=True,
            no_value="no NFS mounts",
        ),
    )


def _connections() -> Json:
    return row(
        "Connections and slots",
        timeseries(
            "Balance over the connections",
            "Share of the busiest connection (line), and what it would be in perfect balance (1 over their "
            "number). Far apart: nconnect does not help this workload.",
            "percentunit",
            target(_client("ioplateau_nfs_client_busiest_connection_ratio"), f"{CLIENT} busiest"),
            target(f"1 / ({_client('ioplateau_nfs_connections')})", f"{CLIENT} in balance"),
            thresholds=plain(),
            no_value="no traffic",
        ),
        timeseries(
            "Slots of a connection",
            "Most slots ever used on one connection, and how many it may use (dashed; not known for v4.1, "
            "where the server decides).",
            "short",
            target(_client("ioplateau_nfs_client_slots_used_peak"), f"{CLIENT} used at most"),
            target(_client("ioplateau_nfs_client_slots_limit"), f"{CLIENT} limit"),
            no_value="no NFS mounts",
        ),
        timeseries(
            "Waiting for a slot, and on the wire",
            "Mean requests found in each place when another was sent. A backlog means that slots are the "
            "limit (NFSv3, v4.0).",
            "short",
            target(_client("ioplateau_nfs_client_backlog_length"), f"{CLIENT} backlog"),
            target(_client("ioplateau_nfs_client_wire_length"), f"{CLIENT} on the wire"),
            target(_client("ioplateau_nfs_client_requests_on_wire"), f"{CLIENT} on the wire now"),
            no_value="no traffic",
        ),
        timeseries(
            "Requests sent",
            "Over all connections of the client.",
            "reqps",
            target(_client("ioplateau_nfs_client_requests_per_second"), CLIENT),
            no_value="no NFS mounts",
        ),
    )


def _trouble() -> Json:
    each = f"{WHO} {{{{operation}}}}"
    return row(
        "Errors and reconnects",
        timeseries(
            "Retransmissions and timeouts",
            "Calls sent again, and major timeouts, per second. Anything above 0 is network or server trouble.",
            "cps",
            target(
                f"rate(ioplateau_nfs_retransmissions_total{{{MOUNTS}}}{RATE})", f"{each} sent again"
            ),
            target(f"rate(ioplateau_nfs_timeouts_total{{{MOUNTS}}}{RATE})", f"{each} timed out"),
            at_least=1,
            w=8,
            no_value="no NFS mounts",
        ),
        timeseries(
            "Server busy, client congested",
            "Answers 'come back later' and waits for earlier writes, per second. The server's own way of "
            "throttling is the first.",
            "cps",
            target(f"rate(ioplateau_nfs_server_delays_total{{{MOUNTS}}}{RATE})", f"{WHO} delays"),
            target(f"rate(ioplateau_nfs_congestion_waits_total{{{MOUNTS}}}{RATE})", f"{WHO} waits"),
            at_least=1,
            w=8,
            no_value="no NFS mounts",
        ),
        timeseries(
            "Reconnects",
            "Connections made again around each point of time, as the kernel counts. Anything above 0 "
            "means that connections broke.",
            "short",
            target(
                f'increase(ioplateau_nfs_client_connects_total{{instance=~"$instance"}}{RATE}) '
                f"{OF_MOUNT}",
                CLIENT,
            ),
            at_least=1,
            w=8,
            no_value="no NFS mounts",
        ),
    )


def _tcp() -> Json:
    return row(
        "TCP",
        timeseries(
            "Round trip",
            "Slowest connection now, and the fastest seen (the network without queues). Far apart: a "
            "queue in the network, or a shaper that delays.",
            "s",
            target(_client("ioplateau_nfs_tcp_rtt_seconds"), f"{CLIENT} now"),
            target(_client("ioplateau_nfs_tcp_min_rtt_seconds"), f"{CLIENT} fastest"),
            no_value="the kernel tells nothing of the sockets",
        ),
        timeseries(
            "What holds sending back",
            "Connections' worth of time: the server's receive window, our send buffer, or the network. "
            "Near the number of connections: TCP is the limit, not the volume.",
            "short",
            target(
                _client_rate("ioplateau_nfs_tcp_receiver_limited_seconds_total"),
                f"{CLIENT} receiver",
            ),
            target(
                _client_rate("ioplateau_nfs_tcp_sender_limited_seconds_total"), f"{CLIENT} sender"
            ),
            target(
                _client_rate("ioplateau_nfs_tcp_congestion_limited_seconds_total"),
                f"{CLIENT} network",
            ),
            no_value="the kernel tells nothing of the sockets",
        ),
        timeseries(
            "Delivery rate",
            "Rate at which sent data last arrived, all connections together.",
            "Bps",
            target(_client("ioplateau_nfs_tcp_delivery_rate_bytes_per_second"), CLIENT),
            w=8,
            no_value="the kernel tells nothing of the sockets",
        ),
        timeseries(
            "Congestion window",
            "The smallest of the connections. Small after losses.",
            "bytes",
            target(_client("ioplateau_nfs_tcp_congestion_window_bytes"), CLIENT),
            w=8,
            no_value="the kernel tells nothing of the sockets",
        ),
        timeseries(
            "Segments sent again",
            "TCP retransmissions per second: loss in the network, or a policer that drops.",
            "cps",
            target(_client_rate("ioplateau_nfs_tcp_retransmits_total"), CLIENT),
            at_least=1,
            w=8,
            no_value="the kernel tells nothing of the sockets",
        ),
    )


def _options() -> Json:
    return row(
        "How it is mounted",
        table(
            "Options",
            "As the kernel has them in force. nconnect is the number of connections, which the first "
            "mount of a server decides for all.",
            [
                column("VM", key="instance", link=to("vm", "This VM", instance=cell("VM"))),
                column("Mount", key="mount"),
                column("Server", key="server"),
                column("Export", key="export"),
                column("Version", key="version"),
                column("Protocol", key="protocol"),
                column("nconnect", key="nconnect"),
                column("rsize", "bytes", key="rsize"),
                column("wsize", "bytes", key="wsize"),
                column("Recovery", key="recovery"),
            ],
            target(
                "max by (instance, mount, server, export, version, protocol, nconnect, rsize, wsize, "
                f"recovery) (ioplateau_nfs_mount_info{{{MOUNTS}}})"
            ),
            h=6,
            no_value="no NFS mounts",
        ),
    )
