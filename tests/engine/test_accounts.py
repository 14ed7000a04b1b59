"""The books of each limit: over a restart, over a gap, and when budgets come and go."""

import pytest

from ioplateau.engine.accounts import Accounts
from ioplateau.judge.flows import FlowTick
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
    Verdict,
    Word,
)
from ioplateau.state import HeldState

SDA, FLOW = BudgetKey(Kind.DISK, "sda"), FlowKey("disk", "sda")
PLAIN = Limit(Dimension.IOPS, Direction.TOTAL, 1000.0, Origin.CONFIGURED)
CREDIT = Limit(Dimension.IOPS, Direction.TOTAL, 500.0, Origin.CATALOGUE, burst=Burst(3500.0, 1e6))
CALM = Verdict(SDA, Word.HEALTHY, 0.0)


def held(limit, origin=Origin.CATALOGUE, key=SDA, flow=FLOW):
    return Verdict(
        key, Word.THROTTLED, 0.0, dimension=Dimension.IOPS, direction=Direction.TOTAL,
        limit=limit, origin=origin, sufferers=(flow,),
    )  # fmt: skip


class Books:
    """The accounts of sda and one limit, or none that is known, second by second."""

    def __init__(self, *limits, book=None):
        self.book, self.at = book or Accounts(), 0.0
        self.budget = Budget(SDA, (FLOW,), limits)
        self.come()

    def come(self):
        self.book.keep_only({SDA: self.budget})

    def go(self):
        self.book.keep_only({})

    def reads(self, rate, verdict=CALM, seconds=1):
        """The limit's line after so many seconds at this rate."""
        for _ in range(seconds):
            self.at += 1.0
            self.book.tick(1.0, [verdict] if verdict.word is Word.THROTTLED else [], 1.0)
            flows = {FLOW: FlowTick(1.0, rate, 0.0, rate * 4096)}
            (line,) = self.book.book(self.budget, self.at, 1.0, flows, verdict, 15.0)
        return line

    def gap(self, seconds):
        self.at += seconds
        self.book.tick(None, [], seconds)
        self.book.book(self.budget, self.at, None, {FLOW: None}, CALM, 15.0)

    def bucket(self):
        (saved,) = self.book.memory().credits
        return saved.bucket


def after_a_restart(before, away_seconds):
    book = Accounts()
    book.restore(before.book.memory(), away_seconds)
    return book


def test_credit_of_the_last_run_waits_for_a_disk_that_is_there_late():
    before = Books(CREDIT)
    left = before.reads(3500.0, seconds=300).credit_ratio
    book = after_a_restart(before, 5.0)
    book.keep_only({})
    after = Books(CREDIT, book=book).reads(3500.0)

    assert after.credit_ratio < left + 0.01 < 0.2


def test_what_waited_since_the_last_run_and_came_goes_with_its_disk_like_any_other():
    before = Books(CREDIT)
    before.reads(3500.0, seconds=300)
    after = Books(CREDIT, book=after_a_restart(before, 5.0))
    after.go()
    after.come()

    assert after.reads(0.0).credit_ratio == 1.0


@pytest.mark.parametrize("is_restart", [True, False])
def test_how_much_credit_there_is_is_less_sure_by_what_may_have_been_done_meanwhile(is_restart):
    books = Books(CREDIT)
    books.reads(0.0, seconds=2100)  # until it is full for certain
    books.reads(3500.0, seconds=100)
    before = books.bucket()
    if is_restart:
        books = Books(CREDIT, book=after_a_restart(books, 3600.0))
    else:
        books.gap(3600.0)
    after = books.bucket()

    assert before.least > 0
    assert before.most < before.capacity
    assert (after.least, after.most) == (0.0, after.capacity)


def test_when_credit_ends_is_told_of_the_present_rate_and_not_of_one_before_a_gap():
    books = Books(CREDIT)
    before = books.reads(3500.0, seconds=30)
    books.gap(4000.0)
    after = books.reads(100.0)

    assert before.exhaustion_seconds is not None
    assert after.exhaustion_seconds is None


def test_in_the_second_in_which_credit_ends_the_share_is_of_what_was_allowed():
    books = Books(CREDIT)
    lines = [books.reads(3500.0) for _ in range(333)] + [books.reads(500.0) for _ in range(67)]

    assert lines[-1].effective == 500.0
    assert max(line.peak_utilization for line in lines) <= 1.01


def test_a_burst_that_nobody_counts_is_not_over_where_it_is_held_above_its_base():
    limit = PLAIN._replace(burst=Burst(3500.0, None))

    assert Books(limit).reads(3500.0, held(3500.0)).held_ratio == pytest.approx(1.0)


def test_a_doubt_is_over_when_the_known_limit_is_met_after_all():
    books = Books(PLAIN)
    books.reads(800.0, held(800.0, Origin.LEARNED))
    before = books.book.doubts({SDA: books.budget})
    books.reads(1000.0, held(1000.0, Origin.CONFIGURED))

    assert before
    assert not books.book.doubts({SDA: books.budget})


def test_a_configured_limit_that_is_passed_by_far_for_seconds_is_doubted_until_it_is_another():
    books = Books(PLAIN)
    for rate, seconds in ((9000.0, 4), (900.0, 1), (9000.0, 4)):
        books.reads(rate, seconds=seconds)
    early = books.book.doubts({SDA: books.budget})
    books.reads(9000.0)
    told = books.book.doubts({SDA: books.budget})
    books.reads(10.0, seconds=60)
    later = books.book.doubts({SDA: books.budget})
    other = books.budget._replace(limits=(PLAIN._replace(value=10_000.0),))
    said = "does 9,000 IOPS, but configuration says 1,000 IOPS (no source)"

    assert early == ()
    assert told == later == (f"disk sda: {said}: is its unit right, or does it burst?",)
    assert books.book.doubts({SDA: other}) == ()


@pytest.mark.parametrize(
    ("key", "limit", "rate"),
    [
        (SDA, PLAIN, 1900.0),
        (SDA, PLAIN._replace(burst=Burst(3500.0, None)), 3600.0),
        (SDA, PLAIN._replace(origin=Origin.CATALOGUE), 9000.0),
        (BudgetKey(Kind.VM_NETWORK, "vm"), PLAIN, 9000.0),
        (BudgetKey(Kind.CGROUP, "db.slice on sda"), PLAIN, 9000.0),
    ],
)
def test_a_limit_that_may_be_passed_by_right_is_not_doubted(key, limit, rate):
    books = Books(limit)
    books.budget = books.budget._replace(key=key)
    books.book.keep_only({key: books.budget})
    books.reads(rate, CALM._replace(key=key), seconds=60)

    assert books.book.doubts({key: books.budget}) == ()


def test_a_limit_that_the_provider_counts_is_the_most_that_was_done_while_it_was_exceeded():
    books = Books()
    books.reads(3000.0, held(None, Origin.REPORTED))

    assert books.reads(1000.0, held(None, Origin.REPORTED)).limit.value == 3000.0


@pytest.mark.parametrize("is_of_a_vm", [True, False])
def test_what_is_counted_of_disks_that_come_and_go_is_bounded(is_of_a_vm):
    book = Accounts()
    for number in range(5000):
        flow = FlowKey("disk", f"sd{number}")
        key = BudgetKey(Kind.VM_UNCACHED, "vm") if is_of_a_vm else BudgetKey(Kind.DISK, flow.name)
        budget, verdict = Budget(key, (flow,), (PLAIN,)), held(1000.0, key=key, flow=flow)
        book.keep_only({key: budget})
        book.tick(1.0, [verdict], 1.0)
        book.book(budget, float(number), 1.0, {flow: FlowTick(1.0, 1000.0)}, verdict, 15.0)
    memory = book.memory()

    assert len(memory.meters) <= 2000
    assert len(memory.flows) <= 2000


def test_what_holds_below_what_was_sold_is_used_up():
    line = Books(PLAIN).reads(600.0, held(600.0, Origin.LEARNED), seconds=5)

    assert line.utilization == pytest.approx(1.0)
    assert line.peak_utilization == pytest.approx(1.0)


def test_a_burst_that_nobody_counts_is_over_where_it_is_held_a_little_above_its_base():
    limit = PLAIN._replace(value=500.0, burst=Burst(3500.0, None))
    line = Books(limit).reads(515.0, held(515.0, Origin.LEARNED))

    assert line.held_ratio == pytest.approx(1.03)


def test_a_limit_that_has_no_credit_any_more_has_no_bucket_either():
    books = Books(CREDIT)
    books.reads(500.0, seconds=5)
    books.budget = Budget(SDA, (FLOW,), (CREDIT._replace(burst=None),))
    books.come()
    books.reads(500.0, seconds=20)
    line = books.reads(500.0)

    assert line.utilization == pytest.approx(1.0)
    assert not books.book.memory().credits


@pytest.mark.parametrize(
    "limits",
    [(), (PLAIN,), (CREDIT._replace(value=400.0),)],
    ids=["none", "one without credit", "another one with credit"],
)
def test_what_was_observed_of_credit_goes_with_the_limit(limits):
    books = Books(CREDIT)
    books.reads(500.0, held(500.0), seconds=10)
    before = books.book.corrections

    books.budget = Budget(SDA, (FLOW,), limits)
    books.come()
    books.gap(900.0)
    during = books.book.corrections
    books.budget = Budget(SDA, (FLOW,), (CREDIT,))
    books.come()

    assert len(before) == 1
    assert during == ()
    assert books.reads(0.0).credit_ratio == 1.0


def test_credit_of_the_last_run_waits_for_a_limit_that_is_told_late():
    before = Books(CREDIT)
    left = before.reads(3500.0, seconds=300).credit_ratio
    after = Books(book=after_a_restart(before, 5.0))
    after.gap(5.0)
    after.come()
    after.budget = Budget(SDA, (FLOW,), (CREDIT,))
    after.come()

    assert after.reads(3500.0).credit_ratio < left + 0.01


def test_of_what_was_counted_of_disks_that_are_gone_the_newest_is_kept():
    book = Accounts()
    for number in range(500):
        flow = FlowKey("disk", f"sd{number}")
        key = BudgetKey(Kind.DISK, flow.name)
        budget, verdict = Budget(key, (flow,), (PLAIN,)), held(1000.0, key=key, flow=flow)
        book.keep_only({key: budget})
        book.tick(1.0, [verdict], 1.0)
        book.book(budget, float(number), 1.0, {flow: FlowTick(1.0, 1000.0)}, verdict, 15.0)
    memory = book.memory()

    assert BudgetKey(Kind.DISK, "sd498") in {each.key for each in memory.meters}
    assert BudgetKey(Kind.DISK, "sd498") in {each.key for each in memory.flows}


def test_what_was_learned_in_the_last_run_waits_for_a_disk_that_is_there_late():
    before = Books()
    before.reads(800.0, held(800.0, Origin.LEARNED))
    book = after_a_restart(before, 5.0)
    book.keep_only({})

    assert book.awaited == {"sda"}
    assert Books(book=book).reads(100.0).limit.value == 800.0


SLOTS = BudgetKey(Kind.NFS_SLOTS, "/mnt/a")
NO_SLOT = Verdict(
    SLOTS, Word.THROTTLED, 5.0, Dimension.SLOTS, Direction.TOTAL, None, Origin.LEARNED
)  # fmt: skip
REST = Verdict(SLOTS, Word.IDLE, 0.0)


def short_of_slots(*said, limits=(), book=None):
    """What is booked of slots whose number nobody tells, after these verdicts, a second each."""
    book, budget = book or Accounts(), Budget(SLOTS, (), limits)
    book.keep_only({SLOTS: budget})
    for second, verdict in enumerate(said, 1):
        if verdict.dimension is not None:
            book.book(budget, float(second), 1.0, {}, verdict, 15.0)
        found = book.book_untold(float(second), 1.0, {SLOTS: verdict}).get(SLOTS)
    return book, found


def test_a_limit_whose_value_nobody_tells_is_counted_from_the_first_time_on():
    never, held_twice = (
        short_of_slots(*said)[1] for said in ([REST], [NO_SLOT] * 3 + [REST] + [NO_SLOT] * 2)
    )

    assert never is None
    assert held_twice == (HeldState(Dimension.SLOTS, Direction.TOTAL, True, 5.0, 2),)


@pytest.mark.parametrize(("since", "episodes"), [(-5.0, 1), (5.0, 2)])
def test_what_was_counted_of_it_goes_on_after_a_restart_and_while_it_does_not_hold(since, episodes):
    before, _ = short_of_slots(*[NO_SLOT] * 3)
    book = Accounts()
    book.restore(before.memory(), 5.0)
    _, (rests,) = short_of_slots(REST, book=book)
    _, (goes_on,) = short_of_slots(NO_SLOT._replace(since=since), book=book)

    assert (rests.throttled, rests.throttled_seconds) == (False, 3.0)
    assert (goes_on.throttled_seconds, goes_on.episodes) == (4.0, episodes)


def test_of_slots_whose_number_is_told_nothing_is_counted_twice():
    told = Limit(Dimension.SLOTS, Direction.TOTAL, 64.0, Origin.REPORTED)
    before, _ = short_of_slots(NO_SLOT)
    _, found = short_of_slots(NO_SLOT, limits=(told,), book=before)

    assert found is None
