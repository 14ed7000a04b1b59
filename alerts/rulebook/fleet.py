"""The fleet: what no single VM sees, the sum of a volume's clients against its limit.

A volume is a server and an export as they are mounted; each superblock of a VM counts once, even
if two jobs scrape the VM.
"""

from rulebook.paper import Alert, Group, Record
from rulebook.phrases import BUSIEST, CLIENTS, MOUNT_VOLUME, PER_CENT, VOLUME_SUM, board

VOLUME = board("volume", volume="volume")
WHICH = "server, export, volume"
MOUNT_IS = f"* on (instance, mount) group_left ({WHICH}) ioplateau:nfs_mount_volume:info"


def _by_volume(expr: str) -> str:
    """What has a mount as its name, with the volume."""
    return f'label_replace({expr}, "mount", "$1", "name", "(.+)")\n{MOUNT_IS}'


def _indent(expr: str) -> str:
    return expr.replace("\n", "\n  ")


def _client(name: str, per_mount: str) -> tuple[Record, Record]:
    whole = f"ioplateau:nfs_client_{name}:rate1m"
    each = f"sum by (instance, {WHICH}, direction) (\n  {_indent(per_mount)}\n  {MOUNT_IS}\n)"
    return (
        Record(whole, each),
        Record(
            whole,
            f'sum without (direction) ({whole}{{direction=~"read|write"}})',
            {"direction": "total"},
        ),
    )


def _limit(name: str, metric: str) -> Record:
    # A limit that a client learned is the share it got, so it says nothing of the volume. Where one
    # holds below the limit that was sold, held_ratio is the one over the other.
    volume = '{kind="volume"}'
    known = (
        f"({metric}{volume} / ioplateau_budget_held_ratio{volume} or {metric}{volume})\n"
        "  and on (instance, kind, name) "
        'ioplateau_budget_info{origin=~".*(configured|reported|catalogue).*"}'
    )
    own = _by_volume(f"max by (instance, name, direction) (\n  {known}\n)")
    return Record(
        f"ioplateau:volume_limit_{name}:max",
        f"max by ({WHICH}, direction) (\n  {_indent(own)}\n)",
    )


BYTES = _client(
    "bytes", "max by (instance, mount, direction) (rate(ioplateau_nfs_payload_bytes_total[1m]))"
)
OPERATIONS = _client(
    "operations",
    "label_replace(\n"
    "  label_replace(\n"
    '    max by (instance, mount, operation) (rate(ioplateau_nfs_operations_total{operation=~"READ|WRITE"}[1m])),\n'
    '    "direction", "read", "operation", "READ"\n'
    "  ),\n"
    '  "direction", "write", "operation", "WRITE"\n'
    ")",
)

AWAIT = Record(
    "ioplateau:nfs_client_await_seconds:mean1m",
    f"sum by (instance, {WHICH}) (\n"
    "  max by (instance, mount, operation) (\n"
    '    rate(ioplateau_nfs_operation_execute_seconds_total{operation=~"READ|WRITE"}[1m])\n'
    "  )\n"
    f"  {MOUNT_IS}\n"
    ")\n"
    "/\n"
    '(sum without (direction) (ioplateau:nfs_client_operations:rate1m{direction="total"}) > 0)',
)

RECORDS = (
    Record("ioplateau:nfs_mount_volume:info", MOUNT_VOLUME),
    *BYTES,
    *OPERATIONS,
    AWAIT,
    Record(
        "ioplateau:volume_bytes:rate1m",
        f"sum by ({WHICH}, direction) (ioplateau:nfs_client_bytes:rate1m)",
    ),
    Record(
        "ioplateau:volume_operations:rate1m",
        f"sum by ({WHICH}, direction) (ioplateau:nfs_client_operations:rate1m)",
    ),
    _limit("bytes", "ioplateau_budget_limit_bytes_per_second"),
    _limit("operations", "ioplateau_budget_limit_operations_per_second"),
    Record(
        "ioplateau:volume_utilization:ratio",
        "ioplateau:volume_bytes:rate1m / ioplateau:volume_limit_bytes:max",
        {"dimension": "throughput"},
    ),
    Record(
        "ioplateau:volume_utilization:ratio",
        "ioplateau:volume_operations:rate1m / ioplateau:volume_limit_operations:max",
        {"dimension": "iops"},
    ),
    # 95 %: limits are on the wire, with headers of about 2 %, and rates of many clients are not
    # of the same second.
    Record("ioplateau:volume_at_limit:bool", "ioplateau:volume_utilization:ratio >= bool 0.95"),
    Record(
        "ioplateau:volume_clients:count",
        f"count by ({WHICH}) (group by (instance, {WHICH}) (ioplateau:nfs_mount_volume:info))",
    ),
    Record(
        "ioplateau:volume_client_share:ratio",
        'sum without (direction) (ioplateau:nfs_client_bytes:rate1m{direction="total"})\n'
        f"/ on ({WHICH}) group_left ()\n"
        '(sum without (direction) (ioplateau:volume_bytes:rate1m{direction="total"}) > 0)',
    ),
    Record(
        "ioplateau:volume_throttled_clients:count",
        f"sum by ({WHICH}) (\n"
        f"  max by (instance, {WHICH}) (\n"
         "    "
        + _by_volume('max by (instance, name) (ioplateau_budget_throttled{kind="volume"})').replace("\n", "\n    ")
        + "\n  )\n)",
    ),
    Record(
        "ioplateau:nfs_client_throttled:ratio5m",
        f"max by (instance, {WHICH}) (\n  "
        + _indent(
            _by_volume(
                'max by (instance, name) (rate(ioplateau_budget_throttled_seconds_total{kind="volume"}[5m]))'
            )
        )
        + "\n)",
    ),
    Record(
        "ioplateau:nfs_client_demand:ratio15m",
        f"max by (instance, {WHICH}) (\n  "
        + _indent(
            _by_volume(
                'max by (instance, name) (avg_over_time(ioplateau_budget_demand_ratio{kind="volume"}[15m]))'
            )
        )
        + "\n)",
    ),
)  # fmt: skip

AT_LIMIT = Alert(
    "IoplateauVolumeAtLimit",
    "avg_over_time(ioplateau:volume_at_limit:bool[5m]) > 0.2",
    "1m",
    "warning",
    "volume",
    "NFS volume {{ $labels.volume }} is at its limit: its clients together draw " + VOLUME_SUM,
    CLIENTS + " of {{ $labels.volume }} together draw " + VOLUME_SUM + ", and were at the limit for " + PER_CENT
    + " of the last 5 minutes. " + BUSIEST + ". More quota or a higher service level lifts it, or less I/O of its "
    "largest clients.",
    "volume-at-limit",
    VOLUME,
)  # fmt: skip

AT_LIMIT_CRITICAL = Alert(
    "IoplateauVolumeAtLimit",
    "avg_over_time(ioplateau:volume_at_limit:bool[15m]) > 0.5\n"
    f"and on ({WHICH})\n"
    f"  (max by ({WHICH}) (ioplateau:nfs_client_demand:ratio15m) > 1.5)",
    "1m",
    "critical",
    "volume",
    "NFS volume {{ $labels.volume }} is at its limit, and much more is asked of it: " + VOLUME_SUM,
    CLIENTS + " of {{ $labels.volume }} together draw " + VOLUME_SUM + ", and were at the limit for " + PER_CENT
    + " of the last 15 minutes, while clients ask for at least half as much again. " + BUSIEST + ".",
    "volume-at-limit",
    VOLUME,
)  # fmt: skip

ONE_CLIENT = Alert(
    "IoplateauVolumeHoldsOneClient",
    "ioplateau:nfs_client_throttled:ratio5m > 0.2\n"
    f"and on ({WHICH}) (max by ({WHICH}) (ioplateau:volume_utilization:ratio) < 0.8)\n"
    f"and on ({WHICH}) (count by ({WHICH}) (ioplateau:nfs_client_throttled:ratio5m > 0.2) == 1)",
    "5m",
    "warning",
    "volume",
    "Only {{ $labels.instance }} is held back on NFS volume {{ $labels.volume }}, which is not full",
    "{{ $labels.instance }} was held back on {{ $labels.volume }} for " + PER_CENT + " of the last 5 minutes, while "
    "all " + CLIENTS + " together stay below 80 % of its limit and no other is held back: the server rations "
    "this client, clients that are not scraped take the rest, or its limit is lower than we believe.",
    "volume-holds-one-client",
    VOLUME,
)  # fmt: skip

GROUP = Group("ioplateau-fleet", [*RECORDS, AT_LIMIT, AT_LIMIT_CRITICAL, ONE_CLIENT])
