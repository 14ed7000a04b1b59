"""RouteHandler as the workers call them."""

import logging

from ioplateau.web.http1 import Request, Response
from ioplateau.web.workers import RouteHandler


def test_a_page_that_fails_every_other_time_is_logged_once_a_minute(caplog):
    now, asked = [1000.0], [0]

    def page(request):
        asked[0] += 1
        if asked[0] % 2:
            raise ValueError("odd")
        return Response(200, "text/plain", b"even")

    pages = RouteHandler({"/": page}, lambda: now[0])
    statuses = []
    with caplog.at_level(logging.INFO):
        for second in range(119):
            now[0] = 1000.0 + second
            statuses.append(pages(Request("GET", "/")).status)

    assert statuses.count(500) == 60
    assert [record.getMessage() for record in caplog.records] == ["a page fails"] * 2
