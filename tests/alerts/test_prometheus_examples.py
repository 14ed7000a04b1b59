"""The examples for Prometheus are ones that Prometheus takes, and keep what the alerts need."""

import json
import re
import subprocess

import pytest
import yaml

import boards_and_rules as ours
from boards_and_rules import ALERTS, METRICS, RECORDS, ROOT

EXAMPLES = ROOT / "deploy" / "prometheus"


@pytest.mark.parametrize("name", ["file", "remote-write", "azure", "ec2"])
def test_promtool_accepts_it(name):
    done = check(EXAMPLES / f"{name}.yml")

    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_agents_as_an_agents():
    done = check(EXAMPLES / "agent.yml", "--agent")

    assert done.returncode == 0, done.stdout + done.stderr


def check(file, *flags):
    return subprocess.run(
        ["promtool", "check", "config", *flags, "--syntax-only", file],
        capture_output=True,
        text=True,
        timeout=60,
    )


def relabelled(name, target):
    """The target's labels as its example leaves them, of the rules that replace a label."""
    labels = dict(target)
    (job,) = yaml.safe_load((EXAMPLES / f"{name}.yml").read_text())["scrape_configs"]
    for rule in job["relabel_configs"]:
        if rule.get("action", "replace") != "replace":
            continue
        joined = rule.get("separator", ";").join(
            labels.get(key, "") for key in rule["source_labels"]
        )
        found = re.fullmatch(rule.get("regex", "(.*)"), joined)
        if found:
            template = rule.get("replacement", "$1").replace("$", "\\")
            labels[rule["target_label"]] = found.expand(template)
    return labels


def azure_machine(group, name):
    return {"__meta_azure_machine_resource_group": group, "__meta_azure_machine_name": name}


def test_a_vm_of_azure_is_named_by_its_resource_group_too():
    scale_set = azure_machine("prod", "web_3") | {"__meta_azure_machine_scale_set": "web"}
    targets = [azure_machine("prod", "db-01"), azure_machine("staging", "db-01"), scale_set]

    names = [relabelled("azure", target)["instance"] for target in targets]

    assert names == ["prod/db-01", "staging/db-01", "prod/web_3"]


def test_an_agent_names_its_network_before_the_vm():
    address = {"__address__": "10.1.0.4:10049"}

    assert relabelled("agent", address)["instance"] == "vnet-1/10.1.0.4:10049"
    assert relabelled("agent", address | {"vm": "db-01"})["instance"] == "vnet-1/db-01"


def test_alertmanager_tells_networks_by_the_label_of_those_that_evaluate_the_rules():
    routes = yaml.safe_load((ROOT / "alerts" / "alertmanager.example.yml").read_text())
    external = {
        name: yaml.safe_load((EXAMPLES / f"{name}.yml").read_text())["global"].get(
            "external_labels", {}
        )
        for name in ("remote-write", "agent")
    }

    assert all("network" in rule["equal"] for rule in routes["inhibit_rules"])
    assert "network" in external["remote-write"]
    assert "network" not in external["agent"]  # the sums of a central store drop it


def test_the_targets_example_is_what_file_discovery_reads():
    groups = json.loads((EXAMPLES / "targets.example.json").read_text())

    assert all(set(group) == {"targets", "labels"} for group in groups)
    assert all(target.endswith(":10049") for group in groups for target in group["targets"])


def kept():
    """The pattern of what is sent on."""
    text = (EXAMPLES / "remote-write.yml").read_text()
    return re.search(r">-\n +(\S+)\n", text)[1]


def test_what_is_sent_on_exists():
    everything = METRICS | {record.name for record in RECORDS} | {"ALERTS", "ALERTS_FOR_STATE"}
    names = {name for name in everything if re.fullmatch(kept(), name)}

    assert names >= {record.name for record in RECORDS} | {"ALERTS", "ALERTS_FOR_STATE"}
    assert {name for name in names if name in METRICS} == {
        "ioplateau_budget_limit_operations_per_second",
        "ioplateau_budget_limit_bytes_per_second",
        "ioplateau_budget_limit_slots",
        "ioplateau_budget_throttled_seconds_total",
        "ioplateau_budget_info",
        "ioplateau_flow_throttled_seconds_total",
        "ioplateau_nfs_mount_info",
    }


def test_no_alert_needs_a_word_that_the_agent_drops():
    dropped = re.search(r"verdict;\((\S+)\)", (EXAMPLES / "agent.yml").read_text())[1].split("|")
    asked = {word for alert in ALERTS for word in re.findall(r'verdict="(\w+)"', alert.expr)}

    assert asked == {"stalled"}
    assert asked.isdisjoint(dropped)


def test_the_fleet_page_names_metrics_that_exist():
    page = (ROOT / "docs" / "fleet.md").read_text()
    recorded = {record.name for record in RECORDS}

    assert ours.names_in(page) <= METRICS | recorded
