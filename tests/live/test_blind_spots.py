"""What a machine may not show us: page, screens, doctor, limits, readiness and log say so, with the
path that was tried. The daemon and the commands are the real ones.
"""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from html import unescape

import pytest

from ioplateau.engine import container
from live_daemon import IOPLATEAU, running_daemon
from machine_tree import MachineTree

pytestmark = pytest.mark.live


def ask(daemon, path):
    """Status and text."""
    try:
        with urllib.request.urlopen(daemon.url + path, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def run(command, flags):
    done = subprocess.run(
        [IOPLATEAU, *command, *flags],
        env={**os.environ, "COLUMNS": "400"},  # no path is broken into two lines
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def tree(tmp_path):
    made = MachineTree(tmp_path)
    made.scsi_disk("sdc", lun=0, gib=64)
    return made


def mistyped(tree, flags):
    """Mistyped paths: nothing there at all."""
    return [
        *("--path.procfs", "/nonexistent/proc", "--path.sysfs", "/nonexistent/sys"),
    ], {
        "the disks": "/nonexistent/proc/diskstats: no such file or directory",
        "the NFS mounts": "/nonexistent/proc/self/mountstats: no such file or directory",
        "the network interfaces": "/nonexistent/proc/net/dev: no such file or directory",
        "what the disks are": "/nonexistent/sys/block: no such file or directory",
        "the mount table": "/nonexistent/proc/self/mountinfo: no such file or directory",
    }


def rootfs(tree, flags):
    """A mistyped --path.rootfs, as in a container where the host is mounted elsewhere."""
    return ["--path.rootfs", "/hots"], {
        "the disks": "/hots/proc/diskstats: no such file or directory",
        "what the disks are": "/hots/sys/block: no such file or directory",
    }


def odd(tree, flags):
    """One missing, one that cannot be read, one that hangs."""
    (tree.procfs / "diskstats").unlink()
    (tree.procfs / "net/dev").unlink()
    (tree.procfs / "net/dev").mkdir()
    (tree.procfs / "self/mountstats").unlink()
    os.mkfifo(tree.procfs / "self/mountstats")
    return flags, {
        "the disks": f"{tree.procfs}/diskstats: no such file or directory",
        "the network interfaces": f"{tree.procfs}/net/dev: is a directory",
        "the NFS mounts": f"{tree.procfs}/self/mountstats: no answer within",
    }


@pytest.mark.parametrize("blinded", [mistyped, rootfs, odd])
def test_everything_that_tells_something_tells_what_it_cannot_see(blinded, tree, tmp_path):
    flags, unseen = blinded(tree, tree.flags)
    flags = [*flags, "--no-cloud"]
    sentences = [f"cannot see {what}: {why}" for what, why in unseen.items()]
    with running_daemon("", tmp_path, flags) as daemon:
        # The first tick may have been before all that hangs was known to.
        daemon.wait_until(lambda found: found.value("ioplateau_ticks_total") >= 3, 60)
        status, ready = ask(daemon, "/-/ready")
        _, page = ask(daemon, "/")
        state = json.loads(ask(daemon, "/api/v1/state")[1])
        log = daemon.log.read_text()

    assert status == 503
    assert "Nothing throttled" not in page
    assert state["headline"].startswith("Cannot see the disks: ")
    told = {failed["sentence"] for failed in state["failed_sources"]}
    for sentence in sentences:
        assert sentence in ready
        assert sentence in unescape(page)
        assert any(one.startswith(sentence) for one in told)
        assert sentence in log

    code, screen = run(["top", "--batch", "--count", "1"], flags)
    assert code == 2
    assert sentences[0] in screen.replace("note: ", "")
    code, limits = run(["limits"], flags)
    assert code == 2
    code, doctor = run(["doctor"], flags)
    assert code == 1
    for sentence in sentences:
        assert sentence in limits
        assert sentence in doctor
    assert "MISSING disks: " in doctor
    for subject in ("disks", "block devices", "NFS", "limits"):
        assert f"ok {subject}:" not in doctor


def test_a_recording_of_nothing_is_an_error_and_replaces_nothing(tmp_path):
    file = tmp_path / "before.jsonl.gz"
    file.write_bytes(b"precious")
    code, told = run(["record", str(file), "--seconds", "1"], ["--path.procfs", "/nonexistent"])

    assert code == 2
    assert "nothing to record: cannot see the disks: /nonexistent/diskstats: no such file" in told
    assert file.read_bytes() == b"precious"


def test_in_a_container_the_hosts_mounts_are_missed():
    command = ["unshare", "--pid", "--mount", "--fork", "--mount-proc", str(IOPLATEAU)]
    done = subprocess.run(
        [*command, "doctor"], capture_output=True, text=True, timeout=60, check=False
    )

    assert "only this container's own mounts are seen" in done.stdout
    assert "--path.procfs" in done.stdout
    assert "ok       NFS:" not in done.stdout


# Process 1 is the host's, as with hostPID: true or --pid=host, and the root is another.
OTHER_ROOT = """
mount -t tmpfs none /mnt && cd /mnt && mkdir old
for each in /*; do
    if [ -L $each ]; then cp -a $each .; elif [ -d $each ] && [ $each != /mnt ]; then
        mkdir .$each && mount --rbind $each .$each
    fi
done
pivot_root . old && exec "$@"
"""
HOSTS_PROC = """
mount -t tmpfs none /mnt && mkdir /mnt/proc && mount --rbind /proc /mnt/proc && exec "$@"
"""


@pytest.mark.parametrize(
    ("namespaces", "made", "flags", "words"),
    [
        (["--mount"], OTHER_ROOT, (), container.MOUNTS),
        (["--mount", "--net"], HOSTS_PROC, ("--path.procfs=/mnt/proc",), container.NETWORK),
        (["--mount"], HOSTS_PROC, ("--path.procfs=/mnt/proc",), ""),
    ],
)
def test_what_a_container_lacks_is_said_by_doctor(namespaces, made, flags, words):
    done = subprocess.run(
        ["unshare", *namespaces, "sh", "-ec", made, "sh", str(IOPLATEAU), "doctor", *flags],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = [line.partition(": ")[2] for line in done.stdout.splitlines() if "container" in line]

    assert "ok       disks" in done.stdout, done.stderr
    assert words in said if words else not said
    assert ("ok       NFS:" in done.stdout) is (words != container.MOUNTS)


LINKS = """
from ioplateau.engine import EngineSettings
from ioplateau.run.machine import machine
from ioplateau.run.settings import PathSettings, ServeSettings

seen = machine(ServeSettings(EngineSettings(), paths=PathSettings(procfs="/mnt/proc")))
print(seen.tick()[1].blobs.get("interfaces"))
"""


def test_a_link_of_a_containers_own_network_is_not_taken_for_the_hosts_of_that_name():
    inside = [sys.executable, "-c", LINKS]
    done = subprocess.run(
        ["unshare", "--mount", "--net", "sh", "-ec", HOSTS_PROC, "sh", *inside],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout == "{}\n", done.stderr
