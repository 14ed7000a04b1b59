"""Nothing grows: neither with ticks nor with what comes and goes."""

import gc
import tracemalloc

from ioplateau.engine import Engine, EngineSettings
from ioplateau.judge.limits import ConfiguredLimit
from ioplateau.judge.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS, MOUNTSTATS, NETDEV, Snapshot, Static
from ioplateau.tell.prometheus import Exposition
from nfs_texts import entry, mounted
from states import self_stats

RULES = Rules((ConfiguredLimit(disk="*", iops=500.0), ConfiguredLimit(mount="*", iops=500.0)))
SOCKET = {
    "local_address": "10.0.0.9",
    "remote_address": "10.0.0.4",
    "remote_port": 2049,
    "state": "established",
    "receive_queue_bytes": 0,
    "send_queue_bytes": 0,
}


def disk(name, reads):
    return (
        f"   8       0 {name} {reads} 0 {reads * 8} {reads * 32} 0 0 0 0 16 {reads} {reads * 32}\n"
    )


def interface(name, octets):
    return f"  {name}: {octets} 1 0 0 0 0 0 0 {octets} 1 0 0 0 0 0 0\n"


def snapshot(second, disks, mounts, interfaces, static, **blobs):
    return Snapshot(
        mono=float(second),
        mono_end=float(second),
        wall=1e9 + second,
        boot=float(second),
        static=static,
        texts={
            DISKSTATS: "".join(disk(*each) for each in disks).encode(),
            MOUNTSTATS: b"".join(mounts),
            NETDEV: "".join(interface(*each) for each in interfaces).encode(),
        },
        blobs=blobs,
    )


def steady(second):
    """One machine, throttled at its disk's limit half of each minute, and busy elsewhere."""
    reads = second * 500 if second % 60 < 30 else second * 500 + second % 7
    mounts = (mounted("/mnt", reads=second * 100, sends=second * 100),)
    return snapshot(
        second, [("sda", reads), ("sdb", second * 9)], mounts, [("eth0", second)], STEADY
    )


STEADY = Static(
    block={"sda": {"size": "2048"}, "sdb": {"size": "2048"}}, mountinfo=entry("/mnt", "0:40")
)


def changing(second):
    """A machine on which each disk, mount, client, interface and group lives for five seconds."""
    birth = second // 5
    ours = f"new{birth}"
    reads = (second % 5) * 500
    device = f"0:{40 + birth}"
    share = f"fs{birth}:/v"
    static = shape(ours, f"/m{birth}", device, share)
    tcp = [{**SOCKET, "local_port": birth % 60000}]
    groups = [{"path": f"/{ours}", "files": {"io.max": "8:0 riops=500", "io.stat": "8:0 rios=9"}}]
    return snapshot(
        second,
        [("sda", second * 500), (ours, reads)],
        (mounted(f"/m{birth}", of=share, reads=reads, sends=reads, version="3", ports=(birth,)),),
        [("eth0", second), (f"veth{birth}", second)],
        static,
        tcp=tcp,
        cgroups=groups,
    )


_SHAPES = {}


def shape(name, point, device, share):
    """The same object while nothing changes, as the sampler gives it."""
    if name not in _SHAPES:
        _SHAPES.clear()
        table = entry(point, device, of=share, version="3")
        _SHAPES[name] = Static(
            block={"sda": {"size": "2048"}, name: {"size": "2048", "serial": name}},
            mountinfo=table,
        )
    return _SHAPES[name]


def growth(machine, first, then, look=lambda _: None):
    """Bytes that the last `then` seconds left behind, after the `first` filled every window."""
    engine = Engine(EngineSettings(rules=RULES))
    tracemalloc.start()
    try:
        before = held_after(engine, machine, range(first), look)
        after = held_after(engine, machine, range(first, first + then), look)
    finally:
        tracemalloc.stop()
    return after - before


def held_after(engine, machine, seconds, look):
    for second in seconds:
        state = engine.observe(machine(second))
        if second % 15 == 0:
            look(state)
    del state
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_ticks_and_scrapes_leave_nothing_behind():
    exposition = Exposition(self_stats)

    assert growth(steady, 300, 600, lambda state: exposition.answer(state, "", "")) < 15_000


def test_devices_mounts_and_clients_that_come_and_go_leave_nothing_behind():
    # Two hundred absent budgets, of which the counts are kept, are soon there.
    assert growth(changing, 600, 1000) < 15_000
