"""A volume over the fleet: what no single client sees, the sum of them all against the limit."""

from boards.frame import VOLUME, dashboard
from boards.shared import held_back, link_to_vm, otherwise
from boards.style import (
    Json,
    bands,
    cell,
    column,
    held_back_thresholds,
    plain,
    row,
    stat,
    table,
    target,
    timeseries,
    to,
)

# Of a single choice Grafana escapes no dot, bracket or plus, so it is compared as it stands.
HERE = 'volume="$volume"'
AT_LIMIT = f"ioplateau:volume_at_limit:bool{{{HERE}}}"
CLIENT_BYTES = f'ioplateau:nfs_client_bytes:rate1m{{{HERE},direction="total"}}'
NAMED_CLIENT_BYTES = CLIENT_BYTES.replace("{", '{instance!="",')


def board() -> Json:
    return dashboard(
        "volume",
        "ioplateau / Volume over the fleet",
        "All clients of an NFS volume together, against its limit. Needs the fleet rules of alerts/.",
        [VOLUME],
        [_plateau(), _clients()],
        throttled=AT_LIMIT,
        alerts=HERE,
        closed=False,
    )


def _plateau() -> Json:
    return row(
        "At its limit?",
        stat(
            "Share of limit",
            "All clients together, over the volume's limit.",
            "percentunit",
            target(f"max(ioplateau:volume_utilization:ratio{{{HERE}}})", "share"),
        ),
        stat(
            "Time at the limit",
            "Share of this range in which all clients together drew 95 % or more of the limit.",
            "percentunit",
            target(f"max(avg_over_time({AT_LIMIT}[$__range]))", "share"),
            thresholds=held_back_thresholds(),
        ),
        stat(
            "Clients",
            "VMs that mount the volume and are scraped. Clients that are not scraped are missing in "
            "every sum here.",
            "short",
            target(
                "count(group by (instance) (ioplateau:nfs_mount_volume:info"
                f"{{{HERE}}})) or vector(0)",
                "clients",
            ),
        ),
        stat(
            "Clients held back",
            "Clients on which the volume's limit holds calls back now.",
            "short",
            target(f"sum(ioplateau:volume_throttled_clients:count{{{HERE}}})", "clients"),
            no_value="no clients",
        ),
        stat(
            "Largest share",
            "What the client with most bytes takes of all bytes that the volume delivers.",
            "percentunit",
            target(f"max(sum by (instance) ({CLIENT_BYTES})) / (sum({CLIENT_BYTES}) > 0)", "share"),
            thresholds=plain(),
            no_value="no traffic",
        ),
        stat(
            "Fullest client",
            "The client that moves most bytes.",
            "short",
            target(
                f"topk(1, sum by (instance) ({NAMED_CLIENT_BYTES}) > 0) "
                'or on () label_replace(vector(1), "instance", "no traffic", "", "")',
                "{{instance}}",
            ),
            names=True,
        ),
        timeseries(
            "Throughput of all clients against the limit",
            "File content read and written by all clients together, and the limit of the volume (dashed). "
            "Flat at the line: the volume is full, whoever asks for more takes it from the others.",
            "Bps",
            target(
                f'ioplateau:volume_bytes:rate1m{{{HERE},direction="total"}}',
                "{{volume}} all clients",
            ),
            target(f"ioplateau:volume_limit_bytes:max{{{HERE}}}", "{{volume}} {{direction}} limit"),
        ),
        timeseries(
            "Calls of all clients against the limit",
            "READ and WRITE calls of all clients per second, and the limit where there is one (dashed).",
            "iops",
            target(
                f'ioplateau:volume_operations:rate1m{{{HERE},direction="total"}}',
                "{{volume}} all clients",
            ),
            target(
                f"ioplateau:volume_limit_operations:max{{{HERE}}}",
                "{{volume}} {{direction}} limit",
            ),
        ),
        bands(
            "At its limit",
            "Red while all clients together draw 95 % or more of the limit.",
            target(held_back(AT_LIMIT), "{{volume}} {{dimension}} {{direction}}"),
            otherwise(
                "no client knows the volume's limit",
                f"last_over_time({AT_LIMIT}[$__range] @ end())",
            ),
            h=4,
        ),
    )


def _each(metric: str, more: str = "") -> str:
    """A row for each client and where it mounts the volume: what else the series are called would
    be columns too.
    """
    mounts = f"max by (instance, volume, mount) (ioplateau:nfs_mount_volume:info{{{HERE}}})"
    return (
        f"max by (instance, volume, mount) ({mounts} * on (instance, volume) group_left () "
        f"max by (instance, volume) ({metric}{{{HERE}{more}}}))"
    )


def _clients() -> Json:
    slowest = f"ioplateau:nfs_client_await_seconds:mean1m{{{HERE}}}"
    return row(
        "Who takes it",
        timeseries(
            "Throughput by client: the 10 with most in this range",
            "File content read and written by each client. Equal and flat: the server shares fairly; one "
            "large and the rest small: a neighbour.",
            "Bps",
            target(
                f"{CLIENT_BYTES} and on (instance, volume) "
                f"topk(10, avg_over_time({CLIENT_BYTES}[$__range] @ end()))",
                "{{instance}} {{volume}}",
            ),
            many=True,
            links=[link_to_vm()],
            no_value="no clients",
        ),
        timeseries(
            "Time of a call by client: the 10 slowest in this range",
            "Mean time of READ and WRITE calls, waiting included. All rise together: the volume. One "
            "alone: that client's connection, slots or network.",
            "s",
            target(
                f"{slowest} and on (instance, volume) "
                f"topk(10, avg_over_time({slowest}[$__range] @ end()))",
                "{{instance}} {{volume}}",
            ),
            many=True,
            links=[link_to_vm()],
            no_value="no calls",
        ),
        table(
            "Clients",
            "Each client of the volume and where it is mounted: what it takes, its share, how long a call "
            "takes, and the share of the last five minutes in which the volume's limit held it back.",
            [
                column(
                    "VM",
                    key="instance",
                    link=to("nfs", "This mount", instance=cell("VM"), mount=cell("Mount")),
                ),
                column("Mount", key="mount"),
                column("Volume", key="volume"),
                column("Share of all clients", "percentunit", key="A"),
                column("Throughput", "Bps", key="B"),
                column("Time of a call", "s", key="C"),
                column("Held back", "percentunit", thresholds=held_back_thresholds(), key="D"),
            ],
            target(_each("ioplateau:volume_client_share:ratio")),
            target(_each("ioplateau:nfs_client_bytes:rate1m", ',direction="total"')),
            target(_each("ioplateau:nfs_client_await_seconds:mean1m")),
            target(_each("ioplateau:nfs_client_throttled:ratio5m")),
            sort="Share of all clients",
            no_value="no clients",
        ),
    )
