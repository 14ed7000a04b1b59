"""Calls that were sent again, or given up, are on the wire for ever, and no stall: one that is, is told."""

import random
import re

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import ClientWitness, Witness
from ioplateau.limits.budgets import Budget, BudgetKey, FlowKey, Kind, Word

FLOW, VOLUME = FlowKey("nfs", "/a"), BudgetKey(Kind.VOLUME, "/a")
BUDGETS = {
    VOLUME: Budget(VOLUME, (FLOW,)),
    (key := BudgetKey(Kind.NFS_SLOTS, "filer")): Budget(key, (FLOW,)),
}


class Mount:
    """A mount, second by second; `lost`: calls that nobody will answer."""

    def __init__(self):
        self.judge, self.at, self.lost = Judge(), 100.0, 0

    def reads(self, rate, wait, on_wire, others=0.0):
        """So many a second, and so many on the wire as the second ends. others: calls of other kinds."""
        tick = FlowTick(1.0)
        if rate:
            tick = FlowTick(
                1.0, rate, 0.0, rate * 4096, 0.0, wait, None, rate * wait,
                read_rtt_seconds=wait, read_queue_seconds=0.0,
            )  # fmt: skip
        self.at += 1.0
        client = ClientWitness(1, 64, 0.0, on_wire + self.lost, rate + others)
        witness = Witness(clients={"filer": client})
        return self.judge.observe(self.at, 1.0, BUDGETS, {FLOW: tick}, witness)[VOLUME].word

    def open_loop(self, numbers, seconds, rate, wait):
        """Requests come by chance: as many are on the wire at any time as by chance there are."""
        for _ in range(seconds):
            on_wire = sum(numbers.random() < wait for _ in range(round(rate)))
            self.reads(rate * numbers.gauss(1.0, 0.05), wait * numbers.gauss(1.0, 0.1), on_wire)

    def closed_loop(self, numbers, seconds, depth, wait):
        for _ in range(seconds):
            time = wait * numbers.gauss(1.0, 0.05)
            self.reads(0.97 * depth / time, time, depth)

    def rests(self, seconds):
        return [self.reads(0.0, 0.0, 0) for _ in range(seconds)]

    def is_silent(self, seconds, on_wire):
        return [self.reads(0.0, 0.0, on_wire) for _ in range(seconds)]


@pytest.mark.parametrize("lost", [1, 3, 40])
@pytest.mark.parametrize(("rate", "wait"), [(20, 0.001), (500, 0.0005), (900, 0.005), (600, 0.03)])
@pytest.mark.parametrize("seed", range(4))
def test_an_application_that_ends_after_calls_were_sent_again_is_no_stall(seed, rate, wait, lost):
    """Seen with the first call that is answered while little is under way: at the latest as the lease of the
    mount is renewed.
    """
    mount, numbers = Mount(), random.Random(seed)
    mount.open_loop(numbers, 30, rate, wait)
    mount.lost = lost
    mount.open_loop(numbers, 30, rate, wait)
    mount.reads(rate / 2, wait, 0)
    mount.rests(20)

    said = []
    for _ in range(10):
        said.append(mount.reads(0.0, 0.0, 0, others=1.0))
        said += mount.rests(59)

    assert Word.STALLED not in said


def test_and_at_once_where_little_was_under_way():
    mount = Mount()
    mount.open_loop(random.Random(1), 30, 20, 0.001)
    mount.lost = 1
    for _ in range(5):
        mount.reads(20.0, 0.001, 0)

    assert Word.STALLED not in mount.rests(600)


@pytest.mark.parametrize("depth", [1, 2, 8, 64])
@pytest.mark.parametrize("lost", [0, 1, 40])
@pytest.mark.parametrize("seed", range(4))
def test_a_server_that_goes_silent_is_told_whatever_was_lost_before(seed, lost, depth):
    mount, numbers = Mount(), random.Random(seed)
    mount.closed_loop(numbers, 20, depth, 0.004)
    mount.lost = lost
    mount.closed_loop(numbers, 20, depth, 0.004)

    said = mount.is_silent(30, depth)

    assert said[2:] == [Word.STALLED] * 28


@pytest.mark.parametrize("lost", [0, 2])
@pytest.mark.parametrize("rate", [5.0, 20.0, 40.0])
def test_a_call_that_is_lost_in_the_middle_of_a_second_in_which_others_were_answered_is_awaited(
    rate, lost
):
    mount = Mount()
    mount.lost = lost
    for _ in range(30):
        mount.reads(rate, 0.001, 0)
    mount.reads(rate / 2, 0.001, 1)

    assert mount.is_silent(30, 1)[2:] == [Word.STALLED] * 28


@pytest.mark.parametrize("busy", [0.15, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("is_in_step", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_one_call_of_an_application_that_asks_one_at_a_time_is_enough(seed, busy, is_in_step):
    mount, numbers = Mount(), random.Random(seed)
    for _ in range(40):
        share = min(1.0, busy * numbers.gauss(1.0, 0.1))
        # Its calls may fall upon each look.
        mount.reads(share / 0.004, 0.004, is_in_step or numbers.random() < share)

    said = mount.is_silent(30, 1)

    assert said[2:] == [Word.STALLED] * 28


@pytest.mark.parametrize("seed", range(4))
def test_one_call_of_a_mount_that_does_little_is_enough_to_tell(seed):
    mount, numbers = Mount(), random.Random(seed)
    mount.lost = 2
    mount.open_loop(numbers, 60, 20, 0.001)

    said = mount.is_silent(30, 1)

    assert said[2:] == [Word.STALLED] * 28


def test_calls_that_were_lost_in_a_stall_are_none_after_it():
    """The application ends just after it; the lease of the mount is renewed each 20 s."""
    mount, numbers = Mount(), random.Random(1)
    mount.closed_loop(numbers, 30, 20, 0.004)
    stalled = mount.is_silent(30, 20)
    mount.lost = 20  # sent again, and answered now
    mount.reads(300.0, 2.0, 0)
    mount.reads(300.0, 0.004, 0)

    said = []
    for _ in range(30):
        said += mount.rests(19)
        said.append(mount.reads(0.0, 0.0, 0, others=1.0))

    assert stalled[-1] is Word.STALLED
    assert Word.STALLED not in said[20:]


def test_a_stall_says_for_how_long_nothing_was_answered():
    mount, numbers = Mount(), random.Random(1)
    mount.closed_loop(numbers, 30, 20, 0.004)
    mount.is_silent(29, 20)
    client = ClientWitness(1, 64, 0.0, 20, 0.0)

    said = mount.judge.observe(
        mount.at + 1.0, 1.0, BUDGETS, {FLOW: FlowTick(1.0)}, Witness(clients={"filer": client})
    )[VOLUME]

    assert said.word is Word.STALLED
    seconds = re.search(r"none was answered for (\d+) s", said.sentence)
    assert 20 <= int(seconds[1]) <= 30
