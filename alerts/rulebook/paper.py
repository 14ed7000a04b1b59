"""What a rule is made of, and how it is written down as YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

RUNBOOKS = "https://github.com/ioplateau/ioplateau/blob/main/docs/runbooks"
# For whoever runs pint against a live Prometheus: no fleet has budgets of every kind.
_ANY_KIND = "        # pint rule/set promql/series ignore/label-value kind"


@dataclass(frozen=True, slots=True)
class Record:
    """A recording rule."""

    name: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert in the operator's words. summary and description are Prometheus templates.

    scope: what its notifications are grouped by: "vm" or "volume". runbook: the page's name.
    dashboard: path below Grafana's address, a template too.
    """

    name: str
    expr: str
    wait: str
    severity: str
    scope: str
    summary: str
    description: str
    runbook: str
    dashboard: str

    @property
    def labels(self) -> Mapping[str, str]:
        return {"severity": self.severity, "scope": self.scope}

    @property
    def annotations(self) -> Mapping[str, str]:
        return {
            "summary": self.summary,
            "description": self.description,
            "dashboard": self.dashboard,
            "runbook_url": f"{RUNBOOKS}/{self.runbook}.md",
        }


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated one after the other: a rule may use those above it."""

    name: str
    rules: Sequence[Record | Alert]


def yaml(about: str, *groups: Group) -> str:
    """A rule file, with a line on what it is for."""
    lines = [
        f"# {about}",
        "# Written by `python alerts/generate.py` (make docs); change it there.",
        "groups:",
    ]
    for group in groups:
        lines += [f"  - name: {group.name}", "    rules:"]
        for rule in group.rules:
            lines += _record(rule) if isinstance(rule, Record) else _alert(rule)
    return "\n".join(lines) + "\n"


def _record(rule: Record) -> list[str]:
    return [f"      - record: {rule.name}", *_expr(rule.expr), *_map("labels", rule.labels)]


def _alert(rule: Alert) -> list[str]:
    return [
        f"      - alert: {rule.name}",
        *_expr(rule.expr),
        f"        for: {rule.wait}",
        *_map("labels", rule.labels),
        *_map("annotations", rule.annotations),
    ]


def _expr(text: str) -> list[str]:
    known = [_ANY_KIND] if "{kind=" in text else []
    return [*known, "        expr: |", *(f"          {line}" for line in text.strip().splitlines())]


def _map(name: str, values: Mapping[str, str]) -> list[str]:
    if not values:
        return []
    return [
        f"        {name}:",
        *(f"          {key}: {_quoted(text)}" for key, text in values.items()),
    ]


def _quoted(text: str) -> str:
    return text if text.isidentifier() else "'" + text.replace("'", "''") + "'"
