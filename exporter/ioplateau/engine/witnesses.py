"""What the judge is told besides the flows: the clients' queues, TCP's own limits, control groups, and
what providers count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ioplateau.engine.follower import NOTHING, Follower, Moment, Outcome
from ioplateau.engine.providers import Providers
from ioplateau.judge.witness import CgroupWitness, ClientWitness, Witness
from ioplateau.measure import notice, sockets
from ioplateau.measure.mountstats import NfsConnections
from ioplateau.measure.notice import Notice
from ioplateau.measure.ratewindow import ReadingPair
from ioplateau.measure.sockets import Name, TcpSocket


class ClientReading(NamedTuple):
    """One NFS client at this tick. tick: its connections over the tick; None: they began anew."""

    now: NfsConnections
    tick: ReadingPair[NfsConnections] | None
    slot_limit: int | None  # of all its connections together; None: the kernel does not tell
    sockets: tuple[TcpSocket, ...]


class Witnesses:
    """Remembers the last socket readings, to say what share of the time TCP was held back."""

    def __init__(self) -> None:
        self._before: dict[Name, tuple[float, TcpSocket]] = {}
        self._held: dict[Name, float] = {}  # share of the time limited by our send buffer

    def take_sockets(self, at: float, readings: Iterable[TcpSocket]) -> None:
        """A fresh reading of the NFS sockets."""
        now = {sockets.name(socket): (at, socket) for socket in readings}
        self._held = {}
        for name, (_, socket) in now.items():
            before = self._before.get(name)
            if before is not None and at > before[0]:
                elapsed = at - before[0]
                self._held[name] = _share(
                    before[1].sender_limited_microseconds,
                    socket.sender_limited_microseconds,
                    elapsed,
                )
        self._before = now

    def witness(
        self,
        clients: Mapping[str, ClientReading],
        groups: Mapping[str, CgroupWitness],
        providers: Providers,
    ) -> Witness:
        """Everything of this tick, by client label."""
        return Witness(
            cgroups=groups,
            ebs=providers.exceeded,
            allowances=providers.allowances,
            clients={label: self._client(reading) for label, reading in clients.items()},
        )

    def _client(self, reading: ClientReading) -> ClientWitness:
        span = reading.tick
        if span is None:
            return ClientWitness(connections=len(reading.now), slot_limit=reading.slot_limit)
        before, now = span.before, span.after
        sends, receives = sum(now.sends), sum(now.receives)
        sent, received = sends - sum(before.sends), receives - sum(before.receives)
        unawaited = sum(now.bad_xids)  # answers: see NfsConnection.on_wire
        backlog = sum(now.backlog_sums) - sum(before.backlog_sums)
        sending = sum(now.sending_sums) - sum(before.sending_sums)
        held = [
            self._held[name] for name in map(sockets.name, reading.sockets) if name in self._held
        ]
        trips = [one.min_rtt_microseconds for one in reading.sockets if one.min_rtt_microseconds]
        return ClientWitness(
            connections=len(reading.now),
            slot_limit=reading.slot_limit,
            backlog=max(backlog, 0) / sent if sent > 0 else None,
            sending=max(sending, 0) / sent if sent > 0 else None,
            on_wire=max(sends - receives - unawaited, 0),
            disturbances=sum(now.connects) + unawaited,
            receives_per_second=max(received, 0) / span.elapsed_seconds,
            sender_limited_ratio=_mean(held),
            shortest_trip_seconds=min(trips) / 1e6 if trips else None,
        )


class SocketTable(NamedTuple):
    """Every NFS socket that was told of. notices: what an operator should know of those left out."""

    sockets: tuple[TcpSocket, ...]
    rejects: tuple[str, ...]
    notices: tuple[Notice, ...]


class Sockets(Follower):
    """The NFS sockets as they were told last; None: nobody tells of them."""

    def __init__(self, witnesses: Witnesses) -> None:
        self._witnesses = witnesses
        self.known: tuple[TcpSocket, ...] | None = None
        self.notices: tuple[Notice, ...] = ()

    def parse(self, content: object) -> SocketTable:
        return SocketTable(*sockets.parse(content), notice.notices(content))

    def follow(self, found: SocketTable | None, moment: Moment) -> Outcome:
        self.known, self.notices = None, ()
        if found is not None:
            self.known, self.notices = found.sockets, found.notices
            self._witnesses.take_sockets(moment.at, found.sockets)
        return NOTHING


def _share(before: int | None, after: int | None, elapsed_seconds: float) -> float:
    if before is None or after is None:
        return 0.0
    return min(max(after - before, 0) / 1e6 / elapsed_seconds, 1.0)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
