"""NFS over time: what each superblock (I/O) and each client (connections) did since the last tick.

I/O belongs to the superblock, connections belong to the client, whatever the number of mounts
that repeat them: see fs/nfs/super.c nfs_show_stats(). Which is which stands in nfslayout.py.

https://github.com/torvalds/linux/blob/v6.1/fs/nfs/super.c
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from operator import attrgetter, itemgetter, lt
from typing import Any, TypeVar

from ioplateau.engine import nfslayout
from ioplateau.engine.connectionsums import ConnectionSums, Owned
from ioplateau.engine.follower import NOTHING, Follower, Moment, Outcome
from ioplateau.engine.nfslayout import Entries, Layout, NfsClient, Place, Superblock
from ioplateau.engine.settings import EngineSettings
from ioplateau.engine.socketsums import SocketSums
from ioplateau.engine.witnesses import ClientReading
from ioplateau.judge import ticks
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import FlowKey
from ioplateau.limits.topology import NFS4_MOST_SLOTS, NfsFlow
from ioplateau.measure import mountinfo, mountstats
from ioplateau.measure.mappings import LazyMapping
from ioplateau.measure.mountinfo import MountEntry
from ioplateau.measure.mountstats import Mount, MountTable, NfsConnections
from ioplateau.measure.ratewindow import ReadingPair, Readings, TimedReadings, stood, timed, window
from ioplateau.measure.snapshot import Snapshot
from ioplateau.measure.sockets import TcpCounts, TcpSocket
from ioplateau.state import ClientKey, ConnectionCounts, NfsClientState, NfsMountState

T = TypeVar("T")

# For how long a mount whose READ or WRITE can no longer be read keeps its last counters: for two
# ticks. After that its lines are taken to have changed for good.
TORN_INTERVALS = 2.5


class Nfs(Follower):
    """Remembers each superblock and client between ticks."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.table: MountTable | None = None
        self._without: tuple[bytes, MountTable] | None = None  # a file that tells of no NFS mount
        self.layout: tuple[object, ...] = ()
        self._mountinfo: bytes | None = None
        # A reason for each bad line of a mount table that is new at this tick; None: it is not.
        self.mount_rejects: tuple[str, ...] | None = None
        self._entries: Entries = {}
        self._is_redrawn = False
        self._has_failed = False  # the source failed: what the windows hold is old
        self._now = Layout()
        self._by_record: Mapping[int, Superblock] = {}
        self._flows: tuple[FlowKey, ...] = ()
        # When all superblocks were looked at. One that rests takes part in this alone, until it moves.
        self._clock: Readings[None] = Readings(settings.rate_window_seconds)
        self._moved: Collection[int] = ()  # records that did not rest, the last time
        # Pairs of records taken to share connections that do not, and those that seemed so once.
        self._apart: set[frozenset[Place]] = set()
        self._doubted: set[frozenset[Place]] = set()
        self._guessed: tuple[NfsClient, ...] = ()
        self.is_strange = False  # some superblock is not in the mount table that we know
        # Of each client, by its label; None: nobody tells of sockets.
        self._sockets: dict[str, tuple[TcpSocket, ...] | None] = {}
        self._socket_sums = SocketSums()
        self._connection_sums = ConnectionSums()
        self._ended: list[Owned] = []  # connections that are in the layout no more, at this tick
        self._begun: set[tuple[ClientKey, int]] = set()  # and those that were not in it, by history

    def read_mounts(self, text: bytes | None) -> None:
        """Take up a mount table, unless it is the one that we know."""
        self.mount_rejects = None
        if text is None or text == self._mountinfo:
            return  # superblocks that were known as such stay known
        self._mountinfo = text
        info = mountinfo.parse(text) if b" nfs" in text else mountinfo.MountInfo()
        entries = mountinfo.by_place(info)
        self._is_redrawn = entries != self._entries
        self._entries = entries
        self.mount_rejects = info.rejects

    def parse(self, content: bytes) -> MountTable:
        if self._without is not None and content == self._without[0]:
            return self._without[1]  # nothing in it moves
        table = mountstats.parse(content, self.table)
        self._without = (content, table) if not table.mounts else None
        return table

    def follow(self, found: MountTable | None, moment: Moment) -> Outcome:
        table, at, gap = found, moment.at, moment.is_broken
        self.read_mounts(moment.static.mountinfo)
        self._has_failed = table is None
        if table is None:
            return Outcome(dict.fromkeys(self._flows))
        if table is self.table and not table.mounts:
            return NOTHING
        is_new = self._learn_layout(table)
        if self._guessed and self._part(table.mounts):
            is_new = self._learn_layout(table)
        mounts = table.mounts
        moved = range(len(mounts)) if is_new else self._moving(mounts)
        flows = self._restart(at, mounts) if gap else self._follow_all(at, mounts, moved)
        self._follow_clients(at, mounts, gap=gap)
        self.table = table
        return Outcome(flows)

    def _follow_clients(self, at: float, mounts: Sequence[Mount], *, gap: bool) -> None:
        ended, begun = self._ended, []
        for client in self._now.clients.values():
            key, history, now = client.key, client.history, mounts[client.record].connections
            last = history.last
            is_other = last is not None and _went_back(last[1], now)
            if gap or last is None or is_other:
                history.restart(at, now)
            else:
                history.push(at, now)
                _forget_older(history.timed)
            if _owned(client) in self._begun:
                begun.append((key, now))
            elif last is not None and is_other:
                ended.append((key, last[1]))
                begun.append((key, now))
        if ended or begun:
            present = {client.key for client in self._now.clients.values()}
            self._connection_sums.change(ended, begun, present)
            self._ended, self._begun = [], set()

    def _restart(self, at: float, mounts: Sequence[Mount]) -> dict[FlowKey, FlowTick | None]:
        self._clock.restart(at, None)
        self._moved = range(len(mounts))
        for superblock in self._by_record.values():
            superblock.history.restart(at, superblock.reading(mounts))
        return dict.fromkeys(self._flows)

    def _follow_all(
        self, at: float, mounts: Sequence[Mount], moved: Collection[int]
    ) -> dict[FlowKey, FlowTick | None]:
        """What each superblock did; only those of records that moved are looked at."""
        clock = self._clock
        before_at = clock.last[0] if clock.last is not None else -inf
        if at <= before_at:
            moved = range(len(mounts))
        flows: dict[FlowKey, FlowTick | None] = {}
        flows.update(dict.fromkeys(self._flows, ticks.mount_at_rest(at - before_at)))
        for record in moved:
            superblock = self._by_record.get(record)
            if superblock is None:
                continue  # it is mounted elsewhere, too, and followed there
            history = superblock.history
            if record not in self._moved:
                history.stand(clock.timed)
            flows[superblock.flow] = self._follow(at, history, superblock.reading(mounts))
        clock.push(at, None)
        self._moved = moved
        return flows

    def _moving(self, mounts: Sequence[Mount]) -> set[int]:
        """The records that do not rest, of the mounts that were there before."""
        before = self.table.mounts if self.table is not None else ()
        pairs = enumerate(zip(before, mounts, strict=True))
        return {record for record, (was, now) in pairs if not _rests(was, now)}

    def _follow(self, at: float, history: Readings[Mount], now: Mount) -> FlowTick | None:
        readings = history.timed
        if not readings:
            history.restart(at, now)
            return None
        before_at, before = readings[-1]
        if _rests(before, now) and at > before_at:
            history.push(at, now)
            return ticks.mount_at_rest(at - before_at)
        if mountstats.has_lost_data(before, now):
            # One torn reading costs itself: the next whole one goes on from the last whole one.
            patience = TORN_INTERVALS * self.settings.interval_seconds
            if not now.unreadable or at - before_at >= patience:
                history.restart(at, now)
            return None
        if not mountstats.is_continuous(before, now):
            history.restart(at, now)
            return None
        history.push(at, now)
        found = ticks.of_mount(before, now, at - before_at) if at > before_at else None
        if before.operations is not now.operations:
            mountstats.forget(before.operations)
        return found

    def _learn_layout(self, table: MountTable) -> bool:
        """Group the records into superblocks and clients, when the set of mounts changed."""
        layout = _places(table.mounts)
        if layout == self.layout and not self._is_redrawn:
            return False
        self.layout, self._is_redrawn = layout, False
        for record, superblock in self._by_record.items():
            if record not in self._moved:
                superblock.history.stand(self._clock.timed)
        self._moved = range(len(table.mounts))
        seconds = self.settings.rate_window_seconds
        places = {nfslayout.place(mount) for mount in table.mounts}
        self._apart = {pair for pair in self._apart if pair <= places}
        last = self.table.mounts if self.table is not None else ()
        before = {_owned(client): client for client in self._now.clients.values()}
        self._now = nfslayout.group(
            table.mounts, self._entries, self._now, last, seconds, self._apart
        )
        now = {_owned(client) for client in self._now.clients.values()}
        self._ended += [
            (client.key, client.history.last[1])
            for owned, client in before.items()
            if owned not in now and owned not in self._begun and client.history.last is not None
        ]
        self._begun = (self._begun | (now - before.keys())) & now
        self.table = table  # whose records the layout is of
        self._guessed = tuple(
            one for one in self._now.clients.values() if one.is_guessed(table.mounts)
        )
        superblocks = self._now.superblocks.values()
        self._by_record = {each.record: each for each in superblocks}
        self._flows = tuple([each.flow for each in superblocks])
        self.is_strange = any(each.entry is None for each in superblocks)
        return True

    def _part(self, mounts: Sequence[Mount]) -> bool:
        """Look whether superblocks that are taken to share connections still tell the same of
        them; whether some do not, twice in a row, so that the layout must be drawn again.
        """
        doubted: set[frozenset[Place]] = set()
        for client in self._guessed:
            last, first = client.history.last, mounts[client.record]
            if last is None:
                continue
            for record in client.records:
                other = mounts[record]
                if other.connections is not first.connections and nfslayout.have_parted(
                    last[1], first.connections, other.connections
                ):
                    doubted.add(frozenset((nfslayout.place(first), nfslayout.place(other))))
        parted = doubted & self._doubted
        self._doubted = doubted
        self._apart |= parted
        self._is_redrawn = self._is_redrawn or bool(parted)
        return bool(parted)

    def identities(self) -> dict[FlowKey, str]:
        """What is mounted under each name, as "device:server:/path"."""
        return {
            each.flow: f"device:{each.device}" if each.device else ""
            for each in self._now.superblocks.values()
        }

    def flows(self, slot_limit: int | None) -> list[NfsFlow]:
        by_key: dict[str, NfsClient] = {
            label: client for client in self._now.clients.values() for label in client.mounts
        }
        found = []
        for superblock in self._now.superblocks.values():
            client = by_key[superblock.label]
            key = superblock.client
            found.append(
                NfsFlow(
                    superblock.label,
                    superblock.device,
                    client.label,
                    key.server,
                    key.version,
                    _slots(client, slot_limit),
                    superblock.mount_points,
                )
            )
        return found

    def client_readings(
        self, tcp: tuple[TcpSocket, ...] | None, slot_limit: int | None
    ) -> dict[str, ClientReading]:
        """What this tick showed of each client, by the label of its budgets."""
        clients = self._now.clients.values()
        told = {(_address(client), client.port) for client in clients if client.port is not None}
        self._sockets = {client.label: self._sockets_of(client, tcp, told) for client in clients}
        if tcp is not None and tcp is not self._socket_sums.last:
            self._socket_sums.take(
                tcp, [(client.key, self._sockets[client.label] or ()) for client in clients]
            )
        return {
            client.label: ClientReading(
                client.history.last[1],
                client.history.tick,
                _slots(client, slot_limit),
                self._sockets[client.label] or (),
            )
            for client in clients
            if client.history.last is not None
        }

    def mount_states(self) -> Mapping[str, NfsMountState]:
        """As of now, made when somebody asks."""
        superblocks = self._now.superblocks.values()
        read, has_failed = timed(map(_history, superblocks)), self._has_failed
        mounts = self.table.mounts if self.table is not None else ()
        moved, clock = self._moved, self._clock.timed

        def readings_of(superblock: Superblock, own: TimedReadings[Mount]) -> TimedReadings[Mount]:
            record = superblock.record
            return (
                own if record in moved or not own else stood(own, clock, superblock.reading(mounts))
            )

        return LazyMapping(
            lambda: {
                superblock.label: NfsMountState(
                    superblock.label,
                    readings[-1][1],
                    None if has_failed else window(readings),
                    superblock.entry,
                    superblock.mount_points,
                    superblock.client,
                )
                for superblock, own in zip(superblocks, read, strict=True)
                if (readings := readings_of(superblock, own))
            }
        )

    @property
    def entries(self) -> dict[str, MountEntry | None]:
        """The line of mountinfo of each mount, by its label; None: not known."""
        return {each.label: each.entry for each in self._now.superblocks.values()}

    def _sockets_of(
        self,
        client: NfsClient,
        tcp: tuple[TcpSocket, ...] | None,
        told: Collection[tuple[str, int]],
    ) -> tuple[TcpSocket, ...] | None:
        """The sockets that are this client's, as far as ports tell them apart. told: addresses and ports of
        servers of clients that tell a port.
        """
        if tcp is None:
            return None
        address, ports = _address(client), _ports(client)
        mine = [socket for socket in tcp if socket.remote_address == address]
        if client.port is not None:
            mine = [socket for socket in mine if socket.remote_port == client.port]
        elif told:
            mine = [socket for socket in mine if (address, socket.remote_port) not in told]
        if ports:
            return tuple([socket for socket in mine if socket.local_port in ports])
        # v4.1 and newer show port 0: theirs are those that no other client of the server names.
        taken = {
            port
            for other in self._now.clients.values()
            if other is not client and _address(other) == address
            for port in _ports(other)
        }
        return tuple([socket for socket in mine if socket.local_port not in taken])

    def client_states(self, slot_limit: int | None) -> Mapping[ClientKey, NfsClientState]:
        """As of now, made when somebody asks."""
        clients = self._now.clients.values()
        read = [*zip(clients, timed(map(_history, clients)), strict=True)]
        sockets, has_failed = self._sockets, self._has_failed
        sums, carried = self._socket_sums.sums, self._connection_sums.carried
        return LazyMapping(
            lambda: _client_states(read, sockets, sums, carried, slot_limit, has_failed=has_failed)
        )


class MountPoints(Follower):
    """Whether mountinfo can be read: its content comes with the static part, and is used with mountstats."""

    is_always_asked = True  # the table comes with the static part

    def __init__(self, nfs: Nfs) -> None:
        self._nfs = nfs

    def content(self, snapshot: Snapshot, key: str) -> Any:  # noqa: ARG002
        return None

    def follow(self, found: Any, moment: Moment) -> Outcome:  # noqa: ARG002
        return Outcome(rejects=self._nfs.mount_rejects or ())

    def outcome_without_content(self, snapshot: Snapshot, key: str) -> Outcome | None:
        rejects = self._nfs.mount_rejects
        if rejects is None and key not in snapshot.took:
            return None
        return Outcome(rejects=rejects or ())


def _client_states(
    read: Iterable[tuple[NfsClient, TimedReadings[NfsConnections]]],
    sockets: Mapping[str, tuple[TcpSocket, ...] | None],
    sums: Mapping[ClientKey, TcpCounts],
    carried: Mapping[ClientKey, ConnectionCounts],
    slot_limit: int | None,
    *,
    has_failed: bool,
) -> dict[ClientKey, NfsClientState]:
    found: dict[ClientKey, NfsClientState] = {}
    for client, readings in read:
        if not readings:
            continue
        span = None if has_failed else window(readings)
        state = NfsClientState(
            client.key,
            client.address,
            tuple(readings[-1][1]),
            span and ReadingPair(tuple(span.before), tuple(span.after), span.elapsed_seconds),
            tuple(client.mounts),
            sockets.get(client.label),
            _slots_of_one(client.key, slot_limit),
            sums.get(client.key, TcpCounts()),
            carried.get(client.key, ConnectionCounts()),
        )
        twin = found.get(client.key)
        found[client.key] = state if twin is None else _together(twin, state)
    return found


def _forget_older(readings: TimedReadings[NfsConnections]) -> None:
    """A tick needs the numbers of the last two; of an older one they are asked for by a scrape alone."""
    if len(readings) > 2:
        older = readings[-3][1]
        if older is not readings[-2][1] and older is not readings[-1][1]:
            older.forget()


_history: Callable[[Any], Readings[Any]] = attrgetter("history")


def _rests(before: Mount, now: Mount) -> bool:
    """Whether nothing happened but that it grew older."""
    return (
        now.operations is before.operations
        and now.bytes is before.bytes
        and now.age_seconds >= before.age_seconds
        and now.device == before.device
    )


def _owned(client: NfsClient) -> tuple[ClientKey, int]:
    """What tells connections that go on from others of the same client."""
    return client.key, id(client.history)


def _places(mounts: Sequence[Mount]) -> tuple[object, ...]:
    """What a layout depends on: where each record is mounted, from where, over which ports."""
    return (*map(_names, mounts), *map(_connected_by, mounts))


# The device, the mount point, and the how-manieth there: the first fields of a record.
_names = itemgetter(slice(Mount._fields.index("fstype")))
_connected_by = attrgetter("connections.ports")


def _address(client: NfsClient) -> str:
    """The server's, as sockets have it."""
    # rpc_ntop6() writes the interface behind a link-local one: "fe80::1%2".
    # https://github.com/torvalds/linux/blob/v6.1/net/sunrpc/addr.c
    return (client.address or client.key.server).partition("%")[0]


def _ports(client: NfsClient) -> set[int]:
    """Local ports the kernel names; empty for v4.1 and newer."""
    last = client.history.last
    return set() if last is None else {port for port in last[1].ports if port}


def _slots(client: NfsClient, slot_limit: int | None) -> int | None:
    """Calls the client may have outstanding, where the kernel tells."""
    each = _slots_of_one(client.key, slot_limit)
    if each is None or client.history.last is None:
        return None
    slots = each * max(len(client.history.last[1]), 1)
    return min(slots, NFS4_MOST_SLOTS) if client.key.version == "4.0" else slots


def _slots_of_one(key: ClientKey, slot_limit: int | None) -> int | None:
    """Calls that each connection may have outstanding, where the kernel tells."""
    if slot_limit is None or not _has_slots(key):
        return None
    return min(slot_limit, NFS4_MOST_SLOTS) if key.version == "4.0" else slot_limit


def _has_slots(key: ClientKey) -> bool:
    # v4.1 and newer wait for session slots, whose number the kernel does not show; RDMA and UDP
    # have tables of other sizes (xprt_rdma_slot_table_entries, xprt_udp_slot_table_entries).
    return key.version in {"3", "4.0"} and key.protocol.startswith("tcp")


def _went_back(before: NfsConnections, now: NfsConnections) -> bool:
    """Whether these are not the same connections, further on."""
    if before is now:
        return False
    if len(before) != len(now):
        return True
    return any(map(lt, now.sends, before.sends)) or any(map(lt, now.receives, before.receives))


def _is_as_long(one: ReadingPair[T], other: ReadingPair[T]) -> bool:
    # One of them has just come: growth over different times cannot be added up.
    return abs(one.elapsed_seconds - other.elapsed_seconds) < 0.1


def _together(one: NfsClientState, other: NfsClientState) -> NfsClientState:
    """Two clients with the same label (two sets of ports to one server) as one."""
    window = None
    if (
        one.window is not None
        and other.window is not None
        and _is_as_long(one.window, other.window)
    ):
        window = ReadingPair(
            one.window.before + other.window.before,
            one.window.after + other.window.after,
            one.window.elapsed_seconds,
        )
    return one._replace(
        now=one.now + other.now,
        window=window,
        mounts=one.mounts + other.mounts,
        sockets=one.sockets + tuple(s for s in other.sockets if s not in one.sockets)
        if one.sockets is not None and other.sockets is not None
        else None,
    )
