"""The loop: on the grid, published by one reference, and not stopped by what goes wrong."""

import logging
import threading
import time

import pytest

from hand_clock import HandClock
from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import BudgetKey, Kind, Verdict, Word
from ioplateau.measure.snapshot import Snapshot, Static
from ioplateau.run.loop import MOST_FAILED, Loop

LINE = b"   8       0 sda {0} 0 {0} 1 2 0 16 2 0 3 3 0 0 0 0 0 0\n"


class Sampler:
    """Gives what `texts` says; each snapshot takes `seconds`."""

    def __init__(self, clock, seconds=0.0, texts=lambda _: {}):
        self._clock = clock
        self._seconds = seconds
        self._texts = texts
        self.static = Static()
        self.looks = 0
        self.taken = []

    def take(self):
        at = self._clock.now
        self._clock.now += self._seconds
        self.taken.append(at)
        texts = self._texts(len(self.taken))
        return Snapshot(at, self._clock.now, at, self.static, boot=at, texts=texts)

    def look_again(self):
        self.looks += 1


class Brittle(Engine):
    """Fails at some ticks."""

    def __init__(self, fails):
        super().__init__()
        self._fails = fails
        self.count = 0

    def observe(self, snapshot):
        self.count += 1
        if self._fails(self.count):
            raise ZeroDivisionError("a defect")
        return super().observe(snapshot)


@pytest.fixture
def clock():
    return HandClock()


def loop(clock, sampler, engine=None, interval=0.001, **parts):
    # The waits between ticks are real; the interval is short, and the clock is moved by takes.
    settings = EngineSettings(interval_seconds=interval)
    return Loop(sampler, engine or Engine(settings), clock, interval, **parts)


def test_ticks_that_are_on_time_skip_none(clock):
    sampler = Sampler(clock, seconds=0.001)
    running = loop(clock, sampler)
    running.run(ticks=20)

    assert running.skipped == 0
    assert running.times.ticks == 20


def test_ticks_that_take_three_intervals_skip_two_each(clock):
    sampler = Sampler(clock, seconds=0.003)
    running = loop(clock, sampler)
    running.run(ticks=10)

    assert running.skipped == 2 * 9
    assert [round((at - 100.0) / 0.001) for at in sampler.taken] == list(range(0, 30, 3))


def test_ticks_that_take_a_little_too_long_skip_some_and_are_never_caught_up(clock):
    sampler = Sampler(clock, seconds=0.0013)
    running = loop(clock, sampler)
    running.run(ticks=100)

    assert running.times.ticks + running.skipped == pytest.approx(130, abs=2)


def test_the_state_is_the_last_ticks(clock):
    sampler = Sampler(clock, seconds=0.001)
    running = loop(clock, sampler)
    running.run(ticks=3)

    assert running.state.ticks == 3
    assert running.state.mono == sampler.taken[-1]


def test_stopping_ends_it_after_the_present_tick(clock):
    seen = []

    def after_tick(state, snapshot):
        seen.append(state.ticks)
        running.stop()

    running = loop(clock, Sampler(clock, seconds=0.001), after_tick=after_tick)
    running.run()

    assert seen == [1]


def test_a_tick_that_fails_costs_itself_and_one_line(clock, caplog):
    caplog.set_level(logging.ERROR)
    engine = Brittle(lambda count: 3 <= count <= 6)
    running = loop(clock, Sampler(clock, seconds=0.001), engine)
    running.run(ticks=10)

    assert running.state.ticks == 6
    assert running.times.ticks == 10
    assert [record.getMessage() for record in caplog.records] == ["a tick failed"]


def test_a_state_is_not_shown_for_long_when_all_ticks_fail(clock):
    engine = Brittle(lambda count: count > 1)
    running = loop(clock, Sampler(clock, seconds=0.001), engine)
    running.run(ticks=MOST_FAILED)
    early = running.state
    running.run(ticks=1)

    assert early is not None
    assert running.state is None


def test_ticks_that_fail_every_other_time_are_said_once(clock, caplog):
    caplog.set_level(logging.ERROR)
    engine = Brittle(lambda count: count % 2)
    loop(clock, Sampler(clock, seconds=0.001), engine).run(ticks=20)

    assert [record.getMessage() for record in caplog.records] == ["a tick failed"]


def test_ticks_that_fail_now_and_then_take_no_state_away(clock):
    running = loop(clock, Sampler(clock, seconds=0.001), Brittle(lambda count: count % 2 == 0))
    running.run(ticks=4 * MOST_FAILED)

    assert running.state is not None


def test_the_age_is_that_of_the_last_tick_that_came_to_something(clock):
    engine = Brittle(lambda count: count > 1)
    running = loop(clock, Sampler(clock, seconds=0.001), engine)
    before = running.age_seconds
    running.run(ticks=1)
    clock.now += 5.0
    fresh = running.age_seconds
    running.tick()

    assert before == 0.0
    assert fresh == pytest.approx(5.0)
    assert running.age_seconds == pytest.approx(5.001)


def test_a_failure_after_a_tick_stops_nothing(clock):
    def after_tick(state, snapshot):
        raise OSError("the disk is full")

    running = loop(clock, Sampler(clock, seconds=0.001), after_tick=after_tick)
    running.run(ticks=2)

    assert running.state.ticks == 2


def test_a_failure_before_a_tick_stops_nothing_and_is_said(clock, caplog):
    caplog.set_level(logging.ERROR)

    def before_tick():
        raise ValueError("settings that nobody expected")

    running = loop(clock, Sampler(clock, seconds=0.001), before_tick=before_tick)
    running.run(ticks=2)

    assert running.state.ticks == 2
    assert [record.getMessage() for record in caplog.records] == ["a tick failed"]


def test_a_disk_whose_counters_began_anew_is_looked_at_again(clock):
    counts = [50, 60, 70, 80, 5, 6, 7, 8]

    def texts(number):
        return {"/proc/diskstats": LINE.replace(b"{0}", b"%d" % counts[number - 1])}

    sampler = Sampler(clock, seconds=1.0, texts=texts)
    sampler.static = Static(block={"sda": {"size": "2048"}})
    running = loop(clock, sampler, interval=1.0)
    for _ in range(4):
        running.tick()
    before = sampler.looks
    for _ in range(4):
        running.tick()

    assert before == 0
    assert sampler.looks == 1


def test_for_a_disk_that_stays_strange_the_machine_is_looked_at_every_few_seconds_only(clock):
    sampler = Sampler(
        clock,
        seconds=1.0,
        texts=lambda number: {"/proc/diskstats": LINE.replace(b"{0}", b"%d" % number)},
    )
    running = loop(clock, sampler, interval=1.0)
    for _ in range(20):
        running.tick()
        running.understand()

    assert 1 <= sampler.looks <= 4


class Slow(Sampler):
    """Whose take, from the second on, hangs until told."""

    def __init__(self, clock):
        super().__init__(clock, seconds=0.001)
        self.hangs, self.goes_on = threading.Event(), threading.Event()

    def take(self):
        if len(self.taken) == 2:
            self.hangs.set()
            self.goes_on.wait(60)
        return super().take()


class Held(Engine):
    """Finds something throttled from tick 4 to tick 6."""

    def observe(self, snapshot):
        state = super().observe(snapshot)
        verdict = Verdict(BudgetKey(Kind.DISK, "sda"), Word.THROTTLED, state.mono)
        return state._replace(held=(verdict,) if 4 <= state.ticks <= 6 else ())


def understood(clock, engine=None, *, ticks, together):
    """How many ticks were taken when each was understood."""
    found, sampler = [], Sampler(clock, seconds=0.001)

    def after_tick(state, snapshot):
        found.append((state.ticks, len(sampler.taken)))

    running = loop(clock, sampler, engine, after_tick=after_tick, together=together)
    running.run(ticks=ticks)
    return running, found


def test_ticks_at_which_nothing_happens_are_understood_together(clock):
    running, found = understood(clock, ticks=8, together=3)

    assert found == [(1, 1), (2, 4), (3, 4), (4, 4), (5, 7), (6, 7), (7, 7), (8, 8)]
    assert running.state.ticks == running.times.ticks == 8


def test_of_ticks_understood_together_the_last_is_the_newest(clock):
    newest = []
    running = loop(
        clock,
        Sampler(clock, seconds=0.001),
        after_tick=lambda state, snapshot: (
            newest.append(state.ticks) if running.is_newest(snapshot) else None
        ),
        together=3,
    )
    running.run(ticks=8)

    assert newest == [1, 4, 7, 8]


def test_while_something_is_throttled_each_tick_is_understood_when_it_was_taken(clock):
    _, found = understood(clock, Held(EngineSettings(interval_seconds=0.001)), ticks=10, together=3)

    assert found[3:] == [(4, 4), (5, 5), (6, 6), (7, 7), (8, 10), (9, 10), (10, 10)]


def test_of_ticks_understood_together_one_that_fails_costs_itself(clock):
    running, found = understood(clock, Brittle(lambda count: count == 3), ticks=7, together=3)

    assert [taken for _, taken in found] == [1, 4, 4, 7, 7, 7]
    assert running.times.ticks == 7


def test_who_asks_between_two_ticks_is_told_of_all_that_was_sampled(clock):
    running = loop(clock, Sampler(clock, seconds=0.001), interval=1000.0, together=9)
    running.run(ticks=1)
    thread = threading.Thread(target=running.run)
    thread.start()
    until = time.monotonic() + 60
    while running.state.ticks == 1 and time.monotonic() < until:
        running.catch_up()  # the second tick is taken at once, the third would come much later
    ticks = running.state.ticks
    running.stop()
    thread.join(60)

    assert ticks == 2
    assert running.state.ticks == 2


def test_who_asks_while_a_source_hangs_gets_the_state_before(clock):
    sampler = Slow(clock)
    running = loop(clock, sampler, together=9)
    thread = threading.Thread(target=running.run, args=(4,))
    thread.start()
    assert sampler.hangs.wait(60)
    running.catch_up()
    ticks = running.state.ticks
    sampler.goes_on.set()
    thread.join(60)

    assert ticks == 1
    assert running.state.ticks == 4


def test_what_was_sampled_before_the_end_is_understood(clock):
    sampler = Sampler(clock, seconds=0.001)

    def before_tick():
        if len(sampler.taken) == 6:
            running.stop()

    running = loop(clock, sampler, before_tick=before_tick, together=100)
    running.run()

    assert running.state.ticks == 7


def test_before_a_tick_is_sampled_there_is_time_for_other_things(clock):
    sampler, taken = Sampler(clock, seconds=0.001), []
    running = loop(clock, sampler, before_tick=lambda: taken.append(len(sampler.taken)), together=3)
    running.run(ticks=4)

    assert taken == [0, 1, 2, 3]
