"""A disk without a limit that is slow: a loop device over a file, each read of which takes a while.

    with SlowDisk(seconds=0.020) as disk:
        load = disk.load(depth=8, seconds=20)
        ...                                  # watch disk.name in /proc/diskstats

The file is one of FUSE, answered by a process of its own (this file), any number of reads at a time:
each so long after it was asked as one says, at first and later (become). So the kernel sees what it sees
of a far or slow disk: n requests at a time, n / seconds of them a second, and nothing that holds them back.

The kernel's own dm-delay would do as well, but many kernels lack it.
https://docs.kernel.org/filesystems/fuse.html and include/uapi/linux/fuse.h

Needs root, losetup and umount (Debian: mount), fio, and a kernel with FUSE and loop devices.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import select
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

MIB = 1024 * 1024
SIZE_BYTES = 64 * MIB
BLOCK_BYTES = 4096

# include/uapi/linux/fuse.h
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS = 1, 2, 3, 14, 15, 17
RELEASE, FSYNC, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 18, 20, 25, 26, 36, 42
ASYNC_READ, ASYNC_DIO = 1 << 0, 1 << 15
SILENT = {FORGET, BATCH_FORGET, INTERRUPT}
EMPTY = {RELEASE, FSYNC, FLUSH}
ENOENT, ENOSYS = 2, 38
HEADER = struct.Struct("<IIQQIIIHH")
ROOT, FILE = 1, 2
NAME = "disk"
FOREVER_SECONDS = 1 << 30
DELAY = struct.Struct("d")  # seconds, told to the answering process
MOST_AT_A_TIME = 1024


class SlowDisk:
    """A loop device each of whose reads takes `seconds`, while the context lasts. Raises OSError or
    CalledProcessError where this machine cannot; leaves nothing behind.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.device = self.name = ""  # "/dev/loop3" and "loop3" inside the context
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as cleanup:
            directory = Path(
                cleanup.enter_context(tempfile.TemporaryDirectory(prefix="slow-disk-"))
            )
            channel = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
            with os.fdopen(channel, "rb", buffering=0):
                options = f"fd={channel},rootmode=40755,user_id=0,group_id=0"
                _run(["mount", "-i", "-t", "fuse", "-o", options, "slow", directory], channel)
                # Whoever waits for an answer is let go when the answering process has ended.
                cleanup.callback(_run, ["umount", "--lazy", directory])
                server = subprocess.Popen(
                    [*_ahead(), sys.executable, __file__, str(channel), str(self.seconds)],
                    stdin=subprocess.PIPE,
                    pass_fds=[channel],
                )
            cleanup.callback(_end, server)
            assert server.stdin
            self._tell = cleanup.enter_context(server.stdin)
            attach = ["losetup", "--find", "--show", "--read-only", "--direct-io=on"]
            self.device = _run([*attach, directory / NAME])
            cleanup.callback(_run, ["losetup", "--detach", self.device])
            self.name = self.device.removeprefix("/dev/")
            if Path(f"/sys/block/{self.name}/loop/dio").read_text().strip() != "1":
                raise OSError(
                    f"{self.device}: this kernel gives loop devices over FUSE no direct I/O"
                )
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def become(self, seconds: float) -> None:
        """From now on each read takes so long."""
        self._tell.write(DELAY.pack(seconds))
        self._tell.flush()

    def load(self, *, depth: int, seconds: float) -> subprocess.Popen[bytes]:
        """Reads, `depth` at a time. It ends with the disk at the latest."""
        return self._reads(depth, ["--name=load", _lasts(seconds)])

    def paces(self, *paces: tuple[int, float], depth: int) -> subprocess.Popen[bytes]:
        """Reads at the application's own paces, one after the other: so many a second, for so many
        seconds. depth: at a time at most.
        """
        each = [
            [f"--name={rate}", "--stonewall", f"--rate_iops={rate}", _lasts(seconds)]
            for rate, seconds in paces
        ]
        return self._reads(depth, [word for words in each for word in words])

    def _reads(self, depth: int, jobs: list[str]) -> subprocess.Popen[bytes]:
        arguments = [
            *(*_ahead(), "fio", f"--filename={self.device}", f"--size={SIZE_BYTES}"),
            *("--readonly", "--rw=randread", "--norandommap", f"--bs={BLOCK_BYTES}"),
            *("--direct=1", "--ioengine=libaio", f"--iodepth={depth}", "--time_based"),
        ]
        load = subprocess.Popen(
            [*arguments, *jobs],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._cleanup.callback(_end, load)
        return load


def _run(command: list[str | Path], *channels: int) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True, pass_fds=channels)
    return done.stdout.strip()


def _lasts(seconds: float) -> str:
    return f"--runtime={round(seconds * 1000)}ms"


def _ahead() -> list[str]:
    """What starts a command ahead of everybody else's work, where that may be had: a load that waits
    for a CPU between two requests asks for less than its depth says.
    """
    words = ["chrt", "--rr", "1"]
    may = subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0
    return words if may else []


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def serve(channel: int, seconds: float) -> None:
    """Answer the kernel until it has no more questions; what is told on the standard input is from then on
    how long a read takes.
    """
    zeroes = bytes(MIB)
    heard = [channel, 0]
    late: list[tuple[float, int, int]] = []  # when an answer is due, to what, bytes
    while True:
        wait = max(0.0, late[0][0] - time.monotonic()) if late else None
        ready = select.select(heard, [], [], wait)[0]
        if 0 in ready:
            if told := os.read(0, DELAY.size):
                (seconds,) = DELAY.unpack(told)
            else:
                heard.remove(0)
        if channel in ready:
            try:
                question = os.read(channel, MIB + BLOCK_BYTES)
            except OSError:  # unmounted
                return
            _, code, unique, node, *_ = HEADER.unpack_from(question)
            body = question[HEADER.size :]
            if code == READ:
                size = struct.unpack_from("<QQI", body)[2]
                heapq.heappush(late, (time.monotonic() + seconds, unique, size))
            elif code not in SILENT:
                _answer(channel, unique, *_reply(code, node, body))
        while late and late[0][0] <= time.monotonic():
            _, unique, size = heapq.heappop(late)
            _answer(channel, unique, 0, zeroes[:size])


def _reply(code: int, node: int, body: bytes) -> tuple[int, bytes]:
    """An error, or what is answered."""
    if code == INIT:
        major, minor, read_ahead, flags = struct.unpack_from("<IIII", body)
        wanted = flags & (ASYNC_READ | ASYNC_DIO)
        numbers = (major, min(minor, 31), read_ahead, wanted, MOST_AT_A_TIME, MOST_AT_A_TIME)
        return 0, struct.pack("<IIIIHHII", *numbers, 16 * BLOCK_BYTES, 1) + bytes(36)
    if code == LOOKUP:
        if body.rstrip(b"\0") != NAME.encode():
            return ENOENT, b""
        return 0, struct.pack(
            "<QQQQII", FILE, 0, FOREVER_SECONDS, FOREVER_SECONDS, 0, 0
        ) + _attributes(FILE)
    if code == GETATTR:
        return 0, struct.pack("<QII", FOREVER_SECONDS, 0, 0) + _attributes(node)
    if code == OPEN:
        return 0, struct.pack("<QIi", 0, 0, 0)
    if code == STATFS:
        return 0, bytes(80)
    return (0, b"") if code in EMPTY else (ENOSYS, b"")


def _attributes(node: int) -> bytes:
    size, mode = (0, 0o40755) if node == ROOT else (SIZE_BYTES, 0o100444)
    times = (0, 0, 0, 0, 0, 0)
    return struct.pack(
        "<6Q10I", node, size, size // 512, *times[:3], *times[3:], mode, 1, 0, 0, 0, BLOCK_BYTES, 0
    )


def _answer(channel: int, unique: int, error: int, body: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):  # nobody waits for it any more
        os.write(channel, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)


if __name__ == "__main__":
    serve(int(sys.argv[1]), float(sys.argv[2]))
