"""What comes and goes on a busy machine, made to: disks, mounts, control groups, interfaces, clients.

    with Churn(directory, "127.0.0.1:10049", seed=1) as churn: ...   # and all of it is gone

Needs root, losetup, mount, mkfs.ext4, ip.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Self

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "helpers"))

from throttled_disk import block_io_hierarchy

MIB = 1 << 20
MOST_ALIVE = 6  # of each kind
PAUSE_SECONDS = 0.25
ACCEPTS = (
    "text/plain",
    "application/openmetrics-text;version=1.0.0",
    'text/plain;version="0.0.4"',
    "text/plain;version=abc",
)


class Churn:
    """Makes and unmakes things in threads of its own until the context ends; `done` counts."""

    def __init__(self, directory: Path, address: str, seed: int) -> None:
        self._directory = directory
        host, _, port = address.rpartition(":")
        self._address = (host, int(port))
        self._random = Random(seed)
        self._stop = threading.Event()
        self._alive: dict[str, deque[Callable[[], object]]] = {}
        self._number = 0
        self.done: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._buffer = mmap.mmap(-1, MIB)  # aligned, as O_DIRECT wants it
        self._threads = [
            threading.Thread(target=self._run, args=(turn, pause))
            for turn, pause in ((self._turn, PAUSE_SECONDS), (self._ask, 0.05), (self._read, 0.5))
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        for ends in self._alive.values():
            while ends:
                self._end(ends.pop())

    def _run(self, turn: Callable[[], None], pause_seconds: float) -> None:
        while not self._stop.wait(pause_seconds):
            turn()

    def _turn(self) -> None:
        kinds = (self._disk, self._mount, self._group, self._interface)
        make = self._random.choice(kinds)
        name = make.__name__[1:]
        ends = self._alive.setdefault(name, deque())
        if len(ends) >= MOST_ALIVE or (ends and self._random.random() < 0.4):
            self._end(ends.popleft())
            return
        self._number += 1
        try:
            ends.append(make(f"soak{os.getpid()}-{self._number}"))
            self.done[name] += 1
        except (OSError, subprocess.CalledProcessError):
            self.failed[name] += 1

    def _end(self, end: Callable[[], object]) -> None:
        try:
            end()
        except (OSError, subprocess.CalledProcessError):
            self.failed["taken away"] += 1

    def _disk(self, name: str) -> Callable[[], object]:
        file, place = self._directory / f"{name}.img", self._directory / name
        with file.open("wb") as image:
            image.truncate(8 * MIB)
        loop = _said("losetup", "--find", "--show", str(file))
        file.unlink()
        with contextlib.ExitStack() as undo:
            undo.callback(_said, "losetup", "--detach", loop)
            _said("mkfs.ext4", "-q", loop)
            place.mkdir()
            undo.callback(place.rmdir)
            _said("mount", loop, str(place))
            undo.callback(_said, "umount", str(place))
            (place / "data").write_bytes(os.urandom(MIB))
            return undo.pop_all().close

    def _mount(self, name: str) -> Callable[[], object]:
        place = self._directory / f"{name} odd\u00e9"
        place.mkdir()
        with contextlib.ExitStack() as undo:
            undo.callback(place.rmdir)
            _said("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place))
            undo.callback(_said, "umount", str(place))
            return undo.pop_all().close

    def _group(self, name: str) -> Callable[[], object]:
        group = block_io_hierarchy() / name
        group.mkdir()
        return group.rmdir

    def _interface(self, _: str) -> Callable[[], object]:
        short = f"sk{self._number % 100_000}"
        _said("ip", "link", "add", short, "type", "veth", "peer", "name", f"{short}p")
        return lambda: _said("ip", "link", "del", short)

    def _ask(self) -> None:
        """One client: well-behaved, in a hurry, silent, or talking nonsense."""
        how = self._random.randrange(4)
        accept = self._random.choice(ACCEPTS)
        said = f"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n".encode()
        try:
            with socket.create_connection(self._address, 5) as client:
                if how == 1:
                    client.sendall(said[:20])
                elif how == 2:
                    client.sendall(self._random.randbytes(50) + b"\r\n\r\n")
                elif how == 3:
                    client.sendall(said)
                    while client.recv(1 << 16):
                        pass
            self.done["client"] += 1
        except OSError:
            self.failed["client"] += 1

    def _read(self) -> None:
        """I/O on whatever is mounted now."""
        for file in self._directory.glob("*/data"):
            with contextlib.suppress(OSError):
                descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT)
                try:
                    self.done["read"] += os.preadv(descriptor, [self._buffer], 0) > 0
                finally:
                    os.close(descriptor)


def _said(*command: str) -> str:
    for attempt in range(20):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode == 0:
            return done.stdout.strip()
        if "busy" not in done.stderr or attempt == 19:
            break
        time.sleep(0.1)
    raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
