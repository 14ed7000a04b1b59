"""Numbers as people say them."""

import pytest

from ioplateau.judge.budgets import Dimension, Direction, Kind, Word
from ioplateau.tell import plain


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
    assert plain.amount(Dimension.IOPS, value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0 B/s"),
        (96e6, "96 MB/s"),
        (1.25e9, "1.25 GB/s"),
        (134_217_728, "134 MB/s"),
        (12_345, "12.3 kB/s"),
        (None, "unknown"),
    ],
)
def test_throughput_is_in_the_units_clouds_sell(value, said):
    assert plain.amount(Dimension.THROUGHPUT, value) == said


def test_slots():
    assert plain.amount(Dimension.SLOTS, 64.0) == "64 slots"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 B"), (512, "512 B"), (65536, "64 KiB"), (2**40, "1 TiB"), (None, "unknown")],
)
def test_sizes_are_binary(value, said):
    assert plain.size(value) == said


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
    assert plain.seconds(value) == said


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
    assert plain.duration(value) == said


def test_shares_are_percent():
    assert [plain.share(0.973), plain.share(1.2), plain.share(None)] == ["97 %", "120 %", "unknown"]


def test_a_limit_of_one_direction_says_which():
    assert plain.limit(Dimension.THROUGHPUT, Direction.READ, 2e8) == "200 MB/s of reads"
    assert plain.limit(Dimension.IOPS, Direction.TOTAL, 500.0) == "500 IOPS"
    assert plain.limit(Dimension.IOPS, Direction.WRITE, None) == "unknown"


def test_every_kind_and_every_verdict_has_words():
    assert set(plain.KINDS) == set(Kind)
    assert set(plain.WORDS) == set(Word)


def test_a_byte_that_is_no_text_is_shown_by_its_number():
    assert plain.valid("/mnt/\udcff/ä") == "/mnt/\\xff/ä"
    assert plain.valid("\ud800") == "\N{REPLACEMENT CHARACTER}"
