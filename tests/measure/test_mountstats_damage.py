"""Mountstats that is almost right: parse returns, the rest is unharmed, reuse changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from almost_right import damaged_line, damaged_text
from ioplateau.measure import mountstats
from ioplateau.measure.mountstats import nfslines, parse
from nfs_texts import READINGS, kept, record

pytestmark = pytest.mark.usefixtures("twin")

READS = "READ: 100 100 0 20000 400000 50 300 400 0"
ZERO = "WRITE: 0 0 0 0 0 0 0 0 0"
TEXTS = [kept(f"{name}-after") for name in READINGS] + [
    kept("odd-names"),
    kept("odd-transports"),
    record(),
]
# Words that meet in real files, in orders that do not.
PIECES = (
    *(b"device ", b"no device ", b"no ", b"\n", b"\n\n", b" ", b"\t", b"\\040", b"\\777", b"\xff"),
    *(b"fs:/a mounted on /a with fstype nfs statvers=1.1", b"mounted on /b with fstype nfs"),
    *(b"\n\topts:\t", b"rw,vers=3", b"\n\tage:\t7\n", b"\n\tage:\t", b"\n\tevents:\t1 2 \n"),
    *(b"\n\tbytes:\t1 2 3 4 5 6 7 8 \n", b"\n\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n"),
    *(b"\n\txprt:\ttcp 1 2 3 4 5 6 7 8 9 10\n", b"\n\txprt:\t", b"\n\tper-op statistics\n"),
    *(b"\n\t        READ: 1 1 0 1 1 1 1 1 0\n", b"\n\t        READ: 2 1 0 1 1 1 1 1 0\n"),
    *(b"\n\t       WRITE: 0 0 0 0 0 0 0 0 0\n", b"12", b"0", b":", record()),
)


def named(name: str, **parts: object) -> bytes:
    header = f"device fs:/{name} mounted on /mnt/{name} with fstype nfs4 statvers=1.1"
    return record(header=header, **parts)


@given(st.sampled_from(TEXTS).flatmap(damaged_text))
def test_almost_right_text_is_answered(text):
    table = mountstats.parse(text)

    assert len(table.mounts) <= text.count(b"device ")


@given(st.binary() | st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join))
def test_noise_is_answered(text):
    table = mountstats.parse(text)

    assert len(table.mounts) <= text.count(b"device ")
    assert mountstats.parse(text, table) == table


@given(damaged_text(named("bad").removesuffix(b"\n\n")))
def test_a_damaged_record_leaves_the_others_as_they_were(bad):
    before, behind = named("before"), named("behind", age="5")
    text = before + bad + b"\n\n" + behind
    names = ("/mnt/before", "/mnt/behind")
    found = [m for m in mountstats.parse(text).mounts if m.mount_point in names]

    assert found == list(mountstats.parse(before + behind).mounts)


@given(st.sampled_from(TEXTS), st.data())
@settings(max_examples=2 * settings.default.max_examples)
def test_the_last_reading_never_changes_the_result(text, data):
    """Down a chain of damaged texts, as a kernel gone mad would show them."""
    last = mountstats.parse(data.draw(st.sampled_from(TEXTS)))
    for _ in range(3):
        now = data.draw(st.just(text) | damaged_text(text))
        table = mountstats.parse(now, last)

        assert table == mountstats.parse(now)
        assert [list(m.operations) for m in table.mounts] == [
            list(m.operations) for m in mountstats.parse(now).mounts
        ]
        last = table


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.data())
def test_the_last_reading_never_changes_what_is_made_of_noise(pieces, data):
    other = [p for p in pieces if data.draw(st.integers(0, 5))]
    last = mountstats.parse(record() + b"".join(other))
    text = record() + b"".join(pieces)

    assert mountstats.parse(text, last) == mountstats.parse(text)


def xprt(*numbers: object, kind: str = "tcp") -> bytes:
    return f"\txprt:\t{kind} {' '.join(map(str, numbers))}\n".encode()


LINES = st.lists(
    st.sampled_from(
        (
            xprt(*range(13)),
            xprt(*range(20, 33)),
            xprt(*range(10)),
            xprt(*range(15)),
            xprt(*range(12), 10**18),
            xprt(*range(12), 2**64),
            xprt(*range(12), -5),
            xprt(*range(12), "x"),
            xprt(*range(13), kind="rdma"),
            b"\txprt:\ttcp\n",
            b"\tnothing\n",
        )
    ),
    max_size=4,
).map(b"".join)


@given(LINES | LINES.flatmap(damaged_text))
def test_all_connections_at_once_are_those_of_each_line(text):
    found = nfslines.tcp_connections(text)

    if found is not None:
        lines = [line for line in text.split(b"\n") if line.startswith(b"\txprt:")]
        assert tuple(found) == tuple(nfslines.connection(line) for line in lines)
        assert nfslines.NfsConnections.of(*found) == found
        assert nfslines.NfsConnections.of(*found).backlog_sums == found.backlog_sums


def test_lines_of_tcp_are_read_at_once():
    assert len(nfslines.tcp_connections(xprt(*range(13)) * 8) or ()) == 8


@given(damaged_line(READS.encode()))
def test_a_damaged_line_costs_no_other_operation(line):
    rows = (READS.replace("READ", "GETATTR"), ZERO.replace("WRITE", "X"), ZERO)
    text = record(operations=rows).replace(b"X: 0 0 0 0 0 0 0 0 0", line)
    (mount,) = mountstats.parse(text).mounts

    assert mount.operations["GETATTR"].operations == 100


@given(st.integers(0, len(named("cut")) - 1))
def test_a_file_cut_anywhere_keeps_the_records_before_the_cut(length):
    whole, cut = named("whole"), named("cut")
    table = mountstats.parse(whole + cut[:length])

    assert table.mounts[0] == mountstats.parse(whole).mounts[0]
    assert length == 0 or len(table.rejects) > 0


@given(st.integers(0, len(kept("v3-slots-after")) - 1))
def test_a_cut_file_never_makes_a_counter_up(length):
    whole = kept("v3-slots-after")
    for mount in mountstats.parse(whole[:length]).mounts:
        (full,) = mountstats.parse(whole).mounts

        assert mount.age_seconds == full.age_seconds
        assert mount.operations.items() <= full.operations.items()
        assert mount.connections in (full.connections, nfslines.NO_CONNECTIONS)


@given(st.permutations(range(5)), st.permutations(range(5)), st.integers(0, 5))
def test_mounts_that_come_go_and_move_change_nothing(first, second, count):
    def text(order, age):
        return b"".join(named(f"m{n % 4}", age=str(age + n)) for n in order)

    last = mountstats.parse(text(first, 10))
    now = text(second[:count], 11)

    assert mountstats.parse(now, last) == mountstats.parse(now)


NEXT = record(header="device fs:/next mounted on /next with fstype nfs4 statvers=1.1")
HOSTILE = (
    "\ndevice x:/ mounted on /x with fstype nfs4 statvers=1.1",
    "\nno device mounted on /x with fstype nfs4 statvers=1.1",
    "\n\ndevice x:/ mounted on /x with fstype tmpfs\n",
    "FreeBSD 14\ndevice mounted on nothing\n\tage:\t1\n",
    "\n\tper-op statistics\n\t READ: 1 1 1 1 1 1 1 1\n\n",
    "\n\tRPC iostats version: 1.1  p/v: 9/9 (nfs)\n\txprt:\ttcp 0 0 2 0 9 1 1 0 1 0 9 1 1",
    "\n\tevents:\t1 2 3\n\tbytes:\t9 9 9 9 9 9 9 9",
    "',domain='',date='0,0'\n\ndevice x:/ mounted on /x with fstype tmpfs\n",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_server_that_names_itself_like_a_record_hides_nothing(name):
    def named(by):
        line = f"\timpl_id:\tname='{by}',domain='d',date='17,0'\n".encode()
        return record().replace(b"\tcaps:", line + b"\tcaps:", 1)

    plain, hostile = parse(named("server") + NEXT), parse(named(name) + NEXT)
    again = parse(named(name).replace(b"4096 8192", b"5000 9000") + NEXT, hostile)

    assert hostile.mounts == plain.mounts
    assert not hostile.rejects
    assert again.mounts == (
        plain.mounts[0]._replace(bytes=(0, 0, 0, 0, 5000, 9000, 1, 2)),
        NEXT_MOUNT,
    )


NEXT_MOUNT = parse(NEXT).mounts[0]


def test_words_that_a_server_never_closes_end_with_their_record():
    open_end = record().replace(b"\tcaps:", b"\timpl_id:\tname='x\n\tcaps:", 1)

    assert [mount.mount_point for mount in parse(open_end + NEXT).mounts] == ["/mnt/vol", "/next"]
