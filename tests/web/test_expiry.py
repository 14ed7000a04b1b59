"""A certificate that ends is said once, and once more when it has ended."""

import logging

import pytest

from ioplateau.web.expiry import Expiry

DAY = 86400.0
YEAR = 365 * DAY


@pytest.fixture
def said(caplog):
    """Looks, a list of (from, until, wall), at one Expiry; the levels of what it logged."""
    caplog.set_level(logging.INFO)

    def look(*looks):
        expiry = Expiry()
        for each in looks:
            expiry.look(*each)
        return [record.levelname for record in caplog.records]

    return look


@pytest.mark.parametrize(
    ("lifetime", "left"), [(YEAR, 15 * DAY), (90 * DAY, 30 * DAY), (DAY, 7 * 3600.0)]
)
def test_nothing_is_said_while_a_renewal_may_still_come(said, lifetime, left):
    assert said((0.0, lifetime, 0.0), (0.0, lifetime, lifetime - left)) == []


@pytest.mark.parametrize(
    ("lifetime", "left"), [(YEAR, 13 * DAY), (90 * DAY, 10 * DAY), (DAY, 5 * 3600.0)]
)
def test_what_ends_soon_is_said_once_and_what_has_ended_once_more(said, caplog, lifetime, left):
    soon, over = (0.0, lifetime, lifetime - left), (0.0, lifetime, lifetime + 1)

    assert said(soon, soon, over, over) == ["WARNING", "ERROR"]
    assert "expires soon" in caplog.text
    assert "has expired" in caplog.text


def test_a_new_certificate_is_another_story(said, caplog):
    old, new = (0.0, YEAR, YEAR - DAY), (0.0, 2 * YEAR, YEAR)

    assert said(old, new, old) == ["WARNING"]
    assert said((0.0, 2 * YEAR, 2 * YEAR)) == ["WARNING", "ERROR"]
    assert vars(caplog.records[0])["ioplateau_fields"]["valid_until"] == "1971-01-01T00:00:00Z"
