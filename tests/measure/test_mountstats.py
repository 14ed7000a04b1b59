from __future__ import annotations

import pytest

from ioplateau.measure import mountstats
from ioplateau.measure.mountstats import Mount, NfsConnection, Operation
from nfs_texts import IDLE_READ, ODD, READINGS, TWO_CONNECTIONS, kept, record

pytestmark = pytest.mark.usefixtures("twin")


def mounts(name: str) -> dict[tuple[str, int], Mount]:
    return {(m.mount_point, m.occurrence): m for m in mountstats.parse(kept(name)).mounts}


def only(text: bytes) -> Mount:
    (mount,) = mountstats.parse(text).mounts
    return mount


@pytest.mark.parametrize("name", READINGS)
def test_a_real_file_is_read_without_a_reject(name):
    table = mountstats.parse(kept(f"{name}-after"))

    assert table.rejects == ()
    assert table.mounts != ()


def test_a_real_v41_record_keeps_every_connection_and_used_operation():
    (mount,) = mountstats.parse(kept("v41-nconnect4-after")).mounts

    assert mount.device == "10.77.0.1:/export/a"
    assert (mount.mount_point, mount.occurrence, mount.fstype) == ("/mnt/a", 0, "nfs4")
    assert mount.options["vers"] == "4.1"
    assert mount.options["nconnect"] == "4"
    assert mount.options["hard"] == ""
    assert mount.rpc_program == "100003/4"
    assert mount.security == "flavor=1,pseudoflavor=1"
    assert (len(mount.events), len(mount.bytes)) == (27, 8)
    assert [each.kind for each in mount.connections] == ["tcp"] * 4
    assert mount.operations["NULL"].operations == 1
    assert "LAYOUTGET" not in mount.operations


def test_operations_stand_in_the_order_of_the_kernel():
    names = list(mounts("v3-slots-after")["/mnt/a", 0].operations)

    assert names[:3] == ["NULL", "GETATTR", "LOOKUP"]
    assert names.index("ACCESS") < names.index("READ") < names.index("FSINFO")


def test_an_operation_is_read_column_by_column():
    mount = only(record(operations=("READ: 1 2 3 4 5 6 7 8 9",)))

    assert mount.operations["READ"] == Operation(1, 2, 3, 4, 5, 6, 7, 8, 9)


def test_mounts_of_one_client_share_one_tuple_of_connections():
    first, second = mountstats.parse(kept("v41-two-mounts-after")).mounts

    assert first.connections is second.connections


def test_mounts_of_one_client_share_it_when_one_of_them_is_new():
    one = record()
    two = one + record(header="device fs:/b mounted on /mnt/b with fstype nfs4 statvers=1.1")
    before = mountstats.parse(one)
    after = mountstats.parse(two, before)

    assert after.mounts[1].connections is after.mounts[0].connections
    assert after.mounts[0].connections is before.mounts[0].connections


def test_udp_has_no_connects_and_old_kernels_no_slots():
    (old,) = mounts("odd-transports")["/mnt/udp", 0].connections
    (new,) = mounts("odd-transports")["/mnt/udp13", 0].connections

    assert old == NfsConnection(
        "udp", 719, 1, None, None, None, 300, 299, 1, 900, 40, None, None, None
    )
    assert (new.max_slots, new.sending_sum, new.pending_sum) == (7, 80, 700)


def test_tcp_has_ten_or_thirteen_numbers_and_more_are_ignored():
    (old,) = mounts("odd-transports")["/mnt/old", 0].connections
    (new,) = mounts("odd-transports")["/mnt/new", 0].connections

    assert old == NfsConnection("tcp", 832, 1, 1, 0, 11, 3000, 2998, 0, 9000, 12, None, None, None)
    assert new == NfsConnection("tcp", 832, 1, 1, 0, 11, 3000, 2998, 0, 9000, 12, 6, 30, 2000)


def test_rdma_has_no_slots_whatever_its_other_columns():
    connections = mounts("odd-transports")["/mnt/rdma", 0].connections

    assert [(each.sends, each.backlog_sum) for each in connections] == [(400, 3), (401, 4)]
    assert {each.max_slots for each in connections} == {None}


def test_local_has_no_port():
    (connection,) = mounts("odd-transports")["/mnt/local", 0].connections

    assert connection == NfsConnection("local", None, 1, 1, 0, 5, 40, 39, 0, 80, 3, 2, 4, 60)


def test_an_unknown_kind_is_read_like_tcp_where_it_fits_and_else_left_out():
    table = mountstats.parse(kept("odd-transports"))
    (connection,) = mounts("odd-transports")["/mnt/other", 0].connections

    assert connection == NfsConnection("quic", 4433, 1, 1, 0, 5, 40, 39, 0, 80, 3, 2, 4, 60)
    assert len(table.rejects) == 1
    assert "3 numbers after 'smoke'" in table.rejects[0]


def test_rpc_statistics_without_the_errors_column_have_errors_unknown():
    assert mounts("odd-transports")["/mnt/udp", 0].operations["READ"].errors is None


def test_any_number_of_events_is_accepted_and_surplus_ignored():
    lengths = {p: len(m.events) for (p, _), m in mounts("odd-transports").items()}

    assert (lengths["/mnt/udp"], lengths["/mnt/old"], lengths["/mnt/new"]) == (25, 27, 27)


def test_a_name_is_decoded_from_octal_and_keeps_bytes_that_are_not_text():
    assert ("/mnt/caf\udce9\\\t\nx", 0) in mounts("odd-names")


def test_the_same_path_counts_mounts_of_other_kinds_too():
    table = mounts("odd-names")

    assert table["/mnt/data", 1].device == "[fd00::1]:/export/a b"
    assert table["/mnt/data", 2].device == "fs1:/a"


def test_a_mount_without_a_device_is_read():
    assert mounts("odd-names")["/mnt/nodev", 1].device == ""


def test_a_first_mount_without_a_device_is_read():
    mount = only(record(header="no device mounted on /x with fstype nfs statvers=1.1"))

    assert (mount.device, mount.mount_point) == ("", "/x")


def test_a_server_that_describes_itself_in_several_lines_confuses_nobody():
    mount = mounts("odd-names")["/mnt/data", 1]

    assert mount.age_seconds == 2000
    assert mount.operations["READ"].operations == 7


def test_operations_with_a_long_name_or_a_number_for_a_name_are_kept():
    names = mounts("odd-names")["/mnt/data", 1].operations

    assert list(names) == ["READ", "SEQUENCE", "LONG_OPERATION_NAME", "70"]


def test_a_sum_beyond_two_to_the_63_is_read_as_negative():
    read = mounts("odd-names")["/mnt/data", 1].operations["READ"]

    assert read.queue_milliseconds == 18446743919241604546 - 2**64


def test_an_idle_time_below_zero_is_read():
    assert mounts("odd-names")["/mnt/data", 1].connections[1].idle_seconds == -9


def test_nfsd_is_not_nfs():
    assert not [m for m in mounts("odd-names").values() if m.fstype == "nfsd"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (record(age="soon"), "record left out"),
        (record().replace(b"\tage:\t", b"\tAge:\t"), "no age"),
        (record(header="device fs:/vol mounted off /mnt with fstype nfs"), "no header"),
        (record()[:150], "cut off"),
    ],
)
def test_a_bad_record_costs_itself_and_leaves_a_reason(bad, reason):
    good = record(header="device fs:/b mounted on /mnt/b with fstype nfs4 statvers=1.1")
    table = mountstats.parse(good + bad)

    assert [mount.device for mount in table.mounts] == ["fs:/b"]
    assert reason in " ".join(table.rejects)


def test_a_bad_line_of_an_operation_costs_that_operation():
    text = record(operations=("READ: 1 x 1 1 1 1 1 1", f"WRITE: {IDLE_READ}"))
    table = mountstats.parse(text)

    assert list(table.mounts[0].operations) == ["WRITE"]
    assert table.mounts[0].unreadable == ("READ",)
    assert "b'x' is not a number" in table.rejects[0]


def test_too_few_numbers_are_a_reject_not_a_guess():
    table = mountstats.parse(record(operations=("READ: 1 2 3 4 5 6 7",)))

    assert "7 numbers after 'READ', want 8 or more" in table.rejects[0]


@pytest.mark.parametrize("word", ["1_000", "+1", "0x10", "1.5", "٣", "9" * 5000, "9" * 20])
def test_what_only_looks_like_a_number_is_none(word):
    table = mountstats.parse(record(operations=(f"READ: {word} 1 1 1 1 1 1 1 1",)))

    assert table.mounts[0].operations == {}
    assert len(table.rejects) == 1


def test_a_bad_connection_costs_that_connection():
    table = mountstats.parse(record(connections=("tcp 0 0 2 0 9 7960", TWO_CONNECTIONS[1])))

    assert [each.sends for each in table.mounts[0].connections] == [7986]
    assert len(table.rejects) == 1


def test_bad_bytes_are_unknown_not_zero():
    table = mountstats.parse(record(octets="0 0 0 0 ? 0 0 0"))

    assert table.mounts[0].bytes == ()
    assert table.mounts[0].operations["READ"].operations == 100


def test_a_record_cut_between_two_lines_says_that_operations_are_missing():
    text = record(operations=(f"READ: {IDLE_READ}",)).removesuffix(b"\n")
    table = mountstats.parse(text)

    assert table.mounts[0].unreadable == ("",)
    assert "no blank line" in table.rejects[0]


@pytest.mark.parametrize("line", [b"RPC iostats version: 1.1  p/v", b"per-op statistics"])
def test_a_record_survives_the_loss_of_a_line_between_its_parts(line):
    whole, text = record(), record().replace(line, b"???")
    table = mountstats.parse(text)

    assert len(table.rejects) >= 1
    assert table.mounts[0].operations == only(whole).operations
    assert table.mounts[0].connections == only(whole).connections


@pytest.mark.parametrize("text", [b"", b"\n", b"\x00" * 1000, b"device ", b"no device \n" * 3])
def test_what_is_no_mountstats_gives_no_mounts(text):
    assert mountstats.parse(text).mounts == ()


def test_an_unchanged_record_is_the_same_in_its_parts():
    before = mountstats.parse(record())
    after = mountstats.parse(record(age="1001"), before)

    assert after.mounts[0].age_seconds == 1001
    assert after.mounts[0].operations is before.mounts[0].operations
    assert after.mounts[0].connections is before.mounts[0].connections


def test_an_operation_that_did_not_move_is_the_same_object():
    rows = (f"READ: {IDLE_READ}", "GETATTR: 5 5 0 1 1 1 1 1 0")
    before = mountstats.parse(record(operations=rows))
    known = before.mounts[0].operations["READ"]
    after = mountstats.parse(record(operations=(rows[0], "GETATTR: 6 6 0 1 1 1 1 1 0")), before)

    assert after.mounts[0].operations["READ"] is known
    assert after.mounts[0].operations["GETATTR"].operations == 6
    assert before.mounts[0].operations["GETATTR"].operations == 5


@pytest.mark.parametrize("name", [f"{each}-after" for each in READINGS] + list(ODD))
def test_what_was_forgotten_is_read_again(name):
    known, forgotten = mountstats.parse(kept(name)), mountstats.parse(kept(name))
    for mount in forgotten.mounts:
        mountstats.forget(mount.operations)
        mountstats.forget(mount.operations)
        mount.connections.forget()
        mount.connections.forget()

    for was, now in zip(known.mounts, forgotten.mounts, strict=True):
        assert mountstats.data(now.operations) == mountstats.data(was.operations)
        for column in ("ports", "sends", "receives", "backlog_sums"):
            assert getattr(now.connections, column) == getattr(was.connections, column)
    assert forgotten == known


def test_a_superblock_mounted_twice_shares_its_operations():
    other = "device fs:/vol mounted on /srv/bind with fstype nfs4 statvers=1.1"
    before = mountstats.parse(record() + record(header=other))
    rows = ("READ: 101 101 0 20000 400000 50 300 400 0", "WRITE: 0 0 0 0 0 0 0 0 0")
    text = record(operations=rows) + record(header=other, operations=rows)
    after = mountstats.parse(text, before)

    assert after.mounts[0].operations is after.mounts[1].operations


@pytest.mark.parametrize("name", [f"{each}-after" for each in READINGS] + list(ODD))
def test_reading_the_same_again_gives_the_same(name):
    text = kept(name)
    again = mountstats.parse(text, mountstats.parse(text))

    assert again == mountstats.parse(text)


@pytest.mark.parametrize("name", READINGS)
def test_the_last_reading_changes_nothing_in_the_result(name):
    before, after = kept(f"{name}-before"), kept(f"{name}-after")

    assert mountstats.parse(after, mountstats.parse(before)) == mountstats.parse(after)
    assert mountstats.parse(before, mountstats.parse(after)) == mountstats.parse(before)


def test_an_operation_used_first_takes_its_place_in_the_order():
    rows = ("NULL: 1 1 0 1 1 0 1 1 0", "READ: 0 0 0 0 0 0 0 0 0", "WRITE: 1 1 0 1 1 0 1 1 0")
    before = mountstats.parse(record(operations=rows))
    after = mountstats.parse(
        record(operations=(rows[0], "READ: 2 2 0 1 1 0 1 1 0", rows[2])), before
    )

    assert list(after.mounts[0].operations) == ["NULL", "READ", "WRITE"]


@pytest.mark.parametrize(
    "line",
    [
        "GETATTR: 8 8 0 900 900 1 2 3 0",
        "GETATTR: 8  8 0 900 900 1 2 3 0",
        "GETATTR: 8 8 0 900 900 1 2 3 ",
        "GETATTR: 8 8 0  900 1 2 3 0",
        "GETATTR:8 8 0 900 900 1 2 3 0",
        "GETATTR: 0 8 0 900 900 1 2 3 0",
        "GETATTR: 0 0 0 0 0 0 0 0 0",
        "GETATTR: 8 8 0 900 900 1 2 -3 0",
        "GETATTR: 8 8 0 900 900 1 2 18446744073709551615 0",
        "GETATTR: 8 8 0 900 900 1 2 99999999999999999999 0",
        "GETATTR: 8 8 0 900 900 1 2 3",
        "GETATTR: 8 8 0 900 900 1 2 3 0 5",
        "GET1ATTR: 8 8 0 900 900 1 2 3 0",
        "GETATTRS: 8 8 0 900 900 1 2 3 0",
        "GETATTRS: 88 8 0 900 900 1 2 3 0",
        "GETATTR_: 8888 8 0 900 900 1 2 3 0",
        "GETATT: 888 8 0 900 900 1 2 3 0",
        "5 GETATTR: 8 8 0 900 900 1 2 3 0",
    ],
)
def test_a_line_that_changed_is_read_as_if_it_were_the_first(line):
    rows = (f"READ: {IDLE_READ}", "GETATTR: 7 7 0 800 800 1 1 1 0", "WRITE: 0 0 0 0 0 0 0 0 0")
    before = mountstats.parse(record(operations=rows))
    after = record(operations=(rows[0].replace("100 100", "101 101"), line, rows[2]))
    found = mountstats.parse(after, before)

    assert found == mountstats.parse(after)
    assert dict(found.mounts[0].operations) == dict(mountstats.parse(after).mounts[0].operations)


@pytest.mark.parametrize("name", ["GET1ATTR", "GETATTRS", "GETATTR1", ""])
def test_a_line_that_had_another_name_is_read_as_if_it_were_the_first(name):
    def read(line, last=None):
        rows = (f"READ: {IDLE_READ}", line, "WRITE: 0 0 0 0 0 0 0 0 0")
        return mountstats.parse(record(operations=rows), last)

    odd = read(f"{name}: 9 9 0 900 900 1 2 3 0", read("GETATTR: 8 8 0 800 800 1 1 1 0"))
    moved = read(f"{name}: 10 10 0 901 901 1 2 3 0", odd)

    for line in ("GETATTR: 11 11 0 1000 1000 1 2 3 0", f"{name}: 12 12 0 1000 1000 1 2 3 0"):
        assert read(line, moved) == read(line)


def test_records_that_moved_are_found_again():
    first = record(header="device fs:/a mounted on /mnt/a with fstype nfs4 statvers=1.1")
    before = mountstats.parse(first + record())
    after = mountstats.parse(record(), before)

    assert after == mountstats.parse(record())
    assert after.mounts[0].operations is before.mounts[1].operations


@pytest.mark.parametrize(
    ("device", "parts"),
    [
        ("fs:/vol", ("fs", "/vol")),
        ("fs:/", ("fs", "/")),
        ("gw:vol1", ("gw", "vol1")),
        ("gw:vol:/a", ("gw", "vol:/a")),
        ("[fd00::1]:/a:/b", ("[fd00::1]", "/a:/b")),
        ("[fd00::1]:vol", ("[fd00::1]", "vol")),
        ("", ("", "")),
    ],
)
def test_server_and_export_are_cut_where_the_kernel_does(device, parts):
    assert mountstats.server_and_export(device) == parts
