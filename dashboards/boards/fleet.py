"""The fleet: is something at its limit, which, since when."""

from boards.frame import INSTANCE, dashboard
from boards.house import (
    Json,
    alert_list,
    any_is_bad,
    bands,
    cell,
    column,
    row,
    stat,
    table,
    target,
    timeseries,
    to,
)
from boards.shared import episodes, link_to_vm, share_columns, shares

HERE = 'instance=~"$instance"'


def _count(expr: str) -> Json:
    return target(f"count({expr}) or vector(0)", "count")


def board() -> Json:
    return dashboard(
        "fleet",
        "ioplateau / Fleet",
        "Which VMs, disks and volumes are at their limit, now and over time.",
        [INSTANCE],
        [_now(), _over_time()],
        throttled=episodes(HERE, by="instance, kind, name"),
        alerts="",
        closed=False,
    )


def _now() -> Json:
    return row(
        "At a limit now",
        stat(
            "VMs",
            "VMs whose exporter was scraped. Fewer than you run: look at the targets of Prometheus.",
            "short",
            _count(f"count by (instance) (ioplateau_ticks_total{{{HERE}}})"),
        ),
        stat(
            "VMs at a limit",
            "VMs on which at least one limit holds requests back now. More than 0 is worth a look.",
            "short",
            _count(f"max by (instance) (ioplateau_budget_throttled{{{HERE}}}) == 1"),
            thresholds=any_is_bad(),
        ),
        stat(
            "Disks at a limit",
            "Disks whose own limit holds requests back now, from ioplateau_budget_throttled.",
            "short",
            _count(
                "max by (instance, name) "
                f'(ioplateau_budget_throttled{{{HERE},kind=~"disk|stripe"}}) == 1'
            ),
            thresholds=any_is_bad(),
        ),
        stat(
            "Volumes at a limit",
            "NFS volumes whose clients together draw 95 % or more of the limit; from the fleet rules.",
            "short",
            _count("max by (volume) (ioplateau:volume_at_limit:bool) == 1"),
            thresholds=any_is_bad(),
            links=[to("volume", "Volumes")],
        ),
        stat(
            "Mounts not answered",
            "NFS mounts whose server has stopped answering: a stall, not throttling.",
            "short",
            _count(f'ioplateau_budget_verdict{{{HERE},kind="volume",verdict="stalled"}} == 1'),
            thresholds=any_is_bad(),
        ),
        stat(
            "Exporters down",
            "Targets that Prometheus could not scrape. A VM that is gone from service discovery is not counted.",
            "short",
            _count(f'up{{{HERE},job="ioplateau"}} == 0'),
            thresholds=any_is_bad(),
        ),
    )


def _over_time() -> Json:
    ranked = (
        "topk(10, max by (instance, kind, name) (max_over_time("
        f"ioplateau_budget_peak_utilization_ratio{{{HERE}}}[$__range] @ end())))"
    )
    suffering = (
        "topk(20, sum by (instance) (increase("
        f"ioplateau_budget_throttled_seconds_total{{{HERE}}}[$__range] @ end())))"
    )
    return row(
        "Over time",
        timeseries(
            "Share of limit: the 10 budgets with the highest peak in this range",
            "Mean share of the limit in force, for the ten disks, VM limits, volumes and clients that "
            "came closest. Flat at 100 % is a plateau; above 90 % for long is worth a larger size.",
            "percentunit",
            target(
                f"max by (instance, kind, name) (ioplateau_budget_utilization_ratio{{{HERE}}}) "
                f"and on (instance, kind, name) {ranked}",
                "{{instance}} {{kind}} {{name}}",
            ),
            w=16,
            h=9,
            many=True,
            links=[link_to_vm()],
            no_value="no limit is known on any VM",
        ),
        alert_list(
            "Alerts",
            "Alerts of ioplateau that are firing or pending, firing first; each carries its runbook.",
        ),
        bands(
            "Throttling by VM: the 20 with most throttled time in this range",
            "Red while at least one limit of the VM holds requests back.",
            target(
                f"max by (instance) (ioplateau_budget_throttled{{{HERE}}}) "
                f"and on (instance) {suffering}",
                "{{instance}}",
            ),
            h=8,
            links=[link_to_vm()],
        ),
        table(
            "VMs",
            "Each VM with its budget nearest to a limit: now (mean of 15 s), the highest second in this "
            "range, and the time its worst limit held requests back.",
            [
                column("VM", key="instance", link=to("vm", "This VM", instance=cell("VM"))),
                column("Size", key="size"),
                *share_columns(),
                column("Budgets", "short", key="D"),
            ],
            *shares("instance", HERE),
            target(
                f'count by (instance, size) (ioplateau_budget_info{{{HERE},kind="vm_uncached"}})'
            ),
        ),
    )
