"""The stories: what happens to a machine, and which limit truly binds when."""

from __future__ import annotations

from ioplateau.limits.budgets import BudgetKey, Dimension, Kind, Word
from story_world import IDLE, VM, Act, Device, Load, Story

IOPS, THROUGHPUT, SLOTS = Dimension.IOPS, Dimension.THROUGHPUT, Dimension.SLOTS
SDA = BudgetKey(Kind.DISK, "sda")
SDB = BudgetKey(Kind.DISK, "sdb")
A = BudgetKey(Kind.VOLUME, "/a")
A_SLOTS = BudgetKey(Kind.NFS_SLOTS, "/a")
CALM = Act(20, {"sda": Load(rate=100.0, noise=0.1)})
P10 = {"sda": Device(iops=500.0, bytes_per_second=100e6)}
FAST = {"sda": Device(latency=0.001, iops=20_000.0, bytes_per_second=900e6)}


def _disk(name: str, load: Load, dimension: Dimension = IOPS, seconds: int = 40) -> Story:
    return Story(name, [CALM, Act(seconds, {"sda": load}, SDA, dimension), CALM], P10)


def _free(name: str, *acts: Act) -> Story:
    return Story(name, [CALM, *acts, CALM], FAST)


def _volume(name: str, *acts: Act, slots: int | None = None) -> Story:
    mount = Device(latency=0.008, bytes_per_second=10e6, slots=slots)
    return Story(name, acts, mounts={"/a": mount})


QUIET_NFS = Act(20, {"/a": Load(rate=20.0, size=65536.0)})

# Twelve at a time reach this disk's limit.
LARGER = {"sda": Device(iops=6000.0)}


def _rise(depth: int) -> Act:
    load = {"sda": Load(depth=depth)}
    return Act(3, load, SDA, IOPS) if depth > 12 else Act(3, load)


STORIES: tuple[Story, ...] = (
    _disk("a closed loop of four", Load(depth=4)),
    _disk("a closed loop of two", Load(depth=2)),
    _disk("a deep closed loop", Load(depth=64)),
    _disk("writes at the limit", Load(depth=16, write=True)),
    _disk("large reads at the byte limit", Load(depth=8, size=1048576.0), THROUGHPUT),
    Story(
        "more arrives than may be served, and drains",
        [
            CALM,
            Act(20, {"sda": Load(rate=700.0, noise=0.1)}, SDA, IOPS),
            Act(8, {"sda": Load(rate=100.0)}, SDA, IOPS),
            Act(20, {"sda": Load(rate=100.0)}),
        ],
        P10,
    ),
    Story(
        "bursts of eight seconds",
        [CALM, *[Act(8, {"sda": Load(depth=32)}, SDA, IOPS), Act(12, {"sda": IDLE})] * 3],
        P10,
    ),
    Story(
        "one disk of two at its limit",
        [CALM, Act(40, {"sda": Load(depth=16), "sdb": Load(rate=100.0)}, SDA, IOPS)],
        {**P10, "sdb": Device(iops=500.0)},
    ),
    Story(
        "the VM holds two disks",
        [
            CALM,
            Act(40, {"sda": Load(depth=24), "sdb": Load(depth=24)}, VM, IOPS),
            CALM,
        ],
        {"sda": Device(iops=5000.0), "sdb": Device(iops=5000.0)},
        vm_iops=6400.0,
    ),
    _volume(
        "a volume at its limit",
        QUIET_NFS,
        Act(40, {"/a": Load(depth=16, size=262144.0)}, A, THROUGHPUT),
        QUIET_NFS,
    ),
    _volume(
        "writes to a volume at its limit",
        QUIET_NFS,
        Act(40, {"/a": Load(depth=8, size=262144.0, write=True)}, A, THROUGHPUT),
    ),
    _volume(
        "two slots for eight calls",
        Act(20, {"/a": Load(depth=1)}),
        Act(40, {"/a": Load(depth=8)}, A_SLOTS, SLOTS),
        slots=2,
    ),
    _volume(
        "a server that goes silent",
        QUIET_NFS,
        Act(20, {"/a": Load(depth=2, stalled=True)}, word=Word.STALLED, about=A),
        QUIET_NFS,
    ),
    _free("an application at its own flat rate", Act(60, {"sda": Load(rate=2000.0)})),
    _free(
        "one request at a time",
        Act(60, {"sda": Load(depth=1)}, word=Word.LATENCY_BOUND, about=SDA),
    ),
    _free("eight requests at a time", Act(60, {"sda": Load(depth=8)})),
    _free("a noisy neighbour", Act(10, {"sda": Load(depth=3, slower=6.0, noise=0.2)})),
    _free("a device that became slow", Act(60, {"sda": Load(depth=3, slower=3.0)})),
    _free(
        "a disk that hangs",
        Act(20, {"sda": Load(depth=8)}),
        Act(15, {"sda": Load(depth=8, stalled=True)}, word=Word.STALLED, about=SDA),
    ),
    Story(
        "a device that hardly trembles, eight at a time",
        [Act(90, {"sda": Load(depth=8)}, word=Word.LATENCY_BOUND, about=SDA), CALM],
        {"sda": Device(latency=0.001, iops=50_000.0, ripple=0.003)},
    ),
    Story(
        "demand that grows past the limit, one request every three seconds",
        [CALM, *[_rise(depth) for depth in range(2, 40)], CALM],
        LARGER,
    ),
    _free("nothing at all", Act(60, {}, word=Word.IDLE, about=SDA)),
    Story(
        "just below the limit",
        [CALM, Act(60, {"sda": Load(rate=470.0)}), CALM],
        P10,
    ),
)
