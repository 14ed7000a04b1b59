"""Who draws on a budget: control groups and processes of the last look, by the devices they use.

Buffered writes are done by the kernel's flusher. cgroup v2 counts them for the group that dirtied the
pages where the file system takes part (ext4, btrfs, xfs, block devices); elsewhere, and always in v1,
the root group has them. Then who dirtied pages is known by the processes that have a file open there:
write_bytes of /proc/<pid>/io grow when a page is dirtied (folio_account_dirtied() in
mm/page-writeback.c). Where something is stacked on the disk the root group's writes may be those of a worker of
that (dm-crypt's, md's) as well, and where no other group counts I/O they are anybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from ioplateau.engine.follower import NOTHING, Follower, Moment, Outcome
from ioplateau.limits.budgets import Budget, BudgetKey, FlowKey
from ioplateau.measure import groupnames, grouptraffic, mountinfo, processes
from ioplateau.measure.groupnames import PodVolume
from ioplateau.measure.grouptraffic import GroupsLook
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.mountinfo import MountEntry
from ioplateau.measure.processes import BusyProcess, ProcessesLook
from ioplateau.measure.snapshot import Static
from ioplateau.measure.sysblock import BlockDevice
from ioplateau.state import BudgetConsumers, Consumer

MOST_NAMED = 5
# A look comes every three seconds while one is asked for, on a machine of many processes seldomer, as
# it says itself; after this it is no longer of now.
STALE_SECONDS = 15.0
LATE_SECONDS, LONGEST_SECONDS = 5.0, 300.0
WOULD_LET_US = "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH would let us"
ROOT = "/"
FLUSHER_SHARE = 0.5  # more than this share of a device's bytes: it is the flusher that waits there


class _Look(NamedTuple):
    at: float
    groups: GroupsLook | None
    processes: ProcessesLook | None
    refused: str  # why processes cannot be listed at all
    holds_seconds: float = STALE_SECONDS


class Devices(NamedTuple):
    """Numbers ("8:16") and names ("sdb", "vg-data") of all that lies on one flow: the disk itself,
    its partitions, what is stacked on it, or the file system of an NFS mount.
    """

    numbers: frozenset[str]
    names: frozenset[str]
    own: frozenset[str]  # numbers of the flow alone: a request counts on each level of a stack
    is_stacked: bool = False  # md or device-mapper nodes are on it, whose workers may do the I/O


_Opened: TypeAlias = tuple[BusyProcess, frozenset[str]]
# The devices of a disk or mount; None: not known, or it is neither.
DevicesOf: TypeAlias = Callable[[FlowKey], Devices | None]


class Consumers(Follower):
    """Remembers the last reading, and the consumers it showed."""

    def __init__(self) -> None:
        self._look: _Look | None = None
        self._found: Mapping[BudgetKey, BudgetConsumers] = NO_ENTRIES
        self._is_new = False
        self._by_requests = frozenset[BudgetKey]()  # what was found is in this order

    def follow(self, found: object, moment: Moment) -> Outcome:
        return NOTHING if found is None else Outcome(rejects=self.take(moment.mono, found))

    def take(self, at: float, blob: object) -> tuple[str, ...]:
        """One look, as the snapshot has it. Why it is left out."""
        try:
            self._look = _parse(at, blob)
        except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError) as error:
            return (f"consumers: {type(error).__name__} {error}",)
        self._is_new = True
        return ()

    def by_budget(
        self,
        at: float,
        budgets: Mapping[BudgetKey, Budget],
        devices: Callable[[], DevicesOf],
        mount_table: bytes | None,
        by_requests: frozenset[BudgetKey] = frozenset(),
    ) -> Mapping[BudgetKey, BudgetConsumers]:
        """Who draws on each budget now; nothing where no look is fresh. devices: asked with a new
        look or order. by_requests: what is held by a limit of requests, of which bytes take nothing.
        """
        look = self._look
        if look is None:
            return NO_ENTRIES
        if at - look.at > look.holds_seconds:
            self._look, self._found = None, NO_ENTRIES
        elif self._is_new or by_requests != self._by_requests:
            self._is_new, self._by_requests = False, by_requests
            self._found = _Drawn(look, budgets, devices(), mount_table or b"", by_requests)
        return self._found


class _Drawn(Mapping[BudgetKey, BudgetConsumers]):
    """Who draws on each budget, found out of those that somebody asks for. It rests on nothing that
    changes later, since any thread may ask at any time.
    """

    def __init__(
        self,
        look: _Look,
        budgets: Mapping[BudgetKey, Budget],
        devices: DevicesOf,
        mount_table: bytes,
        by_requests: frozenset[BudgetKey],
    ) -> None:
        self._look = look
        self._budgets = budgets
        self._devices = devices
        self._mount_table = mount_table
        self._by_requests = by_requests
        self._made: dict[BudgetKey, BudgetConsumers] = {}

    def __getitem__(self, key: BudgetKey) -> BudgetConsumers:
        made = self._made.get(key)
        if made is None:
            of = self._of(key)
            if not of:
                raise KeyError(key)
            made = self._made[key] = _drawn(
                self._look, of, self._volumes, self._opened, by_requests=key in self._by_requests
            )
        return made

    @cached_property
    def _volumes(self) -> tuple[tuple[str, PodVolume], ...]:
        return tuple(_pod_volumes(self._mount_table))

    @cached_property
    def _opened(self) -> Sequence[_Opened]:
        """Of every process on which disks and mounts that we know it has something open, or on what may be any."""
        found = (each.numbers | each.names for key in self._budgets for each in self._of(key))
        known = frozenset({processes.OVERLAY}).union(*found)
        look = self._look.processes
        busiest = () if look is None else look.busiest
        return [(each, known.intersection(each.devices or ())) for each in busiest]

    def _of(self, key: BudgetKey) -> list[Devices]:
        budget = self._budgets.get(key)
        if budget is None:
            return []
        return [d for member in budget.members if (d := self._devices(member)) is not None]

    def __iter__(self) -> Iterator[BudgetKey]:
        return iter([key for key in self._budgets if self._of(key)])

    def __len__(self) -> int:
        return len([*self])


def _pod_volumes(mount_table: bytes) -> Iterable[tuple[str, PodVolume]]:
    lines = b"\n".join(line for line in mount_table.split(b"\n") if b"/kubernetes.io~" in line)
    for entry in mountinfo.parse(lines).entries:
        volume = groupnames.pod_volume(entry.mount_point)
        if volume is not None:
            yield f"{entry.device[0]}:{entry.device[1]}", volume


def _drawn(
    look: _Look,
    devices: Sequence[Devices],
    volumes: Sequence[tuple[str, PodVolume]],
    opened: Sequence[_Opened],
    *,
    by_requests: bool,
) -> BudgetConsumers:
    numbers = frozenset[str]().union(*(each.numbers for each in devices))
    names = frozenset[str]().union(*(each.names for each in devices))
    own = frozenset[str]().union(*(each.own for each in devices))
    moved, unplaced = _moved(look.groups, own, numbers | names, opened)
    doubt = ""
    if own and sum(each.bytes for each in unplaced) > sum(each.bytes for each in moved):
        labels = ", ".join(_named(each.process) for each in unplaced[:MOST_NAMED])
        doubt = f"{labels}: the open files do not tell on which disk"
    whole = _whole(look, own, moved, doubt, by_requests=by_requests)
    return BudgetConsumers(
        seconds=_seconds(look),
        groups=_flushed(
            _groups(look.groups, own, by_requests=by_requests),
            moved,
            look,
            own,
            whole,
            is_stacked=any(each.is_stacked for each in devices),
        )
        or _groups_of(moved, look, whole),
        processes=_processes(moved, look, whole),
        volumes=tuple(dict.fromkeys(volume for number, volume in volumes if number in numbers)),
        unseen=(*_unseen(look, own), *filter(None, [doubt])),
        doubt=doubt,
        at=look.at,
    )


class _Mover(NamedTuple):
    """A process that has something open there. bytes: what it moved there, or may have at most where it
    has something open elsewhere too: nobody counts its I/O by device.
    """

    process: BusyProcess
    bytes: float
    is_sure: bool


def _moved(
    groups: GroupsLook | None,
    own: frozenset[str],
    here: frozenset[str],
    opened: Sequence[_Opened],
) -> tuple[list[_Mover], list[_Mover]]:
    """Processes with something open there, and those with nothing open on any disk or mount we know.
    Where groups count the device, none did more there than its group. Most first.
    """
    sure, others, unplaced = list[BusyProcess](), list[BusyProcess](), list[BusyProcess]()
    for each, places in opened:
        if not here.isdisjoint(places):
            (sure if places <= here else others).append(each)
        elif places <= {processes.OVERLAY}:
            unplaced.append(each)
    left = _left(groups, own)
    found = [_Mover(each, size, True) for each, size in zip(sure, _taken(left, sure), strict=True)]
    found += [_Mover(each, _most(left, each), False) for each in others]
    at_most = [_Mover(each, _most(left, each), False) for each in unplaced]
    return _most_first(found), _most_first(at_most)


def _most_first(found: Sequence[_Mover]) -> list[_Mover]:
    some = [each for each in found if each.bytes > 0]
    return sorted(some, key=lambda each: (each.bytes, each.is_sure), reverse=True)


def _left(groups: GroupsLook | None, own: frozenset[str]) -> dict[str, float] | None:
    """Bytes there by group; None: nobody counts them. "": any other, of which only those told as
    busiest are left out.
    """
    if groups is None or not groups.device_bytes.keys() & own:
        return None
    left = dict[str, float]()
    for each in groups.busiest:
        if each.device in own:
            left[each.group] = left.get(each.group, 0) + each.bytes
    left[""] = _device_bytes(groups, own) - sum(left.values())
    return left


def _places(process: BusyProcess, left: Mapping[str, float]) -> list[str]:
    """Where what a process did may be counted: its group, or one above, where that counts none."""
    path, places = process.group, list[str]()
    if not path or path.startswith("/../"):  # not known, or of a namespace that we are not in
        return [*left]
    while path.rpartition("/")[0]:
        places.append(path)
        path = path.rpartition("/")[0]
    return [*places, *dict.fromkeys((path, ROOT, ""))]


def _taken(left: dict[str, float] | None, sure: Sequence[BusyProcess]) -> list[float]:
    """What each moved of what is left, and no other can have: in proportion where there is less."""
    wanted = [float(each.bytes) for each in sure]
    if left is None:
        return wanted
    places = [_places(each, left) for each in sure]
    taken = [0.0] * len(sure)
    for step in range(max(map(len, places), default=0)):
        asked = dict[str, float]()
        for some, size, had in zip(places, wanted, taken, strict=True):
            if step < len(some):
                asked[some[step]] = asked.get(some[step], 0.0) + size - had
        given = {place: min(left.get(place, 0.0), size) for place, size in asked.items()}
        for number, some in enumerate(places):
            if step < len(some) and (size := asked[some[step]]) > 0:
                taken[number] += (wanted[number] - taken[number]) * given[some[step]] / size
        for place, size in given.items():
            left[place] = left.get(place, 0.0) - size
    return taken


def _most(left: Mapping[str, float] | None, process: BusyProcess) -> float:
    if left is None:
        return process.bytes
    return min(process.bytes, sum(left.get(place, 0.0) for place in _places(process, left)))


def _whole(
    look: _Look, own: frozenset[str], moved: Sequence[_Mover], doubt: str, *, by_requests: bool
) -> float | None:
    """The bytes that shares are of: the device's where groups count them, else what processes moved;
    None: nobody knows, or the groups' shares are of requests.
    """
    total = _device_bytes(look.groups, own)
    if total:
        return None if by_requests else total
    is_sure = not doubt and all(each.is_sure for each in moved)
    return sum(each.bytes for each in moved) or None if is_sure else None


def _device_bytes(groups: GroupsLook | None, own: frozenset[str]) -> int:
    return 0 if groups is None else sum(groups.device_bytes.get(number, 0) for number in own)


_NO_GROUPS = GroupsLook(0.0, ())
FLUSHER = "the kernel's flusher, for whom is not known"
STACKED = "the kernel, for whom is not known"


def devices_of_disk(
    name: str,
    names: Mapping[tuple[int, int], str],
    static: Static,
    devices: Mapping[str, BlockDevice],
) -> Devices:
    """All that lies on a disk. names: kernel names by major and minor number."""
    numbers = {each: f"{major}:{minor}" for (major, minor), each in names.items()}
    inside: dict[str, list[str]] = {}
    for partition, disk in static.partitions.items():
        inside.setdefault(disk, []).append(partition)
    found, todo = set[str](), [name]
    while todo:
        each = todo.pop()
        if each not in found:
            found.add(each)
            todo += [*static.holders.get(each, ()), *inside.get(each, ())]
    mapped = {devices[each].mapper_name for each in found if each in devices} - {""}
    return Devices(
        frozenset(numbers[each] for each in found if each in numbers),
        frozenset(found | mapped),
        frozenset({numbers[name]} if name in numbers else ()),
        any(static.holders.get(each) for each in found),
    )


def devices_of_mount(entry: MountEntry | None) -> Devices | None:
    """The file system of an NFS mount; None: mountinfo does not tell."""
    if entry is None:
        return None
    number = f"{entry.device[0]}:{entry.device[1]}"
    return Devices(frozenset({number}), frozenset(), frozenset())


def _parse(at: float, blob: Any) -> _Look:
    return _Look(
        at,
        None if blob.get("groups") is None else grouptraffic.from_json(blob["groups"]),
        None if blob.get("processes") is None else processes.from_json(blob["processes"]),
        str(blob.get("refused") or ""),
        max(
            STALE_SECONDS,
            min(float(blob.get("next_seconds") or 0.0), LONGEST_SECONDS) + LATE_SECONDS,
        ),
    )


def _groups(
    look: GroupsLook | None, own: frozenset[str], *, by_requests: bool
) -> tuple[Consumer, ...]:
    if look is None:
        return ()
    drawn: dict[str, tuple[int, int]] = {}
    of_ended = {each.group for each in look.busiest if each.is_of_ended}
    for each in look.busiest:
        if each.device in own:
            size, count = drawn.get(each.group, (0, 0))
            drawn[each.group] = size + each.bytes, count + each.requests
    totals = look.device_requests if by_requests else look.device_bytes
    total = sum(totals.get(number, 0) for number in own)
    counted = 1 if by_requests else 0
    first = sorted(drawn.items(), key=lambda item: item[1][counted], reverse=True)[:MOST_NAMED]
    return tuple(
        Consumer(
            path,
            f"groups of {_label(path)} that have ended" if path in of_ended else _label(path),
            size / look.seconds,
            count / look.seconds,
            (count if by_requests else size) / total if total else None,
            groupnames.name(path),
        )
        for path, (size, count) in first
    )


def _processes(moved: Sequence[_Mover], look: _Look, whole: float | None) -> tuple[Consumer, ...]:
    return tuple(
        Consumer(
            each.process.name,
            _named(each.process),
            each.bytes / _seconds(look),
            share=min(each.bytes / whole, 1.0) if whole and each.is_sure else None,
            group=groupnames.name(each.process.group),
            is_at_most=not each.is_sure,
        )
        for each in moved[:MOST_NAMED]
    )


def _named(process: BusyProcess) -> str:
    return f"{groupnames.quoted(process.name)} (pid {process.pid})"


def _groups_of(moved: Sequence[_Mover], look: _Look, whole: float | None) -> tuple[Consumer, ...]:
    """Control groups by their processes: for NFS, and where groups do not count I/O themselves."""
    drawn: dict[str, float] = {}
    unsure = set[str]()
    for process, size, is_sure in moved:
        if process.group:
            drawn[process.group] = drawn.get(process.group, 0) + size
            unsure |= set() if is_sure else {process.group}
    first = sorted(drawn.items(), key=lambda item: item[1], reverse=True)[:MOST_NAMED]
    return tuple(
        Consumer(
            path,
            _label(path),
            size / _seconds(look),
            share=size / whole if whole else None,
            group=groupnames.name(path),
            is_at_most=path in unsure,
        )
        for path, size in first
    )


def _label(path: str) -> str:
    if path == ROOT:
        return "the root control group"
    return str(groupnames.name(path)) or groupnames.quoted(path)


def _flushed(
    groups: tuple[Consumer, ...],
    moved: Sequence[_Mover],
    look: _Look,
    own: frozenset[str],
    whole: float | None,
    *,
    is_stacked: bool,
) -> tuple[Consumer, ...]:
    """The groups, and where the kernel's flusher does most of the I/O, those it does it for first."""
    if look.groups is None:
        return groups
    is_sure = True
    found = _waiting([each.process for each in moved if each.is_sure], look.groups, own)
    if found is None or sum(found[0].values()) < FLUSHER_SHARE * found[1]:
        is_sure = all(each.is_sure for each in moved)
        found = _waiting([each.process for each in moved], look.groups, own)
    if found is None:
        return groups
    if look.groups.seen < 2:  # the root group, which then counts what all do
        return _groups_of(moved, look, whole) or groups
    known = _dirtied(found, look, whole, is_sure=is_sure, is_stacked=is_stacked)
    if not known:
        whose = STACKED if is_stacked else FLUSHER
        sees_all = _sees_all(look.processes)
        return tuple(g._replace(label=whose) if sees_all and g.name == ROOT else g for g in groups)
    names = {each.name for each in known}
    others = tuple(g for g in groups if g.name != ROOT and g.name not in names)
    return (*known, *others)[:MOST_NAMED]


def _dirtied(
    found: tuple[Mapping[str, float], float],
    look: _Look,
    whole: float | None,
    *,
    is_sure: bool,
    is_stacked: bool,
) -> tuple[Consumer, ...]:
    """The groups whose dirty pages the flusher writes, most first. found: of `_waiting`."""
    waiting, by_flusher = found
    dirtied = sum(waiting.values())
    return tuple(
        Consumer(
            path,
            f"the kernel, for {_label(path)}" if is_stacked else _label(path),
            size / _seconds(look),
            share=size / dirtied * by_flusher / whole if whole and is_sure else None,
            group=groupnames.name(path),
            by_flusher=not is_stacked,
            is_at_most=not is_sure,
        )
        for path, size in sorted(waiting.items(), key=lambda item: item[1], reverse=True)
    )[:MOST_NAMED]


def _sees_all(look: ProcessesLook | None) -> bool:
    return (
        look is not None
        and look.seen > 0
        and not look.unreadable
        and not look.is_hidden
        and not look.left_out
    )


def _waiting(
    there: Sequence[BusyProcess], groups: GroupsLook, own: frozenset[str]
) -> tuple[dict[str, int], int] | None:
    """By group, bytes that its processes wrote and the group itself did not, and bytes that the kernel's
    flusher wrote; None: it does not most of the I/O.
    """
    written = dict[str, int]()
    for each in groups.busiest:
        if each.device in own:
            written[each.group] = written.get(each.group, 0) + each.write_bytes
    dirtied = dict[str, int]()
    for process in there:
        dirtied[process.group] = dirtied.get(process.group, 0) + process.write_bytes
    total = _device_bytes(groups, own)
    # What processes of the root group wrote past the page cache is theirs.
    by_flusher = written.get(ROOT, 0) - dirtied.pop(ROOT, 0) - dirtied.pop("", 0)
    if by_flusher <= FLUSHER_SHARE * total:
        return None
    left = {path: size - written.get(path, 0) for path, size in dirtied.items()}
    return {path: size for path, size in left.items() if size > 0}, by_flusher


def _seconds(look: _Look) -> float:
    return (look.processes or look.groups or _NO_GROUPS).seconds


def _unseen(look: _Look, own: frozenset[str]) -> Iterable[str]:
    if look.refused:
        yield f"processes cannot be listed: {look.refused}"
    elif look.processes is not None:
        if look.processes.is_hidden:
            yield (
                "others' processes are hidden here (hidepid of /proc, ProtectProc of the unit: "
                "processes.conf would let us see them)"
            )
        if look.processes.unreadable:
            would = "" if look.processes.is_capable else f" ({WOULD_LET_US})"
            yield (
                f"the I/O of {look.processes.unreadable} of "
                f"{look.processes.unreadable + look.processes.seen} processes may not be seen{would}"
            )
        elif not look.processes.seen:  # we are a process, too
            yield "the kernel does not count the I/O of processes (CONFIG_TASK_IO_ACCOUNTING)"
        if look.processes.is_cut:
            yield f"more than {processes.MOST_PROCESSES} processes: the rest was not looked at"
        if look.processes.left_out:
            yield (
                f"{look.processes.left_out} processes that moved less than {processes.MOST_NAMED} "
                "others on this machine were not looked at"
            )
    if look.groups is not None and own:
        if not look.groups.seen:
            yield "control groups count no I/O here (systemd: DefaultIOAccounting=yes)"
        elif not look.groups.device_bytes.keys() & own:
            yield "no control group counted I/O on this device"
