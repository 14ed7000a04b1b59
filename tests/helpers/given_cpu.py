"""How much of its CPUs a machine's host really gives it.

A VM whose host takes its CPUs away for part of each 10 ms counts that time as its own: neither
`steal` nor a load average shows it. What shows it is a loop that reads its own CPU clock: the clock
jumps by what the loop did not run.
"""

import functools
import time

MEASURED_SECONDS = 3.0
# A read of the clock takes less than a microsecond, an interrupt some tens.
SHORTEST_JUMP_NS = 500_000

# Measured once, where it was 0.14: a guest took seven minutes to boot and its systemd gave up its own
# services, and fio asked in gusts of 1.4 ms in each 10, which is the host's limit and not the disk's.
# Where nothing is taken away it is near 1; the middle is a choice.
ENOUGH = 0.5


@functools.cache
def share() -> float:
    """The share of its time in which a process that wants to run does, from 0 to 1.

    Time for which the kernel ran another process instead is not counted as taken away.
    """
    lost = 0
    ends = time.monotonic() + MEASURED_SECONDS
    began = before = time.thread_time_ns()
    while time.monotonic() < ends:
        now = time.thread_time_ns()
        if now - before > SHORTEST_JUMP_NS:
            lost += now - before
        before = now
    return 1 - lost / (before - began)


def missing() -> str | None:
    """Why a rate that is measured here would tell of the host alone, if it would."""
    if share() >= ENOUGH:
        return None
    return (
        f"the host gives this machine its CPUs {share():.0%} of the time (wanted: {ENOUGH:.0%}):"
        " a rate that is measured here is the host's"
    )
