"""/proc/stat: CPU time in USER_HZ ticks. Documentation/filesystems/proc.rst section 1.7."""

from __future__ import annotations

from typing import NamedTuple

from ioplateau.measure.reading import FormatError
from ioplateau.measure.words import number


class CpuTicks(NamedTuple):
    """The "cpu" line, cumulative USER_HZ ticks (1/100 s) summed over CPUs.

    `iowait` may fall a little: the kernel's own documentation says so.
    """

    iowait: int
    steal: int | None
    boot_time_seconds: int | None = None  # "btime"


def parse(text: bytes) -> CpuTicks:
    """The first line and "btime"; FormatError if the first is no CPU line."""
    # The rest is long (a line a CPU, a number an interrupt): it is not even split.
    line = text[: text.find(b"\n") + 1]
    words = line.split(None, 10)
    if len(words) < 6 or words[0] != b"cpu":
        raise FormatError(f'stat: {text[:60]!r}, want "cpu" and 5 or more numbers')
    steal = number(words[8], "stat: steal") if len(words) > 8 else None
    return CpuTicks(number(words[5], "stat: iowait"), steal, _boot_time(text))


def _boot_time(text: bytes) -> int | None:
    start = text.find(b"\nbtime ")
    if start < 0:
        return None
    start += len(b"\nbtime ")
    end = text.find(b"\n", start)
    return number(text[start:end], "stat: btime") if end >= 0 else None
