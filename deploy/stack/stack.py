"""The whole way on this machine, with one command: `make stack`.

Starts the exporter on the real /proc, Debian's Prometheus with the rules of alerts/, its
Alertmanager with the example's routes, and a webhook that prints what it gets; Grafana too, where
it is installed, with the dashboards. Everything listens on localhost, keeps its files in a
directory of its own, and ends with Ctrl-C.

    apt-get install prometheus prometheus-alertmanager
    python deploy/stack/stack.py [--config.file ioplateau.toml] [--directory DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAST_LINES = 10
GRAFANA_HOMES = (Path("/usr/share/grafana"), Path("/usr/local/share/grafana"))


@dataclass(frozen=True)
class Ports:
    """Where each part listens on 127.0.0.1."""

    exporter: int = 10049
    prometheus: int = 9090
    alertmanager: int = 9093
    grafana: int = 3000
    webhook: int = 10053


@dataclass(frozen=True, slots=True)
class Part:
    """A program of the stack. ready: what answers once it is up."""

    name: str
    command: list[str]
    ready: str


def main() -> int:
    options = _options()
    missing = [name for name in ("prometheus", "prometheus-alertmanager") if not shutil.which(name)]
    if missing:
        print(f"stack: {' and '.join(missing)} missing: apt-get install {' '.join(missing)}")
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    ports = Ports(**{port.name: getattr(options, f"{port.name}_port") for port in fields(Ports)})
    if taken := [*_taken(ports)]:
        print(*taken, sep="\n")
        return 2
    with contextlib.ExitStack() as stack:
        directory = options.directory or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="ioplateau-stack-"))
        )
        directory.mkdir(parents=True, exist_ok=True)
        stack.enter_context(_webhook(ports.webhook))
        for part in _parts(directory, ports, options.config):
            process = stack.enter_context(_running(part, directory))
            if not _wait(part, process):
                # Printed, for the log may lie in a directory that goes with us.
                said = (directory / f"{part.name}.log").read_text(errors="replace").splitlines()
                print(f"stack: {part.name} did not come up:", *said[-LAST_LINES:], sep="\n")
                return 1
            print(f"stack: {part.name:13} {part.ready.rsplit('/', 2)[0]}/", flush=True)
        print("stack: ready; alerts are printed here, Ctrl-C ends it", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Exporter, Prometheus, Alertmanager and a webhook."
    )
    parser.add_argument(
        "--config.file", dest="config", type=Path, help="the exporter's, with limits"
    )
    parser.add_argument("--directory", type=Path, help="keep files here; default: gone at the end")
    for port in fields(Ports):
        parser.add_argument(f"--{port.name}-port", type=int, default=port.default)
    return parser.parse_args()


def _taken(ports: Ports) -> Iterator[str]:
    """A sentence for each port that cannot be had: somebody else would answer there in our part's place."""
    for port in fields(Ports):
        number = getattr(ports, port.name)
        if port.name == "grafana" and not _grafana_place():
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # TIME_WAIT takes no port
            try:
                probe.bind(("127.0.0.1", number))
            except OSError as error:
                yield (
                    f"stack: 127.0.0.1:{number}, for {port.name}: {error.strerror};"
                    f" make stack FLAGS=--{port.name}-port=N takes another"
                )


def _parts(directory: Path, ports: Ports, config: Path | None) -> Iterator[Part]:
    exporter = Path(sys.executable).with_name("ioplateau")
    address = f"127.0.0.1:{ports.exporter}"
    yield Part(
        "exporter",
        [
            str(exporter),
            "serve",
            f"--web.listen-address={address}",
            f"--state.directory={_made(directory / 'state')}",
            *(["--config.file", str(config)] if config else []),
        ],
        f"http://{address}/-/ready",
    )
    yield Part(
        "alertmanager",
        [
            "prometheus-alertmanager",
            f"--config.file={_routes(directory, ports)}",
            f"--storage.path={directory}/alertmanager",
            f"--web.listen-address=127.0.0.1:{ports.alertmanager}",
            "--cluster.listen-address=",
        ],
        f"http://127.0.0.1:{ports.alertmanager}/-/ready",
    )
    yield Part(
        "prometheus",
        [
            "prometheus",
            f"--config.file={_scraping(directory, ports)}",
            f"--storage.tsdb.path={directory}/prometheus",
            f"--web.listen-address=127.0.0.1:{ports.prometheus}",
        ],
        f"http://127.0.0.1:{ports.prometheus}/-/ready",
    )
    if place := _grafana_place():
        yield _grafana(directory, ports, *place)
    else:
        print("stack: no Grafana here; its provisioning files are in dashboards/provisioning/")


def _grafana_place() -> tuple[str, Path] | None:
    """Its program and its files, where it is installed."""
    program = shutil.which("grafana-server")
    home = next((path for path in GRAFANA_HOMES if path.is_dir()), None)
    return (program, home) if program and home else None


def _scraping(directory: Path, ports: Ports) -> Path:
    """Prometheus' configuration. JSON is YAML."""
    file = directory / "prometheus.yml"
    file.write_text(
        json.dumps(
            {
                "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
                "rule_files": [str(ROOT / "alerts" / "*.rules.yml")],
                "alerting": {
                    "alertmanagers": [
                        {"static_configs": [{"targets": [f"127.0.0.1:{ports.alertmanager}"]}]}
                    ]
                },
                "scrape_configs": [
                    {
                        "job_name": "ioplateau",
                        "static_configs": [{"targets": [f"127.0.0.1:{ports.exporter}"]}],
                    }
                ],
            },
            indent=2,
        )
    )
    return file


def _routes(directory: Path, ports: Ports) -> Path:
    """The committed example, speaking to our webhook."""
    file = directory / "alertmanager.yml"
    example = (ROOT / "alerts" / "alertmanager.example.yml").read_text(encoding="utf-8")
    file.write_text(example.replace("127.0.0.1:10053", f"127.0.0.1:{ports.webhook}"))
    return file


def _grafana(directory: Path, ports: Ports, program: str, home: Path) -> Part:
    provisioning = ROOT / "dashboards" / "provisioning"
    ours = _made(directory / "provisioning")
    sources, boards = _made(ours / "datasources"), _made(ours / "dashboards")
    source = (provisioning / "datasources.yml").read_text()
    (sources / "ioplateau.yml").write_text(source.replace(":9090", f":{ports.prometheus}"))
    board = (provisioning / "dashboards.yml").read_text()
    there = "/var/lib/grafana/dashboards/ioplateau"
    (boards / "ioplateau.yml").write_text(board.replace(there, str(ROOT / "dashboards")))
    return Part(
        "grafana",
        [
            program,
            f"--homepath={home}",
            f"cfg:paths.data={directory}/grafana",
            f"cfg:paths.provisioning={ours}",
            "cfg:server.http_addr=127.0.0.1",
            f"cfg:server.http_port={ports.grafana}",
            "cfg:auth.anonymous.enabled=true",
        ],
        f"http://127.0.0.1:{ports.grafana}/api/health",
    )


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextlib.contextmanager
def _running(part: Part, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (directory / f"{part.name}.log").open("wb") as log:
        process = subprocess.Popen(part.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(part: Part, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(part.ready, timeout=5).close()
            return process.poll() is None  # else somebody else has answered
        time.sleep(0.2)
    return False


@contextlib.contextmanager
def _webhook(port: int) -> Iterator[None]:
    """Print every alert that comes, a line each."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _Printer)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


class _Printer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for alert in body["alerts"]:
            labels, told = alert["labels"], alert["annotations"]
            what = told.get("description", "") if alert["status"] == "firing" else "over"
            print(
                f"{self.path[1:]}: {alert['status']} {labels.get('severity', '')} "
                f"{labels['alertname']}: {told.get('summary', '')} - {what}",
                flush=True,
            )
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing of requests; only alerts are shown."""


if __name__ == "__main__":
    sys.exit(main())
