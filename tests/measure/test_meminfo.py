from pathlib import Path

import pytest
from hypothesis import given

from almost_right import damaged_text, outcome
from ioplateau.measure import meminfo
from ioplateau.measure.meminfo import MemoryUse
from ioplateau.measure.parsing import FormatError

REAL = (Path(__file__).parent / "files" / "machine" / "meminfo-6.1.txt").read_bytes()


def test_dirty_and_writeback_of_a_real_file_in_bytes():
    assert meminfo.parse(REAL)[:2] == (20 * 1024, 68 * 1024)


def test_writeback_is_not_taken_from_a_line_whose_name_begins_like_it():
    assert meminfo.parse(b"Dirty: 1 kB\nWritebackTmp: 7 kB\n")[:2] == (1024, None)


def test_the_first_line_counts_too():
    assert meminfo.parse(b"Writeback: 3 kB\n")[:2] == (None, 3072)


def test_what_is_not_available_is_used():
    text = b"MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\nDirty: 0 kB\n"

    assert meminfo.parse(text).used_ratio == 0.75
    assert meminfo.parse(b"Dirty: 0 kB\n").used_ratio is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"", 'want a line "Dirty: N kB"'),
        (b"MemTotal:  996336 kB\n", 'want a line "Dirty: N kB"'),
        (b"Dirty:  x kB\n", "b'x', want a number"),
        (b"Dirty:  7 MB\n", 'want "N kB"'),
        (b"MemTotal: 1 kB\nDirty:    84", 'want "N kB"'),
    ],
)
def test_what_is_not_usable_is_said_with_what_was_wanted(text, wanted):
    with pytest.raises(FormatError) as raised:
        meminfo.parse(text)

    assert wanted in str(raised.value)


@given(damaged_text(REAL))
def test_nearly_right_text_gives_gauges_or_a_format_error(text):
    result = outcome(meminfo.parse, text)

    assert isinstance(result, MemoryUse) or result.startswith("meminfo:")
