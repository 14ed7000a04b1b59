"""What the page is told of the machine beside the published state."""

import gc
import json
import re
import weakref

import states
from ioplateau.config.table import OWN_PATHS
from ioplateau.history import History
from ioplateau.measure.pressure import Pressure
from ioplateau.run.api import Api
from ioplateau.run.pages import WAITING_TICKS, Pages
from ioplateau.web.http1 import Request


def told(pages):
    body = pages.routes()["/"](Request("GET", "/")).body.decode()
    found = re.search(r"tasks wait for I/O ([^<]*)", body)
    return found and found[1].split(" of")[0]


def test_the_share_of_the_time_that_tasks_wait_is_of_the_last_seconds():
    now = []
    pages = Pages(History(), lambda: now[-1], 0.0, (), 15.0)

    def tick(mono, waited_seconds):
        state = states.state(mono=mono)
        pressure = Pressure(int(waited_seconds * 1e6), 0)
        now.append(state._replace(machine=state.machine._replace(pressure=pressure)))
        pages.after_tick(now[-1])

    tick(0.0, 100.0)
    alone = told(pages)
    tick(4.0, 101.0)
    begun = told(pages)
    for second in range(WAITING_TICKS):
        tick(5.0 + second, 101.0 + second / 2)

    assert alone is None
    assert begun == "25 %"
    assert told(pages) == "50 %"


class Notices(list):
    """Of a state, so that a test sees when nobody holds it any more."""


def test_a_page_is_made_once_a_tick_and_holds_no_state_afterwards():
    history = History()
    now = [states.state(mono=5.0, wall=100.0)._replace(notices=Notices())]
    held = weakref.ref(now[0].notices)
    pages = Pages(history, lambda: now[-1], 0.0, (), 15.0)
    first, again = (pages.routes()["/"](Request("GET", "/")).body for _ in range(2))
    now[0] = states.state(mono=6.0, wall=200.0)
    gc.collect()

    assert first is again
    assert held() is None
    assert pages.routes()["/"](Request("GET", "/")).body != first


def test_how_long_was_watched_and_since_when_are_told_by_a_clock_that_was_set():
    history = History()
    now = states.state(mono=1060.0, wall=1_700_000_060.0 - 7200, boot=1060.0)
    for state in (states.state(mono=1000.0, wall=1_700_000_000.0, boot=1000.0), now):
        history.observe(state)
    pages = Pages(history, lambda: now, 1_700_000_000.0, (), 15.0)
    api = Api(history, lambda: now, 1_700_000_000.0, lambda: now.wall)

    page = pages.routes()["/"](Request("GET", "/")).body.decode()
    told = json.loads(api.routes()["/api/v1/state"](Request("GET", "/api/v1/state")).body)
    assert "watched for 1 min" in page
    assert told["started"] == 1_700_000_000.0 - 7200


def test_metrics_are_not_told_to_stand_where_the_daemon_serves_something_else():
    pages = Pages(History(), lambda: None, 0.0, (), 15.0)
    api = Api(History(), lambda: None, 0.0, lambda: 0.0)
    served = {*pages.routes(), *api.routes(), "/-/healthy", "/-/ready"} - {"/"}

    assert [path for path in served if not path.startswith(OWN_PATHS)] == []
    assert not "/metrics".startswith(OWN_PATHS)


def test_the_pages_style_is_served_as_such():
    style = Pages(History(), lambda: None, 0.0, (), 15.0).routes()["/page.css"](Request("GET", "/"))

    assert style.status == 200
    assert b"{" in style.body
