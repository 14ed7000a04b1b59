"""What would lift the limits that hold a budget now, from the state. Made when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ioplateau.judge import ticks
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
)
from ioplateau.limits.lifting import steps
from ioplateau.limits.lifting.step import NfsUse, Situation, Step, sentence
from ioplateau.limits.topology import mount_names
from ioplateau.state import BudgetState, State

MOST_STEPS = 4  # what a person reads; the smallest gains first


def of_budget(state: State, budget: BudgetState) -> tuple[Step, ...]:
    """Steps for each limit of the budget that holds requests back now."""
    held = [each.limit for each in budget.limits if each.throttled]
    are_slots = budget.verdict.dimension is Dimension.SLOTS
    if not held and not are_slots:
        return ()
    situation = _situation(state, budget.budget)
    if not held and situation.nfs.on_wire:
        # How many there are nobody tells: all are taken, so as many as there are calls on the wire.
        held = [Limit(Dimension.SLOTS, Direction.TOTAL, situation.nfs.on_wire, Origin.LEARNED)]
    found = [step for limit in held for step in steps(situation, budget.budget.key, limit)]
    return tuple(dict.fromkeys(found))[:MOST_STEPS]


def sentences(state: State, budget: BudgetState) -> tuple[str, ...]:
    """The same, a sentence for each step."""
    return tuple(sentence(step) for step in of_budget(state, budget))


class _Budgets(Mapping[BudgetKey, Budget]):
    """The budgets of a state's, without a copy of all for each that is asked about."""

    def __init__(self, states: Mapping[BudgetKey, BudgetState]) -> None:
        self._states = states

    def __getitem__(self, key: BudgetKey) -> Budget:
        return self._states[key].budget

    def __iter__(self) -> Iterator[BudgetKey]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)


def _situation(state: State, budget: Budget) -> Situation:
    drawn = [tick for flow in budget.members if (tick := _drawn(state, flow)) is not None]
    operations = sum(tick.operations_per_second for tick in drawn)
    size = sum(tick.bytes_per_second for tick in drawn)
    written = sum(tick.write_bytes_per_second for tick in drawn)
    is_nfs = budget.key.kind in (Kind.NFS_SLOTS, Kind.NFS_CONNECTION)
    return Situation(
        budgets=_Budgets(state.budgets),
        sold=state.sold,
        rules=state.rules,
        catalogue=state.catalogue,
        request_bytes=size / operations if operations and size else None,
        write_ratio=written / size if size else None,
        nfs=_nfs_use(state, budget, drawn) if is_nfs else NfsUse(),
        mounts={
            flow.name: mount_names(mount.mount, mount.mount_points)
            for flow in budget.members
            if (mount := state.mounts.get(flow.name)) is not None
        },
    )


def _drawn(state: State, flow: FlowKey) -> FlowTick | None:
    """What a disk or mount does over the rate window; None: nobody knows."""
    if flow.kind == "disk" and (disk := state.disks.get(flow.name)) is not None:
        return None if disk.window is None else ticks.of_disk(*disk.window)
    if flow.kind == "nfs" and (mount := state.mounts.get(flow.name)) is not None:
        return None if mount.window is None else ticks.of_mount(*mount.window)
    return None


def _nfs_use(state: State, budget: Budget, drawn: Sequence[FlowTick]) -> NfsUse:
    mounts = {flow.name for flow in budget.members}
    client = next((c for c in state.clients.values() if mounts & set(c.mounts)), None)
    calls = sum(rate for tick in drawn for rate, _ in _sent(tick))
    now = [tick for flow in budget.members if (tick := state.flows.get(flow)) is not None]
    return NfsUse(
        connections=len(client.now) if client is not None else None,
        latency_seconds=_on_wire(drawn) / calls if calls else None,
        on_wire=_on_wire(now) or None,
    )


def _on_wire(drawn: Sequence[FlowTick]) -> float:
    """Mean number of calls that were sent and not answered (Little's law)."""
    return sum(rate * rtt for tick in drawn for rate, rtt in _sent(tick))


def _sent(tick: FlowTick) -> Iterator[tuple[float, float]]:
    """Reads and writes per second, each with the seconds that one is on the wire, where known."""
    if tick.read_rtt_seconds is not None:
        yield tick.read_operations_per_second, tick.read_rtt_seconds
    if tick.write_rtt_seconds is not None:
        yield tick.write_operations_per_second, tick.write_rtt_seconds
