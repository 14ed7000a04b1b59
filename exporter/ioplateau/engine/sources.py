"""Every source of a tick, declared once: its name, where it is read, what parses and remembers it,
how often it is read. A new one is a file that parses its content, and a line in SOURCES.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ioplateau.engine.consumers import Consumers
from ioplateau.engine.disks import Disks
from ioplateau.engine.follower import Flows, Follower, Latest, Moment, StatusOnly
from ioplateau.engine.groups import Groups
from ioplateau.engine.interfaces import Interfaces
from ioplateau.engine.nfs import MountPoints, Nfs
from ioplateau.engine.providers import ProviderCounts, Providers
from ioplateau.engine.settings import EngineSettings
from ioplateau.engine.witnesses import Sockets, Witnesses
from ioplateau.measure import meminfo, pressure, procstat
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.parsing import FormatError
from ioplateau.measure.snapshot import (
    DISKSTATS,
    MEMINFO,
    MOUNTINFO,
    MOUNTSTATS,
    NETDEV,
    PRESSURE,
    STAT,
    Snapshot,
)
from ioplateau.state import GAP_INTERVALS, SourceState


class Followers:
    """All that follow a source, by name: some are asked for more than their flows."""

    def __init__(self, settings: EngineSettings) -> None:
        self.disks = Disks(settings)
        self.nfs = Nfs(settings)
        self.nics = Interfaces(settings)
        self.groups = Groups(self.disks)
        self.pressure = Latest(pressure.parse)
        self.cpu = Latest(procstat.parse, procstat.corrected)
        self.memory = Latest(meminfo.parse)
        self.witnesses = Witnesses()
        self.sockets = Sockets(self.witnesses)
        self.providers = Providers()
        self.consumers = Consumers()


class DeclaredSource(NamedTuple):
    """name: as metrics call it. key: its path, or its name among a snapshot's blobs. every_seconds:
    how often a path is read; 0: every tick. is_vital: followed at every tick, since while it has
    no content its flows are not known. is_lacking: whether a reason why it cannot be read says that
    this kernel is without it, which is no failure.
    """

    name: str
    key: str
    follower: Callable[[Followers], Follower]
    every_seconds: float = 0.0
    is_vital: bool = False
    is_lacking: Callable[[str], bool] = lambda why: False  # noqa: ARG005


SOURCES = (
    DeclaredSource("diskstats", DISKSTATS, lambda of: of.disks, is_vital=True),
    DeclaredSource("mountstats", MOUNTSTATS, lambda of: of.nfs, is_vital=True),
    DeclaredSource("mountinfo", MOUNTINFO, lambda of: MountPoints(of.nfs)),  # read when it changed
    DeclaredSource("netdev", NETDEV, lambda of: of.nics, is_vital=True),
    DeclaredSource("pressure", PRESSURE, lambda of: of.pressure, is_lacking=pressure.is_lacking),
    # Long on large machines, for two counters.
    DeclaredSource("stat", STAT, lambda of: of.cpu, 5.0),
    DeclaredSource("meminfo", MEMINFO, lambda of: of.memory),
    DeclaredSource("sockets", "tcp", lambda of: of.sockets),
    DeclaredSource("interfaces", "interfaces", lambda of: StatusOnly()),  # noqa: ARG005
    DeclaredSource("sysfs", "sysfs", lambda of: StatusOnly(is_well=True)),  # noqa: ARG005
    DeclaredSource("cgroups", "cgroups", lambda of: of.groups),
    DeclaredSource("ebs", "ebs", lambda of: ProviderCounts(of.providers.take_volumes)),
    DeclaredSource(
        "allowances", "allowances", lambda of: ProviderCounts(of.providers.take_interfaces)
    ),
    DeclaredSource("consumers", "consumers", lambda of: of.consumers),
)
# What is read by path, at each tick or seldom.
FILES = tuple(each for each in SOURCES if each.key.startswith("/") and each.key != MOUNTINFO)


class TrackedSource:
    """One source from tick to tick, and whether it can be read."""

    def __init__(self, source: DeclaredSource, follower: Follower, unwell: set[str]) -> None:
        """unwell: sources that cannot be read or were not understood; kept up to date of this one."""
        self._source = source
        self._follower = follower
        self._unwell = unwell
        self.key = source.key
        self.is_always_asked = source.is_vital or follower.is_always_asked
        self._arrived: float | None = None
        self.state: SourceState | None = None  # None: it was never there

    def take(self, snapshot: Snapshot, interval_seconds: float, *, gap: bool) -> Flows:
        """What came of this source in one tick."""
        source, follower = self._source, self._follower
        key = source.key
        content = follower.content(snapshot, key)
        why = snapshot.failed.get(key, "")
        if content is None and not why and not source.is_vital:  # its last content still holds
            if (outcome := follower.outcome_without_content(snapshot, key)) is not None:
                self._book(snapshot, "", outcome.rejects)
            return NO_ENTRIES
        found = None
        if content is not None:
            try:
                found = follower.parse(content)
            except FormatError as error:
                why = str(error)
            except Exception as error:  # a defect in one parser must not end the tick
                why = f"{key}: {type(error).__name__}: {error}"
        at = snapshot.read_at(key)
        before = at if self._arrived is None else self._arrived
        if content is not None:
            self._arrived = at
        is_late = at - before > GAP_INTERVALS * interval_seconds
        flows, rejects = follower.follow(
            found, Moment(at, snapshot.mono, snapshot.static, gap, is_late)
        )
        is_lacking = self.state is None and source.is_lacking(why)
        if content is not None or (why and not is_lacking):
            self._book(snapshot, why, (*getattr(found, "rejects", ()), *rejects))
        return flows

    def _book(self, snapshot: Snapshot, why: str, rejects: Sequence[str]) -> None:
        name, before = self._source.name, self.state
        seconds = snapshot.took.get(self._source.key, 0.0)
        if before is None:
            before = SourceState(name, up=True)
        elif before.up and not (why or seconds or rejects):
            return  # nothing new
        state = self.state = SourceState(
            name,
            not why,
            why,
            before.seconds + seconds,
            before.rejects + len(rejects),
            rejects[-1] if rejects else before.last_reject,
        )
        if state.up and not state.rejects:
            self._unwell.discard(name)
        else:
            self._unwell.add(name)
