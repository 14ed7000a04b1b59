"""Sockets that systemd passes; tests/web/test_server.py has those that we open ourselves."""

import os

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
