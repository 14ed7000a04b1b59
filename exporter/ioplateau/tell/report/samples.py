"""What a report is made of: the rates of every flow and the share of every limit, over time."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import nan
from typing import NamedTuple, TypeAlias

from ioplateau.history import Episode, Event, History
from ioplateau.limits.budgets import BudgetKey, Dimension, Direction, FlowKey, Kind, Limit, Word
from ioplateau.limits.stacks import ABOVE_DISKS, ABOVE_KINDS
from ioplateau.measure.procstat import CpuTicks
from ioplateau.state import State
from ioplateau.tell import failedsources, lifting
from ioplateau.tell.failedsources import Unseen

# Of a FlowTick, what is kept of each second.
COLUMNS = (
    "read_operations_per_second",
    "write_operations_per_second",
    "read_bytes_per_second",
    "write_bytes_per_second",
    "read_await_seconds",
    "write_await_seconds",
    "queue_length",
)
LIFT_TICKS = 10  # the size of requests is a mean over the rate window


class LimitKey(NamedTuple):
    """One limit of one budget."""

    budget: BudgetKey
    dimension: Dimension
    direction: Direction


# Of one flow, by the names of COLUMNS; each is as long as Samples.at. NaN: not known then.
FlowColumns: TypeAlias = dict[str, "array[float]"]


@dataclass(slots=True)
class LimitSamples:
    """One limit: its value and the share that was used of it, as long as Samples.at."""

    limit: Limit
    values: array[float]
    shares: array[float]


@dataclass(slots=True)
class Samples:
    """Everything over time. at: UNIX seconds at which each sample's tick was read; of a daemon's means over
    more than a second, at which they begin. seconds: how long each is.
    """

    at: array[float] = field(default_factory=lambda: array("d"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    flows: dict[FlowKey, FlowColumns] = field(default_factory=dict)
    limits: dict[LimitKey, LimitSamples] = field(default_factory=dict)
    cpu: array[float] = field(default_factory=lambda: array("d"))  # ratio 0 to 1; NaN: not known
    memory: array[float] = field(default_factory=lambda: array("d"))
    episodes: tuple[Episode, ...] = ()
    events: tuple[Event, ...] = ()
    lifting: dict[BudgetKey, tuple[str, ...]] = field(default_factory=dict)
    # Budget.lane, of the VM over its disks.
    lanes: dict[BudgetKey, str] = field(default_factory=dict)
    stacked: set[FlowKey] = field(default_factory=set)  # their requests reach other disks
    unseen: dict[str, Unseen] = field(default_factory=dict)  # by source

    def __len__(self) -> int:
        return len(self.at)

    @property
    def is_storage_unreadable(self) -> bool:
        """Whether there are none because nothing could be read."""
        return not self.at and not failedsources.STORAGE.isdisjoint(self.unseen)


class Collector:
    """Makes Samples of states. `observe` each in order, then `samples`."""

    def __init__(self) -> None:
        self.samples = Samples()
        self.last: State | None = None
        self._history = History()
        self._cpu: CpuTicks | None = None
        self._busy = nan

    def observe(self, state: State) -> None:
        """Add one state."""
        samples, last = self.samples, self.last
        self._history.observe(state)
        self._lift(state)
        self.last = state
        elapsed = 0.0 if last is None else state.mono - last.mono
        is_known = not state.is_gap(elapsed)
        failedsources.add_unseen(samples.unseen, state, elapsed if is_known else 0.0)
        if not is_known or failedsources.is_storage_unreadable(state):
            self._cpu = state.machine.cpu
            return  # a first reading, or a gap: nothing is known of what lies before it
        samples.at.append(state.wall)
        samples.seconds.append(elapsed)
        self._flows(state)
        samples.stacked.update(
            FlowKey("disk", key.name) for key in state.budgets if is_stack(key, _kind(state, key))
        )
        self._limits(state)
        samples.cpu.append(self._busy_ratio(state.machine.cpu))
        memory = state.machine.memory
        used = None if memory is None else memory.used_ratio
        samples.memory.append(nan if used is None else used)

    def finish(self) -> Samples:
        """All that was observed, with its episodes and events."""
        self.samples.episodes = self._history.episodes()
        self.samples.events = self._history.events()
        return self.samples

    def _lift(self, state: State) -> None:
        """What would lift what is throttled, at the sizes of requests that it has then."""
        known = self.samples.lifting
        for key, budget in state.budgets.items():
            if budget.verdict.word is Word.THROTTLED and (
                key not in known or state.ticks % LIFT_TICKS == 0
            ):
                known[key] = lifting.sentences(state, budget)

    def _flows(self, state: State) -> None:
        count = len(self.samples)
        known = self.samples.flows
        for key, tick in state.flows.items():
            is_shown = key.kind != "disk" or key.name in state.disks
            if tick is None or not is_shown:
                continue
            found = known.get(key)
            if found is None:
                if not (tick.operations_per_second or tick.bytes_per_second or tick.queue_length):
                    continue  # nothing is kept of what never moved
                found = known[key] = {name: array("d") for name in COLUMNS}
            for name in COLUMNS:
                column, value = found[name], getattr(tick, name)
                _fill(column, count - 1)
                column.append(nan if value is None else value)
        for found in known.values():
            for column in found.values():
                _fill(column, count)

    def _limits(self, state: State) -> None:
        count = len(self.samples)
        known = self.samples.limits
        for key, budget in state.budgets.items():
            if key.kind is Kind.VM_UNCACHED:
                self.samples.lanes[key] = budget.budget.lane
            for each in budget.limits:
                place = LimitKey(key, each.dimension, each.direction)
                if each.share is None and place not in known:
                    continue
                found = known.get(place)
                if found is None:
                    found = known[place] = LimitSamples(each.limit, array("d"), array("d"))
                _fill(found.values, count - 1)
                _fill(found.shares, count - 1)
                found.values.append(each.effective)
                found.shares.append(nan if each.share is None else each.share)
        for found in known.values():
            _fill(found.values, count)
            _fill(found.shares, count)

    def _busy_ratio(self, now: CpuTicks | None) -> float:
        """Share of the CPUs' time that was not idle; /proc/stat is read every five seconds."""
        before = self._cpu
        if now is not None and now is not before:
            if before is not None and now.total > before.total:
                self._busy = (now.busy - before.busy) / (now.total - before.total)
            self._cpu = now
        return self._busy if now is not None else nan


def is_stack(key: BudgetKey, kind: str) -> bool:
    """Whether its requests are counted a second time on the disks below it. kind: BlockDevice.kind, of a
    disk; "": not known.
    """
    is_above = kind in ABOVE_KINDS or key.name.startswith(ABOVE_DISKS)
    return key.kind is Kind.STRIPE or (key.kind is Kind.DISK and is_above)


def _kind(state: State, key: BudgetKey) -> str:
    disk = state.disks.get(key.name) if key.kind is Kind.DISK else None
    return disk.device.kind if disk is not None and disk.device is not None else ""


def _fill(column: array[float], count: int) -> None:
    """Make a column that long: what is missing is not known."""
    if len(column) < count:
        column.extend([nan] * (count - len(column)))
