"""Known limits: two clean seconds begin throttling, one overwhelming one does, and it ends at once
where nothing is outstanding any more.
"""

import pytest

from ioplateau.judge.known import Claim, Signs
from ioplateau.judge.signals import Queue
from ioplateau.judge.window import Level
from ioplateau.limits.budgets import Burst, Dimension, Direction, Limit, Origin

P10 = Limit(Dimension.IOPS, Direction.TOTAL, 500.0, Origin.CATALOGUE)
DEEP = Signs(Queue.DEEP)
FREE = Signs(Queue.NONE)
OVERWHELMING = Signs(Queue.DEEP, waiting=30.0, excess=8.0)
FLAT = Level(500.0, 0.004, 12)


def after(*blocks, limit=P10, seconds=1.0):
    claim = Claim(limit)
    for rate, signs in blocks:
        claim.step(rate, seconds, signs)
    return claim


def test_one_second_at_the_limit_with_a_queue_is_not_enough():
    assert not after((500.0, DEEP)).on


def test_two_seconds_at_the_limit_with_a_queue_are():
    assert after((500.0, DEEP), (501.0, DEEP)).on


def test_one_second_with_an_overwhelming_queue_is():
    assert after((500.0, OVERWHELMING)).on


def test_what_is_outstanding_at_both_ends_of_a_second_waits_whatever_the_time_of_those_done():
    # A window's refill serves at once who came first; the others show only in the count.
    assert after((500.0, Signs(Queue.NONE, came=14.0, left=14.0))).on


def test_four_half_seconds_do_as_much_as_two_seconds():
    assert not after(*[(500.0, DEEP)] * 3, seconds=0.5).on
    assert after(*[(500.0, DEEP)] * 4, seconds=0.5).on


def test_the_limit_without_a_queue_is_an_application_near_it():
    assert not after(*[(500.0, FREE)] * 60).on


def test_a_queue_below_the_limit_is_not_this_limit():
    assert not after(*[(400.0, DEEP)] * 60).on


def test_one_odd_second_does_not_end_throttling():
    assert after(*[(500.0, DEEP)] * 5, (430.0, DEEP)).on


@pytest.mark.parametrize(
    ("waiting", "was_alone", "is_held"),
    [(1.5, False, False), (1.5, True, True), (3.0, False, True)],
)
def test_one_or_two_that_wait_by_a_guess_are_no_gust(waiting, was_alone, is_held):
    """Once found, a limit is not kept up by a request or two of which nobody knows what they take."""
    few = Signs(Queue.STRONG, waiting=waiting, excess=8.0, left=1.5, was_alone=was_alone)

    assert after(*[(500.0, DEEP)] * 5, *[(400.0, few)] * 6).on is is_held


def test_what_was_done_before_it_was_left_far_behind_is_in_no_sum():
    """640 and 360 in a row are twice 500; with a minute of 50 between them, in which nothing waits, they are not."""
    claim, again = Claim(P10), Claim(P10)
    for each in (claim, again):
        each.step(640.0, 1.0, DEEP)
    again.pass_by(50.0, 1.0)
    for each in (claim, again):
        each.step(360.0, 1.0, DEEP)

    assert claim.belief.seconds > 0
    assert again.belief.seconds == 0


@pytest.mark.parametrize(("rate", "is_held"), [(1000.0, True), (1500.0, False)])
def test_a_limit_that_lets_more_pass_than_its_bucket_holds_is_gone(rate, is_held):
    stand = OVERWHELMING._replace(came=20.0, left=20.0)

    assert after(*[(500.0, stand)] * 5, (rate, stand)).on is is_held


def test_a_standing_queue_that_goes_slower_than_the_limit_is_a_slower_devices():
    """A limit that binds lets as much pass as it allows: a second below it is no gust while requests stand."""
    gusts = Signs(Queue.DEEP, waiting=30.0, excess=8.0, came=14.0, left=14.0)
    stands = gusts._replace(stands=True, counted=True)

    assert after((500.0, gusts), *[(425.0, gusts)] * 5).on
    assert not after((500.0, stands), *[(425.0, stands)] * 5).on


@pytest.mark.parametrize(
    ("rate", "ripple", "is_held"),
    [(425.0, 0.004, False), (425.0, 0.2, True), (450.0, 0.004, True)],  # the last: told 10 % wrong
)
def test_a_rate_that_stands_still_below_a_limit_comes_in_no_gusts(rate, ripple, is_held):
    """The second near it was chance: something else holds what waits where it stands now."""
    below = OVERWHELMING._replace(level=Level(rate, ripple, 3))

    assert after((500.0, OVERWHELMING), *[(rate, below)] * 3).on is is_held


def test_a_slower_device_that_comes_near_the_limit_for_a_second_is_not_held_by_it():
    """Requests stood all the time: a limit would have let all pass that it gives, but for one burst."""
    stands = Signs(Queue.DEEP, waiting=30.0, excess=8.0, came=30.0, left=30.0, stands=True)
    slow, near = (400.0, stands), (492.0, stands)

    assert not after(*[slow] * 12, near, slow).on
    assert after(*[slow] * 12, near, near).on


@pytest.mark.parametrize(
    ("rate", "busy", "seconds", "is_held"),
    [
        (350.0, 0.7, 5.0, True),
        (350.0, 0.7, 10.0, True),
        (420.0, 0.7, 5.0, False),  # faster than the limit while something was outstanding
        (300.0, 0.7, 5.0, False),  # slower: the device's own pace
        (150.0, 0.3, 5.0, False),  # for a small part only
    ],
)
def test_a_flush_that_ends_before_a_long_block_kept_to_the_limit_while_it_lasted(
    rate, busy, seconds, is_held
):
    flush = Signs(Queue.DEEP, waiting=200.0, excess=900.0, busy=busy, busy_most=busy)

    assert after(*[(rate, flush)] * 3, seconds=seconds).on is is_held


def test_it_ends_at_once_where_nothing_is_outstanding_any_more():
    assert not after(*[(500.0, DEEP)] * 5, (200.0, FREE)).on


def test_limits_are_enforced_a_little_above_what_is_sold():
    assert after(*[(515.0, DEEP)] * 3).on
    assert not after(*[(540.0, DEEP)] * 3).on


def test_a_tolerance_of_the_source_widens_the_limit():
    loose = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 100.0, Origin.CATALOGUE, tolerance=0.05)

    assert after(*[(108.0, DEEP)] * 3, limit=loose).on


def test_the_burst_limit_is_tested_beside_the_base():
    bursting = Limit(Dimension.IOPS, Direction.TOTAL, 500.0, Origin.CATALOGUE, burst=Burst(3500.0))

    assert after(*[(3500.0, DEEP)] * 3, limit=bursting).value == 3500.0
    assert after(*[(500.0, DEEP)] * 3, limit=bursting).value == 500.0


def test_below_a_burst_that_was_reached_the_share_is_of_the_burst_at_any_rate():
    bursting = Limit(Dimension.IOPS, Direction.TOTAL, 500.0, Origin.CATALOGUE, burst=Burst(3500.0))
    claim = after(*[(3500.0, DEEP)] * 3, *[(350.0, FREE)] * 6, limit=bursting)
    assert claim.reached == 0.1

    claim.pass_by(70.0, 1.0)

    assert claim.reached == 0.02


@pytest.mark.parametrize(
    ("waiting", "excess", "is_held"),
    [
        (1.4, 2.5, True),
        (0.9, 9.0, True),
        (1.4, 0.5, False),
        (0.4, 9.0, False),
        (17.0, 0.17, False),  # of a hundred at a time a device's ripple alone is as many
    ],
)
def test_few_that_wait_long_are_held_back_by_a_limit_that_they_stand_at(waiting, excess, is_held):
    """(1.4, 2.5): two large reads at a time, of which each takes 3.5 times what it took alone."""
    signs = Signs(Queue.NONE, waiting=waiting, excess=excess)

    assert after(*[(500.0, signs)] * 2).on is is_held


def test_little_waiting_counts_when_rate_and_latency_are_both_steady():
    locked = Signs(Queue.WEAK, FLAT, Level(0.002, 0.004, 12), excess=0.4)
    drifting = Signs(Queue.WEAK, FLAT, Level(0.002, 0.07, 12), excess=0.4)

    assert after(*[(496.0, locked)] * 4).on
    assert not after(*[(496.0, drifting)] * 30).on


def test_little_waiting_counts_at_a_steady_rate_of_all_that_is_sold():
    # 16 at a time where 14 would do: 5,050 of 5,000, and latency follows the application's threads.
    uneven = Level(0.0027, 0.08, 12)
    sold, below = Level(505.0, 0.003, 12), Level(496.0, 0.003, 12)

    assert after(*[(505.0, Signs(Queue.WEAK, sold, uneven, excess=0.3))] * 2).on
    assert not after(*[(496.0, Signs(Queue.WEAK, below, uneven, excess=0.3))] * 60).on


@pytest.mark.parametrize(
    ("mean", "spread", "seconds", "is_held"),
    [
        (505.0, 0.003, 1.0, True),
        (496.0, 0.003, 1.0, True),
        (485.0, 0.001, 1.0, False),  # its own pace, below what is sold
        (505.0, 0.008, 1.0, False),  # it ripples as devices do
        (505.0, 0.003, 5.0, False),  # so little is left of that in five seconds
        (505.0, 0.002, 5.0, True),
    ],
)
def test_one_at_a_time_at_what_is_sold_keeps_a_pace_that_no_device_keeps(
    mean, spread, seconds, is_held
):
    level, latency = Level(mean, spread, 12), Level(1 / mean, spread, 12)
    single = Signs(Queue.NONE, level, latency, is_single=True)

    assert after(*[(mean, single)] * 9, seconds=seconds).on is is_held


@pytest.mark.parametrize(
    ("spread", "times_move", "is_held"),
    [
        (0.001, 0.02, True),  # a worker that is late now and then: the limit makes up for it
        (0.004, 0.3, True),  # bytes at a limit, of requests of many sizes
        (0.02, 0.02, False),  # a device: its rate moves as its times do
        (0.008, 0.02, False),  # it ripples as devices do
    ],
)
def test_one_at_a_time_whose_times_move_while_its_rate_does_not_is_held_by_a_limit(
    spread, times_move, is_held
):
    level, latency = Level(501.0, spread, 12), Level(1 / 501, times_move, 12)
    single = Signs(Queue.NONE, level, latency, is_single=True)

    assert after(*[(501.0, single)] * 9).on is is_held


@pytest.mark.parametrize(
    ("rate", "waiting", "was_free", "is_held"),
    [
        (500.0, 16.0, False, True),
        (490.0, 16.0, False, False),
        (500.0, 1.0, False, False),
        (500.0, 16.0, True, False),
    ],
)
def test_many_that_wait_a_little_are_held_only_at_what_is_sold(rate, waiting, was_free, is_held):
    """However short the level stands, as where demand has just come down to it."""
    level = Level(rate, 0.03, 3)
    many = Signs(Queue.WEAK, level, level, waiting=waiting, excess=0.4, was_free=was_free)

    assert after(*[(rate, many)] * 3).on is is_held


def test_little_waiting_below_what_is_sold_ends_what_was_found():
    little = Signs(Queue.WEAK, Level(480.0, 0.002, 12), Level(0.0027, 0.08, 12), excess=0.3)

    assert after(*[(480.0, DEEP)] * 3).on
    assert not after(*[(480.0, DEEP)] * 3, *[(480.0, little)] * 9).on


def test_but_not_where_as_much_was_done_while_nobody_waited():
    own = Signs(
        Queue.WEAK, Level(505.0, 0.003, 12), Level(0.0027, 0.08, 12), excess=0.3, was_free=True
    )

    assert not after(*[(505.0, own)] * 60).on


@pytest.mark.parametrize(("seconds", "least"), [(1.0, 4), (5.0, 3)])
def test_how_long_it_must_have_stood_is_asked_in_seconds_but_for_three_blocks(seconds, least):
    def signs(blocks):
        return Signs(Queue.WEAK, Level(505.0, 0.003, blocks), Level(0.0027, 0.08, 12), excess=0.3)

    assert not after(*[(505.0, signs(least - 1))] * 9, seconds=seconds).on
    assert after(*[(505.0, signs(least))] * 2, seconds=seconds).on


@pytest.mark.parametrize("rate", [480.0, 486.0, 492.0])
def test_an_application_at_its_own_pace_just_below_a_limit_is_not_held_by_it(rate):
    locked = Signs(Queue.WEAK, Level(rate, 0.001, 12), Level(0.002, 0.004, 12), excess=0.4)

    assert not after(*[(rate, locked)] * 30).on


def test_two_seconds_of_which_one_is_nothing_and_one_twice_the_limit_follow_its_line():
    steep = Signs(Queue.DEEP, waiting=15.0, excess=60.0, left=16.0)

    assert after(*[(1000.0, steep), (0.0, steep)] * 3).on


def test_a_limit_above_takes_the_blame_unless_this_rate_is_flat():
    pushed = Signs(Queue.DEEP, Level(500.0, 0.05, 12), elsewhere=True)
    own = Signs(Queue.DEEP, FLAT, elsewhere=True)

    assert not after(*[(450.0, pushed), (500.0, pushed), (430.0, pushed)] * 5).on
    assert after(*[(500.0, own)] * 10).on


def test_below_a_limit_above_a_disk_at_its_own_is_known_by_its_sum_within_ten_seconds():
    """Whatever level it had before: eight seconds on its line are asked for, not eight blocks."""
    moved = Signs(Queue.DEEP, Level(520.0, 0.05, 4), waiting=26.0, excess=4.8, elsewhere=True)

    assert not after((700.0, moved), *[(500.0, moved)] * 7).on
    assert after((700.0, moved), *[(500.0, moved)] * 9).on
    assert after((700.0, moved), *[(500.0, moved)] * 2, seconds=5.0).on
    assert not after(*[(450.0, moved), (500.0, moved), (430.0, moved)] * 5, seconds=5.0).on


def test_a_steady_share_of_cache_misses_makes_up_the_limit():
    hidden = Signs(Queue.DEEP, hidden=200.0)

    assert after(*[(440.0, hidden)] * 12).on


def test_the_score_survives_a_restart():
    before, again = after(*[(500.0, DEEP)] * 4), Claim(P10)
    again.restore(before.memory())

    assert again.on
    assert again.belief.seconds == pytest.approx(2.5)


def part(rate, busy, excess=8.0):
    return rate, Signs(Queue.STRONG, waiting=2.0, excess=excess, left=3.0, busy=busy)


def test_a_limit_that_has_bound_before_binds_for_a_part_of_two_seconds():
    """Half a second at 500 a second and half with little to do is 260 operations, 0.5 s busy."""
    bound = [(500.0, DEEP)] * 12
    rest = [(20.0, FREE)] * 5

    half = part(260.0, busy=0.5)

    assert after(*bound, *rest, half, half).on
    assert not after(*bound, *rest, half).on
    assert not after(*rest, half, half).on


@pytest.mark.parametrize(
    ("rate", "busy", "excess"),
    [
        (260.0, 1.0, 8.0),  # busy all the time, and less was done than the limit gives
        (260.0, 0.5, 1.0),  # busy means served here, not waiting
        (30.0, 0.05, 8.0),  # too little to be any limit's
        (700.0, 0.5, 8.0),  # more than it allows
    ],
)
def test_what_was_not_done_at_its_pace_while_busy_is_not_held_by_it(rate, busy, excess):
    bound = [(500.0, DEEP)] * 12
    rest = [(20.0, FREE)] * 5

    assert not after(*bound, *rest, *[part(rate, busy, excess)] * 4).on


@pytest.mark.parametrize(
    ("rate", "busy"), [(300.0, 0.37), (220.0, 0.3), (400.0, 0.6), (450.0, 0.8)]
)
def test_a_steady_rate_below_it_that_exceeds_it_while_busy_is_the_applications_own(rate, busy):
    """A machine too busy to serve its requests at once, measured with write-back at 0.6 of a limit:
    they take four times as long, and each second does the same.
    """
    bound, rest = [(500.0, DEEP)] * 12, [(20.0, FREE)] * 5
    waits = Signs(Queue.NONE, waiting=1.5, excess=4.0, busy=busy)

    steady = (rate, waits._replace(level=Level(rate, 0.003, 8)))
    uneven = (rate, waits._replace(level=Level(rate, 0.08, 8)))

    assert not after(*bound, *rest, *[steady] * 8).on
    assert after(*bound, *rest, *[uneven] * 8).on


def test_one_late_look_at_what_stands_above_a_limit_is_no_second_at_it():
    """A disk of 200 that was sold as one of 180; a look comes late by a tenth of a second."""
    told = P10._replace(value=180.0)
    above = OVERWHELMING._replace(level=Level(200.0, 0.003, 9))
    steady = [(200.0, above)] * 9

    assert not after(*steady, (179.0, above), (222.0, above), *steady, limit=told).on
    assert not after((40.0, above), *steady, limit=told).on


def test_a_rate_that_falls_to_a_limit_is_held_from_its_second_second_on():
    before = OVERWHELMING._replace(level=Level(3500.0, 0.003, 9))

    assert after(*[(3500.0, before)] * 9, (500.0, before), (500.0, OVERWHELMING)).on


def test_long_blocks_are_not_smoothed_beyond_what_was_done():
    assert after(*[(400.0, FREE)] * 6, seconds=10.0).smooth == pytest.approx(400.0)


def test_a_share_of_missed_reads_that_wanders_makes_up_no_limit():
    """A host's cache misses a steady share of what it is asked."""
    rates = [460.0, 330.0, 420.0, 470.0] * 30
    hidden = Signs(Queue.DEEP, hidden=200.0)

    assert not any(after(*[(rate, hidden) for rate in rates[:n]]).on for n in range(1, 121))
