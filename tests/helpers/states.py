"""States by hand: small builders with sensible defaults, so that a test names only what it is about."""

from collections.abc import Mapping
from typing import Any

from ioplateau.limits.budgets import (
    HELD,
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
from ioplateau.measure.diskstats import DiskCounters
from ioplateau.measure.interfaces import InterfaceCounters
from ioplateau.measure.meminfo import MemoryUse
from ioplateau.measure.mountinfo import MountEntry
from ioplateau.measure.mountstats import Mount, NfsConnection, Operation
from ioplateau.measure.pressure import Pressure
from ioplateau.measure.procstat import CpuTicks
from ioplateau.measure.ratewindow import ReadingPair
from ioplateau.measure.sockets import TcpSocket, counts
from ioplateau.measure.sysblock import BlockDevice
from ioplateau.state import (
    BudgetState,
    ClientKey,
    DiskState,
    InterfaceState,
    LimitState,
    MachineState,
    NfsClientState,
    NfsMountState,
    SourceState,
    State,
)
from ioplateau.tell.metrics_self import SelfStats

WINDOW_SECONDS = 10.0


def state(**parts: Any) -> State:
    """A state at 1000 s of the monotonic clock with the parts given and nothing else."""
    times = {"mono": 1000.0, "wall": 1_700_000_000.0, "interval_seconds": 1.0, "ticks": 100}
    same = {"held": held(parts.get("budgets", {})), "counted": parts.get("flows", {})}
    return State(**(times | same | parts))


def waited(mono: float, microseconds: int) -> State:
    """In which tasks have waited for I/O so long in all."""
    return state(mono=mono, machine=MachineState(Pressure(microseconds, None)))


def held(budgets: Mapping[BudgetKey, BudgetState]) -> tuple[Verdict, ...]:
    """The verdicts of which an episode is made."""
    return tuple(each.verdict for each in budgets.values() if each.verdict.word in HELD)


def full() -> State:
    """One of everything."""
    return state(
        disks={"sda": disk("sda")},
        mounts={"/mnt/a": nfs_mount("/mnt/a")},
        clients={CLIENT: nfs_client()},
        interfaces={"eth0": interface("eth0")},
        machine=machine(),
        budgets=by_key(
            budget(Kind.DISK, "sda", limit(Dimension.IOPS), limit(Dimension.THROUGHPUT)),
            budget(
                Kind.VOLUME,
                "/mnt/a",
                limit(Dimension.THROUGHPUT, value=1e8, burst_credit=0.5),
                word=Word.THROTTLED,
            ),
            budget(Kind.NFS_SLOTS, "/mnt/a", limit(Dimension.SLOTS, value=64.0)),
        ),
        flow_throttled_seconds={
            (FlowKey("disk", "sda"), BudgetKey(Kind.DISK, "sda"), Dimension.IOPS): 12.0
        },
        sources={"diskstats": SourceState("diskstats", up=True, seconds=0.25, rejects=3)},
    )


def disk_counters(name: str = "sda", **changes: Any) -> DiskCounters:
    values: dict[str, Any] = {
        "name": name,
        "device": (8, 0),
        "reads": 1000,
        "read_merges": 10,
        "read_sectors": 8000,
        "read_milliseconds": 5000,
        "writes": 500,
        "write_merges": 5,
        "write_sectors": 4000,
        "write_milliseconds": 2500,
        "in_flight": 16,
        "busy_milliseconds": 60_000,
        "weighted_milliseconds": 7500,
        "discards": 0,
        "discard_merges": 0,
        "discard_sectors": 0,
        "discard_milliseconds": 0,
        "flushes": 2,
        "flush_milliseconds": 40,
    }
    return DiskCounters(**(values | changes))


def disk(name: str = "sda", before: Mapping[str, Any] | None = None, **changes: Any) -> DiskState:
    """A disk; with `before` the rate window reaches back to those counters."""
    now = disk_counters(name, **changes)
    window = None
    if before is not None:
        then = disk_counters(name, **(changes | dict(before)))
        window = ReadingPair(then, now, WINDOW_SECONDS)
    return DiskState(name, now, window, device=block_device(name))


def block_device(name: str, **changes: Any) -> BlockDevice:
    values: dict[str, Any] = {
        "name": name,
        "device": (8, 0),
        "size_bytes": 64 << 30,
        "kind": "disk",
        "mapper_name": "",
        "md_level": "",
        "model": "Virtual Disk",
        "vendor": "Msft",
        "serial": "6002248",
        "wwid": "naa.6002248",
        "diskseq": 9,
        "scsi_address": (1, 0, 0, 3),
        "nvme_namespace": None,
        "scheduler": "none",
        "nr_requests": 64,
        "slaves": (),
        "holders": (),
        "partition_of": "",
    }
    return BlockDevice(**(values | changes))


def operation(**changes: Any) -> Operation:
    values: dict[str, Any] = {
        "operations": 100,
        "transmissions": 100,
        "timeouts": 0,
        "bytes_sent": 20_000,
        "bytes_received": 400_000,
        "queue_milliseconds": 50,
        "rtt_milliseconds": 1000,
        "execute_milliseconds": 1100,
        "errors": 0,
    }
    return Operation(**(values | changes))


def mount(point: str = "/mnt/a", **changes: Any) -> Mount:
    values: dict[str, Any] = {
        "device": "10.0.0.4:/vol1",
        "mount_point": point,
        "occurrence": 0,
        "fstype": "nfs4",
        "options": {
            "rw": "",
            "vers": "4.1",
            "rsize": "262144",
            "wsize": "262144",
            "hard": "",
            "proto": "tcp",
            "nconnect": "4",
            "sec": "sys",
        },
        "age_seconds": 3600,
        "events": tuple(range(27)),
        "bytes": (1, 2, 3, 4, 500_000, 600_000, 7, 8),
        "rpc_program": "100003/4",
        "connections": (connection(), connection()),
        "operations": {"READ": operation(), "WRITE": operation(), "GETATTR": operation()},
    }
    return Mount(**(values | changes))


def nfs_mount(label: str = "/mnt/a", before: Mount | None = None, **changes: Any) -> NfsMountState:
    """A superblock; with `before` the rate window reaches back to that record."""
    now = mount(label, **changes)
    window = None if before is None else ReadingPair(before, now, WINDOW_SECONDS)
    entry = MountEntry((0, 42), label, 0, "nfs4", "10.0.0.4:/vol1", {"addr": "10.0.0.4"})
    return NfsMountState(label, now, window, entry, (label,), CLIENT)


CLIENT = ClientKey("10.0.0.4", "4.1", "tcp")


def connection(**changes: Any) -> NfsConnection:
    values: dict[str, Any] = {
        "kind": "tcp",
        "port": 0,
        "binds": 1,
        "connects": 1,
        "connect_seconds": 0,
        "idle_seconds": 0,
        "sends": 1000,
        "receives": 998,
        "bad_xids": 0,
        "requests_sum": 2000,
        "backlog_sum": 0,
        "max_slots": 16,
        "sending_sum": 0,
        "pending_sum": 1500,
    }
    return NfsConnection(**(values | changes))


def nfs_client(before: tuple[NfsConnection, ...] | None = None, **changes: Any) -> NfsClientState:
    now = changes.pop("now", (connection(), connection()))
    window = None if before is None else ReadingPair(before, now, WINDOW_SECONDS)
    values: dict[str, Any] = {
        "key": CLIENT,
        "address": "10.0.0.4",
        "mounts": ("/mnt/a",),
        "sockets": (socket(),),
        "tcp": counts(socket()),
        "slot_limit": None,
    }
    return NfsClientState(now=now, window=window, **(values | changes))


def socket(**changes: Any) -> TcpSocket:
    values: dict[str, Any] = {
        "local_address": "10.0.0.5",
        "local_port": 700,
        "remote_address": "10.0.0.4",
        "remote_port": 2049,
        "state": "ESTABLISHED",
        "rtt_microseconds": 500,
        "min_rtt_microseconds": 200,
        "congestion_window": 10,
        "segment_bytes": 1448,
        "retransmits": 2,
        "delivery_rate_bytes_per_second": 1_000_000,
        "bytes_sent": 10_000,
        "bytes_received": 20_000,
        "busy_microseconds": 10_000_000,
        "receiver_limited_microseconds": 1_000_000,
        "sender_limited_microseconds": 2_000_000,
        "receive_queue_bytes": 0,
        "send_queue_bytes": 64,
    }
    return TcpSocket(**(values | changes))


def interface(name: str = "eth0", before: InterfaceCounters | None = None) -> InterfaceState:
    now = InterfaceCounters(name, 5000, 50, 0, 1, 7000, 70, 0, 2)
    window = None if before is None else ReadingPair(before, now, WINDOW_SECONDS)
    return InterfaceState(name, now, window, speed_bits_per_second=1e9, up=True)


def machine() -> MachineState:
    return MachineState(
        Pressure(some_microseconds=1_500_000, full_microseconds=500_000),
        CpuTicks(iowait=250, steal=50),
        MemoryUse(dirty_bytes=4096, writeback_bytes=0),
    )


def limit(
    dimension: Dimension = Dimension.IOPS,
    *,
    value: float = 500.0,
    utilization: float | None = 0.5,
    throttled: bool = False,
    burst_credit: float | None = None,
    source: str = "config.toml limit[0]",
    **changes: Any,
) -> LimitState:
    """A configured limit in both directions."""
    direction = changes.pop("direction", Direction.TOTAL)
    origin = changes.pop("origin", Origin.CONFIGURED)
    values: dict[str, Any] = {
        "effective": value,
        "utilization": utilization,
        "peak_utilization": utilization,
        "throttled": throttled,
        "throttled_seconds": 0.0,
        "episodes": 0,
        "credit_ratio": burst_credit,
        "share": utilization,
    }
    told = {name: changes.pop(name) for name in ("burst", "each_client") if name in changes}
    ceiling = Limit(dimension, direction, value, origin, source, **told)
    return LimitState(ceiling, **(values | changes))


def budget(
    kind: Kind, name: str, *limits: LimitState, word: Word = Word.HEALTHY, **changes: Any
) -> BudgetState:
    """A budget and its verdict, which has held for 130 s; `changes` are the verdict's."""
    key = BudgetKey(kind, name)
    described = changes.pop("info", {})
    whole = Budget(key, (), tuple(one.limit for one in limits), info=described)
    values: dict[str, Any] = {"since": 870.0}
    return BudgetState(whole, Verdict(key, word, **(values | changes)), limits)


def by_key(*budgets: BudgetState) -> dict[BudgetKey, BudgetState]:
    return {one.budget.key: one for one in budgets}


def self_stats(**changes: Any) -> SelfStats:
    values: dict[str, Any] = {
        "version": "0.1.0",
        "python": "3.11.2",
        "tick_counts": (1, 5, 8, 9, 9, 9, 9, 9, 10, 10),
        "ticks": 11,
        "tick_seconds": 2.5,
        "ticks_skipped": 1,
        "scrapes": 4,
        "start_time_seconds": 1_699_999_000.0,
        "cpu_seconds": 1.25,
        "resident_bytes": 30_000_000,
        "open_descriptors": 12,
    }
    return SelfStats(**(values | changes))
