"""Numbers as people say them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.limits.budgets import VM, BudgetKey, Dimension, Direction, Kind, Word
from ioplateau.tell import formatting, summary


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 IOPS"),
        (1.234, "1.23 IOPS"),
        (500.0, "500 IOPS"),
        (499.6, "500 IOPS"),
        (12_800, "12,800 IOPS"),
        (None, "unknown"),
    ],
)
def test_operations(value, said):
    assert formatting.amount(Dimension.IOPS, value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 B/s"),
        (96e6, "96 MB/s"),
        (1.25e9, "1.25 GB/s"),
        (134_217_728, "134 MB/s"),
        (12_345, "12.3 kB/s"),
        (999.6, "1 kB/s"),
        (999_400, "999 kB/s"),
        (999_999, "1 MB/s"),
        (999_600_000, "1 GB/s"),
        (None, "unknown"),
    ],
)
def test_throughput_is_in_the_units_clouds_sell(value, said):
    assert formatting.amount(Dimension.THROUGHPUT, value) == said


def test_slots():
    assert formatting.amount(Dimension.SLOTS, 64.0) == "64 slots"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (65536, "64 KiB"),
        (2**20 - 1, "1 MiB"),
        (2**30 - 1, "1 GiB"),
        (2**40, "1 TiB"),
        (None, "unknown"),
    ],
)
def test_sizes_are_binary(value, said):
    assert formatting.size(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0 µs"),
        (0.00025, "250 µs"),
        (0.0009996, "1 ms"),
        (0.031, "31 ms"),
        (0.9996, "1 s"),
        (1.5, "1.5 s"),
        (None, "unknown"),
    ],
)
def test_latencies(value, said):
    assert formatting.seconds(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1.0, "0 s"),
        (0.4, "0 s"),
        (59.7, "1 min"),
        (90, "1 min 30 s"),
        (7800, "2 h 10 min"),
        (7200, "2 h"),
        (90_000, "1 d 1 h"),
        (None, "unknown"),
    ],
)
def test_durations_have_two_units_at_most(value, said):
    assert formatting.duration(value) == said


def test_shares_are_percent():
    assert [formatting.share(0.973), formatting.share(1.2), formatting.share(None)] == [
        "97 %",
        "120 %",
        "unknown",
    ]


def test_a_limit_of_one_direction_says_which():
    assert formatting.limit(Dimension.THROUGHPUT, Direction.READ, 2e8) == "200 MB/s of reads"
    assert formatting.limit(Dimension.IOPS, Direction.TOTAL, 500.0) == "500 IOPS"
    assert formatting.limit(Dimension.IOPS, Direction.WRITE, None) == "unknown"


def test_every_kind_and_every_verdict_has_words():
    assert set(formatting.KINDS) == set(Kind)
    assert set(formatting.WORDS) == set(Word)
    assert set(summary.ORDER) == set(Word)


def test_which_disks_a_vms_limit_is_of_is_said_where_it_is_known():
    assert formatting.kind(Kind.VM_UNCACHED, "uncached disks") == "VM, uncached disks"
    assert formatting.kind(Kind.VM_UNCACHED) == "VM, disks"
    assert formatting.kind(Kind.DISK, "uncached disks") == "disk"


def test_a_byte_that_is_no_text_is_shown_by_its_number():
    assert formatting.valid("/mnt/\udcff/ä") == "/mnt/\\xff/ä"
    assert formatting.valid("\ud800") == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("/mnt/data", "/mnt/data"),
        ("/mnt/Daten-Träger", "/mnt/Daten-Träger"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("a\nb\rc\td", r"a\nb\rc\td"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("a\u2028b", r"a\u2028b"),
        ("\udcff", r"\xff"),
        ("\ud800", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_nothing_speaks_to_the_terminal_or_begins_a_line(value, shown):
    assert formatting.printable(value) == shown


@given(st.text())
def test_whatever_a_name_holds_it_is_one_printable_line(value):
    assert formatting.printable(value).isprintable()


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (2000, "2,000 rows")]
)
def test_things_are_counted_in_words(number, said):
    assert formatting.counted(number, "row") == said


@pytest.mark.parametrize(
    ("name", "lane", "said"),
    [
        ("pd-ssd", "pd-ssd disks", "VM, pd-ssd disks"),
        ("pd-ssd", "", "VM, disks pd-ssd"),
        (VM, "remote disks", "VM, remote disks vm"),
    ],
)
def test_a_budget_of_one_disk_type_names_it_once(name, lane, said):
    assert formatting.budget(BudgetKey(Kind.VM_UNCACHED, name), lane) == said
