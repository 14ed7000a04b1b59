"""The judge as a whole: gaps, ticks of any length, memory, counters of the provider, words."""

import itertools
import json
import random

import pytest

from ioplateau.engine.accounts import Accounts
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.memory import SavedJudge
from ioplateau.judge.witness import ClientWitness, EbsWitness, Witness
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Burst,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
    Word,
)
from ioplateau.saved import ShapeError, read, write
from story_book import SDA, STORIES
from story_world import IDLE, VM, Act, Device, Load, Story, told

FOUR = next(story for story in STORIES if story.name == "a closed loop of four")
SILENT = next(story for story in STORIES if story.name == "a server that goes silent")
VOLUME = BudgetKey(Kind.VOLUME, "/a")
DISK = FlowKey("disk", "sda")
LIMIT = Limit(Dimension.IOPS, Direction.TOTAL, 500.0, Origin.CATALOGUE, "P10")
BUDGETS = {SDA: Budget(SDA, (DISK,), (LIMIT,))}


def tick(rate=500.0, wait=0.032, seconds=1.0):
    return FlowTick(
        seconds, rate, 0.0, rate * 4096, 0.0, wait, None, rate * wait, round(rate * wait), 1.0
    )


def judged(judge, *ticks, at=100.0, witness=None):
    for number, each in enumerate(ticks):
        verdicts = judge.observe(at + number, 1.0, BUDGETS, {DISK: each}, witness)
    return verdicts[SDA]


@pytest.mark.parametrize(("rate", "wait"), [(1170.0, 0.0275), (900.0, 0.029), (2000.0, 0.030)])
@pytest.mark.parametrize("pause", [0, 15])
def test_what_a_limit_held_back_is_no_sign_that_its_requests_take_as_long_by_themselves(
    rate, wait, pause
):
    """The limit is raised, and more is outstanding: each request takes nearly as long as before."""
    judge = Judge()
    held = judged(judge, *[tick()] * 15)
    after = judged(judge, *[FlowTick(1.0)] * pause, *[tick(rate, wait)] * 20, at=115.0)

    assert held.word is Word.THROTTLED
    assert after.word is Word.THROTTLED
    assert after.limit == pytest.approx(rate, rel=0.01)


@pytest.mark.parametrize("direction", [Direction.TOTAL, Direction.READ])
@pytest.mark.parametrize(
    ("is_limit", "words"),
    [(True, {Word.THROTTLED}), (False, {Word.HEALTHY, Word.APP_LIMITED, Word.LATENCY_BOUND})],
)
def test_one_worker_never_seen_free_is_held_at_a_told_limit_if_its_rate_moves_less_than_its_times(
    direction, is_limit, words
):
    """Its times move as the machine lets it run late: at a limit the rate stays, a device's goes with them."""
    draw, judge, said = random.Random(3), Judge(), []
    limit = Limit(Dimension.IOPS, direction, 300.0, Origin.CONFIGURED, "c.toml limit[0]")
    budgets = {SDA: Budget(SDA, (DISK,), (limit,))}
    for second in range(40):
        share = draw.uniform(0.94, 1.0)  # of the time one is outstanding
        rate = draw.gauss(300.0, 0.3) if is_limit else share / 0.00323
        said.append(
            judge.observe(100.0 + second, 1.0, budgets, {DISK: tick(rate, share / rate)})[SDA].word
        )

    assert set(said[12:]) <= words


@pytest.mark.parametrize(
    ("outstanding", "times", "is_held"),
    [
        ((0, 1), (0.009, 0.015), False),
        ((1, 2), (0.009, 0.015), False),
        ((14, 18), (0.009, 0.015), True),
        ((0, 1), (0.025, 0.040), True),  # commits of a database: a log that one writes, for all
    ],
)
def test_a_flat_rate_is_no_limits_where_looks_find_hardly_anything_outstanding(
    outstanding, times, is_held
):
    """An application hands over 1,400 a second in parts, which queue and are done before the next part comes."""
    draw, judge, held = random.Random(5), Judge(), []
    budgets = {SDA: Budget(SDA, (DISK,))}
    for second in range(100):
        rate, wait, seen = draw.gauss(1400.0, 10.0), draw.uniform(*times), outstanding
        if second < 10:
            rate, wait, seen = 240.0, 0.004, (0, 1)
        elif second % 3:
            seen = (14, 20)
        flow = tick(rate, wait)._replace(in_flight=draw.randint(*seen), busy_ratio=0.98)
        held.append(judge.observe(100.0 + second, 1.0, budgets, {DISK: flow})[SDA].word)

    assert (held[40:].count(Word.THROTTLED) > 50) is is_held
    assert is_held or held[40:].count(Word.THROTTLED) < 6


def test_reads_from_a_controllers_cache_say_nothing_of_what_writes_take():
    """Read quickly first, then write at a limit with four at a time: what a write takes alone nobody saw."""
    judge = Judge()
    quick = FlowTick(1.0, 50.0, 0.0, 50 * 4096, 0.0, 0.0002, None, 0.01, 0, 0.01)
    slow = [
        FlowTick(1.0, 0.0, rate, 0.0, rate * 4096, None, 4 / rate, 4.0, 4, 1.0)
        for rate in (480.0, 520.0) * 10
    ]
    before = judged(judge, *[quick] * 8)
    after = judged(judge, *slow, at=108.0)

    assert before.word is Word.HEALTHY
    assert after.word is Word.THROTTLED


def throttled_of_disks(blocks, dt=1.0):
    """Disks from sda on that draw on a VM, no limit known: their keys, and who is throttled block by
    block. blocks: of each, what every disk did; dt: how many seconds one lasts.
    """
    disks = [FlowKey("disk", f"sd{letter}") for letter in "abc"[: len(blocks[0])]]
    keys = [BudgetKey(Kind.DISK, flow.name) for flow in disks]
    budgets = {key: Budget(key, (flow,)) for key, flow in zip(keys, disks, strict=True)}
    budgets[VM] = Budget(VM, tuple(disks))
    judge, said = Judge(), []
    for number, ticks in enumerate(blocks):
        flows = dict(zip(disks, ticks, strict=True))
        verdicts = judge.observe(100.0 + number * dt, dt, budgets, flows)
        said.append([key for key in verdicts if verdicts[key].word is Word.THROTTLED])
    return keys, said


CALM = [tick(100.0, 0.002)] * 6


@pytest.mark.parametrize(("step", "whose"), [(0.0, "disk or VM"), (0.25, "disk")])
def test_two_disks_that_stand_with_their_sum_may_be_held_by_the_vm(step, whose):
    """One at its own limit leaves the other the rest of the VM's: only a sum that moves tells them apart."""
    disks = [FlowKey("disk", name) for name in ("sda", "sdb")]
    keys = [BudgetKey(Kind.DISK, flow.name) for flow in disks]
    budgets = {key: Budget(key, (flow,)) for key, flow in zip(keys, disks, strict=True)}
    budgets[VM] = Budget(VM, tuple(disks))
    judge, ripple = Judge(), random.Random(5)
    for second in range(60):
        other = 600.0 * (1 + step * (second % 3 - 1))
        rates = [rate * (1 + ripple.gauss(0, 0.001)) for rate in (1400.0, other)]
        if second < 8:
            rates = [100.0, 60.0]
        waits = [
            0.002 if second < 8 else depth / rate
            for rate, depth in zip(rates, (16, 60), strict=True)
        ]
        ticks = map(tick, rates, waits)
        verdicts = judge.observe(100.0 + second, 1.0, budgets, dict(zip(disks, ticks, strict=True)))

    assert verdicts[keys[0]].word is Word.THROTTLED
    assert verdicts[keys[0]].evidence["culprit"] == whose
    # The other disk moves all the time.
    is_open = "what other disks do does not tell which" in verdicts[keys[0]].sentence
    assert is_open == (whose == "disk or VM")


def test_before_any_rates_nothing_is_known():
    verdict = Judge().observe(1.0, None, BUDGETS, {DISK: None})[SDA]

    assert verdict.word is Word.UNKNOWN


def test_a_disk_at_its_limit_is_throttled_with_its_evidence():
    verdict = judged(Judge(), *CALM, *[tick()] * 4)

    assert verdict.word is Word.THROTTLED
    assert (verdict.dimension, verdict.limit, verdict.origin) == (
        Dimension.IOPS, 500.0, Origin.CATALOGUE,
    )  # fmt: skip
    assert verdict.utilization == pytest.approx(1.0)
    assert verdict.demand == pytest.approx(16.0, rel=0.1)
    assert verdict.evidence["waiting"] == pytest.approx(15.0, rel=0.05)
    assert verdict.sufferers == (DISK,)


@pytest.mark.parametrize("key", [SDA, VM])
def test_at_a_limit_of_reads_the_time_and_the_queue_told_are_those_of_reads(key):
    """150 reads a second at depth 8 beside 300 writes that nobody holds back."""
    limit = LIMIT._replace(direction=Direction.READ, value=150.0)
    budgets, judge = {SDA: Budget(SDA, (DISK,)), VM: Budget(VM, (DISK,))}, Judge()
    budgets[key] = budgets[key]._replace(limits=(limit,))
    both = FlowTick(
        1.0, 150.0, 300.0, 150 * 4096, 300 * 4096, 8 / 150, 0.0008,
        queue_length=8.24, in_flight=8, busy_ratio=1.0,
    )  # fmt: skip
    for number, each in enumerate([*CALM, *[both] * 8]):
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[key]

    assert (verdict.word, verdict.direction) == (Word.THROTTLED, Direction.READ)
    assert verdict.evidence["outstanding"] == pytest.approx(8.0)
    assert verdict.evidence["operations_per_second"] == 450.0
    assert verdict.evidence["waiting"] == pytest.approx(7.7, rel=0.02)
    assert verdict.evidence["asked_ratio"] == pytest.approx(1.05, rel=0.01)
    assert verdict.demand == pytest.approx(8 / 150 / 0.002, rel=0.02)
    if key is SDA:
        assert "of reads by its disk limit" in verdict.sentence
        assert "53 ms instead of 2.0 ms" in verdict.sentence


def test_empty_writes_that_only_flush_do_not_lift_a_disk_over_its_limit():
    """Linux counts them as writes and as flushes (blk_flush_restore_request()); 500 have data."""
    synced = FlowTick(
        1.0, 0.0, 562.0, 0.0, 500.0 * 4096, None, 0.032, 18.0, 18, 1.0,
        flush_operations_per_second=62.0,
    )  # fmt: skip
    verdict = judged(Judge(), *CALM, *[synced] * 20)

    assert verdict.word is Word.THROTTLED
    assert verdict.origin is Origin.CATALOGUE
    assert verdict.utilization == pytest.approx(1.0)
    assert (
        "held at 500 IOPS, 62 empty writes of flushes apart, by its disk limit" in verdict.sentence
    )


def test_a_sentence_is_written_anew_as_requests_begin_to_wait():
    """Before the word for it is sure, and though a sentence stays for seconds otherwise."""
    judge, budgets = Judge(), {SDA: Budget(SDA, (DISK,))}
    calm = [tick(rate, 0.002) for rate in (90.0, 200.0) * 6]
    said = [
        judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]
        for number, each in enumerate([*calm, tick(), tick()])
    ]

    assert said[-3].sentence == "requests are served at once"
    assert {verdict.word for verdict in said[-2:]} == {Word.HEALTHY}
    assert [verdict.sentence for verdict in said[-2:]] == [said[-2].sentence] * 2
    assert "15 requests wait, 32 ms instead of 2.0 ms" in said[-1].sentence


def test_the_sentence_names_limit_source_queue_and_latency():
    verdict = judged(Judge(), *CALM, *[tick()] * 8)

    assert verdict.sentence.startswith(
        "held at 500 IOPS by its disk limit (500 IOPS, catalogue, P10): 15 requests wait, "
        "32 ms instead of 2.0 ms, flat within 0.0%"
    )


def test_one_large_request_at_a_time_stays_held_for_as_long_as_it_is():
    """Of eight large requests a second one more or less leaves the limit's neighbourhood for a block:
    what it took then is not what the device takes.
    """
    rates = (9.0, 7.0, 8.0, 9.0, 7.0, 6.0, 10.0, 8.0) * 30
    limit = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 8 * 65536.0, Origin.CATALOGUE, "S4")
    budgets = {SDA: Budget(SDA, (DISK,), (limit,))}
    calm = [FlowTick(1.0, 2.0, 0.0, 8192.0, 0.0, 0.002, busy_ratio=0.004)] * 6
    large = [
        FlowTick(1.0, r, 0.0, r * 65536, 0.0, 1 / r, queue_length=1.0, in_flight=1, busy_ratio=1.0)
        for r in rates
    ]
    judge = Judge()
    words = [
        judge.observe(100.0 + second, 1.0, budgets, {DISK: each})[SDA].word
        for second, each in enumerate([*calm, *large])
    ]

    assert set(words[len(calm) + 5 :]) == {Word.THROTTLED}


def found_after(told_iops):
    """Blocks until a disk held at 750 operations a second is known to be, told of such a limit."""
    limits = () if told_iops is None else (LIMIT._replace(value=told_iops),)
    budgets, judge, r = {SDA: Budget(SDA, (DISK,), limits)}, Judge(), random.Random(61)
    for number, each in enumerate(CALM):
        judge.observe(100.0 + number, 1.0, budgets, {DISK: each})
    for number in range(40):
        rate = 750.0 * (1 + r.uniform(-0.004, 0.004))
        at = 106.0 + number
        verdict = judge.observe(at, 1.0, budgets, {DISK: tick(rate, 16 / rate)})[SDA]
        if verdict.word is Word.THROTTLED and verdict.origin is Origin.LEARNED:
            return number + 1
    return None


def test_a_limit_that_was_told_too_low_need_not_be_beaten():
    assert found_after(500.0) == found_after(None)
    assert found_after(5000.0) > found_after(None)


def test_one_request_at_a_time_that_waits_for_most_of_its_time_is_no_pace_of_the_application():
    budgets, judge = {SDA: Budget(SDA, (DISK,))}, Judge()
    ticks = [*[tick(50.0, 0.001)] * 12, *[tick(80.0, 0.0125)] * 8]
    said = [
        judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]
        for number, each in enumerate(ticks)
    ]

    assert said[11].word is Word.APP_LIMITED
    assert said[-1].word is Word.SATURATED
    assert said[-1].sentence.startswith(
        "one request at a time, each waits, 12 ms instead of 1.0 ms"
    )


@pytest.mark.parametrize("factor", [0.9, 1.25])
def test_a_queue_that_outlasts_the_limit_it_stood_at_is_saturated_at_once(factor):
    """A learned limit that is met again at once, and then moves: nobody set a pace of his own meanwhile."""
    budgets, judge, ripple, said = {SDA: Budget(SDA, (DISK,))}, Judge(), random.Random(7), []
    for second in range(140):
        rate = 500.0 * (factor if second >= 80 else 1) * ripple.gauss(1, 0.003)
        each = tick(100.0, 0.002) if second < 12 or 40 <= second < 50 else tick(rate, 16 / rate)
        said.append(judge.observe(100.0 + second, 1.0, budgets, {DISK: each})[SDA].word)

    assert said[50:80] == [Word.THROTTLED] * 30
    assert Word.SATURATED in said[80:]
    assert set(said[80:]) <= {Word.THROTTLED, Word.SATURATED}


def test_another_pace_is_told_before_the_old_sentence_is_due():
    budgets, judge = {SDA: Budget(SDA, (DISK,))}, Judge()
    ticks = [*[tick(50.0, 0.001)] * 12, *[tick(80.0, 0.001)] * 4]
    for number, each in enumerate(ticks):
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]

    assert "at 50 IOPS" not in verdict.sentence


@pytest.mark.parametrize(
    ("alone", "depth", "seconds", "word"),
    [
        (0.012, 32, 0.012, Word.LATENCY_BOUND),
        (0.012, 6, 0.013, Word.LATENCY_BOUND),
        (None, 32, 0.002, Word.APP_LIMITED),  # what one takes that waits for none is a guess
    ],
)
def test_many_at_a_time_that_take_as_long_as_one_are_bound_by_latency(alone, depth, seconds, word):
    before = [tick(0.98 / alone, alone)] * 12 if alone else []
    verdict = judged(Judge(), *before, *[tick(depth / seconds, seconds)] * 12)

    assert verdict.word is word


def test_a_rate_that_has_just_left_its_level_is_no_pace():
    verdict = judged(Judge(), *[tick(50.0, 0.001)] * 12, tick(300.0, 0.04))

    assert verdict.evidence["outstanding"] == pytest.approx(12)
    assert verdict.word is Word.HEALTHY


def test_a_gap_changes_no_verdict():
    judge = Judge()
    before = judged(judge, *CALM, *[tick()] * 4)
    after = judge.observe(200.0, None, BUDGETS, {DISK: None})[SDA]

    assert after == before


def test_after_two_gaps_with_no_block_between_nothing_is_known():
    judge = Judge()
    judged(judge, *CALM, *[tick()] * 4)
    short = tick(seconds=0.2)
    for at, elapsed, each in ((200.0, None, None), (200.2, 0.2, short), (300.0, None, None)):
        verdict = judge.observe(at, elapsed, BUDGETS, {DISK: each})[SDA]

    assert verdict.word is Word.UNKNOWN
    assert "gap" in verdict.sentence


@pytest.mark.parametrize(
    ("missed", "meanwhile", "goes_on"),
    [
        (1, (), True),
        (3, (), True),
        (20, (), False),  # whatever was in all that time
        (3, CALM[:2], False),  # nobody waited
    ],
)
def test_a_limit_that_holds_before_and_after_readings_that_failed_has_held_all_the_time(
    missed, meanwhile, goes_on
):
    judge = Judge()
    first = judged(judge, *CALM, *[tick()] * 4)
    after = judged(judge, *[None] * missed, *meanwhile, *[tick()] * 4, at=110.0)

    assert first.word is after.word is Word.THROTTLED
    assert (after.since == first.since) is goes_on
    assert (after.limit_since == first.limit_since) is goes_on


def test_what_was_done_before_a_gap_is_not_judged_with_what_came_after_it():
    judge = Judge()
    short = tick(100.0, 0.002, seconds=0.3)
    for at, elapsed, each in ((100.0, 0.3, short), (900.0, None, None), (900.3, 0.3, short)):
        verdict = judge.observe(at, elapsed, BUDGETS, {DISK: each})[SDA]

    assert verdict.word is Word.UNKNOWN


def test_throttled_since_the_moment_it_began():
    verdict = judged(Judge(), *CALM, *[tick()] * 20)

    assert verdict.since == pytest.approx(106.0)


def test_a_limit_that_takes_over_holds_since_then_and_the_word_since_before():
    by_bytes = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 10e6, Origin.CATALOGUE, "P10")
    budgets, judge = {SDA: Budget(SDA, (DISK,), (LIMIT, by_bytes))}, Judge()
    small, large = tick(), tick(10e6 / 262144, 0.42)._replace(read_bytes_per_second=10e6)
    said = [
        judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]
        for number, each in enumerate([*CALM, *[small] * 20, *[large] * 20, *[small] * 10])
    ]

    assert (said[25].since, said[25].limit_since) == (106.0, 106.0)
    assert (said[45].dimension, said[45].since) == (Dimension.THROUGHPUT, 106.0)
    assert 126.0 <= said[45].limit_since <= 128.0
    assert "flat within 0.0%, held for 1" in said[45].sentence
    assert (said[55].dimension, said[55].since) == (Dimension.IOPS, 106.0)
    assert 146.0 <= said[55].limit_since <= 148.0


@pytest.mark.parametrize("seconds", [0.1, 0.25, 0.5, 1.0, 2.0])
def test_the_same_story_is_told_at_every_sampling_interval(seconds):
    moments = list(told(FOUR, tick=seconds))
    late = [m for m in moments if m.act.binds == SDA and m.since_act > 5]
    calm = [m for m in moments if m.act.binds is None and m.since_act > 5]

    assert all(m.verdicts[SDA].word is Word.THROTTLED for m in late)
    assert all(m.verdicts[SDA].word is not Word.THROTTLED for m in calm)


@pytest.mark.parametrize("seconds", [0.1, 0.25, 0.9, 1.0, 2.0])
def test_a_silent_server_is_stalled_at_every_sampling_interval(seconds):
    moments = list(told(SILENT, tick=seconds))
    late = [m for m in moments if m.act.word is Word.STALLED and m.since_act > 3]

    assert late
    assert all(m.verdicts[VOLUME].word is Word.STALLED for m in late)


def test_a_server_that_goes_silent_is_noticed_after_its_mount_rested_for_long():
    quiet, silent, _ = SILENT.acts
    rest = Act(120, {"/a": IDLE})
    story = Story("a rest", [quiet, rest, silent, rest], mounts=SILENT.mounts)
    told_words = [(m.act, m.since_act, m.verdicts[VOLUME].word) for m in told(story)]

    assert all(w is Word.STALLED for act, since, w in told_words if act is silent and since > 3)
    assert all(w is Word.IDLE for act, since, w in told_words if act is rest and since > 3)


@pytest.mark.parametrize(
    ("came", "is_stalled"), [("nothing", True), ("another server", False), ("a new mount", False)]
)
def test_little_is_a_stall_where_the_same_mount_did_much_and_not_where_one_of_its_name_did(
    came, is_stalled
):
    flow = FlowKey("nfs", VOLUME.name)
    budgets = {VOLUME: Budget(VOLUME, (flow,))}

    def calls(rate, wait):
        return FlowTick(
            1.0, rate, 0.0, rate * 4096, 0.0, wait, None, rate * wait,
            read_rtt_seconds=wait, read_queue_seconds=0.0,
        )  # fmt: skip

    judge = Judge()
    for second in range(30):
        judge.observe(100.0 + second, 1.0, budgets, {flow: calls(2000.0, 0.001)})
    if came == "another server":
        judge.forget([flow])
    elif came == "a new mount":
        judge.observe(130.0, 1.0, {}, {})
    anew = dict(budgets)
    words = [
        judge.observe(131.0 + second, 1.0, anew, {flow: calls(5.0, 1.2)})[VOLUME].word
        for second in range(30)
    ]

    assert (Word.STALLED in words) == is_stalled


def test_a_disk_that_did_what_was_outstanding_stalls_no_longer():
    hang, rest = FlowTick(1.0, in_flight=4, busy_ratio=1.0), FlowTick(1.0, in_flight=0)
    judge = Judge()
    during = judged(judge, *CALM, *[hang] * 10)
    after = judged(judge, *[rest] * 5, at=116.0)

    assert (during.word, after.word) == (Word.STALLED, Word.IDLE)


@pytest.mark.parametrize("seconds", [1.0, 2.0, 5.0, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_an_application_that_keeps_its_pace_on_a_disk_that_became_slow_is_not_throttled(
    seed, seconds
):
    draw, judge, at = random.Random(seed), Judge(), 100.0
    budgets = {SDA: Budget(SDA, (DISK,))}
    for wait, blocks in ((0.001, 20), (0.0065, 60), (0.001, 20), (0.005, 60)):
        for _ in range(blocks):
            at += seconds
            each = tick(2900.0 * draw.gauss(1, 0.0002), wait * draw.gauss(1, 0.02), seconds)
            verdict = judge.observe(at, seconds, budgets, {DISK: each})[SDA]
            assert verdict.word is not Word.THROTTLED


@pytest.mark.parametrize("seconds", [1.0, 5.0])
@pytest.mark.parametrize("rate", [480.0, 500.0, 510.0])
@pytest.mark.parametrize("is_cut", [False, True])
def test_what_a_disk_does_when_its_stall_ends_is_no_limit_it_was_told(is_cut, rate, seconds):
    """It answers in one block what waited for seconds, beside what it usually does."""
    usual, silent = tick(450.0, 0.004, seconds), FlowTick(seconds, in_flight=60, busy_ratio=1.0)
    first, rest = (
        tick(40.0, 1.7, seconds)._replace(in_flight=11),
        tick(rate, 1.7, seconds)._replace(in_flight=1),
    )
    after = (first, rest) if is_cut else (rest,)
    judge, at = Judge(), 100.0
    said = []
    for each in (*[usual] * 20, *[silent] * 3, *after, *[usual] * 5):
        at += seconds
        said.append(judge.observe(at, seconds, BUDGETS, {DISK: each})[SDA].word)

    assert Word.STALLED in said
    assert Word.THROTTLED not in said


@pytest.mark.parametrize("seconds", [1.0, 5.0])
@pytest.mark.parametrize("rate", [480.0, 500.0, 510.0])
@pytest.mark.parametrize("limits", [(), (LIMIT,)])
def test_nor_is_what_a_server_answers_when_its_stall_ends(limits, rate, seconds):
    flow, client = FlowKey("nfs", "/a"), BudgetKey(Kind.NFS_SLOTS, "filer")
    budgets = {VOLUME: Budget(VOLUME, (flow,), limits), client: Budget(client, (flow,))}

    def done(rate, wait):
        call = tick(rate, wait, seconds)
        return call._replace(
            in_flight=None, busy_ratio=None, read_rtt_seconds=wait, read_queue_seconds=0.0
        )

    silent = FlowTick(seconds, 0.0, 0.0, 0.0, 0.0, queue_length=0.0, in_flight=40)
    judge, at, said = Judge(), 100.0, []
    for each, on_wire in (
        *[(done(450.0, 0.004), 2)] * 20,
        *[(silent, 40)] * 3,
        (done(rate, 1.7), 2),
        *[(done(450.0, 0.004), 2)] * 5,
    ):
        at += seconds
        received = each.read_operations_per_second
        witness = Witness(clients={"filer": ClientWitness(4, 512, 0.0, on_wire, received)})
        said.append(judge.observe(at, seconds, budgets, {flow: each}, witness)[VOLUME].word)

    assert Word.STALLED in said
    assert Word.THROTTLED not in said


@pytest.mark.parametrize(
    ("on_wire", "received", "light", "word"),
    [
        (45, 450.0, 2, Word.THROTTLED),
        # An application hands over once a second, between the looks, or just before them.
        (0, 450.0, 2, Word.APP_LIMITED),
        (400, 450.0, 2, Word.APP_LIMITED),
        (400, 900.0, 2, Word.THROTTLED),  # half of them are others'
        (0, 40.0, 2, Word.THROTTLED),  # pNFS: the calls go to other servers
        (0, 450.0, 0, Word.THROTTLED),  # whose calls are never counted
    ],
)
def test_a_queue_of_calls_stands_if_they_are_on_the_wire_at_the_looks(
    on_wire, received, light, word
):
    flow, client = FlowKey("nfs", "/a"), BudgetKey(Kind.NFS_SLOTS, "filer")
    budgets = {VOLUME: Budget(VOLUME, (flow,)), client: Budget(client, (flow,))}
    judge, at = Judge(), 100.0
    for place in range(40):
        rate, wait, calls = (100.0, 0.004, light) if place < 20 else (450.0, 0.1, on_wire)
        call = tick(rate, wait, 1.0)._replace(
            in_flight=None, busy_ratio=None, read_rtt_seconds=wait, read_queue_seconds=0.0
        )
        answered = 100.0 if place < 20 else received
        witness = Witness(clients={"filer": ClientWitness(4, 512, 0.0, calls, answered)})
        at += 1.0
        said = judge.observe(at, 1.0, budgets, {flow: call}, witness)[VOLUME].word

    assert said is word


def test_calls_that_were_sent_again_are_no_queue_at_the_looks():
    """A server was away with 60 calls, which count as sent twice ever since."""
    flow, client = FlowKey("nfs", "/a"), BudgetKey(Kind.NFS_SLOTS, "filer")
    budgets = {VOLUME: Budget(VOLUME, (flow,)), client: Budget(client, (flow,))}
    judge, at, said = Judge(), 100.0, []
    for rate, wait, on_wire in (
        *[(100.0, 0.004, 2)] * 20,
        *[(0.0, 0.0, 60)] * 5,
        *[(100.0, 0.004, 62)] * 10,
        *[(450.0, 0.1, 105)] * 20,
    ):
        call = tick(rate, wait, 1.0)._replace(
            in_flight=None, busy_ratio=None, read_rtt_seconds=wait, read_queue_seconds=0.0
        )
        if not rate:
            call = FlowTick(1.0, queue_length=0.0)
        at += 1.0
        witness = Witness(clients={"filer": ClientWitness(4, 512, 0.0, on_wire, rate)})
        said.append(judge.observe(at, 1.0, budgets, {flow: call}, witness)[VOLUME].word)

    assert Word.STALLED in said[20:25]
    assert said[-1] is Word.THROTTLED


def test_a_stripes_member_is_not_blamed_for_a_slower_sibling():
    disks = [FlowKey("disk", name) for name in ("sda", "sdb")]
    md0 = BudgetKey(Kind.STRIPE, "md0")
    budgets = {
        BudgetKey(Kind.DISK, flow.name): Budget(BudgetKey(Kind.DISK, flow.name), (flow,))
        for flow in disks
    }
    budgets[md0] = Budget(md0, tuple(disks))
    budgets[VM] = Budget(VM, tuple(disks))
    judge = Judge()
    for number in range(40):
        busy = number >= 6
        # Half of every request goes to each; the second disk is the one that makes it wait.
        follower = tick(500.0, 0.008) if busy else tick(100.0, 0.002)
        culprit = tick(500.0, 0.064) if busy else tick(100.0, 0.002)
        flows = {disks[0]: follower, disks[1]: culprit, FlowKey("disk", "md0"): culprit}
        verdicts = judge.observe(100.0 + number, 1.0, budgets, flows)

    assert verdicts[SDA].word is not Word.THROTTLED
    assert verdicts[BudgetKey(Kind.DISK, "sdb")].word is Word.THROTTLED
    assert verdicts[VM].word is not Word.THROTTLED


@pytest.mark.parametrize("limits", [(), (LIMIT,)])
def test_the_limit_of_a_stripes_members_is_not_its_own(limits):
    disks = [FlowKey("disk", name) for name in ("sda", "sdb")]
    md0, itself = BudgetKey(Kind.STRIPE, "md0"), FlowKey("disk", "md0")
    budgets = {
        BudgetKey(Kind.DISK, flow.name): Budget(BudgetKey(Kind.DISK, flow.name), (flow,), limits)
        for flow in disks
    }
    budgets[md0] = Budget(md0, tuple(disks), (LIMIT._replace(value=5000.0),))
    judge, books, r = Judge(), Accounts(), random.Random(1)
    for number in range(50):
        flows = {flow: tick(100.0, 0.002) for flow in (*disks, itself)}
        if number >= 10:
            one, other = 500 * r.gauss(1, 0.002), 500 * r.gauss(1, 0.002)
            done = one, other, one + other
            flows = {
                flow: tick(rate, 16 / one)
                for flow, rate in zip((*disks, itself), done, strict=True)
            }
        verdict = judge.observe(100.0 + number, 1.0, budgets, flows)[md0]
        (line,) = books.book(budgets[md0], 100.0 + number, 1.0, flows, verdict, 15.0)

    assert verdict.sentence == "as slow as its members sda, sdb, which are held back"
    assert (verdict.word, verdict.parent) == (Word.THROTTLED, SDA)
    assert (verdict.limit, verdict.origin, verdict.utilization) == (None, None, None)
    assert (line.effective, line.throttled) == (5000.0, False)


def test_a_limit_of_the_vm_that_was_taken_for_a_disks_is_handed_over():
    """The disk is alone at first; then one that asks little waits as long as it does."""
    disks = [FlowKey("disk", name) for name in ("sda", "sdb")]
    budgets = {
        BudgetKey(Kind.DISK, flow.name): Budget(BudgetKey(Kind.DISK, flow.name), (flow,))
        for flow in disks
    }
    budgets[VM] = Budget(VM, tuple(disks))
    judge = Judge()
    said = []
    for number in range(80):
        heavy = tick(3000.0, 0.064) if number >= 6 else tick(100.0, 0.002)
        light = (
            tick(15.0, 0.066) if number >= 30 else tick(100.0, 0.002) if number < 6 else tick(0.0)
        )
        verdicts = judge.observe(100.0 + number, 1.0, budgets, {disks[0]: heavy, disks[1]: light})
        said.append((verdicts[SDA].word, verdicts[VM].word))

    assert said[25] == (Word.THROTTLED, Word.HEALTHY)
    assert said[-1] == (Word.AFFECTED, Word.THROTTLED)
    saved = judge.memory().disks
    assert not any(saved.cases["disk:sda"].plateau.ceilings.values())


@pytest.mark.parametrize("seed", [51, 52, 53])
def test_one_disk_alone_at_what_the_vm_met_before_is_held_by_the_vm(seed):
    """Three disks wait in one queue; then one of them asks for all of it, whose own limit is above."""
    r = random.Random(seed)
    limit, depth, floor = r.uniform(400, 4000), r.randint(12, 48), r.uniform(0.0008, 0.002)
    seconds = []
    for number in range(60):
        total = limit * (1 + r.uniform(-0.003, 0.003))
        if number < 6:
            shares, wait = (0.1, 0.1, 0.1), floor
        elif number < 32:
            cuts = sorted((r.uniform(0.3, 0.37), r.uniform(0.63, 0.7)))
            shares, wait = (cuts[0], cuts[1] - cuts[0], 1 - cuts[1]), 3 * depth / total
        elif number < 38:
            shares, wait = (0.0, 0.0, 0.0), 0.0
        else:
            shares, wait = (0.0, 1.0, 0.0), depth / total
        seconds.append([tick(total * share, wait) for share in shares])
    _, said = throttled_of_disks(seconds)

    assert said[30] == [VM]
    assert said[42:] == [[VM]] * 18


def two_disks(seed, *, vm):
    """One disk alone at a level, a second one joins it as deep, both rest, and both come back. Each has
    a limit of its own, of one size, or the VM has one. Who is throttled, second by second.
    """
    r = random.Random(seed)
    limit, depth, floor = r.uniform(400, 5000), r.randint(16, 48), r.uniform(0.0008, 0.002)
    seconds = []
    for number in range(90):
        asks = (0, 0) if number < 6 or 60 <= number < 66 else (1, 1) if number >= 24 else (1, 0)
        ticks = []
        for asked in asks:
            rate = limit * (1 + r.uniform(-0.003, 0.003)) / (sum(asks) if vm and asked else 1)
            ticks.append(tick(rate, depth / rate) if asked else tick(0.1 * limit, floor))
        seconds.append(ticks)
    return throttled_of_disks(seconds)


@pytest.mark.parametrize("seed", [81, 82, 83, 84])
def test_a_level_that_a_disk_keeps_when_a_sibling_joins_it_is_its_own(seed):
    """Both wait equally long, as disks do that were bought alike and are asked alike."""
    keys, said = two_disks(seed, vm=False)

    assert said[20] == keys[:1]
    assert said[40:60] == [keys] * 20
    assert said[70:] == [keys] * 20


@pytest.mark.parametrize("seed", [81, 82, 83, 84])
def test_a_level_that_two_disks_divide_is_the_vms(seed):
    keys, said = two_disks(seed, vm=True)

    assert said[20] == keys[:1]
    assert said[40:60] == [[VM]] * 20


def three_disks(seed, *, vm):
    """One disk at a limit of its own, one that has what is left of the VM's, and from second 30 on a third
    at a limit of its own, for which the second one makes room; vm False: its application asks less
    instead. Who is throttled, second by second.
    """
    r = random.Random(seed)
    total, floor = r.uniform(2000, 15000), r.uniform(0.0008, 0.002)
    first, third = total * r.uniform(0.4, 0.6), total * r.uniform(0.05, 0.2)
    # They wait in queues of their own: the first one much longer.
    depths = [round(each * total * floor) + r.randint(8, 16) for each in (12, 3, 3)]
    seconds = []
    for number in range(60):
        ticks = [tick(0.02 * total, floor)] * 3
        if number >= 6:
            shares = (
                (first, total - first, 0.0)
                if number < 30
                else (first, total - first - third, third)
            )
            one, two, three = [share * (1 + r.uniform(-0.003, 0.003)) for share in shares]
            wait = depths[1] / (two if vm or number < 30 else total - first)
            ticks = [
                tick(one, depths[0] / one),
                tick(two, wait),
                tick(three, depths[2] / three if three else 0.0),
            ]
        seconds.append(ticks)
    return throttled_of_disks(seconds)


def near_the_limit(share, wait, seed, ripple=0.0):
    """A minute at about this share of the limit. ripple: of the seconds that a request takes."""
    r = random.Random(seed)
    ticks = []
    for _ in range(60):
        rate = LIMIT.value * share * (1 + r.uniform(-0.002, 0.002))
        each = tick(rate, wait * (1 + r.uniform(-ripple, ripple)))
        ticks.append(each._replace(busy_ratio=min(1.0, rate * wait)))
    return ticks


@pytest.mark.parametrize("seed", [111, 112, 113, 114])
def test_one_worker_that_thinks_is_held_back_at_a_known_limit(seed):
    """It waits a third of its time, and has something else to do for the rest."""
    r = random.Random(seed)
    alone = r.uniform(0.0003, 0.0006)
    wait = alone + r.uniform(0.25, 0.4) / LIMIT.value
    before = near_the_limit(r.uniform(0.3, 0.6), alone, seed)

    assert judged(Judge(), *before, *near_the_limit(1.0, wait, seed)).word is Word.THROTTLED
    at_ease = near_the_limit(1.0, 1.2 * alone, seed)
    assert judged(Judge(), *before, *at_ease).word is not Word.THROTTLED
    below = near_the_limit(0.95, wait, seed)
    assert judged(Judge(), *before, *below).word is not Word.THROTTLED


@pytest.mark.parametrize("seed", [121, 122, 123, 124])
def test_a_rate_below_its_limit_that_was_held_while_nobody_waited_stays_the_applications(seed):
    """Then its device becomes slow, and as much is done as before."""
    r = random.Random(seed)
    share, wait = r.uniform(0.955, 0.985), r.uniform(0.008, 0.04)
    at_ease, slow = (near_the_limit(share, each, seed, ripple=0.1) for each in (0.001, wait))
    judge = Judge()
    words = {judged(judge, each, at=100.0 + n).word for n, each in enumerate([*at_ease, *slow])}

    assert Word.THROTTLED not in words
    before = near_the_limit(r.uniform(0.3, 0.6), 0.001, seed)
    assert judged(Judge(), *before, *slow).word is Word.THROTTLED


@pytest.mark.parametrize("seed", [131, 132, 133, 134])
def test_at_what_is_sold_a_rate_was_free_only_if_its_requests_were_seen_alone(seed):
    """Several at a time, each as fast as any before, may wait or not: who knows how fast one alone is?"""
    r = random.Random(seed)
    sold = LIMIT._replace(value=5000.0)
    budgets = {SDA: Budget(SDA, (DISK,), (sold,))}
    fast = r.uniform(0.0009, 0.0011)  # below what is guessed of a disk

    def stretch(seconds, share, shortest, longest):
        return [
            tick(share * sold.value * r.uniform(0.999, 1.0005), r.uniform(shortest, longest) * fast)
            for _ in range(seconds)
        ]

    def words(*ticks):
        judge = Judge()
        said = [
            judge.observe(100.0 + n, 1.0, budgets, {DISK: each})[SDA].word
            for n, each in enumerate(ticks)
        ]
        return said[-40:]

    free = stretch(30, 1.0, 1.0, 1.1)
    slower = stretch(40, 1.0, 1.3, 1.5)
    alone = stretch(30, r.uniform(0.05, 0.1), 1.0, 1.1)
    assert Word.THROTTLED in words(*free, *slower)
    assert Word.THROTTLED not in words(*alone, *free, *slower)


@pytest.mark.parametrize("seed", [141, 142, 143, 144])
def test_a_pace_in_bytes_stays_the_applications_when_a_block_has_a_request_less(seed):
    """Half a second with 56 requests or 58 is the same level: the bytes say so, and the blocks on average."""
    r = random.Random(seed)
    slow = r.uniform(0.015, 0.03)
    budgets = {SDA: Budget(SDA, (DISK,))}
    judge, words = Judge(), set()
    for index in range(240):
        requests = r.choice([56, 57, 57, 58])
        each = tick(2 * requests, 0.001 if index < 120 else slow * r.uniform(0.9, 1.1), 0.5)
        each = each._replace(read_bytes_per_second=465e3 * r.uniform(0.999, 1.001))
        words.add(judge.observe(100.0 + index / 2, 0.5, budgets, {DISK: each})[SDA].word)

    assert Word.THROTTLED not in words


@pytest.mark.parametrize("seed", [101, 102, 103, 104, 105, 106])
def test_a_limit_that_is_bought_anew_is_found_again(seed):
    """One of three sizes after another, a quarter apart at least, while as many requests wait as before."""
    r = random.Random(seed)
    small, depth = r.uniform(400, 5000), r.randint(24, 64)
    middle = small * r.uniform(1.25, 2.5)
    sizes = [small, middle, middle * r.uniform(1.25, 2.5)]
    limit, seconds, ends = 0.0, [[tick(0.02 * small, 0.001)]] * 6, []
    for _ in range(3):
        limit = r.choice([size for size in sizes if size != limit])
        for _ in range(r.randint(60, 150)):
            rate = limit * (1 + r.uniform(-0.003, 0.003))
            seconds.append([tick(rate, depth / rate)])
        ends.append(len(seconds))
    (disk,), said = throttled_of_disks(seconds)

    assert [said[end - 30 : end] for end in ends] == [[[disk]] * 30] * 3


@pytest.mark.parametrize("dt", [0.5, 1.0, 5.0])
@pytest.mark.parametrize(
    "sizes",
    [
        (1500.0, 3000.0),
        (1499.7, 2999.9),
        (3000.0, 1500.0),
        (2999.9, 1499.7),
        (1500.0, 3000.0, 1125.0),
    ],
)
def test_a_limit_that_is_doubled_halved_or_lowered_is_found_while_it_stands(sizes, dt):
    """As a volume is modified while 48 requests wait: the level before is a doubt, which standing here outweighs."""
    r = random.Random(7)
    blocks, ends = [[tick(30, 0.0007, dt)]] * round(20 / dt), []
    for size in sizes:
        for _ in range(round(80 / dt)):
            rate = size * (1 + r.uniform(-0.001, 0.001))
            blocks.append([tick(rate, 48 / rate, dt)])
        ends.append(len(blocks))
    (disk,), said = throttled_of_disks(blocks, dt)

    last = round(20 / dt)
    assert [said[end - last : end] for end in ends] == [[[disk]] * last] * len(sizes)


@pytest.mark.parametrize("seed", [91, 92, 93, 94])
def test_a_disk_that_makes_room_for_another_while_the_sum_stands_is_held_by_the_vm(seed):
    """Two disks that stand may each be at a limit of its own, until one of them gives way."""
    keys, said = three_disks(seed, vm=True)

    assert said[28] == keys[:2]
    assert all(VM in held and keys[1] not in held for held in said[42:])


@pytest.mark.parametrize(
    ("depths", "own"),
    [((8, 16, 32), None), ((16, 32, 8), None), ((32, 8, 16), None), ((8, 16, 32), 300.0)],
)
def test_a_disk_that_joins_others_served_in_turn_is_at_a_limit_of_its_own_only_if_it_gets_less(
    depths, own
):
    """A limit of all disks, the third of which comes last: each that waits gets as much, however many requests."""
    r, seconds = random.Random(7), []
    for second in range(170):
        waits = [second >= begins for begins in (6, 50, 90)]
        joined = waits[2] and own
        each = (1600.0 - (own or 0.0)) / 2 if joined else 1600.0 / max(1, sum(waits))
        rates = [each * r.gauss(1, 0.001) for _ in waits]
        if joined:
            rates[2] = own * r.gauss(1, 0.001)
        seconds.append(
            [
                tick(rate, depth / rate) if is_waiting else tick(0.0, 0.0)
                for rate, depth, is_waiting in zip(rates, depths, waits, strict=True)
            ]
        )
    keys, said = throttled_of_disks(seconds)

    assert said[120:] == [[*([keys[2]] if own else []), VM]] * 50


@pytest.mark.parametrize("seed", [91, 92, 93, 94])
def test_a_disk_that_is_asked_less_while_another_is_asked_more_is_not_held_by_the_vm(seed):
    _, said = three_disks(seed, vm=False)

    assert not any(VM in held for held in said)


@pytest.mark.parametrize("seed", [85, 86, 87])
def test_of_two_told_limits_that_are_near_a_rate_it_is_at_the_one_it_is_not_below(seed):
    """Limits are enforced a little above what is sold, and not below."""
    r = random.Random(seed)
    vm = r.uniform(500, 9000)
    limits = {VM: vm, SDA: 1.042 * vm}
    budgets = {
        key: Budget(
            key, (DISK,), (Limit(Dimension.IOPS, Direction.TOTAL, most, Origin.CATALOGUE, "sold"),)
        )
        for key, most in limits.items()
    }
    judge = Judge()
    for number in range(20):
        rate = vm * 1.017 * (1 + r.uniform(-0.003, 0.003))
        busy = tick(0.1 * vm, 0.002) if number < 6 else tick(rate, 64 / rate)
        verdicts = judge.observe(100.0 + number, 1.0, budgets, {DISK: busy})

    assert [key for key in verdicts if verdicts[key].word is Word.THROTTLED] == [VM]


def one_at_a_time(seed, times, two_from=18):
    """Large requests on a volume of so many bytes a second: one at a time, each for so many times what
    the limit takes for it, then two at a time at the limit. The verdict at the end, and the limit's
    seconds for a request.
    """
    r = random.Random(seed)
    size, most_bytes = r.choice([128, 256, 512]) * 1024.0, r.uniform(6e6, 20e6)
    limit = Limit(Dimension.THROUGHPUT, Direction.TOTAL, most_bytes, Origin.CONFIGURED)
    flow = FlowKey("mount", "/a")
    budgets, judge = {VOLUME: Budget(VOLUME, (flow,), (limit,))}, Judge()
    most, more = most_bytes / size, r.uniform(*times)
    for number in range(30):
        wait = more * r.uniform(0.95, 1.05) / most
        rate = min(0.45 * most, 0.8 / wait)
        if number >= two_from:
            rate, wait = most * (1 + r.uniform(-0.015, 0.015)), 2 / most
        held = round(rate * wait)
        each = FlowTick(1.0, rate, 0.0, rate * size, 0.0, wait, None, rate * wait, held, 1.0)
        verdict = judge.observe(100.0 + number, 1.0, budgets, {flow: each})[VOLUME]
    return verdict, 1 / most


@pytest.mark.parametrize("seed", [61, 62, 63])
def test_what_a_limit_takes_for_one_large_request_is_no_floor(seed):
    """A server that reads ahead keeps its limited disk busy although it is asked for half."""
    verdict, paced = one_at_a_time(seed, (1.2, 1.7))

    assert verdict.word is Word.THROTTLED
    assert verdict.evidence["floor_seconds"] < paced / 2


@pytest.mark.parametrize("seed", [64, 65, 66])
def test_what_a_far_server_takes_for_one_large_request_is_its_floor(seed):
    verdict, paced = one_at_a_time(seed, (6.0, 9.0), two_from=30)

    assert verdict.evidence["floor_seconds"] > 5 * paced


def test_a_vms_limit_ends_within_seconds_when_what_still_waits_stands_at_its_own():
    p10 = Device(iops=500.0)
    both = Act(30, {"sda": Load(depth=64), "sdb": Load(depth=64)}, VM, Dimension.IOPS)
    one = Act(20, {"sda": Load(depth=64)}, SDA, Dimension.IOPS)
    story = Story("both, then one", [both, one], {"sda": p10, "sdb": p10}, vm_iops=700.0)
    late = [m for m in told(story) if m.act is one and m.since_act >= 5]

    assert all(m.verdicts[VM].word is not Word.THROTTLED for m in late)
    assert all(m.verdicts[SDA].word is Word.THROTTLED for m in late)


def test_a_large_request_that_counts_as_several_operations_reaches_the_limit_sooner():
    """An EBS volume of 500 IOPS counts in units of 256 KiB: 125 requests of 1 MiB are all."""
    budgets = {SDA: Budget(SDA, (DISK,), (LIMIT,), operation_bytes=256 * 1024)}
    judge = Judge()
    for number in range(14):
        rate, wait = (20.0, 0.004) if number < 6 else (125.0, 0.128)
        flow = FlowTick(1.0, rate, 0.0, rate * 1048576, 0.0, wait, None, rate * wait, 16, 1.0)
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: flow})[SDA]

    assert (verdict.word, verdict.dimension, verdict.limit) == (
        Word.THROTTLED, Dimension.IOPS, 500.0,
    )  # fmt: skip
    assert verdict.utilization == pytest.approx(1.0)
    assert verdict.evidence["level"] == pytest.approx(500.0)


def test_with_one_busy_disk_the_sentence_admits_disk_or_vm():
    moments = list(told(FOUR, known=False))
    verdict = next(m.verdicts[SDA] for m in moments if m.since_act > 30 and m.act.binds == SDA)

    assert verdict.origin is Origin.LEARNED
    assert "disk or of the VM" in verdict.sentence


def test_disks_that_a_vm_cap_holds_back_are_affected_by_it():
    story = next(story for story in STORIES if story.name == "the VM holds two disks")
    moment = [m for m in told(story) if m.act.binds == VM][-1]

    assert moment.verdicts[SDA].word is Word.AFFECTED
    assert moment.verdicts[SDA].parent == VM
    assert set(moment.verdicts[VM].sufferers) == {FlowKey("disk", "sda"), FlowKey("disk", "sdb")}


@pytest.mark.parametrize("wrong", [0.9, 1.1])
def test_a_vm_limit_told_wrong_is_not_blamed_on_a_disk(wrong):
    """The other disk has one request now and then, and no queue: one disk alone waits."""
    limit = Limit(Dimension.IOPS, Direction.TOTAL, 1000.0 * wrong, Origin.CONFIGURED, "told")
    other = FlowKey("disk", "sdb")
    both = (DISK, other)
    budgets = {
        VM: Budget(VM, both, (limit,)),
        SDA: Budget(SDA, (DISK,)),
        BudgetKey(Kind.DISK, "sdb"): Budget(BudgetKey(Kind.DISK, "sdb"), (other,)),
    }
    judge = Judge()
    for number in range(40):
        busy = tick(100.0, 0.002) if number < 8 else tick(960.0, 16 / 960)
        flows = {DISK: busy, other: tick(40.0, 0.002)}
        verdicts = judge.observe(100.0 + number, 1.0, budgets, flows)

    assert verdicts[VM].word is Word.THROTTLED
    assert verdicts[VM].limit == pytest.approx(1000.0)
    assert verdicts[SDA].word is Word.AFFECTED


def test_a_stripe_is_as_slow_as_its_member():
    md0 = BudgetKey(Kind.STRIPE, "md0")
    budgets = {**BUDGETS, md0: Budget(md0, (DISK, FlowKey("disk", "sdb")))}
    judge = Judge()
    for number, each in enumerate([*CALM, *[tick()] * 4]):
        flows = {DISK: each, FlowKey("disk", "sdb"): each, FlowKey("disk", "md0"): each}
        verdicts = judge.observe(100.0 + number, 1.0, budgets, flows)

    assert verdicts[md0].word is Word.THROTTLED
    assert verdicts[md0].parent == SDA
    assert "sda" in verdicts[md0].sentence


def through_json(saved):
    return read(SavedJudge, json.loads(json.dumps(write(saved))), "judge")


def test_a_restart_forgets_nothing():
    before = Judge()
    said = judged(before, *CALM, *[tick()] * 6)
    after = Judge()
    after.restore(through_json(before.memory()), 5.0)
    again = judged(after, tick(), at=112.0)

    assert again.word is Word.THROTTLED
    assert again.since == said.since


@pytest.mark.parametrize(("away_seconds", "late_seconds"), [(40.0, 0.0), (5.0, 40.0)])
def test_what_was_not_looked_at_for_long_has_no_known_begin(away_seconds, late_seconds):
    """Because nobody ran, or because it was not there yet."""
    before = Judge()
    judged(before, *CALM, *[tick()] * 6)
    after = Judge()
    after.restore(through_json(before.memory()), away_seconds)
    after.observe(112.0, 1.0, {}, {})
    again = judged(after, tick(), at=113.0 + late_seconds)

    assert again.word is Word.THROTTLED
    assert (again.since, again.holds_since) == (113.0 + late_seconds, 113.0 + late_seconds)


@pytest.mark.parametrize(
    "memory",
    [
        {"disks": 7, "mounts": None},
        {"disks": {"cases": {"disk:sda": {"plateau": []}}, "senses": {"disk:sda": "?"}}},
        {"disks": {"senses": {"disk:sda": {"floors": [["a", 1, 2, 3, 4]]}}}},
        {"mounts": {"senses": {"nfs:/a": {"floors": [], "rtt_floors": "x"}}}},
    ],
)
def test_a_damaged_memory_is_refused_as_a_whole(memory):
    whole = {"disks": {"cases": {}, "senses": {}}, "mounts": {"cases": {}, "senses": {}}}
    with pytest.raises(ShapeError):
        read(SavedJudge, whole | memory, "judge")


def test_no_memory_is_a_memory_too():
    judge = Judge()
    judge.restore(SavedJudge(), 5.0)

    assert judged(judge, *CALM, *[tick()] * 4).word is Word.THROTTLED


def test_a_volume_that_counts_exceeded_time_decides_alone():
    exceeded = Witness(ebs={"sda": EbsWitness(volume_iops=0.8, volume_throughput=0.0)})
    never = Witness(ebs={"sda": EbsWitness(volume_iops=0.0, volume_throughput=0.0)})

    assert judged(Judge(), *CALM, witness=exceeded).word is Word.THROTTLED
    assert judged(Judge(), *CALM, *[tick()] * 6, witness=never).word is not Word.THROTTLED


def test_a_limit_that_was_learned_is_told_with_how_sure_we_are():
    found = [moment.verdicts[SDA] for moment in told(FOUR, known=False)]
    held = [verdict for verdict in found if verdict.word is Word.THROTTLED][-1]

    assert held.limit == pytest.approx(500.0, rel=0.005)
    assert held.dimension is Dimension.IOPS
    assert 0.5 < held.evidence["confidence"] < 1.0


def test_another_limit_begins_anew_and_the_old_one_is_forgotten():
    judge = Judge()
    judged(judge, *CALM, *[tick()] * 4)
    resized = {SDA: Budget(SDA, (DISK,), (Limit(Dimension.IOPS, Direction.TOTAL, 2300.0,
                                                Origin.CATALOGUE),))}  # fmt: skip
    for number in range(6):
        verdicts = judge.observe(200.0 + number, 1.0, resized, {DISK: tick(900.0, 0.002)})

    assert verdicts[SDA].word is not Word.THROTTLED


def test_another_limit_beside_it_changes_nothing_of_the_one_that_is_reached():
    judge = Judge()
    judged(judge, *CALM, *[tick(500.0, 0.008)] * 10)
    more = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 25e6, Origin.CATALOGUE, "P10")
    both = {SDA: Budget(SDA, (DISK,), (LIMIT, more))}
    verdict = judge.observe(116.0, 1.0, both, {DISK: tick(500.0, 0.008)})[SDA]

    assert (verdict.word, verdict.limit, verdict.origin) == (
        Word.THROTTLED,
        500.0,
        Origin.CATALOGUE,
    )


def test_what_was_said_of_a_disk_holds_when_another_comes_within_a_block():
    judge = Judge()
    judged(judge, *CALM, *[tick()] * 4)
    sdb, other = BudgetKey(Kind.DISK, "sdb"), FlowKey("disk", "sdb")
    both = {**BUDGETS, sdb: Budget(sdb, (other,))}
    said = judge.observe(110.2, 0.2, both, {DISK: tick(seconds=0.2), other: None})

    assert (said[SDA].word, said[sdb].word) == (Word.THROTTLED, Word.UNKNOWN)


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_limits_that_are_reached_the_one_that_is_reached_most_is_named(order):
    nearly = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 505.0 * 4096, Origin.CATALOGUE, "P10")
    budgets = {SDA: Budget(SDA, (DISK,), (LIMIT, nearly)[::order])}
    judge = Judge()
    for number, each in enumerate([*CALM, *[tick()] * 20]):
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]

    assert (verdict.word, verdict.dimension) == (Word.THROTTLED, Dimension.IOPS)


def test_demand_is_how_many_times_as_long_a_request_takes_as_where_none_waits():
    verdict = judged(Judge(), *[tick(100.0, 0.002)] * 15, *[tick(500.0, 0.008)] * 25)

    assert verdict.demand == pytest.approx(4.0, rel=0.02)


def test_a_disks_share_is_of_the_limit_it_is_nearest_to():
    far = Limit(Dimension.THROUGHPUT, Direction.TOTAL, 500e6, Origin.CATALOGUE, "P10")
    budgets = {SDA: Budget(SDA, (DISK,), (LIMIT, far))}
    judge = Judge()
    for number in range(20):
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: tick(400.0, 0.0005)})[SDA]

    assert verdict.utilization == pytest.approx(0.8)


@pytest.mark.parametrize(("rate", "phase"), [(500.0, "base"), (3500.0, "burst")])
def test_whether_it_is_held_at_its_base_or_at_its_burst_is_told(rate, phase):
    limit = LIMIT._replace(burst=Burst(3500.0, None))
    budgets = {SDA: Budget(SDA, (DISK,), (limit,))}
    judge = Judge()
    for number, each in enumerate([*CALM, *[tick(rate, 16 / rate)] * 20]):
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]

    assert (verdict.word, verdict.limit, verdict.evidence["phase"]) == (
        Word.THROTTLED,
        rate,
        phase,
    )
    assert ("while its burst lasts" in verdict.sentence) == (phase == "burst")


def test_a_disk_that_goes_takes_its_verdict_with_it():
    judge = Judge()
    judged(judge, *CALM)

    assert not judge.observe(200.0, 1.0, {}, {})


def test_memory_does_not_grow_with_time():
    story = Story(
        "long", [Act(3000, {"sda": Load(depth=8, noise=0.3)})], {"sda": Device(iops=500.0)}
    )
    judge = Judge()
    sizes = [
        len(json.dumps(write(judge.memory())))
        for number, _ in enumerate(told(story, judge=judge))
        if number % 1000 == 999
    ]

    assert sizes[-1] <= sizes[0] * 1.2


def test_a_large_request_counts_as_the_provider_counts_it():
    """750 requests of 1 MiB a second are 3,000 operations of 256 KiB, which were bought."""
    limit = Limit(Dimension.IOPS, Direction.TOTAL, 3000.0, Origin.CATALOGUE, "gp3")
    large = tick(750.0, 0.032)._replace(read_bytes_per_second=750.0 * 2**20)
    calm = tick(100.0, 0.005)._replace(read_bytes_per_second=100.0 * 2**20)
    for unit, word in ((256 << 10, Word.THROTTLED), (None, Word.SATURATED)):
        judge = Judge()
        budgets = {SDA: Budget(SDA, (DISK,), (limit,), operation_bytes=unit)}
        for number, each in enumerate([*[calm] * 6, *[large] * 6]):
            verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]

        assert verdict.word is word
        assert verdict.utilization == pytest.approx(1.0 if unit else 0.25)


@pytest.mark.parametrize(("rate", "side"), [(400.0, "below"), (700.0, "above")])
def test_a_told_limit_that_is_not_the_one_that_holds_is_said_to_be_so(rate, side):
    verdict = judged(Judge(), *CALM, *[tick(rate, 16 / rate)] * 20)

    assert verdict.word is Word.THROTTLED
    assert (verdict.limit, verdict.origin) == (pytest.approx(rate), Origin.LEARNED)
    assert verdict.sentence.startswith(
        f"held at {rate:.0f} IOPS, {side} the 500 IOPS told (catalogue), by"
    )


def test_of_a_told_limit_with_a_burst_the_sentence_names_both():
    told = Limit(Dimension.IOPS, Direction.TOTAL, 120.0, Origin.CATALOGUE, burst=Burst(3500.0, 6e6))
    budgets = {SDA: Budget(SDA, (DISK,), (told,))}
    judge = Judge()
    for number, each in enumerate([*CALM, *[tick(500.0, 16 / 500)] * 20]):
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]

    assert verdict.sentence.startswith(
        "held at 500 IOPS, above the 120 IOPS told (catalogue, burst 3,500 IOPS), by"
    )


def test_the_evidence_is_of_now_while_the_word_has_patience():
    judge = Judge()
    before = judged(judge, *[tick(100.0, 0.002)] * 12)
    after = judged(judge, tick(140.0, 0.002), at=112.0)

    assert after.word is before.word
    assert after.sentence == before.sentence
    assert after.evidence["operations_per_second"] == 140.0


def test_what_was_seen_before_speaks_against_a_known_limit_too():
    faster = [tick(600.0, 0.002)] * 12
    elsewhere = [tick(400.0, 0.04)] * 16
    verdict = judged(Judge(), *CALM, *faster, *elsewhere, *[tick(500.0, 0.032)] * 8)

    assert (verdict.word, verdict.origin) == (Word.THROTTLED, Origin.CATALOGUE)
    assert (
        "; against it: requests waited at other levels for 9.0 s, 600 IOPS was" in verdict.sentence
    )


def test_a_level_that_was_left_while_requests_waited_speaks_against_the_next():
    budgets = {SDA: Budget(SDA, (DISK,))}
    judge = Judge()
    ticks = [*CALM, *[tick(500.0, 0.032)] * 20, *[tick(470.0, 16 / 470)] * 14]
    for number, each in enumerate(ticks):
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]

    assert verdict.word is Word.THROTTLED
    assert "against it: requests waited at other levels for" in verdict.sentence


def test_the_level_that_is_told_is_none_that_this_second_has_left():
    calm = [tick(rate=376.0, wait=0.002)] * 20
    judge = Judge()
    judged(judge, *calm)
    verdict = judged(judge, tick(rate=502.0, wait=0.064), at=120.0)

    assert verdict.word is Word.THROTTLED
    assert verdict.evidence["level"] == pytest.approx(502.0)
    assert "flat_ratio" not in verdict.evidence
    assert verdict.sentence.startswith("held at 502 IOPS by its disk limit (500 IOPS")


def test_no_more_was_asked_for_than_what_was_done_and_what_waits_still():
    judge = Judge()
    held = judged(judge, *[tick(wait=0.128)] * 10)
    # The burst has ended: what was done in this second has waited, and nothing does any more.
    ended = judged(judge, tick(wait=0.128)._replace(in_flight=0), at=110.0)

    assert held.evidence["asked_ratio"] == pytest.approx(1 + 62.7 / 500, rel=0.01)
    assert (ended.word, ended.evidence["asked_ratio"]) == (Word.THROTTLED, 1.0)


def test_one_worker_at_a_small_limit_is_held_after_a_pause_as_before():
    """Of 85.4 a second 85 or 86 are counted, and none of these seconds tells what the disk takes by itself."""
    budgets = {SDA: Budget(SDA, (DISK,), (LIMIT._replace(value=85.4),))}
    calm = [tick(rate=30.0, wait=0.001)] * 10
    done = [round((n + 1) * 85.4) - round(n * 85.4) for n in range(90)]
    held = [tick(rate=float(count), wait=1 / 85.4)._replace(in_flight=1) for count in done]
    pause = [tick(rate=0.0, wait=0.0)] * 6
    seconds = [*calm, *held[:10], *pause, *held[10:20], *pause, *held[20:30], *pause, *held[30:]]
    judge = Judge()
    said = [
        judge.observe(100.0 + at, 1.0, budgets, {DISK: each})[SDA].word
        for at, each in enumerate(seconds)
    ]

    assert {*said[-50:]} == {Word.THROTTLED}
    assert Word.THROTTLED not in said[:10]


def test_another_disk_of_the_same_name_begins_anew():
    judge = Judge()
    before = judged(judge, *CALM, *[tick()] * 6)
    judge.forget([DISK])
    after = judge.observe(112.0, 1.0, dict(BUDGETS), {DISK: tick()})[SDA]

    assert before.word is Word.THROTTLED
    assert after.since == 112.0


def test_below_the_vms_known_limit_what_holds_one_disk_is_the_disks():
    known = LIMIT._replace(value=10_000.0)
    budgets = {SDA: Budget(SDA, (DISK,), parents=(VM,)), VM: Budget(VM, (DISK,), (known,))}
    judge = Judge()
    for number, each in enumerate([*CALM, *[tick()] * 30]):
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]

    assert verdict.word is Word.THROTTLED
    assert verdict.evidence["culprit"] == "disk"


def test_a_second_in_which_nothing_of_what_is_outstanding_is_done_ends_no_learned_limit():
    budgets = {SDA: Budget(SDA, (DISK,))}
    judge = Judge()
    hang = FlowTick(1.0, in_flight=16, busy_ratio=1.0)
    for number, each in enumerate([*CALM, *[tick()] * 30, hang]):
        verdict = judge.observe(100.0 + number, 1.0, budgets, {DISK: each})[SDA]

    assert verdict.word is Word.THROTTLED


def paced(looks, seconds=140, seed=5):
    """Words, second by second, of a disk at 115 operations a second by batches, 3.5 outstanding on average and as
    many as `looks` says at the looks, in turn.
    """
    r = random.Random(seed)
    calm = [tick(rate=30.0, wait=0.007)._replace(busy_ratio=0.2, in_flight=0)] * 12
    held = [
        tick(rate=round(r.gauss(115.0, 0.6)), wait=3.5 / 115)._replace(
            busy_ratio=0.88, in_flight=look
        )
        for look, _ in zip(itertools.cycle(looks), range(seconds), strict=False)
    ]
    budgets, judge = {SDA: Budget(SDA, (DISK,))}, Judge()
    return [
        judge.observe(100.0 + at, 1.0, budgets, {DISK: each})[SDA].word
        for at, each in enumerate([*calm, *held])
    ]


def test_a_rate_that_stays_over_looks_at_an_idle_disk_is_the_applications_own():
    in_parts = paced((5, 3, 0, 5, 4, 1, 7, 4, 1, 6))
    always = paced((5, 3, 4, 5, 4, 3, 7, 4, 3, 6))

    assert in_parts.count(Word.THROTTLED) == 0
    assert always.count(Word.THROTTLED) > 60
