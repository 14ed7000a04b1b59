"""The exporter itself: can its silence be trusted? And what a long memory should keep of a VM."""

from rulebook.paper import Alert, Group, Record
from rulebook.phrases import PER_CENT, board

VM = board("vm", instance="instance")
FLEET = board("fleet", instance="instance")


def _busy(metric: str, label: str) -> str:
    return (
        f"label_replace(sum by (job, instance, {label}) (rate({metric}[1h])) > 1, "
        f'"name", "$1", "{label}", "(.+)")'
    )


DOWN = Alert(
    "IoplateauExporterDown",
    'up{job="ioplateau"} == 0',
    "3m",
    "warning",
    "vm",
    "ioplateau on {{ $labels.instance }} cannot be scraped",
    "Prometheus has not reached ioplateau on {{ $labels.instance }} for more than 3 minutes: of this VM "
    "nothing is known, throttling included. Its counters go on if only the network is gone.",
    "exporter-down",
    FLEET,
)

LATE = Alert(
    "IoplateauSamplingLate",
    "rate(ioplateau_ticks_total[5m]) * ioplateau_sampling_interval_seconds < 0.9",
    "5m",
    "warning",
    "vm",
    "ioplateau on {{ $labels.instance }} samples only " + PER_CENT + " of the time",
    "ioplateau on {{ $labels.instance }} made " + PER_CENT + " of the ticks it should have made in the last "
    "5 minutes: the VM is starved of CPU, or a source takes longer than a tick. Short throttling may be missed.",
    "sampling-late",
    VM,
)  # fmt: skip

SOURCE = Alert(
    "IoplateauSourceFailing",
    "ioplateau_source_up == 0",
    "5m",
    "warning",
    "vm",
    "ioplateau on {{ $labels.instance }} cannot read {{ $labels.source }}",
    "For more than 5 minutes ioplateau on {{ $labels.instance }} could not read or understand its source "
    "{{ $labels.source }}; its log says why. What depends on it is unknown, not healthy.",
    "source-failing",
    VM,
)

UNKNOWN = Alert(
    "IoplateauLimitsUnknown",
    "count by (job, instance) (\n"
    '  ioplateau_budget_info{kind=~"disk|volume",origin=""}\n'
    "  and on (job, instance, name) (\n"
    f"    {_busy('ioplateau_disk_operations_total', 'device')}\n"
    "    or\n"
    f"    {_busy('ioplateau_nfs_operations_total', 'mount')}\n"
    "  )\n"
    ") > 0",
    "1h",
    "info",
    "vm",
    "{{ $value }} busy disks or volumes of {{ $labels.instance }} have no known limit",
    "{{ $value }} disks or NFS volumes of {{ $labels.instance }} have carried I/O for an hour, and nobody says "
    "what they are allowed: only a plateau that is seen can be told, and no share of a limit. Name them in the "
    "configuration, or let the daemon ask the metadata service.",
    "limits-unknown",
    VM,
)

GROUP = Group("ioplateau-exporter", [DOWN, LATE, SOURCE, UNKNOWN])

# Two to a dozen series a VM, for the store that keeps years.
LONG_MEMORY = Group(
    "ioplateau-vm",
    [
        Record(
            "ioplateau:vm_utilization:max",
            "max by (job, instance, kind) (ioplateau_budget_utilization_ratio)",
        ),
        Record(
            "ioplateau:vm_throttled:ratio5m",
            "max by (job, instance, kind) (rate(ioplateau_budget_throttled_seconds_total[5m]))",
        ),
    ],
)
