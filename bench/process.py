"""A program under measurement: started, asked, weighed, and ended."""

from __future__ import annotations

import atexit
import gzip
import http.client
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Self

BENCH = Path(__file__).resolve().parent
# The users' Python, as the packages run it (deploy/packages/python.sh): Debian's is built with the
# compiler's own profiles, which makes it faster by a fifth and more.
PYTHON = ("/usr/bin/python3", "-I", "-S", "-B")
LIBRARIES = ("ioplateau", "prometheus_client", "psutil", "pyroute2", "yaml", "bcrypt")
THEIRS = "/usr/bin/prometheus-node-exporter"
COLLECTORS = ("diskstats", "mountstats", "nfs", "netdev", "pressure", "meminfo", "stat")
# What Prometheus sends.
HEADERS = {
    "Accept": "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3",
    "Accept-Encoding": "gzip",
    "X-Prometheus-Scrape-Timeout-Seconds": "10",
}
START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Scrape:
    """One answer to a scrape."""

    seconds: float
    wire_bytes: int
    text_bytes: int
    series: int
    text: str


class Program:
    """A child with its standard input open: those of ours end when it closes."""

    def __init__(self, command: Sequence[str], port: int | None = None) -> None:
        self.port = port
        self.started = time.monotonic()
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                stream.close()

    def end(self) -> None:
        self._child.terminate()
        self._child.wait(20)

    def line(self) -> str:
        """The next line of its output; "" if it ended."""
        assert self._child.stdout is not None
        return self._child.stdout.readline().decode().strip()

    @property
    def cpu_seconds(self) -> float:
        """User and system time of all its threads since it began, to the nanosecond.

        What clock_getcpuclockid(3) gives for a process: /proc/PID/stat has the same time in
        hundredths of a second, too coarse for a tick.
        """
        return time.clock_gettime(~self._child.pid << 3 | 2)

    def memory_bytes(self, field: str) -> int:
        """VmRSS or VmHWM (the highest it has been)."""
        for line in Path(f"/proc/{self._child.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise RuntimeError(f"process {self._child.pid} has no {field}: it ended")

    def settle(self) -> None:
        """Have a daemon of ours understand what it sampled until now: it does before it answers."""
        self._ask("/-/healthy")

    def _ask(self, path: str) -> tuple[http.client.HTTPResponse, bytes]:
        assert self.port is not None
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path, headers=HEADERS)
            answer = connection.getresponse()
            return answer, answer.read()
        finally:
            connection.close()

    def scrape(self) -> Scrape:
        """Ask for its metrics as Prometheus does."""
        begun = time.monotonic()
        answer, body = self._ask("/metrics")
        seconds = time.monotonic() - begun
        if answer.status != http.client.OK:
            raise ConnectionError(f"{answer.status} {answer.reason}")
        is_packed = answer.headers.get("Content-Encoding") == "gzip"
        text = (gzip.decompress(body) if is_packed else body).decode()
        series = sum(1 for line in text.splitlines() if line and line[0] != "#")
        return Scrape(seconds, len(body), len(text), series, text)

    def first_scrape(self) -> float:
        """Wait for its first answer; seconds since it was started."""
        while True:
            try:
                self.scrape()
            except (OSError, http.client.HTTPException):
                if time.monotonic() - self.started > START_SECONDS:
                    raise
                time.sleep(0.01)
            else:
                return time.monotonic() - self.started


@cache
def packaged() -> Path:
    """What the packages bring to /usr/lib/ioplateau, compiled; gone when this program ends."""
    made = Path(tempfile.mkdtemp(prefix="ioplateau-packaged-"))
    atexit.register(shutil.rmtree, made)
    for name in LIBRARIES:
        source = Path(str(find_spec(name).submodule_search_locations[0]))  # type: ignore[union-attr,index]
        ignored = shutil.ignore_patterns("__pycache__", "_yaml*.so")
        shutil.copytree(source, made / name, ignore=ignored)
    shutil.copy(BENCH.parent / "deploy/packages/__main__.py", made)
    subprocess.run([*PYTHON[:-1], "-m", "compileall", "-q", str(made)], check=True)
    return made


def ours() -> list[str]:
    """The command that is measured. Another one: IOPLATEAU="python3 /opt/ioplateau/bin/ioplateau"."""
    given = os.environ.get("IOPLATEAU")
    return shlex.split(given) if given else [*PYTHON, str(packaged())]


def bench_command(module: str, *arguments: object) -> list[str]:
    """A program of this directory on the users' Python, with what the packages bring."""
    code = f"import sys; sys.path[:0] = {[str(packaged()), str(BENCH)]!r}; import {module}; {module}.main()"
    return [*PYTHON, "-c", code, *map(str, arguments)]


def python_version() -> str:
    asked = "import platform; print(platform.python_version())"
    return (
        subprocess.run([*PYTHON, "-c", asked], capture_output=True, check=True)
        .stdout.decode()
        .strip()
    )


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def ioplateau(procfs: str = "/proc", sysfs: str = "/sys") -> Program:
    port = free_port()
    return Program(
        [
            *(*ours(), "serve", "--no-cloud", "--web.listen-address", f"127.0.0.1:{port}"),
            *("--path.procfs", procfs, "--path.sysfs", sysfs, "--log.level", "error"),
        ],
        port,
    )


def node_exporter(root: Path | str = "/") -> Program:
    """The same sources and no more. Network counters from /proc/net/dev, not from this machine's
    netlink, and GOMAXPROCS as it comes: 1.
    """
    if not os.access(THEIRS, os.X_OK):
        sys.exit(f"{THEIRS} is missing: apt-get install prometheus-node-exporter")
    port = free_port()
    root = Path(root)
    return Program(
        [
            *(THEIRS, "--collector.disable-defaults", "--no-collector.netdev.netlink"),
            *(f"--collector.{name}" for name in COLLECTORS),
            *(f"--path.procfs={root / 'proc'}", f"--path.sysfs={root / 'sys'}"),
            *(f"--path.rootfs={root}", f"--web.listen-address=127.0.0.1:{port}"),
        ],
        port,
    )


def floor(procfs: str = "/proc") -> Program:
    return Program(bench_command("floor", "--path.procfs", procfs))


def rung(name: str) -> Program:
    """The daemon up to one rung of the ladder, on this machine."""
    return Program(bench_command("ladder", "--rung", name))


def advancing_tree(root: Path, disks: int, mounts: int, nconnect: int) -> Program:
    """A machine's files below `root`, moving each second in a process of their own."""
    shape = ("--disks", disks, "--mounts", mounts, "--nconnect", nconnect)
    program = Program([sys.executable, str(BENCH / "tree.py"), str(root), *map(str, shape)])
    if program.line() != "ready":
        raise RuntimeError("bench/tree.py did not come up")
    return program
