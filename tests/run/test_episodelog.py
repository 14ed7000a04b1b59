"""Episodes in the log: each begins and ends as a line, and flapping does not fill it."""

import logging

from ioplateau.history.episodes import Change, Episode
from ioplateau.limits.budgets import Dimension, Kind, Origin, Word
from ioplateau.logs import Lines
from ioplateau.run.episodelog import EpisodeLog

EPISODE = Episode(
    Kind.DISK,
    "sdc",
    Word.THROTTLED,
    1000.0,
    dimension=Dimension.IOPS,
    limit=500.0,
    origin=Origin.CATALOGUE,
    requests_waiting=12.0,
    waited_seconds=7200.0,
    drew_most="db.service",
    sentence="held at 500 IOPS",
)


def lines(caplog):
    write = Lines("logfmt", journal=True)
    return [write.format(record) for record in caplog.records]


def test_an_episode_is_a_line_when_it_begins_and_one_when_it_ends(caplog):
    caplog.set_level(logging.INFO)
    log = EpisodeLog()

    log.tell([Change(EPISODE, is_end=False)], 0.0)
    log.tell([Change(EPISODE._replace(ended=1600.0), is_end=True)], 600.0)

    began, ended = lines(caplog)
    assert began == (
        '<6>level=info msg="episode began" kind=disk name=sdc verdict=throttled limit="500 IOPS"'
        ' origin=catalogue what="held at 500 IOPS"'
    )
    assert ended == (
        '<6>level=info msg="episode ended" kind=disk name=sdc verdict=throttled limit="500 IOPS"'
        ' origin=catalogue lasted="10 min" requests_waiting=12 waited="2 h" top_consumer=db.service'
    )


def test_an_episode_over_which_the_clock_was_set_back_lasted_what_was_counted(caplog):
    caplog.set_level(logging.INFO)
    log = EpisodeLog()
    log.tell([Change(EPISODE, is_end=False)], 0.0)

    log.tell([Change(EPISODE._replace(ended=1000.0, held_seconds=600.0), is_end=True)], 600.0)

    assert 'lasted="10 min"' in lines(caplog)[-1]


def test_flapping_does_not_fill_the_log(caplog):
    caplog.set_level(logging.INFO)
    log = EpisodeLog()

    for second in range(0, 3600, 20):
        log.tell([Change(EPISODE, is_end=False)], float(second))
        log.tell([Change(EPISODE._replace(ended=1.0), is_end=True)], second + 10.0)

    assert 2 * 3 * 6 <= len(lines(caplog)) <= 2 * 3 * 7
    assert any("suppressed_episodes=27" in line for line in lines(caplog))


def test_another_budget_is_told_all_the_same(caplog):
    caplog.set_level(logging.INFO)
    log = EpisodeLog()

    for number in range(10):
        log.tell([Change(EPISODE._replace(name=f"sd{number}"), is_end=False)], 0.0)

    assert len(lines(caplog)) == 10


def test_the_end_of_an_episode_that_an_earlier_run_began_is_told(caplog):
    caplog.set_level(logging.INFO)

    EpisodeLog().tell([Change(EPISODE._replace(ended=1600.0), is_end=True)], 600.0)

    (ended,) = lines(caplog)
    assert 'msg="episode ended" kind=disk name=sdc' in ended
