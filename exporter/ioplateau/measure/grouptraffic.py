"""Control groups by the I/O they cause on each block device, between two looks.

cgroup v2: io.stat (Documentation/admin-guide/cgroup-v2.rst), which counts a group with all below
it, and keeps what those did that were removed (blkcg_rstat_flush() in block/blk-cgroup.c); v1:
blkio.throttle.io_service_bytes and io_serviced (cgroup-v1/blkio-controller.rst), which count a
group alone. Since Linux 6.10 the v1 files count only on devices for which some group has
a throttle. Written back pages are counted for the group that dirtied them in v2 (cgroup writeback,
on ext4, btrfs and xfs), for the root in v1.

https://docs.kernel.org/admin-guide/cgroup-v2.html
https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ioplateau.measure import cgroups
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.parsing import counted, elapsed

if TYPE_CHECKING:
    from ioplateau.measure.host import Host

MOST_TOLD = 10  # groups of each device: those with most bytes, and as many with most requests

GroupDevice = tuple[str, str]  # path of the group, number of the device ("8:16")
Counts = tuple[int, int, int, int]  # read bytes, written bytes, reads, writes
NOTHING_YET: Counts = (0, 0, 0, 0)


class BusyGroup(NamedTuple):
    """One control group on one device over the time between two looks: bytes and requests.

    Without discards, unlike `cgroups.GroupCounters`: a group's own limit holds them, those of disks and of
    the VM, on which these groups draw, count none (judge/signals.py).
    """

    group: str  # path below the root of its hierarchy: "/system.slice/db.service"
    device: str  # "8:16"
    read_bytes: int
    write_bytes: int
    reads: int
    writes: int
    is_of_ended: bool = False  # it holds no processes: groups below did it that are gone

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.write_bytes

    @property
    def requests(self) -> int:
        return self.reads + self.writes


_bytes, _requests = attrgetter("bytes"), attrgetter("requests")


class GroupsLook(NamedTuple):
    """What two looks show. seconds: between them."""

    seconds: float
    busiest: tuple[BusyGroup, ...]
    device_bytes: Mapping[str, int] = NO_ENTRIES  # of all groups, by device
    seen: int = 0  # groups that count I/O
    device_requests: Mapping[str, int] = NO_ENTRIES  # of all groups, by device


class GroupCounts(NamedTuple):
    """A hierarchy at one look."""

    root: str
    of: Mapping[str, Mapping[str, Counts] | None]  # by path and device; None: could not be read
    is_whole: bool  # no group was left out


class GroupTraffic:
    """Remembers the last look. One thread at a time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._before: tuple[float, GroupCounts] | None = None

    def forget(self) -> None:
        """The next look is a first one."""
        self._before = None

    def look(self, boot_seconds: float) -> GroupsLook | None:
        """One round; None: the first, or too soon after it. Raises nothing for a group."""
        now, last = read(self._host), self._before
        self._before = boot_seconds, now
        if last is None or boot_seconds <= last[0]:
            return None
        before_at, before = last
        grown, inner = _growth(before, now), set[str]()
        if now.root != cgroups.V1_ROOT:
            grown, inner = _without_those_below(grown), _inner(before, now)
        busy = [
            BusyGroup(*place, *growth, place[0] in inner)
            for place, growth in grown.items()
            if any(growth)
        ]
        all_bytes, all_requests = dict[str, int](), dict[str, int]()
        for each in busy:
            all_bytes[each.device] = all_bytes.get(each.device, 0) + each.bytes
            all_requests[each.device] = all_requests.get(each.device, 0) + each.requests
        busy.sort(key=_bytes, reverse=True)
        seen = sum(map(bool, now.of.values()))
        told = _most_of_each_device(busy)
        return GroupsLook(boot_seconds - before_at, told, all_bytes, seen, all_requests)


def _most_of_each_device(busy: Sequence[BusyGroup]) -> tuple[BusyGroup, ...]:
    """Those of `busy` that do most on their own device, in its order; of a slow disk's the bytes are few."""
    of_device: dict[str, list[BusyGroup]] = {}
    for each in busy:
        of_device.setdefault(each.device, []).append(each)
    most = {
        (each.group, each.device)
        for there in of_device.values()
        for count in (_bytes, _requests)
        for each in sorted(there, key=count, reverse=True)[:MOST_TOLD]
    }
    return tuple(each for each in busy if (each.group, each.device) in most)


def as_json(look: GroupsLook) -> dict[str, Any]:
    """A look as JSON values, for a snapshot."""
    return {
        **look._asdict(),
        "busiest": [busy._asdict() for busy in look.busiest],
        "device_bytes": dict(look.device_bytes),
        "device_requests": dict(look.device_requests),
    }


def from_json(value: Any) -> GroupsLook:
    """What `as_json` made. Raises ValueError, TypeError or KeyError for anything else."""
    busiest = tuple(
        BusyGroup(
            str(each["group"]),
            str(each["device"]),
            counted(each["read_bytes"]),
            counted(each["write_bytes"]),
            counted(each["reads"]),
            counted(each["writes"]),
            bool(each.get("is_of_ended")),  # recordings of earlier versions do not tell
        )
        for each in value["busiest"]
    )
    sizes, counts = (
        {str(device): counted(total) for device, total in totals.items()}
        # Recordings of earlier versions do not tell requests.
        for totals in (value["device_bytes"], value.get("device_requests") or {})
    )
    seconds, seen = elapsed(value["seconds"]), counted(value["seen"])
    return GroupsLook(seconds, busiest, sizes, seen, counts)


def read(host: Host) -> GroupCounts:
    """What the hierarchy that counts I/O says now."""
    for root in cgroups.v2_roots(host):
        found = _all(host, root, _v2)
        if any(found.of.values()):
            return found
    return _all(host, cgroups.V1_ROOT, _v1)


_Parse = Callable[[Callable[[str], str]], dict[str, Counts]]


def _all(host: Host, root: str, parse: _Parse) -> GroupCounts:
    walk = cgroups.Walk(host, root)
    found = {place.removeprefix(root) or "/": _counts(host, place, parse) for place in walk}
    return GroupCounts(root, found, walk.is_whole)


def _counts(host: Host, place: str, parse: _Parse) -> dict[str, Counts] | None:
    try:
        return parse(lambda name: host.read_once(f"{place}/{name}").decode("utf-8", "replace"))
    except OSError:
        return None


def _v2(said: Callable[[str], str]) -> dict[str, Counts]:
    return {
        f"{device[0]}:{device[1]}": (
            counters.get("rbytes", 0),
            counters.get("wbytes", 0),
            counters.get("rios", 0),
            counters.get("wios", 0),
        )
        for device, counters in cgroups.keyed(said("io.stat"))
    }


def _v1(said: Callable[[str], str]) -> dict[str, Counts]:
    moved = cgroups.served(said("blkio.throttle.io_service_bytes"))
    served = cgroups.served(said("blkio.throttle.io_serviced"))
    return {
        f"{device[0]}:{device[1]}": (
            moved.get((device, "Read"), 0),
            moved.get((device, "Write"), 0),
            served.get((device, "Read"), 0),
            served.get((device, "Write"), 0),
        )
        for device in {device for device, _ in moved}
    }


def _growth(before: GroupCounts, now: GroupCounts) -> dict[GroupDevice, Counts]:
    """What came since to each group's counts. Left out is what nobody knows: of a group that could not
    be read, or may have been left out, at the last look, and of counts that fell.
    """
    if before.root != now.root:
        return {}
    found: dict[GroupDevice, Counts] = {}
    for path, devices in now.of.items():
        known = before.of.get(path, NO_ENTRIES if before.is_whole else None)
        if known is None or devices is None:
            continue
        for device, new in devices.items():
            old = known.get(device, NOTHING_YET)
            growth = (new[0] - old[0], new[1] - old[1], new[2] - old[2], new[3] - old[3])
            if min(growth) >= 0:
                found[path, device] = growth
    return found


def _inner(*counts: GroupCounts) -> set[str]:
    """Groups of v2 that have, or had, groups below that count I/O: all but the root hold no processes then
    ("No Internal Process Constraint" of cgroup-v2.rst).
    """
    below = [path for each in counts for path, devices in each.of.items() if devices is not None]
    return {path.rpartition("/")[0] for path in below} - {""}


def _without_those_below(grown: Mapping[GroupDevice, Counts]) -> dict[GroupDevice, Counts]:
    """Growth of each group alone, from growth that includes every group below. What a group did that
    was removed, or of which it is not known, stays with the one above.
    """
    alone = {place: list(growth) for place, growth in grown.items()}
    for (path, device), growth in grown.items():
        above = alone.get((path.rpartition("/")[0] or "/", device))
        if path != "/" and above is not None:
            above[:] = [max(a - g, 0) for a, g in zip(above, growth, strict=True)]
    return {place: (g[0], g[1], g[2], g[3]) for place, g in alone.items()}
