"""What an answer's head says."""

from email.utils import formatdate

from hypothesis import given
from hypothesis import strategies as st

from ioplateau.web import http1


@given(st.integers(0, 253_402_300_799))  # until the year 9999
def test_the_date_is_that_of_the_standard_library(wall):
    assert http1.date(wall) == formatdate(wall, usegmt=True)
