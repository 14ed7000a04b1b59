from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almost_right import damaged_text
from ioplateau.measure import mountinfo, mountstats
from nfs_texts import kept

LINE = b"36 35 0:50 / /mnt/a rw,noatime shared:1 - nfs4 fs:/a rw,vers=4.1,addr=10.0.0.4\n"


def by_place():
    return mountinfo.by_place(mountinfo.parse(kept("mountinfo-odd")))


def test_a_line_is_read_field_by_field():
    (entry,) = mountinfo.parse(LINE).entries

    assert entry.device == (0, 50)
    assert (entry.mount_point, entry.occurrence) == ("/mnt/a", 0)
    assert (entry.fstype, entry.source) == ("nfs4", "fs:/a")
    assert entry.super_options == {"rw": "", "vers": "4.1", "addr": "10.0.0.4"}


def test_tags_may_be_none_one_or_several():
    table = by_place()

    assert table["/mnt/data", 0].fstype == "autofs"
    assert table["/mnt/data", 1].fstype == "nfs4"
    assert table["/var/lib/device one", 0].fstype == "overlay"


def test_the_same_path_is_counted():
    table = by_place()

    assert table["/mnt/data", 1].device == (0, 50)
    assert table["/mnt/data", 2].device == (0, 53)


def test_names_are_decoded_from_octal_and_keep_bytes_that_are_not_text():
    entry = by_place()["/mnt/caf\udce9\\\t\nx", 0]

    assert entry.source == "fs1:/caf\udce9"


def test_an_escaped_comma_does_not_part_an_option():
    assert by_place()["/var/lib/device one", 0].super_options["lowerdir"] == "/a,b:/c"


def test_a_line_may_end_without_source_or_super_options():
    table = by_place()

    assert table["/mnt/nodev", 0].source == ""
    assert table["/mnt/bare", 0].super_options == {}


def test_every_nfs_record_of_mountstats_finds_its_superblock():
    table = by_place()
    mounts = mountstats.parse(kept("odd-names")).mounts
    joined = {m.device: table.get((m.mount_point, m.occurrence)) for m in mounts if m.device}

    assert {device: entry and entry.source for device, entry in joined.items()} == {
        device: device for device in joined
    }


def test_this_machine_can_be_read():
    info = mountinfo.parse(Path("/proc/self/mountinfo").read_bytes())

    assert info.rejects == ()
    assert info.entries != ()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"36 35 0:50 / /mnt/a rw\n", "6 words, want 9 or more"),
        (LINE.replace(b" - ", b" + "), 'no "-"'),
        (b"36 35 0:50 / /mnt/a rw shared:1 shared:2 -\n", "0 words after"),
        (LINE.replace(b"0:50", b"50"), "minor"),
    ],
)
def test_a_bad_line_costs_itself_and_leaves_a_reason(bad, reason):
    other = LINE.replace(b"/mnt/a", b"/mnt/b")
    info = mountinfo.parse(other + bad + other)

    assert [(e.mount_point, e.occurrence) for e in info.entries] == [("/mnt/b", 0), ("/mnt/b", 1)]
    assert len(info.rejects) == 1
    assert reason in info.rejects[0]


def test_a_mount_that_is_bad_further_on_still_counts_as_one():
    info = mountinfo.parse(LINE.replace(b"0:50", b"50") + LINE)

    assert [entry.occurrence for entry in info.entries] == [1]


@pytest.mark.parametrize(
    ("told", "port"),
    [
        (b",port=20049", 20049),
        *((b",port=" + other, None) for other in (b"2049", b"0", b"x", b"65536", b"9" * 5000)),
    ],
)
def test_the_port_of_a_server_is_known_where_it_is_not_the_usual_one(told, port):
    line = b"30 1 0:40 / /m rw - nfs4 127.0.0.1:/ rw,vers=4.1,addr=127.0.0.1" + told + b"\n"
    (entry,) = mountinfo.parse(line).entries

    assert entry.server_port == port


@given(damaged_text(kept("mountinfo-odd")))
def test_whatever_is_damaged_the_lines_left_whole_are_read(text):
    intact = set(kept("mountinfo-odd").split(b"\n")) & set(text.split(b"\n")) - {b""}
    found = [entry._replace(occurrence=0) for entry in mountinfo.parse(text).entries]

    for line in intact:
        (alone,) = mountinfo.parse(line).entries
        assert alone in found


@given(st.binary())
def test_noise_is_answered(text):
    info = mountinfo.parse(text)

    assert len(info.entries) + len(info.rejects) <= text.count(b"\n") + 1
