"""A bound on events of one kind, whatever comes between them."""

import logging

from ioplateau.logs.attributes import KIND, LEFT_OUT
from ioplateau.logs.ratelimit import BURST, EVERY_SECONDS, MOST_KINDS, RateLimit


def record(kind, level=logging.ERROR):
    return logging.makeLogRecord({"name": "a", "levelno": level, "msg": "%s", KIND: kind})


def test_of_one_kind_a_burst_and_then_one_now_and_then():
    now = [1000.0]
    rate = RateLimit(lambda: now[0])
    told = []
    for tenth in range(round(10 * 10 * EVERY_SECONDS)):
        now[0] = 1000.0 + tenth / 10
        told.append(rate.filter(record("a page fails")))

    assert BURST + 9 <= sum(told) <= BURST + 10


def test_other_events_in_between_change_nothing():
    rate = RateLimit(lambda: 0.0)
    told = 0
    for _ in range(100):
        told += rate.filter(record("a page fails"))
        rate.filter(record("a page works again"))

    assert told == BURST


def test_kinds_and_levels_have_an_allowance_each():
    rate = RateLimit(lambda: 0.0)
    for _ in range(100):
        rate.filter(record("one"))

    assert rate.filter(record("other"))
    assert rate.filter(record("one", logging.INFO))


def test_the_next_one_told_says_how_many_were_not():
    now = [0.0]
    rate = RateLimit(lambda: now[0])
    for _ in range(BURST + 7):
        rate.filter(record("one"))
    now[0] = EVERY_SECONDS
    told = record("one")

    assert rate.filter(told)
    assert vars(told)[LEFT_OUT] == 7


def test_kinds_without_end_take_memory_that_has_one():
    rate = RateLimit(lambda: 0.0)
    for number in range(10 * MOST_KINDS):
        rate.filter(record(str(number)))

    assert len(rate._kinds) == MOST_KINDS
