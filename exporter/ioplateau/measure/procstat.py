"""/proc/stat: CPU time in USER_HZ ticks. Documentation/filesystems/proc.rst section 1.7.

https://docs.kernel.org/filesystems/proc.html
"""

from __future__ import annotations

from typing import NamedTuple

from ioplateau.measure.parsing import FormatError, number

# A fall of more than 3 s is a CPU that went, as node_exporter takes it.
MOST_CORRECTED_TICKS = 300


class CpuTicks(NamedTuple):
    """The "cpu" line, cumulative USER_HZ ticks (1/100 s) summed over CPUs.

    `iowait` may fall a little: the kernel's own documentation says so.
    """

    iowait: int
    steal: int | None
    busy: int = 0  # neither idle nor waiting for I/O
    total: int = 0


def parse(text: bytes) -> CpuTicks:
    """The first line; FormatError if it is no CPU line."""
    # The rest is long (a line a CPU, a number an interrupt): it is not even split.
    line = text[: text.find(b"\n") + 1]
    words = line.split(None, 10)
    if len(words) < 6 or words[0] != b"cpu":
        raise FormatError(f'stat: {text[:60]!r}, want "cpu" and 5 or more numbers')
    steal = number(words[8], "stat: steal") if len(words) > 8 else None
    iowait = number(words[5], "stat: iowait")
    # user nice system idle iowait irq softirq steal; guest time is in user's already.
    times = [number(word, "stat: cpu") for word in words[1:9]]
    total = sum(times)
    return CpuTicks(iowait, steal, total - times[3] - times[4], total)


def corrected(before: CpuTicks, after: CpuTicks) -> CpuTicks:
    """The later of two readings with the highest `iowait` so far, unless it fell by more than a little."""
    fallen = before.iowait - after.iowait
    # A counter that falls would be taken for one that began anew: all of it would count again.
    return after._replace(iowait=before.iowait) if 0 < fallen <= MOST_CORRECTED_TICKS else after
