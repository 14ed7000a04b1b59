"""Where our own view differs from the machine's: namespaces, which a container has of its own.

https://man7.org/linux/man-pages/man7/namespaces.7.html
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from posixpath import normpath

from ioplateau.measure import cgroups
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
    if host.place("/proc/self") == host.place("/proc/1"):
        return False  # tables of nodes are long
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


def groups_begin(host: Host) -> str:
    """The control group that is "/" in what we read of /proc/<pid>/cgroup; "": the machine's own root, or it is
    not found. A container's runtime gives it a control group namespace, which Kubernetes cannot change.

    https://man7.org/linux/man-pages/man7/cgroup_namespaces.7.html
    """
    if ":/.." not in cgroups.said(host, "/proc/1/cgroup"):
        return ""
    below = cgroups.path_of(cgroups.said(Host(), "/proc/self/cgroup").encode()).strip("/")
    process = str(os.getpid())  # as cgroup.procs tells whoever reads it
    for root in (cgroups.V1_ROOT, *cgroups.v2_roots(host)):
        for place in cgroups.Walk(host, root):
            if process in cgroups.said(host, f"{place}/cgroup.procs").split():
                return place.removeprefix(root).removesuffix(f"/{below}" if below else "")
    return ""


def whole_group(begin: str, group: str) -> str:
    """A group of /proc/<pid>/cgroup as the machine itself calls it. begin: where our groups begin."""
    if not group or not (begin or group.startswith("/..")):
        return group
    return normpath(f"{begin}{group}")
