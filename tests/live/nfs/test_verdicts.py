"""What the daemon says of a real NFS client that is held back: by its volume, by its slots.

Limits are far below what two emulated guests can do: see the first test.
"""

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from guests.nfs import delay_link, limit_slots
from live_daemon import Exposition
from nfs_machines import (
    LIMITED,
    TOLD,
    UNTOLD,
    VOLUME_BYTES_PER_SECOND,
    Machines,
)

pytestmark = [pytest.mark.live, pytest.mark.guest, pytest.mark.timeout(900)]

FIO = (
    "fio --name=load --size=64M --direct=1 --ioengine=libaio --time_based"
    " --group_reporting --output-format=json"
)
# Seconds of load after which a verdict must stand.
FINDING = 4
# A limit that nobody told and that ripples must first be seen to be one, about fifteen seconds of
# load: 9, 12, 13 and 19 in four recordings of this load where the host was slow and it rippled by 1.6 to
# 2.2 %, and up to 24 with scrapes beside it. Met again, the mean of six seconds is what it is recognised by.
LEARNING, RECOGNISING = 20, 9
DEPTH = 16
SLOTS_V3, SLOTS_V41 = 2, 4
MANY_SLOTS_V3, MANY_SLOTS_V41 = 65536, 64  # the kernel's own
MOUNT_V3, MOUNT_V41 = "/mnt/slots3", "/mnt/slots41"
VOLUME = ("volume", LIMITED, "throughput")
KINDS = {"volume", "nfs_slots", "nfs_connection", "vm_network"}

T = TypeVar("T")
Held = set[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Seen:
    """Scrapes by both daemons' ports while a load ran, each with its second; and what fio did."""

    scrapes: dict[int, list[tuple[float, Exposition]]]
    fio: list[dict[str, Any]]

    def by(self, port: int, *, after: float = FINDING) -> list[Exposition]:
        """What the daemon said from `after` seconds of load on, until the load ended.

        An emulated fio begins some seconds late, and two of them neither begin nor end together:
        the counters tell when all were at work.
        """
        scrapes = self.scrapes[port]
        done = [calls(now) for _, now in scrapes]
        loaded = [mount for mount in done[-1] if done[-1][mount] > done[0][mount] + 100]
        assert len(loaded) == len(self.fio)
        began = max(
            next(
                at for (at, _), now in zip(scrapes, done, strict=True) if now[each] > done[0][each]
            )
            for each in loaded
        )
        ended = min(
            next(
                at
                for (at, _), now in zip(scrapes, done, strict=True)
                if now[each] == done[-1][each]
            )
            for each in loaded
        )
        return [now for at, now in scrapes if began + after <= at < ended]

    def held(self) -> list[Held]:
        """What was held back by either daemon's word, scrape by scrape, if anything was."""
        found = [held(now) for scrapes in self.scrapes.values() for _, now in scrapes]
        return [each for each in found if each]

    def payload_bytes_per_second(self) -> float:
        return sum(job[way]["bw_bytes"] for job in self.fio for way in ("read", "write"))


def under(machines: Machines, *loads: str, seconds: int) -> Seen:
    """Run fio with each of these arguments at once, and watch."""
    machines.scrape_settled()  # the last calls of an earlier load are not this one's first
    runs = " ".join(
        f"{FIO} --runtime={seconds} {load} --output=/tmp/load.{number} &"
        for number, load in enumerate(loads)
    )
    running, began = machines.client.start(f"{runs} wait"), time.monotonic()
    scrapes: dict[int, list[tuple[float, Exposition]]] = {TOLD: [], UNTOLD: []}
    while running.poll() is None:
        for port, found in scrapes.items():
            found.append((time.monotonic() - began, machines.scrape(port)))
        time.sleep(0.7)
    texts = [machines.client.run(f"cat /tmp/load.{number}") for number in range(len(loads))]
    return Seen(scrapes, [json.loads(text)["jobs"][0] for text in texts])


def calls(now: Exposition) -> dict[str, float]:
    """Reads and writes that each mount has done."""
    metric, ways = "ioplateau_nfs_operations_total", ("READ", "WRITE")
    mounts = {found["mount"] for found in now.labels(metric)}
    return {
        mount: sum(sum(now.values(metric, mount=mount, operation=way)) for way in ways)
        for mount in mounts
    }


def held(now: Exposition) -> Held:
    """Kind, name and dimension of every NFS limit that holds something back."""
    limits = {
        (found["kind"], found["name"], found["dimension"])
        for found in now.labels("ioplateau_budget_throttled")
        if found["kind"] in KINDS and now.value("ioplateau_budget_throttled", **found) == 1
    }
    # A session's slots have no number that the kernel tells, so no limit that has a series.
    slots = {
        (found["kind"], found["name"], "slots")
        for found in now.labels("ioplateau_budget_verdict", kind="nfs_slots", verdict="throttled")
        if now.value("ioplateau_budget_verdict", **found) == 1
    }
    return limits | slots


def mostly(said: list[T], wanted: T) -> bool:
    """At least nine times of ten, of four times or more: a busy machine may lose a tick."""
    return len(said) >= 4 and said.count(wanted) >= 0.9 * len(said)


def reads(depth: int, path: str = f"{LIMITED}/file", *, size: str = "64k", more: str = "") -> str:
    return f"--filename={path} --rw=randread --bs={size} --iodepth={depth} {more}"


def writes(depth: int) -> str:
    return f"--filename={LIMITED}/file --rw=randwrite --bs=64k --iodepth={depth}"


@pytest.fixture(scope="module")
def seen(machines: Machines) -> dict[str, Seen]:
    """Everything that is done to the client, one load after the other."""
    found = {"unlimited": under(machines, reads(DEPTH), seconds=5)}
    with machines.limited_volume():
        found["below"] = under(machines, reads(4, more="--rate=1900k"), seconds=12)
        found["reading"] = under(machines, reads(DEPTH), seconds=50)
        found["writing"] = under(machines, writes(DEPTH), seconds=28)
    with few_slots(machines):
        found["as many as slots"] = under(machines, *both(SLOTS_V3), seconds=12)
        found["more than slots"] = under(machines, *both(DEPTH), seconds=27)
    return found


@contextlib.contextmanager
def few_slots(machines: Machines) -> Iterator[None]:
    """Two clients with few slots, and a slow link. A client has the slots there were when it came
    to be, so all other mounts are gone meanwhile.
    """
    machines.unmount()
    limit_slots(machines.client, v3=SLOTS_V3, v41=SLOTS_V41)
    machines.mount(((MOUNT_V3, "/export/a", "3", 1), (MOUNT_V41, "/export/b", "4.1", 4)))
    delay_link(machines.server, 40)
    try:
        yield
    finally:
        machines.server.run("tc qdisc del dev eth1 root")
        machines.unmount()
        limit_slots(machines.client, v3=MANY_SLOTS_V3, v41=MANY_SLOTS_V41)
        machines.mount_all()


def both(depth: int) -> list[str]:
    return [reads(depth, f"{mount}/file", size="4k") for mount in (MOUNT_V3, MOUNT_V41)]


def test_without_a_limit_the_guests_do_much_more(seen: dict[str, Seen]):
    assert seen["unlimited"].payload_bytes_per_second() > 1.5 * VOLUME_BYTES_PER_SECOND


def test_below_the_limit_of_its_volume_nothing_is_called_throttled(seen: dict[str, Seen]):
    below = seen["below"]

    assert below.payload_bytes_per_second() == pytest.approx(1900 * 1024, rel=0.1)
    assert below.held() == []


@pytest.mark.parametrize("load", ["reading", "writing"])
def test_a_volume_at_the_limit_that_was_told_is_throttled(seen: dict[str, Seen], load: str):
    said = [held(now) for now in seen[load].by(TOLD)]

    assert seen[load].payload_bytes_per_second() == pytest.approx(VOLUME_BYTES_PER_SECOND, rel=0.05)
    assert mostly(said, {VOLUME}), f"{said}"


@pytest.mark.parametrize(("load", "skip"), [("reading", LEARNING), ("writing", RECOGNISING)])
def test_a_limit_nobody_told_is_learned_and_is_the_volumes(
    seen: dict[str, Seen], load: str, skip: int
):
    at_work = seen[load].by(UNTOLD, after=skip)
    said = [held(now) for now in at_work]

    assert mostly(said, {VOLUME}), f"{said}"
    learned = at_work[-1].value(
        "ioplateau_budget_limit_bytes_per_second", kind="volume", name=LIMITED
    )
    assert learned == pytest.approx(VOLUME_BYTES_PER_SECOND, rel=0.05)


def test_the_round_trips_of_tcp_grow_with_the_volumes_queue(seen: dict[str, Seen]):
    now = seen["reading"].by(TOLD)[-1]
    rtt = now.value("ioplateau_nfs_tcp_rtt_seconds", version="4.1")

    # Which is why they do not tell a connection's limit from a volume's.
    assert rtt > 10 * now.value("ioplateau_nfs_tcp_min_rtt_seconds", version="4.1")


def test_a_client_without_free_slots_is_named_and_not_its_volume(seen: dict[str, Seen]):
    named = {("nfs_slots", MOUNT_V3, "slots"), ("nfs_slots", MOUNT_V41, "slots")}
    at_work = seen["more than slots"].by(UNTOLD)
    said = [held(now) for now in at_work]
    volumes = [now.verdict("volume", mount) for now in at_work for mount in (MOUNT_V3, MOUNT_V41)]

    assert mostly(said, named), f"{said}"
    assert mostly(volumes, "affected"), f"{volumes}"


def test_slots_show_as_backlog_in_v3_and_only_as_time_before_sending_in_v41(seen: dict[str, Seen]):
    before, *_, now = seen["more than slots"].by(UNTOLD)

    def waited(mount: str) -> float:
        label = {"mount": mount, "operation": "READ"}
        calls, seconds = (
            now.value(metric, **label) - before.value(metric, **label)
            for metric in (
                "ioplateau_nfs_operations_total",
                "ioplateau_nfs_operation_queue_seconds_total",
            )
        )
        return seconds / calls

    assert now.value("ioplateau_nfs_client_backlog_length", version="3") > SLOTS_V3
    assert now.value("ioplateau_nfs_client_backlog_length", version="4.1") == 0
    assert waited(MOUNT_V3) > 0.08
    assert waited(MOUNT_V41) > 0.08


def test_as_many_calls_as_there_are_slots_lack_none(seen: dict[str, Seen]):
    assert seen["as many as slots"].held() == []
