"""Control groups with block limits over time: each group on each disk is a flow of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ioplateau.judge.budgets import FlowKey
from ioplateau.judge.flows import FlowTick
from ioplateau.judge.topology import GroupFlow
from ioplateau.judge.witness import CgroupWitness
from ioplateau.measure.cgroups import GroupCounters


class _Reading(NamedTuple):
    at: float
    counters: GroupCounters


class Groups:
    """Remembers each limited group between ticks."""

    def __init__(self) -> None:
        self.flows: tuple[GroupFlow, ...] = ()
        self.witnesses: Mapping[str, CgroupWitness] = {}
        self._before: dict[str, _Reading] = {}

    def observe(
        self,
        at: float,
        groups: tuple[GroupCounters, ...],
        devices: Mapping[tuple[int, int], str],
        *,
        gap: bool,
        flows: dict[FlowKey, FlowTick | None],
    ) -> None:
        """One reading of every limited group. devices: kernel names by number."""
        now = {_label(group, groups): _Reading(at, group) for group in groups}
        witnesses = {}
        for label, reading in now.items():
            before = None if gap else self._before.get(label)
            tick = _tick(before, reading) if before is not None else None
            flows[FlowKey("cgroup", label)] = tick
            witnesses[label] = CgroupWitness(
                device=devices.get(reading.counters.device, ""),
                pressure_ratio=_pressure(before, reading) if before is not None else None,
            )
        self._before, self.witnesses = now, witnesses
        found = tuple(
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
        if found != self.flows:  # the same object means that nothing changed
            self.flows = found


def _label(group: GroupCounters, groups: tuple[GroupCounters, ...]) -> str:
    is_alone = sum(1 for other in groups if other.path == group.path) == 1
    return group.path if is_alone else f"{group.path} {group.device[0]}:{group.device[1]}"


def _tick(before: _Reading, now: _Reading) -> FlowTick | None:
    elapsed = now.at - before.at
    old, new = before.counters, now.counters
    growth = (
        new.read_operations - old.read_operations,
        new.write_operations - old.write_operations,
        new.read_bytes - old.read_bytes,
        new.write_bytes - old.write_bytes,
    )
    if elapsed <= 0 or min(growth) < 0:
        return None
    reads, writes, read_bytes, write_bytes = (value / elapsed for value in growth)
    return FlowTick(elapsed, reads, writes, read_bytes, write_bytes)


def _pressure(before: _Reading, now: _Reading) -> float | None:
    old, new = before.counters.pressure_microseconds, now.counters.pressure_microseconds
    if old is None or new is None or new < old or now.at <= before.at:
        return None
    return min((new - old) / 1e6 / (now.at - before.at), 1.0)
