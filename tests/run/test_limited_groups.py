"""Control groups with a limit, as a sampler reads them: looked up seldom, and not by who may not wait."""

import pytest

from hand_clock import HandClock
from ioplateau.measure.host import Host
from ioplateau.run.sampler import Sampler
from ioplateau.run.sources import GROUPS_SECONDS, LimitedGroups


@pytest.fixture
def clock():
    return HandClock()


def made(root, name, limit="8:16 riops=500\n"):
    group = root / "sys/fs/cgroup" / name
    group.mkdir(parents=True)
    (root / "sys/fs/cgroup/cgroup.controllers").write_text("io\n")
    (group / "io.max").write_text(limit)


def test_where_no_hierarchy_is_mounted_the_reason_is_told_each_time_and_looked_up_seldom(
    tmp_path, clock
):
    groups = LimitedGroups(Host(tmp_path), clock)
    assert not groups.is_prompt()
    for _ in range(2):
        with pytest.raises(FileNotFoundError) as refused:
            groups.read()
        assert refused.value.filename == str(tmp_path / "sys/fs/cgroup")
        assert groups.is_prompt()

    made(tmp_path, "db")
    clock.now += GROUPS_SECONDS - 1
    with pytest.raises(FileNotFoundError):
        groups.read()
    clock.now += 1
    assert not groups.is_prompt()
    assert [each["path"] for each in groups.read()] == ["/db"]


def test_a_hierarchy_that_is_gone_is_told(tmp_path, clock):
    made(tmp_path, "db")
    groups = LimitedGroups(Host(tmp_path), clock)
    assert [each["path"] for each in groups.read()] == ["/db"]

    (tmp_path / "sys/fs/cgroup").rename(tmp_path / "elsewhere")
    clock.now += GROUPS_SECONDS
    with pytest.raises(FileNotFoundError):
        groups.read()


def test_the_files_of_groups_with_a_limit_are_opened_by_who_may_wait(tmp_path, clock):
    made(tmp_path, "db")
    groups = LimitedGroups(Host(tmp_path), clock)
    groups.read()
    assert groups.is_prompt()

    made(tmp_path, "batch")
    clock.now += GROUPS_SECONDS
    assert not groups.is_prompt()
    assert [each["path"] for each in groups.read()] == ["/batch", "/db"]
    assert groups.is_prompt()


def test_the_files_of_a_group_without_a_limit_are_closed(tmp_path, clock):
    made(tmp_path, "db")
    host = Host(tmp_path)
    groups = LimitedGroups(host, clock)
    groups.read()
    assert host.is_prompt("/sys/fs/cgroup/db/io.max")

    (tmp_path / "sys/fs/cgroup/db/io.max").write_text("")
    clock.now += GROUPS_SECONDS
    assert groups.read() == []
    assert not host.is_prompt("/sys/fs/cgroup/db/io.max")


def test_where_no_group_has_a_limit_nothing_is_read_until_the_next_look(tmp_path, clock):
    made(tmp_path, "db", limit="")
    groups = LimitedGroups(Host(tmp_path), clock)

    assert groups.read() == []
    assert groups.is_prompt()
    clock.now += GROUPS_SECONDS
    assert not groups.is_prompt()


@pytest.mark.parametrize(("took", "pause"), [(0.0, 5.0), (0.001, 10.0), (0.1, 30.0)])
def test_the_less_a_look_takes_the_sooner_a_new_limit_is_seen(tmp_path, clock, took, pause):
    class Slow(Host):
        def folders(self, path):
            clock.now += took / 3  # the root, the one group, and the root of v1
            return super().folders(path)

    made(tmp_path, "db", limit="")
    groups = LimitedGroups(Slow(tmp_path), clock)
    began = clock.now
    groups.read()
    (tmp_path / "sys/fs/cgroup/db/io.max").write_text("8:16 riops=500\n")

    clock.now = began + pause - 0.5
    assert groups.read() == []
    clock.now = began + pause + 0.1
    assert [each["path"] for each in groups.read()] == ["/db"]


def test_a_sampler_reads_them_as_the_source_they_are(tmp_path, clock):
    made(tmp_path, "db")
    host = Host(tmp_path)
    groups = LimitedGroups(host, clock)
    sampler = Sampler(host, clock, (groups.source(),))

    snapshot = sampler.take()
    (tmp_path / "sys/fs/cgroup").rename(tmp_path / "elsewhere")
    clock.now += GROUPS_SECONDS

    assert [each["path"] for each in snapshot.blobs["cgroups"]] == ["/db"]
    assert sampler.take().failed["cgroups"].startswith(f"{tmp_path}/sys/fs/cgroup: ")


def test_a_hierarchy_that_hangs_is_told_by_where_it_lies_and_no_tick_waits_for_it(tmp_path, clock):
    made(tmp_path, "db")
    source = LimitedGroups(Host(tmp_path), clock).source()
    assert source.place == str(tmp_path / "sys/fs/cgroup")
    assert not source.is_prompt()

    source.read()

    assert source.is_prompt()
