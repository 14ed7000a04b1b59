"""Control groups by the I/O they cause: both versions, nested, new and gone ones."""

import json
import shutil

import pytest

from ioplateau.measure.cgroups import MOST_GROUPS
from ioplateau.measure.grouptraffic import BusyGroup, GroupsLook, GroupTraffic, as_json, from_json
from ioplateau.measure.host import Host
from ioplateau.measure.parsing import FormatError


def v2(root, path, text, mounted="sys/fs/cgroup"):
    place = root / mounted / path
    place.mkdir(parents=True, exist_ok=True)
    (root / mounted / "cgroup.controllers").write_text("cpu io memory\n")
    (place / "io.stat").write_text(text)


def stat(read, reads, device="8:16"):
    return f"{device} rbytes={read} wbytes=0 rios={reads} wios=0 dbytes=0 dios=0\n"


def test_a_group_is_told_without_the_groups_below_it(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    for read, reads in ((1000, 1), (11_000, 11)):
        v2(tmp_path, "system.slice", stat(read + 500, reads + 5))
        v2(tmp_path, "system.slice/db.service", stat(read, reads))
        look = traffic.look(float(reads))

    assert look.busiest == (BusyGroup("/system.slice/db.service", "8:16", 10_000, 0, 10, 0),)
    assert dict(look.device_bytes) == {"8:16": 10_000}
    assert (look.seconds, look.seen) == (10.0, 2)


def test_a_device_that_counted_nothing_is_not_given_what_the_next_one_counted(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    for reads in (1, 3):
        v2(tmp_path, "db", "8:0 " + stat(reads * 4096, reads))
        look = traffic.look(float(reads))

    assert look.busiest == (BusyGroup("/db", "8:16", 8192, 0, 2, 0),)


def test_who_draws_on_a_slow_disk_is_kept_however_much_others_move_elsewhere(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    for count in (0, 1):
        v2(tmp_path, "slow", stat(count * 4096, count, "8:32"))
        for number in range(24):
            v2(tmp_path, f"fast{number}", stat(count * 1_000_000, count * (1 + number)))
        look = traffic.look(float(count))

    assert "/slow" in {each.group for each in look.busiest if each.device == "8:32"}
    assert len(look.busiest) < 24
    assert dict(look.device_requests) == {"8:16": sum(range(25)), "8:32": 1}


def test_v1_counts_each_group_alone(tmp_path):
    place = tmp_path / "sys/fs/cgroup/blkio/batch"
    place.mkdir(parents=True)
    traffic = GroupTraffic(Host(tmp_path))
    for count in (1, 3):
        (place / "blkio.throttle.io_service_bytes").write_text(f"8:16 Read {count * 4096}\n")
        (place / "blkio.throttle.io_serviced").write_text(f"8:16 Read {count}\n8:16 Write 0\n")
        look = traffic.look(float(count))

    assert look.busiest == (BusyGroup("/batch", "8:16", 8192, 0, 2, 0),)


def v1(root, path, count):
    place = root / "sys/fs/cgroup/blkio" / path
    place.mkdir(parents=True, exist_ok=True)
    (place / "blkio.throttle.io_service_bytes").write_text(f"8:16 Read {count * 4096}\n")
    (place / "blkio.throttle.io_serviced").write_text(f"8:16 Read {count}\n")


@pytest.mark.parametrize("version", [1, 2])
def test_discards_are_no_requests_which_no_limit_of_a_disk_counts(tmp_path, version):
    traffic = GroupTraffic(Host(tmp_path))
    for count in (1, 3):
        if version == 1:
            v1(tmp_path, "trim", count)
            served = tmp_path / "sys/fs/cgroup/blkio/trim/blkio.throttle.io_serviced"
            served.write_text(f"8:16 Read {count}\n8:16 Discard {count * 50}\n")
        else:
            v2(tmp_path, "trim", f"8:16 rbytes={count * 4096} rios={count} dios={count * 50}\n")
        look = traffic.look(float(count))

    assert look.busiest == (BusyGroup("/trim", "8:16", 8192, 0, 2, 0),)
    assert dict(look.device_requests) == {"8:16": 2}


def test_where_both_versions_are_mounted_the_one_that_counts_io_is_read(tmp_path):
    unified = tmp_path / "sys/fs/cgroup/unified/system.slice/db.service"
    unified.mkdir(parents=True)
    (unified / "cgroup.procs").write_text("7\n")
    (tmp_path / "sys/fs/cgroup/unified/cgroup.controllers").write_text("memory\n")
    traffic = GroupTraffic(Host(tmp_path))
    for count in (1, 3):
        v1(tmp_path, "system.slice/db.service", count)
        look = traffic.look(float(count))

    assert look.busiest == (BusyGroup("/system.slice/db.service", "8:16", 8192, 0, 2, 0),)


def test_where_both_versions_count_a_request_is_told_once(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    for count in (1, 3):
        v1(tmp_path, "a", count)
        v2(tmp_path, "a", stat(count * 4096, count), mounted="sys/fs/cgroup/unified")
        look = traffic.look(float(count))

    assert look.busiest == (BusyGroup("/a", "8:16", 8192, 0, 2, 0),)


def test_a_new_group_counts_from_zero_and_a_fallen_count_is_no_rate(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    v2(tmp_path, "old", stat(9000, 9))
    traffic.look(1.0)
    v2(tmp_path, "old", stat(10, 1))
    v2(tmp_path, "new", stat(4096, 1))

    assert [each.group for each in traffic.look(2.0).busiest] == ["/new"]


def test_what_a_removed_group_did_in_its_life_is_not_its_parents_traffic(tmp_path):
    """The parent keeps the counts."""
    traffic = GroupTraffic(Host(tmp_path))
    v2(tmp_path, "pods", stat(100_000_000, 1000))
    v2(tmp_path, "pods/one", stat(60_000_000, 600))
    v2(tmp_path, "pods/two", stat(30_000_000, 300))
    traffic.look(1.0)
    shutil.rmtree(tmp_path / "sys/fs/cgroup/pods/one")
    v2(tmp_path, "pods", stat(100_012_288, 1003))
    v2(tmp_path, "pods/two", stat(30_008_192, 302))
    look = traffic.look(2.0)

    assert look.busiest == (
        BusyGroup("/pods/two", "8:16", 8192, 0, 2, 0),
        BusyGroup("/pods", "8:16", 4096, 0, 1, 0, is_of_ended=True),
    )
    assert dict(look.device_bytes) == {"8:16": 12_288}


def test_a_group_that_could_not_be_read_for_once_is_counted_from_when_it_could(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    place = tmp_path / "sys/fs/cgroup/db/io.stat"
    v2(tmp_path, "db", stat(900_000_000, 9000))
    traffic.look(1.0)
    place.unlink()
    traffic.look(2.0)
    v2(tmp_path, "db", stat(900_004_096, 9001))
    back = traffic.look(3.0)
    v2(tmp_path, "db", stat(900_012_288, 9003))

    assert (back.busiest, back.seen) == ((), 1)
    assert traffic.look(4.0).busiest == (BusyGroup("/db", "8:16", 8192, 0, 2, 0),)


def test_a_group_that_was_left_out_before_is_no_new_one(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    for number in range(MOST_GROUPS):
        (tmp_path / f"sys/fs/cgroup/{number}").mkdir(parents=True)
    v2(tmp_path, "last", stat(900_000_000, 9000))
    traffic.look(1.0)
    (tmp_path / "sys/fs/cgroup/0").rmdir()
    (tmp_path / "sys/fs/cgroup/1").rmdir()
    look = traffic.look(2.0)

    assert (look.busiest, look.seen) == ((), 1)


def test_a_group_below_one_that_could_not_be_listed_is_no_new_one(tmp_path):
    class Refusing(Host):
        is_refused = True

        def folders(self, path):
            if self.is_refused and path.endswith("/pods"):
                raise OSError(24, "Too many open files")
            return super().folders(path)

    host = Refusing(tmp_path)
    traffic = GroupTraffic(host)
    v2(tmp_path, "pods/one", stat(900_000_000, 9000))
    traffic.look(1.0)
    host.is_refused = False
    look = traffic.look(2.0)

    assert (look.busiest, look.seen) == ((), 1)


def test_another_hierarchy_than_at_the_last_look_shows_no_growth(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    v1(tmp_path, "a", 1)
    traffic.look(1.0)
    v2(tmp_path, "a", stat(900_000_000, 9000), mounted="sys/fs/cgroup/unified")

    assert traffic.look(2.0).busiest == ()


def test_without_control_groups_nothing_was_seen(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    traffic.look(1.0)

    look = traffic.look(2.0)

    assert (look.busiest, look.seen) == ((), 0)


def test_after_forgetting_the_next_look_is_a_first_one(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    traffic.look(1.0)
    traffic.forget()

    assert traffic.look(2.0) is None


def test_a_look_survives_json(tmp_path):
    traffic = GroupTraffic(Host(tmp_path))
    traffic.look(1.0)
    v2(tmp_path, "a", stat(4096, 1))
    look = traffic.look(2.0)

    assert from_json(json.loads(json.dumps(as_json(look)))) == look
    with pytest.raises(ValueError, match="seconds"):
        from_json({**as_json(look), "seconds": 0})


@pytest.mark.parametrize(
    "odd", [{"seconds": 5e-324}, {"seen": "9" * 400}, {"device_bytes": {"8:0": 10**400}}]
)
def test_a_look_of_which_no_rate_can_be_told_is_refused(odd):
    look = as_json(GroupsLook(3.0, (), {"8:0": 4096}, 1, {"8:0": 1}))

    assert from_json(look).device_bytes == {"8:0": 4096}
    with pytest.raises(FormatError):
        from_json({**look, **odd})


@pytest.mark.parametrize(
    ("below", "after", "is_of_ended"),
    [
        (("one.service",), (), True),
        (("one.service", "two.service"), ("two.service",), True),
        ((), (), False),
        # systemd was not asked to count those: the slice's own counts are theirs.
        (("uncounted.service",), ("uncounted.service",), False),
    ],
)
def test_what_a_group_without_processes_did_is_of_groups_that_have_ended(
    tmp_path, below, after, is_of_ended
):
    traffic = GroupTraffic(Host(tmp_path))
    v2(tmp_path, "apps.slice", stat(1000, 1))
    for each in below:
        v2(tmp_path, f"apps.slice/{each}", stat(0, 0))
        if each == "uncounted.service":
            (tmp_path / "sys/fs/cgroup/apps.slice" / each / "io.stat").unlink()
    traffic.look(1.0)
    v2(tmp_path, "apps.slice", stat(9000, 9))
    for each in {*below} - {*after}:
        shutil.rmtree(tmp_path / "sys/fs/cgroup/apps.slice" / each)
    look = traffic.look(2.0)

    assert look.busiest == (BusyGroup("/apps.slice", "8:16", 8000, 0, 8, 0, is_of_ended),)
    assert from_json(json.loads(json.dumps(as_json(look)))) == look
