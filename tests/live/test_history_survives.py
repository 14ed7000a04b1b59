"""The history of the real daemon: killed while it is written, and on a file system that is frozen.

The disk that is at its limit is made up, but for one test; the file system, its freezing and the
signal are real.
"""

import contextlib
import re
import subprocess

import pytest

from held_disk import HeldDisk
from live_daemon import running_daemon
from throttled_disk import ThrottledDisk
from waiting import wait_until

pytestmark = pytest.mark.live

LONG = 60.0  # seconds, for what takes three to ten where nothing else runs


@pytest.fixture
def disk(tmp_path):
    with HeldDisk(tmp_path) as held:
        yield held


def until(holds, told):
    """The first true answer."""

    def look():
        with contextlib.suppress(OSError):
            return holds()
        return None

    found = wait_until(look, LONG)
    assert found, f"{told} did not come within {LONG:g} s"
    return found


def running(daemon):
    return [one for one in daemon.ask("episodes")["episodes"] if one["ended"] is None]


def points(daemon, name="sdc"):
    found = daemon.ask(f"series?kind=disk&name={name}&dimension=iops")
    return dict(zip(found["at"], found["rate"], strict=True))


def daemon_of(disk, tmp_path, state):
    return running_daemon(disk.config, tmp_path, [*disk.flags, "--state.directory", str(state)])


def test_kill_9_while_an_episode_is_written_loses_ten_seconds_at_most(disk, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    lines = state / "history-1s.log"
    with daemon_of(disk, tmp_path, state) as daemon:
        until(lambda: running(daemon), "the episode")
        # A line with the episode in it, and then some seconds that are in none.
        until(lambda: lines.exists() and '"open":[{' in lines.read_text(), "its line")
        until(lambda: max(points(daemon)) % 10 >= 4, "the next seconds")
        before, (episode,) = points(daemon), running(daemon)
        daemon.process.kill()
        daemon.process.wait()
    with daemon_of(disk, tmp_path, state) as again:
        after = points(again)
        (goes_on,) = until(lambda: running(again), "the episode")
        events = [event["what"] for event in again.ask("episodes")["events"]]

    lost = [at for at in before if at not in after]
    assert not lost or max(before) - min(lost) <= 10
    assert goes_on["began"] == episode["began"]
    assert goes_on["held_seconds"] >= episode["held_seconds"] - 10
    runs = [what for what in events if what in {"started", "stopped"}]
    assert runs[-2:] == ["started", "started"]  # it was never stopped


@pytest.fixture
def frozen_disk(tmp_path):
    """A directory on a file system of its own, and a function that freezes it or lets it go."""
    image, place = tmp_path / "image", tmp_path / "mounted"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(32 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)

    def freeze(*, now):
        subprocess.run(["fsfreeze", "--freeze" if now else "--unfreeze", place], check=True)

    try:
        yield place, freeze
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", place], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["umount", place], check=True)


def test_a_frozen_file_system_keeps_nobody_waiting_and_loses_nothing(disk, tmp_path, frozen_disk):
    state, freeze = frozen_disk
    with daemon_of(disk, tmp_path, state) as daemon:

        def ticks():
            return daemon.scrape().value("ioplateau_ticks_total")

        until(lambda: running(daemon), "the episode")
        until((state / "history-1s.log").exists, "the first lines")
        freeze(now=True)
        try:
            begun = ticks()
            # Long enough for another write, which hangs.
            until(lambda: ticks() >= begun + 12, "12 ticks")
            disk.hold(held=False)
            until(lambda: not running(daemon), "the end of the episode")
            (told,) = daemon.ask("episodes")["episodes"]
            during = points(daemon)
        finally:
            freeze(now=False)
        until(lambda: '"episode":{' in (state / "episodes.log").read_text(), "the line of it")
    with daemon_of(disk, tmp_path, state) as again:
        (kept,) = again.ask("episodes")["episodes"]
        after = points(again)

    assert kept["began"] == told["began"]
    assert kept["ended"] == told["ended"]
    assert [at for at in during if at not in after] == []


def going_on(lines):
    """What the last ten seconds' line tells of episodes that go on."""
    return lines.read_text().rpartition('"open":[')[2] if lines.exists() else ""


@pytest.mark.alone
def test_a_disk_that_is_really_throttled_is_one_episode_everywhere_also_after_kill_9(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    with ThrottledDisk(read_iops=500) as disk:
        # "Last:" is about whatever ended last, so no other disk of this machine is to be there.
        only = f'[device]\nexclude = ["*"]\ninclude = ["{disk.name}"]\n'
        limits = f'{only}[[limit]]\ndisk = "{disk.name}"\niops = 500\n'
        flags = ["--no-cloud", "--state.directory", str(state)]

        def ours(daemon):
            found = daemon.ask("episodes")["episodes"]
            return [each for each in found if each["name"] == disk.name]

        def unended(daemon):
            return [each for each in ours(daemon) if each["ended"] is None]

        load = disk.load(depth=16, seconds=240)  # ends with the disk
        with running_daemon(limits, tmp_path, flags) as daemon:
            until(lambda: ours(daemon), "the episode")
            until(lambda: disk.name in going_on(state / "history-1s.log"), "its line in the store")
            # Its heading.
            throttled = re.compile(rf">{disk.name}</span>(?:(?!</h3>).)*>throttled<", re.DOTALL)
            until(lambda: throttled.search(daemon.page()), "the page that tells of it")
            (begun,) = until(lambda: unended(daemon), "the episode that goes on")
            log = daemon.log.read_text()
            daemon.process.kill()
            daemon.process.wait()
        with running_daemon(limits, tmp_path, flags) as again:
            (goes_on,) = until(lambda: unended(again), "the same episode")
            until(lambda: unended(again)[0]["held_seconds"] > 2, "more than two ticks of it")
            load.stop()
            until(lambda: not unended(again), "its end")
            (over,) = (each for each in ours(again) if each["began"] == goes_on["began"])
            until(lambda: "episode ended" in again.log.read_text(), "the line of its end")
            until(lambda: f"Last: {disk.name}" in again.page(), "the page that tells of it")
            until(
                lambda: f'"name":"{disk.name}"' in (state / "episodes.log").read_text(),
                "the episode in the store",
            )

    assert (begun["verdict"], begun["limit"], begun["origin"]) == ("throttled", 500, "configured")
    assert "held at" in begun["sentence"]
    assert re.search(rf"episode began.*{disk.name}.*500 IOPS", log)
    assert goes_on["began"] == begun["began"]
    assert over["held_seconds"] > 2
