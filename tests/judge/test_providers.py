"""What a provider counts itself decides alone."""

import pytest

from ioplateau.judge.providers import allowance_exceeded, instance_exceeded, volume_exceeded
from ioplateau.judge.witness import EbsWitness
from ioplateau.limits.budgets import Dimension, Direction


def test_a_volume_names_the_dimension_it_counted_longer():
    assert volume_exceeded(EbsWitness(0.7, 0.2)) is Dimension.IOPS
    assert volume_exceeded(EbsWitness(0.1, 0.9)) is Dimension.THROUGHPUT


def test_a_moment_is_not_a_limit():
    assert volume_exceeded(EbsWitness(0.02, 0.0)) is None


def test_a_volume_without_counters_says_nothing():
    assert volume_exceeded(None) is None
    assert volume_exceeded(EbsWitness()) is None


@pytest.mark.parametrize(
    ("shares", "told"), [((0.9, 0.0), Dimension.IOPS), ((0.0, 0.6), Dimension.THROUGHPUT)]
)
def test_an_instance_is_exceeded_if_any_volume_counted_it(shares, told):
    volumes = [EbsWitness(0.0, 0.0, 0.0, 0.0), EbsWitness(0.0, 0.0, *shares)]

    assert instance_exceeded(volumes) is told
    assert instance_exceeded([]) is None


def test_an_interface_names_the_direction_that_was_shaped_and_no_bytes_for_packets():
    bytes_ = Dimension.THROUGHPUT
    assert allowance_exceeded({"bw_out_allowance_exceeded": 12.0}) == (bytes_, Direction.WRITE)
    assert allowance_exceeded({"bw_in_allowance_exceeded": 3.0}) == (bytes_, Direction.READ)
    assert allowance_exceeded({"pps_allowance_exceeded": 3.0}) == (None, Direction.TOTAL)
    assert allowance_exceeded({"bw_in_allowance_exceeded": 0.0}) is None
    assert allowance_exceeded({"linklocal_allowance_exceeded": 9.0}) is None
