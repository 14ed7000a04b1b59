"""The daemon beside a real NFS client: NFSv3 and v4.1, nconnect, shared connections, a dead server.

Two guests, a server and a client; the daemon runs in the client as an unprivileged user and is
scraped from here. Needs what guests/guest.py and guests/install.py name.
"""

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from guests.guest import Guest, Link, booted
from guests.install import installed
from guests.nfs import mount_nfs, serve_nfs
from live_daemon import IOPLATEAU, Exposition, read_exposition, scrape

pytestmark = [pytest.mark.live, pytest.mark.guest, pytest.mark.timeout(900)]

PORT = 10049
FROZEN_SECONDS = 15
# Mount point, export, version, nconnect. sub3 is a second mount of a3's superblock, b3 and b4
# second superblocks of one client; bind4 is a4 once more.
MOUNTS = (
    ("/mnt/a3", "/export/a", "3", 2),
    ("/mnt/sub3", "/export/a/sub", "3", 2),
    ("/mnt/b3", "/export/b", "3", 2),
    ("/mnt/a4", "/export/a", "4.1", 4),
    ("/mnt/b4", "/export/b", "4.1", 4),
)
SUPERBLOCKS = {"/mnt/a3", "/mnt/b3", "/mnt/a4", "/mnt/b4"}
CONNECTIONS = {"3": 2, "4.1": 4}


@dataclass(frozen=True, slots=True)
class Machines:
    server: Guest
    client: Guest

    def scrape(self) -> Exposition:
        return scrape(f"http://127.0.0.1:{self.client.port(PORT)}/metrics")

    def scrape_settled(self) -> Exposition:
        """What ticks say that began after everything that ended before this."""
        time.sleep(2.5)
        return self.scrape()

    def read(self, path: str, count: int) -> None:
        """Exactly `count` reads of 4 KiB, past the page cache."""
        self.client.run(
            f"fio --name=count --filename={path} --size=64M --direct=1 --ioengine=libaio"
            f" --iodepth=4 --rw=randread --bs=4k --number_ios={count}"
        )


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    files = installed(tmp_path_factory.mktemp("wheel"))
    link = Link()
    server = Guest("server", number=1, link=link)
    client = Guest("client", number=2, link=link, ports=(PORT,), cpus=2)
    with booted(server, client):
        serve_nfs(server, ["/export/a", "/export/b"])
        files_to_read = "/export/a/file /export/a/sub/file /export/b/file"
        server.run(f"truncate -s 64M {files_to_read} && chmod 666 {files_to_read}")
        for mount_point, export, version, nconnect in MOUNTS:
            mount_nfs(client, server, export, mount_point, version=version, nconnect=nconnect)
        client.run("mkdir /mnt/bind4 && mount --bind /mnt/a4 /mnt/bind4")
        client.put(files, "/opt/ioplateau")
        client.run(
            "systemd-run --unit=ioplateau --uid=ioplateau --setenv=PYTHONPATH=/opt/ioplateau"
            f" python3 /opt/ioplateau/bin/ioplateau serve --web.listen-address=0.0.0.0:{PORT}"
        )
        found = Machines(server, client)
        settle(found)
        yield found


def settle(machines: Machines) -> None:
    """Until the daemon has ticked for a while and seen the kernel's sockets."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, LookupError):
            now = machines.scrape()
            sockets = sum(now.values("ioplateau_nfs_tcp_sockets"))
            if sockets >= sum(CONNECTIONS.values()) and now.value("ioplateau_ticks_total") > 5:
                return
        time.sleep(1)
    log = machines.client.run("journalctl -u ioplateau | tail -n 50; ss -tn", check=False)
    raise TimeoutError(f"the daemon in the guest did not come up:\n{log}")


def test_it_runs_there_as_an_unprivileged_user(machines: Machines):
    account = machines.client.run("stat -c %U /proc/$(systemctl show -P MainPID ioplateau)")

    assert account.strip() == "ioplateau"


def test_every_connection_is_shown_once_for_each_client(machines: Machines):
    now = machines.scrape()

    for version, connections in CONNECTIONS.items():
        assert now.value("ioplateau_nfs_connections", version=version) == connections


def test_a_socket_belongs_to_one_client_though_v41_shows_no_ports(machines: Machines):
    now = machines.scrape()

    for version, connections in CONNECTIONS.items():
        assert now.value("ioplateau_nfs_tcp_sockets", version=version) == connections


def test_mounts_of_one_superblock_are_one_flow(machines: Machines):
    now = machines.scrape()

    assert {found["mount"] for found in now.labels("ioplateau_nfs_mount_info")} == SUPERBLOCKS


@pytest.mark.parametrize(
    ("path", "mount", "version"),
    [
        ("/mnt/a3/file", "/mnt/a3", "3"),
        ("/mnt/sub3/file", "/mnt/a3", "3"),
        ("/mnt/b3/file", "/mnt/b3", "3"),
        ("/mnt/bind4/file", "/mnt/a4", "4.1"),
        ("/mnt/b4/file", "/mnt/b4", "4.1"),
    ],
)
def test_what_fio_read_is_counted_once(machines: Machines, path: str, mount: str, version: str):
    before = machines.scrape_settled()
    machines.read(path, 300)
    after = machines.scrape_settled()

    def grown(metric: str, **labels: str) -> float:
        return sum(after.values(metric, **labels)) - sum(before.values(metric, **labels))

    assert grown("ioplateau_nfs_operations_total", operation="READ") == 300
    assert grown("ioplateau_nfs_operations_total", operation="READ", mount=mount) == 300
    assert grown("ioplateau_nfs_payload_bytes_total", direction="read") == 300 * 4096
    # Opening, closing and looking up take a few calls more, but not twice as many.
    assert 300 <= grown("ioplateau_nfs_client_requests_total", version=version) < 360


def test_tcp_figures_come_from_the_kernels_sockets(machines: Machines):
    machines.read("/mnt/a4/file", 200)
    now = machines.scrape_settled()

    assert 0 < now.value("ioplateau_nfs_tcp_min_rtt_seconds", version="4.1") < 1
    assert 0 < now.value("ioplateau_nfs_tcp_rtt_seconds", version="4.1") < 1
    assert now.value("ioplateau_nfs_tcp_delivery_rate_bytes_per_second", version="4.1") > 0
    assert now.value("ioplateau_nfs_tcp_congestion_window_bytes", version="4.1") > 1000


@dataclass(frozen=True, slots=True)
class Freeze:
    """Scrapes around the freeze of the server under load, and what the load came to."""

    before: Exposition
    during: list[Exposition]
    seconds: float  # from `before` to the last of `during`
    after: Exposition
    fio: dict[str, Any]


@pytest.fixture(scope="module")
def freeze(machines: Machines) -> Freeze:
    load = machines.client.start(
        "for mount in a3 a4; do fio --name=load --filename=/mnt/$mount/file --size=64M --direct=1"
        " --ioengine=libaio --iodepth=4 --rw=randread --bs=4k --rate_iops=50 --time_based"
        f" --runtime={FROZEN_SECONDS + 15} --output-format=json >/tmp/$mount.json & done; wait"
    )
    time.sleep(8)
    began, before, during = time.monotonic(), machines.scrape(), []
    with machines.server.frozen():
        for _ in range(FROZEN_SECONDS):
            time.sleep(1)
            during.append(machines.scrape())
        seconds = time.monotonic() - began
    time.sleep(4)
    after = machines.scrape()
    load.communicate(timeout=90)
    fio = json.loads(machines.client.run("cat /tmp/a4.json"))
    return Freeze(before, during, seconds, after, fio)


def reads(now: Exposition) -> float:
    return sum(now.values("ioplateau_nfs_operations_total", operation="READ"))


def test_a_frozen_server_stops_the_load_until_it_thaws(freeze: Freeze):
    waiting = {
        version: freeze.during[-1].value("ioplateau_nfs_client_requests_on_wire", version=version)
        for version in CONNECTIONS
    }

    assert reads(freeze.before) > 0
    assert reads(freeze.during[2]) == reads(freeze.during[-1])
    assert min(waiting.values()) >= 1
    assert reads(freeze.after) > reads(freeze.during[-1])
    assert freeze.fio["jobs"][0]["error"] == 0


def test_a_frozen_server_costs_no_tick(freeze: Freeze):
    def grown(metric: str) -> float:
        return freeze.during[-1].value(metric) - freeze.before.value(metric)

    assert grown("ioplateau_ticks_skipped_total") == 0
    assert grown("ioplateau_ticks_total") == pytest.approx(freeze.seconds, abs=2)


def test_a_frozen_server_makes_no_source_fail(freeze: Freeze):
    up = {found["source"] for found in sources(freeze.before, 1)}
    failing = [
        (second, found["source"])
        for second, now in enumerate(freeze.during, start=1)
        for found in sources(now, 0)
        if found["source"] in up
    ]

    assert {"mountstats", "diskstats", "netdev"} <= up
    assert failing == []


def sources(now: Exposition, up: int) -> list[dict[str, str]]:
    found = now.labels("ioplateau_source_up")
    return [one for one in found if now.value("ioplateau_source_up", **one) == up]


def test_a_frozen_server_is_called_stalled_and_nothing_throttled(freeze: Freeze):
    last = freeze.during[-1]
    throttled = [
        found
        for now in freeze.during
        for found in now.labels("ioplateau_budget_verdict", verdict="throttled")
        if now.value("ioplateau_budget_verdict", **found) == 1
    ]

    assert last.verdict("volume", "/mnt/a3") == last.verdict("volume", "/mnt/a4") == "stalled"
    assert throttled == []


def test_a_recording_made_there_replays_here(machines: Machines, tmp_path: Path):
    recording = tmp_path / "guest.jsonl.gz"
    run_there = "cd /tmp && setpriv --reuid=ioplateau --regid=ioplateau --clear-groups"
    machines.client.run(
        f"{run_there} env PYTHONPATH=/opt/ioplateau python3 /opt/ioplateau/bin/ioplateau"
        " record --seconds 5 /tmp/guest.jsonl.gz"
    )
    machines.client.get("/tmp/guest.jsonl.gz", recording)
    replayed = subprocess.run(
        [IOPLATEAU, "replay", "--format", "metrics", recording],
        capture_output=True,
        text=True,
        check=True,
    )
    found = read_exposition(replayed.stdout)

    for version, connections in CONNECTIONS.items():
        assert found.value("ioplateau_nfs_connections", version=version) == connections
    assert {one["mount"] for one in found.labels("ioplateau_nfs_mount_info")} == SUPERBLOCKS
