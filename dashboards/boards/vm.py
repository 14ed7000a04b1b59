"""One VM: which of its limits binds, what it is allowed, and who draws on it."""

from boards.frame import INSTANCE, dashboard
from boards.shared import (
    RATE,
    burst_credit,
    counted,
    otherwise,
    share_columns,
    shares,
    throttled_bands,
    time_throttled,
)
from boards.style import (
    Json,
    any_is_bad,
    bands,
    cell,
    column,
    credit_thresholds,
    plain,
    row,
    stat,
    table,
    target,
    timeseries,
    to,
)

HERE = 'instance=~"$instance"'
# Who lost time to a limit in the range.
_LOST = f"increase(ioplateau_flow_throttled_seconds_total{{{HERE}}}[$__range] @ end()) > 0"
LANES = 'kind=~"vm_uncached|vm_cached|vm_ultra"'


def board() -> Json:
    return dashboard(
        "vm",
        "ioplateau / VM",
        "What a VM is allowed, how near it is, and which limit binds.",
        [INSTANCE],
        [_glance(), _credit(), _machine(), _network(), _parts()],
        throttled=f"ioplateau_budget_throttled{{{HERE}}}",
        alerts=HERE,
    )


def _glance() -> Json:
    return row(
        "At a glance",
        stat(
            "Size",
            "What the cloud calls this VM; from its metadata service or the configuration.",
            "short",
            target(
                f'max by (size) (ioplateau_budget_info{{{HERE},kind="vm_uncached",size!=""}}) '
                'or on () label_replace(vector(1), "size", "unknown", "", "")',
                "{{size}}",
            ),
            names=True,
        ),
        stat(
            "Nearest to a VM limit",
            "The highest share of any limit of the VM as a whole (uncached, cached, network), mean of 15 s.",
            "percentunit",
            target(f'max(ioplateau_budget_utilization_ratio{{{HERE},kind=~"vm_.+"}})', "share"),
        ),
        stat(
            "Nearest to any limit",
            "The highest share of any limit here: VM, disks, volumes, clients.",
            "percentunit",
            target(f"max(ioplateau_budget_utilization_ratio{{{HERE}}})", "share"),
        ),
        stat(
            "Limits that bind now",
            "How many limits hold requests back now.",
            "short",
            counted(f"ioplateau_budget_throttled{{{HERE}}}"),
            thresholds=any_is_bad(),
            no_value="no limit is known",
        ),
        time_throttled(
            HERE, "The longest time that the limits of one budget held requests back in this range."
        ),
        stat(
            "Burst credit left",
            "The emptiest burst credit of VM and disks. At 0 % the limit falls to its base.",
            "percentunit",
            target(f"min(ioplateau_budget_burst_credit_ratio{{{HERE}}})", "credit"),
            thresholds=credit_thresholds(),
            no_value="no burst credit here",
        ),
        _against(
            "Operations against the VM's limits",
            "Operations per second",
            "iops",
            "iops",
            "ioplateau_budget_limit_operations_per_second",
        ),
        _against(
            "Throughput against the VM's limits",
            "Bytes per second",
            "Bps",
            "throughput",
            "ioplateau_budget_limit_bytes_per_second",
        ),
        throttled_bands(
            "Which limit binds",
            "A band for each limit that held requests back in this range; red while it does. Several at "
            "once: the VM's own limit is the one to lift first, disks below it may only be waiting for it.",
            HERE,
            "{{instance}} {{kind}} {{name}} {{dimension}} {{direction}}",
            h=8,
        ),
        timeseries(
            "Share of limit: the 10 limits nearest to being full in this range",
            "Mean share of the limit in force. Flat at 100 % with latency rising is throttling; flat "
            "elsewhere is the application's own pace.",
            "percentunit",
            target(
                _ranked(f"ioplateau_budget_utilization_ratio{{{HERE}}}"),
                "{{instance}} {{kind}} {{name}} {{dimension}} {{direction}}",
            ),
            many=True,
            no_value="no limit is known",
        ),
        timeseries(
            "Queue length: the 10 disks with the longest in this range",
            "Mean requests outstanding at each disk. Queues that rise while the rate above stays flat are "
            "made of requests that a limit holds back.",
            "short",
            target(
                _ranked(f"ioplateau_disk_queue_length{{{HERE}}}"),
                "{{instance}} {{device}}",
            ),
            many=True,
        ),
    )


def _ranked(series: str) -> str:
    """The ten with the highest mean over the range: one high second makes no plateau."""
    return f"{series} and topk(10, avg_over_time({series}[$__range] @ end()))"


def _against(title: str, what: str, unit: str, dimension: str, limit: str) -> Json:
    where = f'{{{HERE},{LANES},dimension="{dimension}"}}'
    return timeseries(
        title,
        f"{what} that count on the VM's uncached, cached and Ultra limits, against those limits "
        "(dashed). Reads that the host cache answers count on the cached limit only.",
        unit,
        target(
            f"ioplateau_budget_utilization_ratio{where} * {limit}{where}",
            "{{instance}} {{kind}} {{name}} {{direction}}",
        ),
        target(f"{limit}{where}", "{{instance}} {{kind}} {{name}} {{direction}} limit"),
        no_value="no limit of the VM is known",
    )


def _credit() -> Json:
    return burst_credit(
        HERE,
        "{{instance}} {{kind}} {{name}} {{dimension}}",
        "It falls while more than the base is used, and fills up while less is.",
        "no burst credit here",
    )


def _machine() -> Json:
    return row(
        "Machine",
        timeseries(
            "I/O pressure",
            "Share of time in which tasks waited for I/O (kernel PSI). It says what waiting costs, not why.",
            "percentunit",
            target(
                f"rate(ioplateau_pressure_io_waiting_seconds_total{{{HERE}}}{RATE})",
                "{{instance}} some task waits",
            ),
            target(
                f"rate(ioplateau_pressure_io_stalled_seconds_total{{{HERE}}}{RATE})",
                "{{instance}} all tasks wait",
            ),
            thresholds=plain(),
            w=8,
        ),
        timeseries(
            "CPU iowait and steal",
            "CPUs' worth of time spent idle because of a disk, and taken by the hypervisor. Steal slows "
            "everything, storage included.",
            "short",
            target(
                f"rate(ioplateau_cpu_iowait_seconds_total{{{HERE}}}{RATE})", "{{instance}} iowait"
            ),
            target(
                f"rate(ioplateau_cpu_steal_seconds_total{{{HERE}}}{RATE})", "{{instance}} steal"
            ),
            w=8,
        ),
        timeseries(
            "Memory waiting to be written",
            "Dirty memory is written later: a throttled disk makes it grow until writers must wait too.",
            "bytes",
            target(f"ioplateau_memory_dirty_bytes{{{HERE}}}", "{{instance}} dirty"),
            target(f"ioplateau_memory_writeback_bytes{{{HERE}}}", "{{instance}} under way"),
            w=8,
        ),
    )


def _network() -> Json:
    return row(
        "Network",
        timeseries(
            "Network throughput",
            "Received upwards, sent downwards. Clouds limit what is sent, EC2 also what is received; NFS "
            "writes are sent.",
            "Bps",
            target(
                f"ioplateau_interface_receive_bytes_per_second{{{HERE}}}",
                "{{instance}} {{interface}} received",
            ),
            target(
                f"ioplateau_interface_transmit_bytes_per_second{{{HERE}}}",
                "{{instance}} {{interface}} sent",
            ),
            mirrored=True,
        ),
        timeseries(
            "Sent, against the VM's network limit",
            "All interfaces together, and the limit of the VM (dashed).",
            "Bps",
            target(
                "sum by (instance) (ioplateau_interface_transmit_bytes_per_second"
                f'{{{HERE},interface!="lo"}})',
                "{{instance}} sent",
            ),
            target(
                f'ioplateau_budget_limit_bytes_per_second{{{HERE},kind="vm_network",direction!="read"}}',
                "{{instance}} network {{direction}} limit",
            ),
        ),
    )


def _parts() -> Json:
    disks = f'{HERE},kind=~"disk|stripe"'
    volumes = f'{HERE},kind="volume"'
    return row(
        "Disks and mounts",
        table(
            "Disks",
            "Each disk with its share of its own limit, the highest second and the time it was held back "
            "in this range.",
            [
                column("VM", key="instance"),
                column(
                    "Disk",
                    key="name",
                    link=to("disk", "This disk", instance=cell("VM"), device=cell("Disk")),
                ),
                column("SKU", key="sku"),
                column("Limit from", key="origin"),
                *share_columns(),
            ],
            *shares("instance, name", disks),
            target(f"count by (instance, name, sku, origin) (ioplateau_budget_info{{{disks}}})"),
        ),
        table(
            "NFS mounts",
            "Each mount with its share of its volume's limit, as far as this VM draws on it.",
            [
                column("VM", key="instance"),
                column(
                    "Mount",
                    key="name",
                    link=to("nfs", "This mount", instance=cell("VM"), mount=cell("Mount")),
                ),
                column("Limit from", key="origin"),
                *share_columns(),
            ],
            *shares("instance, name", volumes),
            target(f"count by (instance, name, origin) (ioplateau_budget_info{{{volumes}}})"),
            w=12,
            h=6,
            no_value="no NFS mounts",
        ),
        table(
            "Control groups",
            "Each control group that this machine itself limits (io.max), with its share of that limit.",
            [
                column("VM", key="instance"),
                column("Control group", key="name"),
                *share_columns(),
            ],
            *shares("instance, name", f'{HERE},kind="cgroup"'),
            w=12,
            h=6,
            no_value="no control group has a limit",
        ),
        bands(
            "Who is held back by which limit",
            "Disks, mounts and interfaces that lost time in this range, and the limit they lost it to: red "
            "where time was lost.",
            target(
                f"(rate(ioplateau_flow_throttled_seconds_total{{{HERE}}}{RATE}) > bool 0) and "
                f"({_LOST})",
                "{{instance}} {{flow}} by {{kind}} {{name}} {{dimension}}",
            ),
            otherwise("nobody was held back in this range", _LOST),
            h=8,
        ),
    )
