"""Rates with their units, as sentences and tables tell them."""

import pytest

from ioplateau.limits import units
from ioplateau.limits.budgets import Dimension


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (96e6, ".1f", "96.0 MB/s"),
        (1.25e9, ".0f", "1,250 MB/s"),
        (1e6, ".1f", "1.0 MB/s"),
        (999_600, ".0f", "1 MB/s"),
        (400_000, ".0f", "400 kB/s"),
        (40_960, ".1f", "41 kB/s"),
        (2500, ".4g", "2.5 kB/s"),
        (200, ".1f", "200 B/s"),
        (0, ".1f", "0 B/s"),
    ],
)
def test_a_rate_below_a_megabyte_is_told_in_a_smaller_unit(value, digits, said):
    assert units.rate(value, Dimension.THROUGHPUT, digits) == said


@pytest.mark.parametrize(
    ("dimension", "said"),
    [(Dimension.IOPS, "12,800 IOPS"), (Dimension.SLOTS, "12,800 slots"), (None, "12,800 IOPS")],
)
def test_what_is_no_throughput_is_told_whole(dimension, said):
    assert units.rate(12_800.4, dimension) == said
