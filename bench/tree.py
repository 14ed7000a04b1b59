"""Writes a made-up machine's /proc and /sys below a directory, and moves it every second.

    .venv/bin/python bench/tree.py DIRECTORY --disks 64 --mounts 100 --nconnect 8

says "ready" when the tree stands, and advances it in real time until its input closes. Files
are written in place, in one call each: whoever keeps a descriptor open, as a daemon on the
real /proc does, sees what whoever opens the file anew sees.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
import time
from pathlib import Path

from machine import V3, V4, Disk, Machine, Shape

PID = 4242
CPUS = 16
# Of a virtual machine's queue/; our daemon reads six of them, node_exporter all.
QUEUE = {
    "add_random": "0",
    "chunk_sectors": "0",
    "dax": "0",
    "discard_granularity": "4096",
    "discard_max_bytes": "4294966784",
    "discard_max_hw_bytes": "4294966784",
    "discard_zeroes_data": "0",
    "fua": "0",
    "hw_sector_size": "512",
    "io_poll": "0",
    "io_poll_delay": "-1",
    "iostats": "1",
    "logical_block_size": "512",
    "max_discard_segments": "1",
    "max_hw_sectors_kb": "1280",
    "max_integrity_segments": "0",
    "max_sectors_kb": "1280",
    "max_segment_size": "65536",
    "max_segments": "128",
    "minimum_io_size": "512",
    "nomerges": "0",
    "nr_requests": "64",
    "nr_zones": "0",
    "optimal_io_size": "0",
    "physical_block_size": "4096",
    "read_ahead_kb": "128",
    "rotational": "0",
    "rq_affinity": "1",
    "scheduler": "[none] mq-deadline",
    "stable_writes": "0",
    "wbt_lat_usec": "2000",
    "write_cache": "write back",
    "write_same_max_bytes": "0",
    "write_zeroes_max_bytes": "0",
    "zone_append_max_bytes": "0",
    "zoned": "none",
}
LOCAL = (
    ("sysfs", "/sys", "sysfs"),
    ("proc", "/proc", "proc"),
    ("udev", "/dev", "devtmpfs"),
    ("/dev/sda1", "/", "ext4"),
    ("tmpfs", "/run", "tmpfs"),
    ("cgroup2", "/sys/fs/cgroup", "cgroup2"),
    ("/dev/dm-0", "/data", "xfs"),
)


def moving(machine: Machine) -> dict[str, str]:
    """What changes by the second, by its path below the directory."""
    seconds = machine.uptime_seconds
    local = "".join(f"device {d} mounted on {p} with fstype {t}\n" for d, p, t in LOCAL)
    pressure = (
        f"some avg10=1.00 avg60=1.00 avg300=1.00 total={int(seconds * 10000)}\n"
        f"full avg10=0.50 avg60=0.50 avg300=0.50 total={int(seconds * 5000)}\n"
    )
    return {
        "proc/diskstats": "".join(disk.line() for disk in machine.disks),
        f"proc/{PID}/mountstats": local + "".join(mount.record() for mount in machine.mounts),
        f"proc/{PID}/net/dev": _netdev(machine),
        f"proc/{PID}/net/rpc/nfs": _rpc(machine),
        **{f"proc/pressure/{name}": pressure for name in ("cpu", "io", "memory")},
        "proc/stat": _stat(int(seconds * 100)),
        "proc/meminfo": _meminfo(int(seconds)),
    }


def standing(machine: Machine) -> dict[str, str]:
    """What does not change."""
    lines = [
        f"{20 + n} 1 0:{20 + n} / {point} rw,relatime shared:{n} - {fstype} {device} rw\n"
        for n, (device, point, fstype) in enumerate(LOCAL)
    ]
    lines += [mount.line_of_mountinfo() for mount in machine.mounts]
    found = {
        f"proc/{PID}/mountinfo": "".join(lines),
        "proc/sys/kernel/osrelease": "6.1.0-28-cloud-amd64\n",
        "proc/sys/sunrpc/tcp_max_slot_table_entries": "65536\n",
        "proc/sys/sunrpc/tcp_slot_table_entries": "2\n",
    }
    for disk in machine.disks:
        found |= {f"sys/{_folder(disk)}/{name}": text for name, text in _about(disk).items()}
    return found


def _folder(disk: Disk) -> str:
    if disk.slaves:
        return f"devices/virtual/block/{disk.name}"
    whole = disk.partition_of or disk
    place = f"devices/vmbus/scsi/host0/target0:0:0/0:0:0:{whole.minor // 16}/block/{whole.name}"
    return place if disk is whole else f"{place}/{disk.name}"


def _about(disk: Disk) -> dict[str, str]:
    common = {"dev": f"{disk.major}:{disk.minor}\n", "size": f"{disk.sectors}\n", "ro": "0\n"}
    common |= {"stat": f"{' '.join(map(str, disk.counters))}\n", "holders/.kept": ""}
    if disk.partition_of is not None:
        return common | {"partition": f"{disk.minor}\n"}
    common |= {f"queue/{name}": f"{text}\n" for name, text in QUEUE.items()}
    common |= {"diskseq": f"{disk.minor + 1}\n", "removable": "0\n", "slaves/.kept": ""}
    if disk.slaves:
        return common | {"dm/name": f"volumes-{disk.name}\n", "dm/uuid": f"LVM-{disk.name}\n"}
    return common | {"device/model": "Virtual Disk\n", "device/vendor": "Msft\n"}


def _netdev(machine: Machine) -> str:
    moved = [sum(m.bytes[column] for m in machine.mounts) for column in (4, 5)]
    received, sent = (each + int(machine.uptime_seconds * 20_000) for each in moved)
    return (
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast"
        "|bytes    packets errs drop fifo colls carrier compressed\n"
        "    lo: 1000000 10000 0 0 0 0 0 0 1000000 10000 0 0 0 0 0 0\n"
        f"  eth0: {received} {received // 1400} 0 0 0 0 0 0"
        f" {sent} {sent // 1400} 0 0 0 0 0 0\n"
    )


def _rpc(machine: Machine) -> str:
    parts = []
    for number, names in (("3", V3), ("4", V4)):
        mounts = [m for m in machine.mounts if m.client.version[0] == number]
        calls = [sum(m.calls.get(name, 0) for m in mounts) % 2**32 for name in names]
        parts.append(f"proc{number} {len(names)} {' '.join(map(str, calls))}\n")
    total = int(machine.uptime_seconds * 10)
    return f"net 0 0 0 0\nrpc {total} 0 {total}\n" + "".join(parts)


def _stat(hundredths: int) -> str:
    each = [f"{hundredths // n}" for n in (9, 999, 19, 1, 99, 9999, 999, 99, 9999, 9999)]
    cpus = "".join(f"cpu{n} {' '.join(each)}\n" for n in range(CPUS))
    interrupts = " ".join("0" if n % 3 else str(hundredths + n) for n in range(300))
    return (
        f"cpu  {' '.join(str(int(n) * CPUS) for n in each)}\n{cpus}intr {hundredths} {interrupts}\n"
        f"ctxt {hundredths * 30}\nbtime 1700000000\nprocesses {hundredths}\nprocs_running 2\n"
        f"procs_blocked 1\nsoftirq {hundredths} 1 2 3 4 5 6 7 8 9 10\n"
    )


# Names and order of fs/proc/meminfo.c.
MEMORY = (  # noqa: SIM905
    "MemTotal MemFree MemAvailable Buffers Cached SwapCached Active Inactive Active(anon)"
    " Inactive(anon) Active(file) Inactive(file) Unevictable Mlocked SwapTotal SwapFree Zswap"
    " Zswapped Dirty Writeback AnonPages Mapped Shmem KReclaimable Slab SReclaimable SUnreclaim"
    " KernelStack PageTables SecPageTables NFS_Unstable Bounce WritebackTmp CommitLimit"
    " Committed_AS VmallocTotal VmallocUsed VmallocChunk Percpu AnonHugePages ShmemHugePages"
).split()


def _meminfo(seconds: int) -> str:
    def kib(name: str) -> int:
        return seconds % 5000 if name in {"Dirty", "Writeback"} else 1_000_000

    return "".join(f"{name + ':':15} {kib(name):9} kB\n" for name in MEMORY)


class Tree:
    """The directory. Descriptors of what moves stay open."""

    def __init__(self, root: Path, machine: Machine) -> None:
        self._root = root
        self._machine = machine
        self._open: dict[str, int] = {}
        for path, text in standing(machine).items():
            self._put(path, text)
        self._links()
        self.write()

    def advance(self, seconds: float) -> None:
        self._machine.advance(seconds)
        self.write()

    def write(self) -> None:
        """Every file that moves, over the same inode: one write each."""
        for path, text in moving(self._machine).items():
            data = text.encode()
            descriptor = self._open.get(path)
            if descriptor is None:
                (self._root / path).parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(self._root / path, os.O_WRONLY | os.O_CREAT, 0o644)
                self._open[path] = descriptor
            os.pwrite(descriptor, data, 0)
            if os.fstat(descriptor).st_size != len(data):
                os.ftruncate(descriptor, len(data))

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def _put(self, path: str, text: str) -> None:
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.name == ".kept":  # a directory that may be empty
            return
        place.write_text(text)

    def _links(self) -> None:
        links = {"proc/self": str(PID), "proc/net": "self/net", "proc/mounts": "self/mounts"}
        for disk in self._machine.disks:
            folder = _folder(disk)
            links[f"sys/class/block/{disk.name}"] = f"../../{folder}"
            links[f"sys/dev/block/{disk.major}:{disk.minor}"] = f"../../{folder}"
            if disk.partition_of is None:
                links[f"sys/block/{disk.name}"] = f"../{folder}"
            for slave in disk.slaves:
                beyond = f"{'../' * (folder.count('/') + 2)}"
                links[f"sys/{folder}/slaves/{slave.name}"] = beyond + _folder(slave)
                back = f"{'../' * (_folder(slave).count('/') + 2)}"
                links[f"sys/{_folder(slave)}/holders/{disk.name}"] = back + folder
        for path, target in links.items():
            place = self._root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)


def advance_until_told(tree: Tree) -> None:
    """Advance on a monotonic grid of seconds until standard input ends."""
    last = time.monotonic()
    due = last + 1.0
    while not select.select([sys.stdin], [], [], max(due - time.monotonic(), 0.0))[0]:
        now = time.monotonic()
        tree.advance(now - last)
        last = now
        due += 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--disks", type=int, default=16)
    parser.add_argument("--mounts", type=int, default=8)
    parser.add_argument("--nconnect", type=int, default=4)
    given = parser.parse_args()
    tree = Tree(given.directory, Machine(Shape(given.disks, given.mounts, given.nconnect)))
    print("ready", flush=True)
    advance_until_told(tree)


if __name__ == "__main__":
    main()
