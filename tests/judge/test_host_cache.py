"""A host's cache: two lanes of one VM, and what misses the cache waits for the other lane."""

import random

import pytest

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
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

PLAIN, CACHED = FlowKey("disk", "sda"), FlowKey("disk", "sdb")
UNCACHED_LANE = BudgetKey(Kind.VM_UNCACHED, "vm")
CACHED_LANE = BudgetKey(Kind.VM_CACHED, "vm")
SDB = BudgetKey(Kind.DISK, "sdb")


def megabytes(value):
    return (Limit(Dimension.THROUGHPUT, Direction.TOTAL, value * 1e6, Origin.CONFIGURED, "test"),)


def budgets(cached, disk):
    """A disk without a cache, and one whose reads the host caches."""
    reads = frozenset({CACHED})
    found = [
        Budget(BudgetKey(Kind.DISK, "sda"), (PLAIN,)),
        Budget(SDB, (CACHED,), disk, skips_reads=reads),
        Budget(UNCACHED_LANE, (PLAIN, CACHED), skips_reads=reads),
        Budget(CACHED_LANE, (CACHED,), cached),
    ]
    return {budget.key: budget for budget in found}


def reading(rate, wait, size=65536.0):
    return FlowTick(
        1.0, rate, 0.0, rate * size, 0.0, wait, None, rate * wait, round(rate * wait), 1.0
    )


CALM = [(reading(50.0, 0.002), reading(50.0, 0.0005))] * 6


def lived(told, *blocks):
    """The verdicts after these blocks, of the plain disk and the cached one."""
    judge = Judge()
    for second, (plain, cached) in enumerate([*CALM, *blocks]):
        verdicts = judge.observe(100.0 + second, 1.0, told, {PLAIN: plain, CACHED: cached})
    return verdicts


def test_two_lanes_that_wait_equally_long_are_one_limit_that_the_misses_reach():
    plain = [FlowKey("disk", name) for name in ("sda", "sdb")]
    cached = [FlowKey("disk", name) for name in ("sdc", "sdd")]
    reads = frozenset(cached)
    told = [Budget(BudgetKey(Kind.DISK, flow.name), (flow,)) for flow in plain]
    told += [Budget(BudgetKey(Kind.DISK, flow.name), (flow,), skips_reads=reads) for flow in cached]
    told.append(Budget(UNCACHED_LANE, (*plain, *cached), skips_reads=reads))
    told.append(Budget(CACHED_LANE, tuple(cached)))
    by_key = {budget.key: budget for budget in told}
    judge = Judge()
    for second in range(40):
        calm = second < 6
        flows = {flow: reading(50.0, 0.002) if calm else reading(400.0, 0.040) for flow in plain}
        flows |= {flow: reading(50.0, 0.0005) if calm else reading(200.0, 0.04) for flow in cached}
        verdicts = judge.observe(100.0 + second, 1.0, by_key, flows)

    assert verdicts[UNCACHED_LANE].word is Word.THROTTLED
    assert verdicts[CACHED_LANE].word is not Word.THROTTLED


def test_a_lanes_known_limit_is_not_explained_by_what_a_disk_seemed_to_learn():
    before = [(reading(50.0, 0.002), reading(1500.0, 0.02))] * 20
    at_lane = [(reading(50.0, 0.002), reading(2000.0, 0.02))] * 4
    lanes = budgets(cached=megabytes(131.0), disk=megabytes(60.0))
    verdicts = lived(lanes, *before, *at_lane)

    assert verdicts[CACHED_LANE].word is Word.THROTTLED
    assert verdicts[SDB].word is not Word.THROTTLED


def mixed(reads, writes, wait, size=8192.0):
    rate = reads + writes
    return FlowTick(
        1.0, reads, writes, reads * size, writes * size, wait, wait, rate * wait,
        round(rate * wait), 1.0,
    )  # fmt: skip


@pytest.mark.parametrize("misses", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("reads", [(480.0, 300.0), (200.0, 350.0)])
def test_of_a_cached_disks_own_limit_only_writes_and_reads_that_miss_take(misses, reads):
    limit = (Limit(Dimension.IOPS, Direction.TOTAL, 500.0, Origin.CONFIGURED, "test"),)
    told = budgets(cached=(), disk=limit)
    calm = (reading(50.0, 0.002), mixed(60.0, 20.0, 0.001))
    judge = Judge()
    found = []
    for second in range(40):
        asked = reads[second // 20]  # the application's mix changes, the limit does not
        at_limit = mixed(asked, 505.0 - misses * asked, 0.5)
        plain, cached = calm if second < 8 else (calm[0], at_limit)
        verdicts = judge.observe(100.0 + second, 1.0, told, {PLAIN: plain, CACHED: cached})
        found.append(verdicts[SDB])

    assert [each.word for each in found[:8] if each.word is Word.THROTTLED] == []
    at_it = [each for each in found[14:] if each.word is Word.THROTTLED]
    assert len(at_it) >= 24
    assert {each.limit for each in at_it} == {500.0}


@pytest.mark.parametrize("ratio", [1.15, 1.6, 3.0])
@pytest.mark.parametrize("key", [SDB, UNCACHED_LANE])
def test_reads_that_a_cache_may_answer_have_no_part_in_a_limit_of_writes(key, ratio):
    """Neither more writes than it allows, less those reads, stand at it, nor fewer and some of the reads."""
    for writes, reads in ((500.0 * ratio, 500.0 * (ratio - 1)), (500.0 / ratio, 2000.0)):
        limit = Limit(Dimension.IOPS, Direction.WRITE, 500.0, Origin.CONFIGURED, "test")
        told = budgets(cached=(), disk=())
        told[key] = told[key]._replace(limits=(limit,))
        judge, origins = Judge(), set()
        for second in range(60):
            slow = second >= 10
            ripple = 1 + 0.02 * (second % 3 - 1)
            cached = FlowTick(
                1.0, reads, (writes if slow else 50.0) * ripple, reads * 4096, writes * 4096, 0.0004,
                0.08 if slow else 0.002, queue_length=writes * 0.08, in_flight=40 * slow, busy_ratio=1.0,
            )  # fmt: skip
            ticks = {PLAIN: reading(50.0, 0.002), CACHED: cached}
            origins.add(judge.observe(100.0 + second, 1.0, told, ticks)[key].origin)

        assert Origin.CONFIGURED not in origins


@pytest.mark.parametrize(("uncached", "is_cached"), [(64.0, False), (640.0, True)])
def test_writes_that_may_count_on_the_cached_lane_do_not_where_the_other_one_explains_them(
    uncached, is_cached
):
    """A provider may count writes through a read-only cache on the cached lane, too, or not."""
    told = {
        SDB: Budget(SDB, (CACHED,), skips_reads=frozenset({CACHED})),
        UNCACHED_LANE: Budget(
            UNCACHED_LANE, (CACHED,), megabytes(uncached), skips_reads=frozenset({CACHED})
        ),
        CACHED_LANE: Budget(CACHED_LANE, (CACHED,), megabytes(64.0)),
    }
    judge = Judge()
    for second in range(20):
        writes = mixed(0.0, 50.0, 0.001) if second < 6 else mixed(0.0, 64e6 / 8192, 0.02)
        verdicts = judge.observe(100.0 + second, 1.0, told, {CACHED: writes})

    assert (verdicts[UNCACHED_LANE].word is Word.THROTTLED) is not is_cached
    assert (verdicts[CACHED_LANE].word is Word.THROTTLED) is is_cached


def reads_behind_a_cache(rates, *, lane, cached=(), waits=24):
    """What is told of each block in which a disk that only reads through a host's cache does so much at `waits`
    requests at a time, after 20 blocks at ease: the verdicts by budget.
    """
    told = {
        SDB: Budget(SDB, (CACHED,), megabytes(400.0), skips_reads=frozenset({CACHED})),
        UNCACHED_LANE: Budget(UNCACHED_LANE, (CACHED,), lane, skips_reads=frozenset({CACHED})),
        CACHED_LANE: Budget(CACHED_LANE, (CACHED,), cached or megabytes(2000.0)),
    }
    judge = Judge()
    ease = [reading(150.0, 0.0009)] * 20
    ticks = [*ease, *(reading(rate, waits / rate) for rate in rates)]
    return [
        judge.observe(100.0 + second, 1.0, told, {CACHED: tick})
        for second, tick in enumerate(ticks)
    ]


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_a_level_that_nobody_told_is_the_lanes_where_a_share_of_the_reads_that_misses_reaches_its_limit(
    share,
):
    rates = [800.0 / share * (1 + 0.004 * (second % 3 - 1)) for second in range(60)]
    iops = Limit(Dimension.IOPS, Direction.TOTAL, 800.0, Origin.CONFIGURED, "test")
    lane = (iops, *megabytes(70.0))  # of bytes, more of the reads would have to miss
    said = reads_behind_a_cache(rates, lane=lane)
    held = [each[UNCACHED_LANE] for each in said[40:]]

    assert said[10][UNCACHED_LANE].word is Word.HEALTHY
    assert {(each.word, each.limit) for each in held} == {(Word.THROTTLED, 800.0)}
    assert {(each[SDB].word, each[SDB].parent) for each in said[40:]} == {
        (Word.AFFECTED, UNCACHED_LANE)
    }
    assert "held at 800 IOPS, 800 IOPS of it reads that miss the host's cache" in held[-1].sentence


def test_of_two_limits_that_misses_may_reach_the_one_of_the_lower_share_holds():
    rates = [1600.0 * (1 + 0.004 * (second % 3 - 1)) for second in range(60)]
    iops = Limit(Dimension.IOPS, Direction.TOTAL, 1500.0, Origin.CONFIGURED, "test")
    said = reads_behind_a_cache(rates, lane=(iops, *megabytes(50.0)))

    assert {(v := each[UNCACHED_LANE]).dimension for each in said[40:]} == {Dimension.THROUGHPUT}
    assert v.limit == 50e6


@pytest.mark.parametrize(
    ("ripple", "cached", "waits"),
    [
        (0.05, (), 24),  # a slow device
        (0.004, megabytes(104.8576), 24),  # hits, at the limit of their own lane
        (0.004, (), 1),  # at ease
    ],
)
def test_reads_behind_a_cache_say_nothing_of_the_other_lane_but_where_they_stand_at_no_other_limit(
    ripple, cached, waits
):
    r = random.Random(1)
    rates = [1600.0 * r.gauss(1, ripple) for _ in range(60)]
    iops = Limit(Dimension.IOPS, Direction.TOTAL, 800.0, Origin.CONFIGURED, "test")
    said = reads_behind_a_cache(rates, lane=(iops,), cached=cached, waits=waits)

    assert {each[UNCACHED_LANE].word for each in said[30:]} == {Word.HEALTHY}
    assert (said[-1][CACHED_LANE].word is Word.THROTTLED) is bool(cached)


def test_what_surely_draws_on_a_lane_and_is_served_at_once_shows_that_nothing_waits_for_it():
    iops = (Limit(Dimension.IOPS, Direction.TOTAL, 800.0, Origin.CONFIGURED, "test"),)
    told = budgets(cached=megabytes(2000.0), disk=megabytes(400.0))
    told[UNCACHED_LANE] = told[UNCACHED_LANE]._replace(limits=iops)
    judge = Judge()
    for second in range(80):
        rate = 1600.0 * (1 + 0.004 * (second % 3 - 1)) if second >= 20 else 150.0
        cached = reading(rate, 24 / rate if second >= 20 else 0.0009)
        ticks = {PLAIN: reading(50.0, 0.002), CACHED: cached}
        verdicts = judge.observe(100.0 + second, 1.0, told, ticks)

    assert verdicts[UNCACHED_LANE].word is Word.HEALTHY
    assert (verdicts[SDB].word, verdicts[SDB].origin) == (Word.THROTTLED, Origin.LEARNED)


def test_a_level_at_which_a_disk_only_read_does_not_explain_what_its_writes_wait_for():
    """The lane's 800 IOPS are those of writes and of half of the reads."""
    iops = (Limit(Dimension.IOPS, Direction.TOTAL, 800.0, Origin.CONFIGURED, "test"),)
    told = budgets(cached=megabytes(2000.0), disk=megabytes(400.0))
    told[UNCACHED_LANE] = told[UNCACHED_LANE]._replace(limits=iops)
    judge, said = Judge(), []
    for second in range(100):
        writes = 200.0 if second >= 60 else 0.0
        reads = 2 * (800.0 - writes) * (1 + 0.004 * (second % 3 - 1))
        cached = (
            mixed(reads, writes, 24 / (reads + writes))
            if second >= 20
            else mixed(150.0, 0.0, 0.0009)
        )
        said.append(judge.observe(100.0 + second, 1.0, told, {CACHED: cached}))

    assert {each[UNCACHED_LANE].word for each in said[40:60] + said[66:]} == {Word.THROTTLED}
    assert {each[SDB].word for each in said[40:]} <= {Word.AFFECTED, Word.SATURATED}
