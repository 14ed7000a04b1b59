"""A disk that the kernel really throttles, without a cloud: a loop device over a file on a real disk.

    with ThrottledDisk(read_iops=500) as disk:
        load = disk.load(depth=16, seconds=20)
        ...                                  # watch disk.name in /proc/diskstats
        load.result()["read"]["iops"]

The limit is set on the *backing* disk, for the cgroup that issues the load. The loop device does its
I/O in the name of the cgroup it comes from, so requests queue inside it: /proc/diskstats shows what
a cloud disk at its limit shows (in-flight = depth, await = depth / limit, flat rate). A limit set on
the loop device itself would hold requests back before they are counted, and show none of that.

Buffered writes are written back by the kernel, not by the load. cgroup v2 tells on whose behalf; v1
does it in the name of the root cgroup. So there ThrottledDisk(writeback=True) puts a second loop
device between the first and the file, and limits the root cgroup on that, which nobody else uses.
https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html
https://docs.kernel.org/admin-guide/cgroup-v2.html#io-interface-files

Needs root, losetup (Debian: mount), fio, a kernel with CONFIG_BLK_DEV_THROTTLING, and a directory on
a real disk (not overlay, tmpfs or btrfs): /var/tmp, /tmp or here, or $IOPLATEAU_DISK_DIRECTORY.
Whatever is missing is an error that names it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

MIB = 1024 * 1024
CGROUP_PREFIX = "ioplateau-"
FIO_TERMINATED = 128  # what it returns when asked to end; it reports all the same


class MissingError(Exception):
    """This machine lacks something that a throttled disk needs; the message says what."""


class ThrottledDisk:
    """A loop device whose I/O from `load` is limited by the kernel while the context lasts.

    Limits are per second; None is no limit. Needs root. Raises MissingError, and leaves nothing
    behind: file and device go with the process even if it is killed, an empty cgroup with the next.
    """

    def __init__(
        self,
        *,
        read_iops: int | None = None,
        write_iops: int | None = None,
        read_bps: int | None = None,
        write_bps: int | None = None,
        size_bytes: int = 256 * MIB,
        directory: Path | None = None,
        writeback: bool = False,
        dirty_bytes: int | None = None,
    ) -> None:
        """writeback: hold back what the kernel writes for others as well. dirty_bytes: what may
        wait in the page cache before writers must (Linux 6.2 or later); None: the machine's rule.
        """
        self.limits = {
            "read_iops": read_iops,
            "write_iops": write_iops,
            "read_bps": read_bps,
            "write_bps": write_bps,
        }
        self.size_bytes = size_bytes
        self.device = ""  # "/dev/loop3" inside the context
        self.name = ""  # "loop3"
        self.cgroup = Path()  # the one that is limited; `load` runs there
        self._directory, self._writeback, self._dirty_bytes = directory, writeback, dirty_bytes
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as cleanup:
            _require_root_and_tools()
            directory, self._backing = _directory_on_a_disk(self._directory)
            hierarchy = block_io_hierarchy()
            self.device = _make_loop(directory, self._backing, self.size_bytes, cleanup)
            if self._writeback and not _is_v2(hierarchy):
                below, self.cgroup = self.device, hierarchy
                self._backing = _number(below)
                self.device = _attach_loop(below, self._backing, cleanup)
                # Before the device goes, which waits for what is still to be written.
                cleanup.callback(self.set_limits, **dict.fromkeys(self.limits))
            else:
                self.cgroup = make_cgroup(hierarchy, cleanup)
            self.name = self.device.removeprefix("/dev/")
            self.set_limits(**self.limits)
            if self._dirty_bytes is not None:
                _hold_dirty(self.device, self._dirty_bytes)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def set_limits(self, **limits: int | None) -> None:
        """Change limits, also under load: read_iops, write_iops, read_bps, write_bps; None lifts."""
        for name, value in limits.items():
            if name not in self.limits:
                raise TypeError(f"no limit is called {name!r}, want one of {sorted(self.limits)}")
            self.limits[name] = value
            _write_limit(self.cgroup, self._backing, name, value)

    def unlimited_group(self) -> Path:
        """Another control group, which may do on the disk what it likes."""
        return make_cgroup(block_io_hierarchy(), self._cleanup)

    def load(
        self,
        rate_iops: float | None = None,
        *,
        depth: int = 16,
        seconds: float = 10,
        rw: str = "randread",
        bs: str = "4k",
        direct: bool = True,
        options: tuple[str, ...] = (),
        group: Path | None = None,
    ) -> Load:
        """Start fio on the device, at `rate_iops` per direction or as fast as it goes. group: its
        control group, of `unlimited_group`; None: the limited one.

        Buffered writes (direct=False) are held to the limit if the disk was made with writeback,
        or if fio itself writes them out: options=("--fsync=64",).
        """
        arguments = [
            *(f"--filename={self.device}", f"--size={self.size_bytes}", f"--direct={int(direct)}"),
            *(f"--rw={rw}", f"--bs={bs}", f"--iodepth={depth}", "--ioengine=libaio"),
            *("--time_based", f"--runtime={round(seconds * 1000)}ms", "--norandommap"),
        ]
        if rate_iops is not None:
            arguments.append(f"--rate_iops={round(rate_iops)}")
        load = Load([*arguments, *options], group or self.cgroup)
        self._cleanup.callback(load.stop)  # later than the device, so it ends before it
        return load


class Load:
    """One running fio in a cgroup."""

    def __init__(self, arguments: list[str], cgroup: Path) -> None:
        # Ahead of everybody else's work where that may be had: a load that waits for a CPU
        # between two requests asks for less than its depth says.
        enter = (
            'echo $$ >"$0/cgroup.procs" || exit;'
            "chrt --rr 1 true 2>/dev/null && ahead='chrt --rr 1';"
            'exec $ahead fio --name=load --output-format=json "$@"'
        )
        self._process = subprocess.Popen(
            ["sh", "-c", enter, str(cgroup), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def running(self) -> bool:
        """Whether fio still runs."""
        return self._process.poll() is None

    def result(self) -> dict[str, Any]:
        """Wait for fio's end: its JSON of the job (["read"]["iops"], ["read"]["clat_ns"]["mean"])."""
        return self._told(0)

    def finish(self) -> dict[str, Any]:
        """End it now: its JSON of the job up to now."""
        self._process.terminate()
        return self._told(0, FIO_TERMINATED)

    def _told(self, *welcome: int) -> dict[str, Any]:
        output, complaints = self._process.communicate()
        if self._process.returncode not in welcome:
            raise RuntimeError(f"fio ended with {self._process.returncode}: {complaints or output}")
        job: dict[str, Any] = json.loads(output[output.index("{") :])["jobs"][0]
        return job

    def stop(self) -> None:
        """End it now, if it still runs."""
        if self.running():
            self._process.terminate()  # fio ends its worker and reports what it did
            try:
                self._process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()


def _require_root_and_tools() -> None:
    if os.geteuid() != 0:
        raise MissingError("a throttled disk needs root (loop device, cgroup): run it with sudo")
    for tool, package in (("losetup", "mount"), ("fio", "fio")):
        if shutil.which(tool) is None:
            raise MissingError(f"{tool} is missing: apt-get install {package}")


def _directory_on_a_disk(wanted: Path | None) -> tuple[Path, str]:
    """A directory whose file system lies on a disk, and that disk's "major:minor"."""
    named = wanted or os.environ.get("IOPLATEAU_DISK_DIRECTORY")
    reasons = []
    for directory in [Path(named)] if named else [Path("/var/tmp"), Path("/tmp"), Path.cwd()]:
        try:
            return directory, _backing_disk(directory)
        except (MissingError, OSError) as error:
            reasons.append(str(error))
    raise MissingError(
        "no directory on a real disk (name one in IOPLATEAU_DISK_DIRECTORY): " + "; ".join(reasons)
    )


def _backing_disk(directory: Path) -> str:
    """The whole disk below, since the block throttle refuses partitions."""
    number = directory.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    node = Path("/sys/dev/block") / device
    if not node.exists():
        raise MissingError(f"{directory} is on {_file_system(device)}, which is no disk ({device})")
    node = node.resolve()
    if (node / "partition").exists():
        node = node.parent
    return (node / "dev").read_text().strip()


def _file_system(device: str) -> str:
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        words = line.split()
        if words[2] == device:
            return words[words.index("-") + 1]
    return "an unknown file system"


def make_cgroup(parent: Path, cleanup: contextlib.ExitStack) -> Path:
    """A new one below `parent`, removed with `cleanup`; those of processes that are gone are removed now."""
    for old in parent.glob(f"{CGROUP_PREFIX}*"):
        if not Path("/proc", old.name.removeprefix(CGROUP_PREFIX).partition("-")[0]).exists():
            with contextlib.suppress(OSError):
                old.rmdir()
    cgroup = Path(tempfile.mkdtemp(prefix=f"{CGROUP_PREFIX}{os.getpid()}-", dir=parent))
    cleanup.callback(_remove_cgroup, cgroup)
    return cgroup


def _remove_cgroup(cgroup: Path) -> None:
    for _ in range(50):  # a process that has ended leaves its cgroup a moment later
        try:
            cgroup.rmdir()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"cannot remove {cgroup}: {(cgroup / 'cgroup.procs').read_text()!r}")


def block_io_hierarchy() -> Path:
    """Where cgroups can be limited: v1's blkio, or v2 with its io controller handed down."""
    for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines():
        _, mount_point, kind, options, *_ = line.split()
        path = Path(mount_point)
        if kind == "cgroup" and "blkio" in options.split(","):
            if not (path / "blkio.throttle.read_iops_device").exists():
                raise MissingError(f"{path}: this kernel lacks CONFIG_BLK_DEV_THROTTLING")
            return path
        if kind == "cgroup2" and "io" in (path / "cgroup.controllers").read_text().split():
            try:
                (path / "cgroup.subtree_control").write_text("+io")
            except OSError as error:
                raise MissingError(f"{path}: cannot hand down the io controller: {error}") from None
            return path
    raise MissingError("no cgroup hierarchy with the blkio (v1) or io (v2) controller is mounted")


def _is_v2(hierarchy: Path) -> bool:
    return (hierarchy / "cgroup.controllers").exists()


def _write_limit(cgroup: Path, disk: str, name: str, value: int | None) -> None:
    direction, unit = name.split("_")
    if (cgroup / "io.max").exists():
        path, text = cgroup / "io.max", f"{disk} {direction[0]}{unit}={value or 'max'}"
    elif (path := cgroup / f"blkio.throttle.{name}_device").exists():
        text = f"{disk} {value or 0}"  # 0 is no limit
    else:
        raise MissingError(f"{cgroup}: no io.max: this kernel lacks CONFIG_BLK_DEV_THROTTLING")
    try:
        path.write_text(text)
    except OSError as error:
        raise MissingError(f"{path}: the kernel refuses {text!r}: {error.strerror}") from None


def _make_loop(directory: Path, disk: str, size_bytes: int, cleanup: contextlib.ExitStack) -> str:
    """A loop device over a new file that nobody sees and that goes with it."""
    with tempfile.NamedTemporaryFile(prefix="ioplateau-disk-", dir=directory) as file:
        # Written once: an extent that is only preallocated costs another I/O at its first write.
        os.posix_fallocate(file.fileno(), 0, size_bytes)
        for _ in range(0, size_bytes, MIB):
            file.write(bytes(MIB))
        os.fsync(file.fileno())
        return _attach_loop(file.name, disk, cleanup)


def _attach_loop(path: str, disk: str, cleanup: contextlib.ExitStack) -> str:
    """A loop device over a file or device on `disk`, without a limit of its own."""
    block_bytes = Path(f"/sys/dev/block/{disk}/queue/logical_block_size").read_text().strip()
    attach = ["--find", "--show", "--direct-io=on", f"--sector-size={block_bytes}", path]
    device = _losetup(*attach)
    # Held open, then detached: the kernel frees it, and an unlinked file, when we let go or die.
    held = os.open(device, os.O_RDONLY)
    cleanup.callback(os.close, held)
    _losetup("--detach", device)
    if Path(f"/sys/block/{device[5:]}/loop/dio").read_text().strip() != "1":
        raise MissingError(f"{path}: the file system gives loop devices no direct I/O")
    hierarchy = block_io_hierarchy()
    if not _is_v2(hierarchy):
        for name in ("read_iops", "write_iops", "read_bps", "write_bps"):
            _write_limit(hierarchy, _number(device), name, None)  # of one that was killed
    return device


def _number(device: str) -> str:
    """ "major:minor" of a device node."""
    number = os.stat(device).st_rdev
    return f"{os.major(number)}:{os.minor(number)}"


def _hold_dirty(device: str, most_bytes: int) -> None:
    """Make writers wait at so many bytes, whatever the machine's memory would bear."""
    knobs = Path("/sys/class/bdi") / _number(device)
    for name, text in (("strict_limit", "1"), ("max_bytes", str(most_bytes))):
        if not (knobs / name).exists():
            raise MissingError(f"{knobs / name} is missing: this needs Linux 6.2 or later")
        (knobs / name).write_text(text)


def _losetup(*arguments: str) -> str:
    done = subprocess.run(["losetup", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MissingError(f"losetup {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
