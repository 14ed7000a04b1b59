"""/proc/meminfo: pages waiting to be written. Documentation/filesystems/proc.rst section 1.2.

https://docs.kernel.org/filesystems/proc.html
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ioplateau.measure.parsing import FormatError, number

# As the kernel writes them, in one look; any other text is read line by line.
_USUAL = re.compile(rb"\nDirty: +(\d{1,20}) kB\nWriteback: +(\d{1,20}) kB\n")


class MemoryUse(NamedTuple):
    """Gauges, bytes. None: a line this kernel lacks."""

    dirty_bytes: int | None
    writeback_bytes: int | None
    text: bytes = b""  # the file itself, for what is asked seldom

    @property
    def used_ratio(self) -> float | None:
        """Share of the memory that is not available to a new program; None: not told."""
        total = _gauge(self.text, b"MemTotal:")
        available = _gauge(self.text, b"MemAvailable:")
        return None if not total or available is None else 1 - available / total


def parse(text: bytes) -> MemoryUse:
    """Two lines of some fifty; FormatError if neither is there."""
    usual = _USUAL.search(text)
    if usual is not None:
        return MemoryUse(int(usual[1]) * 1024, int(usual[2]) * 1024, text)
    memory = MemoryUse(_gauge(text, b"Dirty:"), _gauge(text, b"Writeback:"), text)
    if memory.dirty_bytes is None and memory.writeback_bytes is None:
        raise FormatError(f'meminfo: {text[:60]!r}..., want a line "Dirty: N kB"')
    return memory


def _gauge(text: bytes, label: bytes) -> int | None:
    line = re.search(b"^" + label + b"(.*)", text, re.MULTILINE)
    if line is None:
        return None
    words = line[1].split()
    if len(words) != 2 or words[1] != b"kB":
        raise FormatError(f'meminfo: {label + b" " + b" ".join(words)[:60]!r}, want "N kB"')
    return number(words[0], f"meminfo: {label.decode()}") * 1024
