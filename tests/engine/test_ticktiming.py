"""What is a gap, and what may be said where looks are late again and again."""

from random import Random

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.engine.ticktiming import TickTiming
from ioplateau.limits.budgets import BudgetKey, Kind, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS, Snapshot, Static

SDA = BudgetKey(Kind.DISK, "sda")
STATIC = Static(block={"sda": {"size": "2048", "dev": "8:0"}})
STOPPED = [3.0, 0.25]  # and let run, again and again
STARVED = [Random(3).uniform(6, 13) for _ in range(40)]


class Disk:
    """Told 500 IOPS, and watched whenever the daemon is let. At the limit 16 requests wait."""

    def __init__(self):
        rules = Rules((ConfiguredLimit(disk="sda", iops=500.0),))
        self.engine = Engine(EngineSettings(rules=rules))
        self.at = self.reads = self.milliseconds = self.busy = 0.0
        self.look(0.0, 0.0)

    def look(self, seconds, rate, slept=0.0):
        """What is said after so many seconds at this rate."""
        depth = 16 if rate >= 500 else rate * 0.002
        self.at += seconds
        self.reads += rate * seconds
        self.milliseconds += 1000 * depth * seconds
        self.busy += 1000 * min(depth, 1) * seconds
        text = (
            f"8 0 sda {self.reads:.0f} 0 {self.reads * 8:.0f} {self.milliseconds:.0f} 0 0 0 0 "
            f"{int(depth)} {self.busy:.0f} {self.milliseconds:.0f} 0 0 0 0 0 0\n"
        )
        self.state = self.engine.observe(
            Snapshot(
                mono=self.at,
                mono_end=self.at,
                wall=1e9 + self.at,
                boot=self.at + slept,
                static=STATIC,
                texts={DISKSTATS: text.encode()},
            )
        )
        return self.word

    @property
    def word(self):
        return self.state.budgets[SDA].verdict.word

    @property
    def throttled_seconds(self):
        return self.state.budgets[SDA].limits[0].throttled_seconds


def test_one_pause_changes_no_verdict_and_counts_for_nothing():
    disk = Disk()
    for _ in range(10):
        disk.look(1, 500)
    counted = disk.throttled_seconds

    assert disk.look(8, 0) is Word.THROTTLED
    assert disk.throttled_seconds == counted
    assert not disk.state.is_late


@pytest.mark.parametrize("late", [STOPPED * 10, STARVED[:10]])
def test_a_load_that_ends_while_the_daemon_is_starved_is_throttled_no_more(late):
    disk = Disk()
    for _ in range(10):
        disk.look(1, 500)
    found = [disk.look(seconds, 0) for seconds in late]
    counted = disk.throttled_seconds

    assert found[4:] == [Word.IDLE] * len(found[4:])
    assert counted <= 10 + sum(late[:4])


@pytest.mark.parametrize("late", [STOPPED * 10, STARVED[:10]])
def test_a_starved_daemon_sees_the_load_and_the_limit(late):
    disk = Disk()
    for _ in range(10):
        disk.look(1, 0)
    below = [disk.look(seconds, 400) for seconds in late]
    held = [disk.look(seconds, 500) for seconds in late]

    assert not {Word.IDLE, Word.THROTTLED} & {*below[4:]}
    assert set(held[4:]) == {Word.THROTTLED}
    assert disk.throttled_seconds >= sum(late[4:])


@pytest.mark.parametrize("pause", [{"seconds": 40}, {"seconds": 1, "slept": 600}])
def test_of_pauses_of_which_nothing_can_be_told_nothing_is_said(pause):
    disk = Disk()
    for _ in range(10):
        disk.look(1, 0)
    first = disk.look(rate=500, **pause)
    pause["slept"] = 2 * pause.get("slept", 0.0)

    assert first is Word.IDLE
    assert disk.look(rate=500, **pause) is Word.UNKNOWN


def test_a_daemon_that_is_let_run_again_finds_a_single_pause_a_gap_again():
    timing = TickTiming()
    late = [timing.elapsed(seconds, 0, 1.0) for seconds in (1, 8, 6, 7)]
    again = [timing.elapsed(seconds, 0, 1.0) for seconds in (*[1] * 7, 9)]

    assert late == [1, None, 6, 7]
    assert again == [*[1] * 7, None]


def test_looks_that_were_missed_are_told_until_they_are_a_minute_ago():
    timing = TickTiming()
    for _ in range(60):
        timing.elapsed(1, 0, 1.0)
    single = (timing.elapsed(3, 0, 1.0), timing.notices)
    timing.elapsed(8, 0, 1.0)
    told = timing.notices[0]
    for _ in range(60):
        timing.elapsed(1, 0, 1.0)

    assert single == (None, ())
    assert told.startswith("9 of the last 60 ticks were missed: ")
    assert timing.notices == ()
