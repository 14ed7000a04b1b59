"""A volume over the fleet: what no single client sees, the sum of them all against the limit."""

from boards.frame import VOLUME, dashboard
from boards.house import (
    Json,
    bands,
    cell,
    column,
    held_back_thresholds,
    label,
    plain,
    row,
    stat,
    table,
    target,
    timeseries,
    to,
)

HERE = 'volume=~"$volume"'


def board() -> Json:
    return dashboard(
        "volume",
        "ioplateau / Volume over the fleet",
        "All clients of an NFS volume together, against its limit. Needs the fleet rules of alerts/.",
        [VOLUME],
        [_plateau(), _clients()],
        throttled=(
            "label_replace(label_replace(max by (volume, dimension) "
            f'(ioplateau:volume_at_limit:bool{{{HERE}}}), "kind", "volume", "", ""), '
            '"name", "$1", "volume", "(.+)") == 1'
        ),
        alerts=f",{HERE}",
        closed=False,
    )


def _plateau() -> Json:
    return row(
        "At its limit?",
        stat(
            "Share of limit",
            "All clients together, over the volume's limit; the fullest of the chosen volumes.",
            "percentunit",
            target(f"max(ioplateau:volume_utilization:ratio{{{HERE}}})", "share"),
        ),
        stat(
            "Time at the limit",
            "Share of this range in which all clients together drew 95 % or more of the limit.",
            "percentunit",
            target(
                f"max(avg_over_time(ioplateau:volume_at_limit:bool{{{HERE}}}[$__range]))", "share"
            ),
            thresholds=held_back_thresholds(),
        ),
        stat(
            "Clients",
            "VMs that mount the chosen volumes and are scraped. Clients that are not scraped are missing "
            "in every sum here.",
            "short",
            target(f"sum(ioplateau:volume_clients:count{{{HERE}}})", "clients"),
            no_value="no clients",
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
            "What the busiest client takes of all that the volume delivers.",
            "percentunit",
            target(f"max(ioplateau:volume_client_share:ratio{{{HERE}}})", "share"),
            thresholds=plain(),
            no_value="no traffic",
        ),
        stat(
            "Fullest client",
            "The client that takes most.",
            "short",
            target(
                f"topk(1, ioplateau:volume_client_share:ratio{{{HERE}}} @ end())", "{{instance}}"
            ),
            names=True,
            no_value="no traffic",
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
            target(
                f"ioplateau:volume_at_limit:bool{{{HERE}}}",
                "{{volume}} {{dimension}} {{direction}}",
            ),
            h=4,
            no_value="no client knows the volume's limit",
        ),
    )


def _each(metric: str, more: str = "") -> str:
    """A row for each client: what else the series are called would be columns too."""
    return f"max by (instance, volume) ({metric}{{{HERE}{more}}})"


def _clients() -> Json:
    ranked = (
        "topk(10, avg_over_time("
        f'ioplateau:nfs_client_bytes:rate1m{{{HERE},direction="total"}}[$__range] @ end()))'
    )
    to_mount = to("nfs", "This mount", instance=label("instance"))
    return row(
        "Who takes it",
        timeseries(
            "Throughput by client: the 10 with most in this range",
            "File content read and written by each client. Equal and flat: the server shares fairly; one "
            "large and the rest small: a neighbour.",
            "Bps",
            target(
                f'ioplateau:nfs_client_bytes:rate1m{{{HERE},direction="total"}} '
                f"and on (instance, volume) {ranked}",
                "{{instance}} {{volume}}",
            ),
            many=True,
            links=[to_mount],
            no_value="no clients",
        ),
        timeseries(
            "Time of a call by client: the 10 slowest in this range",
            "Mean time of READ and WRITE calls, waiting included. All rise together: the volume. One "
            "alone: that client's connection, slots or network.",
            "s",
            target(
                f"ioplateau:nfs_client_await_seconds:mean1m{{{HERE}}} and on (instance, volume) "
                f"topk(10, max_over_time(ioplateau:nfs_client_await_seconds:mean1m{{{HERE}}}"
                "[$__range] @ end()))",
                "{{instance}} {{volume}}",
            ),
            many=True,
            links=[to_mount],
            no_value="no calls",
        ),
        table(
            "Clients",
            "Each client of the volume: what it takes, its share, how long a call takes, and the share of "
            "the last five minutes in which the volume's limit held it back.",
            [
                column("VM", key="instance", link=to("nfs", "This VM", instance=cell("VM"))),
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
