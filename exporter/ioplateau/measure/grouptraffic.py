"""Control groups by the I/O they cause on each block device, between two looks.

cgroup v2: io.stat (Documentation/admin-guide/cgroup-v2.rst), which counts a group with all below
it; v1: blkio.throttle.io_service_bytes and io_serviced (cgroup-v1/blkio-controller.rst), which
count a group alone. Since Linux 6.10 the v1 files count only on devices for which some group has
a throttle. Written back pages are counted for the group that dirtied them in v2 (cgroup writeback,
on ext4, btrfs and xfs), for the root in v1.

https://docs.kernel.org/admin-guide/cgroup-v2.html
https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ioplateau.measure import cgroups
from ioplateau.measure.nothing import NO_ENTRIES

if TYPE_CHECKING:
    from ioplateau.measure.host import Host

MOST_TOLD = 20  # groups and devices of one look, those with most bytes

Place = tuple[str, str]  # path of the group, number of the device ("8:16")
Counts = tuple[int, int, int, int]  # read bytes, written bytes, reads, writes


class BusyGroup(NamedTuple):
    """One control group on one device over the time between two looks: bytes and requests."""

    group: str  # path below the root of its hierarchy: "/system.slice/db.service"
    device: str  # "8:16"
    read_bytes: int
    write_bytes: int
    reads: int
    writes: int


class GroupsLook(NamedTuple):
    """What two looks show. seconds: between them."""

    seconds: float
    busiest: tuple[BusyGroup, ...]
    device_bytes: Mapping[str, int] = NO_ENTRIES  # of all groups, by device
    seen: int = 0  # groups that count I/O


class GroupTraffic:
    """Remembers the last look. One thread at a time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._before: Mapping[Place, Counts] = NO_ENTRIES
        self._before_at: float | None = None

    def forget(self) -> None:
        """The next look is a first one."""
        self._before, self._before_at = NO_ENTRIES, None

    def look(self, boot_seconds: float) -> GroupsLook | None:
        """One round; None: the first, or too soon after it. Raises nothing for a group."""
        now, seen = read(self._host)
        before, before_at = self._before, self._before_at
        self._before, self._before_at = now, boot_seconds
        if before_at is None or boot_seconds <= before_at:
            return None
        busy = [
            BusyGroup(*place, *growth)
            for place, counts in now.items()
            if any(growth := _growth(before.get(place, (0, 0, 0, 0)), counts))
        ]
        all_bytes: dict[str, int] = {}
        for each in busy:
            total = all_bytes.get(each.device, 0) + each.read_bytes + each.write_bytes
            all_bytes[each.device] = total
        busy.sort(key=lambda each: each.read_bytes + each.write_bytes, reverse=True)
        return GroupsLook(boot_seconds - before_at, tuple(busy[:MOST_TOLD]), all_bytes, seen)


def as_json(look: GroupsLook) -> dict[str, Any]:
    """A look as JSON values, for a snapshot."""
    return {
        **look._asdict(),
        "busiest": [busy._asdict() for busy in look.busiest],
        "device_bytes": dict(look.device_bytes),
    }


def from_json(value: Any) -> GroupsLook:
    """What `as_json` made. Raises ValueError, TypeError or KeyError for anything else."""
    seconds = float(value["seconds"])
    if not 0 < seconds < float("inf"):
        raise ValueError(f"seconds={value['seconds']!r}, want more than 0")
    busiest = tuple(
        BusyGroup(
            str(each["group"]),
            str(each["device"]),
            *(max(int(each[key]), 0) for key in BusyGroup._fields[2:]),
        )
        for each in value["busiest"]
    )
    totals = {str(device): max(int(size), 0) for device, size in value["device_bytes"].items()}
    return GroupsLook(seconds, busiest, totals, int(value["seen"]))


def read(host: Host) -> tuple[dict[Place, Counts], int]:
    """Counts of each group on each device, without those of the groups below it; and how many
    groups count at all.
    """
    for root in cgroups.v2_roots(host):
        counted = _all(host, root, _v2)
        if counted:
            return _without_those_below(counted), len(counted)
    counted = _all(host, cgroups.V1_ROOT, _v1)
    places = {(path, device): c for path, of in counted.items() for device, c in of.items()}
    return places, len(counted)


_Parse = Callable[[Callable[[str], str]], dict[str, Counts]]


def _all(host: Host, root: str, parse: _Parse) -> dict[str, dict[str, Counts]]:
    """Counts by device of each group that has any, by its path."""
    found = {}
    for place in cgroups.Walk(host, root):
        counts = parse(partial(_said, host, place))
        if counts:
            found[place.removeprefix(root) or "/"] = counts
    return found


def _said(host: Host, place: str, name: str) -> str:
    return cgroups.said(host, f"{place}/{name}")


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


def _without_those_below(counted: Mapping[str, Mapping[str, Counts]]) -> dict[Place, Counts]:
    """Counts of each group alone, from counts that include every group below."""
    alone = {(path, device): list(c) for path, of in counted.items() for device, c in of.items()}
    for path, devices in counted.items():
        parent = path.rpartition("/")[0] or "/"
        if path == "/":
            continue
        for device, counts in devices.items():
            above = alone.get((parent, device))
            if above is not None:
                above[:] = [max(a - c, 0) for a, c in zip(above, counts, strict=True)]
    return {place: (c[0], c[1], c[2], c[3]) for place, c in alone.items()}


def _growth(before: Counts, now: Counts) -> Counts:
    """What came since; what fell began anew."""
    if any(new < old for old, new in zip(before, now, strict=True)):
        return (0, 0, 0, 0)  # a group below went and took its counts along, or it is a new one
    return (now[0] - before[0], now[1] - before[1], now[2] - before[2], now[3] - before[3])
