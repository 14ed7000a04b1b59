"""The rate limit of web-config.yml by a clock of its own."""

from ioplateau.web.access import RequestBucket


def test_an_hour_without_requests_earns_no_more_than_the_burst():
    bucket = RequestBucket(1.0, 5)
    bucket.take(1.0)

    assert [bucket.take(3600.0) for _ in range(20)].count(True) == 5
