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

# l_onoff, l_linger: close at once with a reset, so that the kernel frees what a client that
# never reads left in our send buffer; it would keep and probe it for minutes otherwise.
RESET = struct.pack("ii", 1, 0)


class Phase(Enum):
    """A connection reads its request, waits for a worker, writes, lingers, is closed."""

    READING = auto()
    WORKING = auto()
    WRITING = auto()
    LINGERING = auto()
    CLOSED = auto()


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
    """
    crowds: dict[Phase, list[Connection]] = {phase: [] for phase in Phase}
    for connection in connections:
        phase = connection.phase
        on_its_way = phase is Phase.LINGERING and not connection.is_served
        crowds[Phase.WRITING if on_its_way else phase].append(connection)
    unfinished = max(crowds[Phase.READING], crowds[Phase.WRITING], key=len)
    victims = crowds[Phase.LINGERING] or unfinished or crowds[Phase.WORKING]
    return victims[0] if victims else None
