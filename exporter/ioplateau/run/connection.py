"""One connection of the web server, and which one has to go when there are too many."""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioplateau.run.tls import Tls

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


@dataclass(slots=True, eq=False)
class Connection:
    """An accepted socket and how far it came. Times are CLOCK_MONOTONIC seconds."""

    socket: socket.socket
    end_at: float  # the total deadline
    leave_at: float  # the same, or earlier where the answer was given
    phase: Phase = Phase.READING
    received: bytearray = field(default_factory=bytearray)
    unsent: deque[memoryview] = field(default_factory=deque)
    watched: int = 0  # the events the selector watches it for
    tls: Tls | None = None  # that in force when it came

    @property
    def is_served(self) -> bool:
        """Whether it was answered and the other side acknowledged all of it."""
        if self.phase is not Phase.LINGERING:
            return False
        # SIOCOUTQ, tcp(7): bytes written and not yet acknowledged, our FIN included.
        return not any(fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4)))

    def forfeit(self) -> None:
        """Make the coming close take back what was not delivered."""
        if not self.is_served:
            with suppress(OSError):
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def oldest_of_largest_crowd(connections: Iterable[Connection]) -> Connection | None:
    """The oldest of the largest crowd, so that no crowd locks the scraper out.

    Refusing newcomers instead would leave every slot to whoever came first. Who has its
    answer goes first; who waits for a worker goes last: workers are ours and finish soon.
    Checks of passwords are ours too, but take long: they are a crowd like the others.
    """
    crowds: dict[Phase, list[Connection]] = {phase: [] for phase in Phase}
    for connection in connections:
        phase = connection.phase
        on_its_way = phase is Phase.LINGERING and not connection.is_served
        crowds[Phase.WRITING if on_its_way else phase].append(connection)
    theirs = (Phase.SHAKING, Phase.READING, Phase.CHECKING, Phase.WRITING)
    unfinished = max((crowds[phase] for phase in theirs), key=len)
    victims = crowds[Phase.LINGERING] or unfinished or crowds[Phase.WORKING]
    return victims[0] if victims else None
