from pathlib import Path

import pytest
from hypothesis import given

from almost_right import damaged_text, outcome
from ioplateau.measure import procstat
from ioplateau.measure.parsing import FormatError
from ioplateau.measure.procstat import CpuTicks

REAL = (Path(__file__).parent / "files" / "machine" / "stat-6.1.txt").read_bytes()


def test_iowait_and_steal_of_a_real_file():
    assert procstat.parse(REAL)[:2] == (896, 0)


def test_steal_is_the_eighth_number():
    assert procstat.parse(b"cpu  1 2 3 4 5 6 7 8 9 10\n").steal == 8


def test_a_kernel_without_steal_leaves_it_unknown():
    assert procstat.parse(b"cpu  1 2 3 4 5 6 7\n") == CpuTicks(5, None, 19, 28)


def test_numbers_of_kernels_to_come_are_passed_over():
    assert procstat.parse(b"cpu  1 2 3 4 5 6 7 8 9 10 11 x\n") == CpuTicks(5, 8, 27, 36)


def test_busy_is_all_but_idle_and_waiting_for_io():
    found = procstat.parse(b"cpu  10 1 20 900 50 1 2 3 7 0\n")

    assert (found.busy, found.total) == (37, 987)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [(5000, 5100, 5100), (5000, 4990, 5000), (5000, 4700, 5000), (5000, 4699, 4699)],
)
def test_iowait_that_falls_a_little_stays_and_by_more_begins_anew(before, now, told):
    found = procstat.corrected(CpuTicks(before, 1, 2, 3), CpuTicks(now, 4, 5, 6))

    assert found == CpuTicks(told, 4, 5, 6)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"", 'want "cpu"'),
        (b"cpu0 1 2 3 4 5\n", 'want "cpu"'),
        (b"cpu  1 2 3 4\n", "5 or more numbers"),
        (b"cpu  1 2 3 4 5", "5 or more numbers"),
        (b"cpu  1 2 3 4 -5 6\n", "iowait: b'-5', want a number"),
        (b"cpu  1 2 3 4 5 6 7 x\n", "steal: b'x', want a number"),
    ],
)
def test_what_is_not_usable_is_said_with_what_was_wanted(text, wanted):
    with pytest.raises(FormatError) as raised:
        procstat.parse(text)

    assert wanted in str(raised.value)


@given(damaged_text(REAL))
def test_nearly_right_text_gives_ticks_or_a_format_error(text):
    result = outcome(procstat.parse, text)

    assert isinstance(result, CpuTicks) or result.startswith("stat:")
