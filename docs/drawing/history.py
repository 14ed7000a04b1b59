"""A Prometheus that remembers recorded machines as if it had scraped them each second.

What the exporter tells at each second of a recording is written into blocks with `promtool tsdb
create-blocks-from openmetrics`; the committed rules are evaluated over it by Prometheus, with
every duration divided by FASTER. Alerts become the series ALERTS that Prometheus keeps of them.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from boards_and_rules import ALERTS, RECORDS, names_in
from live_prometheus import Prometheus, faster, started_prometheus
from recorded_vms import RecordedVm

BEGAN = 1_767_268_800  # 2026-01-01 12:00:00 UTC, so that every drawing is the same
FASTER = 6
_SAMPLE = re.compile(rb"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


@contextlib.contextmanager
def remembering(machines: Sequence[RecordedVm], seconds: int) -> Iterator[Prometheus]:
    """Prometheus with this many seconds of the machines, from BEGAN on, and of all rules."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        told = directory / "told.om"
        with told.open("wb") as file:
            for machine in machines:
                for second in range(seconds):
                    file.write(_stamped(machine, second))
            file.write(b"# EOF\n")
        _promtool("openmetrics", told, directory / "tsdb")
        for number, rules in enumerate(_in_order()):
            file = directory / f"{number}.json"
            file.write_text(json.dumps({"groups": [{"name": "rules", "rules": rules}]}))
            with _running(directory) as prometheus:
                _promtool(
                    "rules",
                    f"--url={prometheus.url}",
                    f"--start={BEGAN}",
                    f"--end={BEGAN + seconds}",
                    f"--output-dir={directory}/tsdb",
                    "--eval-interval=1s",
                    file,
                )
        with _running(directory) as prometheus:
            yield prometheus


def _stamped(machine: RecordedVm, second: int) -> bytes:
    """An exposition as Prometheus would keep it: with its instance, and when it was."""
    now = min(machine.start + second, len(machine.expositions) - 1)
    text = machine.change(machine.expositions[now])
    target = f'instance="{machine.name}",job="ioplateau"'.encode()
    at = b" %d\n" % (BEGAN + second)
    return b"up{%s} 1%s" % (target, at) + b"".join(
        b"%s{%s,%s} %s%s" % (name, target, labels, value, at)
        if labels
        else b"%s{%s} %s%s" % (name, target, value, at)
        for name, labels, value in _SAMPLE.findall(text)
    )


def _in_order() -> list[list[dict[str, object]]]:
    """The rules in turns: each reads what those of earlier turns recorded, alerts last."""
    turns: list[list[dict[str, object]]] = []
    level: dict[str, int] = {}
    for rule in RECORDS:
        needs = max((level[name] + 1 for name in names_in(rule.expr) if name in level), default=0)
        if needs == len(turns):
            turns.append([])
        level[rule.name] = needs
        turns[needs].append(
            {
                "record": rule.name,
                "expr": faster(rule.expr, FASTER),
                "labels": dict(rule.labels),
            }
        )
    alerts = []
    for alert in ALERTS:
        wait = int(faster(f"for: {alert.wait}", FASTER).removeprefix("for: ").removesuffix("s"))
        held = f"count_over_time((({faster(alert.expr, FASTER)}) * 0 + 1)[{wait}s:1s])"
        alerts.append(
            {
                "record": "ALERTS",
                "expr": f"({held} >= {wait}) * 0 + 1",
                "labels": {
                    "alertname": alert.name,
                    "alertstate": "firing",
                    **alert.labels,
                },
            }
        )
    return [*turns, alerts]


def _promtool(kind: str, *arguments: str | Path) -> None:
    command = ["promtool", "tsdb", "create-blocks-from", kind, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stdout}{done.stderr}")


@contextlib.contextmanager
def _running(directory: Path) -> Iterator[Prometheus]:
    flags = (
        "--storage.tsdb.retention.time=100y",
        # Blocks have no marks where a series ended: without this it would go on.
        "--query.lookback-delta=1s",
    )
    with started_prometheus(directory, {}, *flags) as prometheus:
        prometheus.wait_until(lambda: bool(prometheus.query("vector(1)")), 60, "Prometheus")
        yield prometheus
