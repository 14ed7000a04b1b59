"""The daemon beside a real NFS client: NFSv3 and v4.1, nconnect, shared connections, a dead server.

The daemon runs in one of two guests as an unprivileged user and is scraped from here. Needs what
guests/guest.py and guests/install.py name.
"""

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live_daemon import IOPLATEAU, Exposition, read_exposition
from nfs_machines import CONNECTIONS, SUPERBLOCKS, Machines

pytestmark = [pytest.mark.live, pytest.mark.guest, pytest.mark.timeout(900)]

FROZEN_SECONDS = 15
UNHURRIED = {"healthy", "app_limited", "latency_bound"}


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
    after: list[Exposition]  # until the load has made up for the gap
    fio: dict[str, Any]


@pytest.fixture(scope="module")
def freeze(machines: Machines) -> Freeze:
    load = machines.client.start(
        "for mount in a3 a4; do fio --name=load --filename=/mnt/$mount/file --size=64M --direct=1"
        " --thread --ioengine=libaio --iodepth=4 --rw=randread --bs=4k --rate_iops=50 --time_based"
        f" --runtime={FROZEN_SECONDS + 60} --output-format=json >/tmp/$mount.json & done; wait"
    )
    time.sleep(8)
    began, before, during = time.monotonic(), machines.scrape(), []
    with machines.server.frozen():
        for _ in range(FROZEN_SECONDS):
            time.sleep(1)
            during.append(machines.scrape())
        seconds = time.monotonic() - began
    after = []
    for _ in range(40):
        time.sleep(1)
        after.append(machines.scrape())
        if all(after[-1].verdict("volume", mount) in UNHURRIED for mount in ("/mnt/a3", "/mnt/a4")):
            break
    machines.client.run("pkill -INT -x fio")
    # A call whose answer the freeze swallowed is sent again after minutes: see timeo in nfs(5).
    load.communicate(timeout=300)
    said = machines.client.run("cat /tmp/a4.json")
    fio = json.loads(said[said.index("{") :])  # it first says that it was told to end
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
    assert reads(freeze.after[-1]) > reads(freeze.during[-1])
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


@pytest.mark.parametrize("mount", ["/mnt/a3", "/mnt/a4"])
def test_a_frozen_server_is_called_stalled_and_only_as_long_as_it_is(freeze: Freeze, mount: str):
    during = [now.verdict("volume", mount) for now in freeze.during]
    after = [now.verdict("volume", mount) for now in freeze.after]

    assert freeze.before.verdict("volume", mount) in UNHURRIED
    assert set(during[3:]) == {"stalled"}
    assert "stalled" not in after[3:]
    assert after[-1] in UNHURRIED


def test_a_frozen_server_is_no_limit_nor_is_making_up_for_it(freeze: Freeze):
    throttled = [
        found
        for now in (freeze.before, *freeze.during, *freeze.after)
        for found in now.labels("ioplateau_budget_verdict", verdict="throttled")
        if now.value("ioplateau_budget_verdict", **found) == 1
    ]

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
