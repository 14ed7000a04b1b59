"""The limits that ioplateau.service sets itself are not met by the largest machine of the benchmark.

The daemon runs in a cgroup with the unit's own figures, and is scraped in every format, over TLS, by
clients that never read as well. CPUWeight=20 is left out: on a busy machine it does what it is for.
Needs root and cgroups (v1 or v2), and memory for a made-up machine in /dev/shm.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import bcrypt
import pytest
import yaml

from built_packages import PROJECT
from certificates import Authority
from live_daemon import IOPLATEAU, free_port

sys.path.append(str(PROJECT / "bench"))

from process import advancing_tree
from sizes import SIZES, directory

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

UNIT = (PROJECT / "deploy/systemd/ioplateau.service").read_text()
MIB = 1 << 20
AUTHORIZATION = "Authorization: Basic c2NyYXBlcjpyaWdodA==\r\n"  # scraper:right
FORMATS = (
    "",
    "Accept-Encoding: gzip\r\n",
    "Accept: application/openmetrics-text;version=1.0.0\r\n",
    "Accept: application/openmetrics-text;version=1.0.0\r\nAccept-Encoding: gzip\r\n",
)


def of_the_unit(name: str) -> int:
    """A limit of the unit, in bytes or tasks."""
    number, suffix = re.search(rf"^{name}=(\d+)([MG]?)$", UNIT, re.MULTILINE).groups()
    return int(number) * {"": 1, "M": MIB, "G": MIB << 10}[suffix]


class Confined:
    """A cgroup for memory and one for tasks (v2: one for both), with the unit's limits."""

    def __init__(self, cleanup: ExitStack) -> None:
        top = Path("/sys/fs/cgroup")
        self.is_v2 = "memory" in _words(top / "cgroup.controllers")
        tops = (top, top) if self.is_v2 else (top / "memory", top / "pids")
        if self.is_v2:
            (top / "cgroup.subtree_control").write_text("+memory +pids")
        name = f"ioplateau-unit-{os.getpid()}"
        self.memory, self.pids = (each / name for each in tops)
        for place in {self.memory, self.pids}:
            place.mkdir()
            cleanup.callback(place.rmdir)
        most = "memory.max" if self.is_v2 else "memory.limit_in_bytes"
        (self.memory / most).write_text(str(of_the_unit("MemoryMax")))
        (self.pids / "pids.max").write_text(str(of_the_unit("TasksMax")))

    def enter(self) -> None:
        for place in (self.memory, self.pids):
            (place / "cgroup.procs").write_text(str(os.getpid()))

    @property
    def most_bytes(self) -> int:
        """The most it ever took, pages of files and buffers of sockets included."""
        name = "memory.peak" if self.is_v2 else "memory.max_usage_in_bytes"
        return int((self.memory / name).read_text())

    @property
    def most_tasks(self) -> int:
        return int((self.pids / "pids.peak").read_text())

    @property
    def met(self) -> int:
        """How often a limit was met."""
        if not self.is_v2:
            memory = int((self.memory / "memory.failcnt").read_text())
        else:
            memory = int(_words(self.memory / "memory.events")["max"])
        return memory + int(_words(self.pids / "pids.events")["max"])


def _words(path: Path) -> dict[str, str]:
    with suppress(FileNotFoundError):
        words = path.read_text().split()
        return dict(zip(words, [*words[1:], ""], strict=True))
    return {}


class Client:
    """Asks over TLS with a password."""

    def __init__(self, context: ssl.SSLContext, port: int) -> None:
        self._context, self._port = context, port

    def asked(self, headers: str) -> socket.socket:
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.settimeout(60)
        plain.connect(("127.0.0.1", self._port))
        client = self._context.wrap_socket(plain, server_hostname="localhost")
        client.sendall(f"GET /metrics HTTP/1.1\r\nHost: a\r\n{AUTHORIZATION}{headers}\r\n".encode())
        return client

    def scrape(self, headers: str) -> int:
        """Bytes of the answer; 0 where it did not come."""
        got = 0
        with suppress(OSError), self.asked(headers) as client:
            while part := client.recv(1 << 20):
                got += len(part)
        return got


@pytest.fixture
def large(tmp_path) -> Iterator[tuple[Confined, Client]]:
    with ExitStack() as stack:
        root = stack.enter_context(directory())
        stack.enter_context(advancing_tree(root, *SIZES["large"]))
        authority = Authority(tmp_path, "ca")
        authority.issue("server", "DNS:localhost")
        secret = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
        (tmp_path / "web-config.yml").write_text(
            "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"
            f'basic_auth_users: {{scraper: "{secret}"}}\n'
        )
        confined, port = Confined(stack), free_port()
        flags = {
            "path.procfs": root / "proc",
            "path.sysfs": root / "sys",
            "web.config.file": tmp_path / "web-config.yml",
            "web.listen-address": f"127.0.0.1:{port}",
            "state.directory": tmp_path,
        }
        process = subprocess.Popen(
            [IOPLATEAU, "serve", "--no-cloud", *(f"--{name}={at}" for name, at in flags.items())],
            preexec_fn=confined.enter,  # noqa: PLW1509
            stderr=subprocess.DEVNULL,
        )
        stack.callback(process.wait)
        stack.callback(process.terminate)
        client = Client(authority.client(), port)
        while not client.scrape(FORMATS[1]):
            assert process.poll() is None
            time.sleep(1)
        yield confined, client
        assert process.poll() is None  # nobody killed it


def test_the_largest_machine_and_clients_that_never_read_do_not_meet_the_units_limits(large):
    confined, client = large
    for _ in range(20):  # its window of 15 s fills
        time.sleep(1)
        client.scrape(FORMATS[1])
    answers = [client.scrape(headers) for headers in FORMATS]
    calm = confined.most_bytes
    with ExitStack() as held:
        for number in range(100):  # they keep the answers of many ticks, in both formats
            with suppress(OSError):
                held.enter_context(client.asked(FORMATS[number % 2 * 2]))
            time.sleep(0.2)
    print(
        f"MemoryMax {of_the_unit('MemoryMax') / MIB:.0f} MiB: {calm / MIB:.0f} MiB by scrapes,"
        f" {confined.most_bytes / MIB:.0f} MiB with clients that never read;"
        f" TasksMax {of_the_unit('TasksMax')}: {confined.most_tasks}"
    )

    assert max(answers) > 4 * MIB  # of a large machine indeed, also where a busy one lost a source
    assert confined.met == 0
    assert confined.most_bytes < of_the_unit("MemoryMax")
    assert confined.most_tasks < of_the_unit("TasksMax") / 2


def test_the_pod_may_take_what_the_service_may_take():
    documents = yaml.safe_load_all((PROJECT / "deploy/kubernetes/daemonset.yaml").read_text())
    daemon_set = next(each for each in documents if each["kind"] == "DaemonSet")
    (container,) = daemon_set["spec"]["template"]["spec"]["containers"]

    most = container["resources"]["limits"]["memory"]
    assert int(most.removesuffix("Mi")) * MIB == of_the_unit("MemoryMax")
