"""The daemon beside a kernel file that does not answer."""

import os
import threading
from pathlib import Path

import pytest

from live_daemon import running_daemon, scrape

pytestmark = pytest.mark.live

FILES = ("diskstats", "stat", "meminfo", "net/dev", "pressure/io", "self/mountinfo")


@pytest.fixture
def procfs(tmp_path):
    """A /proc whose mountstats is a pipe that nobody writes: open() blocks."""
    for path in FILES:
        file = tmp_path / "proc" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(Path("/proc").resolve() / path)
    os.mkfifo(tmp_path / "proc/self/mountstats")
    return tmp_path / "proc"


@pytest.fixture
def daemon(procfs, tmp_path):
    (tmp_path / "daemon").mkdir()
    arguments = ["--path.procfs", str(procfs), "--sampling.interval", "0.25"]
    with running_daemon("", tmp_path / "daemon", arguments) as running:
        yield running


def ticks(found):
    return found.value("ioplateau_tick_seconds_count")


def test_the_others_are_read_and_scrapes_answered(daemon):
    first = daemon.scrape()
    daemon.wait_until(lambda found: ticks(found) >= ticks(first) + 8, 20)
    found = daemon.scrape()

    assert found.value("ioplateau_source_up", source="mountstats") == 0
    assert found.value("ioplateau_source_up", source="diskstats") == 1
    assert found.values("ioplateau_disk_operations_total")


def test_the_log_tells_it_once(daemon):
    first = daemon.scrape()
    daemon.wait_until(lambda found: ticks(found) >= ticks(first) + 8, 20)
    lines = [line for line in daemon.log.read_text().splitlines() if "mountstats" in line]

    assert len(lines) == 1
    assert "no answer within" in lines[0]


def test_it_costs_one_thread(daemon):
    def threads():
        return len(os.listdir(f"/proc/{daemon.process.pid}/task"))

    first, before = daemon.scrape(), threads()
    daemon.wait_until(lambda found: ticks(found) >= ticks(first) + 8, 20)

    assert threads() <= before


def test_it_is_read_again_when_it_answers(daemon, procfs):
    pipe = procfs / "self/mountstats"
    # As long as someone writes nothing and holds it open, reading a pipe gives "not seekable".
    held = threading.Thread(target=lambda: os.open(pipe, os.O_WRONLY), daemon=True)
    held.start()
    held.join(10)
    pipe.unlink()
    pipe.write_text("device /dev/vda mounted on / with fstype ext4\n")
    daemon.wait_until(
        lambda found: found.values("ioplateau_source_up", source="mountstats") == [1.0], 20
    )

    assert scrape(daemon.url + "/metrics").values("ioplateau_source_up", source="mountstats")


def test_it_ends_on_sigterm_all_the_same(daemon):
    daemon.process.terminate()

    assert daemon.process.wait(timeout=10) == 0
