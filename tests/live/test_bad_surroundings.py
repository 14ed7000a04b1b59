"""What a machine may lack, and the real daemon on it: one sentence, and on it goes where it can.

Needs root (mounts), unshare and strace. tests/live/test_tls.py has what is wrong with web-config.yml,
tests/live/test_serve.py a port in use and a wrong configuration.
"""

import json
import os
import re
import subprocess
import time
import urllib.request
from contextlib import ExitStack, suppress

import pytest

from live_daemon import IOPLATEAU, free_port, running_daemon

pytestmark = pytest.mark.live

KIB = 1024


@pytest.fixture
def small_disk(tmp_path):
    """A function: options of mount -> a file system of 64 KiB."""
    with ExitStack() as mounts:

        def mounted(options="rw"):
            place = tmp_path / "disk"
            place.mkdir()
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size=64k,{options}", "tmpfs", place], check=True
            )
            mounts.callback(subprocess.run, ["umount", place], check=True)
            return place

        yield mounted


def log_with_state(directory, tmp_path) -> list[str]:
    """The log of a daemon with this state directory, which was scraped and ended well."""
    arguments = ["--state.directory", str(directory), "--no-cloud"]
    with running_daemon("", tmp_path, arguments) as daemon:
        assert daemon.scrape().value("ioplateau_ticks_total") > 0
    assert daemon.process.returncode == 0
    return daemon.log.read_text().splitlines()


def test_a_state_directory_that_cannot_be_written_is_said_at_the_start_and_it_goes_on(
    small_disk, tmp_path
):
    directory = small_disk("ro")
    said = [line for line in log_with_state(directory, tmp_path) if 'msg="state' in line]

    assert len(said) == 1
    assert "state cannot be kept, a restart will forget it" in said[0]
    assert f'file={directory}/state.json why="Read-only file system"' in said[0]


def test_a_state_directory_that_is_not_there_is_said_at_the_start(tmp_path):
    said = "\n".join(log_with_state(tmp_path / "none", tmp_path))

    assert said.count("state cannot be kept") == 1
    assert f"there is no directory {tmp_path}/none" in said


def test_on_a_full_disk_state_is_not_kept_and_what_was_kept_stays(small_disk, tmp_path):
    directory = small_disk()
    log_with_state(directory, tmp_path)
    kept = (directory / "state.json").read_bytes()
    fill(directory)
    said = "\n".join(log_with_state(directory, tmp_path))

    assert "state restored" in said
    assert said.count("state cannot be kept") == 1
    assert 'why="No space left on device"' in said
    assert (directory / "state.json").read_bytes() == kept
    assert not list(directory.glob(".*.new"))


def fill(directory) -> None:
    with suppress(OSError), (directory / "fill").open("wb", 0) as file:
        while True:
            file.write(bytes(4 * KIB))
    assert os.statvfs(directory).f_bavail == 0


def test_record_onto_a_disk_that_fills_up_ends_with_a_sentence_and_keeps_what_it_has(small_disk):
    file = small_disk() / "slow.jsonl.gz"
    recorded = subprocess.run(
        [IOPLATEAU, "record", file, "--no-cloud", "--sampling.interval", "0.1"],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    replayed = subprocess.run([IOPLATEAU, "replay", file], capture_output=True, text=True)
    sentence = re.fullmatch(
        rf"ioplateau: {file}: No space left on device, after (\d+) snapshots\n", recorded.stderr
    )

    assert recorded.returncode == 2
    assert sentence, recorded.stderr
    kept = int(re.search(r"^(\d+) snapshots over", replayed.stdout, re.MULTILINE)[1])
    # The one whose write failed may be there in full: the disk can refuse just the last bytes.
    assert kept - int(sentence[1]) in (0, 1)


def test_an_older_version_sets_a_newer_state_file_aside_and_says_so_once(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    newer = {"format": 2, "ioplateau": "9.1.0", "wall": 1.0, "memory": {"judge": "unheard of"}}
    (state / "state.json").write_text(json.dumps(newer))
    said = [line for line in log_with_state(state, tmp_path) if "state" in line]

    assert len(said) == 1
    assert "level=warning" in said[0]
    assert f"file={state}/state.newer" in said[0]
    assert "ioplateau 9.1.0 wrote it in format 2, this version reads up to 1" in said[0]
    assert json.loads((state / "state.newer").read_text()) == newer
    assert json.loads((state / "state.json").read_text())["format"] == 1  # its own, anew


def test_a_newer_version_reads_the_state_file_of_an_older_one_and_counts_on(tmp_path):
    metric, limit = (
        "ioplateau_budget_throttled_seconds_total",
        '[[limit]]\ndisk = "*"\niops = 1e9\n',
    )
    with running_daemon(limit, tmp_path, ["--no-cloud"]) as daemon:
        found = daemon.wait_until(lambda now: bool(now.labels(metric, kind="disk")), 40)
    disk = found.labels(metric, kind="disk")[0]["name"]
    # What the first version kept: it knew nothing of learned ceilings, nor of flows.
    meter = ["disk", disk, "iops", "total", 1234.5, 3]
    memory = {"judge": {}, "accounts": {"meters": [meter]}}
    older = {"format": 1, "ioplateau": "0.0.1", "wall": time.time(), "memory": memory}
    (tmp_path / "state.json").write_text(json.dumps(older))
    with running_daemon(
        limit, tmp_path, ["--no-cloud", "--state.directory", str(tmp_path)]
    ) as daemon:
        daemon.wait_until(
            lambda now: 1234.5 in now.values(metric, kind="disk", name=disk, dimension="iops"), 40
        )
        said = daemon.log.read_text()

    assert "state restored" in said
    assert "set aside" not in said
    assert json.loads((tmp_path / "state.json").read_text())["ioplateau"] != "0.0.1"


def without_ipv6(address: str) -> list[str]:
    """The daemon in a network of its own, without a single IPv6 address."""
    switched_off = "ip link set lo up; sysctl -q -w net.ipv6.conf.all.disable_ipv6=1"
    serve = f"{IOPLATEAU} serve --no-cloud --web.listen-address={address}"
    return ["unshare", "--net", "sh", "-c", f"{switched_off}; exec {serve}"]


@pytest.mark.parametrize("address", ["", "localhost"])
def test_where_ipv6_is_switched_off_it_listens_to_ipv4(address):
    with subprocess.Popen(
        without_ipv6(f"{address}:10049"), stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            said = until_listening(process)
        finally:
            process.terminate()

    assert "msg=listening" in said


def test_on_a_kernel_without_ipv6_it_listens_to_ipv4():
    """ipv6.disable=1: the kernel knows no such family."""
    port = free_port()
    with subprocess.Popen(
        ["strace", "-D", "-qq", "-e", "trace=socket",
         "-e", "inject=socket:error=EAFNOSUPPORT:when=1", "-o", "/dev/null",
         IOPLATEAU, "serve", "--no-cloud", f"--web.listen-address=:{port}"],
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            said = until_listening(process)
            answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/-/healthy", timeout=20)
        finally:
            process.terminate()

    assert f"addresses=0.0.0.0:{port}" in said
    assert answer.status == 200


def test_an_ipv6_address_where_ipv6_is_switched_off_is_a_sentence_and_exit_code_2():
    done = subprocess.run(without_ipv6("[::1]:10049"), capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert done.stderr == (
        "ioplateau: cannot listen on [::1]:10049: this machine has no such address\n"
    )


def until_listening(process) -> str:
    """What it says until it listens, or ends."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if "msg=listening" in line:
            break
    return said
