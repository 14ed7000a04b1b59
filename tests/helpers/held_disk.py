"""A disk in a made-up /proc that is held at its limit as long as the test wants it to be.

with HeldDisk(tmp_path) as disk:
    with running_daemon(disk.config, tmp_path, disk.flags) as daemon: ...

Its counters follow the clock, so that it does not matter how seldom they are written or read.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Self

from machine_tree import MachineTree

IOPS = 500
DEPTH = 16  # requests that wait while it is held
LINE_BYTES = 160  # one length always, so that a reader never sees half of two lines


class HeldDisk:
    """sdc: IOPS reads of 8 KiB a second while held, and nothing while not."""

    name = "sdc"

    def __init__(self, root: Path) -> None:
        self.tree = MachineTree(root)
        self.tree.scsi_disk(self.name, lun=0, gib=64)
        self._file = self.tree.procfs / "diskstats"
        self._held = True
        self._seconds, self._changed = 0.0, time.monotonic()
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._advance, daemon=True)

    @property
    def config(self) -> str:
        return f'[cloud]\nenabled = false\n[[limit]]\ndisk = "{self.name}"\niops = {IOPS}\n'

    @property
    def flags(self) -> list[str]:
        return self.tree.flags

    def hold(self, *, held: bool) -> None:
        """From now on it is held, or rests."""
        with self._lock:
            self._seconds = self._held_seconds()
            self._held, self._changed = held, time.monotonic()

    def __enter__(self) -> Self:
        self._write()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _held_seconds(self) -> float:
        return self._seconds + (time.monotonic() - self._changed if self._held else 0.0)

    def _advance(self) -> None:
        while not self._end.wait(0.1):
            self._write()

    def _write(self) -> None:
        with self._lock:
            seconds = self._held_seconds()
            in_flight = DEPTH if self._held else 0
        reads, busy = int(seconds * IOPS), int(seconds * 1000)
        line = (
            f"   8       0 {self.name} {reads} 0 {reads * 16} {busy * DEPTH} 0 0 0 0 "
            f"{in_flight} {busy} {busy * DEPTH} 0 0 0 0 0 0"
        )
        # In place: the daemon keeps the file open, as it does with the kernel's.
        number = os.open(self._file, os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(number, f"{line:<{LINE_BYTES - 1}}\n".encode(), 0)
        finally:
            os.close(number)
