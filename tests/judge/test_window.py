"""Blocks of at least half a second, and how flat the last of them are."""

import random
from itertools import pairwise
from math import exp

import pytest

from ioplateau.judge import parameters as number
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.window import Blocks, Recent, is_straight, joined, level, makes_up, regime
from ioplateau.judge.witness import NOTHING as WITNESS
from ioplateau.judge.witness import ClientWitness, Witness
from ioplateau.limits.budgets import FlowKey

SDA = FlowKey("disk", "sda")


def tick(seconds, reads, wait, in_flight=0):
    return FlowTick(
        seconds,
        read_operations_per_second=reads,
        read_await_seconds=wait,
        queue_length=reads * (wait or 0.0),
        in_flight=in_flight,
    )


def test_a_tick_of_a_second_is_a_block_by_itself():
    flows = {SDA: tick(1.0, 500.0, 0.002)}

    assert Blocks().add(1.0, flows, WITNESS) == (1.0, flows, WITNESS)


def test_short_ticks_are_put_together_until_half_a_second_is_full():
    blocks = Blocks()
    parts = [blocks.add(0.1, {SDA: tick(0.1, 100.0 * n, 0.002)}, WITNESS) for n in range(1, 6)]

    assert parts[:4] == [None] * 4
    assert parts[4] is not None
    assert parts[4][0] == pytest.approx(0.5)
    assert parts[4][1][SDA].read_operations_per_second == pytest.approx(300.0)


def test_latency_of_joined_ticks_is_weighted_by_operations():
    both = joined(tick(1.0, 100.0, 0.010), tick(1.0, 300.0, 0.002))

    assert both.read_await_seconds == pytest.approx(0.004)


def test_joined_ticks_keep_the_later_number_of_requests_in_flight():
    assert joined(tick(1.0, 1.0, 0.1, 7), tick(1.0, 1.0, 0.1, 3)).in_flight == 3


def test_a_flow_without_rates_in_one_part_has_none_in_the_block():
    blocks = Blocks()
    blocks.add(0.2, {SDA: tick(0.2, 100.0, 0.002)}, WITNESS)
    blocks.add(0.2, {SDA: None}, WITNESS)
    block = blocks.add(0.2, {SDA: tick(0.2, 100.0, 0.002)}, WITNESS)

    assert block is not None
    assert block[1][SDA] is None


def test_a_gap_throws_away_what_was_begun():
    blocks = Blocks()
    blocks.add(0.3, {SDA: tick(0.3, 900.0, 0.002)}, WITNESS)
    blocks.clear()

    assert blocks.add(0.3, {SDA: tick(0.3, 100.0, 0.002)}, WITNESS) is None


def test_a_server_has_answered_in_a_block_if_it_did_in_one_of_its_ticks():
    blocks = Blocks()
    first, last = (Witness({"filer": ClientWitness(receives_per_second=r)}) for r in (900.0, 0.0))
    blocks.add(0.25, {}, first)
    block = blocks.add(0.25, {}, last)

    assert block is not None
    assert block[2].clients["filer"].receives_per_second == pytest.approx(450.0)


def test_recent_values_do_not_grow():
    recent = Recent()
    for value in range(1000):
        recent.add(float(value))

    assert len(recent.values) == 2 * number.SUM_BLOCKS
    assert recent.values[-1] == 999.0


def test_the_level_of_a_limit_ignores_one_dip():
    values = [500.0, 501.0, 499.0, 420.0, 500.0, 501.0, 499.0, 500.0]

    assert level(values).spread < 0.003
    assert level(values).mean == pytest.approx(500.0, rel=0.002)


def test_noise_of_five_per_cent_is_not_flat():
    numbers = random.Random(1)

    assert level([numbers.gauss(500.0, 25.0) for _ in range(16)]).spread > 0.03


def test_values_that_crowd_below_a_sharp_edge_are_as_flat_as_the_edge():
    values = [500.0, 499.0, 380.0, 501.0, 430.0, 500.0, 500.5, 310.0, 499.5, 500.0, 450.0, 500.2]

    assert level(values).spread < 0.005
    assert level(values).mean == pytest.approx(500.0, rel=0.005)


def test_a_regime_ends_where_two_values_in_a_row_are_strangers():
    values = [100.0, 101.0, 99.0, 500.0, 501.0, 300.0, 499.0, 500.0]

    assert list(regime(values)) == values[3:]


def test_no_values_have_no_level():
    assert level([]).count == 0


def late_looks(count, off, draw):
    """Rates of a limit of 1000 a second whose looks are off by up to so many seconds at it."""
    errors = [draw.uniform(-off, off) for _ in range(count + 1)]
    return [1000.0 * (1 + after - before) for before, after in pairwise(errors)]


@pytest.mark.parametrize("off", [0.01, 0.03, 0.1])
def test_what_one_block_owes_and_the_next_pays_keeps_to_a_line_however_large_it_is(off):
    draw = random.Random(1)
    found = [makes_up([late_looks(40, off, draw)], 1.0) for _ in range(200)]

    assert sorted(found)[20] > 3.0


def test_it_adds_up_over_stretches_whatever_came_between():
    draw = random.Random(1)
    found = [makes_up([late_looks(20, 0.03, draw) for _ in range(4)], 1.0) for _ in range(200)]

    assert sorted(found)[20] > 12.0


@pytest.mark.parametrize("lengths", [[6], [12], [24], [60], [1] * 24, [4] * 6, [20] * 5])
def test_chance_in_each_block_is_told_as_seldom_as_the_odds_say(lengths):
    draw = random.Random(1)
    tries = [
        makes_up([[draw.gauss(500.0, 25.0) for _ in range(count)] for count in lengths], 1.0)
        for _ in range(2000)
    ]

    for odds in (1.0, 2.0, 3.0, 4.0):
        assert sum(found > odds for found in tries) <= 2000 * exp(-odds)


def test_a_device_that_drifts_strays_from_its_line():
    drifting = [1000.0 + 40.0 * (n % 8 if n % 16 < 8 else 8 - n % 8) for n in range(24)]

    assert makes_up([drifting], 1.0) == 0.0


def test_what_looks_are_off_by_anyway_says_nothing():
    draw = random.Random(1)

    assert max(makes_up([late_looks(40, 0.002, draw)], 1.0) for _ in range(200)) == 0.0


@pytest.mark.parametrize("stretches", [[], [[]], [[500.0]], [[500.0] * 12]])
def test_of_nothing_and_of_what_does_not_move_it_says_nothing(stretches):
    assert makes_up(stretches, 1.0) == 0.0


def test_latency_that_follows_demand_is_straight_and_a_devices_is_not():
    assert is_straight([10.0 + 0.5 * n for n in range(12)], 0.012)
    assert not is_straight([10.0 + (0.5, -0.6, 0.2, -0.3)[n % 4] for n in range(12)], 0.012)
    assert not is_straight([10.0] * 3, 0.012)
