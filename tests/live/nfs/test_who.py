"""Who draws on an NFS volume that is held back: the heavy one of two units is named, everywhere, and soon.

Each unit of the client is a control group (v2). No control group counts what goes to NFS; that is
told by what each process did and by the files it has open. A third unit, which moves more than both,
does so on a disk.
"""

import contextlib
import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from guests.guest import Guest
from live_daemon import IOPLATEAU, Exposition
from live_prometheus import Prometheus, fast_rules, running_prometheus
from nfs_machines import LIMITED, TOLD, UNTOLD, VOLUME_BYTES_PER_SECOND, Machines

pytestmark = [pytest.mark.live, pytest.mark.guest, pytest.mark.timeout(900)]

DRAWN = "ioplateau_budget_consumer_bytes_per_second"
ALERT = "IoplateauNfsVolumeThrottled"
VM = "client"
# How the two write, and what the kernel needs for it: few dirty pages, or all would be one burst.
WAYS = {
    "direct": "--direct=1 --ioengine=libaio --iodepth=16",
    "buffered": "--direct=0 --ioengine=psync",
}
DIRTY_BYTES = 4 << 20
LIGHT_BYTES_PER_SECOND = 131_072
ELSEWHERE_BYTES_PER_SECOND = 2 * VOLUME_BYTES_PER_SECOND
MOST_TICKS = 5  # of a second each, from the first that is throttled to the first that names
# On an emulated CPU a look takes long and the next one comes the later; the daemon tells of one for 305 s
# at most.
LOOK_SECONDS = 330
ANSWER_SECONDS = 30
LONG_SECONDS = 2.0  # between the rounds of a look that is none of the first


class Watched(NamedTuple):
    """What the daemon said while two units wrote."""

    throttled: float  # the first tick of which it was scraped
    named: float  # the first tick of which it was scraped that the heavy one draws most
    places: list[str]  # that named it then
    consumers: dict[str, Any]
    drawn: dict[str, float]  # bytes per second by unit
    alert: dict[str, Any]


@pytest.fixture(scope="module")
def prometheus(
    machines: Machines, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    directory = tmp_path_factory.mktemp("prometheus")
    target = (VM, machines.url(TOLD).removeprefix("http://"), "/metrics")
    with running_prometheus(directory, [target], fast_rules(directory)) as running:
        yield running


@pytest.fixture(scope="module")
def watched(machines: Machines, prometheus: Prometheus) -> dict[str, Watched]:
    """By how they wrote."""
    machines.server.run("truncate -s 64M /export/a/light && chmod 666 /export/a/light")
    read = f"--rw=read --bs=1M --direct=1 --rate={ELSEWHERE_BYTES_PER_SECOND} --readonly"
    with (
        few_dirty_pages(machines.client),
        running(machines.client, "elsewhere", f"--filename=/dev/nvme0n1 --size=256M {read}"),
        machines.limited_volume(),
    ):
        return {way: under(machines, prometheus, way) for way in WAYS}


@contextlib.contextmanager
def few_dirty_pages(client: Guest) -> Iterator[None]:
    """Else all that is written into the page cache is there at once, and one burst later on."""
    ratios = client.run("sysctl vm.dirty_ratio vm.dirty_background_ratio").replace(" ", "").split()
    client.run(f"sysctl vm.dirty_bytes={DIRTY_BYTES} vm.dirty_background_bytes={DIRTY_BYTES // 4}")
    try:
        yield
    finally:
        client.run(f"sysctl {' '.join(ratios)}")  # which takes the bytes back


@contextlib.contextmanager
def running(client: Guest, unit: str, load: str) -> Iterator[None]:
    """fio with these arguments, as a unit of its own."""
    client.run(
        f"systemd-run --quiet --collect --slice=loads --unit={unit}"
        f" fio --name=load --eta=never --time_based --runtime=900 {load}"
    )
    try:
        yield
    finally:
        client.run(f"systemctl stop {unit}")


def under(machines: Machines, prometheus: Prometheus, way: str) -> Watched:
    """Two units that write this way, until the heavy one was named everywhere."""
    write = f"--rw=randwrite --bs=64k --size=64M {WAYS[way]}"
    heavy, light = f"heavy-{way}", f"light-{way}"
    # An earlier load is another story, until nobody looks any more.
    wait_for(machines, lambda drawn_by: drawn_by is None)
    slowly = f"--filename={LIMITED}/light {write} --rate={LIGHT_BYTES_PER_SECOND}"
    began = time.time()
    with (
        running(machines.client, light, slowly),
        running(machines.client, heavy, f"--filename={LIMITED}/file {write}"),
    ):
        # Nobody else asks until then: each answer keeps an emulated CPU busy for a part of a tick.
        alert = said_by_alert(prometheus, f"{heavy}.service")
        throttled, named = first_ticks(prometheus, f"{heavy}.service", time.time() - began)
        places = [place for place, says in PLACES.items() if says(machines, f"{heavy}.service")]
        # The first looks saw them begin.
        wait_for(machines, lambda drawn_by: is_long(drawn_by) and len(drawn_by["groups"]) == 2)
        now = machines.scrape(TOLD)
        return Watched(throttled, named, places, consumers(machines), drawn(now), alert)


def consumers(machines: Machines, port: int = TOLD) -> Any:
    """Who draws on the volume; None: nobody looked lately."""
    return volume(ask(machines, "state", port)["budgets"])["consumers"]


def wait_for(machines: Machines, holds: Callable[[Any], bool], port: int = TOLD) -> Any:
    """Who draws on the volume, once it holds."""
    deadline = time.monotonic() + LOOK_SECONDS
    while not holds(drawn_by := consumers(machines, port)):
        assert time.monotonic() < deadline, drawn_by
        time.sleep(1)
    return drawn_by


def is_long(drawn_by: Any) -> bool:
    return bool(drawn_by) and drawn_by["seconds"] > LONG_SECONDS


def first_ticks(prometheus: Prometheus, heavy: str, seconds: float) -> tuple[float, float]:
    """Of what was scraped in the last seconds the first ticks of which the volume was throttled, and of
    which the heavy one drew most.
    """

    def scraped(series: str) -> Iterator[tuple[dict[str, str], float, float]]:
        for found in prometheus.query(f"{series}[{seconds:.0f}s]"):
            for at, value in found["values"]:
                yield found["metric"], at, float(value)

    budget = f'kind="volume",name="{LIMITED}"'
    ticks = {at: tick for _, at, tick in scraped("ioplateau_ticks_total")}
    word = f'ioplateau_budget_verdict{{{budget},verdict="throttled"}}'
    throttled = min(at for _, at, holds in scraped(word) if holds)
    most = dict[float, tuple[float, str]]()
    for labels, at, rate in scraped(f"{DRAWN}{{{budget}}}"):
        most[at] = max(most.get(at, (0.0, "")), (rate, labels["unit"]))
    named = min(at for at, (_, unit) in most.items() if unit == heavy)
    return ticks[throttled], ticks[named]


def ask(machines: Machines, what: str, port: int = TOLD) -> Any:
    return json.loads(get(machines, f"api/v1/{what}", port))


def get(machines: Machines, path: str, port: int = TOLD) -> str:
    with urllib.request.urlopen(f"{machines.url(port)}/{path}", timeout=ANSWER_SECONDS) as answer:
        return str(answer.read().decode())


def volume(found: list[dict[str, Any]]) -> dict[str, Any]:
    """That of the volume, budget or episode; of several the last."""
    return [each for each in found if (each["kind"], each["name"]) == ("volume", LIMITED)][-1]


def drawn(now: Exposition) -> dict[str, float]:
    return {
        found["unit"]: now.value(DRAWN, **found)
        for found in now.labels(DRAWN, kind="volume", name=LIMITED)
    }


def metric_says(machines: Machines, heavy: str) -> bool:
    found = drawn(machines.scrape(TOLD))
    return bool(found) and max(found, key=lambda unit: found[unit]) == heavy


def state_says(machines: Machines, heavy: str) -> bool:
    found = consumers(machines)
    return bool(found and found["groups"]) and found["groups"][0]["label"] == heavy


def episode_says(machines: Machines, heavy: str) -> bool:
    found = ask(machines, "episodes")["episodes"]
    return any(
        each["drew_most"] == heavy
        for each in found
        if (each["kind"], each["name"], each["verdict"]) == ("volume", LIMITED, "throttled")
    )


def page_says(machines: Machines, heavy: str) -> bool:
    return f"most I/O by {heavy}" in get(machines, "")


def top_says(machines: Machines, heavy: str) -> bool:
    command = [IOPLATEAU, "top", "--batch", "--count=1", f"--url={machines.url(TOLD)}"]
    return (
        f"most I/O by {heavy}"
        in subprocess.run(command, capture_output=True, text=True, check=False).stdout
    )


PLACES = {
    "metric": metric_says,
    "state": state_says,
    "episode": episode_says,
    "page": page_says,
    "top": top_says,
}


def said_by_alert(prometheus: Prometheus, heavy: str) -> dict[str, Any]:
    """The alert of the volume, once it fires and names the heavy one."""
    found: list[dict[str, Any]] = []

    def fires() -> bool:
        found[:] = [
            each
            for each in prometheus.get("alerts")["alerts"]
            if (each["labels"]["alertname"], each["state"]) == (ALERT, "firing")
            and f"Most I/O by {heavy}." in each["annotations"]["description"]
        ]
        return bool(found)

    prometheus.wait_until(fires, 90, f"an alert that names {heavy}")
    return found[0]


def test_where_there_are_only_groups_of_version_2(machines: Machines):
    assert machines.client.run("stat -fc %T /sys/fs/cgroup").strip() == "cgroup2fs"


@pytest.mark.parametrize("way", WAYS)
def test_the_heavy_one_is_named_everywhere_within_a_few_ticks(
    watched: dict[str, Watched], way: str
):
    found = watched[way]

    assert found.named - found.throttled <= MOST_TICKS, found
    assert found.places == [*PLACES], found


@pytest.mark.parametrize("way", WAYS)
def test_with_its_process_and_what_it_draws(watched: dict[str, Watched], way: str):
    found = watched[way]
    heavy, light = f"heavy-{way}.service", f"light-{way}.service"

    assert found.consumers["processes"][0]["label"].startswith("fio (pid ")
    assert found.drawn.keys() == {heavy, light}
    assert found.drawn[heavy] == pytest.approx(VOLUME_BYTES_PER_SECOND, rel=0.25)
    assert found.drawn[light] == pytest.approx(LIGHT_BYTES_PER_SECOND, rel=0.75)


@pytest.mark.parametrize("way", WAYS)
def test_the_alert_names_it_in_its_sentence(
    machines: Machines, watched: dict[str, Watched], way: str
):
    alert = watched[way].alert
    volume_name = f"{machines.server.address}:/export/a"

    assert alert["labels"]["volume"] == volume_name
    assert alert["annotations"]["description"].startswith(
        f"NFS volume {volume_name} at {LIMITED} of {VM} was held at its limit of 3.76 MB/s"
    )


def test_who_may_not_see_processes_says_so(machines: Machines, watched: dict[str, Watched]):
    assert watched
    get(machines, "", UNTOLD)  # a person looks
    told = wait_for(machines, lambda drawn_by: drawn_by is not None, UNTOLD)

    assert told["groups"] == []
    assert told["sentence"].startswith("who draws on it cannot be told: the I/O of ")
