"""/proc/meminfo: pages waiting to be written. Documentation/filesystems/proc.rst section 1.2."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """Gauges, bytes. None: a line this kernel lacks."""

    dirty_bytes: int | None
    writeback_bytes: int | None
