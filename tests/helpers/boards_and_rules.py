"""The dashboards as their generator makes them and the rules as they are committed, for tests.

The generator is a program beside the package, so its directory is put on the path here.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "dashboards"))

from boards.frame import text as board_text  # noqa: E402, F401 - for the tests
from boards.shared import COLOURS, LIFTS  # noqa: E402, F401 - for the tests

from boards import disk, fleet, nfs, vm, volume  # noqa: E402
from ioplateau.tell.prometheus import TABLES  # noqa: E402

BOARDS = {
    "fleet": fleet.board(),
    "vm": vm.board(),
    "disk": disk.board(),
    "nfs": nfs.board(),
    "volume": volume.board(),
}
DETAIL = ("vm", "disk", "nfs")


class RecordingRule(NamedTuple):
    name: str
    expr: str


class AlertingRule(NamedTuple):
    """An alert; runbook is the name of its page."""

    name: str
    expr: str
    wait: str
    kept: str
    severity: str
    scope: str
    summary: str
    description: str
    dashboard: str
    runbook: str


def rules_in(text: str) -> list[RecordingRule | AlertingRule]:
    """Every rule of a rule file, in its order."""
    groups = yaml.safe_load(text)["groups"]
    return [_rule(rule) for group in groups for rule in group["rules"]]


def _rule(rule: dict[str, Any]) -> RecordingRule | AlertingRule:
    if "record" in rule:
        return RecordingRule(rule["record"], rule["expr"])
    told = rule["annotations"]
    return AlertingRule(
        rule["alert"],
        rule["expr"],
        rule["for"],
        rule["keep_firing_for"],
        rule["labels"]["severity"],
        rule["labels"]["scope"],
        told["summary"],
        told["description"],
        told["dashboard"],
        Path(told["runbook_url"]).stem,
    )


RULE_FILES = sorted((ROOT / "alerts").glob("*.rules.yml"))
RULE_TEXTS = {file: file.read_text(encoding="utf-8") for file in RULE_FILES}
RULES = [rule for text in RULE_TEXTS.values() for rule in rules_in(text)]
ALERTS = [rule for rule in RULES if isinstance(rule, AlertingRule)]
RECORDS = [rule for rule in RULES if isinstance(rule, RecordingRule)]

METRICS = {table.prefix + row.name for table in TABLES for row in table.rows}
LABELS = {table.prefix + row.name: table.labels for table in TABLES for row in table.rows}

# What Grafana puts in for its variables; every choice is "All".
GRAFANA = {"$__rate_interval": "1m", "$__range": "5m", "$__interval": "15s"}


class Shown(NamedTuple):
    """One expression and the panel it is in."""

    board: str
    panel: dict[str, Any]
    expr: str
    legend: str


def panels(board: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every panel, those in collapsed rows too, without the rows."""
    for panel in board["panels"]:
        if panel["type"] == "row":
            yield from panel["panels"]
        else:
            yield panel


def every_panel() -> list[tuple[str, dict[str, Any]]]:
    return [(name, panel) for name, board in BOARDS.items() for panel in panels(board)]


def every_expression() -> list[Shown]:
    return [
        Shown(name, panel, target["expr"], target["legendFormat"])
        for name, panel in every_panel()
        for target in panel["targets"]
    ]


def annotations() -> list[tuple[str, str]]:
    return [
        (name, one["expr"])
        for name, board in BOARDS.items()
        for one in board["annotations"]["list"]
    ]


def substituted(expr: str) -> str:
    """As Grafana sends it: every variable is "All"."""
    for variable, value in GRAFANA.items():
        expr = expr.replace(variable, value)
    expr = re.sub(r'="\$[a-z]+"', '=~".+"', expr)
    return re.sub(r"\$[a-z]+\b", ".+", expr)


def names_in(expr: str) -> set[str]:
    """Metric names of ours, or recorded, that an expression reads."""
    unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expr)
    return set(re.findall(r"\b(?:ioplateau|process)[_:][\w:]+", unquoted))


def legend_labels(legend: str) -> list[str]:
    return re.findall(r"\{\{(\w+)\}\}", legend)


def committed(name: str) -> dict[str, Any]:
    file = ROOT / "dashboards" / f"ioplateau-{name}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found
