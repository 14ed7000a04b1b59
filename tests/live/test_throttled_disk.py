"""A disk that the kernel really throttles: what it shows, and what the daemon says of it.

Needs root, fio, losetup and a real disk: see throttled_disk.py.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from live_daemon import Daemon, Exposition, running_daemon
from throttled_disk import MissingError, ThrottledDisk

pytestmark = [pytest.mark.live, pytest.mark.alone]

LIMIT_IOPS = 500
WINDOW_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Watched:
    """A throttled disk, and a daemon that was told its limit."""

    disk: ThrottledDisk
    daemon: Daemon

    def limited(self, metric: str, now: Exposition) -> float:
        return now.value(metric, kind="disk", name=self.disk.name, dimension="iops")

    def throttled(self, now: Exposition) -> bool:
        return self.limited("ioplateau_budget_throttled", now) == 1


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with ThrottledDisk(read_iops=LIMIT_IOPS) as disk:
        config = f"""
            [sampling]
            rate_window_seconds = {WINDOW_SECONDS}
            [[limit]]
            disk = "{disk.name}"
            iops = {LIMIT_IOPS}
        """
        with running_daemon(config, tmp_path_factory.mktemp("daemon"), ["--no-cloud"]) as daemon:
            yield Watched(disk, daemon)


@pytest.mark.rates
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_below_its_limit_the_disk_is_not_called_throttled(watched: Watched, share: float):
    seen = under_load(watched, rate_iops=LIMIT_IOPS * share)

    assert not any(watched.throttled(now) for now in seen.scrapes)
    assert seen.measured_iops == pytest.approx(seen.fio_iops, rel=0.02)
    assert seen.utilization == pytest.approx(share, rel=0.03)


@pytest.mark.rates
def test_at_its_limit_the_disk_is_called_throttled(watched: Watched):
    seen = under_load(watched, rate_iops=None)

    assert all(watched.throttled(now) for now in seen.scrapes[-5:])
    assert seen.verdict == "throttled"
    assert seen.measured_iops == pytest.approx(seen.fio_iops, rel=0.02)
    assert seen.utilization == pytest.approx(1, rel=0.03)
    assert seen.queue_length == pytest.approx(16, rel=0.1)
    assert seen.await_seconds == pytest.approx(16 / LIMIT_IOPS, rel=0.1)


def test_when_the_load_ends_the_throttling_ends_and_its_seconds_stay(watched: Watched):
    load = watched.disk.load(depth=16, seconds=30)
    began = watched.daemon.wait_until(watched.throttled, 25, told="the throttling")
    load.stop()
    ended = watched.daemon.wait_until(
        lambda now: not watched.throttled(now), 60, told="the end of the throttling"
    )

    seconds = "ioplateau_budget_throttled_seconds_total"
    assert watched.limited(seconds, ended) >= watched.limited(seconds, began)
    assert watched.limited(seconds, ended) > 0


@dataclass(frozen=True, slots=True)
class Seen:
    """What the daemon said of a load, second by second, and at its end; and what fio said."""

    scrapes: list[Exposition]
    measured_iops: float
    utilization: float
    queue_length: float
    await_seconds: float
    verdict: str
    fio_iops: float


def under_load(watched: Watched, *, rate_iops: float | None) -> Seen:
    """Load the disk for longer than the rate window, and look at it every second."""
    quiet(watched)
    load = watched.disk.load(rate_iops, depth=16, seconds=WINDOW_SECONDS + 8)
    scrapes = []
    for _ in range(WINDOW_SECONDS + 5):
        time.sleep(1)
        scrapes.append(watched.daemon.scrape())
    last, disk = scrapes[-1], watched.disk.name
    assert load.running()
    return Seen(
        scrapes=scrapes,
        measured_iops=last.value(
            "ioplateau_disk_operations_per_second", device=disk, operation="read"
        ),
        utilization=watched.limited("ioplateau_budget_utilization_ratio", last),
        queue_length=last.value("ioplateau_disk_queue_length", device=disk),
        await_seconds=last.value("ioplateau_disk_await_seconds", device=disk, operation="read"),
        verdict=last.verdict("disk", disk),
        fio_iops=load.result()["read"]["iops"],
    )


def quiet(watched: Watched) -> None:
    """Until nothing is left of an earlier test."""
    watched.daemon.wait_until(lambda now: not watched.throttled(now), 60, told="quiet")


@pytest.mark.rates
def test_a_throttled_disk_shows_what_a_cloud_disk_at_its_limit_shows():
    with ThrottledDisk(read_iops=LIMIT_IOPS) as disk:
        load = disk.load(depth=16, seconds=6)
        seen = watch(disk.name, after_seconds=2, seconds=3)
        fio = load.result()["read"]

    assert seen["reads_per_second"] == pytest.approx(LIMIT_IOPS, rel=0.05)
    assert seen["await_milliseconds"] == pytest.approx(16 / LIMIT_IOPS * 1000, rel=0.1)
    assert seen["queue_length"] == pytest.approx(16, rel=0.1)
    assert seen["in_flight"] == pytest.approx(16, abs=2)
    assert fio["iops"] == pytest.approx(LIMIT_IOPS, rel=0.05)


@pytest.mark.rates
def test_below_its_limit_it_shows_neither_queue_nor_latency():
    with ThrottledDisk(read_iops=LIMIT_IOPS) as disk:
        load = disk.load(rate_iops=LIMIT_IOPS / 2, seconds=6)
        seen = watch(disk.name, after_seconds=2, seconds=3)
        load.stop()

    assert seen["reads_per_second"] == pytest.approx(LIMIT_IOPS / 2, rel=0.1)
    assert seen["queue_length"] < 1


@pytest.mark.rates
def test_a_limit_in_bytes_holds_writes():
    with ThrottledDisk(write_bps=8_000_000) as disk:
        load = disk.load(depth=4, seconds=5, rw="write", bs="64k")
        fio = load.result()["write"]

    assert fio["bw_bytes"] == pytest.approx(8_000_000, rel=0.1)


def test_it_leaves_nothing_behind_even_with_a_load_still_running():
    disk = ThrottledDisk(read_iops=LIMIT_IOPS)
    with pytest.raises(InterruptedError):
        fail_under_load(disk)

    assert not Path(f"/sys/block/{disk.name}/loop").exists()
    assert not disk.cgroup.exists()


def fail_under_load(disk: ThrottledDisk) -> None:
    with disk:
        disk.load(seconds=60)
        assert Path(f"/sys/block/{disk.name}/loop").exists()
        assert disk.cgroup.is_dir()
        raise InterruptedError


def test_a_directory_that_is_on_no_disk_is_named_with_its_file_system():
    with (
        pytest.raises(MissingError, match=r"/dev/shm is on tmpfs, which is no disk"),
        ThrottledDisk(read_iops=LIMIT_IOPS, directory=Path("/dev/shm")),
    ):
        pass


def watch(name: str, *, after_seconds: float, seconds: float) -> dict[str, float]:
    """What /proc/diskstats says over `seconds` of a load that runs for `after_seconds`."""
    time.sleep(after_seconds)
    before, began = columns(name), time.monotonic()
    time.sleep(seconds)
    after, elapsed = columns(name), time.monotonic() - began
    reads = after[0] - before[0]
    return {
        "reads_per_second": reads / elapsed,
        "await_milliseconds": (after[3] - before[3]) / reads,
        "queue_length": (after[10] - before[10]) / 1000 / elapsed,
        "in_flight": after[8],
    }


def columns(name: str) -> list[int]:
    for line in Path("/proc/diskstats").read_text().splitlines():
        if (words := line.split())[2] == name:
            return [int(word) for word in words[3:]]
    raise LookupError(name)
