"""Control groups with a block limit of their own: their requests wait before a disk counts them.

cgroup v2: io.max, io.stat, io.pressure (Documentation/admin-guide/cgroup-v2.rst). v1:
blkio.throttle.* (Documentation/admin-guide/cgroup-v1/blkio-controller.rst). Which groups have a
limit is looked up seldom; only theirs is read every tick.

https://docs.kernel.org/admin-guide/cgroup-v2.html
https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html
"""

from __future__ import annotations

import errno
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, takewhile, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from ioplateau.measure.notice import Notice, is_notice
from ioplateau.measure.parsing import count_of, device_numbers

if TYPE_CHECKING:
    from ioplateau.measure.host import Host

V2_ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
V1_ROOT = "/sys/fs/cgroup/blkio"
V1_LIMITS = ("read_iops", "write_iops", "read_bps", "write_bps")
V1_COUNTS = ("blkio.throttle.io_serviced", "blkio.throttle.io_service_bytes")
MOST_GROUPS = 5000  # a runaway hierarchy costs itself, not the daemon
MOST_LIMITED = 64


class GroupCounters(NamedTuple):
    """One group on one disk: its limits per second (None: none) and cumulative counters.

    A discard is a write operation: bio_data_dir() in block/blk-throttle.c has it so, and the limit holds it.
    """

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
    is_counted: bool = True  # else the counters could not be read, and say nothing


class Limited(NamedTuple):
    """Directories of the groups that have a block limit, and what an operator should know of those
    that were left out.
    """

    places: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


def require(host: Host) -> None:
    """Raises OSError where no hierarchy is mounted in which a group can have a block limit."""
    if v2_roots(host):
        return
    host.list(V2_ROOTS[0])  # says what is wrong with that
    host.list(V1_ROOT)


def v2_roots(host: Host) -> tuple[str, ...]:
    """Where a hierarchy of v2 is mounted. Beside those of v1 only a tmpfs is at the first of V2_ROOTS."""
    return tuple(root for root in V2_ROOTS if said(host, f"{root}/cgroup.controllers"))


def limited(host: Host) -> Limited:
    """The groups that have a block limit. Where there are too many, each slice at the top of the
    hierarchy has an equal share. Raises nothing.
    """
    found: list[str] = []
    notices: list[Notice] = []
    for root in (*v2_roots(host), V1_ROOT):
        if found and root in V2_ROOTS:
            continue
        walk = Walk(host, root)
        has_limit = _has_limit_v1 if root == V1_ROOT else _has_limit_v2
        by_slice: dict[str, list[str]] = {}
        for place in walk:
            if has_limit(host, place):
                by_slice.setdefault(_slice(place, root), []).append(place)
        in_turn = chain.from_iterable(zip_longest(*by_slice.values()))
        found += [place for place in in_turn if place is not None]
        if walk.unseen:
            words = (
                f"control groups: of more than {MOST_GROUPS} only {MOST_GROUPS} were looked at for "
                f"limits; below {_shortened(walk.unseen)} there are others"
            )
            notices.append(Notice(words, f"control groups not looked at, {root}"))
    left_out = found[MOST_LIMITED:]
    if left_out:
        words = (
            f"control groups: {len(found)} have limits, {MOST_LIMITED} are followed; "
            f"left out: {_shortened(left_out)}"
        )
        notices.append(Notice(words, "control groups not followed"))
    return Limited(tuple(found[:MOST_LIMITED]), tuple(notices))


def _has_limit_v2(host: Host, place: str) -> bool:
    return "=" in _without_max(said(host, place + "/io.max"))


def _has_limit_v1(host: Host, place: str) -> bool:
    return any(said(host, f"{place}/blkio.throttle.{name}_device").strip() for name in V1_LIMITS)


def _slice(place: str, root: str) -> str:
    return place.removeprefix(root).split("/", 2)[1] if place != root else ""


def _shortened(places: Iterable[str]) -> str:
    first, *others = places
    return f"{first} and {len(others)} more" if others else first


def read(host: Host, found: Limited) -> list[dict[str, Any]]:
    """What those groups say now, as JSON values. A group that is gone is left out."""
    groups: list[dict[str, Any]] = [notice.as_json() for notice in found.notices]
    for place in found.places:
        texts = {name: _kept(host, f"{place}/{name}") for name in _names(place)}
        kept = {name: text for name, text in texts.items() if text is not None}
        if any(kept.values()):
            groups.append({"path": place.removeprefix(_root(place)) or "/", "files": kept})
    return groups


def files(place: str) -> list[str]:
    """What is read of a group, which the host keeps open: six files at most."""
    return [f"{place}/{name}" for name in _names(place)]


def _names(place: str) -> tuple[str, ...]:
    return _V1_FILES if _root(place) == V1_ROOT else _V2_FILES


def _root(place: str) -> str:
    """The hierarchy's root that a place lies below. A group may be called blkio-heavy.slice."""
    return next(r for r in (V1_ROOT, *reversed(V2_ROOTS)) if f"{place}/".startswith(f"{r}/"))


def _kept(host: Host, path: str) -> str | None:
    try:
        try:
            raw = host.read(path)
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            # The group that was opened is gone (kernfs_get_active() in fs/kernfs/dir.c); another
            # may have its name.
            # https://github.com/torvalds/linux/blob/v6.1/fs/kernfs/dir.c
            raw = host.read(path)
    except OSError:
        return None
    return raw.decode("utf-8", "replace")


_V1_FILES = (
    *(f"blkio.throttle.{name}_device" for name in V1_LIMITS),
    *V1_COUNTS,
)
_V2_FILES = ("io.max", "io.stat", "io.pressure")


def parse(blob: object) -> tuple[tuple[GroupCounters, ...], tuple[str, ...]]:
    """Every group and disk with a limit, and a reason for each entry that makes no sense."""
    if not isinstance(blob, list):
        return (), (f"cgroups: {type(blob).__name__}, want a list",)
    found: list[GroupCounters] = []
    rejects: list[str] = []
    for entry in blob:
        if is_notice(entry):
            continue
        try:
            path, files = str(entry["path"]), entry["files"]
            found += _v2(path, files) if "io.max" in files else _v1(path, files)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            rejects.append(f"cgroups: {type(error).__name__} {error}: {str(entry)[:120]!r}")
    return tuple(found), tuple(rejects)


def _v2(path: str, files: Mapping[str, str]) -> Iterable[GroupCounters]:
    counters = dict(keyed(files.get("io.stat", "")))
    waited = re.search(r"^some .*total=(\S+)", files.get("io.pressure", ""), re.MULTILINE)
    for device, limits in keyed(files["io.max"]):
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
            said.get("wios", 0) + said.get("dios", 0),
            said.get("rbytes", 0),
            said.get("wbytes", 0),
            count_of(waited[1]) if waited else None,
            is_counted="io.stat" in files,
        )


def keyed(text: str) -> Iterable[tuple[tuple[int, int], dict[str, int]]]:
    """Lines like "254:0 rbps=max riops=500"; "max" is no limit and left out."""
    for line in text.splitlines():
        words = line.split()
        # io.stat of Linux 5.14 to 5.18 names each device that counted nothing before the next one,
        # on its line (252c651a4c85, fixed by "blk-cgroup: always terminate io.stat lines"):
        # "7:7 7:6 7:4 rbytes=28672 ...". What is counted is the last one's.
        # https://github.com/canonical/lxd/issues/10052
        names = [*takewhile(lambda word: "=" not in word, words)]
        if not names or (device := device_numbers(names[-1])) is None:
            continue
        pairs = (word.partition("=") for word in words[len(names) :])
        numbers = ((key, count_of(value)) for key, _, value in pairs)
        yield device, {key: number for key, number in numbers if number is not None}


def _v1(path: str, files: Mapping[str, str]) -> Iterable[GroupCounters]:
    limits = {name: _listed(files.get(f"blkio.throttle.{name}_device", "")) for name in V1_LIMITS}
    operations, moved = (served(files.get(name, "")) for name in V1_COUNTS)
    for device in sorted({device for listed in limits.values() for device in listed}):
        yield GroupCounters(
            path,
            device,
            limits["read_iops"].get(device),
            limits["write_iops"].get(device),
            limits["read_bps"].get(device),
            limits["write_bps"].get(device),
            operations.get((device, "Read"), 0),
            operations.get((device, "Write"), 0) + operations.get((device, "Discard"), 0),
            moved.get((device, "Read"), 0),
            moved.get((device, "Write"), 0),
            None,
            is_counted=all(name in files for name in V1_COUNTS),
        )


def _listed(text: str) -> dict[tuple[int, int], int]:
    """Lines like "254:0 500"."""
    return {
        device: number
        for line in text.splitlines()
        if len(words := line.split()) == 2
        and (device := device_numbers(words[0])) is not None
        and (number := count_of(words[1])) is not None
    }


def served(text: str) -> dict[tuple[tuple[int, int], str], int]:
    """Lines like "254:0 Read 12345"."""
    return {
        (device, words[1]): number
        for line in text.splitlines()
        if len(words := line.split()) == 3
        and (device := device_numbers(words[0])) is not None
        and (number := count_of(words[2])) is not None
    }


class Walk:
    """The directories of a hierarchy, MOST_GROUPS at most: each slice at its top in turn, and in
    each the upper ones first, so that none hides another's. unseen: the slices that were not
    finished. is_whole: nothing was left out.
    """

    def __init__(self, host: Host, root: str) -> None:
        self._host = host
        self._root = root
        self.unseen: tuple[str, ...] = ()
        self.is_whole = True

    def __iter__(self) -> Iterator[str]:
        yield self._root
        count = 1
        queues = {place: deque([place]) for place in self._below(self._root)}
        while queues:
            for top, queue in tuple(queues.items()):
                if count == MOST_GROUPS:
                    self.unseen, self.is_whole = tuple(queues), False
                    return
                place = queue.popleft()
                yield place
                count += 1
                queue.extend(self._below(place))
                if not queue:
                    del queues[top]

    def _below(self, place: str) -> list[str]:
        try:
            return [f"{place}/{name}" for name in self._host.folders(place)]
        except FileNotFoundError:  # removed meanwhile
            return []
        except OSError:
            self.is_whole = False
            return []


def path_of(text: bytes) -> str:
    """/proc/<pid>/cgroup: the path in the hierarchy that counts I/O; "" if there is none.

    v2: "0::/path"; v1: "7:blkio:/path", which is asked first where both are mounted.
    """
    unified = ""
    for line in text.decode("utf-8", "replace").split("\n"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "blkio" in controllers.split(","):
            return path
        if number == "0" and not controllers:
            unified = path
    return unified


def said(host: Host, path: str) -> str:
    try:
        return host.read_once(path).decode("utf-8", "replace")
    except OSError:
        return ""


def _without_max(text: str) -> str:
    return re.sub(r"\w+=max", "", text)
