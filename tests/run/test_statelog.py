"""What the log tells of states: beginnings and ends, once."""

import logging

import pytest

from ioplateau.measure.notice import Notice
from ioplateau.run.statelog import StateLog
from ioplateau.state import SourceState, State


@pytest.fixture
def told(caplog):
    """Tells a list of states, a second apart; the messages that were logged."""
    caplog.set_level(logging.INFO)

    def tell(*states):
        news = StateLog()
        for second, parts in enumerate(states):
            news.tell(State(float(second), 0.0, 1.0, second, **parts))
        return [
            f"{record.getMessage()} {record.ioplateau_fields.get('what', '')}".strip()
            for record in caplog.records
        ]

    return tell


def source(up=True, why="", rejects=0):
    return {"sources": {"mountstats": SourceState("mountstats", up, why, rejects=rejects)}}


def notices(*words):
    return {"notices": words}


def test_a_source_that_stays_away_is_one_line(told):
    assert told(source(), *[source(up=False, why="no answer")] * 50) == ["source failed"]


def test_another_reason_every_second_is_still_one_line(told):
    failing = [source(up=False, why=f"bad text {number}") for number in range(50)]

    assert told(source(), *failing) == ["source failed"]


def test_a_source_that_comes_back_for_good_is_told(told):
    assert told(source(up=False), *[source()] * 20) == ["source failed", "source answers again"]


def test_a_source_that_flaps_is_one_line(told):
    assert told(*[source(up=False), source()] * 50) == ["source failed"]


def test_lines_that_are_odd_every_second_are_one_line(told):
    odd = [source(rejects=number) for number in range(1, 50)]

    assert told(*odd) == ["source has lines we do not understand"]


def test_notices_are_told_when_they_come(told):
    assert told(notices("a"), notices("a"), notices("a", "b")) == ["notice a", "notice b"]


def test_a_notice_with_other_figures_is_no_news(told):
    assert told(*[notices(f"seen {number}.5 IOPS") for number in range(50)]) == [
        "notice seen 0.5 IOPS"
    ]


def test_a_notice_with_other_names_is_no_news_where_it_says_of_what_kind_it_is(told):
    changing = [notices(Notice(f"left out: job{number}", "left out")) for number in range(50)]

    assert told(*changing, notices(Notice("left out: job1", "of another kind"))) == [
        "notice left out: job0",
        "notice left out: job1",
    ]


def test_figures_that_are_names_tell_notices_apart(told):
    assert told(notices("limit[0] fits no disk"), notices("limit[1] fits no disk")) == [
        "notice limit[0] fits no disk",
        "notice limit[1] fits no disk",
    ]


def test_a_notice_that_comes_and_goes_is_told_once_in_a_while(told):
    assert told(*[notices("a"), notices()] * 50) == ["notice a"]
