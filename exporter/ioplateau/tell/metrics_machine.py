"""The machine as rows: who waits for I/O, memory waiting to be written, network interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from ioplateau.limits.budgets import Dimension, Kind
from ioplateau.measure import interfaces
from ioplateau.measure.interfaces import InterfaceRates
from ioplateau.state import InterfaceState, MachineState
from ioplateau.tell.rows import Labels, MetricTable, Scene, counter, from_micro, gauge

USER_HZ = 100  # what /proc/stat counts in, on every architecture we run on: man 5 proc


class Interface(NamedTuple):
    state: InterfaceState
    rates: InterfaceRates | None  # over the rate window


# Label values, and what was counted under them: packets, microseconds.
Allowance: TypeAlias = tuple[Labels, int]
EbsLimit: TypeAlias = tuple[Labels, int]


def machines(scene: Scene) -> Iterable[MachineState]:
    return (scene.state.machine,)


def network(scene: Scene) -> Iterator[Interface]:
    for _, state in sorted(scene.state.interfaces.items()):
        span = state.window
        rates = interfaces.rates(span.before, span.after, span.elapsed_seconds) if span else None
        yield Interface(state, rates)


def allowances(scene: Scene) -> Iterator[Allowance]:
    for interface, counters in sorted(scene.state.allowances.items()):
        for name, packets in counters.items():
            yield (interface, name.removesuffix("_allowance_exceeded")), packets


def exceeded(scene: Scene) -> Iterator[EbsLimit]:
    for device, now in sorted(scene.state.volumes.items()):
        volume, instance = Kind.DISK, Kind.VM_UNCACHED
        iops, data = Dimension.IOPS, Dimension.THROUGHPUT
        yield (device, volume, iops), now.volume_iops_exceeded_microseconds
        yield (device, volume, data), now.volume_throughput_exceeded_microseconds
        if now.instance_iops_exceeded_microseconds is not None:
            yield (device, instance, iops), now.instance_iops_exceeded_microseconds
        if now.instance_throughput_exceeded_microseconds is not None:
            yield (device, instance, data), now.instance_throughput_exceeded_microseconds


def _alone(machine: MachineState) -> Iterable[tuple[Labels, MachineState]]:
    yield (), machine


def _named(interface: Interface) -> Iterable[tuple[Labels, Interface]]:
    yield (interface.state.name,), interface


def _seconds(ticks: int | None) -> float | None:
    return None if ticks is None else ticks / USER_HZ


MACHINE: MetricTable[MachineState, MachineState] = MetricTable(
    "Machine",
    (),
    machines,
    _alone,
    (
        counter(
            "pressure_io_waiting_seconds_total",
            "Time in which at least one task waited for I/O (PSI, some).",
            lambda m: from_micro(m.pressure.some_microseconds) if m.pressure else None,
        ),
        counter(
            "pressure_io_stalled_seconds_total",
            "Time in which every task that could run waited for I/O (PSI, full).",
            lambda m: from_micro(m.pressure.full_microseconds) if m.pressure else None,
        ),
        counter(
            "cpu_iowait_seconds_total",
            "Time CPUs had nothing to do but wait for a disk, summed over CPUs.",
            lambda m: _seconds(m.cpu.iowait) if m.cpu else None,
        ),
        counter(
            "cpu_steal_seconds_total",
            "Time the hypervisor ran somebody else instead of us, summed over CPUs.",
            lambda m: _seconds(m.cpu.steal) if m.cpu else None,
        ),
        gauge(
            "memory_dirty_bytes",
            "Memory changed and not yet on its way to storage.",
            lambda m: m.memory.dirty_bytes if m.memory else None,
        ),
        gauge(
            "memory_writeback_bytes",
            "Memory being written to storage now.",
            lambda m: m.memory.writeback_bytes if m.memory else None,
        ),
    ),
)

INTERFACES: MetricTable[Interface, Interface] = MetricTable(
    "Network interfaces",
    ("interface",),
    network,
    _named,
    (
        counter(
            "interface_receive_bytes_total", "Bytes received.", lambda i: i.state.now.receive_bytes
        ),
        counter(
            "interface_transmit_bytes_total", "Bytes sent.", lambda i: i.state.now.transmit_bytes
        ),
        counter(
            "interface_receive_packets_total",
            "Packets received.",
            lambda i: i.state.now.receive_packets,
        ),
        counter(
            "interface_transmit_packets_total",
            "Packets sent.",
            lambda i: i.state.now.transmit_packets,
        ),
        counter(
            "interface_receive_drops_total",
            "Packets received and thrown away.",
            lambda i: i.state.now.receive_drops,
        ),
        counter(
            "interface_transmit_drops_total",
            "Packets thrown away instead of sent.",
            lambda i: i.state.now.transmit_drops,
        ),
        gauge(
            "interface_receive_bytes_per_second",
            "Bytes received per second over the rate window.",
            lambda i: i.rates.receive_bytes_per_second if i.rates else None,
        ),
        gauge(
            "interface_transmit_bytes_per_second",
            "Bytes sent per second over the rate window; clouds limit this direction.",
            lambda i: i.rates.transmit_bytes_per_second if i.rates else None,
        ),
        gauge(
            "interface_speed_bytes_per_second",
            "Speed the link says it has; what the VM is allowed is a budget's limit.",
            lambda i: i.state.speed_bits_per_second / 8 if i.state.speed_bits_per_second else None,
        ),
        gauge("interface_up", "1 if the link is up.", lambda i: i.state.up),
    ),
)

ALLOWANCES: MetricTable[Allowance, int] = MetricTable(
    "Provider's own counters: network allowances of an EC2 instance",
    ("interface", "allowance"),
    allowances,
    lambda allowance: (allowance,),
    (
        counter(
            "interface_allowance_exceeded_total",
            "Packets queued or dropped because the instance was over this allowance (ENA).",
            lambda packets: packets,
        ),
    ),
)

EXCEEDED: MetricTable[EbsLimit, int] = MetricTable(
    "Provider's own counters: volumes of an EC2 instance",
    ("device", "kind", "dimension"),
    exceeded,
    lambda limit: (limit,),
    (
        counter(
            "disk_limit_exceeded_seconds_total",
            "Time in which more was asked for than the volume's limit (kind disk) or the instance's for all EBS "
            "volumes (kind vm_uncached) allows, as the device counts it (EBS, instance store).",
            from_micro,
        ),
    ),
)

TABLES = (MACHINE, INTERFACES, ALLOWANCES, EXCEEDED)
