"""A disk that the kernel really throttles: what it shows, and what the daemon says of it.

Needs root, fio, losetup and a real disk: see throttled_disk.py.
"""

import os
import time
from pathlib import Path

import pytest

from throttled_disk import MissingError, ThrottledDisk

pytestmark = pytest.mark.live

LIMIT_IOPS = 500


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


def test_below_its_limit_it_shows_neither_queue_nor_latency():
    with ThrottledDisk(read_iops=LIMIT_IOPS) as disk:
        load = disk.load(rate_iops=LIMIT_IOPS / 2, seconds=6)
        seen = watch(disk.name, after_seconds=2, seconds=3)
        load.stop()

    assert seen["reads_per_second"] == pytest.approx(LIMIT_IOPS / 2, rel=0.1)
    assert seen["queue_length"] < 1


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
    assert not list(Path("/sys/fs/cgroup").glob(f"**/ioplateau-{os.getpid()}-*"))


def fail_under_load(disk: ThrottledDisk) -> None:
    with disk:
        disk.load(seconds=60)
        assert Path(f"/sys/block/{disk.name}/loop").exists()
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
