"""A small simulated machine whose limits are known, for stories told to the judge.

Each tick is worked out in closed form from the laws of queues: a closed loop of n requests
behind a limit L shows rate L and latency n / L; below it rate n / latency. Nothing here knows
how the judge decides.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ioplateau.judge.flows import FlowTick
from ioplateau.judge.judge import Judge
from ioplateau.judge.witness import ClientWitness, Witness
from ioplateau.limits.budgets import (
    Budget,
    BudgetKey,
    Dimension,
    Direction,
    FlowKey,
    Kind,
    Limit,
    Origin,
    Verdict,
    Word,
)

VM = BudgetKey(Kind.VM_UNCACHED, "vm")


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of one disk or mount: `depth` requests at a time as fast as they return, or
    `rate` requests a second whatever happens; slower: the device's latency times this."""

    depth: float | None = None
    rate: float | None = None
    size: float = 4096.0
    write: bool = False
    slower: float = 1.0
    noise: float = 0.0  # relative, of the demand from tick to tick
    stalled: bool = False


IDLE = Load(rate=0.0)


@dataclass(slots=True)
class Device:
    """A disk or a volume: seconds a request takes unloaded, and what it is allowed."""

    latency: float = 0.002
    iops: float | None = None
    bytes_per_second: float | None = None
    slots: int | None = None
    # Most real devices are not steady: a tenth from tick to tick, more than any limiter ripples.
    ripple: float = 0.08
    backlog: float = 0.0

    def ceiling(self, size: float) -> float:
        """Requests per second it may do, of this size."""
        by_bytes = self.bytes_per_second / size if self.bytes_per_second else float("inf")
        return min(self.iops or float("inf"), by_bytes)


@dataclass(frozen=True, slots=True)
class Act:
    """Some seconds of a story: loads by flow name, and what truly binds."""

    seconds: int
    loads: Mapping[str, Load] = field(default_factory=dict)
    binds: BudgetKey | None = None
    dimension: Dimension | None = None
    word: Word | None = None  # of `about`, where more is expected than "not throttled"
    about: BudgetKey | None = None


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    acts: Sequence[Act]
    disks: Mapping[str, Device] = field(default_factory=dict)
    mounts: Mapping[str, Device] = field(default_factory=dict)
    vm_iops: float | None = None
    vm_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """One tick told: when, what was true, what the judge said."""

    at: float
    act: Act
    since_act: float
    verdicts: Mapping[BudgetKey, Verdict]


def told(
    story: Story,
    *,
    known: bool = True,
    tick: float = 1.0,
    seed: int = 1,
    judge: Judge | None = None,
) -> Iterator[Moment]:
    """The story from start to end, tick by tick, with what the judge says of it."""
    random_numbers = random.Random(seed)
    judge = judge or Judge()
    budgets = budgets_of(story, known=known)
    devices = {
        name: replace(device) for name, device in (*story.disks.items(), *story.mounts.items())
    }
    at = 1000.0
    judge.observe(at, None, budgets, {}, Witness())
    for act in story.acts:
        for index in range(round(act.seconds / tick)):
            at += tick
            flows, witness = _tick(story, devices, act, tick, random_numbers)
            verdicts = judge.observe(at, tick, budgets, flows, witness)
            yield Moment(at, act, (index + 1) * tick, verdicts)


def budgets_of(story: Story, *, known: bool) -> dict[BudgetKey, Budget]:
    """The story's budgets, with their limits or with none."""
    found = []
    for name, disk in story.disks.items():
        limits = _limits(disk.iops, disk.bytes_per_second) if known else ()
        found.append(Budget(BudgetKey(Kind.DISK, name), (FlowKey("disk", name),), limits))
    if story.disks:
        limits = _limits(story.vm_iops, story.vm_bytes_per_second) if known else ()
        members = tuple(FlowKey("disk", name) for name in story.disks)
        found.append(Budget(VM, members, limits))
    for name, mount in story.mounts.items():
        members = (FlowKey("nfs", name),)
        limits = _limits(mount.iops, mount.bytes_per_second) if known else ()
        slots = BudgetKey(Kind.NFS_SLOTS, name)
        found.append(Budget(BudgetKey(Kind.VOLUME, name), members, limits, parents=(slots,)))
        found.append(Budget(slots, members))
        found.append(Budget(BudgetKey(Kind.NFS_CONNECTION, name), members))
    return {budget.key: budget for budget in found}


def _limits(iops: float | None, bytes_per_second: float | None) -> tuple[Limit, ...]:
    found = ((Dimension.IOPS, iops), (Dimension.THROUGHPUT, bytes_per_second))
    return tuple(
        Limit(dimension, Direction.TOTAL, value, Origin.CONFIGURED, "story")
        for dimension, value in found
        if value is not None
    )


def _tick(
    story: Story,
    devices: Mapping[str, Device],
    act: Act,
    tick: float,
    random_numbers: random.Random,
) -> tuple[dict[FlowKey, FlowTick | None], Witness]:
    wishes = {
        name: _wish(devices[name], act.loads.get(name, IDLE), tick, random_numbers)
        for name in devices
    }
    share = _vm_share(story, act, {name: wish[0] for name, wish in wishes.items()})
    flows: dict[FlowKey, FlowTick | None] = {}
    clients = {}
    for name, device in devices.items():
        load = act.loads.get(name, IDLE)
        rate, latency = wishes[name]
        if name in story.disks:
            rate *= share * random_numbers.gauss(1.0, 0.002)
            flows[FlowKey("disk", name)] = _disk_tick(device, load, rate, latency, tick)
        else:
            rate *= random_numbers.gauss(1.0, 0.004)
            flow, client = _mount_tick(device, load, rate, latency, tick)
            flows[FlowKey("nfs", name)] = flow
            clients[name] = client
    return flows, Witness(clients=clients)


def _wish(
    device: Device, load: Load, tick: float, random_numbers: random.Random
) -> tuple[float, float]:
    """Rate a device would serve by itself, and its latency unloaded."""
    latency = (device.latency + load.size / 1e9) * load.slower
    latency *= max(0.5, random_numbers.gauss(1.0, device.ripple))
    if load.stalled:
        return 0.0, latency
    ceiling = device.ceiling(load.size)
    if load.depth is not None:
        outstanding = min(load.depth, device.slots) if device.slots else load.depth
        return min(outstanding / latency, ceiling), latency
    demand = (load.rate or 0.0) * max(0.0, random_numbers.gauss(1.0, load.noise))
    served = min(demand + device.backlog / tick, ceiling)
    return served, latency


def _vm_share(story: Story, act: Act, wishes: Mapping[str, float]) -> float:
    """What part of its wishes the VM as a whole is granted."""
    operations = sum(wishes[name] for name in story.disks)
    volume = sum(wishes[name] * act.loads.get(name, IDLE).size for name in story.disks)
    share = 1.0
    if story.vm_iops and operations > story.vm_iops:
        share = story.vm_iops / operations
    if story.vm_bytes_per_second and volume > story.vm_bytes_per_second:
        share = min(share, story.vm_bytes_per_second / volume)
    return share


def _outstanding(device: Device, load: Load, rate: float, latency: float, tick: float) -> float:
    """Requests in the system, by Little's law; an open load's backlog grows and drains."""
    if load.depth is not None:
        device.backlog = 0.0
        return load.depth if rate > 0 else 0.0
    device.backlog = max(0.0, device.backlog + ((load.rate or 0.0) - rate) * tick)
    return rate * latency + device.backlog


def _disk_tick(device: Device, load: Load, rate: float, latency: float, tick: float) -> FlowTick:
    if load.stalled:
        return FlowTick(tick, queue_length=0.0, in_flight=int(load.depth or 8), busy_ratio=0.0)
    queue = _outstanding(device, load, rate, latency, tick)
    wait = queue / rate if rate > 0 else None
    busy = min(1.0, queue) if queue < 3 else 1.0
    read, write = (0.0, rate) if load.write else (rate, 0.0)
    return FlowTick(
        tick,
        read_operations_per_second=read,
        write_operations_per_second=write,
        read_bytes_per_second=read * load.size,
        write_bytes_per_second=write * load.size,
        read_await_seconds=wait if read else None,
        write_await_seconds=wait if write else None,
        queue_length=queue,
        in_flight=round(queue),
        busy_ratio=busy,
    )


def _mount_tick(
    device: Device, load: Load, rate: float, latency: float, tick: float
) -> tuple[FlowTick, ClientWitness]:
    if load.stalled:
        return FlowTick(tick), ClientWitness(
            1, on_wire=int(load.depth or 2), receives_per_second=0.0
        )
    calls = _outstanding(device, load, rate, latency, tick)
    on_wire = min(calls, device.slots) if device.slots else calls
    waiting = calls - on_wire
    rtt = on_wire / rate if rate > 0 else None
    queue = waiting / rate if rate > 0 else None
    wait = calls / rate if rate > 0 else None
    read, write = (0.0, rate) if load.write else (rate, 0.0)
    flow = FlowTick(
        tick,
        read_operations_per_second=read,
        write_operations_per_second=write,
        read_bytes_per_second=read * load.size,
        write_bytes_per_second=write * load.size,
        read_await_seconds=wait if read else None,
        write_await_seconds=wait if write else None,
        queue_length=calls,
        read_rtt_seconds=rtt if read else None,
        write_rtt_seconds=rtt if write else None,
        read_queue_seconds=queue if read else None,
        write_queue_seconds=queue if write else None,
    )
    return flow, ClientWitness(
        1,
        backlog=waiting,
        on_wire=round(on_wire),
        receives_per_second=rate,
    )
