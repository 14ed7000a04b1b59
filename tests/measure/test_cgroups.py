"""Control groups with limits: found, read and understood, v1 and v2."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.measure.cgroups import (
    MOST_GROUPS,
    MOST_LIMITED,
    Limited,
    keyed,
    limited,
    parse,
    read,
    require,
)
from ioplateau.measure.host import Host
from ioplateau.measure.notice import notices


@pytest.fixture
def v2(tmp_path):
    group = tmp_path / "sys/fs/cgroup/system.slice/db.service"
    group.mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").write_text("cpu io memory\n")
    (group.parent / "io.max").write_text("")
    (group / "io.max").write_text("254:0 rbps=max wbps=1000000 riops=500 wiops=max\n")
    (group / "io.stat").write_text("254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n")
    (group / "io.pressure").write_text(
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\nfull total=1\n"
    )
    return Host(tmp_path)


@pytest.fixture
def v1(tmp_path):
    group = tmp_path / "sys/fs/cgroup/blkio/batch"
    group.mkdir(parents=True)
    (group / "blkio.throttle.read_iops_device").write_text("254:0 500\n")
    (group / "blkio.throttle.write_iops_device").write_text("")
    (group / "blkio.throttle.io_serviced").write_text("254:0 Read 12\n254:0 Write 3\nTotal 15\n")
    (group / "blkio.throttle.io_service_bytes").write_text("254:0 Read 49152\nTotal 49152\n")
    return Host(tmp_path)


def test_a_v2_group_with_a_limit_is_found_and_read(v2):
    groups, rejects = parse(read(v2, limited(v2)))

    assert rejects == ()
    assert len(groups) == 1
    assert groups[0].path == "/system.slice/db.service"
    assert groups[0].device == (254, 0)
    assert (groups[0].read_operations_limit, groups[0].write_bytes_limit) == (500, 1_000_000)
    assert (groups[0].write_operations_limit, groups[0].read_bytes_limit) == (None, None)
    assert (groups[0].read_operations, groups[0].write_bytes) == (1, 8192)
    assert groups[0].pressure_microseconds == 77


def test_a_v1_group_with_a_limit_is_found_and_read(v1):
    groups, _ = parse(read(v1, limited(v1)))

    assert [(g.path, g.read_operations_limit, g.read_operations) for g in groups] == [
        ("/batch", 500, 12)
    ]
    assert groups[0].pressure_microseconds is None


def test_a_discard_is_a_write_operation_as_the_limit_has_it(v1, v2, tmp_path):
    unified, batch = "sys/fs/cgroup/system.slice/db.service", "sys/fs/cgroup/blkio/batch"
    (tmp_path / unified / "io.stat").write_text("254:0 rbytes=0 wbytes=0 rios=0 wios=2 dios=7\n")
    (tmp_path / batch / "blkio.throttle.io_serviced").write_text("254:0 Write 3\n254:0 Discard 4\n")

    found = parse([*read(v2, limited(v2)), *read(v1, limited(v1))])[0]

    assert {each.path: each.write_operations for each in found} == {
        "/system.slice/db.service": 9,
        "/batch": 7,
    }


def test_a_group_whose_limits_are_all_max_is_none(tmp_path):
    with_limit(tmp_path, "a", "254:0 rbps=max wbps=max riops=max wiops=max\n")

    assert limited(Host(tmp_path)) == Limited()


def test_a_machine_without_cgroups_has_none(tmp_path):
    assert limited(Host(tmp_path)) == Limited()


def test_a_group_that_is_gone_is_left_out(v2):
    assert read(v2, Limited(("/sys/fs/cgroup/system.slice/gone",))) == []


def test_devices_that_counted_nothing_have_no_part_in_the_next_ones_line(v2):
    """As Linux 5.14 to 5.18 write io.stat."""
    place = "/sys/fs/cgroup/system.slice/db.service"
    io_stat = Path(v2.place(f"{place}/io.stat"))
    io_stat.write_text("253:0 254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n7:0 ")
    (group,), _ = parse(read(v2, limited(v2)))

    assert (group.device, group.read_operations, group.write_bytes) == ((254, 0), 1, 8192)
    assert [*keyed("8:0 (unknown) rbytes=5 rios=1\n8:16 rbytes=7\n")] == [((8, 16), {"rbytes": 7})]


def test_what_was_read_is_json(v2):
    blob = read(v2, limited(v2))

    assert parse(json.loads(json.dumps(blob))) == parse(blob)


GROUP = {"path": "/a", "files": {"io.max": "254:0 riops=500\n", "io.stat": "254:0 rios=7\n"}}
WORDS = st.text(max_size=4)  # shorter than "files" and "notice", which make sense
NONSENSE = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(NONSENSE, max_size=5), st.lists(NONSENSE, max_size=5))
def test_nonsense_costs_only_itself_and_leaves_a_reason_each(before, after):
    groups, rejects = parse([*before, GROUP, *after])

    assert [(group.path, group.read_operations_limit) for group in groups] == [("/a", 500)]
    assert len(rejects) == len(before) + len(after)


@pytest.mark.parametrize("blob", [None, 1, "x", {}, {"path": "/a"}])
def test_what_is_no_list_is_no_group(blob):
    groups, (reject,) = parse(blob)

    assert groups == ()
    assert "want a list" in reject


ODD_NUMBERS = ["²", "٣", "-1", "+1", "1_000", "0x10", "9" * 21, "9" * 400, "9" * 5000]


@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_a_number_that_is_none_costs_only_itself(odd):
    unified = {
        "io.max": f"254:0 riops=500 wiops={odd}\n{odd}:0 riops=9\n",
        "io.stat": f"254:0 rbytes={odd} rios=7\n",
        "io.pressure": f"some avg10=0.00 total={odd}\n",
    }
    batch = {
        "blkio.throttle.read_iops_device": f"254:0 500\n254:16 {odd}\n{odd}:0 9\n",
        "blkio.throttle.io_serviced": f"254:0 Read 7\n254:0 Write {odd}\n",
        "blkio.throttle.io_service_bytes": "",
    }
    groups, rejects = parse([{"path": "/a", "files": unified}, {"path": "/b", "files": batch}])

    assert rejects == ()
    for group, path in zip(groups, ("/a", "/b"), strict=True):
        assert (group.path, group.device) == (path, (254, 0))
        assert (group.read_operations_limit, group.write_operations_limit) == (500, None)
        assert (group.read_operations, group.write_operations, group.read_bytes) == (7, 0, 0)
        assert group.pressure_microseconds is None


@given(st.text(alphabet="0123456789²٣: =maxriopswb\n", max_size=80))
def test_almost_right_limits_are_read_or_left(text):
    groups, rejects = parse([{"path": "/a", "files": {"io.max": text}}])

    assert rejects == ()
    assert all(limit is None or 0 <= limit < 10**20 for group in groups for limit in group[2:6])


def with_limit(root, path, text="254:0 riops=500\n"):
    group = root / "sys/fs/cgroup" / path
    group.mkdir(parents=True, exist_ok=True)
    (root / "sys/fs/cgroup/cgroup.controllers").write_text("cpu io memory\n")
    (group / "io.max").write_text(text)


def test_thousands_of_empty_groups_of_one_slice_hide_no_others_limit(tmp_path):
    for number in range(MOST_GROUPS):
        (tmp_path / f"sys/fs/cgroup/z.slice/{number}").mkdir(parents=True)
    with_limit(tmp_path, "a.slice/b.slice/c.service")
    with_limit(tmp_path, "z.slice")
    found = limited(Host(tmp_path))

    root = "/sys/fs/cgroup"
    assert set(found.places) == {f"{root}/a.slice/b.slice/c.service", f"{root}/z.slice"}
    assert found.notices == (
        (
            "control groups: of more than 5000 only 5000 were looked at for limits; "
            "below /sys/fs/cgroup/z.slice there are others"
        ),
    )


def test_the_hierarchies_of_v1_are_no_groups_of_v2(v1, tmp_path):
    for number in range(MOST_GROUPS):
        (tmp_path / f"sys/fs/cgroup/memory/{number}").mkdir(parents=True)

    assert limited(v1) == Limited(("/sys/fs/cgroup/blkio/batch",))


@pytest.mark.parametrize("name", ["blkio-heavy.slice", "unified.slice"])
def test_a_group_called_like_a_hierarchy_is_a_group(tmp_path, name):
    with_limit(tmp_path, name)
    host = Host(tmp_path)
    (group,), _ = parse(read(host, limited(host)))

    assert (group.path, group.read_operations_limit) == (f"/{name}", 500)


def test_many_limited_groups_of_one_slice_hide_no_others_limit(tmp_path):
    for number in range(MOST_LIMITED + 6):
        with_limit(tmp_path, f"a.slice/{number:02}.service")
    with_limit(tmp_path, "z.slice/deep/deeper/db.service")
    found = limited(Host(tmp_path))

    assert len(found.places) == MOST_LIMITED
    assert "/sys/fs/cgroup/z.slice/deep/deeper/db.service" in found.places
    assert found.notices == (
        (
            "control groups: 71 have limits, 64 are followed; "
            "left out: /sys/fs/cgroup/a.slice/63.service and 6 more"
        ),
    )


def test_what_is_left_out_travels_with_what_was_read(tmp_path):
    for number in range(MOST_LIMITED + 1):
        with_limit(tmp_path, f"{number:02}.service")
    host = Host(tmp_path)
    found = limited(host)
    blob = json.loads(json.dumps(read(host, found)))
    groups, rejects = parse(blob)

    assert len(groups) == MOST_LIMITED
    assert not rejects
    assert notices(blob) == found.notices != ()
    assert [each.kind for each in notices(blob)] == [each.kind for each in found.notices] != [""]


def test_upper_groups_come_before_lower_ones(tmp_path):
    with_limit(tmp_path, "a/deep/deeper")
    with_limit(tmp_path, "a/wide")

    assert [place.rpartition("/")[2] for place in limited(Host(tmp_path)).places] == [
        "wide",
        "deeper",
    ]


def test_a_machine_without_a_hierarchy_that_has_block_limits_is_no_machine_without_limits(tmp_path):
    host, groups = Host(tmp_path), tmp_path / "sys/fs/cgroup"
    with pytest.raises(FileNotFoundError, match="sys/fs/cgroup'"):
        require(host)
    (groups / "memory").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="sys/fs/cgroup/blkio'"):
        require(host)

    (groups / "blkio").mkdir()
    require(host)
    (groups / "blkio").rmdir()
    (groups / "cgroup.controllers").write_text("cpu io memory\n")
    require(host)
