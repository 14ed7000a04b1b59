"""Text that must fit: widths, marks, short figures."""

import pytest

from ioplateau.tell import cells


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"),
        (0.414, "0.41"),
        (12_800.0, "12,800"),
        (99_999.0, "99,999"),
        (128_300.0, "128k"),
        (999_999.0, "1M"),
        (1_340_000.0, "1.34M"),
        (2.5e9, "2.5G"),
    ],
)
def test_a_number_has_at_most_six_columns(value, said):
    assert cells.number(value) == said
    assert len(said) <= 6


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0s"), (43.0, "43s"), (130.0, "2m"), (7800.0, "2h"), (1e6, "11d")]
)
def test_an_age_has_its_largest_unit(seconds, said):
    assert cells.age(seconds) == said


def test_a_cut_is_marked_at_the_side_that_was_cut():
    assert cells.cut("abcdef", 4) == "abc…"
    assert cells.cut("abcdef", 4, keep_end=True) == "…def"
    assert cells.cut("abcd", 4) == "abcd"
    assert cells.cut("abcd", 0) == ""


def test_wide_characters_take_two_columns_and_combining_ones_none():
    assert cells.columns("日本") == 4
    assert cells.columns("e\u0301") == 1
    assert cells.left("日本", 5) == "日本 "
    assert cells.columns(cells.cut("日本語", 4)) <= 4


def test_rows_become_lines_with_each_column_as_wide_as_its_widest_cell():
    rows = [("disk", "r/s", "what"), ("日本", "12,800", ""), ("nvme0n1", "5", "a\nb")]

    assert cells.aligned(rows, {1}) == [
        "disk        r/s  what",
        "日本     12,800",
        "nvme0n1       5  a\\nb",
    ]


def test_a_sparkline_has_the_highest_of_each_part_and_gaps():
    assert cells.sparkline((0.0, None, 1.0), 10) == "▁ █"
    assert cells.sparkline((0.0, 1.0, 0.0, 0.0), 2) == "█▁"
    assert cells.sparkline((), 10) == ""
    assert cells.sparkline((7.0, -1.0), 10) == "█▁"


def test_ascii_keeps_the_width_of_what_we_draw():
    drawn = f"{cells.BARS} µs · {cells.CUT}"

    assert cells.plain_ascii(drawn).isascii()
    assert len(cells.plain_ascii(drawn)) == len(drawn)
