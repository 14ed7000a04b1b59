"""Processes by the I/O they cause: /proc/<pid>/io between two looks, and which disks they have open.

read_bytes and write_bytes of /proc/<pid>/io (Documentation/filesystems/proc.rst, 3.3) count what
a process caused to be read from, and meant to be written to, any storage, NFS among it; a write
into the page cache counts at once, whoever writes it back later, and cancelled_write_bytes what of it
never was, as the file was truncated before. When a process reaps a child, all that the child ever did is
added to it (wait_task_zombie() in kernel/exit.c): then its own is what its threads did, /proc/<pid>/task/<tid>/io.
What a child did that ended between two looks is nobody's. They name no device, so for those
with most I/O the open files tell: mnt_id of /proc/<pid>/fdinfo/<n>, found in the process's own
mountinfo, or the device node that the descriptor links to.

The kernel lets us see /proc/<pid>/io only of our own processes, or with CAP_SYS_PTRACE
and, as its mode is 0400, CAP_DAC_READ_SEARCH
(ptrace_may_access() in fs/proc/base.c, do_io_accounting()). Where /proc is mounted with hidepid=invisible
(ProtectProc=invisible of a unit) those of others are not there at all, process 1 of each namespace among them.

https://docs.kernel.org/filesystems/proc.html
https://github.com/torvalds/linux/blob/v6.1/fs/proc/base.c
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from ioplateau.measure import cgroups, ownview
from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.parsing import counted, elapsed
from ioplateau.measure.snapshot import MOUNTINFO

if TYPE_CHECKING:
    from ioplateau.measure.host import Host

MOST_PROCESSES = 32768  # looked at in one round; pid_max of a small machine
# Processes with most I/O that are looked at closely, whatever disk it is on: those on a slow one move little.
MOST_NAMED = 50
MOST_FILES = 256  # open files of one of them
# Of a file of a process, whose owner may make it as long as he likes: the mount table of a namespace of his
# own. That of a container's host may have a thousand lines of overlays, each with a page of options.
MOST_BYTES = 4 << 20
MOST_THREADS = 128  # of one of them that has reaped children; of one with more, its children's I/O counts as its own
# include/uapi/linux/capability.h
CAPABILITIES = 1 << 2 | 1 << 19  # CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE
# The thread's own in the host's procfs too, where "self" of a Host is process 1.
OWN_STATUS = "/proc/thread-self/status"
TICKS_PER_SECOND = 100  # USER_HZ, the unit of starttime: 100 on every architecture with a VM
OVERLAY = "overlay"  # an overlay whose files lie where we cannot see
_UPPER = re.compile(r"(?:^|,)upperdir=(/[^,]*)")
_LOWER = re.compile(r"(?:^|,)lowerdir=(/[^,:]*)")
_DEVICE_NODE = re.compile(r"/dev/(?:mapper/|disk/.*/)?([\w!.-]+)\Z")


class ProcessIo(NamedTuple):
    """One process, cumulative bytes since it started."""

    read_bytes: int
    write_bytes: int
    cancelled_bytes: int = 0

    @property
    def written_bytes(self) -> int:
        """Without what it took back; of another's pages it may take back more than it wrote."""
        return max(self.write_bytes - self.cancelled_bytes, 0)

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.written_bytes


class BusyProcess(NamedTuple):
    """One process over the time between two looks: bytes in that time.

    devices: numbers ("8:16") of block devices and file systems that it has files open on, and
    names ("sdb", "vg-data") of device nodes it has open, or that a file system without a block
    device's number was mounted from; of an overlay (the root of a container) those of the file system
    that it writes to, or OVERLAY; None: its open files cannot be seen.
    """

    pid: int
    name: str
    group: str  # its control group, "" if not known
    read_bytes: int
    write_bytes: int  # without cancelled ones; into the page cache, or past it
    devices: tuple[str, ...] | None

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.write_bytes


class ProcessesLook(NamedTuple):
    """What two looks show. seconds: between them."""

    seconds: float
    busiest: tuple[BusyProcess, ...]
    seen: int
    unreadable: int  # processes whose I/O we may not see
    is_cut: bool = False  # there were more processes than are looked at
    is_hidden: bool = False  # /proc is mounted so that others' processes are not even listed
    left_out: int = 0  # processes that moved less than the busiest
    is_capable: bool = False  # some may not be seen though we have the capabilities for it


class Processes:
    """Remembers the last look. One thread at a time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._before: Mapping[int, ProcessIo] = NO_ENTRIES
        self._before_at: float | None = None  # seconds since boot
        self._threads: Mapping[int, Mapping[str, ProcessIo]] = NO_ENTRIES  # of those that reaped
        self._groups_begin: str | None = None  # None: not looked for yet

    def forget(self) -> None:
        """The next look is a first one."""
        self._before, self._before_at, self._threads = NO_ENTRIES, None, NO_ENTRIES

    def look(self, boot_seconds: float) -> ProcessesLook | None:
        """One round at `boot_seconds` (CLOCK_BOOTTIME); None: the first, or too soon after it.

        Raises OSError if /proc cannot be listed. A process that ends meanwhile is left out.
        """
        pids = [name for name in self._host.list("/proc") if name.isdigit()]
        now, unreadable = self._counters(pids[:MOST_PROCESSES])
        before, before_at = self._before, self._before_at
        self._before, self._before_at = now, boot_seconds
        if before_at is None or boot_seconds <= before_at:
            return None
        grown = {pid: _growth(before.get(pid), io) for pid, io in now.items()}
        moved = [pid for pid in grown if grown[pid].bytes > 0]
        moved.sort(key=lambda pid: grown[pid].bytes, reverse=True)
        threads: dict[int, Mapping[str, ProcessIo]] = {}
        busiest = [
            busy
            for pid in moved[:MOST_NAMED]
            if (busy := self._closely(pid, before, now[pid], grown[pid], before_at, threads))
            is not None
        ]
        self._threads = threads
        busiest.sort(key=lambda busy: busy.bytes, reverse=True)
        return ProcessesLook(
            seconds=boot_seconds - before_at,
            busiest=tuple(busiest),
            seen=len(now),
            unreadable=unreadable,
            is_cut=len(pids) > MOST_PROCESSES,
            is_hidden="1" not in pids,
            left_out=len(moved[MOST_NAMED:]),
            is_capable=unreadable > 0 and self._is_capable(),
        )

    def _counters(self, pids: Iterable[str]) -> tuple[dict[int, ProcessIo], int]:
        """By process, and of how many they may not be read."""
        now: dict[int, ProcessIo] = {}
        unreadable = 0
        for pid in pids:
            try:
                found = parse_io(self._read(f"/proc/{pid}/io"))
            except PermissionError:
                unreadable += 1
                continue
            except OSError:  # it ended
                continue
            if found is not None:
                now[int(pid)] = found
        return now, unreadable

    def _is_capable(self) -> bool:
        try:
            return (
                parse_capabilities(self._host.read_once(OWN_STATUS)) & CAPABILITIES == CAPABILITIES
            )
        except OSError:
            return False

    def _closely(
        self,
        pid: int,
        before: Mapping[int, ProcessIo],
        now: ProcessIo,
        growth: ProcessIo,
        before_at: float,
        threads: dict[int, Mapping[str, ProcessIo]],
    ) -> BusyProcess | None:
        """threads: what those of it did so far is put there, if it has reaped children."""
        try:
            name, started, has_reaped = parse_stat(self._read(f"/proc/{pid}/stat"))
            group = self._group(pid)
        except (OSError, ValueError):  # it ended
            return None
        if started >= before_at:  # new, or another process under a number that was used before
            growth = now
        elif pid not in before:
            return None  # it may have done all that long ago
        if has_reaped and (done := self._by_thread(pid)) is not None:
            growth = _least(growth, _sum_growth(self._threads.get(pid, NO_ENTRIES), done))
            threads[pid] = done
            if not growth.bytes:
                return None
        return BusyProcess(
            pid,
            name,
            group,
            growth.read_bytes,
            growth.written_bytes,
            self._devices(pid),
        )

    def _group(self, pid: int) -> str:
        if self._groups_begin is None:
            self._groups_begin = ownview.groups_begin(self._host)
        group = cgroups.path_of(self._read(f"/proc/{pid}/cgroup"))
        return ownview.whole_group(self._groups_begin, group)

    def _by_thread(self, pid: int) -> Mapping[str, ProcessIo] | None:
        """What each of its threads did; None: they cannot be listed, or are too many."""
        host = self._host
        try:
            numbers = host.first(f"/proc/{pid}/task", MOST_THREADS + 1)
        except OSError:  # it ended
            return None
        if len(numbers) > MOST_THREADS:
            return None
        found = dict[str, ProcessIo]()
        for number in numbers:
            try:
                io = parse_io(self._read(f"/proc/{pid}/task/{number}/io"))
            except OSError:  # it ended
                continue
            if io is not None:
                found[number] = io
        return found or None

    def _devices(self, pid: int) -> tuple[str, ...] | None:
        try:
            files = self._open_files(pid)
            table = self._read(f"/proc/{pid}/mountinfo") if files else b""
            # A container does not see the directories that its overlay is made of.
            ours = self._host.read_once(MOUNTINFO) if b" - overlay " in table else b""
        except OSError:
            return None
        mounts = parse_mount_devices(table, ours, {mount for mount, _ in files})
        found = set[str]()
        for mount, path in files:
            device, is_devices = mounts.get(mount, ("", False))
            if is_devices:
                node = _DEVICE_NODE.search(path)
                device = node[1] if node else ""
            if device:
                found.add(device)
        return tuple(sorted(found))

    def _open_files(self, pid: int) -> list[tuple[str, str]]:
        """Mount and path of each. What has no path is none, and its fdinfo may be long: an epoll's has a
        line for each descriptor. Raises OSError if they cannot be listed.
        """
        found = list[tuple[str, str]]()
        for number in self._host.first(f"/proc/{pid}/fdinfo", MOST_FILES):
            try:
                path = self._host.link(f"/proc/{pid}/fd/{number}")
                if path.startswith("/"):
                    mount = parse_mount_id(self._read(f"/proc/{pid}/fdinfo/{number}"))
                    found.append((mount, path))
            except OSError:  # closed meanwhile
                continue
        return found

    def _read(self, path: str) -> bytes:
        return self._host.read_once(path, MOST_BYTES)


def as_json(look: ProcessesLook) -> dict[str, Any]:
    """A look as JSON values, for a snapshot."""
    return {**look._asdict(), "busiest": [busy._asdict() for busy in look.busiest]}


def from_json(value: Any) -> ProcessesLook:
    """What `as_json` made. Raises ValueError, TypeError or KeyError for anything else."""
    busiest = tuple(
        BusyProcess(
            counted(each["pid"]),
            str(each["name"]),
            str(each["group"]),
            counted(each["read_bytes"]),
            counted(each["write_bytes"]),
            None if each["devices"] is None else tuple(map(str, each["devices"])),
        )
        for each in value["busiest"]
    )
    return ProcessesLook(
        elapsed(value["seconds"]),
        busiest,
        seen=counted(value["seen"]),
        unreadable=counted(value["unreadable"]),
        is_cut=bool(value["is_cut"]),
        is_hidden=bool(value.get("is_hidden")),  # recordings of earlier versions do not tell
        left_out=counted(value.get("left_out") or 0),
        is_capable=bool(value.get("is_capable")),
    )


def parse_io(text: bytes) -> ProcessIo | None:
    """/proc/<pid>/io; None: not what the kernel writes."""
    values = dict(_pairs(text))
    try:
        return ProcessIo(
            values[b"read_bytes"],
            values[b"write_bytes"],
            values.get(b"cancelled_write_bytes", 0),
        )
    except KeyError:
        return None


def parse_stat(text: bytes) -> tuple[str, float, bool]:
    """/proc/<pid>/stat: the command's name, when it started in seconds since boot, and whether it has ever
    reaped a child: each has page faults, which are added then (cminflt).

    The name stands in parentheses and may hold anything, parentheses too: the last one ends it.
    Raises ValueError for anything else.
    """
    begin, end = text.index(b"(") + 1, text.rindex(b")")
    words = text[end + 1 :].split()
    if len(words) < 20:
        raise ValueError(f"{len(words)} words after the name, want at least 20")
    name = text[begin:end].decode("utf-8", "replace")
    return name, int(words[19]) / TICKS_PER_SECOND, int(words[8]) > 0


def parse_capabilities(text: bytes) -> int:
    """CapEff of /proc/<pid>/status, a bit for each; 0 if it is not told."""
    found = re.search(rb"^CapEff:\s*([0-9a-f]{1,16})$", text, re.MULTILINE)
    return int(found[1], 16) if found else 0


def parse_mount_id(text: bytes) -> str:
    """mnt_id of /proc/<pid>/fdinfo/<n>; "" if it has none."""
    found = re.search(rb"^mnt_id:\s*(\d+)", text, re.MULTILINE)
    return found[1].decode() if found else ""


def parse_mount_devices(
    text: bytes, ours: bytes = b"", wanted: Collection[str] | None = None
) -> dict[str, tuple[str, bool]]:
    """/proc/<pid>/mountinfo: the device by mount, and whether device nodes lie there. btrfs numbers its
    file systems itself (get_anon_bdev()), and names one of its devices. ours: the table in which the
    directories of an overlay are looked for. wanted: the mounts; None: all.
    """
    visible = list(_mounts(ours))
    found = {}
    for mount in _mounts(text, wanted):
        device = _overlaid(mount, visible) if mount.kind == OVERLAY else mount.device
        found[mount.number] = (device, mount.kind in ("devtmpfs", "tmpfs"))
    return found


class _Mount(NamedTuple):
    number: str
    place: str
    device: str
    kind: str
    options: str  # of the file system


def _mounts(text: bytes, wanted: Collection[str] | None = None) -> Iterator[_Mount]:
    for line in BytesIO(text):  # one at a time: there may be many
        if wanted is not None and line.partition(b" ")[0].decode("utf-8", "replace") not in wanted:
            continue
        words = line.decode("utf-8", "replace").removesuffix("\n").split(" ")
        if len(words) > 4 and "-" in words[6:]:
            kind, source, options = [*words[words.index("-", 6) + 1 :], "", "", ""][:3]
            node = _DEVICE_NODE.match(source) if words[2].startswith("0:") else None
            yield _Mount(words[0], words[4], node[1] if node else words[2], kind, options)


def _overlaid(overlay: _Mount, visible: Sequence[_Mount]) -> str:
    """The device under the directory that an overlay writes to, or reads from where it writes nowhere."""
    directory = _UPPER.search(overlay.options) or _LOWER.search(overlay.options)
    if directory is None:
        return OVERLAY
    above = [m for m in visible if f"{directory[1]}/".startswith(f"{m.place.rstrip('/')}/")]
    # Of several on one place the last one hides the others.
    under = max(reversed(above), key=lambda mount: len(mount.place), default=None)
    return OVERLAY if under is None or under.kind == OVERLAY else under.device


def _pairs(text: bytes) -> Iterator[tuple[bytes, int]]:
    for line in text.splitlines():
        key, _, value = line.partition(b":")
        if value.strip().isdigit():
            yield key, int(value)


def _growth(before: ProcessIo | None, now: ProcessIo) -> ProcessIo:
    if before is None or any(new < old for old, new in zip(before, now, strict=True)):
        return now  # new, or the number was given to another one
    return ProcessIo(*(new - old for old, new in zip(before, now, strict=True)))


def _sum_growth(before: Mapping[str, ProcessIo], now: Mapping[str, ProcessIo]) -> ProcessIo:
    grown = [_growth(before.get(number), io) for number, io in now.items()]
    return ProcessIo(*(sum(column) for column in zip(*grown, strict=True)))


def _least(one: ProcessIo, other: ProcessIo) -> ProcessIo:
    return ProcessIo(*map(min, one, other))
