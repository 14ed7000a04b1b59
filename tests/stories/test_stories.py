"""Each story ends as it truly was, with its limits known; and the judge's scores never fall."""

import json
from itertools import groupby

import pytest

import story_book
from ioplateau.limits.budgets import BudgetKey, Kind, Word
from scoring import recordings, score

BY_NAME = {story.name: story for story in story_book.STORIES}
FREE = [name for name, story in BY_NAME.items() if not any(act.binds for act in story.acts)]


@pytest.mark.parametrize("name", BY_NAME)
def test_with_its_limits_known_the_story_is_told_rightly(name):
    found = score.story_score(BY_NAME[name], known=True, seed=7)

    assert found.f1 >= 0.95
    assert found.attribution >= 0.95
    assert found.right_words >= 0.9 * found.words


@pytest.mark.parametrize("name", FREE)
def test_where_no_limit_binds_none_is_invented(name):
    found = score.story_score(BY_NAME[name], known=False, seed=11)

    assert found.false_alarms == 0


@pytest.mark.parametrize("machine", recordings.machines(), ids=lambda path: path.name)
def test_every_binding_phase_of_a_recording_is_found_by_its_limit(machine):
    for phase in recordings.judged(machine, with_limits=True):
        assert phase.share >= 0.9, phase.phase
        assert phase.wrong_share <= 0.02, phase.phase


def test_a_server_that_freezes_and_comes_back_is_never_called_throttled():
    machine = next(path for path in recordings.machines() if path.name == "nfs_server_stall")
    found = recordings.words(machine, BudgetKey(Kind.VOLUME, "/mnt/a"))
    runs = [word for word, _ in groupby(found)]

    assert Word.THROTTLED not in found
    assert runs.count(Word.STALLED) == 2


def test_no_score_is_below_its_floor():
    figures = score.story_lines()[1] | score.recording_lines()[1]

    assert not score.below_floor(figures, json.loads(score.FLOORS.read_text()))


def test_a_fallen_score_is_told_in_words():
    assert score.below_floor({"f1": 0.80}, {"f1": 0.95}) == [
        "f1: 0.8000 is below its floor of 0.9500"
    ]
    assert not score.below_floor({"f1": 0.95}, {"f1": 0.95})
