"""Block devices over time: which lines are flows, and what each did since the last tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ioplateau.engine.settings import EngineSettings
from ioplateau.judge import ticks
from ioplateau.judge.budgets import FlowKey
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.stacks import is_remote_disk
from ioplateau.measure import sysblock
from ioplateau.measure.delta import History
from ioplateau.measure.diskstats import DiskCounters, DiskTable
from ioplateau.measure.snapshot import Static
from ioplateau.measure.sysblock import BlockDevice
from ioplateau.state import DiskState


class Disks:
    """Remembers each block device between ticks."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.table: DiskTable | None = None
        self.devices: Mapping[str, BlockDevice] = {}
        self.names: tuple[str, ...] = ()
        self._flows: tuple[tuple[str, FlowKey], ...] = ()  # of the names
        # Followed, since they draw on the VM like any other, and not shown.
        self.hidden: frozenset[str] = frozenset()
        self._static: Static | None = None
        self._taken: EngineSettings | None = None
        self._seen: tuple[str, ...] = ()
        self._histories: dict[str, History[DiskCounters]] = {}
        self._known: dict[str, BlockDevice] = {}  # as they were told last

    def observe(
        self,
        at: float,
        table: DiskTable | None,
        static: Static,
        *,
        gap: bool,
        flows: dict[FlowKey, FlowTick | None],
    ) -> None:
        if table is None:
            flows.update((flow, None) for _, flow in self._flows)
            return
        self._learn_names(table, static)
        self.table = table
        for name, flow in self._flows:
            flows[flow] = self._follow(at, name, table.disks[name], gap=gap)

    def _follow(self, at: float, name: str, now: DiskCounters, *, gap: bool) -> FlowTick | None:
        history = self._histories.get(name)
        if history is None:
            history = self._histories[name] = History(self.settings.rate_window_seconds)
        last = history.last
        if last is None or gap or at <= last[0]:
            history.restart(at, now)
            return None
        tick = ticks.of_disk(last[1], now, at - last[0])
        if tick is None:  # not one story
            history.restart(at, now)
        else:
            history.push(at, now)
        return tick

    def _learn_names(self, table: DiskTable, static: Static) -> None:
        seen = tuple(table.disks)
        settings = self.settings
        if seen == self._seen and static is self._static and settings is self._taken:
            return
        if static is not self._static:
            self.devices = sysblock.parse(static)
        self._seen, self._static, self._taken = seen, static, settings
        names = tuple(name for name in seen if self._is_flow(name, table.disks[name], static))
        swapped = [name for name in names if self._is_swapped(name)]
        if swapped:
            # Out for a tick, so that nothing that was learned of the old one is held against
            # the new one, here or downstream.
            names = tuple(name for name in names if name not in swapped)
            self._seen = ()
        if names != self.names:
            self.names = names
            self._flows = tuple((name, FlowKey("disk", name)) for name in names)
        self.hidden = frozenset(name for name in names if self._is_hidden(name))
        for gone in self._histories.keys() - set(names):
            del self._histories[gone]
        self._known = {
            name: device
            for name in names
            if (device := self.devices.get(name) or self._known.get(name)) is not None
        }

    def _is_swapped(self, name: str) -> bool:
        """Whether another disk came under the name of one that was here at the last tick."""
        before, now = self._known.get(name), self.devices.get(name)
        return before is not None and now is not None and sysblock.is_swapped(before, now)

    def _is_flow(self, name: str, disk: DiskCounters, static: Static) -> bool:
        if name in static.partitions or _is_partition_name(name, self._seen):
            return False
        device = self.devices.get(name)
        if device is not None and device.partition_of:
            return False
        size = device.size_bytes if device is not None else None
        if size == 0 and disk.reads == 0 and disk.writes == 0:
            return False  # a loop device without a file, a drive without a medium
        # An operator may not want to see a disk; what it takes from the VM's lanes it takes.
        return is_remote_disk(name, device) or not self._is_hidden(name)

    def _is_hidden(self, name: str) -> bool:
        device = self.devices.get(name)
        return self.settings.is_hidden(name, device.size_bytes if device is not None else None)

    @property
    def numbers(self) -> dict[tuple[int, int], str]:
        """Kernel names by major and minor number."""
        table = self.table
        return {} if table is None else {disk.device: name for name, disk in table.disks.items()}

    def with_partitions(self) -> dict[str, BlockDevice | None]:
        """Every flow, and the partitions that stacked devices are made of."""
        found: dict[str, BlockDevice | None] = {
            name: device for name, device in self.devices.items() if device.partition_of
        }
        return found | {name: self.devices.get(name) for name in self.names}

    def states(self) -> dict[str, DiskState]:
        found = {}
        for name in self.names:
            history = self._histories.get(name)
            if name not in self.hidden and history is not None and history.last is not None:
                found[name] = DiskState(
                    name, history.last[1], history.window, self.devices.get(name)
                )
        return found


def _is_partition_name(name: str, names: Sequence[str]) -> bool:
    """Where sysfs is not known: sda1 beside sda, nvme0n1p2 beside nvme0n1."""
    stem = name.rstrip("0123456789")
    if stem == name:
        return False
    if stem.endswith("p") and stem[:-1] in names and stem[:-1][-1:].isdigit():
        return True
    return stem in names and name.startswith(("sd", "vd", "xvd", "hd"))
