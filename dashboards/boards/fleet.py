"""The fleet: is something at its limit, which, since when."""

from boards.frame import EVERY_INSTANCE, dashboard
from boards.shared import KINDS, LIFTS, counted, held_back, link_to_vm, otherwise
from boards.style import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    TIMES,
    Json,
    any_is_bad,
    any_is_worth_a_look,
    bands,
    cell,
    column,
    fixed,
    more_than_ten,
    part_of_fleet_thresholds,
    row,
    share_thresholds,
    stat,
    table,
    target,
    time_thresholds,
    timeseries,
    to,
)

HERE = 'instance=~"$instance"'
UP = f'up{{{HERE},job="ioplateau"}}'
# Alerts of volumes are of no VM.
ALERTS = 'alertname=~"Ioplateau.+",instance=~"|$instance"'
LIMIT = "instance, kind, name, dimension, direction"
# What is looked at over a range is recorded by VM, and of limits only the seconds in which they
# held: a fleet has some ten thousand limits, and a few that bind.
SECONDS = f"ioplateau:budget_throttled_seconds:increase1m{{{HERE}}}"
# Of the worst budget of each VM: of its limits at most one holds at a time.
_TIME_THROTTLED = (
    f"max by (instance) (sum without (dimension, direction) (sum_over_time({SECONDS}[$__range])))"
)
SHARE = f"ioplateau:vm_utilization:max{{{HERE}}}"
VM_THROTTLED = f"ioplateau:vm_throttled:max{{{HERE}}}"
NOT_RECORDED = "no rules loaded"
SEVERITIES = {"critical": ("critical", RED), "warning": ("warning", ORANGE), "info": ("info", BLUE)}


def _count(expr: str, legend: str = "count", recorded: str = "") -> Json:
    """recorded: what is recorded of all, without which 0 would be a claim that nobody checked."""
    nothing = f"0 * count({recorded})" if recorded else "vector(0)"
    return target(f"count({expr}) or {nothing}", legend)


def board() -> Json:
    return dashboard(
        "fleet",
        "ioplateau / Fleet",
        "Which VMs, disks and volumes are at their limit, now and over time. What is shown over time "
        "needs the rules of alerts/.",
        [EVERY_INSTANCE],
        [_now(), _over_time()],
        closed=False,
    )


def _now() -> Json:
    return row("At a limit now", *_numbers(), _held_back(), _down(), _firing())


def _numbers() -> list[Json]:
    # By VM, so that one that two jobs scrape counts once.
    held = f"max by (instance) ({VM_THROTTLED}) == 1"
    disks = f'max by (instance, kind) (ioplateau:vm_throttled:sum{{{HERE},kind=~"disk|stripe"}})'
    every = f"count by (instance) (ioplateau_ticks_total{{{HERE}}})"
    return [
        stat(
            "VMs",
            "VMs whose exporter was scraped. Fewer than you run: look at the targets of Prometheus.",
            "short",
            _count(every),
            trend=True,
        ),
        stat(
            "VMs at a limit",
            "VMs on which at least one limit holds requests back now, and their share of all: yellow from "
            "2 % on, red from 20 %.",
            "percentunit",
            _count(held, "VMs", VM_THROTTLED),
            target(
                f"(count({held}) or 0 * count({VM_THROTTLED})) / (count({every}) > 0)", "of all"
            ),
            thresholds=part_of_fleet_thresholds(),
            no_value=NOT_RECORDED,
            overrides=[fixed("VMs", "short", GREY)],
            trend=True,
        ),
        stat(
            "Disks at a limit",
            "Disks and stripes whose own limit holds requests back now.",
            "short",
            target(f"sum({disks})", "count"),
            thresholds=any_is_worth_a_look(),
            no_value=NOT_RECORDED,
            trend=True,
        ),
        stat(
            "Volumes at a limit",
            "NFS volumes whose clients together draw 95 % or more of the limit; from the fleet rules.",
            "short",
            _count(
                "max by (volume) (ioplateau:volume_at_limit:bool) == 1",
                recorded="ioplateau:volume_at_limit:bool",
            ),
            thresholds=any_is_bad(),
            no_value="no limit is known",
            trend=True,
            links=[to("volume", "Volumes")],
        ),
        stat(
            "Mounts not answered",
            "NFS mounts whose server has stopped answering: a stall, not throttling.",
            "short",
            counted(f'ioplateau_budget_verdict{{{HERE},kind="volume",verdict="stalled"}}'),
            thresholds=any_is_bad(),
            no_value="no NFS mounts",
            trend=True,
        ),
        stat(
            "Exporters down",
            "Targets that Prometheus could not scrape. A VM that is gone from service discovery is not counted.",
            "short",
            _count(f"{UP} == 0", recorded=UP),
            thresholds=any_is_bad(),
            no_value="no target",
            trend=True,
        ),
    ]


def _held_back() -> Json:
    held = f"max by ({LIMIT}) (ioplateau_budget_throttled{{{HERE}}}) == 1"
    return table(
        "Held back now",
        "Every limit that holds requests back now, the longest in the last 24 hours first. Demand is the "
        "time a request takes over its time when none waits, an upper estimate. Learned: how sure a limit is that nobody told and no provider counts. The "
        "page of the VM's own exporter has the steps that would lift it, with figures.",
        [
            column("VM", key="instance", link=to("vm", "This VM", instance=cell("VM"))),
            column("Limit of", key="kind", words=KINDS),
            column("Name", key="name"),
            column("Dimension", key="dimension", width=95),
            column("Direction", key="direction", width=80),
            column("Since", "dateTimeAsIsoNoDateIfToday", key="A", width=150),
            column("Last 24 hours", "s", thresholds=time_thresholds(), key="B", width=110),
            column("Demand", TIMES, key="C", extra=[more_than_ten()], width=80),
            column("Learned", "percentunit", key="D", width=85),
            column("What lifts it", key="lifts", words=LIFTS, width=220),
        ],
        # Grafana's dates are in milliseconds. The kind stands in two columns, as a name and as advice.
        target(
            f"1000 * max by ({LIMIT}, lifts) (label_join("
            f"ioplateau_budget_throttled_since_timestamp_seconds{{{HERE}}}, "
            '"lifts", "", "kind"))'
        ),
        target(f"max by ({LIMIT}) (sum_over_time({SECONDS}[1d])) and on ({LIMIT}) ({held})"),
        target(f"max by ({LIMIT}) (ioplateau_budget_demand_ratio{{{HERE}}})"),
        target(f"max by ({LIMIT}) (ioplateau_budget_learned_confidence_ratio{{{HERE}}})"),
        sort="Last 24 hours",
        no_value="nothing is held back",
        empty_cell="-",
        h=9,
    )


def _down() -> Json:
    return table(
        "Down exporters by name",
        "Targets that Prometheus cannot scrape now, and the share of the range in which it could.",
        [
            column("VM", key="instance", link=to("vm", "This VM", instance=cell("VM"))),
            column("Was up", "percentunit", key="A"),
        ],
        target(f"max by (instance) (avg_over_time({UP}[$__range]) and {UP} == 0)"),
        sort="VM",
        descending=False,
        w=8,
        h=8,
        no_value="none is down",
    )


def _firing() -> Json:
    labels = "alertname, severity, instance, kind, name, volume"
    return table(
        "Alerts that fire",
        "Alerts of ioplateau that Prometheus evaluates and that fire now; what each means is in its runbook.",
        [
            column("Severity", key="severity", words=SEVERITIES, width=90),
            column("Alert", key="alertname"),
            column("VM", key="instance", link=to("vm", "This VM", instance=cell("VM"))),
            column("Limit of", key="kind", words=KINDS),
            column("Name", key="name"),
            column("Volume", key="volume", link=to("volume", "This volume", volume=cell("Volume"))),
            column("Since", "dateTimeAsIsoNoDateIfToday", key="A", width=170),
        ],
        target(
            f"1000 * max by ({labels}) (ALERTS_FOR_STATE{{{ALERTS}}} "
            f'and ignoring (alertstate) ALERTS{{{ALERTS},alertstate="firing"}})'
        ),
        sort="Severity",
        descending=False,
        w=16,
        h=8,
        no_value="no alert fires",
        empty_cell="-",
    )


def _over_time() -> Json:
    suffering = f"topk(10, max by (instance, kind) (sum_over_time({SECONDS}[$__range] @ end())))"
    return row(
        "Over time",
        timeseries(
            "Share of limit: the 10 most throttled in this range",
            "Mean share of the limit in force, for the ten limits (one of a kind on each VM) that held "
            "requests back for longest. Flat at 100 % is a plateau; for long it is worth a larger size.",
            "percentunit",
            target(
                f"{SHARE} and on (instance, kind) {suffering}",
                "{{instance}} {{kind}}",
            ),
            many=True,
            links=[link_to_vm()],
            no_value="nothing was throttled in this range, or the rules are not loaded",
        ),
        bands(
            "Throttling by VM: the 20 with most throttled time in this range",
            "Red while at least one limit of the VM holds requests back. VMs without any are left out.",
            target(
                f"{held_back(VM_THROTTLED)} and on (instance) "
                f"topk(20, max by (instance) (sum_over_time({SECONDS}[$__range] @ end())))",
                "{{instance}}",
            ),
            otherwise(
                "nothing was throttled in this range",
                f"sum_over_time({SECONDS}[$__range] @ end()) or absent({VM_THROTTLED})",
            ),
            h=13,
            links=[link_to_vm()],
        ),
        table(
            "Every VM",
            "Each VM with its budget nearest to a limit: now and at most in this range (means of 15 s), and "
            "the time the limits of its worst held requests back.",
            [
                column("VM", key="instance", link=to("vm", "This VM", instance=cell("VM"))),
                column("Size", key="size"),
                column("Share of limit now", "percentunit", thresholds=share_thresholds(), key="A"),
                column("Highest", "percentunit", thresholds=share_thresholds(), key="B"),
                column("Time throttled", "s", thresholds=time_thresholds(), key="C"),
                column("Budgets", "short", key="D"),
            ],
            target(f"max by (instance) ({SHARE})"),
            target(f"max by (instance) (max_over_time({SHARE}[$__range]))"),
            target(f"{_TIME_THROTTLED} or on (instance) 0 * max by (instance) ({SHARE})"),
            target(
                f"count by (instance) (count by (instance, kind, name) (ioplateau_budget_info{{{HERE}}}))"
            ),
            target(
                f'count by (instance, size) (ioplateau_budget_info{{{HERE},kind="vm_uncached"}})'
            ),
            sort="Time throttled",
            h=12,
        ),
    )
