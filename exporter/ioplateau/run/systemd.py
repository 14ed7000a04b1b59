"""What we tell systemd: that we are ready, alive, reloading, stopping, and what we see.

sd_notify(3) is a datagram to the socket named in NOTIFY_SOCKET. Without that variable every
call does nothing; a message that cannot be sent is lost without harm, but for the watchdog,
which then does what it is for.

https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Mapping
from typing import Self

from ioplateau.tell import formatting


class Systemd:
    """Sends notifications to `address`, a path or "@abstract"; None: to nobody.

    watchdog_seconds: within which systemd wants a sign of life; None: it does not watch.
    """

    def __init__(self, address: str | None, watchdog_seconds: float | None = None) -> None:
        self.watchdog_seconds = watchdog_seconds
        self._address = _socket_name(address)
        self._socket: socket.socket | None = None
        self._status = ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """As systemd started us: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID."""
        return cls(environ.get("NOTIFY_SOCKET"), watchdog_seconds(environ, os.getpid()))

    def ready(self) -> None:
        """Started, or finished reloading."""
        self._send("READY=1")

    @property
    def is_listening(self) -> bool:
        """Whether somebody is told."""
        return self._address is not None

    @property
    def sign_seconds(self) -> float:
        """At least how often a sign of life is due: half of the watchdog's patience, sd_watchdog_enabled(3)."""
        return math.inf if self.watchdog_seconds is None else self.watchdog_seconds / 2

    def alive(self, status: str | None) -> None:
        """A sign of life for the watchdog, and one line for `systemctl status`. None: it stays."""
        words = ["WATCHDOG=1"] if self.watchdog_seconds is not None else []
        # A line of its own each second would fill nothing but the bus.
        if status is not None and status != self._status:
            words.append(f"STATUS={_one_line(status)}")
        if words and self._send("\n".join(words)) and status is not None:
            self._status = status

    def reloading(self) -> None:
        """Taking new settings; `ready` ends it. The time is what Type=notify-reload needs."""
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send(f"RELOADING=1\nMONOTONIC_USEC={microseconds}")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, words: str) -> bool:
        if self._address is None:
            return False
        try:
            if self._socket is None:
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                # A manager that does not read must not stop the sampling.
                self._socket.setblocking(False)
            self._socket.sendto(words.encode("utf-8", "replace"), self._address)
        except OSError:
            return False
        return True


def watchdog_seconds(environ: Mapping[str, str], process_id: int) -> float | None:
    """The watchdog's patience, if it watches this process: sd_watchdog_enabled(3).

    https://www.freedesktop.org/software/systemd/man/latest/sd_watchdog_enabled.html
    """
    microseconds = environ.get("WATCHDOG_USEC", "")
    if environ.get("WATCHDOG_PID", str(process_id)) != str(process_id):
        return None
    if not (microseconds.isascii() and microseconds.isdecimal()) or not int(microseconds):
        return None
    return int(microseconds) / 1e6


def _socket_name(address: str | None) -> bytes | None:
    # "@" stands for the zero byte of an abstract name. "vsock:..." is for whole VMs.
    if not address or address[0] not in "@/":
        return None
    name = os.fsencode(address)
    return b"\0" + name[1:] if name.startswith(b"@") else name


def _one_line(status: str) -> str:
    # `systemctl status` shows it as it is, and the names in it may be anybody's.
    return formatting.printable(" ".join(status.split()))
