"""A world in which every alert fires: also while scrapes are lost, and where a mount point has a newline.

Its volumes have this one client: nobody else tells what a lost scrape of it does not.
"""

import pytest

from boards_and_rules import RULE_TEXTS, AlertingRule, rules_in
from rule_stories import growing, losing, play, series, value

MINUTES = 80
STEADY = f"x{MINUTES * 4}"
LOST_AT = 76 * 4  # when the alert that waits for an hour fires too
UNSCRAPED = {"IoplateauExporterDown"}
KINDS = {
    "disk": "sda",
    "vm_uncached": "vm",
    "vm_cached": "vm",
    "vm_network": "vm",
    "volume": "/mnt/full",
    "nfs_slots": "/mnt/full",
    "nfs_connection": "/mnt/full",
    "cgroup": "/backup.service",
}


def gauge(metric, number, **labels):
    return series(f"ioplateau_{metric}", f"{number:g}{STEADY}", **labels)


def counter(metric, a_second, **labels):
    return series(f"ioplateau_{metric}_total", growing(a_second, MINUTES), **labels)


def held(kind, name):
    limit = {"kind": kind, "name": name, "dimension": "throughput", "direction": "total"}
    return [
        counter("budget_throttled_seconds", 0.9, **limit),
        gauge("budget_demand_ratio", 4, **limit),
        gauge("budget_held_ratio", 0.5, **limit),
    ]


def mounted(name, share):
    """A volume of which its only client takes this share."""
    limit = {"kind": "volume", "name": name, "dimension": "throughput", "direction": "total"}
    mount = {"mount": name, "server": "10.0.0.4", "export": f"/vol{name}", "nconnect": "1"}
    return [
        gauge("nfs_mount_info", 1, **mount),
        gauge("budget_limit_info", 1, **limit, origin="configured", each_client=""),
        gauge("budget_limit_bytes_per_second", 50e6, **limit),  # held at half of what was sold
        counter("nfs_payload_bytes", share * 100e6, mount=name, direction="read"),
    ]


def world():
    credit = {"kind": "disk", "name": "sda", "dimension": "iops", "direction": "total"}
    return [
        *(each for kind, name in KINDS.items() for each in held(kind, name)),
        *mounted("/mnt/full", 1),
        *mounted("/mnt/half", 0.5),
        *held("volume", "/mnt/half"),
        gauge("budget_verdict", 1, kind="volume", name="/mnt/full", verdict="stalled"),
        gauge("budget_burst_exhaustion_seconds", 600, **credit),
        gauge("budget_burst_credit_ratio", 0.4, **credit),
        counter("ticks", 0.8),
        gauge("sampling_interval_seconds", 1),
        gauge("source_up", 0, source="mountstats"),
        gauge("budget_info", 1, kind="volume", name="/mnt/half", origin=""),
        counter("nfs_operations", 50, mount="/mnt/half", operation="READ"),
    ]


def alerts_of(file):
    found = [rule for rule in rules_in(RULE_TEXTS[file]) if isinstance(rule, AlertingRule)]
    return [rule for rule in found if rule.name not in UNSCRAPED]


def at(scrape):
    return f"{scrape * 15}s"


def asked(rules):
    """The selector of these alerts, and: which of them fire? All."""
    names = "|".join(sorted({rule.name for rule in rules}))
    every = {f'{{alertname="{rule.name}", severity="{rule.severity}"}}' for rule in rules}
    told = f'ALERTS{{alertname=~"{names}"}}'
    firing = f'group by (alertname, severity) ({told} and ALERTS{{alertstate="firing"}})'
    return told, (firing, *((labels, 1) for labels in sorted(every)))


EACH_FILE = pytest.mark.parametrize("file", RULE_TEXTS, ids=lambda file: file.name)


@EACH_FILE
@pytest.mark.parametrize(
    "lost",
    [{LOST_AT}, range(3, MINUTES * 4, 4), {*range(1, MINUTES * 4, 2), LOST_AT}],
    ids=["one scrape", "each fourth scrape", "each second scrape and one more"],
)
def test_every_alert_fires_while_scrapes_are_lost(tmp_path, file, lost):
    told, firing = asked(alerts_of(file))
    values = [
        question
        for number in range(LOST_AT - 4, LOST_AT + 8)
        for question in (
            value(at(number), *firing),
            value(at(number), f"{told} unless ALERTS offset 15s"),
            value(at(number), f"{told} offset 15s unless ALERTS"),
        )
    ]

    assert play(tmp_path, losing(world(), lost), values=values) == ""


@EACH_FILE
def test_every_alert_fires_at_a_mount_point_with_a_newline(tmp_path, file):
    story = [one | {"series": one["series"].replace("/mnt/", r"/mnt/a\nb/")} for one in world()]
    _, firing = asked(alerts_of(file))

    assert play(tmp_path, story, values=[value(at(LOST_AT), *firing)]) == ""
