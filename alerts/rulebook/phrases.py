"""Pieces of templates that several alerts speak with: limits, values and links."""

PER_CENT = "{{ $value | humanizePercentage }}"

_BUDGET = (
    '{{ $budget := printf "{instance=%q,kind=%q,name=%q,dimension=%q,direction=%q}" '
    "$labels.instance $labels.kind $labels.name $labels.dimension $labels.direction }}"
)
_WAY = '{{ if ne $labels.direction "total" }} ({{ $labels.direction }}){{ end }}'


def _number(metric: str, unit: str, where: str = "$budget") -> str:
    """The metric's value with its unit; nothing if there is none."""
    return (
        f'{{{{ with printf "{metric}%s" {where} | query }}}}'
        f"{{{{ . | first | value | humanize }}}}{unit}{{{{ end }}}}"
    )


# "500 operations/s", "100MB/s (read)", "2 slots"; at most one of the three has a sample.
LIMIT = (
    _BUDGET
    + _number("ioplateau_budget_limit_operations_per_second", " operations/s")
    + _number("ioplateau_budget_limit_bytes_per_second", "B/s")
    + _number("ioplateau_budget_limit_slots", " slots")
    + _WAY
)
# " Estimated demand: 2.3 times the limit." while the judge can tell. Comes after LIMIT.
DEMAND = (
    '{{ with printf "avg_over_time(ioplateau_budget_demand_ratio%s[15m])" $budget | query }}'
    " Estimated demand: {{ . | first | value | humanize }} times the limit.{{ end }}"
)

_VOLUME = '{{ $volume := printf "{server=%q,export=%q}" $labels.server $labels.export }}'
_OF_DIMENSION = '{{ $way := printf "{server=%q,export=%q,direction=%q}" $labels.server $labels.export $labels.direction }}'

# "97.9MB/s of 100MB/s"
VOLUME_SUM = (
    _OF_DIMENSION
    + '{{ if eq $labels.dimension "iops" }}'
    + _number("ioplateau:volume_operations:rate1m", "", "$way")
    + " of "
    + _number("ioplateau:volume_limit_operations:max", " operations/s", "$way")
    + "{{ else }}"
    + _number("ioplateau:volume_bytes:rate1m", "B/s", "$way")
    + " of "
    + _number("ioplateau:volume_limit_bytes:max", "B/s", "$way")
    + "{{ end }}"
)
CLIENTS = _VOLUME + _number("ioplateau:volume_clients:count", " clients", "$volume")
BUSIEST = (
    _VOLUME
    + '{{ with printf "topk(1, ioplateau:volume_client_share:ratio%s)" $volume | query }}'
    + '{{ . | first | label "instance" }} takes {{ . | first | value | humanizePercentage }} of it{{ end }}'
)


def board(name: str, **variables: str) -> str:
    """The path of a dashboard, with labels as its variables."""
    chosen = "&".join(
        f"var-{variable}={{{{ urlquery $labels.{label} }}}}"
        for variable, label in variables.items()
    )
    return f"/d/ioplateau-{name}?{chosen}"


# Which volume a mount is of, as "server:/export", once for each superblock of a VM.
MOUNT_VOLUME = (
    "label_join(max by (instance, mount, server, export) (ioplateau_nfs_mount_info), "
    '"volume", ":", "server", "export")'
)
NAME_VOLUME = f'label_replace({MOUNT_VOLUME}, "name", "$1", "mount", "(.+)")'
# Put behind anything whose name is a mount, to tell which volume that is.
OF_VOLUME = f"* on (instance, name) group_left (server, export, volume)\n  {NAME_VOLUME}"
# The same, of mounts with a single connection only.
OF_SINGLE = OF_VOLUME.replace("nfs_mount_info", 'nfs_mount_info{nconnect="1"}')
