"""Every alert is complete: severity, sentence, board, a runbook that says the four things."""

import re
import subprocess

import pytest
import yaml

import boards_and_rules as ours
from boards_and_rules import ALERTS, METRICS, RECORDS, ROOT, RULE_FILES, RULES
from ioplateau.tell.prometheus import TABLES

RUNBOOKS = ROOT / "docs" / "runbooks"
EACH_ALERT = pytest.mark.parametrize(
    "alert", ALERTS, ids=lambda alert: f"{alert.name} {alert.severity}"
)
EACH_RUNBOOK = pytest.mark.parametrize("name", sorted({alert.runbook for alert in ALERTS}))

# What the operator is promised.
PROMISED = {
    "IoplateauDiskThrottled",
    "IoplateauVmUncachedThrottled",
    "IoplateauVmCachedThrottled",
    "IoplateauVmNetworkThrottled",
    "IoplateauNfsVolumeThrottled",
    "IoplateauNfsSlotsThrottled",
    "IoplateauNfsConnectionThrottled",
    "IoplateauCgroupThrottled",
    "IoplateauBurstCreditLow",
    "IoplateauNfsWithoutNconnect",
    "IoplateauLimitBelowSold",
    "IoplateauNfsServerNotAnswering",
    "IoplateauVolumeAtLimit",
    "IoplateauVolumeHoldsOneClient",
    "IoplateauExporterDown",
    "IoplateauSamplingLate",
    "IoplateauSourceFailing",
    "IoplateauLimitsUnknown",
}


def test_every_promised_alert_exists():
    assert {alert.name for alert in ALERTS} == PROMISED


def test_promtool_accepts_the_rules_with_every_lint():
    done = subprocess.run(
        ["promtool", "check", "rules", "--lint=all", "--lint-fatal", *RULE_FILES],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", RULE_FILES, ids=lambda file: file.name)
def test_a_group_has_no_more_rules_than_a_ruler_of_mimir_takes(file):
    groups = yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]

    assert all(len(group["rules"]) <= 20 for group in groups)


@EACH_ALERT
def test_an_alert_reads_metrics_that_exist(alert):
    recorded = {record.name for record in RECORDS}

    assert ours.names_in(alert.expr) <= METRICS | recorded
    assert ours.names_in(alert.expr) or "up{" in alert.expr


COUNTERS = {
    table.prefix + row.name for table in TABLES for row in table.rows if row.type == "counter"
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rates_are_of_counters_and_counters_are_never_read_bare(rule):
    rated = set(re.findall(r"\b(?:rate|increase)\((\w+)", rule.expr))

    assert rated <= COUNTERS
    assert ours.names_in(rule.expr) & COUNTERS == rated


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_label_is_copied_whole_a_mount_point_with_a_newline_too(rule):
    # The dot of Prometheus 2 matches no newline.
    assert set(re.findall(r'"\$1", "\w+", "(.+?)"\)', rule.expr)) <= {"(?s:(.+))"}


def test_a_mount_is_matched_by_the_labels_that_prometheus_gave_and_by_its_name():
    readers = [rule for rule in RULES if "ioplateau_nfs_mount_info" in rule.expr]
    newest = {
        labels
        for rule in readers
        for labels in re.findall(r"topk without \(([^)]*)\) \(1, max_over_time\(", rule.expr)
    }
    left_out = {
        labels for rule in readers for labels in re.findall(r"group without \(([^)]*)\)", rule.expr)
    }
    described = set(ours.LABELS["ioplateau_nfs_mount_info"])

    assert len(readers) == 6
    assert [set(labels.split(", ")) for labels in newest] == [described - {"mount"}]
    assert [set(labels.split(", ")) for labels in left_out] == [
        described - {"mount", "server", "export"}
    ]
    assert not any("on (instance, name)" in alert.expr for alert in ALERTS)


@EACH_ALERT
def test_templates_ask_for_metrics_that_exist(alert):
    recorded = {record.name for record in RECORDS}
    asked = set(re.findall(r"\b(ioplateau[_:][\w:]+)%s", alert.summary + alert.description))

    assert asked <= METRICS | recorded


# A bare metric is gone at the first scrape that is lost, and `for` begins anew.
BARE = {
    "IoplateauExporterDown": {"up"},
    "IoplateauBurstCreditLow": {  # beside the last ones of 5 minutes
        "ioplateau_budget_burst_exhaustion_seconds",
        "ioplateau_budget_burst_credit_ratio",
    },
}


@EACH_ALERT
def test_an_alert_reads_no_bare_metric_that_a_lost_scrape_takes_away(alert):
    read = re.findall(r"\b(up|ioplateau_\w+)\b(\{[^}]*\})?(\[)?", alert.expr)
    bare = {name for name, _, in_range in read if not in_range}
    timed = set(re.findall(r"timestamp\((\w+)\)\[", alert.expr))

    assert bare - timed == BARE.get(alert.name, set())


@EACH_ALERT
def test_an_alert_waits_so_that_one_scrape_changes_nothing(alert):
    assert alert.wait in {"1m", "2m", "3m", "5m", "1h"}
    assert alert.severity in {"info", "warning", "critical"}
    assert alert.scope in {"vm", "volume"}


@EACH_ALERT
def test_only_limits_that_were_told_or_counted_page_anybody(alert):
    if alert.severity == "critical" and "throttled_seconds" in alert.expr:
        # As far back as the seconds go: they count on after the load, the confidence does not.
        assert re.search(
            r"unless last_over_time\(ioplateau_budget_learned_confidence_ratio\{.*\}\[15m\]\)",
            alert.expr,
        )
        kinds = set(re.findall(r"\w+", " ".join(re.findall(r'kind=~?"([^"]+)"', alert.expr))))
        assert not kinds & {"nfs_slots", "cgroup"}  # of which no demand is told
        assert "nfs_connection" not in kinds  # always learned


@EACH_RUNBOOK
def test_a_runbook_says_what_it_means_how_to_confirm_what_lifts_it_and_what_it_is_not(name):
    page = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.+)$", page, re.MULTILINE)
    confirm = page.split("## How to confirm it")[1].split("## ")[0]

    assert titles == ["What it means", "How to confirm it", "What lifts it", "What it is not"]
    assert len(re.findall(r"^    \S", confirm, re.MULTILINE)) == 3


@EACH_RUNBOOK
def test_a_runbook_names_its_alerts(name):
    page = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")

    for alert in ALERTS:
        if alert.runbook == name:
            assert alert.name in page


@EACH_RUNBOOK
def test_a_runbook_that_searches_an_answer_shows_that_there_is_none(name):
    """Of TLS or a password grep would find nothing, as of a limit that there is none of."""
    page = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")

    assert all(
        " -sSf " in asked for asked in re.findall(r"^    curl .*\| grep", page, re.MULTILINE)
    )


def test_no_runbook_is_left_over():
    assert {page.stem for page in RUNBOOKS.glob("*.md")} == {alert.runbook for alert in ALERTS}


def test_amtool_accepts_the_example_of_alertmanager():
    done = subprocess.run(
        ["amtool", "check-config", ROOT / "alerts" / "alertmanager.example.yml"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_alertmanager_remembers_an_alert_until_it_is_to_be_repeated():
    text = (ROOT / "alerts" / "alertmanager.example.yml").read_text(encoding="utf-8")
    hours = [
        int(number) * {"h": 1, "d": 24}[unit]
        for number, unit in re.findall(r"repeat_interval: (\d+)([hd])$", text, re.MULTILINE)
    ]

    assert len(hours) == text.count("repeat_interval")
    assert max(hours) < 120  # its --data.retention by default: it warns at the start of more


def route(*labels):
    """Where Alertmanager would send it."""
    done = subprocess.run(
        [
            "amtool",
            "config",
            "routes",
            "test",
            f"--config.file={ROOT}/alerts/alertmanager.example.yml",
            *labels,
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()


def test_critical_alerts_go_to_the_pager_and_others_to_storage():
    disk = "alertname=IoplateauDiskThrottled"
    volume = "alertname=IoplateauVolumeAtLimit"

    assert route(disk, "severity=critical", "scope=vm") == "pager"
    assert route(disk, "severity=warning", "scope=vm") == "storage"
    assert route(volume, "severity=critical", "scope=volume") == "pager"
    assert route(volume, "severity=warning", "scope=volume") == "storage"
