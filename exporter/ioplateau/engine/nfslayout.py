"""Which NFS records are one superblock, and which superblocks share their connections.

A superblock is `major:minor` of mountinfo. A client is a server's address with version, protocol
and set of ports. Every mount repeats the counters of both, so nothing may be grouped by what a
mount calls itself: bind mounts of sub-directories and other names of one server differ there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ioplateau.judge.budgets import FlowKey
from ioplateau.measure.delta import History
from ioplateau.measure.mountinfo import MountEntry
from ioplateau.measure.mountstats import Connection, Mount
from ioplateau.measure.nothing import NO_ENTRIES
from ioplateau.state import ClientKey

Entries = Mapping[tuple[str, int], MountEntry]

# Ages are whole seconds, and two records of one reading may be formatted a second apart.
SAME_AGE_SECONDS = 1


class Superblock(NamedTuple):
    """One superblock. label: one of its mount points, with a number where that is not enough."""

    flow: FlowKey
    label: str
    place: str  # the mount point of the label
    mount_points: tuple[str, ...]
    entry: MountEntry | None
    client: ClientKey
    record: int  # its first one, by index in the table
    history: History[Mount]

    @property
    def device(self) -> str:
        """What it was mounted from, "" before its first reading."""
        last = self.history.last
        return last[1].device if last is not None else ""


class Client(NamedTuple):
    """The connections that some superblocks share. record: the one they are read from,
    by index in the table.
    """

    key: ClientKey
    address: str
    record: int
    mounts: list[str]
    history: History[tuple[Connection, ...]]


class Layout(NamedTuple):
    """All of them, by what tells them apart."""

    superblocks: Mapping[object, Superblock] = NO_ENTRIES
    clients: Mapping[object, Client] = NO_ENTRIES


def group(mounts: Sequence[Mount], entries: Entries, before: Layout, seconds: float) -> Layout:
    """Every record in its place. Who was there before keeps its label and its history; seconds:
    how long a new history is.
    """
    found = [_entry(mount, entries) for mount in mounts]
    clients = _Clients(mounts, found, before, seconds)
    records = _by_superblock(mounts, found)
    elders = _elders(mounts, records, before)
    points = {
        identity: tuple(mounts[index].mount_point for index in indices)
        for identity, indices in records.items()
    }
    labels = _labels(points, elders)
    superblocks = {}
    for identity, indices in records.items():
        elder, first = elders.get(identity), indices[0]
        place, label = labels[identity]
        superblocks[identity] = Superblock(
            FlowKey("nfs", label),
            label,
            place,
            points[identity],
            found[first],
            clients.join(first, label).key,
            first,
            elder.history if elder is not None else History(seconds),
        )
    return Layout(superblocks, clients.found)


def _entry(mount: Mount, entries: Entries) -> MountEntry | None:
    """The line of mountinfo; None if there is none, or it is of what was mounted there before."""
    entry = entries.get((mount.mount_point, mount.occurrence))
    # Both files have the device from nfs_show_devname().
    if entry is None or (mount.device and entry.source != mount.device):
        return None
    return entry if entry.fstype.startswith("nfs") else None


def _by_superblock(
    mounts: Sequence[Mount], found: Sequence[MountEntry | None]
) -> dict[object, list[int]]:
    """Indices of the records of each superblock, in the order of the table."""
    records: dict[object, list[int]] = {}
    for index, entry in enumerate(found):
        if entry is not None:
            records.setdefault(entry.device, []).append(index)
    namesakes: dict[tuple[str, str], list[object]] = {}
    for identity, (first, *_) in records.items():
        namesakes.setdefault(_name(mounts[first]), []).append(identity)
    for index, entry in enumerate(found):
        if entry is None:
            same = namesakes.setdefault(_name(mounts[index]), [])
            records.setdefault(_guess(mounts, index, same, records), []).append(index)
    for indices in records.values():
        indices.sort()
    return dict(sorted(records.items(), key=lambda item: item[1]))


def _name(mount: Mount) -> tuple[str, str]:
    return mount.device, mount.fstype


def _guess(
    mounts: Sequence[Mount],
    index: int,
    namesakes: list[object],
    records: Mapping[object, list[int]],
) -> object:
    """Whose record this is, where mountinfo does not tell: of the same name and age, for one too
    few is better than the same I/O twice.
    """
    age = mounts[index].age_seconds
    for identity in namesakes:
        if abs(mounts[records[identity][0]].age_seconds - age) <= SAME_AGE_SECONDS:
            return identity
    namesakes.append((*_name(mounts[index]), len(namesakes)))
    return namesakes[-1]


def _elders(
    mounts: Sequence[Mount], records: Mapping[object, list[int]], before: Layout
) -> dict[object, Superblock]:
    """Who each superblock was in the last layout, under this identity or another."""
    elders = {
        identity: before.superblocks[identity]
        for identity in records
        if identity in before.superblocks
    }
    # mountinfo began or ceased to tell of it: what is mounted there is still the same.
    heirless = {
        (superblock.device, point): superblock
        for identity, superblock in before.superblocks.items()
        if identity not in elders
        for point in superblock.mount_points
    }
    for identity, indices in records.items():
        if identity in elders or not heirless:
            continue
        places = ((mounts[index].device, mounts[index].mount_point) for index in indices)
        elder = next((heirless[place] for place in places if place in heirless), None)
        if elder is not None:
            elders[identity] = elder
            heirless = {place: one for place, one in heirless.items() if one is not elder}
    return elders


def _labels(
    points: Mapping[object, tuple[str, ...]], elders: Mapping[object, Superblock]
) -> dict[object, tuple[str, str]]:
    """Place and label of each: the old ones while that mount point is there, else the first."""
    labels = {
        identity: (elder.place, elder.label)
        for identity, elder in elders.items()
        if elder.place in points[identity]
    }
    taken = {label for _, label in labels.values()}
    for identity, (first, *_) in points.items():
        if identity not in labels:
            labels[identity] = first, _free(first, taken)
            taken.add(labels[identity][1])
    return labels


def _free(point: str, taken: set[str]) -> str:
    label, number = point, 1
    while label in taken:  # an over-mounted path: another superblock under the same name
        number += 1
        label = f"{point}#{number}"
    return label


class _Clients:
    """The clients of one layout, as its superblocks join them."""

    def __init__(
        self,
        mounts: Sequence[Mount],
        entries: Sequence[MountEntry | None],
        before: Layout,
        seconds: float,
    ) -> None:
        self.found: dict[object, Client] = {}
        self._mounts = mounts
        self._before = before
        self._seconds = seconds
        self._addresses = {client.key.server: client.address for client in before.clients.values()}
        self._addresses |= {
            _server(mount): entry.super_options["addr"]
            for mount, entry in zip(mounts, entries, strict=True)
            if entry is not None and "addr" in entry.super_options
        }
        self._own = [entry.super_options.get("addr", "") if entry else "" for entry in entries]

    def join(self, index: int, label: str) -> Client:
        """The client of a record: same server, version, protocol and set of ports."""
        mount = self._mounts[index]
        server, options = _server(mount), mount.options
        key = ClientKey(server, options.get("vers", ""), options.get("proto", ""))
        address = self._own[index] or self._addresses.get(server, "")
        ports = tuple(connection.port for connection in mount.connections)
        identity: tuple[object, ...] = (address or server, key.version, key.protocol, ports)
        while (client := self.found.get(identity)) is not None and self._is_other(client, mount):
            identity = (*identity, "another")
        if client is None:
            client = self.found[identity] = Client(
                key, address, index, [], self._history(identity, key, label)
            )
        client.mounts.append(label)
        return client

    def _is_other(self, client: Client, mount: Mount) -> bool:
        """Whether the same words are told of other connections: v4.1 and newer show no ports, so
        a mount with nosharetransport or of another network namespace reads alike. But counts
        that the file tells later cannot be lower.
        """
        earlier = self._mounts[client.record].connections
        return any(
            now.sends < was.sends or now.receives < was.receives
            for was, now in zip(earlier, mount.connections, strict=True)
        )

    def _history(
        self, identity: object, key: ClientKey, label: str
    ) -> History[tuple[Connection, ...]]:
        elder = self._before.clients.get(identity)
        if elder is None:
            # A connection made anew may have another port and goes on counting.
            elder = next(
                (
                    client
                    for client in self._before.clients.values()
                    if client.key == key and label in client.mounts
                ),
                None,
            )
        taken = {id(client.history) for client in self.found.values()}
        if elder is None or id(elder.history) in taken:
            return History(self._seconds)
        return elder.history


def _server(mount: Mount) -> str:
    return mount.device.partition(":/")[0]
