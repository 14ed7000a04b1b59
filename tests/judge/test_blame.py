"""Whose limit: the disk's or the VM's, the volume's or the client's."""

import random

import pytest

from ioplateau.judge import parameters as number
from ioplateau.judge.blame import (
    Culprit,
    gives_way,
    is_apart,
    is_connection_bound,
    is_one_queue,
    of_disks,
    standing_alone,
    waits_for_slots,
)
from ioplateau.judge.case import Case
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.pool import Member, Pool
from ioplateau.judge.signals import WatchedFlow
from ioplateau.judge.witness import ClientWitness
from ioplateau.limits.budgets import Budget, BudgetKey, Dimension, FlowKey, Kind


def disk(rate, wait, in_flight=0):
    return FlowTick(
        1.0, rate, 0.0, rate * 4096, 0.0, wait if rate else None, None, rate * wait,
        max(in_flight, round(rate * wait)), 1.0,
    )  # fmt: skip


def pooled(*histories, stripe=False, in_flight=0, told=frozenset()):
    """A pool whose members lived through these (rate, wait) blocks, after a calm while. in_flight:
    at least so many are outstanding at the end of each. told: who is held back by a limit of its own.
    """
    watched_flows = [WatchedFlow() for _ in histories]
    pool = Pool(
        [
            Member(f"sd{index}", watched, reads=True, writes=True, group=0 if stripe else index)
            for index, watched in enumerate(watched_flows)
        ]
    )
    calm = [(200.0, 0.002)] * 6
    for second, blocks in enumerate(zip(*[[*calm, *h] for h in histories], strict=True)):
        stays = in_flight if second >= len(calm) else 0
        for watched, (rate, wait) in zip(watched_flows, blocks, strict=True):
            watched.look(disk(rate, wait, stays), float(second), 1.0)
        pool.add_up()
        pool.weigh(set(told), told)
    return pool


def test_members_that_take_from_each_other_share_a_cap():
    one = [(3000.0 + 300.0 * (-1) ** n, 0.006) for n in range(12)]
    other = [(3000.0 - 300.0 * (-1) ** n, 0.009) for n in range(12)]
    pool = pooled(one, other)

    assert pool.is_locked
    assert of_disks(pool, 1.0) is Culprit.VM


def test_what_was_asked_before_does_not_hide_what_members_take_from_each_other():
    before = [(2000.0 + 100.0 * (-1) ** n, 0.003) for n in range(12)]
    one = [(2500.0 + 300.0 * (-1) ** n, 0.003) for n in range(8)]
    other = [(2500.0 - 300.0 * (-1) ** n, 0.003) for n in range(8)]

    assert not pooled(before, before).is_locked
    assert pooled([*before, *one], [*before, *other]).is_locked


def test_blocks_before_it_shows_that_members_share_a_limit_count_as_queued():
    one = [(2500.0 + 20.0 * (-1) ** n, 0.003) for n in range(12)]
    other = [(2500.0 - 20.0 * (-1) ** n, 0.003) for n in range(12)]
    up, down = (2700.0, 0.003), (2300.0, 0.003)

    assert pooled(one, other).queued == 0
    assert pooled([*one, up, down, up], [*other, down, up, down]).queued >= 12


def test_members_of_one_stripe_share_their_demand_and_prove_nothing():
    one = [(3000.0 + 300.0 * (-1) ** n, 0.006) for n in range(12)]
    other = [(3000.0 - 300.0 * (-1) ** n, 0.012) for n in range(12)]

    assert not pooled(one, other, stripe=True).is_locked


def striped(seed, *, own):
    """Members that wait unequally long. own: the first of two stands at its limit, and what the other
    does is by chance; else all of two to four stand together, whoever does it.
    """
    r = random.Random(seed)
    count, mean = 2 if own else r.randint(2, 4), r.uniform(150.0, 1500.0)
    waits = [r.uniform(0.02, 0.2) for _ in range(count)]
    histories = [[] for _ in range(count)]
    for _ in range(14):
        ripples = [r.uniform(-0.03, 0.03) for _ in range(count)]
        if own:
            ripples[0] = r.uniform(-0.003, 0.003)
        else:
            ripples = [each - sum(ripples) / count + r.uniform(-0.003, 0.003) for each in ripples]
        for history, ripple, wait in zip(histories, ripples, waits, strict=True):
            history.append((mean * (1 + ripple), wait))
    return pooled(*histories, stripe=True)


@pytest.mark.parametrize("seed", [71, 72, 73])
def test_a_sum_that_stands_while_none_of_its_members_does_is_the_vms(seed):
    """The host serves one disk of a stripe sooner than the other, at one limit of both."""
    assert of_disks(striped(seed, own=False), 1.0) is Culprit.VM


@pytest.mark.parametrize("seed", [74, 75, 76])
def test_a_member_that_stands_by_itself_holds_back_its_stripe(seed):
    assert of_disks(striped(seed, own=True), 1.0) is not Culprit.VM


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("seed", [81, 82, 83])
def test_a_sum_that_stands_since_each_member_of_its_stripe_does_is_not_the_vms(seed, alike):
    """Four disks of one size, each at its own limit, and a stripe over them; they wait as long, or not."""
    r = random.Random(seed)
    pace, wait = r.uniform(200, 1500), r.uniform(0.02, 0.05)
    histories = [
        [(pace * r.gauss(1, 0.002), wait * (1 if alike else 2**place)) for _ in range(16)]
        for place in range(4)
    ]

    assert of_disks(pooled(*histories, stripe=True), 1.0) is Culprit.DISK


@pytest.mark.parametrize("seed", [77, 78, 79, 80])
def test_a_sum_that_is_as_smooth_as_that_of_many_by_themselves_is_not_the_vms(seed):
    """Four disks ripple by a percent each, so that their sum does by half of one."""
    r = random.Random(seed)
    paces = [(r.uniform(300, 2000), r.uniform(0.02, 0.03) * 2**place) for place in range(4)]
    histories = [[(pace * r.gauss(1, 0.01), wait) for _ in range(16)] for pace, wait in paces]

    assert of_disks(pooled(*histories), 1.0) is Culprit.DISK


def test_one_queue_has_one_delay():
    pool = pooled([(3000.0, 0.008)] * 12, [(1500.0, 0.0082)] * 12)

    assert of_disks(pool, 1.0) is Culprit.VM


@pytest.mark.parametrize("is_met", [True, False])
def test_disks_that_wait_alike_are_one_queue_unless_each_is_at_a_ceiling_it_is_known_to_have(
    is_met,
):
    pool = pooled([(3000.0, 0.008)] * 12, [(3000.0, 0.0082)] * 12)
    vm = BudgetKey(Kind.VM_UNCACHED, "vm")
    disks = {}
    for member in pool.members:
        flow = FlowKey("disk", member.name)
        case = disks[member.key] = Case(Budget(member.key, (flow,)), member.watched, 0.0)
        if is_met:
            case.plateau.ceilings.remember(Dimension.IOPS, 3000.0, 2.0 * number.SUM_BLOCKS)

    assert is_one_queue(Case(Budget(vm, ()), pool, 0.0), disks) is not is_met


def test_a_member_held_back_by_its_own_told_limit_shares_no_queue_however_alike_they_wait():
    pool = pooled([(3000.0, 0.008)] * 12, [(1500.0, 0.0082)] * 12, told={"sd0"})

    assert of_disks(pool, 1.0) is not Culprit.VM


def test_a_level_kept_while_the_sum_moves_is_a_disks_own_after_as_many_seconds_of_long_blocks():
    """Three blocks of five seconds are more than six of one."""
    pool = pooled([(500.0, 0.03)] * 3, [(2000.0, 0.008), (1000.0, 0.016), (1500.0, 0.01)])
    watched = pool.members[0].watched

    assert standing_alone(watched, pool, 1.0) is None
    assert standing_alone(watched, pool, 5.0) == (Dimension.IOPS, pytest.approx(500.0))


def test_one_request_at_a_time_that_waits_as_long_as_a_deep_sibling_shares_its_queue():
    pool = pooled([(3200.0, 0.088)] * 16, [(11.0, 0.09)] * 16)

    assert of_disks(pool, 1.0) is Culprit.VM


def test_what_a_disk_asked_now_and_then_has_shown_holds_while_its_siblings_queue_stands():
    """Seven requests, one at a time, in one second of eight: half of that second is all they wait."""
    busy, free = [(56.0, 0.072)] * 20, [(100.0, 0.002)] * 2
    seldom = [(7.0, 0.071) if n % 8 == 0 else (0.0, 0.0) for n in range(20)]

    assert of_disks(pooled(busy, seldom), 1.0) is Culprit.VM
    again = pooled([*busy, *free, *busy[:6]], [*seldom, *[(0.0, 0.0)] * 8])
    assert of_disks(again, 1.0) is Culprit.EITHER


def test_a_disk_asked_now_and_then_that_is_served_at_once_takes_back_what_it_has_shown():
    seldom = [
        (7.0, 0.071) if n == 8 else (7.0, 0.002) if n == 16 else (0.0, 0.0) for n in range(20)
    ]

    assert of_disks(pooled([(56.0, 0.072)] * 20, seldom), 1.0) is Culprit.EITHER


def test_a_disk_of_which_no_request_is_answered_yet_waits_in_its_siblings_queue():
    """One request at a time that waits 2.3 s is answered in every third second."""
    seldom = [(1.0, 2.3) if n % 3 == 0 else (0.0, 0.0) for n in range(18)]
    pool = pooled([(110.0, 2.32)] * 18, seldom, in_flight=1)

    assert of_disks(pool, 1.0) is Culprit.VM


def test_blocks_in_which_nothing_is_answered_do_not_end_a_queue_of_several_disks():
    """A window of a second, looked at off beat, serves nothing in one block and twice in the next."""
    blocks = [(0.0, 0.0) if n % 4 == 3 else (43.0, 12.0) for n in range(16)]
    pool = pooled(blocks, blocks, in_flight=500)

    assert pool.queued == 12


def test_one_request_at_a_time_that_is_served_at_once_proves_nothing():
    pool = pooled([(3200.0, 0.088)] * 16, [(300.0, 0.002)] * 16)

    assert of_disks(pool, 1.0) is Culprit.EITHER


def test_members_of_a_stripe_are_one_wait_the_longest():
    pool = pooled(
        [(2500.0, 0.015)] * 16, [(2500.0, 0.006)] * 16, [(2500.0, 0.006)] * 16, stripe=True
    )

    assert not pool.alike


def test_two_of_a_stripe_that_wait_alike_while_others_do_not_share_no_queue_with_these():
    """A mirror's halves wait as long as each other, whatever the stripe's other mirrors do."""
    half, other = [(280.0, 0.16)] * 16, [(280.0, 0.002)] * 16

    assert pooled(half, half, stripe=True).alike
    assert not pooled(half, half, other, other, stripe=True).alike


def test_unequal_delays_and_flat_rates_are_each_disks_own():
    pool = pooled([(500.0, 0.032)] * 12, [(500.0, 0.128)] * 12)

    assert of_disks(pool, 1.0) is Culprit.DISK


def test_a_sum_is_held_against_its_disks_in_the_same_blocks():
    """One of two was still near its level when it came to it, and the sum was not."""
    one = [(rate, 0.006) for rate in (6372, 7551, 5880, 5069, 5068, 5066, 5067, 5063)]
    other = [(rate, 0.009) for rate in (5366, 7365, 5068, 5071, 5066, 5063, 5063, 5057)]

    assert of_disks(pooled(one, other), 1.0) is Culprit.DISK


def test_a_sum_ripples_less_by_the_root_of_as_many_as_move_by_themselves():
    numbers = random.Random(1)
    many = [[(numbers.gauss(500.0, 25.0), 0.008) for _ in range(12)] for _ in range(4)]
    locked = [[(500.0 + 100 * sign * (-1) ** n, 0.03) for n in range(12)] for sign in (1, -1)]
    uneven = [[(1000.0, 0.008)] * 12, [(100.0, 0.008)] * 12]

    assert pooled(*many).crowd == pytest.approx(4.0, rel=0.05)
    assert pooled(*many, stripe=True).crowd == 1.0
    assert pooled(*locked).crowd == 1.0
    assert pooled(*uneven).crowd == pytest.approx(1100.0**2 / (1000.0**2 + 100.0**2))


@pytest.mark.parametrize(("share", "is_found"), [(0.1, False), (0.3, False), (0.5, True)])
def test_what_a_disk_gives_up_is_the_sums_only_if_it_is_more_than_the_sum_ripples(share, is_found):
    """A small disk that goes over to another level moves the sum by no more than a limiter ripples."""
    small = 4000.0 * share
    steps = [1.06 * small] * 3 + [small] * 3
    mine = [(rate, 16 / rate) for rate in steps]
    others = [(4000.0 - rate, 64 / (4000.0 - rate)) for rate in steps]
    pool = pooled(mine, others)

    found = gives_way(pool.members[0].watched, pool)

    assert (found is not None) is is_found


def test_with_one_busy_disk_nobody_can_tell():
    assert of_disks(pooled([(500.0, 0.032)] * 12), 1.0) is Culprit.EITHER


def test_a_disk_that_waits_much_longer_than_its_siblings_has_a_reason_of_its_own():
    pool = pooled([(500.0, 0.1)] * 12, [(900.0, 0.02)] * 12, [(800.0, 0.02)] * 12)

    assert is_apart(pool.members[0].watched, pool)
    assert not is_apart(pool.members[1].watched, pool)


def calls(rate, rtt, queue):
    watched = WatchedFlow()
    for second in range(10):
        late = second >= 6
        wait = (rtt + queue) if late else rtt
        watched.look(
            FlowTick(
                1.0,
                rate,
                0.0,
                rate * 4096,
                0.0,
                wait,
                None,
                rate * wait,
                read_rtt_seconds=rtt,
                read_queue_seconds=queue if late else 0.0,
            ),
            float(second),
            1.0,
        )
    return watched


def test_calls_that_wait_on_the_client_while_the_wire_is_at_ease_lack_slots():
    watched = calls(200.0, 0.010, 0.030)

    assert waits_for_slots(watched, ClientWitness(1, slot_limit=2, backlog=5.0), 2.0)


def test_session_slots_show_no_backlog_only_waiting_calls():
    watched = calls(200.0, 0.010, 0.030)

    assert waits_for_slots(watched, ClientWitness(1, backlog=0.0), 2.0)


def test_a_wire_that_uses_few_of_its_slots_does_not_lack_them():
    watched = calls(200.0, 0.010, 0.030)

    assert not waits_for_slots(watched, ClientWitness(1, slot_limit=128), 2.0)


def test_a_send_buffer_that_is_full_is_the_connections_fault():
    held = ClientWitness(1, backlog=5.0, sender_limited_ratio=0.4)

    assert not waits_for_slots(calls(200.0, 0.010, 0.030), held, 2.0)
    assert is_connection_bound(held)
    assert not is_connection_bound(ClientWitness(1))
    assert not is_connection_bound(None)


def test_calls_that_neither_read_nor_write_take_slots_as_well():
    client = ClientWitness(1, slot_limit=128, backlog=0.5, on_wire=120)

    assert waits_for_slots(calls(200.0, 0.010, 0.030), client, 2.0)


@pytest.mark.parametrize(("backlog", "is_short"), [(5.0, True), (0.5, False)])
def test_where_many_wait_for_a_slot_the_wire_may_be_less_at_ease(backlog, is_short):
    watched = calls(200.0, 0.010, 0.030)
    watched.rtt_excess = 1.5 * number.QUEUE_EXCESS
    client = ClientWitness(1, slot_limit=2, backlog=backlog)

    assert waits_for_slots(watched, client, 2.0) is is_short
