"""What grew between two readings of mountstats: the rates of mounts and of connections.

Rates follow nfsiostat (nfs-utils), in base units, and add what Little's law gives.

https://git.linux-nfs.org/?p=steved/nfs-utils.git;a=blob;f=tools/nfs-iostat/nfs-iostat.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import add, le, sub
from typing import NamedTuple

from ioplateau.measure import native
from ioplateau.measure.mountstats.nfslines import NfsConnection
from ioplateau.measure.mountstats.nfsrecords import Mount
from ioplateau.measure.mountstats.nfstables import DATA, Operation, data, everything

SERVER_READ, SERVER_WRITE = 4, 5  # columns of `bytes:`: payload of READ and WRITE calls
DELAY = 24  # column of `events:`: answers "come back later" (JUKEBOX, DELAY); include/linux/nfs_iostat.h
# Milliseconds for which the client waits after such an answer to a read or write, at least: NFS4_POLL_RETRY_MIN,
# https://github.com/torvalds/linux/blob/v6.1/fs/nfs/nfs4proc.c (with NFSv3 five seconds)
LATER_MILLISECONDS = 100


class OperationRates(NamedTuple):
    """One operation that completed at least one call in an interval, in base units.

    By how much it grew, and columns of nfsiostat from that, computed when asked for. Each is one
    division: two would round twice, and a mean of 0.1375 ms would print as 0.137.
    """

    grown: Operation
    elapsed_seconds: float

    @property
    def operations_per_second(self) -> float:
        return self.grown.operations / self.elapsed_seconds

    @property
    def bytes_sent_per_second(self) -> float:
        return self.grown.bytes_sent / self.elapsed_seconds

    @property
    def bytes_received_per_second(self) -> float:
        return self.grown.bytes_received / self.elapsed_seconds

    @property
    def rtt_seconds(self) -> float:
        """Mean time a call was on the wire and in the server."""
        return self.grown.rtt_milliseconds / (1000 * self.grown.operations)

    @property
    def execute_seconds(self) -> float:
        """Mean time a call took from start to end."""
        return self.grown.execute_milliseconds / (1000 * self.grown.operations)

    @property
    def outstanding_wire(self) -> float:
        """Little: mean calls on the wire."""
        return self.grown.rtt_milliseconds / self.elapsed_seconds / 1000

    @property
    def outstanding(self) -> float:
        """Mean calls in all."""
        return self.grown.execute_milliseconds / self.elapsed_seconds / 1000

    @property
    def waiting(self) -> float:
        """Mean calls waiting on the client."""
        return self.grown.queue_milliseconds / self.elapsed_seconds / 1000


class MountRates(NamedTuple):
    """One superblock over one interval, computed when asked for."""

    before: Mount
    after: Mount
    elapsed_seconds: float

    # Payload is what server_read and server_write count. None: no readable `bytes:` line.
    @property
    def read_bytes_per_second(self) -> float | None:
        return self._payload(SERVER_READ)

    @property
    def write_bytes_per_second(self) -> float | None:
        return self._payload(SERVER_WRITE)

    def _payload(self, column: int) -> float | None:
        before, after = self.before.bytes, self.after.bytes
        if min(len(before), len(after)) <= column:
            return None
        return (after[column] - before[column]) / self.elapsed_seconds

    @property
    def operations_per_second(self) -> float:
        """Of every kind."""
        return (
            sum(each.grown.operations for each in self.operations.values()) / self.elapsed_seconds
        )

    @property
    def operations(self) -> dict[str, OperationRates]:
        """Those that completed calls in the interval."""
        if self.before.operations is self.after.operations:
            return {}
        return self._of(self.after.operations)

    @property
    def data(self) -> OperationRates | None:
        """READ, READ_PLUS and WRITE together; None: none was completed."""
        moved = [each.grown for each in self._of(DATA).values()]
        return OperationRates(_sum(moved), self.elapsed_seconds) if moved else None

    def operation(self, name: str) -> OperationRates | None:
        """One of `operations`."""
        now = self.after.operations.get(name)
        was = self.before.operations.get(name, _NEVER)
        # Not in `before` means never used until now, unless its line could not be read.
        if now is None or was is now or (was is _NEVER and _is_unreadable(self.before, name)):
            return None
        if now.operations <= was.operations:
            return None
        return OperationRates(_difference(was, now), self.elapsed_seconds)

    def _of(self, names: Iterable[str]) -> dict[str, OperationRates]:
        found = ((name, self.operation(name)) for name in names)
        return {name: rates for name, rates in found if rates is not None}


class ConnectionRates(NamedTuple):
    """One connection over one interval."""

    sends_per_second: float
    on_wire: int  # as the interval ends
    mean_requests: float | None  # per send
    mean_backlog: float | None


class ClientRates(NamedTuple):
    """All connections of one client over one interval."""

    calls_per_second: float
    mean_backlog: float | None
    mean_requests: float | None
    busiest_ratio: float | None  # share of the busiest connection; 1/n is perfect balance
    spread: float | None  # max / mean of sends
    on_wire: int
    connections: tuple[ConnectionRates, ...]


def is_continuous(before: Mount, after: Mount) -> bool:
    """Whether the counters go on from one reading to the other: no remount between them, no counter fell.

    Of the operations, READ and WRITE are looked at (they are at hand each tick); rates() looks
    at all.
    """
    if before.device != after.device or before.age_seconds > after.age_seconds:
        return False
    if before.bytes is not after.bytes and not all(map(le, before.bytes, after.bytes)):
        return False
    if before.operations is not after.operations:
        was, now = data(before.operations), data(after.operations)
        for name in DATA:
            if not _goes_on(was.get(name), now.get(name), after, name):
                return False
    return True


def has_lost_data(before: Mount, after: Mount) -> bool:
    """Whether READ or WRITE could be read in one of two readings and not in the other: a torn or
    damaged reading, from which neither growth nor rest can be told.
    """
    return bool(before.unreadable or after.unreadable) and any(
        (name in before.operations and _is_lost(after, name))
        or (name in after.operations and _is_lost(before, name))
        for name in DATA
    )


def _is_lost(mount: Mount, name: str) -> bool:
    return name not in mount.operations and _is_unreadable(mount, name)


def _goes_on(was: Operation | None, now: Operation | None, after: Mount, name: str) -> bool:
    if was is now or was is None:
        return True
    if now is None:
        return _is_unreadable(after, name)
    return (
        was.operations <= now.operations
        and was.bytes_sent <= now.bytes_sent
        and was.bytes_received <= now.bytes_received
    )


def _is_unreadable(mount: Mount, name: str) -> bool:
    return bool(mount.unreadable) and (name in mount.unreadable or "" in mount.unreadable)


def rates(before: Mount, after: Mount, elapsed_seconds: float) -> MountRates | None:
    """Rates between two readings of a superblock, or None if the counters began anew."""
    if elapsed_seconds <= 0 or not is_continuous(before, after):
        return None
    if before.operations is not after.operations:
        was, now = everything(before.operations), everything(after.operations)
        if not all(_goes_on(one, now.get(name), after, name) for name, one in was.items()):
            return None
    return MountRates(before, after, elapsed_seconds)


def grown(
    before: Mapping[str, Operation], after: Mapping[str, Operation], names: tuple[str, ...]
) -> Sequence[int]:
    """By how much some operations grew together, in the columns of Operation but for errors; none
    below zero.
    """
    total: Sequence[int] = ()
    for name in names:
        now = after.get(name)
        if now is not None:
            found = _columns(before.get(name, _NEVER), now)
            total = [*map(add, total, found)] if total else found
    return total or _NOTHING


def told_later(before: Mount, after: Mount) -> int:
    """How often the server answered 'come back later'. The kernel counts the call as done, and the time until
    it sends it again as spent before that sending: rpc_exit_task(),
    https://github.com/torvalds/linux/blob/v6.1/net/sunrpc/sched.c
    """
    if len(before.events) <= DELAY or len(after.events) <= DELAY:
        return 0
    was, now = before.events[DELAY], after.events[DELAY]
    return 0 if now == was else max(0, int(now) - int(was))


COLUMNS = Operation._fields.index("errors")
_NEVER = Operation(0, 0, 0, 0, 0, 0, 0, 0, 0)
_NOTHING = [0] * COLUMNS


def _difference(was: Operation, now: Operation) -> Operation:
    errors = None
    if was.errors is not None and now.errors is not None:
        errors = max(now.errors - was.errors, 0)
    return Operation._make((*_columns(was, now), errors))


def _columns(was: Operation, now: Operation) -> Sequence[int]:
    """By how much each column but that of errors grew."""
    scan = native.scan
    if scan is not None and (found := scan.grown(was, now, 0, COLUMNS, -1)) is not None:
        return found
    # Sums of times have been seen to fall below zero and to fall (see nfslines.numbers).
    return [max(each, 0) for each in map(sub, now[:COLUMNS], was)]


def _sum(each: Iterable[Operation]) -> Operation:
    each = list(each)
    known_errors = [one.errors for one in each if one.errors is not None]
    return Operation(
        sum(one.operations for one in each),
        sum(one.transmissions for one in each),
        sum(one.timeouts for one in each),
        sum(one.bytes_sent for one in each),
        sum(one.bytes_received for one in each),
        sum(one.queue_milliseconds for one in each),
        sum(one.rtt_milliseconds for one in each),
        sum(one.execute_milliseconds for one in each),
        sum(known_errors) if len(known_errors) == len(each) else None,
    )


def client_rates(
    before: Sequence[NfsConnection], after: Sequence[NfsConnection], elapsed_seconds: float
) -> ClientRates | None:
    """Rates over all connections of a client, matched by position; None if they are not the
    same connections, or there are none.
    """
    if elapsed_seconds <= 0 or not after or len(before) != len(after):
        return None
    pairs = list(zip(before, after, strict=True))
    if not all(_is_same_connection(was, now) for was, now in pairs):
        return None
    sends = [now.sends - was.sends for was, now in pairs]
    total = sum(sends)
    backlog = sum(max(now.backlog_sum - was.backlog_sum, 0) for was, now in pairs)
    requests = sum(max(now.requests_sum - was.requests_sum, 0) for was, now in pairs)
    connections = tuple(_connection_rates(was, now, elapsed_seconds) for was, now in pairs)
    return ClientRates(
        total / elapsed_seconds,
        backlog / total if total else None,
        requests / total if total else None,
        max(sends) / total if total else None,
        max(sends) * len(sends) / total if total else None,
        sum(each.on_wire for each in connections),
        connections,
    )


def _is_same_connection(was: NfsConnection, now: NfsConnection) -> bool:
    # Both counts go on when a connection is made anew.
    return was.kind == now.kind and was.sends <= now.sends and was.receives <= now.receives


def _connection_rates(was: NfsConnection, now: NfsConnection, t: float) -> ConnectionRates:
    sends = now.sends - was.sends
    requests = max(now.requests_sum - was.requests_sum, 0)
    backlog = max(now.backlog_sum - was.backlog_sum, 0)
    return ConnectionRates(
        sends / t,
        now.on_wire,
        requests / sends if sends else None,
        backlog / sends if sends else None,
    )
