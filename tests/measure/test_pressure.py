from pathlib import Path

import pytest
from hypothesis import given

from almost_right import damaged_text, outcome
from ioplateau.measure import pressure
from ioplateau.measure.parsing import FormatError
from ioplateau.measure.pressure import Pressure

REAL = (Path(__file__).parent / "files" / "machine" / "pressure-io-6.1.txt").read_bytes()


def test_both_totals_of_a_real_file():
    assert pressure.parse(REAL) == Pressure(8772058, 7960439)


def test_a_file_without_full_leaves_it_unknown():
    some = REAL.splitlines(keepends=True)[0]

    assert pressure.parse(some) == Pressure(8772058, None)


def test_words_and_lines_of_kernels_to_come_are_passed_over():
    text = b"some avg10=0.00 total=7 new=1\nfull total=3\nmost total=5\n"

    assert pressure.parse(text) == Pressure(7, 3)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"", 'want a line "some'),
        (b"full avg10=0.00 total=3\n", 'want a line "some'),
        (b"some avg10=0.00\n", 'want "total=N"'),
        (b"some total=-5\n", "b'-5', want a number"),
        (b"some total=5\nfull total=\n", "b'', want a number"),
        (b"some total=12", 'want a line "some'),
    ],
)
def test_what_is_not_usable_is_said_with_what_was_wanted(text, wanted):
    with pytest.raises(FormatError) as raised:
        pressure.parse(text)

    assert wanted in str(raised.value)


@given(damaged_text(REAL))
def test_nearly_right_text_gives_totals_or_a_format_error(text):
    result = outcome(pressure.parse, text)

    assert isinstance(result, Pressure) or result.startswith("pressure:")
