"""Recordings of PostgreSQL on a disk with one limit of reads and writes together, drawn, not chosen.

    python tests/helpers/database_machines.py SEED...   # tests/machines/database_SEED, one after the other

Each transaction reads, writes and commits, so that some of what the kernel counts as writes are flushes without data,
which this limiter does not count. The disk is a loop device over a file that nbdfuse shows of qemu-storage-daemon,
whose throttle group holds it; the database's memory is limited, so that it must read. No checkpoint comes
while it is recorded: it would be held for seconds in phases in which nothing shall be.

Needs root, postgresql, qemu-utils, qemu-system-common (qemu-storage-daemon), libnbd-bin (nbdfuse), a kernel with
FUSE, 2 GiB in /var/tmp and the memory controller of either version of control groups.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from drawn_machines import MACHINES, recorded, write_labels
from throttled_disk import MIB, make_cgroup

BIN = Path("/usr/lib/postgresql/15/bin")
DISK_BYTES, SCALE, PORT = 2048 * MIB, 40, 5999
SETTINGS = f"""
port = {PORT}
shared_buffers = 32MB
max_wal_size = 4GB
checkpoint_timeout = 1h
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What one recording is of."""

    clients: int
    memory_bytes: int
    limit: float  # operations per second, as a share of what is done without it
    below: float  # of the transactions at the limit, before it is reached
    below_seconds: int
    at_seconds: int
    after: float
    after_seconds: int


def drawn(seed: int) -> Drawn:
    r = random.Random(f"database {seed}")
    return Drawn(
        clients=r.choice((4, 8, 12, 16)),
        memory_bytes=r.randint(120, 300) * MIB,
        limit=r.uniform(0.3, 0.6),
        below=r.uniform(0.3, 0.7),
        below_seconds=r.randint(16, 20),
        at_seconds=r.randint(30, 36),
        after=r.uniform(0.2, 0.6),
        after_seconds=r.randint(10, 14),
    )


def _run(*words: object) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


class LimitedDisk:
    """A loop device whose reads and writes a throttle group of QEMU holds together."""

    def __init__(self, root: Path, cleanup: ExitStack) -> None:
        file = tempfile.NamedTemporaryFile(prefix="ioplateau-disk-", dir="/var/tmp")  # noqa: SIM115
        cleanup.callback(file.close)
        for _ in range(0, DISK_BYTES, MIB):
            file.write(bytes(MIB))
        file.flush()
        monitor, export = root / "monitor", root / "nbd"
        self._start(
            cleanup,
            *("qemu-storage-daemon", "--object", "throttle-group,id=group"),
            *("--blockdev", f"driver=file,node-name=file,filename={file.name},cache.direct=on"),
            *("--blockdev", "driver=throttle,node-name=disk,throttle-group=group,file=file"),
            *("--nbd-server", f"addr.type=unix,addr.path={export}"),
            *("--export", "nbd,id=export,node-name=disk,name=disk,writable=on"),
            *("--chardev", f"socket,id=monitor,path={monitor},server=on,wait=off"),
            *("--monitor", "chardev=monitor"),
        )
        _wait_for(monitor)
        shown = root / "shown"
        shown.mkdir()
        self._start(
            cleanup, "nbdfuse", "-C", "4", shown / "disk", f"nbd+unix:///disk?socket={export}"
        )
        cleanup.callback(_run, "umount", "-l", shown)
        _wait_for(shown / "disk")
        self.device = _run("losetup", "--find", "--show", "--direct-io=on", shown / "disk").strip()
        cleanup.callback(_run, "losetup", "--detach", self.device)
        self.name = self.device.removeprefix("/dev/")
        self._monitor = socket.socket(socket.AF_UNIX)
        self._monitor.connect(str(monitor))
        cleanup.callback(self._monitor.close)
        self._answers = self._monitor.makefile("r")
        self._answers.readline()
        self._ask("qmp_capabilities", {})

    @staticmethod
    def _start(cleanup: ExitStack, *words: object) -> None:
        process = subprocess.Popen([str(word) for word in words])
        cleanup.callback(process.wait)
        cleanup.callback(process.terminate)

    def _ask(self, command: str, arguments: dict[str, Any]) -> None:
        question = json.dumps({"execute": command, "arguments": arguments})
        self._monitor.sendall(question.encode() + b"\n")
        while "return" not in (answer := json.loads(self._answers.readline())):
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")

    def limit(self, operations_per_second: int) -> None:
        """Of reads and writes together; 0 is none."""
        value = {"iops-total": operations_per_second}
        self._ask("qom-set", {"path": "/objects/group", "property": "limits", "value": value})

    def done(self) -> int:
        """Reads and writes so far that have data, as this limiter counts them."""
        words = [int(word) for word in Path(f"/sys/block/{self.name}/stat").read_text().split()]
        return words[0] + words[4] - words[15]


def _wait_for(path: Path) -> None:
    for _ in range(100):
        if path.exists():
            return
        time.sleep(0.1)
    raise RuntimeError(f"{path} does not appear")


class Database:
    """PostgreSQL on a file system on that disk, in a control group whose memory is limited."""

    def __init__(self, root: Path, disk: LimitedDisk, what: Drawn, cleanup: ExitStack) -> None:
        mounted = root / "mounted"
        mounted.mkdir()
        _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk.device)
        _run("mount", disk.device, mounted)
        cleanup.callback(_run, "umount", mounted)
        self._data, self._clients = mounted / "data", what.clients
        self._data.mkdir()
        shutil.chown(self._data, "postgres")
        self._do(f"{BIN}/initdb -D {self._data} -A trust")
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(f"{SETTINGS}unix_socket_directories = '{self._data}'\n")
        group = _memory_group(what.memory_bytes, cleanup)
        start = f"{BIN}/pg_ctl -w -D {self._data} -l {self._data}/log start"
        _run("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec su postgres -c "{start}"')
        cleanup.callback(self._do, f"{BIN}/pg_ctl -D {self._data} -m immediate stop")
        self._bench(f"-i -q -s {SCALE}")
        self._do(f"psql -h {self._data} -p {PORT} -c CHECKPOINT postgres")

    @staticmethod
    def _do(command: str) -> str:
        return _run("su", "postgres", "-c", command)

    def _bench(self, options: str) -> str:
        return self._do(f"{BIN}/pgbench -h {self._data} -p {PORT} {options} postgres")

    def load(self, seconds: int, rate: float | None = None) -> float:
        """Transactions per second for so long, as many as it can or at a rate."""
        paced = "" if rate is None else f"--rate={rate:.1f}"
        said = self._bench(f"-N -c {self._clients} -j 2 -T {seconds} {paced}")
        return float(said.split("tps = ")[1].split()[0])


def _memory_group(most_bytes: int, cleanup: ExitStack) -> Path:
    root = Path("/sys/fs/cgroup")
    is_v1 = (root / "memory").is_dir()
    group = make_cgroup(root / "memory" if is_v1 else root, cleanup)
    name = "memory.limit_in_bytes" if is_v1 else "memory.max"
    (group / name).write_text(str(most_bytes))
    return group


def record(seed: int, place: Path) -> None:
    """A database below a limit, at it, and below it again."""
    what = drawn(seed)
    with ExitStack() as cleanup:
        root = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="ioplateau-")))
        root.chmod(0o755)
        disk = LimitedDisk(root, cleanup)
        database = Database(root, disk, what, cleanup)
        before, began = disk.done(), time.monotonic()
        database.load(10)
        value = round(what.limit * (disk.done() - before) / (time.monotonic() - began))
        disk.limit(value)
        most = database.load(10)
        with recorded(place, disk.name):
            phases = [
                _phase(name, disk, database, value, seconds, rate)
                for name, seconds, rate in (
                    ("below", what.below_seconds, what.below * most),
                    ("at", what.at_seconds, None),
                    ("after", what.after_seconds, what.after * most),
                )
            ]
        disk.limit(0)
    about = f"PostgreSQL, drawn with seed {seed} by tests/helpers/database_machines.py"
    write_labels(place, about, {disk.name: {"iops": value}}, asdict(what), phases)


def _phase(
    name: str, disk: LimitedDisk, database: Database, limit: int, seconds: int, rate: float | None
) -> dict[str, Any]:
    time.sleep(3)
    before, start = disk.done(), time.monotonic()
    transactions = database.load(seconds, rate)
    end = time.monotonic()
    binding = {"scope": "disk", "metric": "iops", "value": limit, "devices": [disk.name]}
    return {
        "name": name,
        "start_mono": start,
        "end_mono": end,
        "demand": "as fast as it goes" if rate is None else f"{rate:.0f} transactions a second",
        "binding": binding if rate is None else None,
        "transactions_per_second": round(transactions, 1),
        "achieved_over_limit": round((disk.done() - before) / (end - start) / limit, 3),
    }


if __name__ == "__main__":
    for word in sys.argv[1:]:
        record(int(word), MACHINES / f"database_{word}")
