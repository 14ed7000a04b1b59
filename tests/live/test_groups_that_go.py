"""Files of control groups that stay open, on the running kernel: a group goes, another comes."""

import os

import pytest

from control_groups import writable_root
from ioplateau.measure import cgroups
from ioplateau.measure.host import Host

pytestmark = pytest.mark.live


@pytest.fixture
def group():
    """A path of nobody's group, below a hierarchy that counts I/O; root may make it."""
    path = writable_root() / f"ioplateau-test-{os.getpid()}"
    yield path
    if path.exists():
        path.rmdir()


@pytest.fixture
def host():
    made = Host()
    yield made
    made.close()


def test_a_group_that_goes_is_left_out_and_its_successor_is_read(group, host):
    found = cgroups.Limited((str(group),))
    group.mkdir()
    before = cgroups.read(host, found)
    assert [each["path"] for each in before] == [f"/{group.name}"]

    group.rmdir()
    group.mkdir()  # between two reads
    assert cgroups.read(host, found) == before
    group.rmdir()
    assert cgroups.read(host, found) == []
    group.mkdir()
    assert cgroups.read(host, found) == before
