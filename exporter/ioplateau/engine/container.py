"""Whether this process sees the whole machine, or only a container."""

from __future__ import annotations

from collections.abc import Mapping

from ioplateau.measure.ownview import GROUPS, OTHER_NETWORK, OTHER_ROOT, PROCESSES

# PROC_PID_INIT_INO in include/linux/proc_ns.h: the namespace of the processes of the machine itself.
# https://github.com/torvalds/linux/blob/v6.1/include/linux/proc_ns.h
OF_THE_MACHINE = "pid:[4026531836]"
MOUNTS = (
    "only this container's own mounts are seen: for those of the host, mount its /proc here "
    "and say --path.procfs"
)
CONTROL_GROUPS = (
    "only this container's own control groups are seen: for those of the host, their limits and "
    "who does I/O, mount its /sys here and say --path.sysfs"
)
NETWORK = (
    "this container has a network namespace of its own: link speeds and connections to NFS servers are "
    "not seen, and a metadata service may not answer: hostNetwork: true (docker, podman: --network=host)"
)


def is_container(files: Mapping[str, str]) -> bool:
    """Whether the host's mounts are not seen. files: of the static part. False also where it cannot be told."""
    return files.get(PROCESSES, OF_THE_MACHINE) != OF_THE_MACHINE or OTHER_ROOT in files


def notices(files: Mapping[str, str]) -> tuple[str, ...]:
    """What an operator should know of a container."""
    lacking = {
        MOUNTS: is_container(files),
        CONTROL_GROUPS: GROUPS in files,
        NETWORK: OTHER_NETWORK in files,
    }
    return tuple(words for words, is_so in lacking.items() if is_so)
