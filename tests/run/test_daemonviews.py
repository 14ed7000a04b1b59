"""A screen of what a daemon found: over HTTP, without waiting for one that does not answer."""

import json
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

import states
from ioplateau.limits.budgets import Dimension, Kind
from ioplateau.run import daemonviews
from ioplateau.run.daemonaddress import DaemonAddress
from ioplateau.run.daemonviews import DaemonViews, NoDaemonError
from ioplateau.tell import api
from ioplateau.web.http1 import Response, text
from ioplateau.web.server import WebServer

ABOUT = {"version": "1.0", "host": "db-01", "started": None}
SECONDS = 60


def telling(value):
    return lambda request: Response(200, "application/json", json.dumps(value).encode())  # noqa: ARG005


def state():
    limited = states.budget(Kind.DISK, "sda", states.limit(Dimension.IOPS))
    return api.state(states.state(budgets=states.by_key(limited)), ABOUT)


@pytest.fixture
def serving():
    servers = []

    def serve(routes):
        servers.append(WebServer(("127.0.0.1:0",), routes).start())
        return f"http://{servers[-1].addresses[0]}"

    yield serve
    for server in servers:
        server.close()


def test_it_shows_what_the_daemon_tells_and_where_it_is(serving):
    url = serving({"/api/v1/state": telling(state())})
    with DaemonViews(DaemonAddress(url), 0.05) as source:
        first, second = (source.views.get(timeout=SECONDS).view for _ in range(2))

    assert first.budgets[0].name == "sda"
    assert second.budgets == first.budgets
    assert source.origin == f"daemon at {url.removeprefix('http://')}"


def test_the_past_of_a_row_is_asked_for_when_somebody_looks(serving):
    series = {"at": [100, 101, 104], "share": [0.1, 0.2, 1.0]}
    routes = {"/api/v1/state": telling(state()), "/api/v1/series": telling(series)}
    with DaemonViews(DaemonAddress(serving(routes)), 0.05) as source:
        seen = source.views.get(timeout=SECONDS).view
        trail = ()
        while not trail:
            trail = source.trail(seen.budgets[0])
            source.views.get(timeout=SECONDS)

    assert trail == [0.1, 0.2, None, None, 1.0]


def test_a_daemon_that_goes_away_is_said_and_its_last_view_stays(serving):
    answers = [telling(state())]
    url = serving({"/api/v1/state": lambda request: answers[0](request)})  # noqa: PLW0108
    with DaemonViews(DaemonAddress(url), 0.05) as source:
        seen = source.views.get(timeout=SECONDS).view
        answers[0] = lambda request: text(503, "It has gone.")  # noqa: ARG005
        while "NO ANSWER since" not in source.origin:
            assert source.views.get(timeout=SECONDS).view.budgets == seen.budgets
        answers[0] = telling(state())
        while "NO ANSWER" in source.origin:
            source.views.get(timeout=SECONDS)


@pytest.mark.parametrize(
    "answer",
    [
        telling({"status": "success"}),
        telling([]),
        lambda request: text(200, "hello"),  # noqa: ARG005
        lambda request: text(401, "Who are you?"),  # noqa: ARG005
    ],
)
def test_who_answers_something_else_is_no_daemon(serving, answer):
    url = serving({"/api/v1/state": answer})

    with pytest.raises(NoDaemonError, match=url):
        DaemonViews(DaemonAddress(url))


def changed(**parts):
    return json.dumps(state() | parts).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000 + b"]" * 200_000,
        changed(wall=1e300),
        changed(wall=10**400),
        changed(budgets=[state()["budgets"][0] | {"for_seconds": float("inf")}]),
        changed(budgets=[state()["budgets"][0] | {"sentence": 5}]),
        changed(machine=state()["machine"] | {"dirty_bytes": "abc"}),
    ],
    ids=["deep", "late", "long", "infinite", "no text", "no number"],
)
def test_an_answer_that_cannot_be_shown_is_no_daemons(serving, body):
    url = serving({"/api/v1/state": lambda request: Response(200, "application/json", body)})  # noqa: ARG005

    with pytest.raises(NoDaemonError, match=url) as said:
        DaemonViews(DaemonAddress(url))

    assert len(str(said.value)) < 400


@contextmanager
def port_held_by(answer):
    """A URL where `answer(socket)` speaks to whoever comes, until he goes."""

    def speak():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, suppress(OSError):
                client.recv(65536)
                answer(client)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=speak, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def in_drops(head):
    def answer(client):
        client.sendall(head)
        while True:
            client.sendall(b" ")
            time.sleep(0.05)

    return answer


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"HTTP/1.1 "])
def test_whoever_answers_in_drops_is_not_waited_for(head):
    began = time.monotonic()
    with port_held_by(in_drops(head)) as url, pytest.raises(NoDaemonError, match=r"within 0\.8 s"):
        daemonviews.ask(DaemonAddress(url), "/api/v1/state", 0.2)

    assert time.monotonic() - began < SECONDS / 4


def test_of_an_answer_without_end_no_more_is_read_than_of_a_daemon():
    def answer(client):
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            client.sendall(b" " * (1 << 20))

    with port_held_by(answer) as url, pytest.raises(NoDaemonError, match="more than 67,108,864 b"):
        daemonviews.ask(DaemonAddress(url), "/api/v1/state", SECONDS)


def test_what_it_says_for_a_reason_cannot_steer_a_terminal():
    def answer(client):
        client.sendall(b"HTTP/1.1 500 \x1b[31mRED\r\nContent-Length: 0\r\n\r\n")

    with port_held_by(answer) as url, pytest.raises(NoDaemonError) as said:
        daemonviews.ask(DaemonAddress(url), "/api/v1/state", SECONDS)

    assert str(said.value) == url + r" answers 500 \x1b[31mRED"


def test_nobody_there_is_no_daemon():
    with pytest.raises(NoDaemonError, match="onnection refused"):
        DaemonViews(DaemonAddress("http://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("addresses", "url"),
    [
        ((":10049",), "http://127.0.0.1:10049"),
        (("0.0.0.0:1", "127.0.0.1:2"), "http://127.0.0.1:1"),
        (("[::]:10049",), "http://127.0.0.1:10049"),
        (("[::1]:10049",), "http://[::1]:10049"),
        (("10.0.0.5:80",), "http://10.0.0.5:80"),
        (("[10.0.0.5]:80",), "http://10.0.0.5:80"),
    ],
)
def test_the_daemon_of_this_machine_is_where_it_listens(addresses, url):
    assert daemonviews.local_url(addresses) == url
