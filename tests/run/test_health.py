"""What /-/healthy and /metrics say of the age of the last tick."""

import re

import pytest

import states
from hand_clock import HandClock
from ioplateau.engine import EngineSettings
from ioplateau.run.serve import Daemon
from ioplateau.run.settings import ServeSettings
from ioplateau.web.http1 import Request
from ioplateau.web.settings import WebSettings


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def daemon(interval, clock):
    settings = ServeSettings(
        engine=EngineSettings(interval_seconds=interval),
        web=WebSettings(listen_addresses=("127.0.0.1:0",)),
    )
    daemon = Daemon(settings, lambda: settings, clock)
    daemon._loop.run(ticks=0)
    yield daemon
    daemon._web.close()


@pytest.mark.parametrize(
    ("interval", "age", "status"),
    [(1.0, 0.0, 200), (1.0, 60.0, 503), (10.0, 15.0, 200), (10.0, 60.0, 503)],
)
def test_sampling_that_stands_still_is_not_healthy_and_its_age_is_told(daemon, clock, age, status):
    clock.now += age
    answer = daemon._healthy(Request("GET", "/-/healthy"))

    assert answer.status == status
    told = re.search(r"the last tick was ([0-9.]+) s ago", answer.body.decode())
    assert float(told[1]) == age


@pytest.mark.parametrize("interval", [1.0])
def test_the_metrics_of_sampling_that_stands_still_tell_its_present_age(daemon, clock):
    daemon._loop.state = states.state()
    told = []
    for passed in (60.0, 540.0):
        clock.now += passed
        body = daemon._metrics(Request("GET", "/metrics")).body.decode()
        [line] = re.findall(r"^ioplateau_last_tick_age_seconds (.+)$", body, re.MULTILINE)
        told.append(float(line))

    assert told == [60.0, 600.0]
