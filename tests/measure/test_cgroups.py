"""Control groups with limits: found, read and understood, v1 and v2."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.measure.cgroups import limited, parse, read
from ioplateau.measure.host import Host


@pytest.fixture
def v2(tmp_path):
    group = tmp_path / "sys/fs/cgroup/system.slice/db.service"
    group.mkdir(parents=True)
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


def test_a_group_whose_limits_are_all_max_is_none(tmp_path):
    (tmp_path / "sys/fs/cgroup/a").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/a/io.max").write_text(
        "254:0 rbps=max wbps=max riops=max wiops=max\n"
    )

    assert limited(Host(tmp_path)) == []


def test_a_machine_without_cgroups_has_none(tmp_path):
    assert limited(Host(tmp_path)) == []


def test_a_group_that_is_gone_is_left_out(v2):
    assert read(v2, ["/sys/fs/cgroup/system.slice/gone"]) == []


def test_what_was_read_is_json(v2):
    blob = read(v2, limited(v2))

    assert parse(json.loads(json.dumps(blob))) == parse(blob)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_comes_in_parse_returns(blob):
    groups, rejects = parse(blob)

    assert groups == () or rejects == ()


@given(st.text(alphabet="0123456789: =maxriopswb\n", max_size=80))
def test_almost_right_limits_are_read_or_left(text):
    groups, _ = parse([{"path": "/a", "files": {"io.max": text}}])

    assert all(isinstance(group.device[0], int) for group in groups)
