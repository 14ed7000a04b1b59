"""The real daemon where a disk or a pipe does not move: sampling, serving and stopping go on.

Needs root (mounts, fsfreeze: Debian's util-linux) and e2fsprogs.
"""

import fcntl
import os
import signal
import subprocess
import urllib.request
from contextlib import ExitStack, contextmanager

import pytest

from live_daemon import IOPLATEAU, free_port, running_daemon, scrape
from silent_file import silent
from waiting import wait_until

pytestmark = pytest.mark.live

MIB = 1 << 20
TICKS = "ioplateau_ticks_total"
LONG = 60.0


@pytest.fixture
def freezable(tmp_path):
    """A directory on an ext4 of its own, and a function that freezes and thaws it."""
    image, place = tmp_path / "image", tmp_path / "state"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(16 * MIB)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)

    def freeze(*, on):
        subprocess.run(["fsfreeze", "--freeze" if on else "--unfreeze", place], check=True)

    with ExitStack() as after:
        after.callback(subprocess.run, ["umount", place], check=True)
        # Whatever happened, nobody may stay behind in it.
        after.callback(subprocess.run, ["fsfreeze", "--unfreeze", place], stderr=subprocess.DEVNULL)
        yield place, freeze


def test_a_frozen_state_directory_costs_no_tick_and_is_said(freezable, tmp_path):
    place, freeze = freezable
    freeze(on=True)
    arguments = ["--state.directory", str(place), "--no-cloud"]
    with running_daemon("", tmp_path, arguments) as daemon:
        try:
            found = daemon.wait_until(
                lambda now: now.value(TICKS) >= 3 and "does not answer" in daemon.log.read_text(),
                LONG,
            )
            health = urllib.request.urlopen(f"{daemon.url}/-/healthy", timeout=20)
        finally:
            freeze(on=False)
        assert wait_until(lambda: "answers again" in daemon.log.read_text(), LONG), (
            "thawed, and not said"
        )

    assert health.status == 200
    assert found.value("ioplateau_ticks_skipped_total") < found.value(TICKS)
    assert daemon.process.returncode == 0
    assert (place / "state.json").exists()


def test_a_frozen_state_directory_does_not_keep_it_from_stopping(freezable, tmp_path):
    place, freeze = freezable
    arguments = ["--state.directory", str(place), "--no-cloud"]
    with running_daemon("", tmp_path, arguments) as daemon:
        freeze(on=True)
        try:
            daemon.process.terminate()
            assert wait_until(lambda: "msg=stopped" in daemon.log.read_text(), LONG), (
                "it does not stop"
            )
        finally:
            freeze(on=False)

    assert "stopped without writing" in daemon.log.read_text()
    assert daemon.process.returncode == 0


@contextmanager
def serving(standard_error="", **options):
    """The daemon, with its standard error as the shell's words say."""
    address = f"127.0.0.1:{free_port()}"
    command = f"exec {IOPLATEAU} serve --no-cloud --web.listen-address={address} {standard_error}"
    process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, **options)
    try:
        yield process, f"http://{address}/metrics"
    finally:
        process.kill()
        process.wait()


def ticks(url):
    try:
        return scrape(url, 20).value(TICKS)
    except OSError:
        return 0.0


def test_a_standard_error_that_nobody_reads_stops_nothing():
    reads, writes = os.pipe()
    with open(reads, "rb"), open(writes, "wb") as full:
        fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
        full.write(b"x" * 4096)
        full.flush()
        with serving(stderr=full) as (process, url):
            assert wait_until(lambda: ticks(url) >= 2, LONG), "no ticks"
            before = ticks(url)
            for _ in range(3):  # each is a line in the log
                process.send_signal(signal.SIGHUP)
            assert wait_until(lambda: ticks(url) >= before + 2, LONG), "no more ticks"
            process.terminate()

            assert process.wait(LONG) == 0


def test_without_standard_error_it_runs():
    with serving("2>&-") as (process, url):
        assert wait_until(lambda: ticks(url) >= 2, LONG), "no ticks"
        standard_error = os.readlink(f"/proc/{process.pid}/fd/2")
        process.terminate()

        assert process.wait(LONG) == 0
    assert standard_error == "/dev/null"


def test_a_configuration_that_does_not_answer_costs_no_tick_and_is_taken_when_it_does(tmp_path):
    limit = '[[limit]]\ndisk = "*"\niops = {}\n'
    with running_daemon(limit.format(1e9), tmp_path, ["--no-cloud"]) as daemon:
        with silent(tmp_path / "ioplateau.toml", limit.format(777)):
            begun = daemon.scrape().value(TICKS)
            daemon.process.send_signal(signal.SIGHUP)
            told = daemon.wait_until(
                lambda now: (
                    now.value(TICKS) >= begun + 6
                    and "configuration does not answer" in daemon.log.read_text()
                ),
                LONG,
            )
        taken = daemon.wait_until(
            lambda now: 777 in now.values("ioplateau_budget_limit_operations_per_second"), LONG
        )

    assert 1e9 in told.values("ioplateau_budget_limit_operations_per_second")
    assert taken.value(TICKS) > told.value(TICKS)
    assert daemon.log.read_text().count("configuration reloaded") == 1
    assert daemon.process.returncode == 0


def test_a_configuration_that_does_not_answer_does_not_keep_it_from_stopping(tmp_path):
    with (
        running_daemon("", tmp_path, ["--no-cloud"]) as daemon,
        silent(tmp_path / "ioplateau.toml", ""),
    ):
        daemon.process.send_signal(signal.SIGHUP)
        begun = daemon.scrape().value(TICKS)
        daemon.wait_until(lambda now: now.value(TICKS) >= begun + 3, LONG)
        daemon.process.terminate()

        assert daemon.process.wait(LONG) == 0
