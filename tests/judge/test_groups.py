"""Control groups: throttled by their own limit, though the disk shows no queue."""

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.groups import GroupJudge
from ioplateau.judge.witness import CgroupWitness, Witness
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
    Word,
)

KEY = BudgetKey(Kind.CGROUP, "/batch")
FLOW = FlowKey("cgroup", "/batch")
READS = Limit(Dimension.IOPS, Direction.READ, 500.0, Origin.REPORTED, "control group")


def verdicts(*rates, step=1.0, pressure=0.9):
    part = GroupJudge()
    part.take_budgets({KEY: Budget(KEY, (FLOW,), (READS,))})
    said = []
    for number, rate in enumerate(rates):
        tick = None if rate is None else FlowTick(step, read_operations_per_second=rate)
        found = {}
        witness = Witness(cgroups={"/batch": CgroupWitness("vda", pressure_ratio=pressure)})
        part.step(number * step, step, {FLOW: tick}, witness, found)
        said.append(found[KEY])
    return said


def test_a_group_pressed_against_its_limit_is_throttled_after_some_seconds():
    said = verdicts(*[500.0] * 6)

    assert [v.word for v in said] == [Word.HEALTHY] * 2 + [Word.THROTTLED] * 4
    assert said[-1].limit == 500.0
    assert said[-1].since == 2.0
    assert said[-1].sufferers == (FLOW,)
    assert (
        said[-1].demand is None
    )  # so its alert is a warning only: tests/alerts/test_throttling.py
    assert said[-1].evidence["device"] == "vda"
    assert "control group" in said[-1].sentence


def test_another_limit_of_a_group_holds_since_it_took_over():
    writes = READS._replace(direction=Direction.WRITE)
    part, said = GroupJudge(), []
    part.take_budgets({KEY: Budget(KEY, (FLOW,), (READS, writes))})
    for number in range(20):
        rates = (500.0, 0.0) if number < 10 else (0.0, 500.0)
        found = {}
        part.step(float(number), 1.0, {FLOW: FlowTick(1.0, *rates)}, Witness(), found)
        said.append(found[KEY])

    assert (said[9].direction, said[9].since, said[9].limit_since) == (Direction.READ, 2.0, 2.0)
    assert (said[19].direction, said[19].limit_since) == (Direction.WRITE, 12.0)


@pytest.mark.parametrize(
    ("pressure", "told"),
    [
        (0.9, "by the disk: its tasks waited 90% of the time; raise"),
        (0.02, "by the disk; against it: its tasks waited 2% of the time; raise"),
        (0.004, "by the disk; raise"),
        (None, "by the disk; raise"),
    ],
)
def test_whether_its_tasks_waited_speaks_for_it_or_against_it(pressure, told):
    assert told in verdicts(*[500.0] * 6, pressure=pressure)[-1].sentence


def test_the_same_seconds_at_four_ticks_a_second():
    said = verdicts(*[500.0] * 20, step=0.25)

    assert [v.word for v in said].index(Word.THROTTLED) == 9


def test_a_group_below_its_limit_is_not_throttled():
    assert {v.word for v in verdicts(*[450.0] * 10)} == {Word.HEALTHY}


@pytest.mark.parametrize("pressure", [0.9, None])
@pytest.mark.parametrize("share", [0.96, 0.98, 0.993])
def test_a_pace_just_below_the_limit_is_the_groups_own(share, pressure):
    rates = [share * 500 + ripple for ripple in (-1.0, 0.0, 1.0, 0.0)] * 5

    assert {v.word for v in verdicts(*rates, pressure=pressure)} == {Word.HEALTHY}


def test_who_waits_in_io_getevents_is_held_though_no_task_seems_to_wait():
    assert verdicts(*[500.0] * 6, pressure=0.0)[-1].word is Word.THROTTLED


@pytest.mark.parametrize(
    "rates",
    [
        [1280.0, 0.0, 1280.0, 0.0, 0.0]
        * 6,  # 1,280 at once, each 2.56 s: v1 counts them as they come
        [4100.0, *[0.0] * 7, 4000.0] * 3,
        [1050.0, 0.0, 1050.0, 0.0, 1050.0, 0.0] * 4,
    ],
)
def test_what_is_submitted_at_once_is_held_as_long_as_it_takes_to_pass(rates):
    said = verdicts(*rates)

    assert {v.word for v in said[4:]} == {Word.THROTTLED}
    assert {v.utilization for v in said[4:]} == {1.0}


def test_a_batch_is_told_as_what_passes_in_the_unit_of_every_other_sentence():
    limit = Limit(Dimension.THROUGHPUT, Direction.WRITE, 2e6, Origin.REPORTED, "control group")
    part, found = GroupJudge(), {}
    part.take_budgets({KEY: Budget(KEY, (FLOW,), (limit,))})
    for second, size in enumerate([*[16_780_043.0, *[0.0] * 7] * 2, 16_780_043.0]):
        tick = FlowTick(1.0, write_bytes_per_second=size)
        part.step(float(second), 1.0, {FLOW: tick}, Witness(), found)

    told = "held at 2.0 MB/s of writes by the control group's own limit of 2.0 MB/s (control group)"
    assert found[KEY].sentence.startswith(told)


def test_one_batch_is_held_as_long_as_it_takes_to_pass_if_it_came_at_the_end_of_its_second():
    said = verdicts(3.56 * 500, *[0.0] * 5)

    assert [v.word is Word.THROTTLED for v in said] == [False, False, False, True, False, False]


# Of 1,000 in three seconds those that come late in the first pass in the other two.
@pytest.mark.parametrize("gust", [700.0, 995.0])
def test_gusts_that_pass_well_within_their_time_are_not_held(gust):
    said = verdicts(*[gust, 0.0, 0.0] * 8)

    assert Word.THROTTLED not in {v.word for v in said}


def test_a_limit_that_nobody_enforces_holds_nothing():
    said = verdicts(*[650.0] * 12)

    assert {v.word for v in said} == {Word.HEALTHY}


def test_a_second_that_was_not_seen_is_no_part_of_the_sum():
    said = verdicts(*[500.0] * 6, 2000.0, None, 0.0, 0.0)

    assert [v.word for v in said[-3:]] == [Word.UNKNOWN, Word.IDLE, Word.IDLE]


def test_a_single_second_at_the_limit_is_not_throttling():
    said = verdicts(100.0, 500.0, 100.0, 500.0, 100.0, 500.0)

    assert Word.THROTTLED not in {v.word for v in said}


def test_it_ends_when_the_rate_falls():
    said = verdicts(*[500.0] * 8, *[100.0] * 3)

    assert said[7].word is Word.THROTTLED
    assert said[-1].word is Word.HEALTHY


def test_it_ends_at_once_when_nothing_is_done():
    said = verdicts(*[500.0] * 8, 200.0, 0.0)

    assert [v.word for v in said[-3:]] == [Word.THROTTLED, Word.THROTTLED, Word.IDLE]
    assert said[-2].utilization == 1.0


def test_no_reading_is_unknown_and_no_io_is_idle():
    said = verdicts(None, 0.0)

    assert [v.word for v in said] == [Word.UNKNOWN, Word.IDLE]


def test_slices_cut_at_different_places_do_not_make_it_flicker():
    said = verdicts(*[500.0] * 6, *[460.0, 540.0] * 10)

    assert {v.word for v in said[6:]} == {Word.THROTTLED}


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_limits_that_press_the_one_with_the_larger_share_is_named(order):
    bytes_ = Limit(Dimension.THROUGHPUT, Direction.READ, 1e6, Origin.REPORTED, "control group")
    part, found = GroupJudge(), {}
    part.take_budgets({KEY: Budget(KEY, (FLOW,), (READS, bytes_)[::order])})
    tick = FlowTick(1.0, read_operations_per_second=498.0, read_bytes_per_second=1.01e6)
    for second in range(6):
        part.step(float(second), 1.0, {FLOW: tick}, Witness(), found)

    assert (found[KEY].word, found[KEY].dimension) == (Word.THROTTLED, Dimension.THROUGHPUT)


def test_a_limit_that_comes_back_is_not_held_by_what_was_seen_at_it_before():
    part = GroupJudge()
    words = []
    for number, limits in enumerate([(READS,)] * 6 + [()] * 3 + [(READS,)]):
        part.take_budgets({KEY: Budget(KEY, (FLOW,), limits)})
        found = {}
        rate = 500.0 if number < 6 else 10.0
        tick = FlowTick(1.0, read_operations_per_second=rate)
        part.step(float(number), 1.0, {FLOW: tick}, Witness(), found)
        words.append(found[KEY].word)

    assert words[5:] == [Word.THROTTLED] + [Word.HEALTHY] * 4


def test_a_group_made_anew_under_its_name_is_not_as_it_is_since_the_one_before():
    part = GroupJudge()
    tick = FlowTick(1.0, read_operations_per_second=100.0)
    for began in (0.0, 1000.0):
        part.take_budgets({KEY: Budget(KEY, (FLOW,), (READS,))})
        found = {}
        for second in range(10):
            part.step(began + second, 1.0, {FLOW: tick}, Witness(), found)
        part.take_budgets({})

    assert (found[KEY].word, found[KEY].since) == (Word.HEALTHY, 1000.0)


@pytest.mark.parametrize(
    ("path", "told"),
    [("/batch", "raise the limit of /batch"), ("/", "raise the limit of the root control group")],
)
def test_whose_limit_to_raise_is_told_by_the_group_alone(path, told):
    key = BudgetKey(Kind.CGROUP, f"{path} 8:0")
    flow = FlowKey("cgroup", key.name)
    part, found = GroupJudge(), {}
    part.take_budgets({key: Budget(key, (flow,), (READS,))})
    witness = Witness(cgroups={key.name: CgroupWitness("vda", path=path)})
    for second in range(6):
        part.step(second, 1.0, {flow: FlowTick(1.0, 500.0)}, witness, found)

    assert found[key].sentence.endswith(told)
