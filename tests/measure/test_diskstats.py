from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almost_right import damaged_line, damaged_text
from ioplateau.measure import diskstats
from ioplateau.measure.diskstats import DiskCounters

pytestmark = pytest.mark.usefixtures("twin")

FILES = Path(__file__).parent / "files" / "machine"
RAID0 = (FILES / "diskstats-6.1-raid0-after.txt").read_bytes()
VIRTIO = (FILES / "diskstats-6.18-virtio.txt").read_bytes()
LINE = b"   8      16 sdb 84423 2 679256 935296 11 12 13 14 57 53544 935296"


def disk(**columns):
    zeros = dict.fromkeys(DiskCounters._fields[2:], 0)
    return DiskCounters(**{"name": "sda", "device": (8, 0), **zeros, **columns})


def test_every_column_of_a_real_line_lands_under_its_name():
    table = diskstats.parse(VIRTIO)

    assert table.rejects == ()
    assert table.disks["vda"] == DiskCounters(
        name="vda",
        device=(254, 0),
        reads=86019,
        read_merges=10501,
        read_sectors=4365586,
        read_milliseconds=39643,
        writes=79816,
        write_merges=18173,
        write_sectors=9320960,
        write_milliseconds=49570,
        in_flight=0,
        busy_milliseconds=13364,
        weighted_milliseconds=91700,
        discards=21198,
        discard_merges=41,
        discard_sectors=6163072,
        discard_milliseconds=1780,
        flushes=17212,
        flush_milliseconds=706,
    )


def test_every_device_of_a_file_is_there():
    disks = diskstats.parse(RAID0).disks

    assert next(iter(disks)) == "nvme0n1"
    assert len(disks) == 14
    assert disks["md0"].reads == 175372


def test_a_kernel_before_4_18_does_not_count_discards_and_flushes():
    counters = diskstats.parse(LINE + b"\n").disks["sdb"]

    assert counters.weighted_milliseconds == 935296
    assert counters.discards is None
    assert counters.flushes is None


def test_a_kernel_before_5_5_counts_discards_but_not_flushes():
    counters = diskstats.parse(LINE + b" 1 2 3 4\n").disks["sdb"]

    assert (counters.discards, counters.discard_milliseconds) == (1, 4)
    assert counters.flushes is None


def test_columns_of_kernels_to_come_are_passed_over():
    today = diskstats.parse(LINE + b" 1 2 3 4 5 6\n")

    assert diskstats.parse(LINE + b" 1 2 3 4 5 6 7 eight\n").disks == today.disks


def test_half_a_group_of_new_columns_is_as_good_as_none():
    assert diskstats.parse(LINE + b" 1 2 3\n").disks == diskstats.parse(LINE + b"\n").disks


def test_a_partition_of_an_ancient_kernel_is_passed_over_in_silence():
    assert diskstats.parse(b"   3       1 hda1 1 2 3 4\n") == diskstats.DiskTable()


def test_an_empty_file_has_no_devices():
    assert diskstats.parse(b"") == diskstats.DiskTable()


@pytest.mark.parametrize("odd", [b"-1", b"+1", b"1_000", b"1.5", b"x", "٣".encode()])
def test_a_word_that_is_no_number_costs_its_line_and_is_named(odd):
    table = diskstats.parse(LINE.replace(b"679256", odd) + b"\n" + RAID0)

    assert table.disks == diskstats.parse(RAID0).disks
    (reject,) = table.rejects
    assert f"{odd!r}, want a number" in reject


def test_a_line_of_too_few_words_says_how_many_are_wanted():
    (reject,) = diskstats.parse(b"   8       0 sda 1 2 3 4 5 6 7\n").rejects

    assert "10 words, want 14 or more" in reject


def test_a_number_wider_than_the_kernels_is_rejected():
    (reject,) = diskstats.parse(LINE.replace(b"679256", b"%d" % 2**64) + b"\n").rejects

    assert "want a 64-bit number" in reject


def test_a_line_cut_off_inside_a_number_is_rejected_and_not_read_as_a_smaller_one():
    table = diskstats.parse(RAID0 + LINE[:-3])

    assert table.disks == diskstats.parse(RAID0).disks
    assert "cut off" in table.rejects[0]


def test_an_unchanged_line_is_not_parsed_again():
    first = diskstats.parse(RAID0)
    second = diskstats.parse(RAID0.replace(b" 44130 ", b" 44131 "), first)

    assert second.disks["sdb"] is first.disks["sdb"]
    assert second.disks["sda"].reads == 44131


def test_a_device_that_vanished_is_not_remembered():
    first = diskstats.parse(RAID0)
    without = b"".join(line for line in RAID0.splitlines(keepends=True) if b" sdb " not in line)

    assert "sdb" not in diskstats.parse(without, first).disks
    assert len(diskstats.parse(without, first).lines) == 13


@given(damaged_text(RAID0), damaged_text(RAID0))
def test_parsing_with_the_last_table_changes_nothing(before, after):
    last = diskstats.parse(before)

    assert diskstats.parse(after, last) == diskstats.parse(after)


@given(st.data(), st.integers(0, 13))
def test_a_damaged_line_leaves_all_others_as_they_were(data, place):
    lines = RAID0.splitlines()
    lines[place] = data.draw(damaged_line(lines[place]))
    alone = diskstats.parse(lines[place] + b"\n").disks
    whole = diskstats.parse(RAID0).disks
    table = diskstats.parse(b"\n".join(lines) + b"\n")

    others = [name for at, name in enumerate(whole) if at != place and name not in alone]
    assert [table.disks[name] for name in others] == [whole[name] for name in others]
    assert len(table.disks) + len(table.rejects) >= 13


@given(st.binary())
def test_noise_is_rejected_and_nothing_else_happens(noise):
    assert diskstats.parse(noise).disks == {}


def test_rates_are_in_base_units():
    before = disk()
    after = disk(
        reads=1000,
        read_merges=250,
        read_sectors=16000,
        read_milliseconds=4000,
        busy_milliseconds=1500,
        weighted_milliseconds=6000,
        in_flight=3,
    )
    rates = diskstats.rates(before, after, elapsed_seconds=2.0)

    assert rates.read.operations_per_second == 500
    assert rates.read.bytes_per_second == 8000 * 512
    assert rates.read.merges == 250
    assert rates.read.await_seconds == 0.004
    assert rates.read.request_bytes == 16 * 512
    assert rates.queue_length == 3.0
    assert rates.busy_ratio == 0.75
    assert rates.in_flight == 3


def test_discards_and_flushes_are_not_known_on_a_kernel_that_does_not_count_them():
    lacking = dict.fromkeys(DiskCounters._fields[13:])
    rates = diskstats.rates(disk(**lacking), disk(reads=5, **lacking), elapsed_seconds=1.0)

    assert rates.discard is None
    assert rates.flush is None
    assert rates.read.operations_per_second == 5


def test_an_idle_disk_has_rates_of_zero_but_no_await_and_no_request_size():
    rates = diskstats.rates(disk(), disk(), elapsed_seconds=1.0)

    assert rates.read.operations_per_second == 0
    assert rates.read.await_seconds is None
    assert rates.read.request_bytes is None
    assert rates.queue_length == 0


def test_queue_time_survives_the_u32_wrap():
    before = disk(weighted_milliseconds=2**32 - 500)
    after = disk(weighted_milliseconds=1500)

    assert diskstats.rates(before, after, elapsed_seconds=1.0).queue_length == 2.0


def test_busy_time_survives_the_u32_wrap():
    before, after = disk(busy_milliseconds=2**32 - 500), disk(busy_milliseconds=500)

    assert diskstats.rates(before, after, elapsed_seconds=1.0).busy_ratio == 1.0


@pytest.mark.parametrize("kind", ["read", "write", "discard", "flush"])
def test_the_time_of_each_kind_survives_the_u32_wrap(kind):
    plural = kind + ("es" if kind == "flush" else "s")
    before = disk(**{f"{kind}_milliseconds": 2**32 - 1})
    after = disk(**{f"{kind}_milliseconds": 9, plural: 10})
    rates = diskstats.rates(before, after, elapsed_seconds=1.0)

    assert getattr(rates, kind).await_seconds == 0.001


@pytest.mark.parametrize(
    "column", [name for name in DiskCounters._fields[2:] if name != "in_flight"]
)
def test_a_column_that_fell_is_a_new_story(column):
    before, after = disk(**{column: 1000}), disk(**{column: 999})

    assert diskstats.grown(before, after) is None
    assert diskstats.rates(before, after, elapsed_seconds=1.0) is None


def test_another_device_number_under_the_same_name_is_a_new_story():
    assert diskstats.rates(disk(), disk(device=(8, 16)), elapsed_seconds=1.0) is None


def test_fewer_requests_in_flight_are_the_same_story():
    assert diskstats.grown(disk(in_flight=9), disk(in_flight=0)) is not None


@pytest.mark.parametrize("elapsed_seconds", [0.0, -1.0])
def test_there_are_no_rates_over_no_time(elapsed_seconds):
    assert diskstats.rates(disk(), disk(), elapsed_seconds) is None


def test_a_passing_negative_in_flight_is_none_in_flight():
    assert diskstats.in_flight(disk(in_flight=2**32 - 1)) == 0


def test_a_stripe_and_its_members_each_tell_the_same_bytes():
    before = diskstats.parse((FILES / "diskstats-6.1-raid0-before.txt").read_bytes()).disks
    after = diskstats.parse(RAID0).disks
    rates = {name: diskstats.rates(before[name], after[name], 2.0) for name in after}

    moved = {
        name: each.read.bytes_per_second + each.write.bytes_per_second
        for name, each in rates.items()
    }

    members = sum(moved[name] for name in ("sda", "sdb", "sdc", "sdd"))
    assert moved["md0"] == pytest.approx(members, rel=0.01)


def test_a_disk_limited_to_500_operations_shows_500_and_a_queue():
    before = diskstats.parse((FILES / "diskstats-6.1-throttled-before.txt").read_bytes()).disks
    after = diskstats.parse((FILES / "diskstats-6.1-throttled-after.txt").read_bytes()).disks
    rates = diskstats.rates(before["sda"], after["sda"], elapsed_seconds=10.007)

    operations = rates.read.operations_per_second + rates.write.operations_per_second
    assert operations == pytest.approx(500, rel=0.02)
    assert rates.queue_length > 2
    assert rates.in_flight == 16
