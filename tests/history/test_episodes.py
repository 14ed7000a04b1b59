"""From when until when a budget was held back."""

import pytest

import states
from ioplateau.history.consumption import MOST_LABELS, ConsumerTotal
from ioplateau.history.episodes import MOST_KEPT, Episode, Episodes
from ioplateau.limits.budgets import BudgetKey, Dimension, FlowKey, Kind, Origin, Word
from ioplateau.saved import read, write
from ioplateau.state import BudgetConsumers, Consumer

WALL = 1_700_000_000.0


class Story:
    """Ticks of one disk, a second each."""

    def __init__(self):
        self.episodes = Episodes()
        self.now = 0.0
        self.changes = []
        self.since = 0.0
        self.word = None

    def tick(self, word, seconds=1, kind=Kind.DISK, **parts):
        for _ in range(seconds):
            self.now += 1.0
            if word is not self.word:
                self.word, self.since = word, self.now
            found = states.budget(kind, "sda", word=word)
            evidence = {"waiting": parts.get("waiting", 4.0)} | parts.get("evidence", {})
            verdict = found.verdict._replace(
                since=self.since,
                dimension=parts.get("dimension", Dimension.IOPS),
                limit=500.0,
                origin=Origin.CATALOGUE,
                utilization=parts.get("share", 1.0),
                sentence=parts.get("sentence", "held"),
                evidence=evidence,
                sufferers=(FlowKey("disk", "sda"),),
            )
            found = found._replace(verdict=verdict)
            state = states.state(mono=self.now, wall=WALL + self.now, budgets=states.by_key(found))
            state = state._replace(consumers=parts.get("consumers", {}))
            self.changes += self.episodes.observe(state, parts.get("dt", 1.0))
        return self


def test_an_episode_begins_with_its_word_and_ends_when_it_stays_away():
    story = Story().tick(Word.HEALTHY, 3).tick(Word.THROTTLED, 20)
    (begin,) = story.changes
    assert not begin.is_end
    assert (begin.episode.limit, begin.episode.sentence) == (500.0, "held")

    story.tick(Word.HEALTHY, 9)
    assert len(story.changes) == 1
    story.tick(Word.HEALTHY, 3)

    end = story.changes[-1]
    assert end.is_end
    assert (end.episode.began, end.episode.ended) == (WALL + 4, WALL + 24)
    assert end.episode.limit == 500.0
    assert end.episode.victims == ("sda",)


def test_how_hard_and_how_much_waited():
    story = Story().tick(Word.THROTTLED, 9, waiting=2.0, share=0.98)
    story.tick(Word.THROTTLED, 10, waiting=6.0, share=1.02)
    story.tick(Word.THROTTLED, 1, waiting=2.0, share=0.98).tick(Word.IDLE, 12)

    episode = story.changes[-1].episode
    assert episode.held_seconds == 20
    assert episode.waited_seconds == 80
    assert episode.requests_waiting == 4.0
    assert episode.most_requests_waiting == 6.0
    assert round(episode.mean_share, 3) == 1.0
    assert episode.peak_share == 1.02


def test_flapping_is_one_episode_with_interruptions():
    story = Story()
    for _ in range(5):
        story.tick(Word.THROTTLED, 4).tick(Word.HEALTHY, 4)
    story.tick(Word.HEALTHY, 12)

    assert [change.is_end for change in story.changes] == [False, True]
    assert story.changes[-1].episode.interruptions == 4
    assert story.changes[-1].episode.held_seconds == 20


def test_what_holds_for_a_tick_at_a_time_has_held_for_all_of_them():
    story = Story()
    for _ in range(5):
        story.tick(Word.THROTTLED).tick(Word.HEALTHY)

    (episode,) = story.episodes.between(0, 1e12)
    assert (episode.held_seconds, episode.waited_seconds, episode.mean_share) == (5, 20, 1)


def test_another_word_is_another_episode():
    story = Story().tick(Word.THROTTLED, 5).tick(Word.STALLED, 5).tick(Word.IDLE, 12)

    assert [(c.episode.word, c.is_end) for c in story.changes] == [
        (Word.THROTTLED, False),
        (Word.THROTTLED, True),
        (Word.STALLED, False),
        (Word.STALLED, True),
    ]


def test_another_word_ends_an_episode_when_it_was_left_and_not_when_that_word_came():
    story = Story().tick(Word.THROTTLED, 5).tick(Word.HEALTHY, 5).tick(Word.STALLED, 2)
    (end,) = [change.episode for change in story.changes if change.is_end]

    assert end.ended == WALL + 6


def test_without_a_share_the_words_of_the_most_waiting_calls_are_kept():
    story = Story()
    for calls, said in ((6, "rises"), (62, "most"), (0, "its last tick")):
        story.tick(Word.THROTTLED, share=None, sentence=said, evidence={"waiting_calls": calls})
    story.tick(Word.HEALTHY, 20)

    assert story.changes[-1].episode.sentence == "most"


def test_the_words_from_when_it_was_nearest_to_its_limit_are_kept():
    story = Story().tick(Word.THROTTLED, 5, sentence="nearest to its limit")
    story.tick(Word.THROTTLED, 5, share=0.3, sentence="draining").tick(Word.IDLE, 12)

    assert story.changes[-1].episode.sentence == "nearest to its limit"


def test_of_its_ticks_the_one_nearest_to_the_limit_speaks():
    story = Story().tick(Word.THROTTLED, 5, sentence="nearest to its limit")
    story.tick(Word.THROTTLED, 2, share=1.99, sentence="no longer held").tick(Word.IDLE, 12)
    far = Story().tick(Word.THROTTLED, share=1.2, sentence="far")
    far.tick(Word.THROTTLED, share=1.08, sentence="near").tick(Word.THROTTLED, share=0.5)

    assert story.changes[-1].episode.sentence == "nearest to its limit"
    assert far.episodes.running()[0].sentence == "near"


def test_of_several_limits_that_held_the_words_are_of_the_one_that_did_longest():
    story = Story().tick(Word.THROTTLED, 10, sentence="operations")
    story.tick(Word.THROTTLED, 12, sentence="bytes", dimension=Dimension.THROUGHPUT)
    (by_bytes,) = story.episodes.running()
    story.tick(Word.THROTTLED, 10, sentence="operations again").tick(Word.IDLE, 12)

    assert (by_bytes.sentence, by_bytes.dimension) == ("bytes", Dimension.THROUGHPUT)
    assert story.changes[-1].episode.sentence == "operations again"


def test_a_limit_that_held_for_less_time_does_not_take_the_words():
    story = Story().tick(Word.THROTTLED, 10, sentence="operations")
    story.tick(Word.THROTTLED, 8, sentence="bytes", dimension=Dimension.THROUGHPUT)
    story.tick(Word.IDLE, 12)

    assert story.changes[-1].episode.sentence == "operations"


def test_a_gap_is_not_counted_as_waiting():
    story = Story().tick(Word.THROTTLED, 2).tick(Word.THROTTLED, 1, dt=0.0)

    (episode,) = story.episodes.running()
    assert episode.held_seconds == 2


def at_a_look(at, **drawn):
    """A look of three seconds; drawn: bytes and requests a second by name."""
    groups = tuple(
        Consumer(name, f"{name}.service", size, count) for name, (size, count) in drawn.items()
    )
    return {BudgetKey(Kind.DISK, "sda"): BudgetConsumers(3.0, groups, at=at)}


A, B = {"a": (280 * 4096, 280)}, {"b": (300 * 4096, 300)}
OF_BYTES = {"dimension": Dimension.THROUGHPUT}


def held_by(story, *parts, **more):
    """parts: seconds, and who drew in them; a look comes every three seconds, and is there three ticks."""
    for seconds, drawn in parts:
        for _ in range(seconds // 3):
            look = at_a_look(story.now, **drawn)
            story.tick(Word.THROTTLED, 3, consumers=look, **more)
    return story


@pytest.mark.parametrize(
    ("parts", "more", "name"),
    [
        ([(33, A), (9, B)], {}, "a"),
        ([(9, A), (33, B)], {}, "b"),
        ([(33, A), (9, {})], {}, "a"),
        ([(15, A), (15, B), (15, A)], {}, "a"),
        ([(9, A), (9, B), (3, A | B)], {}, "b"),
        ([(9, {"a": (9e6, 9)}), (9, {"b": (1e6, 500)})], {}, "b"),
        ([(9, {"a": (9e6, 9)}), (9, {"b": (1e6, 500)})], OF_BYTES, "a"),
        # Nobody counts the requests of one of them.
        ([(9, {"a": (9e6, None)}), (9, {"b": (1e6, 500)})], {}, "a"),
        # A job a look, and one that comes last and stays.
        ([*((3, {f"job{n}": (9e5, 9)}) for n in range(40)), (9, A)], {}, "a"),
    ],
)
def test_who_drew_most_is_who_did_over_its_length(parts, more, name):
    story = held_by(Story(), *parts, **more)
    (now,) = story.episodes.running()
    story.tick(Word.IDLE, 12)

    assert now.drew_most == story.changes[-1].episode.drew_most == f"{name}.service"
    assert len(now.drawn) <= MOST_LABELS
    assert story.changes[-1].episode.drawn == ()


def test_what_each_drew_is_added_up_over_interruptions_and_a_restart():
    story = held_by(Story(), (12, A)).tick(Word.HEALTHY, 5)
    (saved,) = story.episodes.unfinished().values()
    later = Story()
    later.now = story.now
    later.episodes.restore([read(Episode, write(saved), "episode")], WALL + story.now)

    held_by(later, (9, B))

    (episode,) = later.episodes.running()
    assert episode.drew_most == "a.service"
    assert {each.label: each.requests for each in episode.drawn} == {
        "a.service": 12 * 280,
        "b.service": 9 * 300,
    }


def test_a_look_that_is_told_in_another_order_counts_once():
    story = Story()
    for _ in range(9):
        story.tick(Word.THROTTLED, consumers=at_a_look(1.0, **A))

    assert story.episodes.running()[0].drawn == (
        ConsumerTotal("a.service", 3 * 280 * 4096, 3 * 280),
    )


def test_who_drew_is_not_known_before_a_look():
    story = Story().tick(Word.THROTTLED, 3)

    assert story.episodes.running()[0].drew_most == ""


def test_who_drew_most_of_a_lane():
    shares = {"share:sda": 0.8, "share:sdb": 0.2}
    story = Story().tick(Word.THROTTLED, 3, evidence=shares)

    assert story.episodes.running()[0].drew_most == "sda"


def test_of_one_disk_alone_nobody_is_said_to_have_drawn_most():
    story = Story().tick(Word.THROTTLED, 3, evidence={"share:sda": 1.0})

    assert story.episodes.running()[0].drew_most == ""


def test_asking_for_a_span_finds_what_touches_it():
    story = Story().tick(Word.THROTTLED, 10).tick(Word.IDLE, 20).tick(Word.THROTTLED, 10)
    episodes = story.episodes

    assert len(episodes.between(0, WALL + 100)) == 2
    assert len(episodes.between(WALL + 5, WALL + 8)) == 1
    assert [e.ended for e in episodes.between(WALL + 35, WALL + 100)] == [None]
    assert episodes.between(WALL + 15, WALL + 20) == ()


def test_what_a_restart_cut_off_goes_on_when_it_is_still_held():
    story = Story()
    before = Episode(Kind.DISK, "sda", Word.THROTTLED, WALL - 300, held_seconds=290.0)
    story.episodes.restore([before], WALL - 5)

    story.tick(Word.HEALTHY, 8).tick(Word.THROTTLED, 10).tick(Word.HEALTHY, 12)

    (change,) = story.changes
    assert change.is_end
    assert change.episode.began == WALL - 300
    assert change.episode.held_seconds == 300
    assert not change.episode.cut_off


@pytest.mark.parametrize("ahead", [0.1, 0.5, 0.9, 1.5, 1.9])
def test_it_goes_on_too_when_the_restart_takes_no_whole_second(ahead):
    """The last cell ends on a whole second, which may not be over yet."""
    story = Story()
    before = Episode(Kind.DISK, "sda", Word.THROTTLED, WALL - 300)
    story.episodes.restore([before], WALL + 1 + ahead)

    story.tick(Word.HEALTHY, 3).tick(Word.THROTTLED, 5)

    assert story.changes == []
    assert [each.began for each in story.episodes.running()] == [WALL - 300]


def test_what_begins_as_a_quick_restart_is_over_begins_as_the_episode_before_it_ends():
    story = Story()
    before = Episode(Kind.DISK, "sda", Word.THROTTLED, WALL - 300)
    story.episodes.restore([before], WALL + 2.5)

    story.tick(Word.SATURATED)

    end, begin = (change.episode for change in story.changes)
    assert end.ended == begin.began == WALL + 1


def test_what_a_restart_cut_off_keeps_who_did_it_and_what_would_lift_it():
    before = Episode(
        Kind.DISK,
        "sda",
        Word.THROTTLED,
        WALL - 300,
        drew_most="db.service",
        lift="a P15: 1,100 IOPS",
    )
    goes_on, ended = Story(), Story()
    for story in (goes_on, ended):
        story.episodes.restore([before], WALL - 5)

    goes_on.tick(Word.THROTTLED, 10, evidence={"share:sda": 0.8, "share:sdb": 0.2})
    ended.tick(Word.HEALTHY, 130)

    for told in (goes_on.episodes.running()[0], ended.changes[0].episode):
        assert (told.drew_most, told.lift) == ("db.service", "a P15: 1,100 IOPS")


def test_what_a_restart_cut_off_and_is_held_no_more_ended_when_it_was_seen_last():
    story = Story()
    before = Episode(Kind.DISK, "sda", Word.THROTTLED, WALL - 300)
    story.episodes.restore([before], WALL - 5)

    story.tick(Word.HEALTHY, 130)

    (change,) = story.changes
    assert change.episode.ended == WALL - 5
    assert change.episode.cut_off


@pytest.mark.parametrize("wall", [WALL - 30, WALL + 3600])
def test_an_episode_does_not_begin_before_the_last_one_of_its_budget_ended(wall):
    """Whatever its verdict says; a clock that was set back is no end to come."""
    story = Story()
    story.episodes.restore([Episode(Kind.DISK, "sda", Word.THROTTLED, WALL - 60, ended=wall)], WALL)
    story.word, story.since = Word.THROTTLED, -50.0
    story.tick(Word.THROTTLED)

    assert story.episodes.running()[0].began == min(wall, WALL + 1)


@pytest.mark.parametrize("left_seconds", [0, 2])
def test_a_clock_that_is_set_back_keeps_nothing_open(left_seconds):
    story = Story().tick(Word.THROTTLED, 5).tick(Word.HEALTHY, left_seconds)
    story.now -= 3600
    story.tick(Word.HEALTHY, 12)

    assert story.changes[-1].is_end
    assert story.changes[-1].episode.ended >= story.changes[-1].episode.began


def test_the_words_of_what_a_restart_cut_off_stay_those_from_when_it_was_nearest_to_its_limit():
    before = Episode(
        Kind.DISK,
        "sda",
        Word.THROTTLED,
        WALL - 300,
        peak_share=1.0,
        sentence="nearest to its limit",
    )
    story = Story()
    story.episodes.restore([before], WALL - 5)
    story.tick(Word.THROTTLED, 1, share=0.5, sentence="hardly")

    (episode,) = story.episodes.running()
    assert episode.sentence == "nearest to its limit"


def test_an_episode_that_began_after_what_was_seen_last_does_not_end_before_it_began():
    story = Story()
    story.episodes.restore([Episode(Kind.DISK, "sda", Word.THROTTLED, WALL)], WALL - 50)
    (cut,) = story.episodes.between(0, 1e12)
    story.tick(Word.HEALTHY, 130)

    assert cut.ended == story.changes[0].episode.ended == WALL


def test_what_is_kept_is_bounded():
    story = Story()
    for _ in range(MOST_KEPT + 50):
        story.tick(Word.THROTTLED, 1).tick(Word.STALLED, 1)

    assert len(story.episodes.between(0, 1e12)) <= MOST_KEPT + 1


def test_what_would_lift_it_is_kept_with_the_episode():
    story = Story().tick(Word.THROTTLED, 5)
    story.episodes.tell_lift(story.episodes.running()[0].key, "P40 in place of P30: 7,500 IOPS")
    story.tick(Word.THROTTLED, 5).tick(Word.HEALTHY, 20)

    assert story.changes[-1].episode.lift == "P40 in place of P30: 7,500 IOPS"
