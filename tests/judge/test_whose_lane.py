"""Only what draws on a lane waits because of it."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import EbsWitness, Witness
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

SDA, SDB, OWN = [FlowKey("disk", name) for name in ("sda", "sdb", "nvme0n1")]
UNCACHED, CACHED, ULTRA = [
    BudgetKey(kind, "vm") for kind in (Kind.VM_UNCACHED, Kind.VM_CACHED, Kind.VM_ULTRA)
]
STRIPE = BudgetKey(Kind.STRIPE, "md0")
REST = FlowTick(1.0, in_flight=0, busy_ratio=0.0)


def key(flow):
    return BudgetKey(Kind.DISK, flow.name)


def told(iops):
    return (Limit(Dimension.IOPS, Direction.TOTAL, iops, Origin.CATALOGUE, "a size"),)


def tick(rate, wait):
    return FlowTick(
        1.0, rate, 0.0, rate * 4096, 0.0, wait, None, rate * wait, round(rate * wait), 1.0
    )


def judged(lanes, *, ripple=0.15, stripe=(), witness=None):
    """Verdicts after 45 s in which two disks share 1000 IOPS and a third one, by itself, does 2000 IOPS."""
    budgets = {key(flow): Budget(key(flow), (flow,)) for flow in (SDA, SDB, OWN)}
    budgets |= {lane: Budget(lane, flows, limits) for lane, (flows, limits) in lanes.items()}
    if stripe:
        budgets[STRIPE] = Budget(STRIPE, stripe)
    judge, r = Judge(), random.Random(3)
    for second in range(60):
        flows = {flow: tick(100.0, 0.001) for flow in (SDA, SDB, OWN)}
        if second >= 15:
            part, own = r.gauss(500, 15), 2000 * r.gauss(1, ripple)
            flows = {
                SDA: tick(part, 16 / part),
                SDB: tick(1000 - part, 16 / (1000 - part)),
                OWN: tick(own, 64 / own),
            }
        flows[FlowKey("disk", "md0")] = flows[stripe[0]] if stripe else None
        verdicts = judge.observe(100.0 + second, 1.0, budgets, flows, witness)
    return verdicts


@pytest.mark.parametrize(
    ("lanes", "held"),
    [
        ({UNCACHED: ((SDA, SDB), told(1000.0))}, UNCACHED),
        ({UNCACHED: ((SDA, SDB), told(1000.0)), ULTRA: ((OWN,), told(50000.0))}, UNCACHED),
        ({UNCACHED: ((OWN,), told(50000.0)), CACHED: ((SDA, SDB), told(1000.0))}, CACHED),
    ],
)
def test_a_slow_disk_that_draws_on_no_lane_or_on_another_does_not_wait_for_one(lanes, held):
    verdicts = judged(lanes)

    assert verdicts[held].word is Word.THROTTLED
    assert [verdicts[key(flow)].parent for flow in (SDA, SDB)] == [held, held]
    assert (verdicts[key(OWN)].word, verdicts[key(OWN)].parent) == (Word.SATURATED, None)


def test_a_disk_that_draws_on_no_lane_learns_its_limit_while_one_is_held_and_nobody_doubts_whose_it_is():
    verdicts = judged({UNCACHED: ((SDA, SDB), told(1000.0))}, ripple=0.003)

    assert verdicts[UNCACHED].word is Word.THROTTLED
    assert verdicts[key(OWN)].origin is Origin.LEARNED
    assert "by its disk limit (learned)" in verdicts[key(OWN)].sentence


@pytest.mark.parametrize(
    ("stripe", "word"), [((OWN,), Word.SATURATED), ((SDB, SDA), Word.AFFECTED)]
)
def test_a_stripe_waits_for_the_lanes_of_its_members_alone(stripe, word):
    verdicts = judged({UNCACHED: ((SDA, SDB), told(1000.0))}, stripe=stripe)

    assert verdicts[STRIPE].word is word


@pytest.mark.parametrize("seed", range(3))
def test_a_stripe_that_waits_says_nothing_of_a_disk_beside_it(seed):
    """Below the VM's limit, and now and then near its own."""

    def said(stripe):
        budgets = {key(flow): Budget(key(flow), (flow,)) for flow in (SDA, SDB, OWN)}
        budgets[key(OWN)] = Budget(key(OWN), (OWN,), told(1000.0))
        budgets[UNCACHED] = Budget(UNCACHED, (SDA, SDB, OWN), told(3000.0))
        if stripe:
            budgets[STRIPE] = Budget(STRIPE, (SDA, SDB))
        judge, r, words = Judge(), random.Random(seed), []
        for second in range(100):
            flows = {flow: tick(300.0, 0.001) for flow in (SDA, SDB, OWN)}
            if second >= 15:
                own = 1000 * r.gauss(1, 0.06)
                half = (3000 - own) / 2
                flows = {SDA: tick(half, 0.02), SDB: tick(half, 0.02), OWN: tick(own, 0.02)}
            flows[FlowKey("disk", "md0")] = tick(2 * flows[SDA].operations_per_second, 0.02)
            words.append(judge.observe(100.0 + second, 1.0, budgets, flows)[key(OWN)].word)
        return words

    assert said(stripe=True) == said(stripe=False)


@pytest.mark.parametrize(("exceeded", "word"), [(0.9, Word.AFFECTED), (0.0, Word.SATURATED)])
def test_disks_wait_for_the_instances_limit_if_their_volumes_count_it_and_only_then(exceeded, word):
    counts = EbsWitness(0.0, 0.0, exceeded, 0.0)
    verdicts = judged(
        {UNCACHED: ((SDA, SDB), told(1000.0))},
        witness=Witness(ebs={"sda": counts, "sdb": counts}),
    )

    assert [verdicts[key(flow)].word for flow in (SDA, SDB)] == [word, word]
    assert (verdicts[UNCACHED].word is Word.THROTTLED) is (word is Word.AFFECTED)


def test_an_instance_store_volume_that_counts_its_own_limit_leaves_the_instances_to_inference():
    store = Witness(ebs={"nvme1n1": EbsWitness(0.0, 0.0)})
    verdicts = judged({UNCACHED: ((SDA, SDB), told(1000.0))}, witness=store)

    assert verdicts[UNCACHED].word is Word.THROTTLED


@pytest.mark.parametrize("limits", [(), told(1000.0)])
@pytest.mark.parametrize(
    ("members", "moving"),
    [
        ((SDB, SDA), (SDA, SDB)),
        ((SDA, OWN, SDB), (SDA, SDB)),
        ((SDB,), (SDB,)),
        ((SDB, OWN), (SDB, OWN)),
    ],
)
def test_the_vms_limit_and_since_when_it_holds_stay_known_when_disks_come_or_go(
    limits, members, moving
):
    judge, r = Judge(), random.Random(3)

    def observe(second, members, moving):
        budgets = {key(flow): Budget(key(flow), (flow,)) for flow in members}
        budgets[UNCACHED] = Budget(UNCACHED, members, limits)
        part = r.gauss(500, 40) if len(moving) > 1 else 1000.0
        rates = dict(zip(moving, (part, 1000 - part), strict=False))
        if second < 15:
            rates = dict.fromkeys(moving, 100.0)
        wait = 0.001 if second < 15 else 32 / 1000
        flows = {flow: tick(rates[flow], wait) if flow in rates else REST for flow in members}
        if second == 50:
            flows |= dict.fromkeys({*members} - {SDA, SDB})  # a first reading tells no rates
        return judge.observe(100.0 + second, 1.0, budgets, flows)[UNCACHED]

    for second in range(50):
        before = observe(second, (SDA, SDB), (SDA, SDB))
    after = [observe(second, members, moving) for second in range(50, 60)]

    assert before.word is Word.THROTTLED
    assert {(each.word, each.since, each.origin) for each in after} == {
        (Word.THROTTLED, before.since, before.origin)
    }
    assert [each.limit for each in after] == pytest.approx([before.limit] * len(after), rel=0.01)


def test_of_a_lane_on_which_its_disks_count_otherwise_nothing_was_learned():
    judge, r, words = Judge(), random.Random(3), []
    for second in range(52):
        budgets = {key(flow): Budget(key(flow), (flow,)) for flow in (SDA, SDB)}
        skips = frozenset({SDA} if second >= 50 else ())
        budgets[UNCACHED] = Budget(UNCACHED, (SDA, SDB), skips_writes=skips)
        part = r.gauss(500, 40)
        flows = {SDA: tick(part, 32 / 1000), SDB: tick(1000 - part, 32 / 1000)}
        if second < 15:
            flows = dict.fromkeys((SDA, SDB), tick(100.0, 0.001))
        words.append(judge.observe(100.0 + second, 1.0, budgets, flows)[UNCACHED].word)

    assert words[49] is Word.THROTTLED
    assert Word.THROTTLED not in words[50:]


def test_a_disk_that_was_never_read_leaves_its_lane_known_and_one_that_is_read_no_more_does_not():
    judge, said = Judge(), []
    for second in range(40):
        members = (SDA,) if second < 20 else (SDA, SDB)
        budgets = {key(flow): Budget(key(flow), (flow,)) for flow in members}
        budgets[UNCACHED] = Budget(UNCACHED, members)
        flows = dict.fromkeys(members, tick(100.0, 0.001))
        if second in (0, 20, 30):
            flows[members[-1]] = None
        said.append(judge.observe(100.0 + second, 1.0, budgets, flows)[UNCACHED])

    assert (said[0].word, said[0].since) == (Word.UNKNOWN, 100.0)
    assert {(each.word, each.since) for each in said[1:30]} == {(said[1].word, 101.0)}
    assert [each.word for each in said[29:32]] == [said[1].word, Word.UNKNOWN, said[1].word]
