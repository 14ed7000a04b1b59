"""A made-up machine with many disks and NFS mounts, as the kernel's files would show it.

What moves and what does not is what a benchmark of their readers depends on: half of the
disks and a quarter of the mounts are busy, every server has a busy mount (so the connection
lines of all its mounts move), every mount grows older, and the rest stands still.
Grammar: Linux 6.1, block/genhd.c diskstats_show(), fs/nfs/super.c nfs_show_stats().
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

SECTOR_BYTES = 512
MOUNTS_PER_SERVER = 8
BUSY_MOUNTS = 4  # every fourth
BUSY_DISKS = 2  # every second
STRIPED_DISKS = 8  # of every eight disks, two carry a device-mapper volume

V3 = (  # noqa: SIM905
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR"
    " RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT"
).split()
# include/linux/nfs4.h, NFSPROC4_CLNT_*
V4 = (  # noqa: SIM905
    "NULL READ WRITE COMMIT OPEN OPEN_CONFIRM OPEN_NOATTR OPEN_DOWNGRADE CLOSE SETATTR FSINFO RENEW"
    " SETCLIENTID SETCLIENTID_CONFIRM LOCK LOCKT LOCKU ACCESS GETATTR LOOKUP LOOKUP_ROOT REMOVE"
    " RENAME LINK SYMLINK CREATE PATHCONF STATFS READLINK READDIR SERVER_CAPS DELEGRETURN GETACL"
    " SETACL FS_LOCATIONS RELEASE_LOCKOWNER SECINFO FSID_PRESENT EXCHANGE_ID CREATE_SESSION"
    " DESTROY_SESSION SEQUENCE GET_LEASE_TIME RECLAIM_COMPLETE LAYOUTGET GETDEVICEINFO LAYOUTCOMMIT"
    " LAYOUTRETURN SECINFO_NO_NAME TEST_STATEID FREE_STATEID GETDEVICELIST BIND_CONN_TO_SESSION"
    " DESTROY_CLIENTID SEEK ALLOCATE DEALLOCATE LAYOUTSTATS CLONE COPY OFFLOAD_CANCEL LOOKUPP"
    " LAYOUTERROR COPY_NOTIFY GETXATTR SETXATTR LISTXATTRS REMOVEXATTR READ_PLUS"
).split()
# Calls of each kind for a hundred of READ and WRITE together, for a busy file server's client.
MIX = {
    "READ": 70,
    "WRITE": 30,
    "GETATTR": 25,
    "ACCESS": 12,
    "LOOKUP": 10,
    "COMMIT": 3,
    "SETATTR": 2,
    "READDIR": 1,
    "CREATE": 1,
    "REMOVE": 1,
    "RENAME": 1,
    "OPEN": 6,
    "CLOSE": 6,
    "OPEN_NOATTR": 1,
    "DELEGRETURN": 1,
    "LOCK": 1,
    "LOCKU": 1,
    "STATFS": 1,
    "READDIRPLUS": 2,
    "FSSTAT": 1,
}
ONCE = {"NULL", "FSINFO", "PATHCONF", "SERVER_CAPS", "LOOKUP_ROOT", "SECINFO_NO_NAME"}
LEASE_SECONDS = 40  # a client says it lives by SEQUENCE, seen in all of its mounts


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a machine is. The same shape and seed give the same machine."""

    disks: int
    mounts: int
    connections: int  # per server: nconnect
    seed: int = 1


@dataclass(slots=True)
class Disk:
    """One line of diskstats: 17 counters, in the kernel's units."""

    name: str
    major: int
    minor: int
    sectors: int
    busy: float = 0.0  # requests a second; 0: idle
    held: int = 0  # requests a second at which a limit holds sixteen of them; 0: nothing does
    partition_of: Disk | None = None
    slaves: tuple[Disk, ...] = ()
    counters: list[int] = field(default_factory=lambda: [0] * 17)

    def advance(self, seconds: float, dice: random.Random) -> None:
        if self.held:
            self._wait(seconds)
            return
        if not self.busy:
            return
        requests = int(self.busy * seconds * dice.uniform(0.8, 1.2))
        reads, writes = requests * 7 // 10, requests * 3 // 10
        milliseconds = dice.uniform(0.5, 2.0)
        grown = [0] * 17
        grown[0:4] = [reads, reads // 20, reads * 32, int(reads * milliseconds)]
        grown[4:8] = [writes, writes // 5, writes * 64, int(writes * milliseconds * 1.5)]
        grown[9] = int(min(seconds * 1000, requests * milliseconds))
        grown[15:17] = [writes // 50, writes // 50]
        grown[10] = grown[3] + grown[7] + grown[16]
        self.counters = [was + more for was, more in zip(self.counters, grown, strict=True)]
        self.counters[8] = dice.randrange(4)

    def _wait(self, seconds: float) -> None:
        reads, milliseconds = int(self.held * seconds), int(1000 * seconds)
        grown = [reads, 0, reads * 16, 16 * milliseconds]
        self.counters[0:4] = [
            was + more for was, more in zip(self.counters[0:4], grown, strict=True)
        ]
        self.counters[8] = 16
        self.counters[9] += milliseconds
        self.counters[10] += 16 * milliseconds

    def line(self) -> str:
        numbers = self.counters
        if self.partition_of is not None:
            numbers = self.partition_of.counters
        elif self.slaves:
            numbers = [sum(each) for each in zip(*(s.counters for s in self.slaves), strict=True)]
        return f"{self.major:4d} {self.minor:7d} {self.name} {' '.join(map(str, numbers))}\n"


@dataclass(slots=True)
class Client:
    """The NFS client of one server: its connections, which all its mounts show."""

    address: str
    version: str
    ports: tuple[int, ...]
    sends: list[int]
    waits: list[int]
    idle: list[float]
    lease_seconds: float
    sequences: int = 1

    def advance(self, seconds: float) -> None:
        self.idle = [each + seconds for each in self.idle]
        self.lease_seconds += seconds
        if self.version != "3" and self.lease_seconds >= LEASE_SECONDS:
            self.lease_seconds = 0.0
            self.sequences += 1
            self.carry(1)

    def carry(self, calls: int) -> None:
        """Send calls, spread over the connections in turn."""
        each, rest = divmod(calls, len(self.sends))
        for index in range(len(self.sends)):
            sent = each + (index < rest)
            self.sends[index] += sent
            self.waits[index] += sent * 3 // 2
            if sent:
                self.idle[index] = 0.0

    def lines(self) -> str:
        return "".join(
            f"\txprt:\ttcp {port} {int(self.version == '3')} 1 0 {int(idle)} {sends} {sends} 0"
            f" {waits} 0 16 {waits // 60} {waits // 2}\n"
            for port, sends, waits, idle in zip(
                self.ports, self.sends, self.waits, self.idle, strict=True
            )
        )


@dataclass(slots=True)
class Mount:
    """One superblock, mounted once."""

    number: int
    client: Client
    age_seconds: float
    busy: float = 0.0  # READ and WRITE calls a second; 0: idle
    held: int = 0  # such calls a second at which a limit holds them; 0: nothing does
    calls: dict[str, int] = field(default_factory=dict)
    events: list[int] = field(default_factory=lambda: [0] * 27)
    bytes: list[int] = field(default_factory=lambda: [0] * 8)
    _table: tuple[int, str] = (-1, "")

    @property
    def device(self) -> str:
        return f"{self.client.address}:/export/volume{self.number:04d}"

    @property
    def point(self) -> str:
        return f"/mnt/volume{self.number:04d}"

    @property
    def fstype(self) -> str:
        return "nfs" if self.client.version == "3" else "nfs4"

    @property
    def options(self) -> str:
        shown = f"vers={self.client.version},rsize=1048576,wsize=1048576,namlen=255,acregmin=3,"
        shown += "acregmax=60,acdirmin=30,acdirmax=60,hard,proto=tcp,"
        shown += f"nconnect={len(self.client.ports)},timeo=600,retrans=2,sec=sys,"
        if self.client.version == "3":
            shown += f"mountaddr={self.client.address},mountvers=3,mountport=635,mountproto=tcp,"
        else:
            shown += "clientaddr=10.0.0.5,"
        return shown + "local_lock=none"

    def advance(self, seconds: float, dice: random.Random) -> None:
        self.age_seconds += seconds
        if self.held:
            self.work(int(self.held * seconds))
        elif self.busy:
            self.work(int(self.busy * seconds * dice.uniform(0.8, 1.2)))

    def work(self, data_calls: int) -> None:
        """READ and WRITE calls, and what comes with them."""
        names = V3 if self.client.version == "3" else V4
        calls = {name: data_calls * MIX[name] // 100 for name in names if name in MIX}
        for name, count in calls.items():
            self.calls[name] = self.calls.get(name, 0) + count
        self.client.carry(sum(calls.values()))
        read, written = calls["READ"] * 65536, calls["WRITE"] * 65536
        for index, more in ((0, read), (1, written), (4, read), (5, written)):
            self.bytes[index] += more
        self.bytes[6:8] = self.bytes[4] // 4096, self.bytes[5] // 4096
        for index in (0, 1, 4, 5, 6, 8, 9, 11, 12, 14, 17):
            self.events[index] += data_calls * (index + 1) // 10

    def record(self) -> str:
        is_v3 = self.client.version == "3"
        return (
            f"device {self.device} mounted on {self.point} with fstype {self.fstype} statvers=1.1\n"
            f"\topts:\trw,{self.options}\n\tage:\t{int(self.age_seconds)}\n"
            + ("" if is_v3 else "\timpl_id:\tname='',domain='',date='0,0'\n")
            + f"\tcaps:\tcaps={'0x3fcf' if is_v3 else '0x3ffbffff'},wtmult=512,dtsize=1048576,"
            "bsize=0,namlen=255\n"
            + ("" if is_v3 else "\tnfsv4:\tbm0=0xfdffbfff,bm1=0x40f9be3e,bm2=0x60803,acl=0x3,")
            + ("" if is_v3 else "sessions,pnfs=not configured,lease_time=60,lease_expired=0\n")
            + "\tsec:\tflavor=1,pseudoflavor=1\n"
            + f"\tevents:\t{' '.join(map(str, self.events))} \n"
            + f"\tbytes:\t{' '.join(map(str, self.bytes))} \n"
            + f"\tRPC iostats version: 1.1  p/v: 100003/{self.client.version[0]} (nfs)\n"
            + self.client.lines()
            + self._operations()
        )

    def _operations(self) -> str:
        stamp = self.calls["READ"] + self.client.sequences
        if self._table[0] != stamp:
            names = V3 if self.client.version == "3" else V4
            rows = (f"\t{name:>12}: {self._row(name)}\n" for name in names)
            self._table = stamp, "\tper-op statistics\n" + "".join(rows) + "\n"
        return self._table[1]

    def _row(self, name: str) -> str:
        calls = self.calls.get(name, 0)
        if name == "SEQUENCE":
            calls = self.client.sequences
        elif name in ONCE:
            calls = 1
        if not calls:
            return "0 0 0 0 0 0 0 0 0"
        sent = calls * (65736 if name == "WRITE" else 200)
        received = calls * (65704 if name == "READ" else 180)
        errors = calls // 90 if name == "LOOKUP" else 0
        rtt = calls * 60 if self.held else calls * 5 // 4
        times = f"{calls // 50} {rtt} {rtt + calls // 20}"
        return f"{calls} {calls} 0 {sent} {received} {times} {errors}"

    def line_of_mountinfo(self) -> str:
        return (
            f"{200 + self.number} 21 0:{60 + self.number} / {self.point} rw,relatime"
            f" shared:{200 + self.number} - {self.fstype} {self.device}"
            f" rw,{self.options},addr={self.client.address}\n"
        )


class Machine:
    """All of it. `advance` moves every counter that would move."""

    def __init__(self, shape: Shape) -> None:
        self.uptime_seconds = 1e6
        self._dice = random.Random(shape.seed)
        self.disks = _disks(shape, self._dice)
        self.clients: list[Client] = []
        self.mounts: list[Mount] = []
        for number in range(shape.mounts):
            if number % MOUNTS_PER_SERVER == 0:
                self.clients.append(_client(len(self.clients), shape, self._dice))
            self.mounts.append(_mount(number, self.clients[-1], self._dice))
        self.advance(1.0)

    def advance(self, seconds: float) -> None:
        self.uptime_seconds += seconds
        for disk in self.disks:
            disk.advance(seconds, self._dice)
        for client in self.clients:
            client.advance(seconds)
        for mount in self.mounts:
            mount.advance(seconds, self._dice)


def _disks(shape: Shape, dice: random.Random) -> list[Disk]:
    whole = []
    for number in range(shape.disks):
        gib = dice.choice((64, 128, 512, 1024, 4096))
        place = 8 + number // 16, number % 16 * 16
        whole.append(Disk(_letters(number), *place, gib << 30 - 9))
        if number % BUSY_DISKS == 0:
            whole[-1].busy = dice.uniform(20, 3000)
        # A disk that has been used before, busy now or not: not one of zeros.
        whole[-1].counters = [dice.randrange(10**6, 10**9) for _ in range(17)]
        whole[-1].counters[8] = 0
    root = whole[0]
    parts = [Disk(f"{root.name}{n}", 8, n, root.sectors, partition_of=root) for n in (1, 14, 15)]
    pairs = [tuple(whole[n : n + 2]) for n in range(4, shape.disks - 1, STRIPED_DISKS)]
    volumes = [
        Disk(f"dm-{n}", 253, n, sum(s.sectors for s in pair), slaves=pair)
        for n, pair in enumerate(pairs)
    ]
    return [root, *parts, *whole[1:], *volumes]


def _letters(number: int) -> str:
    name, number = "", number + 1
    while number:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("a") + letter) + name
    return "sd" + name


def _client(number: int, shape: Shape, dice: random.Random) -> Client:
    version = "3" if number % 4 == 0 else "4.1"
    connections = range(shape.connections)
    # From v4.1 on the kernel shows port 0.
    ports = tuple(dice.sample(range(665, 1023), shape.connections))
    sends = [dice.randrange(10**5, 10**8) for _ in connections]
    return Client(
        f"10.1.{number // 250}.{number % 250 + 4}",
        version,
        ports if version == "3" else (0,) * shape.connections,
        sends,
        [each * 2 for each in sends],
        [0.0 for _ in connections],
        dice.uniform(0, LEASE_SECONDS),
    )


def _mount(number: int, client: Client, dice: random.Random) -> Mount:
    mount = Mount(number, client, float(dice.randrange(10**5, 10**7)))
    mount.work(dice.randrange(10**6, 10**8))
    if number % BUSY_MOUNTS == 0:
        mount.busy = dice.uniform(50, 3000)
    return mount
