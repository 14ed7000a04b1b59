"""A server that is far away: what TCP's shortest round trip to it says of how long calls take there.

Sixteen calls are outstanding from the first second on, so that nobody has seen one alone.
"""

import random

import pytest

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

MOUNT = FlowKey("nfs", "/far")
VOLUME, SLOTS = BudgetKey(Kind.VOLUME, "/far"), BudgetKey(Kind.NFS_SLOTS, "/far")
DEPTH, TRIP_SECONDS, NEAR_SECONDS = 16, 0.040, 0.0004
RATE = 345.0
TOLD = {"far away": 100_000.0, "nothing": None, "what holds it": RATE}


def tick(rate):
    wait = DEPTH / rate
    return FlowTick(
        1.0,
        read_operations_per_second=rate,
        read_bytes_per_second=rate * 4096,
        read_await_seconds=wait,
        queue_length=float(DEPTH),
        read_rtt_seconds=wait,
        read_queue_seconds=0.0,
    )


def words(told, trips, seconds=40):
    """Of each second. trips: TCP's shortest round trip as it is told, one a second; the last stays."""
    limit = TOLD[told]
    limits = (
        (Limit(Dimension.IOPS, Direction.TOTAL, limit, Origin.CONFIGURED, "here"),) if limit else ()
    )
    budgets = {VOLUME: Budget(VOLUME, (MOUNT,), limits), SLOTS: Budget(SLOTS, (MOUNT,))}
    judge, found, ripple = Judge(), [], random.Random(1)
    judge.observe(100.0, None, budgets, {}, Witness())
    for second in range(seconds):
        trip = trips[min(second, len(trips) - 1)]
        witness = Witness(clients={"/far": ClientWitness(1, shortest_trip_seconds=trip)})
        at = 101.0 + second
        flows = {MOUNT: tick(RATE * ripple.gauss(1, 0.01))}
        found.append(judge.observe(at, 1.0, budgets, flows, witness)[VOLUME].word)
    return found


@pytest.mark.parametrize("told", ["far away", "nothing"])
def test_calls_that_take_what_the_way_takes_wait_for_nothing(told):
    said = set(words(told, [TRIP_SECONDS]))

    assert said <= {Word.UNKNOWN, Word.HEALTHY, Word.APP_LIMITED, Word.LATENCY_BOUND}


@pytest.mark.parametrize("trip", [None, NEAR_SECONDS])
@pytest.mark.parametrize("told", ["nothing", "what holds it"])
def test_where_the_way_is_short_or_not_known_such_calls_wait(told, trip):
    assert words(told, [trip])[-1] is Word.THROTTLED


def test_a_queue_that_lengthens_every_round_trip_does_not_make_the_way_longer():
    assert words("what holds it", [NEAR_SECONDS, TRIP_SECONDS])[-1] is Word.THROTTLED
