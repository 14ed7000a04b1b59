"""Block devices over time: which lines are flows, and what each did since the last tick."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import inf
from operator import itemgetter
from typing import NamedTuple

from ioplateau.engine.follower import Follower, Moment, Outcome, follow
from ioplateau.engine.settings import EngineSettings
from ioplateau.judge import ticks
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import FlowKey
from ioplateau.limits.stacks import is_remote_disk
from ioplateau.measure import diskstats, multipath, sysblock
from ioplateau.measure.diskstats import DiskCounters, DiskTable
from ioplateau.measure.mappings import LazyMapping
from ioplateau.measure.ratewindow import Readings, TimedReadings, window
from ioplateau.measure.snapshot import Static
from ioplateau.measure.sysblock import BlockDevice
from ioplateau.state import DiskState

# Drivers of requests, which the kernel does not count where queue/iostats is off; and pmem, which asks
# (pmem_submit_bio()). Others that are made of bios (dm, md, zram) say 0 there on many kernels and are
# counted all the same (dm: until 6.5).
# https://github.com/torvalds/linux/blob/v6.1/block/blk-mq.c
_MAY_COUNT_NOTHING = ("disk", sysblock.NETWORK, sysblock.PMEM, "loop", "nbd")


class _Flow(NamedTuple):
    """A disk that is followed."""

    name: str
    key: FlowKey
    is_shown: bool


class Disks(Follower):
    """Remembers each block device between ticks."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.table: DiskTable | None = None
        self._has_failed = False  # the source failed: what the windows hold is old
        self.devices: Mapping[str, BlockDevice] = {}
        self.names: tuple[str, ...] = ()
        self._flows: tuple[_Flow, ...] = ()  # of the names
        # All of the file at each tick, and of each flow when it began: its counters go on since then.
        self._history: Readings[Mapping[str, DiskCounters]] = Readings(settings.rate_window_seconds)
        self._since: Mapping[str, float] = {}  # made anew where it changes: states keep it
        self._shown: tuple[str, ...] = ()
        # Of disks of several paths, which stand nowhere as they are counted.
        self._together: Mapping[str, Readings[DiskCounters]] = {}
        # Not shown. Those that draw on the VM are followed all the same.
        self.hidden: frozenset[str] = frozenset()
        self._static: Static | None = None
        self._taken: EngineSettings | None = None
        self._seen: tuple[str, ...] = ()
        # Whether some disk is new, or its counters have just begun: it may be another one than
        # what is known of the machine tells.
        self.is_strange = self._has_unknown = False
        # Of each device without a size: operations as that was seen. Those that have done nothing since are left out.
        self._sizeless: Mapping[str, int] = {}
        self._empty: frozenset[str] = frozenset()
        self._known: dict[str, BlockDevice] = {}  # as they were told last
        # What sysfs says, paths of multipath and all.
        self._described: Mapping[str, BlockDevice] = {}
        self._heads: Mapping[str, str] = {}  # of each path of multipath, its disk
        self._paths: dict[str, tuple[str, ...]] = {}  # of each such disk, its paths
        self._counting: dict[str, tuple[str, ...]] = {}  # and whose counters were its own last
        # The kernel was told to count nothing of them.
        self._uncounted: frozenset[str] = frozenset()

    def parse(self, content: bytes) -> DiskTable:
        return diskstats.parse(content, self.table)

    def follow(self, found: DiskTable | None, moment: Moment) -> Outcome:
        table, at, gap = found, moment.at, moment.is_broken
        self._has_failed = table is None
        if table is None:
            self.is_strange = any(flow.is_shown for flow in self._flows)
            return Outcome({flow.key: None for flow in self._flows})
        has_medium = any(
            name in table.disks and not self._is_empty(name, table.disks[name])
            for name in self._empty
        )
        if has_medium:
            self._seen = ()  # the names are the same
        self._learn_names(table, moment.static)
        self.table = table
        self.is_strange = self._has_unknown or has_medium
        disks, since = table.disks, self._since
        before_at, before = self._history.last or (at, disks)
        elapsed = at - before_at
        is_broken = gap or elapsed <= 0
        begun: list[str] = []
        flows: dict[FlowKey, FlowTick | None] = {}
        for name, key, is_shown in self._flows:
            tick = None
            if name in self._paths:
                tick = self._follow_paths(at, name, table, gap=gap)
            elif name in self._uncounted and name in since and before[name] == disks[name]:
                begun.append(name)
                flows[key] = None  # whether it rests or works
                continue
            else:
                if not is_broken and name in since:
                    tick = ticks.of_disk(before[name], disks[name], elapsed)
                if tick is None:
                    begun.append(name)
            flows[key] = tick
            if tick is None and is_shown:
                self.is_strange = True
        if begun:
            self._since = {**since, **dict.fromkeys(begun, at)}
        if is_broken:
            self._history.restart(at, disks)
        else:
            self._history.push(at, disks)
        return Outcome(flows)

    def _follow_paths(
        self, at: float, name: str, table: DiskTable, *, gap: bool
    ) -> FlowTick | None:
        """A disk of several paths, counted once, by whoever counts on this kernel."""
        head, paths = table.disks[name], [table.disks[path] for path in self._paths[name]]
        counted = multipath.counting(head, paths, self.devices.get(name))
        names = tuple([one.name for one in counted])
        is_same = self._counting.get(name, names) == names
        self._counting[name] = names
        now = multipath.together(head, counted)
        history = self._together[name]
        return follow(at, history, now, ticks.of_disk, gap=gap or not is_same)

    def _learn_names(self, table: DiskTable, static: Static) -> None:
        seen = tuple(table.disks)
        settings = self.settings
        if seen == self._seen and static is self._static and settings is self._taken:
            return
        if static is not self._static:
            self._described = sysblock.parse(static)
            self.devices = multipath.described(self._described)
        self._heads = multipath.paths(dict.fromkeys((*seen, *self._described)), self._described)
        self._seen, self._static, self._taken = seen, static, settings
        self._sizeless = {
            name: self._sizeless.get(name, _moved(table.disks[name]))
            for name in seen
            if (device := self.devices.get(name)) is not None and device.size_bytes == 0
        }
        whole = tuple(name for name in seen if self._is_whole(name, table.disks[name], static))
        self.hidden = frozenset(name for name in whole if settings.is_hidden(name))
        self._empty = frozenset(name for name in seen if self._is_empty(name, table.disks[name]))
        names = self._flow_names(whole)
        if names != self.names:
            self.names = names
        self._learn_paths(names, seen)
        self._uncounted = frozenset(
            name
            for name in names
            if name not in self._paths
            and (device := self.devices.get(name)) is not None
            and device.counts_io is False
            and device.kind in _MAY_COUNT_NOTHING
        )
        self._learn_flows(names)

    def _flow_names(self, whole: Sequence[str]) -> tuple[str, ...]:
        # An operator may not want to see a disk; what it takes from the VM's lanes it takes.
        names = tuple(
            name
            for name in whole
            if name not in self.hidden or is_remote_disk(name, self.devices.get(name))
        )
        swapped = [name for name in names if self._is_swapped(name)]
        if swapped:
            # Out for a tick, so that nothing that was learned of the old one is held against
            # the new one, here or downstream.
            names = tuple(name for name in names if name not in swapped)
            self._seen = ()
        return names

    def _learn_paths(self, names: Sequence[str], seen: Sequence[str]) -> None:
        self._paths = {
            head: tuple(path for path in seen if self._heads.get(path) == head)
            for head in self._heads.values()
            if head in names
        }
        self._counting = {
            head: last for head, last in self._counting.items() if head in self._paths
        }

    def _learn_flows(self, names: tuple[str, ...]) -> None:
        """A flow for each of these; one that was there goes on."""
        before = {flow.name: flow for flow in self._flows}
        self._flows = tuple(
            _Flow(
                name,
                before[name].key if name in before else FlowKey("disk", name),
                name not in self.hidden,
            )
            for name in names
        )
        self._shown = tuple([flow.name for flow in self._flows if flow.is_shown])
        self._together = {
            name: self._together.get(name) or self._readings_of(name) for name in self._paths
        }
        self._since = {
            name: since
            for name, since in self._since.items()
            if name in names and name not in self._paths
        }
        self._has_unknown = any(
            flow.is_shown and flow.name not in self.devices for flow in self._flows
        )
        self._known = {
            name: device
            for name in names
            if (device := self.devices.get(name) or self._known.get(name)) is not None
        }

    def _readings_of(self, name: str) -> Readings[DiskCounters]:
        """Of a disk of several paths from now on."""
        found: Readings[DiskCounters] = Readings(self.settings.rate_window_seconds)
        found.timed = _own(self._history.timed, name, self._since.get(name, inf))
        return found

    def _is_swapped(self, name: str) -> bool:
        """Whether another disk came under the name of one that was here at the last tick."""
        before, now = self._known.get(name), self.devices.get(name)
        return before is not None and now is not None and sysblock.is_swapped(before, now)

    def _is_whole(self, name: str, disk: DiskCounters, static: Static) -> bool:
        if name in static.partitions or name in self._heads:
            return False
        device = self.devices.get(name)
        if device is None or not device.kind:
            if _is_partition_name(name, self._seen):
                return False
        elif device.partition_of or device.kind == "partition":
            return False
        return not self._is_empty(name, disk)

    def _is_empty(self, name: str, disk: DiskCounters) -> bool:
        """Whether it is a loop device without a file, or a drive without a medium: with one it is read first."""
        return self._sizeless.get(name) == _moved(disk)

    @property
    def numbers(self) -> dict[tuple[int, int], str]:
        """Kernel names by major and minor number, without paths: what is on a disk has its head's."""
        table = self.table
        if table is None:
            return {}
        return {disk.device: name for name, disk in table.disks.items() if name not in self._heads}

    def with_partitions(self) -> dict[str, BlockDevice | None]:
        """Every flow, and the partitions that stacked devices are made of."""
        found: dict[str, BlockDevice | None] = {
            name: device for name, device in self.devices.items() if device.partition_of
        }
        return found | {name: self.devices.get(name) for name in self.names}

    def unwanted(self) -> dict[str, BlockDevice | None]:
        """Every disk that the operator does not want to see."""
        return {name: self.devices.get(name) for name in self.hidden}

    @property
    def notices(self) -> tuple[str, ...]:
        """What an operator should know of disks that are shown and not counted; pmem is not, unless told to."""
        return tuple(
            f"{name}: the kernel counts nothing of this disk, so nothing is known of it: "
            f"echo 1 > /sys/block/{name.replace('/', '!')}/queue/iostats"
            for name in sorted(self._uncounted - self.hidden)
            if self.devices[name].kind != sysblock.PMEM
        )

    def identities(self) -> dict[FlowKey, str]:
        """What tells the disk under each name from another."""
        return {
            flow.key: sysblock.lasting_identity(self.devices.get(flow.name)) for flow in self._flows
        }

    def diskseqs(self) -> dict[FlowKey, int]:
        """What tells them apart within a boot, where the kernel counts the disks it meets."""
        devices = {flow.key: self.devices.get(flow.name) for flow in self._flows}
        return {
            key: device.diskseq
            for key, device in devices.items()
            if device is not None and device.diskseq is not None
        }

    def states(self) -> Mapping[str, DiskState]:
        """As of now, made when somebody asks."""
        names, history, since = self._shown, self._history.timed, self._since
        together = {name: readings.timed for name, readings in self._together.items()}
        devices, has_failed = self.devices, self._has_failed
        return LazyMapping(
            lambda: {
                name: DiskState(
                    name,
                    readings[-1][1],
                    None if has_failed else window(readings),
                    devices.get(name),
                )
                for name in names
                if (readings := together.get(name) or _ends(history, name, since.get(name, inf)))
            }
        )


def _own(
    history: TimedReadings[Mapping[str, DiskCounters]], name: str, since: float
) -> TimedReadings[DiskCounters]:
    """The readings of one disk from `since` on."""
    return tuple([(at, disks[name]) for at, disks in _from(history, since)])


def _ends(
    history: TimedReadings[Mapping[str, DiskCounters]], name: str, since: float
) -> TimedReadings[DiskCounters]:
    """The first and the last of them."""
    own = _from(history, since)
    return tuple([(at, disks[name]) for at, disks in own[:1] + own[1:][-1:]])


def _from(
    history: TimedReadings[Mapping[str, DiskCounters]], since: float
) -> TimedReadings[Mapping[str, DiskCounters]]:
    return history[bisect_left(history, since, key=itemgetter(0)) :]


def _moved(disk: DiskCounters) -> int:
    """Reads and writes, of all the time: so many more mean that there is a medium."""
    return disk.reads + disk.writes


def _is_partition_name(name: str, names: Sequence[str]) -> bool:
    """Where sysfs is not known: sda1 beside sda, nvme0n1p2 beside nvme0n1. Any driver's: the name
    of a disk that ends in a digit gets a "p" (block/partitions/core.c add_partition()).

    https://github.com/torvalds/linux/blob/v6.1/block/partitions/core.c
    """
    stem = name.rstrip("0123456789")
    if stem == name:
        return False
    if stem.endswith("p") and stem[:-1] in names and stem[:-1][-1:].isdigit():
        return True
    return stem in names
