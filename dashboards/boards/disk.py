"""One disk: its rate against its limits, the queue and latency under it, and what it is."""

from boards.frame import DEVICE, INSTANCE, dashboard
from boards.shared import (
    burst_credit,
    counted,
    link_to_vm,
    throttled_bands,
    time_throttled,
    verdict_bands,
)
from boards.style import (
    TIMES,
    Json,
    any_is_bad,
    column,
    more_than_ten,
    plain,
    row,
    stat,
    table,
    target,
    timeseries,
)

BUDGET = 'instance=~"$instance",kind=~"disk|stripe",name=~"$device"'
DEVICES = 'instance=~"$instance",device=~"$device"'
WHO = "{{instance}} {{device}}"
NAMED = "{{instance}} {{name}}"


def board() -> Json:
    return dashboard(
        "disk",
        "ioplateau / Disk",
        "A disk against its limits: rate, queue, latency, burst credit, identity.",
        [INSTANCE, DEVICE],
        [_plateau(), _requests(), _credit(), _identity()],
        throttled=f"ioplateau_budget_throttled{{{BUDGET}}}",
        # Some alerts are of the VM as a whole: those have no name.
        alerts='instance=~"$instance",name=~"|$device"',
    )


def _against(title: str, text: str, unit: str, moved: str, limit: str) -> Json:
    """What the kernel counts, and the limit: a share times a limit is no rate where a host's cache answers,
    nor in the seconds in which the limit steps.
    """
    return timeseries(
        title,
        text,
        unit,
        target(
            f'sum by (instance, device) ({moved}{{{DEVICES},operation=~"read|write"}})',
            WHO,
        ),
        target(f"{limit}{{{BUDGET}}}", f"{NAMED} {{{{direction}}}} limit"),
        links=[link_to_vm()],
    )


def _plateau() -> Json:
    return row(
        "At its limit?",
        stat(
            "Share of limit",
            "The higher share of the limits in operations and in bytes, mean of 15 s.",
            "percentunit",
            target(f"max(ioplateau_budget_utilization_ratio{{{BUDGET}}})", "share"),
        ),
        stat(
            "Highest second",
            "The highest share of a limit within one second, in the last minute.",
            "percentunit",
            target(f"max(ioplateau_budget_peak_utilization_ratio{{{BUDGET}}})", "share"),
        ),
        time_throttled(
            BUDGET, "The time that the limits of this disk held requests back in this range."
        ),
        stat(
            "Episodes",
            "How often a limit of this disk began to hold requests back in this range. The first time of a "
            "limit that was learned by it is not among them: its counter begins with 1.",
            "short",
            target(
                "round(max(increase("
                f"ioplateau_budget_throttle_episodes_total{{{BUDGET}}}[$__range])))",
                "episodes",
            ),
            no_value="no limit is known",
        ),
        stat(
            "Demand",
            "While throttled: the time a request takes over its time when none waits. So many times as much "
            "would be done at most if the same requests never waited; nobody counts what was asked for.",
            TIMES,
            target(f"max(ioplateau_budget_demand_ratio{{{BUDGET}}})", "demand"),
            thresholds=plain(),
            mappings=[more_than_ten()],
            no_value="not throttled",
        ),
        stat(
            "Throttled now",
            "Limits of the chosen disks that hold requests back now.",
            "short",
            counted(f"ioplateau_budget_throttled{{{BUDGET}}}"),
            thresholds=any_is_bad(),
            no_value="no limit is known",
        ),
        _against(
            "Operations against the limit",
            "Reads and writes completed per second, as the kernel counts them, and the limit in force (dashed). "
            "Pressed flat against the dashed line, with queue and latency rising below: the disk is throttled. "
            "Flat below it, a cloud may count a large request as several; above it, a host's cache may answer "
            "some.",
            "iops",
            "ioplateau_disk_operations_per_second",
            "ioplateau_budget_limit_operations_per_second",
        ),
        _against(
            "Throughput against the limit",
            "Bytes read and written per second, and the limit in force (dashed). Above it, a host's cache may "
            "answer some.",
            "Bps",
            "ioplateau_disk_bytes_per_second",
            "ioplateau_budget_limit_bytes_per_second",
        ),
        timeseries(
            "Queue length",
            "Mean requests outstanding. A queue that rises while the rate stays flat is made of requests "
            "that the limit holds back.",
            "short",
            target(f"ioplateau_disk_queue_length{{{DEVICES}}}", WHO),
            w=8,
        ),
        timeseries(
            "Time a read takes",
            "Mean await of reads, waiting behind the limit included. Ten times its usual value at a flat "
            "rate is throttling.",
            "s",
            target(f'ioplateau_disk_await_seconds{{{DEVICES},operation="read"}}', f"{WHO} read"),
            w=8,
            no_value="nothing was read",
        ),
        timeseries(
            "Time a write takes",
            "Mean await of writes, waiting behind the limit included.",
            "s",
            target(f'ioplateau_disk_await_seconds{{{DEVICES},operation="write"}}', f"{WHO} write"),
            w=8,
            no_value="nothing was written",
        ),
        throttled_bands(
            "Throttled",
            "Each limit that held requests back in this range; red while it does.",
            BUDGET,
            f"{NAMED} {{{{dimension}}}} {{{{direction}}}}",
        ),
        verdict_bands(
            "Held back by another: something above the disk, as the VM's limit, holds it back.",
            BUDGET,
            NAMED,
        ),
    )


def _requests() -> Json:
    return row(
        "Requests",
        timeseries(
            "Operations, reads up and writes down",
            "Requests completed per second after merging and splitting, as the kernel counts them.",
            "iops",
            target(
                f'ioplateau_disk_operations_per_second{{{DEVICES},operation=~"read|write"}}',
                f"{WHO} {{{{operation}}}}",
            ),
            mirrored=True,
        ),
        timeseries(
            "Throughput, reads up and writes down",
            "Bytes moved per second.",
            "Bps",
            target(
                f'ioplateau_disk_bytes_per_second{{{DEVICES},operation=~"read|write"}}',
                f"{WHO} {{{{operation}}}}",
            ),
            mirrored=True,
        ),
        timeseries(
            "Size of a request",
            "Mean bytes of a request. Small ones meet the limit in operations first, large ones the limit "
            "in bytes; above 256 KiB some clouds count one as several.",
            "bytes",
            target(
                f'ioplateau_disk_request_bytes{{{DEVICES},operation=~"read|write"}}',
                f"{WHO} {{{{operation}}}}",
            ),
            w=8,
        ),
        timeseries(
            "Busy",
            "Share of time with a request outstanding. It says not idle; it does not say full.",
            "percentunit",
            target(f"ioplateau_disk_busy_ratio{{{DEVICES}}}", WHO),
            thresholds=plain(),
            w=8,
        ),
        timeseries(
            "Flushes and discards",
            "Other operations per second; a storm of discards can look like load.",
            "iops",
            target(
                f'ioplateau_disk_operations_per_second{{{DEVICES},operation!~"read|write"}}',
                f"{WHO} {{{{operation}}}}",
            ),
            w=8,
            no_value="the kernel counts none",
        ),
    )


def _credit() -> Json:
    return burst_credit(
        BUDGET,
        f"{NAMED} {{{{dimension}}}}",
        "At 0 % the limit falls to its base: the dashed line above steps down, and the rate with it.",
        "no burst credit",
    )


def _identity() -> Json:
    return row(
        "What it is",
        table(
            "What it was sold as",
            "As cloud metadata, configuration and catalogue tell, and where its limits come from.",
            [
                column("VM", key="instance"),
                column("Disk", key="name"),
                column("LUN", key="lun"),
                column("SKU", key="sku"),
                column("Tier", key="tier"),
                column("Caching", key="caching"),
                column("Size", key="size"),
                column("Limits from", key="origin"),
            ],
            target(
                "max by (instance, name, lun, sku, tier, caching, size, origin) "
                f"(ioplateau_budget_info{{{BUDGET}}})"
            ),
            h=6,
        ),
        table(
            "What the kernel says",
            "Identity and queue settings from sysfs.",
            [
                column("VM", key="instance"),
                column("Disk", key="device"),
                column("Model", key="model"),
                column("Serial", key="serial"),
                column("Stack", key="stack"),
                column("Scheduler", key="scheduler"),
                column("Requests", "short", key="nr_requests"),
            ],
            target(
                "max by (instance, device, model, serial, stack, scheduler, nr_requests) "
                f"(ioplateau_disk_info{{{DEVICES}}})"
            ),
            h=6,
        ),
    )
