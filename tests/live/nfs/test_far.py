"""An NFS server that is far away and limits nothing: more calls at once wait no longer, nothing is learned.

A constant number of calls is outstanding from the first one on, so that nobody has seen one alone.
Each takes its round trip: the rate is as flat as that of a limit, and what it would be with others
nobody knows.
"""

import time
from dataclasses import dataclass

import pytest

from guests.nfs import delay_link
from live_daemon import Exposition
from nfs_machines import FAR_IOPS, FAR_V3, FAR_V41, TOLD, UNTOLD, Machines

pytestmark = [pytest.mark.live, pytest.mark.guest, pytest.mark.timeout(900)]

# Milliseconds of a round trip, and how many calls of each mount are outstanding then.
WAYS = {5: 2, 40: 16}
LOAD_SECONDS = 26  # a level was learned after 12, until TCP's shortest round trip was asked
LEAST_CALLS = 500
MOUNTS = {"3": FAR_V3, "4.1": FAR_V41}
PORTS = {TOLD: "told", UNTOLD: "untold"}


@dataclass(frozen=True, slots=True)
class Look:
    """What one daemon said at one scrape."""

    ticks: float
    done: dict[str, float]  # reads by mount, so far
    throttled: list[dict[str, str]]
    limits: list[tuple[str, str, float]]  # in operations or bytes per second: kind, name, value


def look(now: Exposition) -> Look:
    verdicts = "ioplateau_budget_verdict"
    return Look(
        now.value("ioplateau_ticks_total"),
        {
            mount: sum(now.values("ioplateau_nfs_operations_total", mount=mount, operation="READ"))
            for mount in MOUNTS.values()
        },
        [
            found
            for found in now.labels(verdicts, verdict="throttled")
            if now.value(verdicts, **found) == 1
        ],
        [
            (found["kind"], found["name"], now.value(limit, **found))
            for limit in (
                "ioplateau_budget_limit_operations_per_second",
                "ioplateau_budget_limit_bytes_per_second",
            )
            for found in now.labels(limit)
            if found["name"] in MOUNTS.values() or found["kind"] == "vm_network"
        ],
    )


@pytest.fixture(scope="module")
def seen(machines: Machines) -> dict[tuple[int, int], list[Look]]:
    """Looks by the milliseconds of a round trip and the port of the daemon."""
    found: dict[tuple[int, int], list[Look]] = {}
    try:
        for milliseconds, calls in WAYS.items():
            machines.unmount()
            delay_link(machines.server, milliseconds)
            machines.mount(((FAR_V3, "/export/a", "3", 2), (FAR_V41, "/export/b", "4.1", 4)))
            for port, looks in under(machines, calls).items():
                found[milliseconds, port] = looks
    finally:
        machines.server.run("tc qdisc del dev eth1 root")
        machines.unmount()
        machines.mount_all()
    return found


def under(machines: Machines, calls: int) -> dict[int, list[Look]]:
    """Looks by port while so many calls of each mount are outstanding."""
    jobs = " ".join(f"--name={mount} --filename={mount}/file" for mount in MOUNTS.values())
    load = machines.client.start(
        f"fio --direct=1 --ioengine=libaio --iodepth={calls} --rw=randread --bs=4k --size=64M"
        f" --time_based --runtime={LOAD_SECONDS} --eta=never {jobs}"
    )
    looks: dict[int, list[Look]] = {port: [] for port in PORTS}
    while load.poll() is None:
        for port in PORTS:
            looks[port].append(look(machines.scrape(port)))
        time.sleep(0.7)
    assert load.returncode == 0
    return looks


CASES = [(way, port) for way in WAYS for port in PORTS]
NAMES = [f"{way} ms, {word}" for way in WAYS for word in PORTS.values()]


@pytest.mark.parametrize(("way", "port"), CASES, ids=NAMES)
def test_calls_take_their_way_and_nothing_else(
    seen: dict[tuple[int, int], list[Look]], way: int, port: int
):
    looks = seen[way, port]
    most = LOAD_SECONDS * WAYS[way] / (way / 1000)

    for mount in MOUNTS.values():
        done = looks[-1].done[mount] - looks[0].done[mount]
        assert LEAST_CALLS < done < 1.05 * most  # however busy the machine


@pytest.mark.parametrize(("way", "port"), CASES, ids=NAMES)
def test_a_far_server_at_constant_depth_is_never_called_throttled(
    seen: dict[tuple[int, int], list[Look]], way: int, port: int
):
    looks = seen[way, port]

    assert looks[-1].ticks - looks[0].ticks >= LOAD_SECONDS / 2
    assert [each.throttled for each in looks if each.throttled] == []


@pytest.mark.parametrize(("way", "port"), CASES, ids=NAMES)
def test_no_level_is_learned_there(seen: dict[tuple[int, int], list[Look]], way: int, port: int):
    told = {(kind, name, value) for each in seen[way, port] for kind, name, value in each.limits}
    every = {("volume", mount, float(FAR_IOPS)) for mount in MOUNTS.values()}

    assert told == (every if port == TOLD else set())
