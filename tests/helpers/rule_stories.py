"""promtool plays a story against the committed rules, for tests.

play(tmp_path, [series("up", "1x40", job="ioplateau")], [expect("10m", "IoplateauExporterDown")])
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from boards_and_rules import RULE_TEXTS, rules_in

RUNBOOKS = "https://github.com/ioplateau/ioplateau/blob/main/docs/runbooks"
INTERVAL_SECONDS = 15
NUMBER = r"[\d.]+(?:e[+-]?\d+)?"
NAMES = {file: [rule.name for rule in rules_in(text)] for file, text in RULE_TEXTS.items()}
VM = {"instance": "vm1:10049", "job": "ioplateau"}


def series(metric: str, values: str, **labels: str) -> dict[str, str]:
    """A sample every 15 s, of vm1 unless labels say otherwise."""
    text = ",".join(f'{key}="{value}"' for key, value in (VM | labels).items())
    return {"series": f"{metric}{{{text}}}", "values": values}


def growing(share: float, minutes: float, then_minutes: float = 0) -> str:
    """A counter of seconds that grows by `share` seconds a second, and then stands still."""
    count, step = round(minutes * 60 / INTERVAL_SECONDS), share * INTERVAL_SECONDS
    rest = round(then_minutes * 60 / INTERVAL_SECONDS)
    return f"0+{step:g}x{count}" + (f" {count * step:g}+0x{rest}" if rest else "")


def scrapes(values: str) -> list[str]:
    """What each scrape gets, of promtool's shorthand: "0+2x2 stale" is 0, 2, 4 and stale."""
    got: list[str] = []
    for word in values.split():
        found = re.fullmatch(rf"({NUMBER}|_)([+-]{NUMBER})?x(\d+)", word)
        if not found:
            got.append(word)
        elif found[1] == "_":
            got += ["_"] * int(found[3])
        else:
            first, step = float(found[1]), float(found[2] or 0)
            got += [str(first + step * number) for number in range(int(found[3]) + 1)]
    return got


def losing(inputs: Sequence[Mapping[str, str]], lost: Container[int]) -> list[dict[str, str]]:
    """The same, but for scrapes that fail: Prometheus writes a stale marker for every series."""
    return [
        {
            "series": one["series"],
            "values": " ".join(
                "stale" if number in lost else value
                for number, value in enumerate(scrapes(one["values"]))
            ),
        }
        for one in inputs
    ]


def alert(
    labels: Mapping[str, str], summary: str, description: str, board: str, runbook: str
) -> dict[str, Any]:
    """One firing alert, with every word of it."""
    return {
        "exp_labels": dict(labels),
        "exp_annotations": {
            "summary": summary,
            "description": description,
            "dashboard": board,
            "runbook_url": f"{RUNBOOKS}/{runbook}.md",
        },
    }


def expect(at: str, name: str, *alerts: Mapping[str, Any]) -> dict[str, Any]:
    """At that time exactly these alerts of the name fire: none, if none are given."""
    return {"eval_time": at, "alertname": name, "exp_alerts": list(alerts)}


def value(at: str, expr: str, *samples: tuple[str, float]) -> dict[str, Any]:
    """At that time the expression has exactly these samples."""
    told = [{"labels": labels, "value": number} for labels, number in samples]
    return {"eval_time": at, "expr": expr, "exp_samples": told}


def play(
    directory: Path,
    inputs: Sequence[Mapping[str, str]],
    alerts: Sequence[Mapping[str, Any]] = (),
    values: Sequence[Mapping[str, Any]] = (),
    evaluated_each_seconds: int = INTERVAL_SECONDS,
    kept: bool = False,
) -> str:
    """What promtool complains of; "" if everything came as expected.

    It is given the files only that hold what is asked for: it evaluates all it is given.
    kept: with keep_firing_for; without it, as docs/alerts.md makes the files for an older Prometheus, an
    alert ends with its reason.
    """
    asked = " ".join([one["alertname"] for one in alerts] + [one["expr"] for one in values])
    file = directory / "story.yml"
    story = {
        "rule_files": [
            str(path if kept else _ending_at_once(path, directory))
            for path, rules in NAMES.items()
            if any(name in asked for name in rules)
        ],
        "evaluation_interval": f"{evaluated_each_seconds}s",
        "tests": [
            {
                "interval": f"{INTERVAL_SECONDS}s",
                "input_series": list(inputs),
                "alert_rule_test": list(alerts),
                "promql_expr_test": list(values),
            }
        ],
    }
    file.write_text(json.dumps(story))
    done = subprocess.run(
        ["promtool", "test", "rules", file],
        env={**os.environ, "GOGC": "400"},  # collects its garbage less often: a fifth less CPU time
        capture_output=True,
        text=True,
        timeout=600,  # it steps back in `make test`
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _ending_at_once(file: Path, directory: Path) -> Path:
    copy = directory / file.name
    lines = RULE_TEXTS[file].splitlines(keepends=True)
    copy.write_text("".join(line for line in lines if "keep_firing_for" not in line))
    return copy
