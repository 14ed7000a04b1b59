"""Calls of an NFS client that were sent and not answered: which of them are awaited, and which never come.

The kernel counts each sending of a call, and one answer. A call that is sent again, as over a connection made
anew, and one that is given up, whose answer comes too late or never, stays in the difference of both for ever.
Nothing else is lost (RFC 5531 over TCP): since the wire was last empty, without a new connection, a stray answer
and a call that ended unanswered, all that is on it is awaited.
"""

from __future__ import annotations

from ioplateau.judge import parameters as number
from ioplateau.judge.witness import ClientWitness


class Wire:
    """One client's wire, from block to block."""

    __slots__ = (
        "_disturbances",
        "_peace",
        "_was_silent",
        "looks",
        "lost",
        "unanswered",
        "waited_seconds",
    )

    def __init__(self) -> None:
        # Calls on the wire as each of the last blocks ended.
        self.looks: tuple[int, ...] = ()
        # Of those at a look, how many may have been sent again or given up. None: at no look there were any.
        self.lost: int | None = None
        # Calls that stayed on the wire, and of which no answer is awaited.
        self.unanswered = 0
        # For so long calls were on the wire at each look, and no read or write was answered, nor much else.
        self.waited_seconds = 0.0
        self._disturbances: int | None = None  # as the last block ended
        self._peace: int | None = None  # disturbances when the wire was last empty; None: unknown
        self._was_silent = False

    def is_silent(self, client: ClientWitness) -> bool:
        """Whether the server owes answers, in this block as in the one before, and gives none, or for long
        none to reads and writes.
        """
        is_answering = client.receives_per_second != 0
        if is_answering and self.waited_seconds < 2 * number.SETTLED_SECONDS:
            return False
        return min(client.on_wire or 0, *(self.looks or (0,))[-1:]) > self.unanswered

    def follow(self, client: ClientWitness, operations: float, load: float, dt: float) -> None:
        """One block, after it was looked at. operations: reads and writes of all mounts per second; load: how
        many of them were on the wire on average.
        """
        on_wire, answered = client.on_wire or 0, client.receives_per_second
        last = self.looks[-1] if self.looks else 0
        is_first = not self.looks
        self.looks = (*self.looks, on_wire)[-number.LEVEL_LEAST :]
        if answered is None or client.on_wire is None:
            self.waited_seconds = 0.0
            return
        # Of other calls than reads and writes the times are not read.
        seconds = load / operations if operations else number.PRIOR_SECONDS
        is_calm = max(load, answered * seconds) <= number.LITTLE
        given_up = round(operations * dt) if not answered else 0
        is_peace = self._is_at_peace(client, is_first=is_first, is_disturbed=given_up > 0)
        if is_peace:
            self.unanswered, self.lost = 0, 0 if on_wire or self.lost is not None else None
        else:
            self._follow_unanswered(client, last, given_up, is_first=is_first, is_calm=is_calm)
            self._follow_lost(on_wire, is_silent=not answered)
        is_waiting = (
            min(last, on_wire) > self.unanswered and not operations and is_calm and is_peace
        )
        self.waited_seconds = self.waited_seconds + dt if is_waiting else 0.0
        self._disturbances, self._was_silent = client.disturbances, not answered

    def _is_at_peace(self, client: ClientWitness, *, is_first: bool, is_disturbed: bool) -> bool:
        """Whether nothing was lost since the wire was empty, or since it was made."""
        found = client.disturbances
        if found is None:
            return False
        if is_disturbed:
            self._peace = None
        elif not client.on_wire or (is_first and found <= (client.connections or 0)):
            self._peace = found
        return found == self._peace

    def _follow_unanswered(
        self, client: ClientWitness, last: int, given_up: int, *, is_first: bool, is_calm: bool
    ) -> None:
        on_wire, is_silent = self.looks[-1], not client.receives_per_second
        known = client.disturbances is not None
        is_new = known and client.disturbances != self._disturbances
        if is_first:
            self.unanswered = 0 if _may_be_whole(client) else on_wire
        elif is_silent:
            # What is sent while nothing is answered, over a connection made anew, was sent before.
            again = max(on_wire - last, 0) if is_new else 0
            self.unanswered = min(self.unanswered + again + given_up, on_wire)
        elif known and (is_new or self._was_silent):
            # What was on the wire before was sent once more.
            self.unanswered = max(min(last, on_wire), min(self.unanswered, on_wire))
        elif is_calm:
            # A stall may have begun in this very block: what is on the wire as it ends only is awaited.
            self.unanswered = min(self.looks)
        else:
            self.unanswered = min(self.unanswered, on_wire)

    def _follow_lost(self, on_wire: int, *, is_silent: bool) -> None:
        """At most what was on the wire in a silence and is so at each look since; at least what is unanswered."""
        if on_wire or self.lost is not None:
            most = on_wire if is_silent else min(on_wire, self.lost or 0)
            self.lost = max(most, self.unanswered)


def _may_be_whole(client: ClientWitness) -> bool:
    """Whether nothing need have been lost before the first look. For each first connection over TCP Linux counts
    two, an attempt and a success. Older kernels count one, as RDMA does: so nothing is sure by that.
    """
    return client.disturbances is None or client.disturbances <= 2 * (client.connections or 0)
