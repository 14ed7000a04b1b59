"""What is asked, and what an answer's head says."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.web import http1


@given(st.integers(0, 253_402_300_799))  # until the year 9999
def test_the_date_is_that_of_the_standard_library(wall):
    assert http1.date(wall) == formatdate(wall, usegmt=True)


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("http://db-01:10049/metrics?x=1", "/metrics", "x=1"),
        ("HTTP://db-01", "/", ""),
        ("http://db-01?x=1", "/", "x=1"),
        ("http://db-01/?x=1", "/", "x=1"),
        ("/metrics?from=http://db-01/x", "/metrics", "from=http://db-01/x"),
    ],
)
def test_a_whole_url_asks_for_its_path(target, path, query):
    asked = http1.parse(f"GET {target} HTTP/1.0\r\n\r\n".encode(), 1000)

    assert (asked.path, asked.query) == (path, query)
