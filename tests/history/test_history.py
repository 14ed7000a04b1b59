"""History: what was found, remembered."""

import threading
import tracemalloc
from itertools import islice

import pytest

import states
from ioplateau.history import Episode, History, What
from ioplateau.history.records import HistoryPart
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import (
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
    Word,
)
from ioplateau.state import SourceState

SDA = FlowKey("disk", "sda")
SDA_BUDGET = BudgetKey(Kind.DISK, "sda")
WALL = 1_700_000_040.0
TICKS = 800  # less than the seconds that are kept


def tick(second, reads=400.0, limit=500.0, wall=WALL, word=Word.HEALTHY, **parts):
    found = states.budget(Kind.DISK, "sda", states.limit(Dimension.IOPS, value=limit), word=word)
    found = found._replace(budget=found.budget._replace(members=(SDA,)))
    flow = FlowTick(1.0, reads, 0.0, reads * 4096, 0.0, 0.005, None, 2.0, 2)
    return states.state(
        mono=100.0 + second,
        wall=wall + second,
        budgets=states.by_key(found),
        **{"flows": {SDA: flow}} | parts,
    )


def after(seconds, **parts):
    history = History()
    for second in range(seconds):
        history.observe(tick(second, **parts))
    return history


def test_a_series_has_rate_share_queue_and_await():
    found = after(30).series("disk", "sda", "iops", 900)

    assert found.step_seconds == 1
    assert found.at == tuple(int(WALL) + second for second in range(30))
    assert set(found.rate) == {400.0}
    assert found.limit[-1] == 500.0
    assert found.share[-1] == pytest.approx(0.8)
    assert found.queue_length[-1] == pytest.approx(2.0)
    assert found.await_seconds[-1] == pytest.approx(0.005)


def test_a_series_of_the_last_seconds_has_no_others():
    found = after(100).series("disk", "sda", "iops", 10)

    assert found.at == tuple(int(WALL) + second for second in range(90, 100))


def test_longer_series_are_of_ten_seconds_and_of_minutes():
    history = after(190)

    assert history.series("disk", "sda", "iops", 3600).step_seconds == 10
    assert len(history.series("disk", "sda", "iops", 3600).at) == 18
    assert history.series("disk", "sda", "throughput", 7 * 86400).step_seconds == 60
    assert history.series("disk", "sda", "throughput", 7 * 86400).rate[0] == pytest.approx(
        400 * 4096, rel=1e-3
    )


@pytest.mark.parametrize("interval", [0.2, 0.4, 0.5, 1.0, 1.5, 5.0])
@pytest.mark.parametrize("phase", [0.0, 0.3, 0.4999, 0.5, 0.8])
def test_each_second_is_kept_wherever_the_ticks_lie_in_it(interval, phase):
    history = History()
    for number in range(int(60 / interval)):
        late = 1e-4 * (-1) ** number
        history.observe(tick(number * interval + phase + late, interval_seconds=interval))

    found = history.series("disk", "sda", "iops").at

    assert found == tuple(range(found[0], found[0] + len(found)))
    assert 60 - interval <= len(found) + interval <= 62


def test_a_tick_that_covers_two_seconds_counts_for_both():
    history = History()
    for second in (*range(9), 10, 11):
        flow = FlowTick(2.0 if second == 10 else 1.0, 1000.0 if second == 10 else 100.0)
        history.observe(tick(second, flows={SDA: flow}))
    for second in range(12, 31):
        history.observe(tick(second, flows={SDA: FlowTick(1.0, 100.0)}))

    fine, coarse = (history.series("disk", "sda", "iops", seconds) for seconds in (900, 3600))

    assert fine.rate[8:12] == (100.0, 1000.0, 1000.0, 100.0)
    assert coarse.rate[:2] == (190.0, 190.0)


def test_ten_seconds_that_one_tick_covers_are_handed_over_as_well():
    history = History(lambda _: None)
    for second in (0, 10, 30, 40, 50):
        history.observe(tick(second, interval_seconds=10.0))

    blocks = [each for each in history.take(is_last=True).blocks if each.step_seconds == 1]

    assert [each.start - int(WALL) for each in blocks] == [0, 10, 20, 30, 40, 50]
    assert [sum(each.seen) for each in blocks] == [10, 10, 10, 10, 10, 1]


def test_a_hole_is_one_point_of_which_nothing_is_known():
    history = after(10)
    for second in range(40, 50):
        history.observe(tick(second))

    found = history.series("disk", "sda", "iops")

    assert found.rate.count(None) == 1
    assert found.at[10] == int(WALL) + 10
    assert found.rate[10] is None


@pytest.mark.parametrize(("silent_seconds", "is_hole"), [(2, False), (3, True)])
def test_a_silence_of_more_than_two_steps_is_a_hole(silent_seconds, is_hole):
    history = after(10)
    for second in range(9 + silent_seconds, 20):
        history.observe(tick(second))

    assert (None in history.series("disk", "sda", "iops").rate) == is_hole


def test_a_flow_that_is_not_known_makes_its_budget_not_known():
    history = after(3)
    history.observe(tick(3, flows={SDA: None}))

    found = history.series("disk", "sda", "iops")

    assert found.rate[-1] is None
    assert found.share[-1] is None


def test_a_share_is_of_the_limit_that_was_in_force():
    history = after(30, limit=1000.0)
    for second in range(30, 60):
        history.observe(tick(second, limit=500.0))

    found = history.series("disk", "sda", "iops")

    assert found.share[0] == pytest.approx(0.4)
    assert found.share[-1] == pytest.approx(0.8)


def test_it_is_so_from_the_very_second_in_which_it_changed():
    history = after(33, limit=1000.0)
    for second in range(33, 36):
        history.observe(tick(second, limit=500.0, moved=(SDA_BUDGET,) if second == 33 else ()))
        found = history.series("disk", "sda", "iops")

        assert found.limit[-1] == 500.0

    assert [at - int(WALL) for at, limit in zip(found.at, found.limit, strict=True) if limit == 500] == [33, 34, 35]  # fmt: skip


def test_after_the_clock_was_set_back_a_share_is_of_the_limit_that_is_in_force():
    history = History(lambda _: None)
    for second in range(310):
        history.observe(tick(second, limit=500.0 if second < 200 else 700.0))

    for second in range(310, 400):
        history.observe(tick(second, limit=1000.0, wall=WALL - 240))
    restored = History()
    restored.restore([history.take(is_last=True)])
    restored.observe(tick(400, wall=WALL - 240))

    for each in (history, restored):
        found = each.series("disk", "sda", "iops", 900)
        limits = dict(zip(found.at, found.limit, strict=True))
        assert limits[int(WALL) + 60] == 500.0
        assert {limits[int(WALL) + second] for second in range(80, 160)} == {1000.0}


def test_no_such_budget_is_none_and_no_such_word_an_error():
    history = after(3)

    assert history.series("disk", "sdz", "iops") is None
    with pytest.raises(ValueError, match="nonsense"):
        history.series("disk", "sda", "nonsense")


def test_reads_alone():
    found = after(3).series("disk", "sda", "iops", direction="write")

    assert found.direction is Direction.WRITE
    assert set(found.rate) == {0.0}


def test_a_gap_and_a_set_clock_are_events():
    history = after(5)
    history.observe(tick(60))
    history.observe(tick(61, wall=WALL - 3600))

    assert [event.what for event in history.events()] == [What.GAP, What.CLOCK]
    assert "3,600 s" in history.events()[1].sentence


def test_gaps_that_follow_one_another_are_one_event_a_minute():
    history = after(5)
    for number in range(200):
        history.observe(tick(10 + 6 * number))
        history.observe(tick(11 + 6 * number))
    told = [event.sentence for event in history.events()]

    assert told[0] == "no samples for 6 s"
    assert told[1] == "no samples for 50 s in 10 parts"
    assert 10 <= len(told) <= 22


def test_looks_that_are_late_again_and_again_are_no_gaps():
    history = after(5)
    for number in range(20):
        history.observe(tick(10 + 6 * number, is_late=True, word=Word.THROTTLED))

    assert history.events() == ()
    assert history.open_episodes()[0].held_seconds == pytest.approx(20 * 6)


@pytest.mark.parametrize(
    ("jump", "slept", "moved", "why"),
    [
        (-7200, 0, -7200, "jumped back by 7,200 s: it was set"),
        (1e9, 0, 1e9, "jumped ahead by 1,000,000,000 s: it was set"),
        (3600, 3600, 0, "jumped ahead by 3,600 s: the machine slept for 3,600 s"),
        (60, 3600, -3540, "jumped ahead by 60 s: the machine slept for 3,600 s and it was set"),
        (3600, None, 0, "jumped ahead by 3,600 s: it was set, or the machine slept"),
        (-7200, None, -7200, "jumped back by 7,200 s: it was set"),
    ],
)
def test_what_goes_on_moves_with_a_clock_that_is_set_but_not_with_a_suspend(
    jump, slept, moved, why
):
    history = History()

    def observe(seconds, word, jump=0.0, slept=0.0):
        for second in seconds:
            boot = None if slept is None else 5000.0 + second + slept
            history.observe(tick(second, wall=WALL + jump, word=word, boot=boot))

    observe(range(20), Word.THROTTLED, slept=None if slept is None else 0.0)
    observe(range(20, 30), Word.THROTTLED, jump, slept)
    (running,) = history.episodes(WALL + jump - 3600)
    observe(range(30, 50), Word.HEALTHY, jump, slept)

    (ended,) = history.episodes(WALL + jump - 3600)
    assert running.began == ended.began == pytest.approx(WALL + moved, abs=1)
    assert ended.ended == WALL + jump + 30
    assert ended.held_seconds == pytest.approx(30, abs=1)
    assert history.clock_set_seconds == moved
    assert [event.sentence for event in history.events()] == [f"the wall clock {why}"]


def test_a_source_that_cannot_be_read_and_then_can_is_an_event_each_time():
    history = after(5)
    for second, why in enumerate(["gone", "gone", *[""] * 12], start=5):
        source = SourceState("mountstats", not why, why)
        history.observe(tick(second, sources={"mountstats": source}))

    assert [(event.what, event.sentence) for event in history.events()] == [
        (What.SOURCE_FAILED, "mountstats cannot be read: gone"),
        (What.SOURCE_RECOVERED, "mountstats can be read again"),
    ]


def test_a_source_that_fails_every_other_second_is_one_event():
    history = after(5)
    for second in range(5, 60):
        source = SourceState("mountstats", bool(second % 2), "gone")
        history.observe(tick(second, sources={"mountstats": source}))

    assert [event.what for event in history.events()] == [What.SOURCE_FAILED]


def test_a_limit_that_is_learned_is_an_event_once():
    history = after(12)
    learned = states.budget(Kind.DISK, "sda", states.limit(Dimension.IOPS, value=500.0))
    limit = learned.limits[0]
    limit = limit._replace(
        limit=Limit(Dimension.IOPS, Direction.TOTAL, 480.0, Origin.LEARNED), effective=480.0
    )
    learned = learned._replace(limits=(*learned.limits, limit))
    for second in range(12, 60):
        history.observe(tick(second)._replace(budgets=states.by_key(learned)))

    (event,) = history.events()
    assert event.what is What.LEARNED
    assert event.subject == "disk sda"
    assert "480 IOPS" in event.sentence


def test_a_level_that_holds_in_place_of_a_told_limit_is_an_event_once():
    history = after(12)
    for second, effective in enumerate((500.0, 400.0, 402.0, 500.0, 400.0), start=12):
        limit = states.limit(Dimension.IOPS, value=500.0, effective=effective)
        held = states.by_key(states.budget(Kind.DISK, "sda", limit))
        history.observe(tick(second, moved=(SDA_BUDGET,))._replace(budgets=held))
        history.settle()

    (event,) = history.events()
    assert event.at == WALL + 13
    assert event.sentence == "learned: disk sda is held at 400 IOPS, told 500 IOPS"


def test_episodes_are_told_while_they_go_on_and_after():
    history = after(20, word=Word.THROTTLED)
    assert [episode.name for episode in history.open_episodes()] == ["sda"]

    for second in range(20, 40):
        history.observe(tick(second))

    assert history.open_episodes() == ()
    (episode,) = history.episodes()
    assert episode.ended == WALL + 20


@pytest.mark.slow
def test_a_week_of_three_hundred_busy_budgets_stays_within_three_mebibytes():
    history = History()
    keys = [FlowKey("disk", f"sd{number}") for number in range(300)]
    flow = FlowTick(1.0, 500.0, 0.0, 4096.0, 0.0, 0.005, None, 2.0, 2)
    flows = dict.fromkeys(keys, flow)
    most = 0
    # After two days it is full, and what comes then takes the place of what goes.
    for minute in (*range(0, 3 * 1440, 7), *range(3 * 1440, 7 * 1440, 60)):
        for second in (0, 1, 11):
            history.observe(states.state(mono=60.0 * minute + second, wall=WALL + 60 * minute + second, flows=flows))  # fmt: skip
        most = max(most, history.rings.size_bytes)

    assert 2_000_000 < most < 3 << 20


@pytest.mark.slow
def test_devices_that_come_and_go_without_end_stay_within_three_mebibytes():
    """Five new ones a second, each for five seconds, for twenty minutes."""
    history = History()
    flow = FlowTick(1.0, 500.0, 0.0, 4096.0, 0.0, 0.005, None, 2.0, 2)
    tracemalloc.start()
    most = 0
    for second in range(1200):
        flows = {FlowKey("disk", f"loop{n}"): flow for n in range(5 * second, 5 * second + 25)}
        history.observe(states.state(mono=second, wall=WALL + second, flows={SDA: flow} | flows))
        most = max(most, tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()

    assert most < 3 << 20


@pytest.mark.slow
def test_three_hundred_limits_that_move_all_the_time_take_half_a_mebibyte_at_most():
    def budgets(value):
        limit = states.limit(Dimension.IOPS, value=value)
        return states.by_key(*(states.budget(Kind.DISK, f"sd{n}", limit) for n in range(300)))

    history, moving = History(), (budgets(500.0), budgets(550.0))
    tracemalloc.start()
    for turn in range(300):
        at = 10.0 * turn
        history.observe(states.state(mono=at, wall=WALL + at, interval_seconds=10.0, budgets=moving[turn % 2]))  # fmt: skip
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert taken < 1 << 19


def test_the_thread_that_ticks_writes_no_cells():
    told = []
    history = History(told.append)

    for second in range(125):
        history.observe(tick(second))

    assert history.rings.size_bytes == 0
    assert len(told) == 12  # ten seconds each


def test_who_asks_before_anybody_took_it_is_told_all():
    history = History(lambda _history: None)
    for second in range(125):
        history.observe(tick(second))

    fine, coarse = (history.series("disk", "sda", "iops", seconds) for seconds in (900, 3600))

    assert fine.at == tuple(int(WALL) + second for second in range(125))
    assert fine.share == pytest.approx([0.8] * 125)
    assert len(coarse.at) == 12


def test_what_is_taken_of_ten_seconds_is_whole():
    parts = []
    history = History(lambda over: parts.append(over.take()))

    for second in range(65):
        history.observe(tick(second))
    parts.append(history.take(is_last=True))

    seconds = [
        block.start + place
        for part in parts
        for block in part.blocks
        if block.step_seconds == 1
        for place, is_seen in enumerate(block.seen)
        if is_seen
    ]
    assert seconds == [int(WALL) + second for second in range(65)]


def test_ten_seconds_that_end_while_others_are_worked_off_are_not_lost(monkeypatch):
    """As it is where the thread that takes and the one that ticks meet there."""
    history = History(lambda _history: None)
    ticks = map(tick, range(65))
    settle = history.rings.settle

    def settle_and_be_overtaken():
        settle()
        for each in islice(ticks, 10):
            history.observe(each)

    for each in islice(ticks, 15):
        history.observe(each)
    monkeypatch.setattr(history.rings, "settle", settle_and_be_overtaken)
    parts = [history.take(), history.take(is_last=True)]

    assert next(ticks, None) is None
    blocks = [block for part in parts for block in part.blocks if block.step_seconds == 1]
    assert sum(map(sum, (block.seen for block in blocks))) == 65


def test_many_that_ask_and_one_that_takes_while_ticks_come_lose_nothing():
    over, is_done, failures, parts = threading.Semaphore(0), threading.Event(), [], []
    history = History(lambda _history: over.release(), threading.RLock())

    def guarded(work):
        def run():
            try:
                while not is_done.is_set():
                    work()
            except Exception as error:
                failures.append(error)

        return threading.Thread(target=run)

    def take():
        if over.acquire(timeout=0.01):
            parts.append(history.take())

    def ask():
        found = history.series("disk", "sda", "iops", 900)
        if found is not None:
            assert list(found.at) == list(range(found.at[0], found.at[0] + len(found.at)))

    threads = [guarded(take), guarded(ask), guarded(ask)]
    for thread in threads:
        thread.start()
    for second in range(TICKS):
        # An episode of 15 seconds in each 40.
        word = Word.THROTTLED if second % 40 < 15 else Word.HEALTHY
        history.observe(tick(second, word=word))
    is_done.set()
    for thread in threads:
        thread.join()
    parts.append(history.take(is_last=True))

    assert failures == []
    blocks = [block for part in parts for block in part.blocks if block.step_seconds == 1]
    assert sum(map(sum, (block.seen for block in blocks))) == TICKS
    ended = [episode for part in parts for episode in part.ended]
    assert len(ended) == TICKS // 40
    assert [episode.ended - episode.began for episode in ended] == [15.0] * len(ended)


def test_seconds_in_which_nobody_looked_are_not_held_ones():
    history = after(4, word=Word.THROTTLED)
    for second in (600, 601):
        history.observe(tick(second, word=Word.THROTTLED))

    (episode,) = history.open_episodes()
    assert episode.held_seconds == 4.0


def test_all_episodes_of_one_budget_come_back():
    first = Episode(Kind.DISK, "sda", Word.THROTTLED, WALL, ended=WALL + 5)
    second = first._replace(began=WALL + 100, ended=WALL + 200)
    history = History()
    history.restore([HistoryPart(ended=(first,)), HistoryPart(ended=(second,))])

    assert history.episodes() == (first, second)


def test_episodes_are_told_by_their_times_though_the_clock_was_set_back_before_a_restart_and_after():
    history = History(lambda _: None)
    for second, word in [
        *[(second, Word.THROTTLED) for second in range(20)],
        *[(second, Word.HEALTHY) for second in range(20, 40)],
        *[(second, Word.THROTTLED) for second in range(40, 60)],
        *[(second, Word.HEALTHY) for second in range(60, 80)],
    ]:
        history.observe(tick(second, word=word, wall=WALL if second < 35 else WALL - 3600))
    after = History()
    after.restore([history.take(is_last=True)])

    for each in (history, after):
        ended = [episode.ended for episode in each.episodes()]
        assert ended == [WALL - 3600 + 60, WALL + 20]


def test_an_episode_whose_end_is_told_does_not_go_on_after_a_restart():
    """Its end is written at once, and the line that tells what goes on later."""
    begun = Episode(Kind.DISK, "sda", Word.THROTTLED, WALL)
    ended = begun._replace(ended=WALL + 5)
    part = after(20).take(is_last=True)._replace(ended=(ended,), unfinished={begun.key: begun})
    history = History()
    history.restore([part])

    assert history.episodes() == (ended,)


@pytest.mark.parametrize("stopped", [2, 5, 8, 10])
def test_what_goes_on_over_a_restart_within_ten_seconds_is_one_episode(stopped):
    """The last ten seconds of a clean stop are not over, and say nothing of what comes."""
    before = after(30 + stopped, word=Word.THROTTLED)
    part = before.take(is_last=True)

    history = History()
    history.restore([part])
    for second in range(31 + stopped, 60 + stopped):  # the first two seconds prove nothing yet
        word = Word.THROTTLED if second > 32 + stopped else Word.UNKNOWN
        history.observe(tick(second, word=word))

    (episode,) = history.episodes()
    assert episode.ended is None
    assert episode.began == before.open_episodes()[0].began


@pytest.mark.parametrize("away", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("phase", [0.0, 0.5, 0.51, 0.6, 0.75])
def test_whenever_in_a_second_a_restart_is_and_however_quick_an_episode_goes_on(phase, away):
    before = after(35, word=Word.THROTTLED, wall=WALL + phase)
    history = History()
    history.restore([before.take(is_last=True)])
    for tick_at in range(30):
        word = Word.THROTTLED if tick_at > 1 else Word.UNKNOWN
        history.observe(tick(34 + away + tick_at, word=word, wall=WALL + phase))

    (episode,) = history.episodes()
    assert episode.ended is None
