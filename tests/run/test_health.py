"""What /-/healthy says of the age of the last tick."""

import re

import pytest

from ioplateau.engine import EngineSettings
from ioplateau.run.serve import Daemon
from ioplateau.run.settings import ServeSettings
from ioplateau.web.http1 import Request
from ioplateau.web.settings import WebSettings


@pytest.mark.parametrize(
    ("interval", "age", "status"),
    [(1.0, 0.0, 200), (1.0, 60.0, 503), (10.0, 15.0, 200), (10.0, 60.0, 503)],
)
def test_sampling_that_stands_still_is_not_healthy_and_its_age_is_told(interval, age, status):
    settings = ServeSettings(
        engine=EngineSettings(interval_seconds=interval),
        web=WebSettings(listen_addresses=("127.0.0.1:0",)),
    )
    daemon = Daemon(settings, lambda: settings)
    try:
        daemon._loop._fresh_at = daemon._clock.mono() - age
        answer = daemon._healthy(Request("GET", "/-/healthy"))
    finally:
        daemon._web.close()

    assert answer.status == status
    told = re.search(r"the last tick was ([0-9.]+) s ago", answer.body.decode())
    assert float(told[1]) >= age
