"""A session's slots (NFS 4.1), whose number no client shows: as many calls on the wire, whatever each takes.

What a call takes moves by itself, as where acknowledgements are delayed: so the wire is never at ease.
"""

import random

import pytest

from ioplateau.judge import ticks
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import ClientWitness, Witness
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
from ioplateau.measure import mountstats
from nfs_texts import record

MOUNT = FlowKey("nfs", "/a")
VOLUME, SLOTS = BudgetKey(Kind.VOLUME, "/a"), BudgetKey(Kind.NFS_SLOTS, "/a")
ALONE_SECONDS = 0.010


def tick(rate, on_wire, waiting, size=4096):
    """So many calls a second, of which as many are on the wire and as many wait to be sent."""
    wire, queue = on_wire / rate, waiting / rate
    return FlowTick(
        1.0,
        read_operations_per_second=rate,
        read_bytes_per_second=rate * size,
        read_await_seconds=wire + queue,
        queue_length=on_wire + waiting,
        read_rtt_seconds=wire,
        read_queue_seconds=queue,
    )


def words(ticks, looks=None):
    """Of slots and volume, each second, after a while of one call at a time. looks: calls on the wire at each."""
    budgets = {key: Budget(key, (MOUNT,), ()) for key in (VOLUME, SLOTS)}
    judge, found = Judge(), []
    judge.observe(100.0, None, budgets, {}, Witness())
    alone = [tick(1 / ALONE_SECONDS, 1.0, 0.0)] * 12
    for second, flow in enumerate([*alone, *ticks]):
        on_wire = looks[second - len(alone)] if looks and second >= len(alone) else None
        witness = Witness(clients={"/a": ClientWitness(1, backlog=0.0, on_wire=on_wire)})
        said = judge.observe(101.0 + second, 1.0, budgets, {MOUNT: flow}, witness)
        found.append((said[SLOTS].word, said[VOLUME].word))
    return found[len(alone) :]


def moving(seed, on_wire, waiting, spread=0.35, seconds=25):
    """Calls of which each takes something else each second."""
    numbers = random.Random(seed)
    ticks = []
    for _ in range(seconds):
        wire = 3 * ALONE_SECONDS * numbers.uniform(1 - spread, 1 + spread)
        there = on_wire * numbers.gauss(1.0, 0.012)
        ticks.append(tick(there / wire, there, waiting))
    return ticks


@pytest.mark.parametrize(("on_wire", "limit"), [(None, 8.0), (8, 8.0), (20, None)])
def test_the_number_of_slots_is_told_unless_the_wire_shows_another(on_wire, limit):
    slots = Limit(Dimension.SLOTS, Direction.TOTAL, 8.0, Origin.REPORTED)
    budgets = {VOLUME: Budget(VOLUME, (MOUNT,)), SLOTS: Budget(SLOTS, (MOUNT,), (slots,))}
    judge = Judge()
    for second in range(30):
        flow = tick(100.0, 1.0, 0.0) if second < 12 else tick(800.0, 8.0, 12.0)
        witness = Witness(clients={"/a": ClientWitness(1, 8, 12.0 * (second >= 12), on_wire)})
        said = judge.observe(100.0 + second, 1.0, budgets, {MOUNT: flow}, witness)

    assert (said[SLOTS].word, said[SLOTS].limit) == (Word.THROTTLED, limit)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("on_wire", "waiting"), [(4, 6), (4, 36), (20, 30)])
def test_a_wire_with_as_many_calls_whatever_they_take_has_no_slot_left(seed, on_wire, waiting):
    found = words(moving(seed, on_wire, waiting))

    assert {slots for slots, _ in found[8:]} == {Word.THROTTLED}
    assert Word.THROTTLED not in {volume for _, volume in found}


@pytest.mark.parametrize("seed", range(4))
def test_as_many_calls_at_each_look_have_no_slot_left(seed):
    """Their mean is known too coarsely to stand still."""
    numbers, ticks = random.Random(seed), []
    for second in range(25):
        wire = (4, 6, 3)[second % 3] * ALONE_SECONDS
        there = 2 * numbers.uniform(0.8, 1.2)
        ticks.append(tick(there / wire, there, 8))
    same, other = ([on_wire] * 25 for on_wire in (2, 3))
    other[::2] = [2] * 13

    assert {slots for slots, _ in words(ticks, same)[8:]} == {Word.THROTTLED}
    assert Word.THROTTLED not in {slots for slots, _ in words(ticks, other)}


@pytest.mark.parametrize("seed", range(4))
def test_where_none_waits_to_be_sent_the_application_asks_for_so_many(seed):
    found = words(moving(seed, on_wire=8, waiting=0.3))

    assert Word.THROTTLED not in {slots for slots, _ in found}


@pytest.mark.parametrize("seed", range(4))
def test_where_the_rate_stands_as_well_a_limit_of_the_rate_holds_it(seed):
    found = words(moving(seed, on_wire=20, waiting=12, spread=0.003))

    assert Word.THROTTLED not in {slots for slots, _ in found}


@pytest.mark.parametrize("seed", range(4))
def test_where_the_calls_on_the_wire_come_and_go_slots_are_free(seed):
    numbers = random.Random(seed)
    ticks = [
        tick(there / (3 * ALONE_SECONDS), there, 10.0)
        for there in (numbers.uniform(4.0, 16.0) for _ in range(25))
    ]

    assert Word.THROTTLED not in {slots for slots, _ in words(ticks)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("on_wire", "waiting"), [(4, 20), (8, 100), (34, 400), (64, 64)])
def test_calls_that_wait_at_the_server_for_a_limit_in_gusts_want_no_more_slots(
    seed, on_wire, waiting
):
    """Buffered writes: as many on the wire at each look, 20 a second on average, 5 in one and 35 in another."""
    numbers, ticks = random.Random(seed), []
    for second in range(40):
        rate = (5.0, 35.0)[second % 2] * numbers.uniform(0.8, 1.2)
        call = max(on_wire / 20.0, 12 * ALONE_SECONDS) * numbers.uniform(0.9, 1.1)
        ticks.append(tick(rate, rate * call, rate * call * waiting / on_wire))
    found = words(ticks, [on_wire] * 40)

    assert Word.THROTTLED not in {slots for slots, _ in found}


@pytest.mark.parametrize("seconds", [2, 6, 30])
@pytest.mark.parametrize("is_short", [False, True])
def test_what_waited_for_the_end_of_a_stall_waited_for_no_slot(seconds, is_short):
    """A client of NFSv4.1 keeps calls back until its session is made anew. is_short: it has few slots, and is asked
    for more from then on.
    """
    budgets = {key: Budget(key, (MOUNT,), ()) for key in (VOLUME, SLOTS)}
    judge, said = Judge(), []
    judge.observe(100.0, None, budgets, {}, Witness())
    kept = tick(2.0, 0.02, 2.0 * seconds)
    after = tick(220.0, 2.2, 6.6) if is_short else tick(50.0, 0.5, 0.1)
    alone = [tick(1 / ALONE_SECONDS, 1.0, 0.0)] * 20
    for second, flow in enumerate([*alone, *[FlowTick(1.0)] * seconds, kept, kept, *[after] * 10]):
        client = ClientWitness(1, None, 0.0, 4, flow.operations_per_second, disturbances=2)
        told = judge.observe(
            101.0 + second, 1.0, budgets, {MOUNT: flow}, Witness(clients={"/a": client})
        )
        said.append((told[SLOTS].word, told[VOLUME].word))

    assert said[19 + seconds][1] is Word.STALLED
    assert Word.THROTTLED not in {slots for slots, _ in said[: 20 + seconds + 2]}
    assert (said[-1][0] is Word.THROTTLED) is is_short


def test_what_a_smaller_call_took_tells_that_the_wire_is_not_at_ease_for_a_larger_one():
    numbers = random.Random(1)
    # Never seen but at the volume's limit, from the first call on.
    at_limit = [
        tick(500 * numbers.gauss(1.0, 0.02), on_wire=60, waiting=200, size=65536) for _ in range(12)
    ]

    assert Word.THROTTLED not in {slots for slots, _ in words(at_limit)}


OTHER = FlowKey("nfs", "/b")
OTHERS_VOLUME = BudgetKey(Kind.VOLUME, "/b")


def test_who_takes_the_slots_by_a_limit_of_its_own_volume_is_not_held_by_the_slots():
    """Two mounts of one session: /a has 64 calls on the wire for 20 times as long as they should take, flat at a
    limit that nobody told; /b waits for a slot, and the server answers it at once.
    """
    budgets = {
        VOLUME: Budget(VOLUME, (MOUNT,), ()),
        OTHERS_VOLUME: Budget(OTHERS_VOLUME, (OTHER,), ()),
        SLOTS: Budget(SLOTS, (MOUNT, OTHER), ()),
    }
    judge, found = Judge(), []
    judge.observe(100.0, None, budgets, {}, Witness())
    alone = tick(1 / ALONE_SECONDS, 1.0, 0.0)
    for second in range(60):
        flows = {MOUNT: alone, OTHER: alone}
        if second >= 12:
            rate = 300.0 * (1 + 0.002 * (-1) ** second)
            flows = {MOUNT: tick(rate, 60.0, 100.0), OTHER: tick(20.0, 0.2, 6.0)}
        witness = Witness(
            clients={"/a": ClientWitness(1, backlog=6.0), "/b": ClientWitness(1, backlog=6.0)}
        )
        found.append(judge.observe(101.0 + second, 1.0, budgets, flows, witness))

    words = [(said[SLOTS].word, said[VOLUME].word, said[OTHERS_VOLUME].word) for said in found[30:]]
    assert set(words) == {(Word.THROTTLED, Word.THROTTLED, Word.AFFECTED)}
    told = found[-1][SLOTS].sentence
    assert told.endswith("; calls of /a, which take long, hold most of them")
    # so its alert is a warning only: tests/alerts/test_throttling.py
    assert found[-1][SLOTS].demand is None


@pytest.mark.parametrize(
    ("on_wire", "backlog", "sending", "is_short"),
    [(16, 6.0, 0.0, True), (3, 6.0, 0.0, True), (3, 0.0, 0.0, False), (16, 0.0, 6.0, False)],
)
def test_calls_that_neither_read_nor_write_hold_slots_too(on_wire, backlog, sending, is_short):
    """Four readers wait for one of 16 slots (NFSv3), while the server answers at once. Where calls queue for
    one, none is free: 16 may be what a mount that is made now would have. Calls that wait to be written to
    the connection have theirs.
    """
    budgets = {key: Budget(key, (MOUNT,), ()) for key in (VOLUME, SLOTS)}
    judge = Judge()
    judge.observe(100.0, None, budgets, {}, Witness())
    for second in range(40):
        flow = tick(1 / ALONE_SECONDS, 1.0, 0.0) if second < 12 else tick(220.0, 2.2, 6.6)
        client = ClientWitness(1, backlog=backlog, slot_limit=16, on_wire=on_wire, sending=sending)
        said = judge.observe(
            101.0 + second, 1.0, budgets, {MOUNT: flow}, Witness(clients={"/a": client})
        )

    assert (said[SLOTS].word is Word.THROTTLED) is is_short


def test_a_number_of_slots_that_cannot_be_is_not_told():
    """tcp_max_slot_table_entries was set anew after this was mounted."""
    limit = Limit(Dimension.SLOTS, Direction.TOTAL, 65_536.0, Origin.REPORTED, "sysctl")
    budgets = {VOLUME: Budget(VOLUME, (MOUNT,)), SLOTS: Budget(SLOTS, (MOUNT,), (limit,))}
    judge = Judge()
    judge.observe(100.0, None, budgets, {}, Witness())
    for second in range(40):
        flow = tick(1 / ALONE_SECONDS, 1.0, 0.0) if second < 12 else tick(220.0, 2.2, 6.6)
        client = ClientWitness(1, backlog=6.0, slot_limit=65_536, on_wire=16)
        said = judge.observe(
            101.0 + second, 1.0, budgets, {MOUNT: flow}, Witness(clients={"/a": client})
        )

    assert said[SLOTS].word is Word.THROTTLED
    assert said[SLOTS].limit is None
    assert said[SLOTS].sentence.startswith("the slots of this client are taken")


def test_slots_stay_short_when_the_mount_they_are_named_after_is_unmounted():
    client = Witness(clients={"/a": ClientWitness(1, backlog=6.0, slot_limit=16, on_wire=16)})
    budgets = {
        VOLUME: Budget(VOLUME, (MOUNT,), ()),
        OTHERS_VOLUME: Budget(OTHERS_VOLUME, (OTHER,), ()),
        SLOTS: Budget(SLOTS, (MOUNT, OTHER), ()),
    }
    judge = Judge()
    judge.observe(100.0, None, budgets, {}, Witness())
    alone, waits = tick(1 / ALONE_SECONDS, 1.0, 0.0), tick(220.0, 2.2, 6.6)
    for second in range(40):
        flows = {MOUNT: alone, OTHER: alone if second < 12 else waits}
        before = judge.observe(101.0 + second, 1.0, budgets, flows, client)
    left = {OTHERS_VOLUME: budgets[OTHERS_VOLUME], SLOTS: Budget(SLOTS, (OTHER,), ())}
    after = [
        judge.observe(141.0 + second, 1.0, left, {OTHER: waits}, client) for second in range(5)
    ]

    assert before[SLOTS].word is Word.THROTTLED
    assert {said[SLOTS].word for said in after} == {Word.THROTTLED}
    assert {said[OTHERS_VOLUME].word for said in after} == {Word.AFFECTED}
    assert after[-1][SLOTS].since == before[SLOTS].since


def test_what_a_server_asks_to_wait_for_is_no_wait_for_a_slot():
    """The kernel counts such a call as done, and the time until it is sent again as before its sending."""
    before, after = (
        mountstats.parse(
            record(events=" ".join(["7"] * 24 + [delays, "7", "7"]), operations=of)
        ).mounts[0]
        for delays, of in (
            ("7", ("READ: 0 0 0 0 0 0 0 0 0",)),
            ("27", ("READ: 120 120 0 20000 400000 2100 480 2600 0",)),
        )
    )
    flow = ticks.of_mount(before, after, 1.0)

    assert flow.later_per_second == 20.0
    assert flow.read_queue_seconds == pytest.approx((2.1 - 20 * 0.1) / 120)
    assert flow.read_rtt_seconds == pytest.approx(0.48 / 120)
    assert flow.read_await_seconds == pytest.approx(2.6 / 120)


@pytest.mark.parametrize(("later", "is_short"), [(0.0, True), (40.0, False)])
def test_calls_that_a_server_tells_to_come_back_later_have_their_slots(later, is_short):
    busy = tick(200.0, on_wire=1.0, waiting=4.0 + 0.1 * later)
    held = 0.0 if later else 4.0 / 200
    found = words([busy._replace(read_queue_seconds=held, later_per_second=later)] * 20)

    assert (Word.THROTTLED in {slots for slots, _ in found}) is is_short


CONNECTION = BudgetKey(Kind.NFS_CONNECTION, "/a")


def of_two_mounts(first, alone, later, client):
    """Verdicts where a client has two mounts, of which the second does most. alone, later: what that does for 20 s,
    and for 40 s more. client(second): what the transport tells.
    """
    budgets = {key: Budget(key, (MOUNT, OTHER), ()) for key in (SLOTS, CONNECTION)}
    for key, flow in ((VOLUME, MOUNT), (OTHERS_VOLUME, OTHER)):
        budgets[key] = Budget(key, (flow,), ())
    judge = Judge()
    judge.observe(100.0, None, budgets, {}, Witness())
    for second in range(60):
        flows = {MOUNT: first, OTHER: alone if second < 20 else later}
        witness = Witness(clients={"/a": client(second)})
        said = judge.observe(101.0 + second, 1.0, budgets, flows, witness)
    return said


def test_slots_are_told_with_the_figures_of_the_mount_that_waits():
    short = ClientWitness(1, backlog=None, slot_limit=None, on_wire=16)
    said = of_two_mounts(FlowTick(1.0), tick(100, 1.0, 0), tick(220, 2.2, 6.6), lambda _: short)

    assert said[SLOTS].word is Word.THROTTLED
    assert said[SLOTS].evidence["waiting_calls"] == pytest.approx(6.6)
    assert said[SLOTS].evidence["queue_share"] == pytest.approx(0.75)
    assert said[OTHERS_VOLUME].parent == SLOTS
    assert said[VOLUME].word is Word.IDLE


def test_a_client_is_not_idle_as_its_first_mount_is():
    said = of_two_mounts(
        tick(3, 0.03, 0), tick(100, 1.0, 0), tick(1000, 5.0, 0), lambda _: ClientWitness(1)
    )

    assert said[VOLUME].word is Word.IDLE
    for key in (SLOTS, CONNECTION):
        assert said[key].word is Word.HEALTHY
        assert said[key].evidence["operations_per_second"] == pytest.approx(1000)


def test_connections_are_told_with_the_figures_of_the_mount_that_fills_them():
    full = ClientWitness(1, sender_limited_ratio=0.5)
    said = of_two_mounts(
        tick(20, 0.2, 0),
        tick(100, 1.0, 0),
        tick(300, 60.0, 0, size=1 << 20),
        lambda second: full if second >= 20 else ClientWitness(1),
    )

    assert said[CONNECTION].word is Word.THROTTLED
    assert said[CONNECTION].utilization == pytest.approx(1.0, rel=0.01)
    assert said[OTHERS_VOLUME].parent == CONNECTION
