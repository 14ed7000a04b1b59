"""Is anybody waiting? Latency against the floor, by size and direction."""

import math
import random

import pytest

from ioplateau.judge.floors import Floors
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.memory import SavedFloor
from ioplateau.judge.signals import Queue, WatchedFlow
from ioplateau.judge.visits import Visits
from ioplateau.limits.budgets import Dimension


def reading(rate, wait, *, size=4096.0, write=False, busy=1.0, in_flight=1):
    read, written = (0.0, rate) if write else (rate, 0.0)
    return FlowTick(
        1.0,
        read_operations_per_second=read,
        write_operations_per_second=written,
        read_bytes_per_second=read * size,
        write_bytes_per_second=written * size,
        read_await_seconds=wait if read else None,
        write_await_seconds=wait if written else None,
        queue_length=rate * wait,
        in_flight=in_flight,
        busy_ratio=busy,
    )


def seen(*ticks, seconds=1.0):
    watched = WatchedFlow()
    for place, tick in enumerate(ticks):
        watched.look(tick, place * seconds, seconds)
    return watched


CALM = [reading(200.0, 0.002)] * 8


def test_the_floor_goes_half_way_down_for_one_lucky_block():
    floors = Floors()
    floors.observe(False, 4096.0, 0.0016, 0.0)

    assert floors.observe(False, 4096.0, 0.0008, 1.0)[0] == pytest.approx(0.0012, rel=1e-3)


def test_what_a_cache_answers_says_nothing_of_the_other_direction():
    """Writes of a tenth of a millisecond, and reads from the platters behind the same controller."""
    floors = Floors()
    for at in range(10):
        floors.observe(True, 4096.0, 0.0001, float(at), alone=True)
    floor, _ = floors.observe(False, 4096.0, 0.012, 10.0)

    assert floor >= 0.002


def test_a_direction_that_is_slower_than_the_guess_tells_of_the_other():
    floors = Floors()
    for at in range(10):
        floors.observe(True, 4096.0, 0.008, float(at), alone=True)
    floor, _ = floors.observe(False, 4096.0, 0.012, 10.0)

    assert floor == pytest.approx(0.008, rel=0.01)


def test_the_floor_doubles_in_some_hours_so_that_a_moved_disk_is_learned_anew():
    floors = Floors()
    for second in range(300):
        floors.observe(False, 4096.0, 0.001, float(second))
    for hour in range(1, 5):
        floor = floors.observe(False, 4096.0, 0.004, hour * 3600.0)[0]

    assert 0.0019 < floor <= 0.004


def test_a_class_without_history_is_bounded_by_the_prior():
    floor, own = Floors().observe(False, 4096.0, 0.130, 0.0)

    assert floor == pytest.approx(0.002 + 4096 / 200e6)
    assert own is None


@pytest.mark.parametrize(
    ("before", "after", "is_believed"),
    [
        (reading(1000.0, 0.012), reading(2000.0, 0.012), True),
        (
            reading(1000.0, 0.012),
            reading(1500.0, 0.012),
            False,
        ),  # it may be a little more of the same
        (
            reading(1000.0, 0.012, busy=0.5),
            reading(2000.0, 0.012),
            False,
        ),  # as busy for half of the time
        (
            reading(1000.0, 0.064),
            reading(3500.0, 0.018),
            False,
        ),  # another limit, and as many at a time
        (reading(1000.0, 0.012, size=8192.0), reading(2000.0, 0.012), False),  # as many bytes
    ],
)
def test_a_guess_gives_way_where_much_more_is_done_and_takes_no_longer(before, after, is_believed):
    """Twelve at a time that take 12 ms each, and then twenty-four: a slow device, asked for more."""
    watched = seen(*[before] * 12, *[after] * 2)

    assert (watched.excess < 0.1) is is_believed
    assert watched.floors.is_guess(0.002) is not is_believed


def test_so_it_does_for_what_was_done_in_other_sizes_before():
    """Two small ones at a time that take 9 ms each, and then seventeen larger ones: nothing held the small back."""
    watched = seen(*[reading(220.0, 0.009)] * 12, *[reading(1900.0, 0.0085, size=16384.0)] * 8)

    assert watched.excess < 0.1


def test_two_at_a_time_that_take_several_times_as_long_as_alone_wait():
    """A little less than two wait, and never more."""
    one, two = [reading(300.0, 0.003)] * 8, [reading(24.0, 0.081, size=262144.0)] * 4

    assert seen(*one, *two).queue >= Queue.STRONG
    assert seen(*two).queue < Queue.STRONG  # that may be what the device takes


def test_writes_without_data_are_as_many_as_flushes_at_most():
    write = reading(500.0, 0.002, write=True)

    assert seen(write._replace(flush_operations_per_second=60.0)).doubtful_operations == 60.0
    assert seen(write._replace(flush_operations_per_second=900.0)).doubtful_operations == 500.0
    assert (
        seen(write._replace(flush_operations_per_second=60.0), CALM[0]).doubtful_operations == 0.0
    )


def test_a_larger_request_may_take_longer_than_the_floor_of_a_small_one():
    floors = Floors()
    for second in range(10):
        floors.observe(False, 4096.0, 0.001, float(second))
    floor, _ = floors.observe(False, 1048576.0, 0.006, 10.0)

    assert 0.005 < floor <= 0.0065


def test_sixteen_requests_behind_a_limit_are_a_deep_queue():
    assert seen(*CALM, reading(500.0, 0.032)).queue is Queue.DEEP


def test_four_requests_at_twice_the_floor_are_a_queue():
    assert seen(*CALM, reading(1000.0, 0.004)).queue is Queue.STRONG


def test_a_latency_that_only_the_prior_finds_slow_is_no_strong_sign_at_low_depth():
    assert seen(*[reading(400.0, 0.005)] * 10).queue < Queue.STRONG


def test_a_queue_that_exists_part_of_the_time_is_no_limit():
    assert seen(*CALM, reading(500.0, 0.032, busy=0.6)).queue is Queue.NONE


def test_a_queue_that_grows_is_no_load_that_comes_in_step_with_the_looks():
    """More were outstanding at both looks than were answered between them, so that some always were; those that
    were answered had come while there were few.
    """
    calm = [*CALM, reading(200.0, 0.002, in_flight=0)]
    grows = [reading(76.0, 0.6, in_flight=in_flight) for in_flight in (124, 128)]
    in_step = [reading(130.0, 0.3, in_flight=in_flight) for in_flight in (124, 128)]

    assert seen(*calm, *grows).queue is Queue.DEEP
    assert seen(*calm, *in_step).queue is Queue.NONE


def test_requests_served_at_the_floor_do_not_wait():
    assert seen(*CALM).queue is Queue.NONE


def test_one_request_at_a_time_at_its_usual_latency_does_not_wait():
    assert seen(*[reading(500.0, 0.002)] * 10).queue is Queue.NONE


def test_rate_and_latency_that_both_stand_still_betray_a_bounded_queue():
    watched = seen(*[reading(500.0, 0.008)] * 60)

    assert watched.is_bounded
    assert watched.queue is Queue.STRONG


def test_a_device_that_stands_still_at_its_floor_only_looks_bounded():
    watched = seen(*[reading(4000.0, 0.001)] * 60)

    assert watched.is_bounded
    assert watched.queue is Queue.WEAK


def test_a_bounded_queue_a_third_above_its_floor_is_strong_within_nine_seconds():
    own_floor = [reading(1500.0, 0.0015)] * 10
    watched = seen(*own_floor, *[reading(4000.0, 0.002)] * 9)

    assert watched.excess < 0.6
    assert watched.queue is Queue.STRONG


@pytest.mark.parametrize("seconds", [4.99, 5.0, 5.01])
def test_two_long_blocks_alike_have_both_stood(seconds):
    """Whatever a look was late by: the second says that the first one was at this level from its begin."""
    own_floor = [reading(1500.0, 0.0015)] * 10

    one, two = (seen(*own_floor, *[reading(4000.0, 0.002)] * n, seconds=seconds) for n in (1, 2))

    assert not one.is_bounded
    assert two.is_bounded
    assert two.queue is Queue.STRONG


@pytest.mark.parametrize(("rate", "is_single"), [(490.0, True), (400.0, False), (1100.0, False)])
def test_there_is_one_at_a_time_only_if_it_is_outstanding_all_the_time(rate, is_single):
    watched = seen(*[reading(rate, 0.002)] * 12)

    assert watched.is_single is is_single
    assert watched.queue < Queue.STRONG


@pytest.mark.parametrize("seconds", [4.99, 5.0, 5.01, 10.0])
def test_a_long_block_in_which_the_level_came_has_not_stood(seconds):
    own_floor = [reading(1500.0, 0.0015)] * 10
    came = reading(2600.0, 0.0018)

    watched = seen(*own_floor, came, reading(4000.0, 0.002), seconds=seconds)

    assert not watched.is_bounded


def test_two_long_blocks_of_a_device_that_moves_have_not_stood():
    own_floor = [reading(1500.0, 0.0015)] * 10
    moves = [reading(4000.0, 0.002), reading(4000.0 * 1.012, 0.002 / 1.012)] * 4

    assert not seen(*own_floor, *moves, seconds=5.0).is_bounded


def test_the_mean_of_a_usual_size_may_tremble_within_one_class():
    floors = Floors()
    for second in range(20):
        floors.observe(True, 1048576.0 - 4000.0 * (second % 2), 0.016, float(second))

    assert len(floors.memory()) == 1


@pytest.mark.parametrize(("wait", "left"), [(0.00115, 0.0), (0.002, 36.0)])
def test_of_many_calls_a_servers_ripple_leaves_none_behind(wait, left):
    """Of NFS nobody counts what is outstanding at the end of a block."""
    calm, calls = [reading(36_000.0, each)._replace(in_flight=None) for each in (0.001, wait)]

    assert seen(*[calm] * 12, calls).left == pytest.approx(left, abs=0.5)


def test_a_device_with_nothing_completing_and_requests_in_flight_stalls():
    watched = seen(*CALM, FlowTick(1.0, in_flight=8), FlowTick(1.0, in_flight=8))

    assert watched.stalled_seconds == 2.0


def test_a_stall_is_over_when_nothing_is_outstanding_any_more():
    watched = seen(*CALM, *[FlowTick(1.0, in_flight=8)] * 5, FlowTick(1.0, in_flight=0))

    assert watched.stalled_seconds == 0.0


def test_requests_whose_time_the_kernel_does_not_count_are_seen_all_the_same():
    assert seen(*[reading(50.0, 0.0, busy=0.001, in_flight=0)] * 20).operations == 50.0


def test_what_a_stall_leaves_behind_waited_for_its_end_and_for_no_limit():
    watched = seen(*CALM, *[FlowTick(1.0, in_flight=150)] * 5)
    stalled = watched.stalled_seconds

    watched.look(reading(4900.0, 1.7), 20.0, 1.0)
    watched.resume(stalled)

    assert (watched.queue, watched.waiting, watched.excess, watched.came) == (
        Queue.NONE,
        0.0,
        0.0,
        0.0,
    )


def test_a_second_without_an_answer_may_be_a_limiters_window():
    watched = seen(*CALM, FlowTick(1.0, in_flight=150))
    stalled = watched.stalled_seconds

    watched.look(reading(4900.0, 0.5), 20.0, 1.0)
    watched.resume(stalled)

    assert watched.queue is Queue.DEEP


def test_a_trim_storm_is_no_stall():
    trim = FlowTick(1.0, in_flight=8, discard_operations_per_second=90.0)

    assert seen(*CALM, trim, trim).stalled_seconds == 0.0


def test_one_block_without_rates_changes_nothing_and_two_leave_nothing_known():
    watched = seen(*CALM)
    watched.miss()
    after_one = watched.operations
    watched.miss()

    assert after_one == 200.0
    assert watched.operations == 0.0
    assert not watched.known


@pytest.mark.parametrize("up_seconds", [100.0, 1e6])
def test_floors_survive_a_restart_however_long_the_machine_is_up(up_seconds):
    before, after = seen(*CALM), WatchedFlow()
    after.restore(before.memory(), up_seconds)
    after.look(reading(1000.0, 0.004), up_seconds + 1.0, 1.0)

    assert after.queue is Queue.STRONG


VARYING = [reading(200.0, seconds) for seconds in (0.002, 0.0024, 0.002 / 1.2)] * 4


def test_how_long_requests_take_alone_is_a_mean_and_a_spread_of_logarithms():
    watched = seen(*VARYING, reading(1000.0, 0.004, in_flight=4))
    requests, variance = watched.alone()

    assert requests == pytest.approx(1000 * 0.002)
    assert variance**0.5 == pytest.approx(1000 * 0.002 * math.log(1.2) * math.sqrt(2 / 3))


def test_until_requests_were_seen_alone_they_take_what_the_floor_says_and_do_not_vary():
    watched = seen(*VARYING[:5], reading(1000.0, 0.004, in_flight=4))
    requests, variance = watched.alone()

    assert requests == pytest.approx(watched.outstanding - watched.waiting)
    assert variance == 0.0


def test_what_a_request_takes_beside_a_queue_is_not_what_it_takes_alone():
    watched = seen(*VARYING)
    watched.beside_queue = True
    for second in range(12, 40):
        watched.look(reading(200.0, 0.006), float(second), 1.0)

    assert watched.floors.alone(False, 4096.0) == seen(*VARYING).floors.alone(False, 4096.0)


def test_how_long_requests_take_alone_survives_a_restart_and_is_missing_in_older_files():
    before, after, older = seen(*VARYING), WatchedFlow(), WatchedFlow()
    saved = before.memory()
    after.restore(saved, 100.0)
    older.restore(saved._replace(alone=()), 100.0)

    assert after.floors.alone(False, 4096.0) == before.floors.alone(False, 4096.0)
    assert older.floors.alone(False, 4096.0) is None


def test_a_look_that_finds_hardly_anything_as_the_first_block_of_a_level_ends_no_row():
    watched, visits = seen(reading(500.0, 0.02, in_flight=10)), Visits()
    watched.emptied = True
    visits.add(watched)

    assert not visits.is_parted(Dimension.IOPS, 500.0)


@pytest.mark.parametrize("counts", [True, False])
def test_whether_empty_writes_count_survives_a_restart(counts):
    after = WatchedFlow()
    after.restore(WatchedFlow().memory()._replace(counts_empty_writes=counts), 100.0)
    flushing = reading(200.0, 0.002, size=0.0, write=True)._replace(flush_operations_per_second=80)
    after.look(flushing, 101.0, 1.0)

    assert after.counts_empty_writes is counts
    assert after.operations == (200.0 if counts else 120.0)


def test_writes_past_a_hosts_read_cache_are_not_held_against_the_cache():
    """A read-only cache answers reads in no time; a write goes to the disk as ever."""
    floors = Floors((0.0005, 0.002))
    for second in range(6):
        floors.observe(False, 8192.0, 0.0003, float(second))
    for second in range(6):
        floor, _ = floors.observe(True, 8192.0, 0.0012, 6.0 + second)

    assert floor == pytest.approx(0.0012, rel=0.01)


def test_a_floor_rests_on_a_guess_until_one_request_at_a_time_was_seen():
    floors = Floors()
    floor, _ = floors.observe(False, 4096, 0.02, 0.0)
    assert floors.is_guess(floor)

    for second in range(1, 5):
        floor, _ = floors.observe(False, 4096, 0.02, float(second), alone=True)

    assert floor > 0.015
    assert not floors.is_guess(floor)


REST = reading(0.0, 0.0, in_flight=0, busy=0.0)
BUSY = [reading(400.0, 0.05, in_flight=20)] * 12
COUNTED_AT_REST = {"resting", "still", "watched_seconds"}  # held against a few of them only


def told_of(watched):
    found = {}
    for kind in type(watched).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if name not in COUNTED_AT_REST and hasattr(watched, name):
                value = getattr(watched, name)
                found[name] = value.memory() if isinstance(value, Floors) else value
    return {name: getattr(value, "values", value) for name, value in found.items()}


@pytest.mark.parametrize(("seconds", "blocks"), [(0.5, 3), (1.0, 3), (2.0, 2), (5.0, 1)])
def test_some_seconds_of_one_request_at_a_time_are_enough_to_see_what_a_device_takes(
    seconds, blocks
):
    """Of 16 ms, where a guess says 2 ms."""
    several = reading(400.0, 0.016, in_flight=6)
    few = seen(*[reading(50.0, 0.016)] * (blocks - 1), several, seconds=seconds)
    enough = seen(*[reading(50.0, 0.016)] * blocks, several, seconds=seconds)

    assert few.excess > 5.0
    assert enough.excess == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("rested", [1, 2, 3, 4, 10, 300])
@pytest.mark.parametrize("before", [CALM, BUSY], ids=["calm", "busy"])
def test_after_a_rest_nothing_differs_whether_it_was_looked_at_or_slept(before, rested):
    looked, slept = WatchedFlow(), WatchedFlow()
    skipped = 0
    for second, tick in enumerate([*before, *[REST] * rested, *BUSY, *CALM]):
        looked.look(tick, float(second), 1.0)
        if slept.sleeps_on(tick):
            skipped += 1
        else:
            slept.look(tick, float(second), 1.0)

        assert told_of(slept) == told_of(looked)
    assert skipped == max(0, rested - 3)


@pytest.mark.parametrize("wakes", [reading(1.0, 0.002), REST._replace(in_flight=1)])
def test_a_flow_wakes_with_a_request_done_or_outstanding(wakes):
    slept = seen(*CALM, *[REST] * 10)

    assert slept.sleeps_on(REST)
    assert not slept.sleeps_on(wakes)


def test_a_flow_does_not_sleep_on_while_it_is_not_known_what_it_does():
    missed, interrupted = seen(*CALM, *[REST] * 10), seen(*CALM, *[REST] * 10)
    missed.miss()
    interrupted.unsettle()

    assert not missed.sleeps_on(REST)
    assert not interrupted.sleeps_on(REST)


def gust(outstanding, *, busy, in_flight=50):
    """300 writes a second, of which so many are outstanding on average."""
    return reading(300.0, outstanding / 300.0, write=True, busy=busy, in_flight=in_flight)


@pytest.mark.parametrize(
    ("tick", "queue"),
    [
        (gust(50.0, busy=1.0), Queue.DEEP),
        (gust(50.0, busy=0.6), Queue.DEEP),  # Linux 6.1 loses some of it, and they are all there
        (gust(50.0, busy=0.4), Queue.NONE),
        (gust(30.0, busy=0.6), Queue.NONE),
        (gust(30.0, busy=1.0), Queue.DEEP),
        # Linux 6.18 may call a disk busy that rests for half of it.
        (gust(20.0, busy=1.0), Queue.NONE),
    ],
)
def test_what_is_outstanding_at_each_look_and_not_between_comes_in_step_with_the_looks(tick, queue):
    assert seen(*[reading(200.0, 0.002, write=True)] * 8, *[tick] * 6).queue is queue


def test_a_queue_that_moves_is_no_less_at_the_looks_than_between_them():
    """Sometimes fewer are outstanding between two looks than at both."""
    ticks = [gust(n, busy=0.7) for n in (60.0, 45.0, 35.0)] * 4

    assert seen(*[reading(200.0, 0.002, write=True)] * 8, *ticks).queue is Queue.DEEP


def nfs(watched, second, wait, on_wire):
    tick = reading(300.0, wait, write=True)._replace(in_flight=None, busy_ratio=None)
    watched.look(tick, float(second), 1.0, on_wire)


@pytest.mark.parametrize(
    ("on_wire", "queue"),
    [(None, Queue.DEEP), (30, Queue.DEEP), (36, Queue.DEEP), (50, Queue.NONE), (0, Queue.NONE)],
)
def test_calls_of_a_mount_that_wait_are_on_the_wire_at_the_looks_and_as_many_between(
    on_wire, queue
):
    watched = WatchedFlow()
    for second in range(8):
        nfs(watched, second, 0.002, None if on_wire is None else 1)
    for second in range(8, 14):
        nfs(watched, second, 0.1, on_wire)

    assert watched.queue is queue


def test_calls_that_take_longer_than_a_block_are_counted_late_and_there_all_the_same():
    watched = WatchedFlow()
    for second in range(8):
        nfs(watched, second, 0.002, 1)
    for second in range(8, 14):
        # 3000 came at once, and those answered by now have waited that long.
        nfs(watched, second, second - 6.5, 3000)

    assert watched.queue is Queue.DEEP


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", [2.0, 3.0, 7.0])
def test_a_trickle_whose_times_the_kernel_cuts_to_milliseconds_has_its_own_mean_as_its_floor(
    rate, seed
):
    """Totals are cut, so of each second alone three requests of 0.6 ms show 1 or 2 ms: 0.33 each, or 0.67."""
    floors, numbers = Floors(), random.Random(seed)
    total, shown = 0.0, 0
    for second in range(120):
        total += sum(0.6e-3 * numbers.lognormvariate(0.0, 0.1) for _ in range(round(rate)))
        before, shown = shown, int(total * 1000)
        told = (shown - before) / 1000 / rate
        floor, _ = floors.observe(False, 4096.0, told, float(second), True, requests=rate)

    assert 0.5e-3 < floor < 0.65e-3


def test_a_first_request_that_took_no_millisecond_leaves_no_floor_of_nothing():
    floors = Floors((math.inf, math.inf))
    floors.observe(False, 4096.0, 0.0, 0.0, True, requests=1.0)
    for second in range(1, 9):
        floor, _ = floors.observe(False, 4096.0, 0.0008, float(second), True, requests=100.0)

    assert floor == pytest.approx(0.0008, rel=0.05)


def test_a_floor_of_nothing_that_was_saved_is_not_taken_up():
    floors = Floors((math.inf, math.inf))
    floors.restore([SavedFloor(20, 0.0, 0.0, 9.0, 4096.0, 9.0)], 0.0)

    assert floors.memory() == ()


@pytest.mark.parametrize(("bytes_per_second", "is_seen"), [(400e3, False), (1.2e6, True)])
def test_a_time_of_which_a_told_limit_needs_little_is_the_servers(bytes_per_second, is_seen):
    """4 KiB in 10 ms: at the limit they take 10 ms, which may be the limit's, or 3.4, which leave 6.6 to the server."""
    watched = WatchedFlow()
    watched.told_bytes = bytes_per_second
    for second in range(8):
        watched.look(reading(20.0, 0.010, busy=0.2), float(second), 1.0)

    assert watched.was_alone is is_seen


@pytest.mark.parametrize(
    ("rate", "busy", "is_seen"),
    [(41.0, 0.70, False), (20.0, 0.33, False), (20.0, 0.20, True), (41.0, 0.95, True)],
)
def test_what_one_request_at_a_time_takes_at_the_pace_of_a_told_limit_is_no_floor(
    rate, busy, is_seen
):
    """60 a second are told: whoever rests for a part of the time does fewer, each of them held back nonetheless."""
    watched = WatchedFlow()
    watched.told_operations = 60.0
    for second in range(8):
        watched.look(reading(rate, busy / rate, busy=busy), float(second), 1.0)

    assert watched.was_alone is is_seen
