"""Which NFS records are one superblock, and which superblocks share their connections.

A superblock is `major:minor` of mountinfo. A client is a server's address with version, protocol
and set of ports. Every mount repeats the counters of both, so nothing may be grouped by what a
mount calls itself: bind mounts of sub-directories and other names of one server differ there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ioplateau.limits.budgets import FlowKey
from ioplateau.measure import groupnames, mountstats
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.mountinfo import MountEntry
from ioplateau.measure.mountstats import Mount, NfsConnections
from ioplateau.measure.ratewindow import Readings
from ioplateau.state import ClientKey

Entries = Mapping[tuple[str, int], MountEntry]

# Ages are whole seconds, and two records of one reading may be formatted a second apart.
SAME_AGE_SECONDS = 1
# Two records of one reading tell the same counters, but for the calls that were made while the
# kernel wrote what stands between them: 10 ms at 100,000 a second; a share, for longer tables.
CALLS_BETWEEN, CALLS_BETWEEN_RATIO = 1000, 0.01
STRAY_CALLS = 10

Place = tuple[str, int]  # mount point, and the how-manieth there


class Superblock(NamedTuple):
    """One superblock. label: the mount point it was first seen at, of one that kubelet made the volume's
    name, with a number where that is not enough; and device: what was mounted there. Both stay as long as
    the superblock is mounted anywhere.
    """

    flow: FlowKey
    label: str
    device: str
    mounted: tuple[tuple[str, str], ...]  # device and mount point of each of its mounts
    entry: MountEntry | None
    client: ClientKey
    record: int  # its first one, by index in the table
    history: Readings[Mount]

    @property
    def mount_points(self) -> tuple[str, ...]:
        return tuple([point for _, point in self.mounted])

    def reading(self, mounts: Sequence[Mount]) -> Mount:
        """Its record, as one of the device it has been told of."""
        mount = mounts[self.record]
        return mount if mount.device == self.device else mount._replace(device=self.device)


class NfsClient(NamedTuple):
    """The connections that some superblocks share. label: the first superblock's it was seen with, as
    long as there is one it was seen with before. record: the one they are read from, by index in
    the table.
    """

    key: ClientKey
    label: str
    address: str
    record: int
    mounts: list[str]
    history: Readings[NfsConnections]
    records: list[int]  # of each of its superblocks the first
    port: int | None = None  # the server's; None: the usual one

    def is_guessed(self, mounts: Sequence[Mount]) -> bool:
        """Whether several superblocks are taken to share connections because they read alike:
        v4.1 and newer and RDMA show no ports.
        """
        connections = mounts[self.record].connections
        return len(self.records) > 1 and not any(connections.ports)


class Layout(NamedTuple):
    """All of them, by what tells them apart."""

    superblocks: Mapping[object, Superblock] = NO_ENTRIES
    clients: Mapping[object, NfsClient] = NO_ENTRIES


def group(
    mounts: Sequence[Mount],
    entries: Entries,
    before: Layout,
    last: Sequence[Mount],
    seconds: float,
    apart: Collection[frozenset[Place]] = (),
) -> Layout:
    """Every record in its place. Who was there before keeps its label and its history; last: the
    records that the layout before is of; seconds: how long a new history is. apart: pairs of
    records that were seen to have other connections.
    """
    found = [_entry(mount, entries) for mount in mounts]
    clients = _Clients(mounts, found, before, seconds, apart)
    records = _by_superblock(mounts, found)
    mounted = {
        identity: tuple([(mounts[index].device, mounts[index].mount_point) for index in indices])
        for identity, indices in records.items()
    }
    predecessors = {
        identity: predecessor
        for identity, predecessor in _predecessors(mounted, before).items()
        if _is_same(predecessor, mounted[identity], last, mounts[records[identity][0]])
    }
    labels = _labels(
        {identity: _names([point for _, point in places]) for identity, places in mounted.items()},
        {identity: predecessor.label for identity, predecessor in predecessors.items()},
    )
    superblocks = {}
    for identity, indices in records.items():
        predecessor, first, label = predecessors.get(identity), indices[0], labels[identity]
        superblocks[identity] = Superblock(
            FlowKey("nfs", label),
            label,
            predecessor.device if predecessor is not None else mounts[first].device,
            mounted[identity],
            found[first],
            clients.join(first, label).key,
            first,
            predecessor.history if predecessor is not None else Readings(seconds),
        )
    return Layout(superblocks, clients.labelled())


def place(mount: Mount) -> Place:
    """What tells one record of a table from another."""
    return mount.mount_point, mount.occurrence


def have_parted(
    before: NfsConnections,
    earlier: NfsConnections,
    later: NfsConnections,
) -> bool:
    """Whether two records of one reading tell of other connections: the later one cannot be ahead
    by more calls than the earlier one made since the reading `before`, if that is of as many.
    """
    if len(earlier) != len(later):
        return True
    if len(before) != len(earlier):
        return False  # one was made or lost, or its line could not be read: nobody knows
    return any(
        not 0 <= now - first <= first - was + STRAY_CALLS
        for was, first, now in zip(*map(_calls, (before, earlier, later)), strict=True)
    )


def _calls(connections: NfsConnections) -> list[int]:
    return [*connections.sends, *connections.receives]


def _may_be_one(earlier: Iterable[int], later: Iterable[int]) -> bool:
    """Whether two records of one reading may tell the same counters, whatever was before."""
    return all(
        0 <= now - first <= CALLS_BETWEEN + CALLS_BETWEEN_RATIO * first
        for first, now in zip(earlier, later, strict=True)
    )


def _entry(mount: Mount, entries: Entries) -> MountEntry | None:
    """The line of mountinfo; None if there is none, or it is of what was mounted there before."""
    entry = entries.get(place(mount))
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
    namesakes: dict[object, list[object]] = {}
    for identity, (first, *_) in records.items():
        namesakes.setdefault(_name(mounts[first]), []).append(identity)
    for index, entry in enumerate(found):
        if entry is None:
            same = namesakes.setdefault(_name(mounts[index]), [])
            records.setdefault(_guess(mounts, index, same, records), []).append(index)
    for indices in records.values():
        indices.sort()
    return dict(sorted(records.items(), key=lambda item: item[1]))


def _name(mount: Mount) -> tuple[object, ...]:
    # The options of a record are the superblock's: fs/nfs/super.c nfs_show_mount_options().
    # https://github.com/torvalds/linux/blob/v6.1/fs/nfs/super.c
    return mount.device, mount.fstype, frozenset(mount.options.items())


def _completed(mount: Mount) -> list[int]:
    found = (mount.operations.get(name) for name in mountstats.DATA)
    return [0 if one is None else one.operations for one in found]


def _guess(
    mounts: Sequence[Mount],
    index: int,
    namesakes: list[object],
    records: Mapping[object, list[int]],
) -> object:
    """Whose record this is, where mountinfo does not tell: of the same name, age and counters, for
    one too few is better than the same I/O twice.
    """
    mount = mounts[index]
    for identity in namesakes:
        other = mounts[records[identity][0]]
        first, second = (other, mount) if records[identity][0] < index else (mount, other)
        if abs(other.age_seconds - mount.age_seconds) <= SAME_AGE_SECONDS and _may_be_one(
            _completed(first), _completed(second)
        ):
            return identity
    namesakes.append((*_name(mounts[index]), len(namesakes)))
    return namesakes[-1]


def _predecessors(
    mounted: Mapping[object, tuple[tuple[str, str], ...]], before: Layout
) -> dict[object, Superblock]:
    """Who each superblock was in the last layout, under this identity or another."""
    predecessors = {
        identity: before.superblocks[identity]
        for identity in mounted
        if identity in before.superblocks
    }
    # mountinfo began or ceased to tell of it: what is mounted there is still the same.
    without_successor = {
        place: superblock
        for identity, superblock in before.superblocks.items()
        if identity not in predecessors
        for place in superblock.mounted
    }
    for identity, places in mounted.items():
        if identity in predecessors or not without_successor:
            continue
        predecessor = next(
            (without_successor[place] for place in places if place in without_successor), None
        )
        if predecessor is not None:
            predecessors[identity] = predecessor
            without_successor = {
                place: one for place, one in without_successor.items() if one is not predecessor
            }
    return predecessors


def _is_same(
    before: Superblock,
    places: tuple[tuple[str, str], ...],
    last: Sequence[Mount],
    now: Mount,
) -> bool:
    """Whether it is the one that was there: the kernel gives the number of a superblock that is gone
    to the next that comes, and what is new is younger, or about as young as what was seen but once.
    """
    if now.age_seconds < last[before.record].age_seconds:
        return False
    return before.history.tick is not None or any(place in before.mounted for place in places)


def _names(points: Sequence[str]) -> list[str]:
    """What a superblock may be called, the best first. Each pod has a mount point of its own; the volume
    stays when one pod takes the place of another.
    """
    return [*dict.fromkeys([*filter(None, map(groupnames.lasting_volume, points)), *points])]


def _is_staged(label: str) -> bool:
    """Whether a driver of Kubernetes mounts a volume there before any pod has it: its name is not known yet."""
    return label.startswith("/") and label.endswith("/globalmount")


def _labels(
    points: Mapping[object, Sequence[str]], kept: Mapping[object, str]
) -> dict[object, str]:
    """The label of each: the one it had, else the first of its points that is no other's label."""
    labels = {
        identity: label
        for identity, label in kept.items()
        if not _is_staged(label) or points[identity][0].startswith("/")
    }
    taken = set(labels.values())
    for identity, own in points.items():
        if identity not in labels:
            free = next((point for point in own if point not in taken), None)
            labels[identity] = _free(own[0], taken) if free is None else free
            taken.add(labels[identity])
    return labels


def _free(point: str, taken: set[str]) -> str:
    label, number = point, 1
    while label in taken:  # another superblock is, or was first, mounted there
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
        apart: Collection[frozenset[Place]],
    ) -> None:
        self._apart = apart
        self.found: dict[object, NfsClient] = {}
        self._predecessors: dict[object, NfsClient] = {}
        self._mounts = mounts
        self._before = before
        self._seconds = seconds
        self._addresses = {client.key.server: client.address for client in before.clients.values()}
        self._addresses |= {
            _server(mount): entry.super_options["addr"]
            for mount, entry in zip(mounts, entries, strict=True)
            if entry is not None and "addr" in entry.super_options
        }
        self._server_ports = [entry.server_port if entry else None for entry in entries]
        self._own = [entry.super_options.get("addr", "") if entry else "" for entry in entries]

    def join(self, index: int, label: str) -> NfsClient:
        """The client of a record: same server, version, protocol and ports."""
        mount = self._mounts[index]
        server, options = _server(mount), mount.options
        key = ClientKey(server, options.get("vers", ""), options.get("proto", ""))
        # Of v3, where mountinfo is silent, `mountaddr` is the server's too, as a rule.
        address = (
            self._own[index] or options.get("mountaddr", "") or self._addresses.get(server, "")
        )
        ports = mount.connections.ports
        port = self._server_ports[index]
        at = (address or server, port)  # nfs_match_client() compares both
        identity: tuple[object, ...] = (at, key.version, key.protocol, ports)
        while (client := self.found.get(identity)) is not None and self._is_other(client, mount):
            identity = (*identity, "another")
        if client is None:
            predecessor = self._predecessor(identity, key, label, ports)
            if predecessor is not None:
                self._predecessors[identity] = predecessor
            history = Readings(self._seconds) if predecessor is None else predecessor.history
            client = self.found[identity] = NfsClient(
                key, label, address, index, [], history, [], port
            )
        client.mounts.append(label)
        client.records.append(index)
        return client

    def _is_other(self, client: NfsClient, mount: Mount) -> bool:
        """Whether the same words are told of other connections: v4.1 and newer show no ports, so
        a mount with nosharetransport or of another network namespace reads alike. But what the
        same connections count is the same, or a little more in the record that was written later.
        """
        other = self._mounts[client.record]
        if other.connections is mount.connections:
            return frozenset((place(other), place(mount))) in self._apart
        if any(mount.connections.ports):
            return False
        return frozenset((place(other), place(mount))) in self._apart or not _may_be_one(
            _calls(other.connections), _calls(mount.connections)
        )

    def labelled(self) -> dict[object, NfsClient]:
        """All clients, each with the label it had, else with one that is no other's."""
        kept = {
            identity: predecessor.label
            for identity, predecessor in self._predecessors.items()
            if not set(predecessor.mounts).isdisjoint(self.found[identity].mounts)
        }
        labels = _labels({identity: one.mounts for identity, one in self.found.items()}, kept)
        return {
            identity: one._replace(label=labels[identity]) for identity, one in self.found.items()
        }

    def _predecessor(
        self, identity: object, key: ClientKey, label: str, ports: tuple[int | None, ...]
    ) -> NfsClient | None:
        alike = self._before.clients.get(identity)
        namesake = next(
            (
                client
                for client in self._before.clients.values()
                if client.key == key and label in client.mounts
            ),
            None,
        )
        # A connection made anew may have another port and goes on counting. Without ports the
        # identity rests on the order of the records, which may be another one now.
        predecessor = (alike or namesake) if any(ports) else (namesake or alike)
        taken = {id(client.history) for client in self.found.values()}
        is_free = predecessor is not None and id(predecessor.history) not in taken
        return predecessor if is_free else None


def _server(mount: Mount) -> str:
    return mountstats.server_and_export(mount.device)[0]
