"""A queue in which nobody waits for another one's flood."""

import threading

import pytest

from ioplateau.web.fairqueue import LEAST_LOOKED_AT, FairQueue, source_of


def test_sources_take_turns_and_each_of_them_is_served_in_order():
    turns = FairQueue()
    for number in range(100):
        turns.put("flood", number)
    turns.put("scraper", "a")
    turns.put("other", "b")
    turns.put("scraper", "c")

    assert [turns.get() for _ in range(6)] == [0, "a", "b", 1, "c", 2]


def test_whoever_comes_while_nothing_waits_is_served_at_once():
    turns, found = FairQueue(), []
    waiting = threading.Thread(target=lambda: found.append(turns.get()))
    waiting.start()
    turns.put("a", 7)
    waiting.join(60)

    assert found == [7]


def test_what_is_served_leaves_nothing_behind():
    turns = FairQueue()
    for number in range(1000):
        turns.put(str(number), number)
        turns.get()

    assert not turns._jobs


def test_what_nobody_wants_any_more_is_left_out_and_the_others_keep_their_order():
    wanted = set()
    turns = FairQueue(wanted.__contains__)
    for number in range(1000):
        wanted.intersection_update(range(0, 1000, 100))
        wanted.add(number)
        turns.put("even" if number % 200 == 0 else "odd", number)

    assert sum(map(len, turns._jobs.values())) <= 2 * LEAST_LOOKED_AT
    found = [turns.get() for _ in range(sum(map(len, turns._jobs.values())))]
    kept = [number for number in found if number in wanted]
    assert kept == [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 999]


@pytest.mark.parametrize(
    ("address", "source"),
    [
        (("192.0.2.7", 4711), "192.0.2.7"),
        (("::ffff:192.0.2.7", 4711, 0, 0), "192.0.2.7"),
        (("2001:db8:1:2:3::4", 1, 0, 0), "2001:0db8:0001:0002"),
        (("2001:db8:1:2:ffff::1", 1, 0, 0), "2001:0db8:0001:0002"),
        (("fe80::1%eth0", 1, 0, 2), "fe80:0000:0000:0000"),
        ("", ""),
        (("what", 1), ""),
    ],
)
def test_a_source_is_a_host_or_a_network_of_one_in_ipv6(address, source):
    assert source_of(address) == source
