"""Addresses, and sockets that systemd passes; tests/web/test_server.py has those that we open ourselves."""

import os
import socket

import pytest

from ioplateau.web import listen


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"LISTEN_FDS": "1"},
        {"LISTEN_FDS": "1", "LISTEN_PID": "1"},
        {"LISTEN_FDS": "0", "LISTEN_PID": str(os.getpid())},
        {"LISTEN_FDS": "many", "LISTEN_PID": str(os.getpid())},
        {"LISTEN_FDS": "\u0663", "LISTEN_PID": str(os.getpid())},
    ],
)
def test_where_systemd_passes_nothing_to_us_that_is_said(environ):
    with pytest.raises(OSError, match="systemd passed no sockets"):
        listen.passed(environ)


@pytest.mark.parametrize("address", ["127.0.0.1", "[127.0.0.1]"])
def test_an_ipv4_address_may_stand_in_brackets(address):
    (listener,) = listen.listen(f"{address}:0")
    with listener:
        assert listen.spell(listener).startswith("127.0.0.1:")


@pytest.mark.parametrize("host", ["[127.0.0.1%lo]", "[127.0.0]", "[localhost]", "[]"])
def test_what_stands_in_brackets_is_an_address(host):
    with pytest.raises(ValueError, match="is no IPv6 or IPv4 address"):
        listen.split_address(f"{host}:1")


@pytest.mark.parametrize("addresses", ["127.0.0.1:{0} 127.0.0.1:{0}", "0.0.0.0:{0} :{0}"])
def test_an_address_that_overlaps_one_before_is_said_to_and_another_programs_is_not(addresses):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        wanted = addresses.format(port).split()
        with pytest.raises(OSError, match="another program"):
            listen.listen_all(wanted)
    with pytest.raises(OSError, match=f"cannot listen on {wanted[1]}: the address before it has"):
        listen.listen_all(wanted)
    with socket.create_server(("127.0.0.1", port)), pytest.raises(OSError, match="another program"):
        listen.listen_all((f"127.0.0.2:{port}", f"127.0.0.1:{port}"))
