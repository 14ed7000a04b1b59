"""When somebody looks for who causes the I/O, and when nobody does."""

import os
import threading
import time

import pytest

from ioplateau.limits.budgets import Kind, Word
from ioplateau.measure.host import Host
from ioplateau.run.clock import SystemClock
from ioplateau.run.consumers import (
    EVERY_SECONDS,
    FIRST_ROUNDS,
    FIRST_SECONDS,
    MOST_CPU_SHARE,
    ConsumersReader,
    Pace,
)
from ioplateau.run.sampler import Sampler
from states import budget, by_key, state
from waiting import wait_until


class Counting(Host):
    def __init__(self):
        super().__init__()
        self.listed = 0

    def list(self, path):
        self.listed += path == "/proc"
        return super().list(path)


def reader(host=None):
    host, clock = host or Counting(), SystemClock()
    return host, ConsumersReader(Sampler(host, clock, ()), host, clock, again_seconds=0.01)


def test_nothing_is_read_while_nothing_is_throttled():
    host, look = reader()

    for _ in range(10):
        look(state(budgets=by_key(budget(Kind.DISK, "sdb", word=Word.HEALTHY))))
    time.sleep(0.1)

    assert host.listed == 0


def test_a_throttled_budget_has_two_rounds_read_that_make_a_look():
    host, look = reader()

    look(state(budgets=by_key(budget(Kind.DISK, "sdb", word=Word.THROTTLED))))

    try:
        assert wait_until(lambda: host.listed >= 2)
        assert wait_until(
            lambda: (found := look._latest()) is not None and found["processes"]["seen"]
        )
        assert look._latest() is None  # told once
    finally:
        look.end()


class Odd(Counting):
    """Lists what nobody expects, once."""

    def list(self, path):
        found = super().list(path)
        if self.listed == 1:
            raise ValueError("odd")
        return found


def test_a_defect_in_a_round_does_not_end_the_looking():
    host, look = reader(Odd())

    look.want()

    try:
        assert wait_until(lambda: host.listed >= 1)
        assert wait_until(look._latest)
    finally:
        look.end()


class SlowSampler:
    def add(self, _):
        time.sleep(0.2)


def test_who_want_to_know_at_one_moment_have_one_thread_look_for_them():
    look = ConsumersReader(SlowSampler(), Counting(), SystemClock())
    others = set(threading.enumerate())
    both = [threading.Thread(target=look.want) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join(60)

    try:
        assert len(set(threading.enumerate()) - others) == 1
    finally:
        look.end()


def rounds(pace, took, seconds):
    """When rounds that take so long begin, if somebody wants to know for so many seconds."""
    found, at = [], pace.due(0.0)
    while at < seconds:
        found.append(at)
        at = pace.after(at, took)
    return found


def test_the_first_round_is_at_once_and_the_next_two_a_second_later_however_long_they_take():
    assert rounds(Pace(), 0.002, 9) == [0.0, FIRST_SECONDS, 2.0, 5.0, 8.0]
    assert rounds(Pace(), 0.5, 9) == [0.0, FIRST_SECONDS, 2.0]
    assert EVERY_SECONDS == 3.0


class Slow(Host):
    """A round of it waits, and takes hardly any CPU: there is one process."""

    WAITS = 0.3

    def list(self, path):
        if path != "/proc":
            return []
        time.sleep(self.WAITS)
        return [str(os.getpid())]


def test_a_round_that_only_waits_does_not_put_off_the_next_one():
    _, look = reader(Slow())
    told = []

    def is_told_twice():
        found = look._latest()
        told.extend([] if found is None else [found["next_seconds"]])
        return len(told) == FIRST_ROUNDS - 1

    look(state(budgets=by_key(budget(Kind.DISK, "sdb", word=Word.THROTTLED))))

    try:
        assert wait_until(is_told_twice)
        assert max(told) < Slow.WAITS / MOST_CPU_SHARE
    finally:
        look.end()


@pytest.mark.parametrize("took", [0.001, 0.05, 0.2, 1.0])
def test_looking_takes_no_more_than_its_share_of_a_cpu_in_the_long_run(took):
    seconds = 3600.0

    assert len(rounds(Pace(), took, seconds)) * took <= MOST_CPU_SHARE * seconds + 2 * took


def test_who_is_throttled_again_and_again_takes_no_more_either():
    pace, now, spent = Pace(), 0.0, 0.0
    while now < 3600.0:
        now = pace.due(now)
        for _ in range(2):  # throttled for two seconds, then five without
            spent += 0.2
            due = pace.after(now, 0.2)
            now = min(due, now + 1.0)
        pace.rest()
        now += 5.0

    assert spent <= MOST_CPU_SHARE * now + 1.0
