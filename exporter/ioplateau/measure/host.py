"""The only way to the machine's files: live (root "/") or any directory that looks like one.

Descriptors of hot files stay open and are read with pread from offset 0: 4 us a file
instead of 10 (a fresh open has to walk the path and allocate a seq_file).
"""

from __future__ import annotations

import errno
import os
import select
import stat
from itertools import islice
from pathlib import Path

CHUNK = 1 << 16
LIMIT = 256 << 20  # a file that never ends costs itself, not our memory


class Host:
    """A machine's file tree. Paths are absolute, as on the machine.

    Raises OSError for what cannot be read. Any thread may call, but of one path only one at a time calls
    `read` and `forget`, which share its descriptor.
    """

    def __init__(
        self,
        root: Path | str = "/",
        *,
        procfs: Path | str | None = None,
        sysfs: Path | str | None = None,
    ) -> None:
        self._root = Path(root)
        self._moved: tuple[tuple[str, Path], ...] = tuple(
            (prefix, Path(place))
            for prefix, place in (("/proc", procfs), ("/sys", sysfs))
            if place is not None
        )
        proc = self.place("/proc")
        if proc != "/proc" and os.path.isdir(f"{proc}/1"):
            # The host's procfs in a container: "self" is ourselves there, with our own mounts and
            # interfaces, and process 1 is the host's.
            self._moved = (
                ("/proc/self", Path(proc, "1")),
                ("/proc/net", Path(proc, "1/net")),
                *self._moved,
            )
        self._descriptors: dict[str, int] = {}
        self._polls: dict[int, select.poll] = {}  # by descriptor
        self._prompt: set[str] = set()
        # Read into and used again: bytes made at this size for each read, and then cut to what came,
        # leave free memory between them that no next read fits into. The heap grew by 0.1 MiB a
        # minute. As many as reads at once; one that hangs keeps its own.
        self._buffers: list[memoryview] = []

    def place(self, path: str) -> str:
        """Where `path` of the machine lies in our own file tree."""
        for prefix, place in self._moved:
            if path == prefix or path.startswith(prefix + "/"):
                return str(place) + path[len(prefix) :]
        return os.path.join(self._root, path.lstrip("/"))

    def read(self, path: str) -> bytes:
        """The whole file, from a descriptor kept open between calls."""
        descriptor = self._descriptors.get(path)
        if descriptor is None:
            try:
                descriptor = os.open(self.place(path), os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._prompt.add(path)
                raise
            self._descriptors[path] = descriptor
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                self._prompt.add(path)
        try:
            return self._whole(descriptor)
        except OSError:
            self.forget(path)
            raise

    def read_once(self, path: str, most: int = LIMIT) -> bytes:
        """The whole file, of `most` bytes, opened for this call only: for what is read seldom."""
        descriptor = os.open(self.place(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return self._whole(descriptor, most)
        finally:
            os.close(descriptor)

    def list(self, path: str) -> tuple[str, ...]:
        """Names in a directory, sorted."""
        return tuple(sorted(os.listdir(self.place(path))))

    def first(self, path: str, most: int) -> tuple[str, ...]:
        """The first names in a directory, `most` of them, in its own order: it may have any number."""
        with os.scandir(self.place(path)) as entries:
            return tuple([entry.name for entry in islice(entries, most)])

    def folders(self, path: str) -> tuple[str, ...]:
        """Names of the directories in a directory, sorted; links are none."""
        with os.scandir(self.place(path)) as entries:
            return tuple(sorted(e.name for e in entries if e.is_dir(follow_symlinks=False)))

    def link(self, path: str) -> str:
        """What a symbolic link says, unresolved."""
        return os.readlink(self.place(path))

    def mounts_changed(self, path: str) -> bool:
        """Whether the mount table behind a kept mountinfo changed since it was last asked.

        mounts_poll() in fs/proc_namespace.c raises POLLPRI and POLLERR once for each change.

        https://github.com/torvalds/linux/blob/v6.1/fs/proc_namespace.c
        """
        descriptor = self._descriptors.get(path)
        if descriptor is None:
            return True
        poll = self._polls.get(descriptor)
        if poll is None:
            poll = self._polls[descriptor] = select.poll()
            poll.register(descriptor, select.POLLPRI)
        return bool(poll.poll(0))

    def is_prompt(self, path: str) -> bool:
        """Whether `read` had it open before, as a file, or found none: a pipe's open() may hang."""
        return path in self._prompt

    def forget(self, path: str) -> None:
        """Close a kept descriptor, so that the next read opens the path anew."""
        descriptor = self._descriptors.pop(path, None)
        self._prompt.discard(path)
        if descriptor is not None:
            self._polls.pop(descriptor, None)
            os.close(descriptor)

    def close(self) -> None:
        for path in tuple(self._descriptors):
            self.forget(path)

    def _whole(self, descriptor: int, most: int = LIMIT) -> bytes:
        try:
            buffer = self._buffers.pop()
        except IndexError:
            buffer = memoryview(bytearray(CHUNK))
        try:
            # A seq_file hands out about a page (or one record) per read, whatever the buffer:
            # read on until it says there is no more.
            parts: list[bytes] = []
            size = 0
            while length := os.preadv(descriptor, (buffer,), size):
                parts.append(bytes(buffer[:length]))
                size += length
                if size > most:
                    raise OSError(errno.EFBIG, f"more than {most} bytes")
            return b"".join(parts)
        finally:
            self._buffers.append(buffer)
