"""Control groups with a block limit of their own: their requests wait before a disk counts them.

cgroup v2: io.max, io.stat, io.pressure (Documentation/admin-guide/cgroup-v2.rst). v1:
blkio.throttle.* (Documentation/admin-guide/cgroup-v1/blkio-controller.rst). Which groups have a
limit is looked up seldom; only theirs is read every tick.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ioplateau.measure.host import Host


V2_ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
V1_ROOT = "/sys/fs/cgroup/blkio"
V1_LIMITS = ("read_iops", "write_iops", "read_bps", "write_bps")
MOST_GROUPS = 5000  # a runaway hierarchy costs itself, not the daemon
MOST_LIMITED = 64
_DEVICE = re.compile(r"(\d+):(\d+)")


class GroupCounters(NamedTuple):
    """One group on one disk: its limits per second (None: none) and cumulative counters."""

    path: str  # below the hierarchy's root: "/system.slice/db.service"
    device: tuple[int, int]
    read_operations_limit: int | None
    write_operations_limit: int | None
    read_bytes_limit: int | None
    write_bytes_limit: int | None
    read_operations: int
    write_operations: int
    read_bytes: int
    write_bytes: int
    pressure_microseconds: int | None  # "some": tasks of the group waited for I/O


def limited(host: Host) -> list[str]:
    """Directories of the groups that have a block limit. Raises nothing."""
    found: list[str] = []
    for root in V2_ROOTS:
        found += [
            place
            for place in _walk(host, root)
            if "=" in _without_max(_said(host, place + "/io.max"))
        ]
        if found:
            break
    found += [
        place
        for place in _walk(host, V1_ROOT)
        if any(_said(host, f"{place}/blkio.throttle.{name}_device").strip() for name in V1_LIMITS)
    ]
    return found[:MOST_LIMITED]


def read(host: Host, places: Iterable[str]) -> list[dict[str, Any]]:
    """What those groups say now, as JSON values. A group that is gone is left out."""
    groups = []
    for place in places:
        is_v1 = place.startswith(V1_ROOT)
        names = _V1_FILES if is_v1 else _V2_FILES
        files = {name: text for name in names if (text := _said(host, f"{place}/{name}"))}
        root = V1_ROOT if is_v1 else next(r for r in reversed(V2_ROOTS) if place.startswith(r))
        if files:
            groups.append({"path": place.removeprefix(root) or "/", "files": files})
    return groups


_V1_FILES = (
    *(f"blkio.throttle.{name}_device" for name in V1_LIMITS),
    "blkio.throttle.io_serviced",
    "blkio.throttle.io_service_bytes",
)
_V2_FILES = ("io.max", "io.stat", "io.pressure")


def parse(blob: object) -> tuple[tuple[GroupCounters, ...], tuple[str, ...]]:
    """Every group and disk with a limit, and a reason for each entry that makes no sense."""
    if not isinstance(blob, list):
        return (), (f"cgroups: {type(blob).__name__}, want a list",)
    found: list[GroupCounters] = []
    rejects: list[str] = []
    for entry in blob:
        try:
            path, files = str(entry["path"]), entry["files"]
            found += _v2(path, files) if "io.max" in files else _v1(path, files)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            rejects.append(f"cgroups: {type(error).__name__} {error}: {str(entry)[:120]!r}")
    return tuple(found), tuple(rejects)


def _v2(path: str, files: Mapping[str, str]) -> Iterable[GroupCounters]:
    counters = dict(_keyed(files.get("io.stat", "")))
    waited = re.search(r"^some .*total=(\d+)", files.get("io.pressure", ""), re.MULTILINE)
    for device, limits in _keyed(files["io.max"]):
        if not limits:
            continue
        said = counters.get(device, {})
        yield GroupCounters(
            path,
            device,
            limits.get("riops"),
            limits.get("wiops"),
            limits.get("rbps"),
            limits.get("wbps"),
            said.get("rios", 0),
            said.get("wios", 0),
            said.get("rbytes", 0),
            said.get("wbytes", 0),
            int(waited[1]) if waited else None,
        )


def _keyed(text: str) -> Iterable[tuple[tuple[int, int], dict[str, int]]]:
    """Lines like "254:0 rbps=max riops=500"; "max" is no limit and left out."""
    for line in text.splitlines():
        words = line.split()
        if not words or not (device := _DEVICE.fullmatch(words[0])):
            continue
        pairs = (word.partition("=") for word in words[1:])
        yield (
            (int(device[1]), int(device[2])),
            {key: int(value) for key, _, value in pairs if value.isdigit()},
        )


def _v1(path: str, files: Mapping[str, str]) -> Iterable[GroupCounters]:
    limits = {name: _listed(files.get(f"blkio.throttle.{name}_device", "")) for name in V1_LIMITS}
    served = _served(files.get("blkio.throttle.io_serviced", ""))
    moved = _served(files.get("blkio.throttle.io_service_bytes", ""))
    for device in sorted({device for listed in limits.values() for device in listed}):
        yield GroupCounters(
            path,
            device,
            limits["read_iops"].get(device),
            limits["write_iops"].get(device),
            limits["read_bps"].get(device),
            limits["write_bps"].get(device),
            served.get((device, "Read"), 0),
            served.get((device, "Write"), 0),
            moved.get((device, "Read"), 0),
            moved.get((device, "Write"), 0),
            None,
        )


def _listed(text: str) -> dict[tuple[int, int], int]:
    """Lines like "254:0 500"."""
    return {
        (int(device[1]), int(device[2])): int(words[1])
        for line in text.splitlines()
        if len(words := line.split()) == 2
        and (device := _DEVICE.fullmatch(words[0]))
        and words[1].isdigit()
    }


def _served(text: str) -> dict[tuple[tuple[int, int], str], int]:
    """Lines like "254:0 Read 12345"."""
    return {
        ((int(device[1]), int(device[2])), words[1]): int(words[2])
        for line in text.splitlines()
        if len(words := line.split()) == 3
        and (device := _DEVICE.fullmatch(words[0]))
        and words[2].isdigit()
    }


def _walk(host: Host, root: str) -> Iterable[str]:
    todo, count = [root], 0
    while todo and count < MOST_GROUPS:
        place = todo.pop()
        count += 1
        yield place
        try:
            todo += [f"{place}/{name}" for name in host.folders(place)]
        except OSError:
            continue


def _said(host: Host, path: str) -> str:
    try:
        return host.read_once(path).decode("utf-8", "replace")
    except OSError:
        return ""


def _without_max(text: str) -> str:
    return re.sub(r"\w+=max", "", text)
