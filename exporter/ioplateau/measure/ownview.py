"""Where our own view differs from the machine's: namespaces, which a container has of its own.

https://man7.org/linux/man-pages/man7/namespaces.7.html
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioplateau.measure.host import Host

PROCESSES = "/proc/self/ns/pid"
# There in every control group but the root (cgroup_base_files[] in kernel/cgroup/cgroup.c).
# https://github.com/torvalds/linux/blob/v6.1/kernel/cgroup/cgroup.c
GROUPS = "/sys/fs/cgroup/cgroup.events"
# Facts that we find out ourselves, as `read` gives them.
OTHER_ROOT, OTHER_NETWORK = "own view: another root", "own view: another network"
# PROC_DYNAMIC_FIRST in fs/proc/generic.c: a file of /proc/net has a number of its own in each network
# namespace; what is below is no procfs.
# https://github.com/torvalds/linux/blob/v6.1/fs/proc/generic.c
PROC_DYNAMIC_FIRST = 0xF0000000
_ROOT = re.compile(rb"^\d+ \d+ (\d+:\d+) [^ ]+ / ", re.MULTILINE)


def read(host: Host) -> dict[str, str]:
    """What tells whether we are in a container, by name. Raises nothing."""
    found: dict[str, str] = {}
    with suppress(OSError):
        found[PROCESSES] = host.link(PROCESSES)
    with suppress(OSError):
        found[GROUPS] = host.read_once(GROUPS).decode("utf-8", "replace")
    if _has_other_root(host):
        found[OTHER_ROOT] = "yes"
    if is_other_network(host):
        found[OTHER_NETWORK] = "yes"
    return found


def _has_other_root(host: Host) -> bool:
    """Whether what we take for the machine's mounts has another file system at / than process 1."""
    try:
        ours, first = (
            _ROOT.findall(host.read_once(f"/proc/{process}/mountinfo")) for process in ("self", "1")
        )
    except OSError:
        return False
    return bool(ours and first) and ours[-1] != first[-1]


def is_other_network(host: Host) -> bool:
    """Whether the interfaces that we read of the machine are not in our own network namespace."""
    try:
        ours, theirs = (
            os.stat(path).st_ino for path in ("/proc/self/net/dev", host.place("/proc/net/dev"))
        )
    except OSError:
        return False
    return ours != theirs and min(ours, theirs) >= PROC_DYNAMIC_FIRST
