"""One connection of the web server, and which one has to go when there are too many."""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioplateau.web.tls import Tls

# l_onoff, l_linger: close at once with a reset, so that the kernel frees what a client that
# never reads left in our send buffer; it would keep and probe it for minutes otherwise.
RESET = struct.pack("ii", 1, 0)


class Phase(Enum):
    """A connection shakes hands (TLS), reads its request, has its password checked, waits for
    a worker, writes, lingers, is closed.
    """

    SHAKING = auto()
    READING = auto()
    CHECKING = auto()
    WORKING = auto()
    WRITING = auto()
    LINGERING = auto()
    CLOSED = auto()


class WaitsForError(BlockingIOError):
    """Not now; when the selector reports these events."""

    def __init__(self, events: int) -> None:
        super().__init__()
        self.events = events


class PlainHttpError(OSError):
    """The client speaks HTTP where TLS is spoken."""


class Connection:
    """An accepted socket and how far it came. Times are CLOCK_MONOTONIC seconds."""

    __slots__ = (
        "end_at", "is_head", "leave_at", "phase", "received", "socket", "source", "tls", "unsent",
        "watched",
    )  # fmt: skip

    def __init__(self, accepted: socket.socket, end_at: float, source: str) -> None:
        self.socket = accepted
        self.end_at = end_at  # the total deadline
        self.leave_at = end_at  # the same, or earlier where the answer was given
        self.phase = Phase.READING
        self.received = bytearray()
        self.is_head = False  # no answer has a body, no refusal either: RFC 9110 9.3.2
        self.unsent: deque[memoryview] = deque()
        self.watched = 0  # the events the selector watches it for
        self.source = source  # the client it comes from
        self.tls: Tls | None = None  # that in force when it came

    @property
    def is_served(self) -> bool:
        """Whether it was answered and the other side acknowledged all of it."""
        if self.phase is not Phase.LINGERING:
            return False
        # SIOCOUTQ, tcp(7): bytes written and not yet acknowledged, our FIN included.
        # https://man7.org/linux/man-pages/man7/tcp.7.html
        return not any(fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4)))

    def reset_on_close(self) -> None:
        """Make the coming close take back what was not delivered."""
        if not self.is_served:
            with suppress(OSError):
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def oldest_of_largest_group(connections: Iterable[Connection]) -> Connection | None:
    """The oldest of whoever has most in the largest group, so that no group and nobody in it locks
    the scraper out.

    Refusing newcomers instead would leave every slot to whoever came first. Who has its
    answer goes first; who waits for a worker goes last: workers are ours and finish soon.
    Checks of passwords are ours too, but take long: they are a group like the others.
    """
    groups: dict[Phase, list[Connection]] = {phase: [] for phase in Phase}
    for connection in connections:
        phase = connection.phase
        on_its_way = phase is Phase.LINGERING and not connection.is_served
        groups[Phase.WRITING if on_its_way else phase].append(connection)
    theirs = (Phase.SHAKING, Phase.READING, Phase.CHECKING, Phase.WRITING)
    unfinished = max((groups[phase] for phase in theirs), key=len)
    victims = groups[Phase.LINGERING] or unfinished or groups[Phase.WORKING]
    if not victims:
        return None
    ((source, _),) = Counter(victim.source for victim in victims).most_common(1)
    return next(victim for victim in victims if victim.source == source)
