"""What a container has of its own, on the running kernel: namespaces are what a container is."""

import os
import subprocess
import sys

import pytest

from control_groups import writable_root
from ioplateau.measure import ownview
from ioplateau.measure.host import Host

SEEN = """
import sys
from ioplateau.measure import cgroups, ownview
from ioplateau.measure.host import Host

host = Host()
begin = ownview.groups_begin(host)
for process in sys.argv[1:]:
    seen = cgroups.path_of(host.read_once(f"/proc/{process}/cgroup"))
    print(seen, ownview.whole_group(begin, seen))
"""


@pytest.fixture
def groups():
    """Two groups of nobody, side by side, below the hierarchy that counts I/O, and its root."""
    root = writable_root()
    above = root / f"ioplateau-test-{os.getpid()}"
    found = above / "pod-a", above / "pod-b"
    for each in found:
        each.mkdir(parents=True)
    yield root, *found
    for each in (*found, above):
        each.rmdir()


@pytest.mark.live
def test_in_a_control_group_namespace_groups_are_called_as_on_the_machine(groups):
    root, ours, theirs = groups
    enter = f"echo $$ > {ours}/cgroup.procs; exec unshare --cgroup "
    with subprocess.Popen(["sleep", "60"]) as other:
        (theirs / "cgroup.procs").write_text(str(other.pid))
        done = subprocess.run(
            ["sh", "-ec", enter + '"$@"', "sh", sys.executable, "-c", SEEN, str(other.pid), "self"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        other.kill()

    place = "/" + str(ours.parent.relative_to(root))
    assert done.stdout.splitlines() == [
        f"/../pod-b {place}/pod-b",
        f"/ {place}/pod-a",
    ], done.stderr


def test_on_the_machine_itself_groups_are_called_as_they_are():
    assert ownview.groups_begin(Host()) == ""
    assert ownview.whole_group("", "/system.slice/db.service") == "/system.slice/db.service"
    assert ownview.whole_group("", "") == ""


def test_a_group_outside_of_ours_is_named_from_its_end_where_ours_is_not_found():
    assert ownview.whole_group("", "/../../system.slice/db.service") == "/system.slice/db.service"


def test_files_of_a_recording_are_no_other_network(tmp_path):
    (tmp_path / "1/net").mkdir(parents=True)
    (tmp_path / "1/net/dev").write_text("")

    assert not ownview.is_other_network(Host(procfs=tmp_path))
