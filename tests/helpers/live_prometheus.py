"""A real Prometheus, a real Alertmanager and a webhook, for live tests.

Rules and routes say minutes; a test has seconds. `faster` divides every duration of a committed
file by FASTER and changes nothing else: with scrapes each second in place of each 15 s the same
rules see the same number of samples, as if a minute took four seconds.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from boards_and_rules import ROOT, RULE_FILES
from live_daemon import end, free_port

FASTER = 15
SCRAPE_SECONDS = 1
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = r"(\d+)([smhd])"
# Of "[5m]", and both of "[5m:15s]".
_WINDOW = re.compile(rf"(?<=[\[:]){_DURATION}(?=[\]:])")
_SETTING = re.compile(
    rf"^(\s*(?:for|keep_firing_for|interval|\w+_wait|\w+_interval|\w+_timeout): ){_DURATION}$",
    re.MULTILINE,
)


def faster(text: str) -> str:
    """The rules or routes with every duration divided by FASTER, and every other word the same."""
    text = _WINDOW.sub(lambda found: _shorter(found[1], found[2]), text)
    return _SETTING.sub(lambda found: found[1] + _shorter(found[2], found[3]), text)


def _shorter(number: str, unit: str) -> str:
    return f"{max(round(int(number) * SECONDS[unit] / FASTER), 1)}s"


def fast_rules(directory: Path) -> list[Path]:
    """The committed rule files, faster."""
    written = []
    for file in RULE_FILES:
        copy = directory / file.name
        copy.write_text(faster(file.read_text(encoding="utf-8")), encoding="utf-8")
        written.append(copy)
    return written


def fast_routes(directory: Path, webhook: str) -> Path:
    """The committed example of Alertmanager, faster, speaking to this webhook."""
    example = (ROOT / "alerts" / "alertmanager.example.yml").read_text(encoding="utf-8")
    file = directory / "alertmanager.yml"
    file.write_text(faster(example).replace("http://127.0.0.1:10053", webhook), encoding="utf-8")
    return file


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus at `url`."""

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def get(self, path: str, **parameters: Any) -> Any:
        """The data of an API call. Raises OSError, or ValueError with what was wrong."""
        asked = urllib.parse.urlencode(parameters, doseq=True)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{asked}", timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(f"{parameters}: {error.read().decode()}") from error

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The series of an instant query."""
        found: list[dict[str, Any]] = self.get("query", query=expr)["result"]
        return found

    def query_range(self, expr: str, seconds: float) -> list[dict[str, Any]]:
        """The series of the last `seconds`, a value each second."""
        now = time.time()
        found: list[dict[str, Any]] = self.get(
            "query_range", query=expr, start=now - seconds, end=now, step=1
        )["result"]
        return found

    def number(self, expr: str) -> float:
        """The one value of an instant query. Raises LookupError if there is none, or several."""
        found = self.query(expr)
        if len(found) != 1:
            raise LookupError(f"{len(found)} series of {expr}, want 1")
        return float(found[0]["value"][1])

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]

    def wait_until(self, holds: Callable[[], bool], seconds: float, told: str = "it") -> None:
        """Look twice a second until it holds. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError, LookupError):
                if holds():
                    return
            time.sleep(0.5)
        raise TimeoutError(f"{told} did not come within {seconds:g} s")


@contextlib.contextmanager
def running_prometheus(
    directory: Path,
    targets: Sequence[tuple[str, str, str]],
    rules: Sequence[Path] = (),
    alertmanager: str | None = None,
    untold: str = "",
) -> Iterator[Prometheus]:
    """Scrape targets, each (instance, "host:port", path), every second into `directory`.

    untold: a pattern of names of alerts that are evaluated, and not sent to Alertmanager.
    """
    config = _config(targets, rules, alertmanager, untold)
    with started_prometheus(directory, config) as prometheus:
        prometheus.wait_until(lambda: bool(prometheus.query("up")), 40, "the first scrape")
        yield prometheus


@contextlib.contextmanager
def started_prometheus(
    directory: Path, config: dict[str, Any], *flags: str
) -> Iterator[Prometheus]:
    """Prometheus over the blocks in `directory`, perhaps not answering yet, until the end."""
    address = f"127.0.0.1:{free_port()}"
    file, log = directory / "prometheus.yml", directory / "prometheus.log"
    file.write_text(json.dumps(config))
    with log.open("ab") as output:
        process = subprocess.Popen(
            [
                shutil.which("prometheus") or "prometheus",
                f"--config.file={file}",
                f"--storage.tsdb.path={directory}/tsdb",
                f"--web.listen-address={address}",
                "--log.level=warn",
                *flags,
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield Prometheus(f"http://{address}", log, process)
    finally:
        end(process)


def _config(
    targets: Sequence[tuple[str, str, str]],
    rules: Sequence[Path],
    alertmanager: str | None,
    untold: str,
) -> dict[str, Any]:
    every = f"{SCRAPE_SECONDS}s"
    scrape = {
        "job_name": "ioplateau",
        "scrape_interval": every,
        "scrape_timeout": every,
        "static_configs": [
            {"targets": [address], "labels": {"instance": instance, "__metrics_path__": path}}
            for instance, address, path in targets
        ],
    }
    managers = [{"static_configs": [{"targets": [alertmanager]}]}] if alertmanager else []
    return {
        "global": {"scrape_interval": every, "evaluation_interval": every},
        "rule_files": [str(file) for file in rules],
        "alerting": {
            "alertmanagers": managers,
            "alert_relabel_configs": [
                {"source_labels": ["alertname"], "regex": untold or "-", "action": "drop"}
            ],
        },
        "scrape_configs": [scrape],
    }


@contextlib.contextmanager
def running_alertmanager(directory: Path, config: Path) -> Iterator[str]:
    """Alertmanager with this configuration; its "host:port"."""
    address = f"127.0.0.1:{free_port()}"
    with (directory / "alertmanager.log").open("wb") as output:
        process = subprocess.Popen(
            [
                shutil.which("prometheus-alertmanager") or "alertmanager",
                f"--config.file={config}",
                f"--storage.path={directory}/alertmanager",
                f"--web.listen-address={address}",
                "--cluster.listen-address=",
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        _wait_for(f"http://{address}/-/ready")
        yield address
    finally:
        end(process)


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.2)
    raise TimeoutError(f"{url} does not answer")


@dataclass(slots=True)
class Receiver:
    """A webhook: every notification it got, with the path it came to."""

    url: str = ""
    got: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def of(self, name: str, status: str) -> list[dict[str, Any]]:
        """Notifications of this status whose group holds an alert of this name."""
        return [
            body
            for _, body in list(self.got)
            if body["status"] == status
            and any(alert["labels"]["alertname"] == name for alert in body["alerts"])
        ]


@contextlib.contextmanager
def running_receiver() -> Iterator[Receiver]:
    """A webhook that keeps what it gets."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.got.append((self.path, body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as address:
        receiver.url = f"http://{address}"
        yield receiver


@contextlib.contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A small HTTP server in threads of this process; its "host:port"."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
