"""Limits nobody documents: flat under a queue, again and again, and never without one."""

import json
import random
from itertools import chain

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.known import Claim
from ioplateau.judge.learned import Plateau
from ioplateau.judge.memory import SavedPlateau
from ioplateau.judge.signals import WatchedFlow
from ioplateau.limits.budgets import Dimension, Direction, Limit, Origin
from ioplateau.saved import read, write

CALM = [(100.0 + 10 * (n % 3), 0.002) for n in range(8)]


def told(
    blocks,
    plateau=None,
    *,
    allowed=True,
    allowed_from=0,
    limits=(),
    doubts=0,
    settled=True,
    hints=(),
    size=4096.0,
    seconds=1.0,
):
    plateau = plateau or Plateau()
    watched = WatchedFlow()
    for place, (rate, wait) in enumerate(blocks):
        tick = FlowTick(
            seconds,
            read_operations_per_second=rate,
            read_bytes_per_second=rate * size,
            read_await_seconds=wait,
            busy_ratio=1.0 if rate * wait > 1 else 0.5,
            in_flight=round(rate * wait),
        )
        watched.look(tick, place * seconds, seconds)
        may = allowed and place >= allowed_from
        plateau.step(
            watched,
            seconds,
            told=[Claim(limit) for limit in limits],
            doubts=doubts,
            allowed=may,
            settled=settled,
            hints=hints,
        )
    return plateau


def held(rate=500.0, depth=16, count=12, ripple=0.002):
    rates = [rate * (1 + ripple * (-1) ** n) for n in range(count)]
    return [(each, depth / each) for each in rates]


def restarted(plateau):
    again = Plateau()
    again.restore(read(SavedPlateau, json.loads(json.dumps(write(plateau.memory()))), "plateau"))
    return again


def test_late_looks_do_not_end_what_has_just_been_found():
    """Counters that are read a tenth too late: less before, as much more after."""
    found = next(each for n in range(3, 12) if told(each := [*CALM, *held(count=n)]).on)
    late = [(rate, 16 / rate) for rate in (442.0, 562.0, 529.0, 471.0, 442.0, 562.0)]

    assert all(told([*found, *late[:count]]).on for count in range(len(late) + 1))


def saturated(seed, *, makes_up=False):
    """A device that serves many at a time, all it can: the rate of each second is by chance, and the
    time per request is what Little's law makes of it. makes_up: one second for the one before.
    """
    r = random.Random(seed)
    rate, ripple = r.uniform(300.0, 3000.0), r.uniform(0.010, 0.014)
    depth = rate * r.uniform(0.014, 0.03)
    by_chance = [r.gauss(0.0, ripple) for _ in range(23)]
    late = [ripple * (-1) ** n * r.uniform(0.5, 1.3) for n in range(23)]
    rates = [rate * (1 + each) for each in (late if makes_up else by_chance)]
    return [(each, depth / each) for each in rates]


def test_a_time_per_request_that_moves_as_the_rate_does_shows_no_late_look():
    """Of forty drawn devices, told of a limit far away, one or two are taken for one; thirty were."""
    seeds = range(31, 71)

    assert sum(told(saturated(seed), doubts=1).on for seed in seeds) <= 2


@pytest.mark.parametrize("seed", [31, 32, 33])
def test_what_one_second_makes_up_for_another_is_a_limiters(seed):
    assert told(saturated(seed, makes_up=True)).on


@pytest.mark.parametrize("seed", [81, 82, 83])
def test_what_begins_later_is_no_flatter_for_that(seed):
    """Small requests of one size, after larger ones: of a first block in which both were done, the
    bytes begin anew where the operations only dip.
    """
    r = random.Random(seed)
    rate, size = r.uniform(150.0, 2000.0), r.choice([4096.0, 8192.0])
    plateau, watched = Plateau(), WatchedFlow()
    for place in range(24):
        done, each, wait = rate * (1 + r.uniform(-0.004, 0.004)), size, r.uniform(11, 13) / rate
        if place < 6:
            done, wait = r.uniform(0.2, 0.4) * rate, 0.5 / rate
        elif place == 6:
            done, each = r.uniform(0.965, 0.985) * rate, size * r.uniform(1.18, 1.3)
        tick = FlowTick(
            1.0, done, 0.0, done * each, 0.0, wait, None, done * wait, round(done * wait), 1.0
        )
        watched.look(tick, float(place), 1.0)
        plateau.step(watched, 1.0, allowed=True)
        assert not plateau.on or plateau.dimension is Dimension.IOPS

    assert plateau.on


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("factor", [0.94, 1.06])
def test_requests_of_one_size_have_no_limit_of_operations_beside_one_of_bytes(seed, factor):
    """Of 1 MiB each, at a limit of bytes that moves: the new level is doubted, and in operations as well."""
    r = random.Random(seed)
    rates = [96.0 * r.gauss(1, 0.006) for _ in range(100)]
    rates += [96.0 * factor * r.gauss(1, 0.006) for _ in range(100)]
    plateau = told([*CALM, *[(each, 16 / each) for each in rates]], size=1024.0**2)

    assert not [limit for limit in plateau.met() if limit.dimension is Dimension.IOPS]


def two_at_a_time(seed, excess):
    """One at a time, then two: a time per request of 1 + excess times the floor, and a little that
    the application takes in between.
    """
    r = random.Random(seed)
    floor = r.uniform(0.001, 0.006)
    wait = floor * (1 + excess)
    rate = 2 * r.uniform(0.94, 0.98) / wait
    calm = [(r.uniform(0.3, 0.6) / floor, floor) for _ in range(8)]
    rates = [rate * (1 + r.uniform(-0.006, 0.006)) for _ in range(20)]
    return [*calm, *[(each, wait * r.uniform(0.99, 1.01)) for each in rates]], rate


@pytest.mark.parametrize("seed", [41, 42, 43])
def test_two_at_a_time_wait_where_the_device_would_have_nothing_to_do(seed):
    blocks, rate = two_at_a_time(seed, random.Random(seed).uniform(1.7, 3.6))
    plateau = told(blocks)

    assert plateau.on
    assert plateau.value == pytest.approx(rate, rel=0.005)


@pytest.mark.parametrize("seed", [44, 45, 46])
def test_two_at_a_time_that_are_served_one_after_the_other_do_not(seed):
    blocks, _ = two_at_a_time(seed, 1.0)

    assert not told(blocks).on


def test_more_than_a_late_look_can_tell_ends_what_was_found():
    found = [*CALM, *held(count=7)]

    assert not told([*found, *[(640.0, 16 / 640.0)] * 3]).on


def test_a_trickle_that_ends_was_no_limit():
    """Calls trickle through a frozen server, one a second, until it answers all at once."""
    trickle = [(1.0, 4.0)] * 20
    over = told([*CALM, *trickle, (35.0, 0.3), (131.0, 0.03)], allowed_from=len(CALM) + 20)

    assert not over.on
    assert not over.met()


def test_a_flat_rate_under_a_deep_queue_becomes_a_limit_within_seconds():
    plateau = told([*CALM, *held(count=7)])

    assert plateau.on
    assert plateau.value == pytest.approx(500.0, rel=0.003)
    assert plateau.dimension is Dimension.IOPS


def gusts(level, seed, count=90):
    """Demand that reaches a level for a second or two at a time, and else waits below it."""
    random_of = random.Random(seed)
    blocks = []
    while len(blocks) < count:
        for _ in range(random_of.choice((1, 1, 2))):
            rate = level(random_of)
            blocks.append((rate, 14 / rate))
        for _ in range(random_of.choice((1, 2, 3))):
            rate = random_of.uniform(250.0, 460.0)
            blocks.append((rate, 6 / rate))
    return blocks


@pytest.mark.parametrize("seed", range(6))
def test_a_level_that_is_only_ever_met_for_a_second_or_two_is_learned(seed):
    plateau = told([*CALM, *gusts(lambda random_of: 500.0 * random_of.uniform(0.996, 1.004), seed)])

    assert [limit.value for limit in plateau.met()] == [pytest.approx(500.0, rel=0.005)]


@pytest.mark.parametrize("seed", range(6))
def test_a_device_that_is_about_as_fast_each_time_has_met_no_limit(seed):
    plateau = told([*CALM, *gusts(lambda random_of: random_of.gauss(500.0, 20.0), seed)])

    assert not plateau.met()


def test_a_level_met_before_is_seen_in_the_parts_of_seconds_for_which_it_binds():
    """300 operations in 0.55 s busy of which most waited: it was held at 500 meanwhile."""
    plateau = told([*CALM, *held(count=16), *CALM])
    assert not plateau.on
    watched = WatchedFlow()
    for second in range(8):
        watched.look(FlowTick(1.0, 100.0, 0.0, 409600.0, 0.0, 0.002, busy_ratio=0.2), second, 1.0)
    part = FlowTick(1.0, 300.0, 0.0, 1228800.0, 0.0, 0.012, busy_ratio=0.55, in_flight=3)
    for second in (8.0, 9.0):
        watched.look(part, second, 1.0)
        plateau.step(watched, 1.0, allowed=True)

    assert plateau.on
    assert plateau.value == pytest.approx(500.0, rel=0.003)


def test_a_steady_rate_below_a_level_met_before_that_exceeds_it_while_busy_does_not_meet_it():
    """300 operations in 0.35 s busy, second after second: what makes them wait is no limit of 500."""
    plateau = told([*CALM, *held(count=16), *CALM])
    watched = WatchedFlow()
    for second in range(8):
        watched.look(FlowTick(1.0, 300.0, 0.0, 1228800.0, 0.0, 0.002, busy_ratio=0.2), second, 1.0)
    slower = FlowTick(1.0, 300.0, 0.0, 1228800.0, 0.0, 0.012, busy_ratio=0.35, in_flight=3)
    for second in range(8, 16):
        watched.look(slower, second, 1.0)
        plateau.step(watched, 1.0, allowed=True)

        assert not plateau.on


def test_two_at_a_time_that_take_six_times_as_long_are_a_limit_as_well():
    plateau = told([*CALM, *held(rate=150.0, depth=2, count=8)])

    assert plateau.on
    assert plateau.value == pytest.approx(150.0, rel=0.003)


def test_blocks_of_many_seconds_say_more_each():
    """Of five seconds a late look blurs a fifth of what it blurs of one, and they are a fifth of the
    tries: three blocks at the level do, where five of a second are asked for.
    """
    assert told([*CALM, *held(count=3, ripple=0.0003)], seconds=5.0).on
    assert not told([*CALM, *held(count=4, ripple=0.0003)]).on


@pytest.mark.parametrize("seconds", [1, 5, 10])
@pytest.mark.parametrize("seed", range(6))
def test_what_a_device_serves_one_after_the_other_evens_out_in_long_blocks(seed, seconds):
    """By six in a thousand from second to second, as the root of time: no limit makes it even."""
    r = random.Random(seed)
    rates = [r.gauss(250.0, 1.5 / seconds**0.5) for _ in range(160 // seconds)]

    alone = [(250.0, 0.004)] * (20 // seconds)
    assert not told([*alone, *[(each, 14 / each) for each in rates]], seconds=seconds, doubts=1).on


def test_a_level_to_which_every_gust_comes_back_is_a_limit_though_none_lasts_long_enough():
    """What stands counts once for each gust, also where all of them stand at the same level."""
    gusts = [[*held(ripple=0.002 + 0.0005 * (n % 3), count=4), *CALM] for n in range(12)]

    assert not told([*CALM, *gusts[0], *gusts[1]]).on
    assert [limit.value for limit in told([*CALM, *chain(*gusts)]).met()] == [
        pytest.approx(500.0, rel=0.005)
    ]


def test_what_stands_in_gusts_stands_somewhere():
    """A slow device that is asked in gusts waits at other levels too, though never for long."""
    plateau = told(CALM)
    for rate in (450.0, 470.0, 450.0, 470.0):
        told([*CALM, *held(rate=rate, count=5)] * 4, plateau)

    assert plateau.against(Dimension.IOPS, 520.0)["elsewhere_seconds"] > 10.0


def test_long_blocks_stand_somewhere_after_some_seconds():
    plateau = told([*CALM, *held(rate=450.0, count=5)], seconds=5.0)

    assert plateau.against(Dimension.IOPS, 520.0)["elsewhere_seconds"] > 5.0


def test_a_rate_that_trembles_for_late_looks_is_flat_if_latency_is():
    late = [(100.0 * (1 + each), 0.02) for each in (0.05, -0.06, 0.0, 0.06, -0.05, 0.01) * 4]
    risen = [(100.0 * (1 + each), 0.02) for each in (0.04, 0.05, 0.02, -0.03, -0.05, -0.02) * 4]

    plateau = told([*CALM, *late])

    assert plateau.on
    assert plateau.value == pytest.approx(100.0, rel=0.03)
    assert not told([*CALM, *risen]).on


def test_a_queue_of_many_seconds_has_a_steady_latency_on_any_device():
    late = [(100.0 * (1 + each), 20.0) for each in (0.05, -0.06, 0.0, 0.06, -0.05, 0.01) * 3]

    assert not told([*CALM, *late]).on


def test_a_queue_nearly_as_long_as_a_block_has_a_steady_latency_on_any_device():
    """64 requests at a disk that does 64 to 70 a second."""
    late = [(100.0 * (1 + each), 0.9) for each in (0.05, -0.06, 0.0, 0.06, -0.05, 0.01) * 4]

    assert not told([*CALM, *late]).on


@pytest.mark.parametrize("seed", range(41, 47))
def test_what_is_done_in_whole_parts_comes_back_to_no_limit(seed):
    """A comb of rates, five percent apart, to each of which as many seconds come."""
    draw = random.Random(seed)
    teeth = [200.0 * 1.05**n for n in range(6)]
    comb = [draw.choice(teeth) * draw.uniform(0.99, 1.01) for _ in range(110)]

    assert not told([*CALM, *((rate, 16 / rate) for rate in comb)]).on


@pytest.mark.parametrize(("wait", "is_limit"), [(0.0001, False), (0.012, True)])
def test_a_rate_of_which_nearly_all_is_done_at_once_is_no_limit(wait, is_limit):
    """1,400 writes a second that a controller's cache answers, beside a few reads that wait."""
    plateau, watched = Plateau(), WatchedFlow()
    for place in range(40):
        is_calm = place < 8
        writes = 300.0 + 50 * (place % 3) if is_calm else 1400.0 * (1 + 0.002 * (-1) ** place)
        reads, slow = (1.0, 0.008) if is_calm else (14.0, 0.4)
        took = 0.0001 if is_calm else wait
        tick = FlowTick(
            1.0,
            reads,
            writes,
            reads * 4096,
            writes * 4096,
            slow,
            took,
            reads * slow + writes * took,
            round(reads * slow + writes * took),
            0.2 if is_calm else 1.0,
        )
        watched.look(tick, float(place), 1.0)
        plateau.step(watched, 1.0, allowed=True)

    assert plateau.on is is_limit


@pytest.mark.parametrize("seed", range(8))
def test_a_latency_that_wanders_makes_no_limit_of_an_applications_own_rate(seed):
    """For some seconds it may lie on a straight line."""
    random_of = random.Random(seed)
    blocks, off = [(500.0, 0.002)] * 12, 0.0
    for _ in range(240):
        off = 0.95 * off + random_of.gauss(0.0, 0.02)
        blocks.append((500.0 * random_of.uniform(0.999, 1.001), 0.011 * (1 + off)))

    assert not told(blocks).met()


def test_requests_of_no_bytes_have_no_limit_in_bytes():
    """Reads at the end of a file over NFS answer nothing."""
    plateau = told([*CALM, *gusts(lambda random_of: random_of.gauss(500.0, 20.0), 1)], size=0.0)

    assert not plateau.met()


def test_large_requests_make_it_a_limit_in_bytes():
    plateau = told([*CALM, *held()], size=262144.0)

    assert plateau.dimension is Dimension.THROUGHPUT


def test_a_flat_rate_without_a_queue_is_the_application():
    assert not told([(500.0, 0.002)] * 60).on


def test_a_queue_without_a_flat_rate_is_an_overloaded_device():
    for seed in range(10):
        numbers = random.Random(seed)
        wild = [(500.0 * numbers.gauss(1.0, 0.12), 0.05) for _ in range(60)]

        assert not told([*CALM, *wild]).on


def test_an_applications_own_rate_on_a_device_that_became_slow_is_no_limit():
    free = [(500.0, 0.002)] * 10
    slow = [(500.0, 0.02 * (1 + 0.2 * (n % 3))) for n in range(10)]

    assert not told([*free, *slow]).on


def paced(*stretches):
    """Rate, seconds of one request, blocks: a rate trembles by half a percent, a request's time by a tenth."""
    r = random.Random(7)
    return [
        (rate * r.gauss(1, 0.005), takes * r.gauss(1, 0.1))
        for rate, takes, blocks in stretches
        for _ in range(blocks)
    ]


def test_a_level_is_an_applications_own_beside_others_it_has_for_longer():
    free = paced((400.0, 0.002, 60), (640.0, 0.002, 12), (900.0, 0.002, 90))
    slow = paced((640.0, 0.03, 20))
    plateau = told([*free, *slow])

    assert not plateau.on
    assert told([*free, *paced((520.0, 0.03, 20))]).on  # which it never had


def test_two_long_blocks_are_enough_to_see_a_level_of_the_applications_own():
    often = paced(*[(rate, 0.002, 2) for rate in (400.0, 640.0, 900.0)] * 3)

    assert not told([*often, *held(rate=640.0, ripple=0.0005)], seconds=10.0).on
    assert told([*often, *held(rate=520.0, ripple=0.0005)], seconds=10.0).on


def test_many_short_levels_do_not_let_an_applications_own_be_forgotten():
    free = paced((640.0, 0.002, 20), *[(100.0 * 1.15**n, 0.002, 4) for n in range(12)])

    assert not told([*free, *paced((640.0, 0.03, 20))]).on


@pytest.mark.parametrize(("other", "is_found"), [(0.03, True), (0.03 * 900 / 640, False)])
def test_what_takes_as_long_at_another_rate_is_a_slow_device(other, is_found):
    """At a limit a request takes the longer, the less is allowed of what as many ask for."""
    before = paced((900.0, other, 4))

    assert told([*CALM, *before, *paced((640.0, 0.03 * 900 / 640, 14))]).on is is_found


def test_two_long_blocks_tell_how_long_it_takes_at_another_rate():
    before = paced((900.0, 0.03, 2))

    assert not told([*CALM, *before, *held(640.0, depth=19, ripple=0.0005)], seconds=10.0).on
    assert told([*CALM, *before, *held(640.0, depth=27, ripple=0.0005)], seconds=10.0).on


def test_gusts_that_take_as_long_say_nothing_of_a_level():
    """They wait, but do not stay: each is all that was handed over at once."""
    gusts = [(rate, wait) for n in range(4) for rate, wait in [(300.0, 0.03), (80.0, 0.002)]]

    assert told([*CALM, *gusts, *paced((640.0, 0.03, 14))]).on


def test_what_shows_a_flat_rate_to_be_no_limits_is_told():
    drawn = WatchedFlow()
    free = told(paced((400.0, 0.002, 60), (640.0, 0.002, 12)))
    longer = told([*CALM, *paced((900.0, 0.03, 4), (640.0, 0.03, 14))])
    drawn.operations = 640.0

    assert free.against_any(drawn) == {"own_level": 640.0}
    assert longer.against_any(drawn) == {"as_long_at": pytest.approx(900.0, rel=0.01)}
    assert told(CALM).against_any(drawn) == {}


@pytest.mark.parametrize(("seconds", "is_found"), [(4, True), (60, False)])
def test_a_demand_that_passes_a_level_on_its_way_has_not_held_it(seconds, is_found):
    """It rises to what is asked at the limit, stays for seconds while nobody waits, and asks for more."""
    rising = [(200.0 + 5 * n, 0.002) for n in range(60)]
    at_it = [(500.0 * (1 + 0.003 * (-1) ** n), 0.002) for n in range(seconds)]

    r = random.Random(91)
    asked = [(rate, r.uniform(0.03, 0.09)) for rate, _ in held(500.0, count=16)]

    assert told([*CALM, *rising, *at_it, *asked]).on is is_found


def test_a_lower_level_than_was_free_before_needs_long_and_flat_evidence():
    free = [(900.0, 0.002)] * 10

    assert not told([*free, *held(count=12)]).on
    assert told([*free, *held(count=40)]).on
    assert told([*free, *held(count=6)], seconds=5.0).on


@pytest.mark.parametrize("seed", range(6))
def test_a_lower_level_than_was_free_before_is_one_to_which_gusts_come_back(seed):
    """Buffered writes after the credits are spent: a queue of some seconds at a time, never a long one."""
    free = [(900.0, 0.002)] * 10

    def in_gusts(level):
        random_of = random.Random(seed)
        for _ in range(24):
            yield from [(rate, 14 / rate) for rate in (level(random_of) for _ in range(3))]
            yield from [(random_of.uniform(250.0, 460.0), 0.002) for _ in range(2)]

    met = told([*free, *in_gusts(lambda random_of: 500.0 * random_of.uniform(0.996, 1.004))]).met()
    assert [limit.value for limit in met] == [pytest.approx(500.0, rel=0.005)]
    assert not told([*free, *in_gusts(lambda random_of: random_of.gauss(500.0, 20.0))]).met()


def test_a_limit_met_before_is_known_again_at_once():
    plateau = told([*CALM, *held(count=20)])
    told([*CALM, *[(50.0, 0.002)] * 5], plateau)

    assert told([*CALM, *held(count=3)], plateau).on


def test_what_a_sibling_met_is_a_hint():
    hints = [(Dimension.IOPS, 501.0)]

    assert not told([*CALM, *held(count=4, depth=6)]).on
    assert told([*CALM, *held(count=5, depth=6)], hints=hints).on


def test_a_limit_that_demand_reaches_slowly_is_found_although_nobody_waited_at_first():
    rates = [500 * (1 + 0.002 * (-1) ** n) for n in range(60)]
    plateau = told([*CALM, *[(rate, (1 + n / 8) / rate) for n, rate in enumerate(rates)]])

    assert plateau.free.has(500.0)
    assert plateau.on
    assert plateau.value == pytest.approx(500.0, rel=0.003)


def test_a_disk_that_was_never_seen_faster_must_stay_flat_for_longer():
    short, long = (held(rate=4000.0, depth=32, ripple=0.009, count=n) for n in (8, 14))

    assert not told(short).on
    assert told(long).on
    assert told([*CALM, *short]).on


@pytest.mark.parametrize(
    ("calm", "depth", "limit", "is_found"),
    [
        (CALM, 32, 4400.0, True),
        (CALM, 32, 3650.0, True),
        (CALM, 32, 5000.0, False),
        (CALM, 32, 4080.0, False),  # so near that it binds itself, or does not
        ([], 20, 4400.0, False),  # that they wait is a guess
    ],
)
def test_a_limit_that_was_told_a_little_wrong_need_not_be_beaten(calm, depth, limit, is_found):
    told_wrong = Limit(Dimension.IOPS, Direction.TOTAL, limit, Origin.CONFIGURED)
    blocks = [*calm, *held(rate=4000.0, depth=depth, ripple=0.009, count=8 if calm else 14)]

    assert told(blocks).on
    assert told(blocks, limits=[told_wrong]).on is is_found


@pytest.mark.parametrize(("limit", "is_found"), [(4400.0, True), (3650.0, True), (5000.0, False)])
def test_a_limit_that_was_told_a_little_wrong_is_likelier_than_one_that_nobody_told(
    limit, is_found
):
    """Six blocks are too few where nothing was told, or another limit, and enough beside this one."""
    told_wrong = Limit(Dimension.IOPS, Direction.TOTAL, limit, Origin.CONFIGURED)
    blocks = [*CALM, *held(rate=4000.0, depth=32, ripple=0.009, count=6)]

    assert not told(blocks).on
    assert told(blocks, limits=[told_wrong]).on is is_found


@pytest.mark.parametrize(("depth", "is_found"), [(32, True), (11, False)])
def test_requests_of_another_size_than_was_seen_alone_wait_where_they_take_several_times_as_long(
    depth, is_found
):
    watched, plateau = WatchedFlow(), Plateau()
    blocks = [(rate, wait, 4096) for rate, wait in CALM]
    blocks += [(rate, wait, 16384) for rate, wait in held(2000.0, depth, 8, ripple=0.009)]
    for second, (rate, wait, size) in enumerate(blocks):
        held_now = round(rate * wait)
        tick = FlowTick(1.0, rate, 0.0, rate * size, 0.0, wait, None, held_now, held_now, 1.0)
        watched.look(tick, second, 1.0)
        plateau.step(watched, 1.0, allowed=True)

    assert watched.was_alone
    assert not watched.own
    assert plateau.on is is_found


def test_latency_that_trembles_at_an_applications_own_rate_is_a_slow_device():
    random_numbers = random.Random(3)
    waits = [0.016 * random_numbers.gauss(1.0, 0.04) for _ in range(60)]
    plateau = told([*CALM, *[(500.0, 0.002)] * 10, *[(500.0, wait) for wait in waits]])

    assert not plateau.on


def test_nothing_is_learned_where_another_limit_explains_the_queue():
    plateau = told([*CALM, *held(count=40)], allowed=False)

    assert not plateau.on
    assert not plateau.ceilings.of(Dimension.IOPS)


def test_a_limit_that_was_outgrown_is_forgotten():
    plateau = told([*CALM, *held(count=20)])
    told([(800.0, 0.002)] * 10, plateau)

    assert not plateau.ceilings.of(Dimension.IOPS)


def test_a_limit_of_bytes_speaks_against_none_of_operations():
    """While bytes are held, operations stand where the size of the requests puts them."""
    plateau = told([*CALM, *held(500.0, count=20)])
    told([*CALM, *held(400.0, count=120)], plateau, size=1048576.0)
    told([*CALM, *held(500.0, count=20)], plateau)

    assert plateau.on
    assert plateau.dimension is Dimension.IOPS
    assert plateau.value == pytest.approx(500.0, rel=0.01)


def test_levels_that_wander_are_no_limit_of_operations():
    plateau = Plateau()
    for rate in range(500, 800, 25):
        told(held(float(rate), count=20), plateau)

    assert not plateau.met()
    assert not plateau.on


@pytest.mark.parametrize("ratio", [0.6, 0.7, 0.85])
def test_the_level_after_the_credits_are_spent_is_a_limit_too(ratio):
    """Minutes at the burst's level, then as long at the base's, on which requests wait all along."""
    spent = [*CALM, *held(3500.0, count=150), *held(3500.0 * ratio, count=60)]
    plateau = told(spent)

    assert plateau.on
    assert plateau.value == pytest.approx(3500.0 * ratio, rel=0.01)


def test_a_device_that_is_slow_for_a_while_and_then_fast_again_has_no_second_limit():
    slow, fast = held(3500.0 * 0.7, count=60), held(3500.0, count=60)

    assert not told([*CALM, *fast, *slow, *fast, *slow]).on


def test_ceilings_do_not_pile_up():
    plateau = Plateau()
    for rate in range(500, 5000, 300):
        told([*CALM, *held(rate=float(rate), count=20)], plateau)

    assert len(plateau.ceilings.of(Dimension.IOPS)) <= 4


def test_learned_limits_survive_a_restart_as_json():
    before = told([*CALM, *held(count=20)])
    again = restarted(before)

    assert again.on
    assert again.value == before.value
    assert (
        again.ceilings.of(Dimension.IOPS)[0].seconds
        == before.ceilings.of(Dimension.IOPS)[0].seconds
    )


@pytest.mark.parametrize("restarts", [False, True])
def test_a_level_that_demand_only_passed_is_no_applications_own_after_a_restart_either(restarts):
    """Four of 300 calm seconds at 500; then that is the limit."""
    r = random.Random(1)
    calm = [(500.0 if 150 <= n < 154 else r.uniform(200, 800), 0.001) for n in range(300)]
    plateau = told(calm)
    if restarts:
        plateau = restarted(plateau)

    assert told(held(count=30), plateau).on


@pytest.mark.parametrize("rate", [0.5, 1.0, 2.0, 4.0])
def test_a_handful_of_calls_a_second_is_no_limit_whoever_saw_it_first(rate):
    """A daemon that starts while a server stalls has seen nothing better."""
    assert not told([(rate, 4.0)] * 60).met()


def test_nothing_new_is_learned_until_a_flow_was_watched_for_a_while():
    plateau = told(held(count=20), settled=False)

    assert not plateau.on
    assert not plateau.met()


def test_a_device_seen_with_one_request_at_a_time_is_as_slow_as_it_is():
    # An old array, or a filer far away: N / R0 is no limit.
    plateau = told([*[(40.0, 0.020)] * 10, *[(800.0, 0.020)] * 60])

    assert not plateau.on
    assert plateau.met() == ()


def test_the_queue_went_and_the_rate_stayed_so_it_is_the_applications_own():
    # Latency of two kinds, as of delayed acknowledgements or collections of garbage.
    calm, jump = [(400.0, 0.002)] * 6, [(400.0, 0.040)] * 30
    plateau = told([*calm, *jump, *calm, *jump])

    assert not plateau.on
    assert plateau.met() == ()


def coming_back(seconds, blocks):
    """A limit that was met, then nothing, and these blocks of a queue at it again."""
    plateau = told([*CALM, *held(count=20)])
    told([*CALM, *[(50.0, 0.002)] * 5], plateau)
    return told([*CALM, *held(depth=4, count=blocks)], plateau, seconds=seconds)


def test_two_long_blocks_at_a_limit_met_before_are_enough():
    """One of five seconds is no odd second at that level; of blocks of a second the first may be."""
    assert not coming_back(5.0, 1).on
    assert coming_back(5.0, 2).on
    assert not coming_back(1.0, 2).on
    assert coming_back(1.0, 3).on


def reached_slowly(seconds, trembles):
    """The rate stands at 500/s, and after a minute and a half without a queue one grows evenly."""
    draw = random.Random(9)
    blocks = []
    for second in range(0, 150, seconds):
        depth = 1.0 + max(0.0, second - 90) / 10
        wait = depth / 500.0 * draw.uniform(1 - trembles, 1 + trembles)
        blocks.append((500.0 * (1 + 0.0005 * (-1) ** second), wait))
    return told([*CALM, *blocks], seconds=float(seconds))


def test_a_queue_that_grows_evenly_is_looked_at_for_as_many_seconds_whatever_a_block_lasts():
    """What came before it grew is none of it, and sixteen long blocks reach back that far."""
    assert reached_slowly(1, 0.0).on
    assert reached_slowly(5, 0.0).on


@pytest.mark.parametrize("seconds", [1, 5])
def test_a_queue_that_grows_unevenly_at_an_applications_own_rate_is_no_limit(seconds):
    assert not reached_slowly(seconds, 0.1).on


@pytest.mark.parametrize("seconds", [1, 2, 5, 10])
def test_seconds_at_a_level_are_as_many_however_often_one_looks(seconds):
    """Thirty seconds there, of which eight are needed to see that it stands."""
    queue_comes, there = (100.0, 0.16), held(rate=450.0, count=30 // seconds)
    plateau = told([*CALM, queue_comes, *there], seconds=float(seconds))

    assert 21.0 <= plateau.against(Dimension.IOPS, 520.0)["elsewhere_seconds"] <= 24.0


def test_seconds_at_a_level_are_counted_once_though_it_is_left_and_met_again():
    odd = [(550.0, 16 / 550.0)]
    often = [*held(rate=450.0, count=4), *odd] * 3
    plateau = told([*CALM, *often], seconds=5.0)

    assert plateau.against(Dimension.IOPS, 520.0)["elsewhere_seconds"] <= 45.0


def test_seconds_at_a_level_that_another_limit_explains_are_not_booked_later():
    plateau = told([*CALM, *held(rate=450.0, count=12)], allowed_from=len(CALM) + 11, seconds=5.0)

    assert plateau.against(Dimension.IOPS, 520.0)["elsewhere_seconds"] <= 5.0


def test_all_that_speaks_for_and_against_a_level_survives_a_restart():
    before = told([*CALM, *held(count=20), *held(rate=300.0, count=20), *CALM, *held(count=20)])
    again = Plateau()
    again.restore(read(SavedPlateau, json.loads(json.dumps(write(before.memory()))), "plateau"))

    assert before.memory().stands[Dimension.IOPS]
    assert again.memory() == before.memory()


@pytest.mark.parametrize("restart", [lambda plateau: plateau, restarted])
def test_as_much_is_asked_after_a_restart_as_had_there_been_none(restart):
    """A device that wandered for long, and then stands by chance for some blocks."""
    r, chance = random.Random(3), [*CALM, *held(count=8, ripple=0.01)]
    rates = [r.uniform(300.0, 900.0) for _ in range(600)]
    wandered = told([*CALM, *((rate, 16 / rate) for rate in rates)])

    assert told(chance).on
    assert not told(chance, restart(wandered)).on


def test_a_limit_of_bytes_is_none_once_more_was_done_while_nobody_waited():
    plateau = told([*CALM, *held(count=30)], size=1048576.0)
    before = [each.value for each in plateau.ceilings.of(Dimension.THROUGHPUT)]
    told([(100.0 + n % 3, 0.002) for n in range(12)], plateau, size=16 * 1048576.0)

    assert before == [pytest.approx(500.0 * 1048576, rel=0.01)]
    assert plateau.ceilings.of(Dimension.THROUGHPUT) == []


def stalling(seed, dips):
    """A flat rate with 48 requests at a time, and after each 6 s other shares of it."""
    r = random.Random(seed)
    shares = [*[1.0] * 6, *dips] * 8
    rates = [475.0 * share * r.gauss(1, 0.005) for share in shares]
    return [*CALM, *[(rate, 48 / rate) for rate in rates]]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("dips", "binds"),
    [
        ([0.05, 0.05], False),  # what the device lost nobody makes up for
        ([0.3], False),
        ([0.3, 1.7], True),  # a bucket does
        ([0.8, 1.2], True),
    ],
)
def test_a_limit_lets_pass_all_it_gives_while_many_wait(seed, dips, binds):
    plateau = told(stalling(seed, dips))

    assert plateau.on is binds
    assert bool(plateau.met()) is binds


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slow_device_ends_a_learned_limit_soon(seed):
    r = random.Random(seed)
    rates = [275.0 * r.uniform(0.75, 1.25) for _ in range(8)]
    plateau = told([*CALM, *held(depth=32), *[(rate, 32 / rate) for rate in rates]])

    assert not plateau.on
