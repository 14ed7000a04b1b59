"""Notifications, received by a real datagram socket as systemd's manager has it."""

import os
import socket
import uuid

import pytest

from ioplateau.run.systemd import Systemd


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    """(address as in NOTIFY_SOCKET, receiving socket)"""
    address = str(tmp_path / "notify") if request.param == "path" else f"@ioplateau-{uuid.uuid4()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address.replace("@", "\0", 1))
        receiver.settimeout(5)
        yield address, receiver


def heard(receiver: socket.socket) -> list[str]:
    receiver.setblocking(False)
    messages = []
    try:
        while True:
            messages.append(receiver.recv(4096).decode())
    except BlockingIOError:
        return messages


def test_each_change_is_one_message(manager):
    address, receiver = manager
    systemd = Systemd(address)
    systemd.ready()
    systemd.stopping()

    assert heard(receiver) == ["READY=1", "STOPPING=1"]


def test_only_who_was_started_by_a_manager_puts_a_status_together(manager):
    address, _ = manager

    assert Systemd(address).is_listening
    assert not Systemd(None).is_listening


def test_reloading_carries_the_monotonic_time_of_its_sending(manager):
    address, receiver = manager
    Systemd(address).reloading()
    first, second = heard(receiver)[0].split("\n")

    assert first == "RELOADING=1"
    assert second.startswith("MONOTONIC_USEC=")
    assert int(second.partition("=")[2]) > 0


def test_a_status_is_sent_in_one_line_and_only_when_it_changes(manager):
    address, receiver = manager
    systemd = Systemd(address)
    for status in ("all\nhealthy", "all\nhealthy", "sdc throttled"):
        systemd.alive(status)

    assert heard(receiver) == ["STATUS=all healthy", "STATUS=sdc throttled"]


def test_a_name_in_a_status_speaks_to_no_terminal(manager):
    address, receiver = manager
    Systemd(address).alive("/a\x1b]0;owned\x07\u202e\udcff is throttled")

    assert heard(receiver) == [r"STATUS=/a\x1b]0;owned\x07\u202e\xff is throttled"]


def test_the_watchdog_hears_every_sign_of_life(manager):
    address, receiver = manager
    systemd = Systemd(address, watchdog_seconds=30)
    for _ in range(3):
        systemd.alive("ok")

    assert heard(receiver) == ["WATCHDOG=1\nSTATUS=ok", "WATCHDOG=1", "WATCHDOG=1"]


def test_a_sign_of_life_may_leave_the_status_as_it_is(manager):
    address, receiver = manager
    systemd = Systemd(address, watchdog_seconds=30)
    for status in ("ok", None, "ok"):
        systemd.alive(status)

    assert heard(receiver) == ["WATCHDOG=1\nSTATUS=ok", "WATCHDOG=1", "WATCHDOG=1"]


def test_a_status_that_was_lost_is_sent_again(tmp_path):
    address = str(tmp_path / "notify")
    systemd = Systemd(address)
    systemd.alive("ok")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address)
        systemd.alive("ok")
        messages = heard(receiver)

    assert messages == ["STATUS=ok"]


def test_a_manager_that_does_not_read_stops_nobody(manager):
    address, receiver = manager
    systemd = Systemd(address, watchdog_seconds=1)
    for _ in range(2000):  # net.unix.max_dgram_qlen is 10 to 512
        systemd.alive("ok")

    assert 0 < len(heard(receiver)) < 2000


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1234"}])
def test_without_a_socket_we_can_use_nothing_is_sent_and_nothing_fails(environ):
    systemd = Systemd.from_environment({**environ, "WATCHDOG_USEC": "1000000"})
    systemd.ready()
    systemd.alive("ok")

    assert systemd.watchdog_seconds == 1.0


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": str(os.getpid())}, 0.5),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_ours_only_if_it_names_us(environ, seconds):
    assert Systemd.from_environment(environ).watchdog_seconds == seconds


@pytest.mark.parametrize(("patience", "seconds"), [(None, float("inf")), (30.0, 15.0), (3.0, 1.5)])
def test_a_sign_of_life_is_due_twice_within_the_watchdogs_patience(patience, seconds):
    assert Systemd(None, patience).sign_seconds == seconds
