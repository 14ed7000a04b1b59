"""Control groups with block limits over time: each group on each disk is a flow of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ioplateau.engine.disks import Disks
from ioplateau.engine.follower import NOTHING, Follower, Moment, Outcome
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.witness import CgroupWitness
from ioplateau.limits.budgets import FlowKey
from ioplateau.limits.topology import GroupFlow
from ioplateau.measure import cgroups, notice
from ioplateau.measure.cgroups import GroupCounters


class _GroupReading(NamedTuple):
    at: float
    counters: GroupCounters


class GroupTable(NamedTuple):
    """Every group with a limit. notices: what an operator should know of those left out."""

    groups: tuple[GroupCounters, ...]
    rejects: tuple[str, ...]
    notices: tuple[str, ...]


class Groups(Follower):
    """Remembers each limited group between ticks."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks
        self.flows: tuple[GroupFlow, ...] = ()
        self.witnesses: Mapping[str, CgroupWitness] = {}
        self.notices: tuple[str, ...] = ()
        self._before: dict[str, _GroupReading] = {}
        self._first: dict[str, tuple[int, int]] = {}  # of each group the disk it was met with

    def parse(self, content: object) -> GroupTable:
        return GroupTable(*cgroups.parse(content), notice.notices(content))

    def follow(self, found: GroupTable | None, moment: Moment) -> Outcome:
        """One reading of every limited group; without one the last still holds."""
        if found is None:
            return NOTHING
        self.notices = found.notices
        groups, at, gap = found.groups, moment.at, moment.is_broken
        devices = self._disks.numbers if groups else {}
        flows: dict[FlowKey, FlowTick | None] = {}
        self._first = _first(self._first, groups)
        now = {self._label(group): _GroupReading(at, group) for group in groups}
        witnesses = {}
        for label, reading in now.items():
            before = None if gap else self._before.get(label)
            tick = _tick(before, reading) if before is not None else None
            flows[FlowKey("cgroup", label)] = tick
            witnesses[label] = CgroupWitness(
                device=devices.get(reading.counters.device, ""),
                pressure_ratio=_pressure(before, reading) if before is not None else None,
                path=reading.counters.path,
            )
        self._before, self.witnesses = now, witnesses
        followed = tuple(
            GroupFlow(
                label,
                devices.get(reading.counters.device, ""),
                reading.counters.read_operations_limit,
                reading.counters.write_operations_limit,
                reading.counters.read_bytes_limit,
                reading.counters.write_bytes_limit,
            )
            for label, reading in now.items()
        )
        if followed != self.flows:  # the same object means that nothing changed
            self.flows = followed
        return Outcome(flows)

    def _label(self, group: GroupCounters) -> str:
        # A limit on another disk must not rename what is followed already.
        major, minor = group.device
        is_first = self._first[group.path] == group.device
        return group.path if is_first else f"{group.path} {major}:{minor}"


def _first(
    before: Mapping[str, tuple[int, int]], groups: tuple[GroupCounters, ...]
) -> dict[str, tuple[int, int]]:
    """The disk that each group is called by its path alone for: the one it had before, as long as the
    group is there.
    """
    found: dict[str, tuple[int, int]] = {}
    for group in groups:
        first = min(group.device, found.get(group.path, group.device))
        found[group.path] = before.get(group.path, first)
    return found


def _tick(before: _GroupReading, now: _GroupReading) -> FlowTick | None:
    elapsed = now.at - before.at
    old, new = before.counters, now.counters
    growth = (
        new.read_operations - old.read_operations,
        new.write_operations - old.write_operations,
        new.read_bytes - old.read_bytes,
        new.write_bytes - old.write_bytes,
    )
    if elapsed <= 0 or min(growth) < 0 or not (old.is_counted and new.is_counted):
        return None
    reads, writes, read_bytes, write_bytes = (value / elapsed for value in growth)
    return FlowTick(elapsed, reads, writes, read_bytes, write_bytes)


def _pressure(before: _GroupReading, now: _GroupReading) -> float | None:
    old, new = before.counters.pressure_microseconds, now.counters.pressure_microseconds
    if old is None or new is None or new < old or now.at <= before.at:
        return None
    return min((new - old) / 1e6 / (now.at - before.at), 1.0)
