"""Nothing grows: neither with ticks nor with what comes and goes."""

import gc
import random
import sys
import tracemalloc

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import Kind, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS, MOUNTSTATS, NETDEV, Snapshot, Static
from ioplateau.tell.prometheus import Exposition
from nfs_texts import entry, mounted, record
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
    gc.collect()  # empties the free lists too: what is taken from them later would not be traced
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
    # Of absent budgets the counts are kept, of two hundred at most: one in five seconds is new, and
    # of each the seconds it was held back are counted as well.
    assert growth(changing, 2000, 1000) < 15_000


ACT_SECONDS = 20
# What is asked of a disk or mount for an act: requests outstanding, and the rate they are held at
# (None: 2 ms each, held by nothing). A rate drawn anew each time is a limit nobody told us.
KNOWN, DRAWN, FREE = 500, "drawn", None
ACTS = ((16, KNOWN), (0, FREE), (1, FREE), (32, DRAWN), (3, FREE), (8, 0), (64, KNOWN), (2, KNOWN))
SIZES = (4096, 16384, 65536, 1 << 20)


class Load:
    """What a disk or mount was asked for, second by second; cumulative, as kernels count."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.acts = self.dice.sample(ACTS, len(ACTS))
        self.reads = self.writes = self.read_bytes = self.write_bytes = 0
        self.read_ms = self.write_ms = self.busy_ms = self.outstanding = 0

    def second(self, now):
        if now % ACT_SECONDS == 0:
            depth, held = self.acts[now // ACT_SECONDS % len(self.acts)]
            self.outstanding = depth
            self.rate = self.dice.randrange(200, 2000) if held is DRAWN else held
            self.size, self.writing = self.dice.choice(SIZES), self.dice.random() < 0.5
        milliseconds = 2 * self.dice.uniform(0.8, 1.2)
        done = int(self.outstanding * 1000 / milliseconds)
        if self.rate is not None:
            done = min(done, self.rate)
        took = self.outstanding * 1000 if done else 0
        if self.writing:
            self.writes += done
            self.write_bytes += done * self.size
            self.write_ms += took
        else:
            self.reads += done
            self.read_bytes += done * self.size
            self.read_ms += took
        self.busy_ms += 1000 if self.outstanding else 0

    def diskstats(self, name):
        return (
            f"8 0 {name} {self.reads} 0 {self.read_bytes // 512} {self.read_ms} {self.writes} 0 "
            f"{self.write_bytes // 512} {self.write_ms} {self.outstanding} {self.busy_ms} "
            f"{self.read_ms + self.write_ms}\n"
        )

    def mountstats(self, at):
        calls = self.reads + self.writes
        reading, writing = (
            f"0 {self.read_ms} {self.read_ms} 0",
            f"0 {self.write_ms} {self.write_ms} 0",
        )
        return record(
            header=f"device fs:/vol mounted on {at} with fstype nfs4 statvers=1.1",
            octets=f"0 0 0 0 {self.read_bytes} {self.write_bytes} 0 0",
            connections=(f"tcp 0 0 1 0 0 {calls + self.outstanding} {calls} 0 {calls} 0 9 0 0",),
            operations=(
                f"READ: {self.reads} {self.reads} 0 0 {self.read_bytes} {reading}",
                f"WRITE: {self.writes} {self.writes} 0 {self.write_bytes} 0 {writing}",
            ),
        )


class Moods:
    """A machine on which nothing stays as it is for longer than twenty seconds: two disks (one
    with a known limit) under a known limit of the VM, and a mount; now and then a long gap, or
    counters that begin anew."""

    RULES = Rules(
        (ConfiguredLimit(disk="sda", iops=500.0), ConfiguredLimit(vm="uncached", iops=2400.0))
    )
    STATIC = Static(
        block={"sda": {"size": "2048"}, "sdb": {"size": "2048"}}, mountinfo=entry("/mnt", "0:40")
    )

    def __init__(self):
        self.loads = [Load(seed) for seed in range(3)]
        self.at = 0.0

    def __call__(self, second):
        self.at += 30.0 if second % 7000 == 0 else 1.0
        if second % 5000 == 0:
            self.loads[0].reads = self.loads[0].read_ms = 0
        for load in self.loads:
            load.second(second)
        sda, sdb, mount = self.loads
        return Snapshot(
            mono=self.at,
            mono_end=self.at,
            wall=1e9 + self.at,
            static=self.STATIC,
            texts={
                DISKSTATS: (sda.diskstats("sda") + sdb.diskstats("sdb")).encode(),
                MOUNTSTATS: mount.mountstats("/mnt"),
                NETDEV: interface("eth0", second * 1000).encode(),
            },
        )


@pytest.mark.timeout(2700)  # a minute, and seven times that where the host takes the CPUs away
def test_a_hundred_thousand_ticks_of_changing_load_leave_nothing_behind():
    """Objects that live, by Python's own count of what it handed out: a list of numbers that
    gets one longer each act of twenty seconds would be 4,500 more. tracemalloc would take five
    times as long."""
    machine, engine = Moods(), Engine(EngineSettings(rules=Moods.RULES))
    exposition = Exposition(self_stats)
    alive, said = [], set()
    for second in range(100_000):
        state = engine.observe(machine(second))
        said.update((key.kind, each.verdict.word) for key, each in state.budgets.items())
        if second % 1000 == 999:
            exposition.answer(state, "", "")
            del state
            gc.collect()
            alive.append(sys.getallocatedblocks())

    assert {(Kind.DISK, word) for word in Word if word is not Word.AFFECTED} <= said
    assert {(kind, Word.THROTTLED) for kind in (Kind.VM_UNCACHED, Kind.VOLUME)} <= said
    assert max(alive[-10:]) - max(alive[10:20]) < 500
