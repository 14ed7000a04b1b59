"""What JSON values must look like."""

import pytest

from ioplateau.judge.shapes import ShapeError, flag, number, record, row, rows, table, text, word
from ioplateau.limits.budgets import Dimension

SHAPE = record(
    {"levels": table(word(Dimension), rows(row(number(0, 10), flag)))}, {"name": text(5)}
)
SOUND = {"levels": {"iops": [[1, True], [2.5, False]], "slots": []}, "name": "a", "new": [1]}


def test_what_fits_passes_and_what_a_newer_version_added_is_not_looked_at():
    SHAPE(SOUND, "here")


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "here: found list, want an object"),
        ({}, "here: no 'levels' in it"),
        ({"levels": {"iops": 5}}, "here.levels.iops: found int, want a list"),
        (
            {"levels": {"mood": []}},
            "here.levels: found 'mood', want one of iops, slots, throughput",
        ),
        ({"levels": {"iops": [[1]]}}, r"here.levels.iops\[0\]: found list, want a list of 2"),
        ({"levels": {"iops": [[11, True]]}}, "want a number from 0 to 10"),
        ({"levels": {"iops": [[True, True]]}}, "found True, want a number"),
        ({"levels": {"iops": [["1", True]]}}, "found '1', want a number"),
        ({"levels": {"iops": [[float("nan"), True]]}}, "found nan, want a number"),
        ({"levels": {"iops": [[10**4000, True]]}}, "want a number from 0 to 10"),
        ({"levels": {"iops": [[1, 1]]}}, "want true or false"),
        ({"levels": {}, "name": "longer"}, "want text of at most 5 letters"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(value, sentence):
    with pytest.raises(ShapeError, match=sentence):
        SHAPE(value, "here")
