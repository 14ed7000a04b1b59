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
    """A mount, second by second; `lost`: calls that nobody will answer. disturbances: of its connections; None:
    not known.
    """

    def __init__(self, disturbances=None):
        self.judge, self.at, self.lost = Judge(), 100.0, 0
        self.disturbances, self.verdicts = disturbances, {}

    def reads(self, rate, wait, on_wire, others=0.0):
        """So many a second, and so many on the wire as the second ends. others: calls of other kinds."""
        tick = FlowTick(1.0)
        if rate:
            tick = FlowTick(
                1.0, rate, 0.0, rate * 4096, 0.0, wait, None, rate * wait,
                read_rtt_seconds=wait, read_queue_seconds=0.0,
            )  # fmt: skip
        self.at += 1.0
        client = ClientWitness(
            1, 64, 0.0, on_wire + self.lost, rate + others, disturbances=self.disturbances
        )
        witness = Witness(clients={"filer": client})
        self.verdicts = self.judge.observe(self.at, 1.0, BUDGETS, {FLOW: tick}, witness)
        return self.verdicts[VOLUME].word

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


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("answered", [0.01, 0.05, 0.075])
def test_a_server_that_goes_silent_as_a_second_begins_is_told_each_time(answered, depth):
    """An application that always has as many calls on the wire: of few answers in a second it is no sign that
    what is on the wire was lost.
    """
    mount, numbers = Mount(disturbances=1), random.Random(1)
    for _ in range(4):
        mount.closed_loop(numbers, 20, depth, 0.004)
        mount.reads(answered * depth / 0.004, 0.004, depth)

        assert mount.is_silent(20, depth)[2:] == [Word.STALLED] * 18


@pytest.mark.parametrize("each", [5, 20, 1000])
def test_a_stall_goes_on_while_the_server_answers_attributes_from_its_memory(each):
    """each: seconds between two answers, or five in each second."""
    mount, numbers = Mount(disturbances=1), random.Random(1)
    mount.closed_loop(numbers, 20, 4, 0.004)
    said = []
    for second in range(120):
        is_answered = each == 1000 or second % each == each - 1
        said.append(mount.reads(0.0, 0.0, 4, others=5.0 if is_answered else 0.0))

    assert set(said[30:]) == {Word.STALLED}


def test_a_call_that_takes_long_on_a_mount_that_does_nothing_else_is_no_stall():
    """As a copy that the server makes."""
    mount, numbers = Mount(disturbances=1), random.Random(1)
    mount.closed_loop(numbers, 20, 4, 0.004)
    mount.rests(60)

    assert Word.STALLED not in {mount.reads(0.0, 0.0, 1, others=5.0) for _ in range(120)}


def test_calls_that_wait_while_many_others_are_answered_are_no_stall():
    """Of so many it is not known which are on the wire at a look."""
    mount, numbers = Mount(disturbances=1), random.Random(1)
    mount.closed_loop(numbers, 20, 4, 0.004)

    assert Word.STALLED not in {mount.reads(0.0, 0.0, 2, others=2_000.0) for _ in range(60)}


@pytest.mark.parametrize("known", [True, False])
def test_after_a_failover_an_idle_mount_waits_for_nothing(known):
    """Its calls were sent again over a connection made anew; nothing is ever answered again."""
    mount, numbers = Mount(disturbances=1 if known else None), random.Random(1)
    mount.closed_loop(numbers, 30, 32, 0.02)
    mount.is_silent(45, 32)
    mount.lost, mount.disturbances = 32, 2 if known else None
    mount.closed_loop(numbers, 60, 32, 0.02)
    mount.reads(500.0, 0.02, 0)
    said = mount.rests(300)

    assert (Word.STALLED in said) is not known


def test_calls_of_a_soft_mount_that_were_given_up_are_not_awaited():
    """They end, as calls that were done, and no answer came."""
    mount, numbers = Mount(disturbances=1), random.Random(1)
    mount.closed_loop(numbers, 30, 4, 0.02)
    mount.is_silent(30, 4)
    wait = 30.0
    tick = FlowTick(
        1.0, 4.0, 0.0, 0.0, 0.0, wait, None, 4 * wait, read_rtt_seconds=wait, read_queue_seconds=0.0
    )
    mount.at += 1.0
    mount.judge.observe(
        mount.at, 1.0, BUDGETS, {FLOW: tick},
        Witness(clients={"filer": ClientWitness(1, 64, 0.0, 4, 0.0, disturbances=1)}),
    )  # fmt: skip
    mount.lost = 4

    assert Word.STALLED not in mount.rests(300)[2:]


@pytest.mark.parametrize("depth", [1, 8])
def test_a_server_that_goes_silent_after_a_failover_is_told(depth):
    mount, numbers = Mount(disturbances=1), random.Random(1)
    mount.open_loop(numbers, 30, 100, 0.002)
    mount.is_silent(30, 6)
    mount.lost, mount.disturbances = 6, 2
    mount.open_loop(numbers, 30, 100, 0.002)

    assert mount.is_silent(30, depth)[2:] == [Word.STALLED] * 28


@pytest.mark.parametrize("on_wire", [1, 4])
@pytest.mark.parametrize(("disturbances", "lost"), [(2, 0), (8, 4), (None, 0)])
def test_a_server_that_goes_silent_is_told_where_nobody_ever_read_or_wrote(
    disturbances, lost, on_wire
):
    """As `ls -lR`. lost: before the first look, by connections made anew."""
    mount = Mount(disturbances)
    mount.lost = lost
    before = mount.rests(3)
    before += [mount.reads(0.0, 0.0, 0, others=7.0 * (second % 2)) for second in range(20)]

    assert Word.STALLED not in before
    assert mount.is_silent(30, on_wire)[2:] == [Word.STALLED] * 28
    assert mount.reads(0.0, 0.0, 0, others=7.0) is Word.IDLE


@pytest.mark.parametrize(
    ("disturbances", "is_told"), [(1, True), (2, True), (3, False), (8, False)]
)
def test_a_stall_is_told_that_began_before_the_first_look(disturbances, is_told):
    """Unless a connection was made anew: then what is on the wire may have been answered over it."""
    mount = Mount(disturbances)

    said = mount.is_silent(13, 4)

    assert (said[1:] == [Word.STALLED] * 12) is is_told
    assert (Word.STALLED in said) is is_told
    mount.reads(60.0, 0.5, 4)
    assert Word.STALLED not in mount.rests(30)


def test_what_was_lost_before_the_first_look_waits_for_nothing():
    """A mount that rests, whose lease is renewed each minute."""
    mount = Mount(disturbances=4)
    mount.lost = 3
    said = []
    for _ in range(5):
        said += mount.rests(59)
        said.append(mount.reads(0.0, 0.0, 0, others=1.0))

    assert set(said) == {Word.IDLE}


@pytest.mark.parametrize("used", [(), (0,), (1, 2)])
def test_of_mounts_that_share_connections_all_wait_where_none_was_ever_used(used):
    """Else those that were."""
    flows = [FlowKey("nfs", f"/m{number}") for number in range(3)]
    volumes = [BudgetKey(Kind.VOLUME, flow.name) for flow in flows]
    slots = BudgetKey(Kind.NFS_SLOTS, "filer")
    budgets = {
        **{key: Budget(key, (flow,)) for key, flow in zip(volumes, flows, strict=True)},
        slots: Budget(slots, tuple(flows)),
    }
    judge = Judge()
    read = FlowTick(
        1.0, 60.0, 0.0, 245_760.0, 0.0, 0.002, None, 0.12,
        read_rtt_seconds=0.002, read_queue_seconds=0.0,
    )  # fmt: skip
    for second in range(60):
        is_silent = second >= 40
        ticks = {
            flow: read if number in used and second < 10 else FlowTick(1.0)
            for number, flow in enumerate(flows)
        }
        client = ClientWitness(
            1, 64, 0.0, int(is_silent), 0.0 if is_silent else 200.0, disturbances=2
        )
        said = judge.observe(
            100.0 + second, 1.0, budgets, ticks, Witness(clients={"filer": client})
        )

    waiting = [number for number, key in enumerate(volumes) if said[key].word is Word.STALLED]
    assert waiting == list(used or (0, 1, 2))


def test_what_waited_for_the_end_of_a_stall_says_nothing_new():
    """One call at a time: those answered as it ends took half a second on average, and nobody asks for more."""
    mount, numbers = Mount(disturbances=1), random.Random(1)
    mount.closed_loop(numbers, 30, 1, 0.05)
    mount.is_silent(3, 1)
    before = [verdict.sentence for verdict in mount.verdicts.values()]

    assert mount.reads(6.0, 0.566, 1) is Word.STALLED
    assert [verdict.sentence for verdict in mount.verdicts.values()] == before
    assert mount.reads(17.0, 0.055, 1) is not Word.STALLED


@pytest.mark.parametrize("lost", [3, 5])
def test_after_a_cut_connection_a_queue_stands_as_before(lost):
    """What is on the wire at the looks and was lost is none of a load that comes in step with them."""
    mount, numbers = Mount(disturbances=1), random.Random(1)
    mount.closed_loop(numbers, 30, 5, 0.004)
    mount.is_silent(7, 5)
    mount.lost, mount.disturbances = lost, 2
    mount.closed_loop(numbers, 10, 5, 0.004)
    rates = [numbers.uniform(60.0, 140.0) for _ in range(20)]
    said = [mount.reads(rate, 10 / rate, 10) for rate in rates]

    assert set(said[3:]) == {Word.SATURATED}


@pytest.mark.parametrize(
    ("after", "binds"),
    [
        ((None, (350.0, 0.37)), False),  # nothing for a second, and what waited took that long
        (((850.0, 0.08),), True),  # a bucket makes up for what was missing
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_server_that_pauses_while_many_wait_and_makes_up_for_nothing_is_no_limit(
    seed, after, binds
):
    mount, numbers = Mount(disturbances=0), random.Random(seed)
    mount.closed_loop(numbers, 20, 1, 0.008)
    mount.rests(2)
    said = []
    for _ in range(8):
        rates = [500.0 * numbers.gauss(1.0, 0.005) for _ in range(7)]
        said += [mount.reads(rate, 48 / rate, 48) for rate in rates]
        for rate, wait in ((150.0, 0.096), *(each or (0.0, 0.0) for each in after)):
            mount.reads(rate, wait, 48)

    assert (Word.THROTTLED in said[len(said) // 2 :]) is binds


def test_of_twenty_mounts_of_a_silent_server_those_wait_that_did_something_just_before():
    flows = [FlowKey("nfs", f"/home/u{number}") for number in range(20)]
    volumes = [BudgetKey(Kind.VOLUME, flow.name) for flow in flows]
    slots = BudgetKey(Kind.NFS_SLOTS, "filer")
    budgets = {
        **{key: Budget(key, (flow,)) for key, flow in zip(volumes, flows, strict=True)},
        slots: Budget(slots, tuple(flows)),
    }
    judge, at = Judge(), 100.0

    def second(rates, on_wire):
        nonlocal at
        at += 1.0
        ticks = {
            flow: FlowTick(
                1.0, rate, 0.0, rate * 4096, 0.0, 0.002, None, rate * 0.002,
                read_rtt_seconds=0.002, read_queue_seconds=0.0,
            ) if rate else FlowTick(1.0)
            for flow, rate in zip(flows, rates, strict=True)
        }  # fmt: skip
        client = ClientWitness(1, 64, 0.0, on_wire, sum(rates), disturbances=1)
        found = judge.observe(at, 1.0, budgets, ticks, Witness(clients={"filer": client}))
        return [key.name for key in volumes if found[key].word is Word.STALLED]

    for _ in range(10):
        second([60.0] * 20, 0)
    for _ in range(120):
        second([60.0, *[0.0] * 19], 0)
    said = [second([0.0] * 20, 1) for _ in range(60)]

    assert said[2:] == [["/home/u0"]] * 58
