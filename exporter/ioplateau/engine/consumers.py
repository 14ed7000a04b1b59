"""Who draws on a budget: control groups and processes of the last look, by the devices they use.

Buffered writes are done by the kernel's flusher. cgroup v2 counts them for the group that dirtied the
pages where the file system takes part (ext4, btrfs, xfs, block devices); elsewhere, and always in v1,
the root group has them. Then who dirtied pages is known by the processes that have a file open there:
write_bytes of /proc/<pid>/io grow when a page is dirtied (folio_account_dirtied() in
mm/page-writeback.c).
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
from ioplateau.measure.mountinfo import MountEntry
from ioplateau.measure.nothing import NO_ENTRIES
from ioplateau.measure.processes import BusyProcess, ProcessesLook
from ioplateau.measure.snapshot import Static
from ioplateau.measure.sysblock import BlockDevice
from ioplateau.state import BudgetConsumers, Consumer

MOST_NAMED = 5
# A look comes every three seconds while one is asked for, on a machine of many processes seldomer, as
# it says itself; after this it is no longer of now.
STALE_SECONDS = 15.0
LATE_SECONDS, LONGEST_SECONDS = 5.0, 300.0
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


# The devices of a disk or mount; None: not known, or it is neither.
DevicesOf: TypeAlias = Callable[[FlowKey], Devices | None]


class Consumers(Follower):
    """Remembers the last look, and whom it showed."""

    def __init__(self) -> None:
        self._look: _Look | None = None
        self._found: Mapping[BudgetKey, BudgetConsumers] = NO_ENTRIES
        self._is_new = False

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
        look. by_requests: what is held by a limit of requests, of which bytes take nothing.
        """
        look = self._look
        if look is None:
            return NO_ENTRIES
        if at - look.at > look.holds_seconds:
            self._look, self._found = None, NO_ENTRIES
        elif self._is_new:
            self._is_new = False
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
                self._look, of, self._volumes, self._unplaced, by_requests=key in self._by_requests
            )
        return made

    @cached_property
    def _volumes(self) -> tuple[tuple[str, PodVolume], ...]:
        return tuple(_pod_volumes(self._mount_table))

    @cached_property
    def _unplaced(self) -> tuple[BusyProcess, ...]:
        """Processes that have nothing open on any disk or mount we know."""
        look = self._look.processes
        known = frozenset[str]().union(
            *(each.numbers | each.names for key in self._budgets for each in self._of(key))
        )
        busiest = () if look is None else look.busiest
        return tuple(p for p in busiest if known.isdisjoint(p.devices or ()))

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
    lines = b"\n".join(line for line in mount_table.split(b"\n") if b"kubernetes.io~csi" in line)
    for entry in mountinfo.parse(lines).entries:
        volume = groupnames.pod_volume(entry.mount_point)
        if volume is not None:
            yield f"{entry.device[0]}:{entry.device[1]}", volume


def _drawn(
    look: _Look,
    devices: Sequence[Devices],
    volumes: Sequence[tuple[str, PodVolume]],
    unplaced: Sequence[BusyProcess],
    *,
    by_requests: bool,
) -> BudgetConsumers:
    numbers = frozenset[str]().union(*(each.numbers for each in devices))
    names = frozenset[str]().union(*(each.names for each in devices))
    own = frozenset[str]().union(*(each.own for each in devices))
    there = _with_open_files(look.processes, numbers | names)
    return BudgetConsumers(
        seconds=_seconds(look),
        groups=_flushed(_groups(look.groups, own, by_requests=by_requests), there, look, own)
        or _groups_of(there, look),
        processes=_processes(there, look),
        volumes=tuple(dict.fromkeys(volume for number, volume in volumes if number in numbers)),
        unseen=tuple(_unseen(look, own, () if there else unplaced)),
        at=look.at,
    )


_NO_GROUPS = GroupsLook(0.0, ())
FLUSHER = "the kernel's flusher, for whom is not known"


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
            _label(path),
            size / look.seconds,
            count / look.seconds,
            (count if by_requests else size) / total if total else None,
            groupnames.name(path),
        )
        for path, (size, count) in first
    )


def _with_open_files(
    look: ProcessesLook | None, devices: frozenset[str]
) -> tuple[BusyProcess, ...]:
    """Processes that have something open there. Nobody counts how much of their I/O goes there."""
    if look is None:
        return ()
    return tuple(
        p for p in look.busiest if p.devices is not None and not devices.isdisjoint(p.devices)
    )


def _processes(there: Sequence[BusyProcess], look: _Look) -> tuple[Consumer, ...]:
    total = sum(each.bytes for each in there)
    return tuple(
        Consumer(
            each.name,
            _named(each),
            each.bytes / _seconds(look),
            share=each.bytes / total if total else None,
            group=groupnames.name(each.group),
        )
        for each in there[:MOST_NAMED]
    )


def _named(process: BusyProcess) -> str:
    return f"{process.name} (pid {process.pid})"


def _groups_of(there: Sequence[BusyProcess], look: _Look) -> tuple[Consumer, ...]:
    """Control groups by their processes: for NFS, and where groups do not count I/O themselves."""
    drawn: dict[str, int] = {}
    for each in there:
        if each.group:
            drawn[each.group] = drawn.get(each.group, 0) + each.bytes
    total = sum(drawn.values())
    first = sorted(drawn.items(), key=lambda item: item[1], reverse=True)[:MOST_NAMED]
    found = []
    for path, size in first:
        who = groupnames.name(path)
        rate, share = size / _seconds(look), size / total if total else None
        found.append(Consumer(path, _label(path), rate, share=share, group=who))
    return tuple(found)


def _label(path: str) -> str:
    return "the root control group" if path == ROOT else str(groupnames.name(path)) or path


def _flushed(
    groups: tuple[Consumer, ...],
    there: Sequence[BusyProcess],
    look: _Look,
    own: frozenset[str],
) -> tuple[Consumer, ...]:
    """The groups, and where the kernel's flusher does most of the I/O, those it does it for first."""
    if look.groups is None:
        return groups
    waiting = _waiting(there, look.groups, own)
    if waiting is None:
        return groups
    whole = sum(waiting.values())
    known = tuple(
        Consumer(
            path,
            _label(path),
            size / _seconds(look),
            share=size / whole,
            group=groupnames.name(path),
            by_flusher=True,
        )
        for path, size in sorted(waiting.items(), key=lambda item: item[1], reverse=True)
    )[:MOST_NAMED]
    if not known:
        found = look.processes
        is_seen = (
            found is not None
            and found.seen > 0
            and not found.unreadable
            and not found.is_hidden
            and not found.left_out
        )
        return tuple(g._replace(label=FLUSHER) if is_seen and g.name == ROOT else g for g in groups)
    names = {each.name for each in known}
    others = tuple(g for g in groups if g.name != ROOT and g.name not in names)
    return (*known, *others)[:MOST_NAMED]


def _waiting(
    there: Sequence[BusyProcess], groups: GroupsLook, own: frozenset[str]
) -> dict[str, int] | None:
    """By group, bytes that its processes wrote and the group itself did not; None: the kernel's flusher does
    not most of the I/O.
    """
    written = dict[str, int]()
    for each in groups.busiest:
        if each.device in own:
            written[each.group] = written.get(each.group, 0) + each.write_bytes
    dirtied = dict[str, int]()
    for process in there:
        dirtied[process.group] = dirtied.get(process.group, 0) + process.write_bytes
    total = sum(groups.device_bytes.get(number, 0) for number in own)
    # What processes of the root group wrote past the page cache is theirs.
    by_flusher = written.get(ROOT, 0) - dirtied.pop(ROOT, 0) - dirtied.pop("", 0)
    if by_flusher <= FLUSHER_SHARE * total:
        return None
    left = {path: size - written.get(path, 0) for path, size in dirtied.items()}
    return {path: size for path, size in left.items() if size > 0}


def _seconds(look: _Look) -> float:
    return (look.processes or look.groups or _NO_GROUPS).seconds


def _unseen(look: _Look, own: frozenset[str], unplaced: Sequence[BusyProcess]) -> Iterable[str]:
    if look.refused:
        yield f"processes cannot be listed: {look.refused}"
    elif look.processes is not None:
        if look.processes.is_hidden:
            yield (
                "others' processes are hidden here (hidepid of /proc, ProtectProc of the unit: "
                "processes.conf would let us see them)"
            )
        if look.processes.unreadable:
            yield (
                f"the I/O of {look.processes.unreadable} of "
                f"{look.processes.unreadable + look.processes.seen} processes may not be seen "
                "(CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH would let us)"
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
        if own and unplaced:
            labels = ", ".join(_named(each) for each in unplaced[:MOST_NAMED])
            yield f"{labels}: the open files do not tell on which disk"
    if look.groups is not None and own:
        if not look.groups.seen:
            yield "control groups count no I/O here (systemd: DefaultIOAccounting=yes)"
        elif not look.groups.device_bytes.keys() & own:
            yield "no control group counted I/O on this device"
