"""/proc/stat: CPU time in USER_HZ ticks. Documentation/filesystems/proc.rst section 1.7."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """The "cpu" line, cumulative USER_HZ ticks (1/100 s) summed over CPUs."""

    iowait: int
    steal: int | None
    boot_time_seconds: int | None = None  # "btime"
