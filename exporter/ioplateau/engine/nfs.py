"""NFS over time: records grouped into superblocks (I/O) and clients (connections).

I/O belongs to the superblock, connections belong to the client, whatever the number of
mounts that repeat them: see fs/nfs/super.c nfs_show_stats().
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ioplateau.engine.hearsay import ClientNews
from ioplateau.engine.settings import EngineSettings
from ioplateau.judge import ticks
from ioplateau.judge.budgets import FlowKey
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.topology import NfsFlow
from ioplateau.measure import mountinfo, mountstats
from ioplateau.measure.delta import History, Span
from ioplateau.measure.frozen import maker
from ioplateau.measure.mountinfo import MountEntry
from ioplateau.measure.mountstats import Connection, Mount, MountTable
from ioplateau.measure.snapshot import Static
from ioplateau.measure.sockets import TcpSocket
from ioplateau.state import ClientKey, NfsClientState, NfsMountState

_make_mount_state = maker(NfsMountState)


@dataclass(slots=True)
class _Superblock:
    label: str
    mount_points: tuple[str, ...]
    entry: MountEntry | None
    client: ClientKey
    index: int  # of its first record in the table
    history: History[Mount]


@dataclass(slots=True)
class _Client:
    key: ClientKey
    address: str
    index: int  # of the record its connections are read from
    mounts: list[str]
    history: History[tuple[Connection, ...]]


class Nfs:
    """Remembers each superblock and client between ticks."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.table: MountTable | None = None
        self.layout: tuple[object, ...] = ()
        self._mountinfo: bytes | None = None
        self._entries: Mapping[tuple[str, int], MountEntry] = {}
        self._superblocks: dict[object, _Superblock] = {}
        self._clients: dict[object, _Client] = {}

    def observe(
        self,
        at: float,
        table: MountTable | None,
        static: Static,
        *,
        gap: bool,
        flows: dict[FlowKey, FlowTick | None],
    ) -> None:
        if table is None:
            for superblock in self._superblocks.values():
                flows[FlowKey("nfs", superblock.label)] = None
            return
        self._learn_layout(table, static)
        self.table = table
        for superblock in self._superblocks.values():
            mount = table.mounts[superblock.index]
            flows[FlowKey("nfs", superblock.label)] = self._follow(at, superblock, mount, gap=gap)
        for client in self._clients.values():
            self._follow_client(at, client, table.mounts[client.index].connections, gap=gap)

    def _follow(
        self, at: float, superblock: _Superblock, now: Mount, *, gap: bool
    ) -> FlowTick | None:
        last = superblock.history.last
        if last is None or gap or not mountstats.is_continuous(last[1], now):
            superblock.history.restart(at, now)
            return None
        superblock.history.push(at, now)
        return ticks.of_mount(last[1], now, at - last[0]) if at > last[0] else None

    def _follow_client(
        self, at: float, client: _Client, now: tuple[Connection, ...], *, gap: bool
    ) -> None:
        last = client.history.last
        if last is None or gap or len(last[1]) != len(now) or _went_back(last[1], now):
            client.history.restart(at, now)
        else:
            client.history.push(at, now)

    def _learn_layout(self, table: MountTable, static: Static) -> None:
        """Group the records into superblocks and clients, when the set of mounts changed."""
        layout = tuple(_place(mount) for mount in table.mounts)
        if layout == self.layout and static.mountinfo is self._mountinfo:
            return
        if static.mountinfo is not self._mountinfo:
            self._mountinfo = static.mountinfo
            info = mountinfo.parse(static.mountinfo) if static.mountinfo is not None else None
            self._entries = mountinfo.superblocks(info) if info is not None else {}
        self.layout = layout
        superblocks: dict[object, _Superblock] = {}
        clients: dict[object, _Client] = {}
        labels: set[str] = set()
        for index, mount in enumerate(table.mounts):
            entry = self._entries.get((mount.mount_point, mount.occurrence))
            if entry is not None and not entry.fstype.startswith("nfs"):
                entry = None  # the two files were read at different times
            identity = entry.device if entry is not None else (mount.device, mount.fstype)
            known = superblocks.get(identity)
            if known is not None:
                known.mount_points += (mount.mount_point,)
                continue
            label = _free_label(mount, labels)
            labels.add(label)
            client = self._client(clients, index, mount, entry, label)
            before = self._superblocks.get(identity)
            history: History[Mount] = (
                before.history if before else History(self.settings.rate_window_seconds)
            )
            superblocks[identity] = _Superblock(
                label, (mount.mount_point,), entry, client.key, index, history
            )
        self._superblocks, self._clients = superblocks, clients

    def _client(
        self,
        clients: dict[object, _Client],
        index: int,
        mount: Mount,
        entry: MountEntry | None,
        label: str,
    ) -> _Client:
        """The client a mount belongs to: same server, version, protocol and set of ports."""
        server = mount.device.partition(":/")[0]
        address = entry.super_options.get("addr", "") if entry is not None else ""
        version = mount.options.get("vers", "")
        protocol = mount.options.get("proto", "")
        ports = tuple(connection.port for connection in mount.connections)
        identity = (address or server, version, protocol, ports)
        client = clients.get(identity)
        if client is None:
            before = self._clients.get(identity)
            client = clients[identity] = _Client(
                ClientKey(server, version, protocol),
                address,
                index,
                [],
                before.history if before else History(self.settings.rate_window_seconds),
            )
        client.mounts.append(label)
        return client

    def flows(self, slot_limit: int | None) -> list[NfsFlow]:
        by_key: dict[str, _Client] = {
            label: client for client in self._clients.values() for label in client.mounts
        }
        found = []
        for superblock in self._superblocks.values():
            last = superblock.history.last
            client = by_key[superblock.label]
            key = superblock.client
            found.append(
                NfsFlow(
                    superblock.label,
                    last[1].device if last is not None else "",
                    client.mounts[0],
                    key.server,
                    key.version,
                    _slots(client, slot_limit),
                    superblock.mount_points,
                )
            )
        return found

    def news(
        self, tcp: tuple[TcpSocket, ...] | None, slot_limit: int | None
    ) -> dict[str, ClientNews]:
        """What this tick showed of each client, by the label of its budgets."""
        return {
            client.mounts[0]: ClientNews(
                client.history.last[1],
                client.history.tick,
                _slots(client, slot_limit),
                _sockets_of(client, tcp) or (),
            )
            for client in self._clients.values()
            if client.history.last is not None
        }

    def mount_states(self) -> dict[str, NfsMountState]:
        return {
            superblock.label: _make_mount_state(
                superblock.label,
                superblock.history.last[1],
                superblock.history.window,
                superblock.entry,
                superblock.mount_points,
                superblock.client,
            )
            for superblock in self._superblocks.values()
            if superblock.history.last is not None
        }

    def client_states(
        self, tcp: tuple[TcpSocket, ...] | None, slot_limit: int | None
    ) -> dict[ClientKey, NfsClientState]:
        found: dict[ClientKey, NfsClientState] = {}
        for client in self._clients.values():
            if client.history.last is None:
                continue
            state = NfsClientState(
                client.key,
                client.address,
                client.history.last[1],
                client.history.window,
                tuple(client.mounts),
                _sockets_of(client, tcp),
                slot_limit if client.key.version in ("3", "4.0") else None,
            )
            twin = found.get(client.key)
            found[client.key] = state if twin is None else _together(twin, state)
        return found


def _place(mount: Mount) -> tuple[object, ...]:
    return (
        mount.mount_point,
        mount.occurrence,
        mount.device,
        len(mount.connections),
        mount.connections[0].port if mount.connections else None,
    )


def _free_label(mount: Mount, taken: set[str]) -> str:
    label, number = mount.mount_point, 1
    while label in taken:  # an over-mounted path: another superblock under the same name
        number += 1
        label = f"{mount.mount_point}#{number}"
    return label


def _slots(client: _Client, slot_limit: int | None) -> int | None:
    """Calls the client may have outstanding, where the kernel tells."""
    # v4.1 and newer wait for session slots, whose number the kernel does not show.
    if slot_limit is None or client.key.version not in {"3", "4.0"} or client.history.last is None:
        return None
    return slot_limit * max(len(client.history.last[1]), 1)


def _went_back(before: tuple[Connection, ...], now: tuple[Connection, ...]) -> bool:
    return any(
        new.sends < old.sends or new.receives < old.receives
        for old, new in zip(before, now, strict=True)
    )


def _sockets_of(client: _Client, tcp: tuple[TcpSocket, ...] | None) -> tuple[TcpSocket, ...] | None:
    if tcp is None:
        return None
    assert client.history.last is not None
    ports = {connection.port for connection in client.history.last[1] if connection.port}
    address = client.address or client.key.server
    mine = tuple(socket for socket in tcp if socket.remote_address == address)
    if ports:
        return tuple(socket for socket in mine if socket.local_port in ports)
    # v4.1 and newer show port 0: all of the server's sockets on the NFS port are theirs.
    return mine


def _together(one: NfsClientState, other: NfsClientState) -> NfsClientState:
    """Two clients with the same label (two sets of ports to one server) as one."""
    window = None
    if one.window is not None and other.window is not None:
        window = Span(
            one.window.before + other.window.before,
            one.window.after + other.window.after,
            one.window.elapsed_seconds,
        )
    return replace(
        one,
        now=one.now + other.now,
        window=window,
        mounts=one.mounts + other.mounts,
        sockets=one.sockets + tuple(s for s in other.sockets if s not in one.sockets)
        if one.sockets is not None and other.sockets is not None
        else None,
    )
