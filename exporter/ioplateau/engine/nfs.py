"""NFS over time: what each superblock (I/O) and each client (connections) did since the last tick.

I/O belongs to the superblock, connections belong to the client, whatever the number of mounts
that repeat them: see fs/nfs/super.c nfs_show_stats(). Which is which stands in nfslayout.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ioplateau.engine import nfslayout
from ioplateau.engine.hearsay import ClientNews
from ioplateau.engine.nfslayout import Client, Entries, Layout, Superblock
from ioplateau.engine.settings import EngineSettings
from ioplateau.judge import ticks
from ioplateau.judge.budgets import FlowKey
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.topology import NfsFlow
from ioplateau.measure import mountinfo, mountstats
from ioplateau.measure.delta import Span
from ioplateau.measure.mountstats import Connection, Mount, MountTable
from ioplateau.measure.sockets import TcpSocket
from ioplateau.state import ClientKey, NfsClientState, NfsMountState

T = TypeVar("T")


class Nfs:
    """Remembers each superblock and client between ticks."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.table: MountTable | None = None
        self.layout: tuple[object, ...] = ()
        self._mountinfo: bytes | None = None
        self._entries: Entries = {}
        self._is_redrawn = False
        self._now = Layout()
        # Of each client, by its first label; None: nobody tells of sockets.
        self._sockets: dict[str, tuple[TcpSocket, ...] | None] = {}

    def read_mounts(self, text: bytes | None) -> tuple[str, ...] | None:
        """Take up a mount table; a reason for each bad line, or None if it is not a new one."""
        if text is None or text == self._mountinfo:
            return None  # superblocks that were known as such stay known
        self._mountinfo = text
        info = mountinfo.parse(text) if b" nfs" in text else mountinfo.MountInfo()
        entries = mountinfo.superblocks(info)
        self._is_redrawn = entries != self._entries
        self._entries = entries
        return info.rejects

    def observe(
        self,
        at: float,
        table: MountTable | None,
        *,
        gap: bool,
        flows: dict[FlowKey, FlowTick | None],
    ) -> None:
        if table is None:
            for superblock in self._now.superblocks.values():
                flows[superblock.flow] = None
            return
        self._learn_layout(table)
        self.table = table
        for superblock in self._now.superblocks.values():
            mount = table.mounts[superblock.record]
            flows[superblock.flow] = self._follow(at, superblock, mount, gap=gap)
        for client in self._now.clients.values():
            self._follow_client(at, client, table.mounts[client.record].connections, gap=gap)

    def _follow(
        self, at: float, superblock: Superblock, now: Mount, *, gap: bool
    ) -> FlowTick | None:
        last = superblock.history.last
        if last is None or gap or not mountstats.is_continuous(last[1], now):
            superblock.history.restart(at, now)
            return None
        superblock.history.push(at, now)
        return ticks.of_mount(last[1], now, at - last[0]) if at > last[0] else None

    def _follow_client(
        self, at: float, client: Client, now: tuple[Connection, ...], *, gap: bool
    ) -> None:
        last = client.history.last
        if last is None or gap or len(last[1]) != len(now) or _went_back(last[1], now):
            client.history.restart(at, now)
        else:
            client.history.push(at, now)

    def _learn_layout(self, table: MountTable) -> None:
        """Group the records into superblocks and clients, when the set of mounts changed."""
        layout = _places(table.mounts)
        if layout == self.layout and not self._is_redrawn:
            return
        self.layout, self._is_redrawn = layout, False
        seconds = self.settings.rate_window_seconds
        self._now = nfslayout.group(table.mounts, self._entries, self._now, seconds)

    def flows(self, slot_limit: int | None) -> list[NfsFlow]:
        by_key: dict[str, Client] = {
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
        clients = self._now.clients.values()
        self._sockets = {client.mounts[0]: self._sockets_of(client, tcp) for client in clients}
        return {
            client.mounts[0]: ClientNews(
                client.history.last[1],
                client.history.tick,
                _slots(client, slot_limit),
                self._sockets[client.mounts[0]] or (),
            )
            for client in clients
            if client.history.last is not None
        }

    def mount_states(self) -> dict[str, NfsMountState]:
        return {
            superblock.label: NfsMountState(
                superblock.label,
                superblock.history.last[1],
                superblock.history.window,
                superblock.entry,
                superblock.mount_points,
                superblock.client,
            )
            for superblock in self._now.superblocks.values()
            if superblock.history.last is not None
        }

    def _sockets_of(
        self, client: Client, tcp: tuple[TcpSocket, ...] | None
    ) -> tuple[TcpSocket, ...] | None:
        """The sockets that are this client's, as far as ports tell them apart."""
        if tcp is None:
            return None
        address, ports = _address(client), _ports(client)
        mine = [socket for socket in tcp if socket.remote_address == address]
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

    def client_states(self, slot_limit: int | None) -> dict[ClientKey, NfsClientState]:
        found: dict[ClientKey, NfsClientState] = {}
        for client in self._now.clients.values():
            if client.history.last is None:
                continue
            state = NfsClientState(
                client.key,
                client.address,
                client.history.last[1],
                client.history.window,
                tuple(client.mounts),
                self._sockets.get(client.mounts[0]),
                slot_limit if _has_slots(client.key) else None,
            )
            twin = found.get(client.key)
            found[client.key] = state if twin is None else _together(twin, state)
        return found


def _places(mounts: Sequence[Mount]) -> tuple[object, ...]:
    """What a layout depends on: where each record is mounted, from where, over which ports."""
    # Most mounts share their connections with others.
    ports: dict[int, tuple[int | None, ...]] = {}
    for mount in mounts:
        if id(mount.connections) not in ports:
            ports[id(mount.connections)] = tuple([each.port for each in mount.connections])
    return tuple(
        [(m.mount_point, m.occurrence, m.device, ports[id(m.connections)]) for m in mounts]
    )


def _address(client: Client) -> str:
    return client.address or client.key.server


def _ports(client: Client) -> set[int]:
    """Local ports the kernel names; empty for v4.1 and newer."""
    last = client.history.last
    return set() if last is None else {one.port for one in last[1] if one.port}


def _slots(client: Client, slot_limit: int | None) -> int | None:
    """Calls the client may have outstanding, where the kernel tells."""
    if slot_limit is None or client.history.last is None or not _has_slots(client.key):
        return None
    return slot_limit * max(len(client.history.last[1]), 1)


def _has_slots(key: ClientKey) -> bool:
    # v4.1 and newer wait for session slots, whose number the kernel does not show; RDMA and UDP
    # have tables of other sizes (xprt_rdma_slot_table_entries, xprt_udp_slot_table_entries).
    return key.version in {"3", "4.0"} and key.protocol.startswith("tcp")


def _went_back(before: tuple[Connection, ...], now: tuple[Connection, ...]) -> bool:
    return any(
        new.sends < old.sends or new.receives < old.receives
        for old, new in zip(before, now, strict=True)
    )


def _is_as_long(one: Span[T], other: Span[T]) -> bool:
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
        window = Span(
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
