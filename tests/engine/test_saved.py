"""Typed values on their way through JSON: back as they were, or refused with the place."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, NamedTuple

import pytest

from ioplateau.engine import accounts
from ioplateau.history.episodes import Episode
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey, Kind, Origin, Word
from ioplateau.limits.credits import CreditBucket
from ioplateau.saved import Bounds, Seconds, ShapeError, as_row, read, write

KEY = BudgetKey(Kind.DISK, "sda")
PLACE = (KEY, Dimension.IOPS, Direction.TOTAL)
BUCKET = CreditBucket(500.0, 3500.0, 5e6, 4e6, 0.0, 5e6, 5e6)
ACCOUNTS = accounts.SavedAccounts(
    meters=(accounts.SavedMeter(*PLACE, 12.5, 3),),
    learned=(accounts.SavedLevel(*PLACE, 500.0),),
    credits=(accounts.SavedCredit(*PLACE, BUCKET),),
    flows=(accounts.SavedSeconds(FlowKey("disk", "sda"), KEY, Dimension.IOPS, 12.5),),
    holds=(accounts.SavedThrottle(*PLACE),),
)


class Sample(NamedTuple):
    name: str
    seconds: Seconds = 0.0
    is_on: bool = False


@as_row
class Level(NamedTuple):
    value: Annotated[float, Bounds(0, 10)]
    is_on: bool


class Levels(NamedTuple):
    levels: Mapping[Dimension, tuple[Level, ...]]
    named: Mapping[str, Sample] = {}


def through_json(value):
    return json.loads(json.dumps(write(value)))


def test_accounts_come_back_as_they_were():
    assert read(accounts.SavedAccounts, through_json(ACCOUNTS), "accounts") == ACCOUNTS


def test_mappings_come_back_with_their_words_for_keys():
    found = Levels({Dimension.IOPS: (Level(1.0, True),)}, {"a": Sample("b", 2.0)})

    assert through_json(found)["levels"] == {"iops": [[1.0, True]]}
    assert read(Levels, through_json(found), "here") == found


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"levels": []}, "here.levels: found list, want an object"),
        ({"levels": {"iops": 5}}, "here.levels.iops: found int, want a list"),
        (
            {"levels": {"mood": []}},
            "here.levels: found 'mood', want one of iops, slots, throughput",
        ),
        ({"levels": {"iops": [[1]]}}, "here.levels.iops[0]: found list, want a list of 2"),
        ({"levels": {"iops": [[11, True]]}}, "want a number from 0 to 10"),
        ({"levels": {"iops": [["1", True]]}}, "found '1', want a number"),
        ({"levels": {"iops": [[10**4000, True]]}}, "want a number from 0 to 10"),
        ({"levels": {}, "named": {7: {"name": "a"}}}, "here.named: found int, want text"),
        ({"levels": {}, "named": {"a": {}}}, "here.named.a: no 'name' in it"),
    ],
)
def test_what_is_wrong_in_a_mapping_is_refused_with_its_place(value, words):
    with pytest.raises(ShapeError, match=re.escape(words)):
        read(Levels, value, "here")


def test_buckets_whose_numbers_do_not_agree_are_refused():
    wrong = BUCKET._replace(least=6e6)
    found = ACCOUNTS._replace(credits=(accounts.SavedCredit(*PLACE, wrong),))
    with pytest.raises(ShapeError, match=re.escape("accounts.credits[0]: found")):
        accounts.check(found, "accounts")


def test_rows_are_lists_with_their_keys_flat_in_them():
    written = through_json(ACCOUNTS)

    assert written["meters"] == [["disk", "sda", "iops", "total", 12.5, 3]]
    assert written["flows"] == [["disk", "sda", "disk", "sda", "iops", 12.5]]


def test_an_episode_comes_back_as_it_was():
    episode = Episode(
        Kind.DISK, "sda", Word.THROTTLED, 1e9, None, Dimension.IOPS, Direction.TOTAL, 500.0,
        Origin.LEARNED, "plateau", victims=("sda", "md0"), interruptions=2, cut_off=True,
    )  # fmt: skip

    assert read(Episode, through_json(episode), "episode") == episode


def test_an_unknown_key_is_passed_over_and_a_missing_one_takes_its_default():
    assert read(Sample, {"name": "a", "newer": [1]}, "sample") == Sample("a")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "sample: found list, want an object"),
        ({}, "sample: no 'name' in it"),
        ({"name": 7}, "sample.name: found int, want text"),
        ({"name": "a", "seconds": -1}, "sample.seconds: found int, want a number from 0 to 1e+12"),
        ({"name": "a", "seconds": True}, "sample.seconds: found True, want a number"),
        ({"name": "a", "seconds": float("nan")}, "sample.seconds: found nan, want a number"),
        ({"name": "a", "is_on": 1}, "sample.is_on: found int, want true or false"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(value, words):
    with pytest.raises(ShapeError, match=re.escape(words)):
        read(Sample, value, "sample")


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("learned", [["disk", "sda", "iops", "total"]], "learned[0]: found list, want a list of 5"),
        ("learned", [["disk", "sda", "iops", "up", 5.0]], "learned[0][3]: found 'up', want one of"),
        ("meters", [["disk", 7, "iops", "total", 1.0, 1]], "meters[0][0][1]: found int, want text"),
        ("meters", [["disk", "a", "iops", "total", 1.0, 10**400]], "[5]: found int, want a number"),
        ("credits", [["disk", "a", "iops", "total", {}]], "credits[0][4]: no 'base' in it"),
    ],
)
def test_one_wrong_cell_and_the_accounts_are_refused(part, value, words):
    with pytest.raises(ShapeError, match=re.escape(words)):
        read(accounts.SavedAccounts, {**through_json(ACCOUNTS), part: value}, "accounts")
