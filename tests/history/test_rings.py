"""What every flow did lately, in a stated size."""

import math

from ioplateau.history.rings import SPANS, Cell, Rings, RingSize
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import FlowKey

SDA, SDB = FlowKey("disk", "sda"), FlowKey("disk", "sdb")
START = 1_700_000_040  # begins a minute


def busy(reads=500.0, writes=0.0, **more):
    read_await = more.pop("read_await_seconds", 0.004)
    return FlowTick(
        1.0, reads, writes, reads * 4096, writes * 4096, read_await, None, **{"queue_length": 2.0, "in_flight": 2} | more
    )  # fmt: skip


def rest():
    return FlowTick(1.0, queue_length=0.0, in_flight=0)


def cells(rings, level, key, first=0, last=2**40):
    return [(at, found.get(key)) for at, found in rings.cells(level, [key], first, last)]


def test_a_second_is_kept_as_it_was():
    rings = Rings()

    rings.add(START, {SDA: busy()})

    (found,) = cells(rings, 0, SDA)
    assert found[0] == START
    assert found[1] == Cell(500.0, 0.0, 500 * 4096, 0.0, 2.0, 2.0)


def test_what_rests_takes_no_space_and_is_no_hole():
    rings = Rings()

    for second in range(5):
        rings.add(START + second, {SDA: rest()})
    rings.settle_all()

    assert rings.size_bytes == 0
    assert cells(rings, 0, SDA) == [(START + second, None) for second in range(5)]


def test_seconds_in_which_nobody_looked_are_not_told():
    rings = Rings()

    rings.add(START, {SDA: busy()})
    rings.add(START + 3, {SDA: busy()})

    assert [at for at, _ in cells(rings, 0, SDA)] == [START, START + 3]


def test_what_is_not_known_of_a_flow_that_moved_is_nan():
    rings = Rings()

    rings.add(START, {SDA: busy(), SDB: None})
    rings.add(START + 1, {SDA: None, SDB: None})

    assert all(math.isnan(value) for value in cells(rings, 0, SDA)[1][1])
    assert cells(rings, 0, SDB)[1][1] is None  # it never moved: there is nothing to know


def test_a_disk_that_answers_nothing_has_a_queue():
    rings = Rings()

    rings.add(START, {SDA: FlowTick(1.0, queue_length=0.0, in_flight=7)})

    assert cells(rings, 0, SDA)[0][1].queue_length == 7


def test_a_disk_that_only_discards_has_a_queue():
    rings = Rings()

    rings.add(START, {SDA: FlowTick(1.0, queue_length=5.0, in_flight=0)})

    assert cells(rings, 0, SDA)[0][1] == Cell(queue_length=5.0)


def test_ticks_of_less_than_a_second_are_kept_as_their_mean_over_time():
    rings = Rings()

    rings.add(
        START,
        {
            SDA: busy(reads=400.0, read_await_seconds=0.005)._replace(elapsed_seconds=0.25),
            SDB: None,
        },
    )
    rings.add(START, {SDA: rest()._replace(elapsed_seconds=0.75), SDB: busy()})

    for _ in range(2):
        assert cells(rings, 0, SDA)[0][1] == Cell(100.0, 0.0, 100 * 4096, 0.0, 0.5, 0.5)
        assert cells(rings, 0, SDB)[0][1].read_operations_per_second == 500.0
        rings.settle_all()


def test_a_second_of_this_minute_that_is_lived_again_is_what_it_was_then():
    rings = Rings()
    for second in (0, 1, 2, 1, 1, 2):
        rings.add(START + second, {SDA: busy(reads=100.0 + second)})
    rings.add(START + 1, {SDA: busy(reads=300.0)})

    assert dict(cells(rings, 0, SDA))[START + 1].read_operations_per_second == 300.0


def test_what_is_kept_is_right_within_a_thousandth():
    rings = Rings()
    for second in range(120):
        rings.add(START + second, {SDA: busy(reads=10.0 * second, queue_length=0.01 * second)})

    found = dict(cells(rings, 0, SDA))

    for second in range(1, 60):
        cell = found[START + second]
        assert math.isclose(cell.read_operations_per_second, 10.0 * second, rel_tol=1e-3)
        assert math.isclose(cell.read_bytes_per_second, 40960.0 * second, rel_tol=1e-3)
        assert math.isclose(cell.queue_length, 0.01 * second, rel_tol=1e-3)


def test_figures_beyond_what_can_be_kept_are_cut_and_not_lost():
    rings = Rings()

    rings.add(START, {SDA: busy(reads=1e9, queue_length=1e6)})

    cell = cells(rings, 0, SDA)[0][1]
    assert cell.read_operations_per_second == 65504 * 64
    assert cell.queue_length == 65504


def test_ten_seconds_are_the_mean_of_their_seconds():
    rings = Rings()
    for second in range(10):
        rings.add(START + second, {SDA: busy(reads=100.0) if second < 5 else rest()})
    assert cells(rings, 1, SDA) == []

    rings.add(START + 10, {SDA: rest()})

    ((at, cell),) = cells(rings, 1, SDA)
    assert at == START
    assert cell.read_operations_per_second == 50.0
    assert math.isclose(cell.waiting_seconds / cell.read_operations_per_second, 0.004, rel_tol=1e-3)


def test_a_mean_is_of_what_is_known():
    rings = Rings()
    for second in range(4):
        rings.add(START + second, {SDA: busy(reads=100.0) if second != 2 else None})
    rings.add(START + 4, {SDA: None})
    rings.add(START + 10, {SDA: None})

    assert cells(rings, 1, SDA)[0][1].read_operations_per_second == 100.0


def test_a_mean_of_queue_and_waiting_is_unknown_where_it_is_so_of_a_second_with_operations():
    rings = Rings()
    unknown = FlowTick(1.0, 100.0, 0.0, 409_600.0)  # as of a control group
    for second in range(60):
        rings.add(START + second, {SDA: unknown if second == 20 else rest(), SDB: rest()})
    rings.add(START + 60, {SDA: rest(), SDB: rest()})

    tens, (minute,) = ([cell for _, cell in cells(rings, level, SDA)] for level in (1, 2))
    assert math.isclose(tens[2].read_operations_per_second, 10.0, rel_tol=1e-3)
    assert math.isclose(minute.read_operations_per_second, 100 / 60, rel_tol=1e-3)
    assert [math.isnan(value) for value in (*tens[2][4:], *minute[4:])] == [True] * 4
    assert tens[3][4:] == (0.0, 0.0)


def test_a_minute_is_the_mean_of_its_ten_seconds():
    rings = Rings()
    for second in range(60):
        rings.add(START + second, {SDA: busy(reads=100.0) if second < 30 else rest()})
    assert cells(rings, 2, SDA) == []

    rings.add(START + 60, {SDA: rest()})

    ((at, cell),) = cells(rings, 2, SDA)
    assert (at, cell.read_operations_per_second) == (START, 50.0)


def test_ten_seconds_read_the_same_while_their_minute_goes_on_and_after_it():
    rings = Rings()
    for second in range(57):
        flow = busy(reads=7.0 * second, queue_length=0.1 * second) if second % 4 else rest()
        rings.add(START + second, {SDA: flow, SDB: None if second == 33 else busy()})
    early = [cells(rings, 1, key) for key in (SDA, SDB)]

    rings.add(START + 75, {SDA: rest(), SDB: rest()})
    late = [cells(rings, 1, key) for key in (SDA, SDB)]

    assert [len(each) for each in (*early, *late)] == [5, 5, 6, 6]
    assert repr([each[:5] for each in late]) == repr(early)  # nan is like no other


def test_a_minute_that_is_gone_back_to_keeps_what_it_had():
    rings = Rings()
    for second in (0, 1, 70, 2, 130):
        rings.add(START + second, {SDA: busy(reads=100.0 + second)})

    found = {at - START: cell.read_operations_per_second for at, cell in cells(rings, 0, SDA)}
    ((at, mean), *_) = cells(rings, 1, SDA)

    assert found.keys() == {0, 1, 2, 70, 130}
    assert found[1] == 101.0
    assert (at, mean.read_operations_per_second) == (START, 101.0)


def test_what_is_handed_over_of_a_minute_that_goes_on_comes_back():
    rings, after = Rings(), Rings()
    for second in range(13):
        rings.add(START + second, {SDA: busy(), **({SDB: busy(reads=5.0)} if second > 4 else {})})
    rings.settle()
    block = rings.block(0, START, 10)
    rings.settle_all()
    assert block is not None

    after.restore(block)

    for key in (SDA, SDB):
        assert cells(after, 0, key) == cells(rings, 0, key)[:10]


def test_ten_seconds_that_are_handed_over_come_back_where_they_were():
    rings, after = Rings(), Rings()
    for second in range(1200):
        rings.add(START + second, {SDA: busy(reads=float(second))})
    rings.settle_all()
    block = rings.block(1, START + 600, 6)
    assert block is not None

    after.restore(block)

    assert cells(after, 1, SDA) == cells(rings, 1, SDA, START + 600, START + 659)


def test_a_level_forgets_what_is_older_than_it_keeps():
    rings = Rings((RingSize(1, 120, 10**6),))
    for second in range(600):
        rings.add(START + second, {SDA: busy()})

    kept = cells(rings, 0, SDA)

    assert 120 <= len(kept) <= 240


def test_two_seconds_of_a_clock_that_is_ahead_leave_what_was_kept_before_a_restart_and_after():
    rings, after = Rings(), Rings()
    for second in range(3660):
        rings.add(START + second, {SDA: busy()})
    ahead = START + 30 * 86400
    for second in (ahead, ahead + 1, START + 3660):
        rings.add(second, {SDA: busy()})

    rings.settle_all()
    kept = [len(cells(rings, level, SDA, last=START + 3660)) for level in range(3)]
    for level in (2, 1, 0):  # in the order of the files
        for start in list(rings.levels[level].chunks):
            after.restore(rings.block(level, start, 60))

    assert kept[0] > 800
    assert kept[1:] == [366, 61]
    assert [len(cells(after, level, SDA, last=START + 3660)) for level in range(3)] == kept


def test_of_full_levels_what_is_being_written_stays_after_the_clock_was_set_back():
    rings = Rings([RingSize(step, 86400, 5_000) for step in (1, 10)])
    for second in range(7200):
        rings.add(START + second, {SDA: busy()})
    rings.settle_all()
    assert [min(cells(rings, level, SDA))[0] > START for level in (0, 1)] == [True, True]

    back = START - 86400
    for second in range(1200):
        rings.add(back + second, {SDA: busy()})

    assert [len(cells(rings, level, SDA, last=back + 1199)) for level in (0, 1)] == [300, 119]
    assert rings.size_bytes <= 2 * 5_000


def test_three_hundred_busy_flows_stay_within_the_stated_size_and_reach_equally_far():
    rings = Rings((RingSize(1, 900, 500_000),))
    keys = [FlowKey("disk", f"sd{number}") for number in range(300)]

    for minute in range(10):
        for second in (0, 30):
            rings.add(START + 60 * minute + second, dict.fromkeys(keys, busy()))

    # The minute that is written is as large as it is.
    rings.settle_all()
    assert rings.size_bytes <= 500_000
    assert len({len(cells(rings, 0, key)) for key in keys}) == 1


def test_what_rested_for_long_and_is_then_not_known_did_not_rest():
    rings = Rings()
    rings.add(START, {SDA: busy()})
    for minute in range(1, 20):
        rings.add(START + 60 * minute, {SDA: rest()})

    rings.add(START + 1200, {SDA: None})

    ((_, found),) = cells(rings, 0, SDA, first=START + 1200)
    assert math.isnan(found.queue_length)


def test_of_a_flow_that_came_when_a_chunk_was_full_nothing_is_known_in_it():
    rings = Rings((RingSize(1, 900, 4_000),))
    keys = [FlowKey("disk", f"sd{number}") for number in range(4)]

    rings.add(START, dict.fromkeys(keys, busy()))
    rings.settle_all()
    size = rings.size_bytes
    ((_, unknown),) = cells(rings, 0, keys[3])
    rings.add(START + 60, {keys[3]: busy()})
    ((_, known),) = cells(rings, 0, keys[3], first=START + 60)

    assert size <= 4_000
    assert math.isnan(unknown.queue_length)
    assert known.queue_length == 2.0


def test_time_that_goes_back_is_written_where_it_belongs():
    rings = Rings()
    rings.add(START + 70, {SDA: busy(reads=7.0)})

    rings.add(START + 5, {SDA: busy(reads=5.0)})

    assert [at for at, _ in cells(rings, 0, SDA)] == [START + 5, START + 70]


def test_a_minute_is_folded_whoever_settles_it_and_however_late():
    at_once, late = Rings(), Rings()
    for second in range(200):
        for rings in (at_once, late):
            rings.add(START + second, {SDA: busy(reads=100.0 + second)})
        at_once.settle()

    late.settle()

    for level in range(3):
        assert cells(late, level, SDA) == cells(at_once, level, SDA)
    assert len(cells(late, 2, SDA)) == 3


def test_a_second_that_is_lived_again_says_what_is_so_now():
    rings = Rings()
    for second in range(200):
        rings.add(START + second, {SDA: busy(), SDB: busy()})

    for second in range(30, 190):
        rings.add(START + second, {SDA: rest()})

    for key in (SDA, SDB):
        found = {at - START: cell for at, cell in cells(rings, 0, key, last=START + 189)}
        assert [second for second, cell in found.items() if cell and any(cell)] == [*range(30)]


def test_ten_seconds_and_minutes_that_are_lived_again_say_what_is_so_now():
    rings = Rings()
    for second in range(300):
        rings.add(START + second, {SDA: busy()})

    for second in range(60, 255):
        rings.add(START + second, {SDA: rest()})

    for level in (1, 2):
        found = {at - START: cell for at, cell in cells(rings, level, SDA, last=START + 254)}
        assert [*found] == ([*range(0, 250, 10)], [*range(0, 240, 60)])[level - 1]
        assert all(bool(cell and any(cell)) == (at < 60) for at, cell in found.items())


def test_a_minute_of_which_the_seconds_are_gone_says_what_is_so_now_when_it_is_lived_again():
    rings = Rings((RingSize(1, 120, 10**6), *SPANS[1:]))
    for second in range(600):
        rings.add(START + second, {SDA: busy()})

    for second in range(120, 241):
        rings.add(START + second, {SDA: rest()})

    for level in (1, 2):
        found = cells(rings, level, SDA, START + 120, START + 239)
        assert len(found) == (12, 2)[level - 1]
        assert not any(cell and any(cell) for _, cell in found)


def test_of_seconds_that_were_lived_twice_a_restart_keeps_what_was_so_later():
    rings, after = Rings(), Rings()
    blocks = []
    for second, flows in (
        *[(second, {SDA: busy(), SDB: busy(reads=5.0)}) for second in range(720)],
        *[(second, {SDA: busy(reads=7.0), SDB: rest()}) for second in range(420, 660)],
    ):
        rings.add(START + second, flows)
        if second % 10 == 9:
            rings.settle_all()
            blocks.append(rings.block(0, START + second - 9, 10))
        if second == 719:
            coarse = [rings.block(1, START + start, 60) for start in (0, 600)]

    for block in (*coarse, *blocks):
        after.restore(block)
    after.fill()

    for level in (0, 1):
        found = {at - START: cell for at, cell in cells(after, level, SDA)}
        of_other = {at - START: cell for at, cell in cells(after, level, SDB)}
        for second in range(300, 720, 10):
            is_again = 420 <= second < 660
            assert found[second].read_operations_per_second == (7.0 if is_again else 500.0)
            other = of_other[second]
            assert (other.read_operations_per_second if other else 0.0) == (0 if is_again else 5.0)


def test_ten_seconds_of_which_some_are_gone_are_what_they_were_and_not_the_mean_of_the_rest():
    rings, after = Rings(), Rings()
    for second in range(60):
        rings.add(START + second, {SDA: busy(reads=100.0 if second % 10 < 5 else 300.0)})
    rings.settle_all()
    for first in (0, 10, 20):
        rings.fold(1, START + first)

    after.restore(rings.block(1, START, 2))
    after.restore(rings.block(0, START, 5))
    after.restore(rings.block(0, START + 20, 5))
    after.fill()

    found = {at - START: cell.read_operations_per_second for at, cell in cells(after, 1, SDA)}
    assert found == {0: 200.0, 10: 200.0, 20: 100.0}
