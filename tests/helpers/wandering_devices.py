"""Devices without any limit whose pace is never the same for long: what queues there is no proof.

Each is asked by a constant number of requests (a closed loop), so that its rate is its own pace and
its latency the depth over it. Every parameter is drawn at random from ranges that such devices have;
no value is chosen by hand. Nothing here knows how the judge decides.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

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
    Word,
)

SECONDS = 1200
Pace = Iterator[float]  # operations per second, second by second


@dataclass(frozen=True, slots=True)
class Device:
    """A device's pace over time, under a constant number of requests."""

    pace: Pace
    unloaded_seconds: float  # of one request alone
    depth: int
    size: float
    write: bool
    is_remote: bool = False


def walk(draw: random.Random) -> Device:
    """A pace that walks in steps of about three percent, with a ripple between them."""
    step, every, ripple = draw.uniform(0.02, 0.05), draw.uniform(3, 40), draw.uniform(0.003, 0.02)
    start = _log_uniform(draw, 80, 6000)

    def pace() -> Pace:
        rate = start
        while True:
            for _ in range(max(1, round(draw.expovariate(1 / every)))):
                yield rate * draw.gauss(1, ripple)
            rate *= math.exp(draw.choice((-1, 1)) * step * draw.uniform(0.5, 1.5))

    return _device(draw, pace(), start, 4096 * draw.choice((1, 2, 4)))


def zoned_disk(draw: random.Random) -> Device:
    """A hard disk read from its outer tracks inwards: each zone has a bit rate of its own."""
    ripple, zone = draw.uniform(0.004, 0.015), draw.uniform(30, 150)
    outer = draw.uniform(150e6, 270e6)
    size = 1024.0 * draw.choice((128, 256, 512))

    def pace() -> Pace:
        rate = outer / size
        while True:
            for _ in range(round(zone * draw.uniform(0.6, 1.4))):
                yield rate * draw.gauss(1, ripple)
            rate *= 1 - draw.uniform(0.02, 0.06)
            if rate * size < 0.45 * outer:
                rate = outer / size

    return _device(draw, pace(), outer / size, size, unloaded=draw.uniform(0.002, 0.006))


def rebuild(draw: random.Random) -> Device:
    """An array under rebuild: it takes a share of each member that moves with what it finds."""
    start, ripple = _log_uniform(draw, 200, 4000), draw.uniform(0.005, 0.03)
    least, most, period = draw.uniform(0.1, 0.2), draw.uniform(0.3, 0.6), draw.uniform(60, 400)

    def pace() -> Pace:
        second, taken = draw.uniform(0, period), 0.0
        while True:
            second += 1
            wave = 0.5 + 0.5 * math.sin(2 * math.pi * second / period)
            taken += 0.1 * (least + (most - least) * wave + draw.gauss(0, 0.03) - taken)
            yield start * (1 - taken) * draw.gauss(1, ripple)

    return _device(draw, pace(), start, 8192)


def copy_on_write(draw: random.Random) -> Device:
    """A snapshot was taken: what is written the first time is copied before, less and less."""
    start, ripple = _log_uniform(draw, 300, 4000), draw.uniform(0.005, 0.02)
    slower, minutes = draw.uniform(0.3, 0.6), draw.uniform(120, 500)
    again = draw.uniform(400, 900)

    def pace() -> Pace:
        second = 0.0
        while True:
            second = second + 1 if second < again else 0.0
            yield start * (1 - (1 - slower) * math.exp(-second / minutes)) * draw.gauss(1, ripple)

    return _device(draw, pace(), start, 8192, write=True)


def collecting_ssd(draw: random.Random) -> Device:
    """An SSD that collects garbage: for a while it is slower, each time by another share."""
    start, ripple = _log_uniform(draw, 1000, 8000), draw.uniform(0.004, 0.02)
    free, busy = draw.uniform(10, 60), draw.uniform(5, 40)

    def pace() -> Pace:
        while True:
            for seconds, share in (
                (free, draw.uniform(0.92, 1.0)),
                (busy, draw.uniform(0.35, 0.8)),
            ):
                for _ in range(max(1, round(draw.expovariate(1 / seconds)))):
                    yield start * share * draw.gauss(1, ripple)

    return _device(draw, pace(), start, 4096 * draw.choice((1, 4)), write=True)


def far_server(draw: random.Random) -> Device:
    """A filer far away whose processor is wanted by others too."""
    start, ripple = _log_uniform(draw, 300, 3000), draw.uniform(0.004, 0.02)
    memory, most = draw.uniform(15, 120), draw.uniform(0.04, 0.12)

    def pace() -> Pace:
        off = 0.0
        while True:
            off += -off / memory + draw.gauss(0, most * math.sqrt(2 / memory))
            yield start * math.exp(off) * draw.gauss(1, ripple)

    return _device(
        draw, pace(), start, 16384, unloaded=draw.uniform(0.005, 0.04), is_remote=True
    )  # fmt: skip


KINDS: Mapping[str, Callable[[random.Random], Device]] = {
    "walk": walk,
    "zoned disk": zoned_disk,
    "rebuild": rebuild,
    "copy on write": copy_on_write,
    "collecting SSD": collecting_ssd,
    "far server": far_server,
}


def _log_uniform(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def _device(
    draw: random.Random,
    pace: Pace,
    rate: float,
    size: float,
    *,
    unloaded: float | None = None,
    write: bool | None = None,
    is_remote: bool = False,
) -> Device:
    """With so many requests that some wait, whatever it serves at a time."""
    at_a_time = draw.choice((1, 2, 4, 8))
    alone = unloaded if unloaded is not None else at_a_time / rate
    depth = max(4, round(rate * alone * draw.uniform(2.5, 8)))
    write = draw.random() < 0.5 if write is None else write
    return Device(pace, alone, min(depth, 256), size, write, is_remote)


def throttled_seconds(
    kind: str, seed: int, *, told: bool, seconds: int = SECONDS, beside: bool = False
) -> list[int]:
    """In which seconds of one such device the judge says "throttled". told: a limit that is five
    times as high is known. beside: the other direction is asked for as well, and served at once by a cache.
    """
    draw = random.Random(f"{kind} {seed}")
    device = KINDS[kind](draw)
    others = _served_at_once(random.Random(f"beside {kind} {seed}"))
    flow, owner = _flow(device)
    first = next(device.pace)
    limit = Limit(Dimension.IOPS, Direction.TOTAL, 5 * first, Origin.CONFIGURED, "story")
    budgets = {owner: Budget(owner, (flow,), (limit,) if told else ())}
    if not device.is_remote:
        lane = BudgetKey(Kind.VM_UNCACHED, "vm")
        budgets[lane] = Budget(lane, (flow,))
    judge, at = Judge(), 1000.0
    found: list[int] = []
    judge.observe(at, None, budgets, {}, Witness())
    light = draw.uniform(15, 60)
    for second in range(seconds):
        at += 1.0
        rate, depth = next(device.pace), float(device.depth)
        if second < light:
            rate, depth = _lightly(device, draw)
        tick = _tick(device, rate, depth)
        if beside:
            tick = _with_others(device, tick, *next(others))
        clients = {"filer": ClientWitness(4, on_wire=round(depth), receives_per_second=rate)}
        verdicts = judge.observe(at, 1.0, budgets, {flow: tick}, Witness(clients=clients))
        if any(verdict.word is Word.THROTTLED for verdict in verdicts.values()):
            found.append(second)
    return found


def _served_at_once(draw: random.Random) -> Iterator[tuple[float, float, float]]:
    """Requests as a share of the device's own pace, the seconds each takes, and bytes of each: at one rate for
    some seconds.
    """
    seconds, size = _log_uniform(draw, 1e-4, 1e-3), 4096.0 * draw.choice((1, 4, 16))
    while True:
        share = _log_uniform(draw, 0.05, 2)
        for _ in range(draw.randint(2, 12)):
            yield share * draw.gauss(1, 0.1), seconds * draw.gauss(1, 0.1), size


def _with_others(
    device: Device, tick: FlowTick, share: float, wait: float, size: float
) -> FlowTick:
    rate = share * tick.operations_per_second
    which = "read" if device.write else "write"
    others = {
        f"{which}_operations_per_second": rate,
        f"{which}_bytes_per_second": rate * size,
        f"{which}_await_seconds": wait,
    }
    if device.is_remote:
        others |= {f"{which}_rtt_seconds": wait, f"{which}_queue_seconds": 0.0}
    assert tick.queue_length is not None
    return tick._replace(queue_length=tick.queue_length + rate * wait, **others)


def vm_throttled_seconds(seed: int, *, interval: int) -> list[int]:
    """In which seconds of two to four such disks at once, each of any local kind, the judge says that the
    VM is throttled, of which no limit is known. interval: seconds between two looks.
    """
    draw = random.Random(f"together {seed}")
    local = [kind for name, kind in KINDS.items() if name != "far server"]
    devices = [draw.choice(local)(draw) for _ in range(draw.randint(2, 4))]
    flows = [FlowKey("disk", f"sd{'cdef'[place]}") for place in range(len(devices))]
    keys = [BudgetKey(Kind.DISK, flow.name) for flow in flows]
    lane = BudgetKey(Kind.VM_UNCACHED, "vm")
    budgets = {key: Budget(key, (flow,)) for key, flow in zip(keys, flows, strict=True)}
    budgets[lane] = Budget(lane, tuple(flows))
    judge, at = Judge(), 1000.0
    light = [draw.uniform(15, 60) for _ in devices]
    found: list[int] = []
    judge.observe(at, None, budgets, {}, Witness())
    for second in range(0, SECONDS, interval):
        at += interval
        ticks: dict[FlowKey, FlowTick | None] = {}
        for flow, device, until in zip(flows, devices, light, strict=True):
            rate = sum([next(device.pace) for _ in range(interval)]) / interval
            depth = float(device.depth)
            if second < until:
                rate, depth = _lightly(device, draw)
            ticks[flow] = _tick(device, rate, depth)._replace(elapsed_seconds=float(interval))
        verdicts = judge.observe(at, float(interval), budgets, ticks, Witness())
        if verdicts[lane].word is Word.THROTTLED:
            found.append(second)
    return found


def _lightly(device: Device, draw: random.Random) -> tuple[float, float]:
    """Rate and requests outstanding where it is asked one at a time, and not all the time."""
    depth = draw.uniform(0.2, 0.6)
    return depth / (device.unloaded_seconds * draw.gauss(1, 0.05)), depth


def _flow(device: Device) -> tuple[FlowKey, BudgetKey]:
    if device.is_remote:
        return FlowKey("nfs", "/mnt/far"), BudgetKey(Kind.VOLUME, "/mnt/far")
    return FlowKey("disk", "sdc"), BudgetKey(Kind.DISK, "sdc")


def _tick(device: Device, rate: float, depth: float) -> FlowTick:
    wait = depth / rate
    read, write = (0.0, rate) if device.write else (rate, 0.0)
    rtt = (wait, 0.0) if device.is_remote else (None, None)
    return FlowTick(
        1.0,
        read_operations_per_second=read,
        write_operations_per_second=write,
        read_bytes_per_second=read * device.size,
        write_bytes_per_second=write * device.size,
        read_await_seconds=wait if read else None,
        write_await_seconds=wait if write else None,
        queue_length=depth,
        in_flight=None if device.is_remote else round(depth),
        busy_ratio=None if device.is_remote else min(1.0, depth),
        read_rtt_seconds=rtt[0] if read else None,
        write_rtt_seconds=rtt[0] if write else None,
        read_queue_seconds=rtt[1] if read else None,
        write_queue_seconds=rtt[1] if write else None,
    )
