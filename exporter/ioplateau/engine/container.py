"""Whether this process sees the whole machine, or only a container."""

from __future__ import annotations

from collections.abc import Mapping

PROCESSES = "/proc/self/ns/pid"
# PROC_PID_INIT_INO in include/linux/proc_ns.h: the namespace of the processes of the machine itself.
# https://github.com/torvalds/linux/blob/v6.1/include/linux/proc_ns.h
OF_THE_MACHINE = "pid:[4026531836]"
NOTICE = (
    "only this container's own mounts are seen: for those of the host, mount its /proc here "
    "and say --path.procfs"
)


def is_container(files: Mapping[str, str]) -> bool:
    """files: of the static part. False also where it cannot be told."""
    return files.get(PROCESSES, OF_THE_MACHINE) != OF_THE_MACHINE


def notices(files: Mapping[str, str]) -> tuple[str, ...]:
    """What an operator should know of a container."""
    return (NOTICE,) if is_container(files) else ()
