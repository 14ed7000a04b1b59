"""`make stack`: everything comes up, an alert is printed, everything goes."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from boards_and_rules import ROOT, RULES
from live_daemon import free_port
from waiting import wait_until

pytestmark = pytest.mark.live

PARTS = ("exporter", "prometheus", "alertmanager", "grafana", "webhook")


def read(url, body=None):
    asked = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return answer.read().decode()


def test_one_command_starts_the_whole_way_and_ends_it(tmp_path):
    ports = {part: free_port() for part in PARTS}
    log = tmp_path / "stack.log"
    flags = [f"--{part}-port={port}" for part, port in ports.items()]
    with log.open("wb") as output:
        stack = subprocess.Popen(
            [
                sys.executable,
                ROOT / "deploy/stack/stack.py",
                f"--directory={tmp_path}/files",
                *flags,
            ],
            stdout=output,
            stderr=output,
        )
    try:
        assert wait_until(lambda: "stack: ready" in log.read_text(errors="replace"), 60), (
            log.read_text()
        )
        rules = json.loads(read(f"http://127.0.0.1:{ports['prometheus']}/api/v1/rules"))
        alert = {
            "labels": {"alertname": "IoplateauExporterDown", "severity": "warning", "scope": "vm"},
            "annotations": {"summary": "Somebody is down", "description": "For a test."},
        }
        body = json.dumps({"alerts": [{"status": "firing", **alert}]}).encode()
        read(f"http://127.0.0.1:{ports['webhook']}/storage", body)
        assert wait_until(
            lambda: "Somebody is down - For a test." in log.read_text(errors="replace"), 60
        ), log.read_text()
    finally:
        stack.send_signal(signal.SIGTERM)
        code = stack.wait(timeout=60)

    assert code == 0
    assert sum(len(group["rules"]) for group in rules["data"]["groups"]) == len(RULES)
    for part in ("exporter", "prometheus", "alertmanager"):
        with pytest.raises(OSError, match="refused"):
            read(f"http://127.0.0.1:{ports[part]}/")


def test_a_port_that_somebody_else_answers_at_is_named_before_anything_starts(tmp_path):
    ports = {part: free_port() for part in PARTS}
    flags = [f"--{part}-port={port}" for part, port in ports.items()]
    with socket.create_server(("127.0.0.1", ports["prometheus"])):
        done = subprocess.run(
            [sys.executable, ROOT / "deploy/stack/stack.py", f"--directory={tmp_path}/x", *flags],
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert done.returncode == 2
    assert done.stdout == (
        f"stack: 127.0.0.1:{ports['prometheus']}, for prometheus: Address already in use;"
        " make stack FLAGS=--prometheus-port=N takes another\n"
    )
    assert not (tmp_path / "x").exists()


def test_a_part_that_does_not_come_up_is_named_with_what_it_said(tmp_path):
    (tmp_path / "wrong.toml").write_text("[cloud\n")
    flags = [f"--{part}-port={free_port()}" for part in PARTS]
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "deploy/stack/stack.py",
            f"--config.file={tmp_path}/wrong.toml",
            *flags,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 1
    assert f"stack: exporter did not come up:\n{tmp_path}/wrong.toml: is not TOML" in done.stdout


def test_what_is_missing_is_named_with_its_package(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "deploy/stack/stack.py"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": str(tmp_path)},
    )

    assert done.returncode == 2
    assert "apt-get install prometheus prometheus-alertmanager" in done.stdout
