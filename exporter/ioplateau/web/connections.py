"""Every connection there is, what it waits for, and who has to go when there are too many.

Belongs to the thread "web", as its connections do.
"""

from __future__ import annotations

import logging
import selectors
import sys
import time

from ioplateau.logs import event
from ioplateau.web.connection import Connection, Phase, oldest_of_largest_group

LOG = logging.getLogger(__name__)
SHEDDING_REPORT_SECONDS = 60.0


class Connections:
    """At most `slots` connections, watched by `selector` under themselves as its data; fewer once one
    of them was given a descriptor from `most_descriptors` on, as others of the process need some too.
    """

    def __init__(
        self, selector: selectors.BaseSelector, slots: int, most_descriptors: int = sys.maxsize
    ) -> None:
        self._selector = selector
        self._slots = slots
        self._most_descriptors = most_descriptors
        self._is_short = False
        self._connections: dict[Connection, None] = {}  # oldest first
        self._shed, self._report_at = 0, 0.0

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: Connection) -> None:
        """Take a newcomer in, and shed another where the slots are used up."""
        if connection.socket.fileno() >= self._most_descriptors:
            self._slots = max(min(self._slots, len(self._connections)), 1)
            if not self._is_short:
                event(LOG, logging.WARNING, "few file descriptors (ulimit -n): fewer clients at a time",
                      slots=self._slots)  # fmt: skip
            self._is_short = True
        if len(self._connections) >= self._slots:
            self.evict()
        self._connections[connection] = None

    def watch(self, connection: Connection, events: int) -> None:
        """Be told of these events of the connection; 0: of none."""
        if events == connection.watched:
            return
        if not events:
            self._selector.unregister(connection.socket)
        elif connection.watched:
            self._selector.modify(connection.socket, events, connection)
        else:
            self._selector.register(connection.socket, events, connection)
        connection.watched = events

    def patience(self) -> float | None:
        """Seconds until the first of them is out of time; None: nobody is there."""
        ends = [connection.leave_at for connection in self._connections]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def expire(self) -> None:
        """Cut those whose time is over."""
        now = time.monotonic()
        for connection in [late for late in self._connections if late.leave_at <= now]:
            on_its_way = connection.phase is Phase.LINGERING and not connection.is_served
            if on_its_way and now < connection.end_at:
                connection.leave_at = connection.end_at  # a slow line, not a rude client
            else:
                self.cut(connection)

    def evict(self) -> None:
        """Cut the one whose place is best given to another."""
        victim = oldest_of_largest_group(self._connections)
        if victim:
            self._shed += not victim.is_served
            self.cut(victim)

    def cut(self, connection: Connection) -> None:
        """Close at once; what was not delivered is taken back."""
        connection.reset_on_close()
        self.drop(connection)

    def drop(self, connection: Connection) -> None:
        """Close."""
        self.watch(connection, 0)
        connection.socket.close()
        connection.phase = Phase.CLOSED
        connection.unsent.clear()
        self._connections.pop(connection, None)

    def cut_all(self) -> None:
        for connection in tuple(self._connections):
            self.cut(connection)

    def report(self) -> None:
        """Say once a minute how many had to go unserved."""
        now = time.monotonic()
        if self._shed and now >= self._report_at:
            event(LOG, logging.WARNING, "more clients than slots: closed connections of whoever holds most",
                  closed=self._shed, slots=self._slots)  # fmt: skip
            self._shed, self._report_at = 0, now + SHEDDING_REPORT_SECONDS
