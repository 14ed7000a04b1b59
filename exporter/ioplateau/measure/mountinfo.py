"""/proc/self/mountinfo: which superblock lies under a mount point. Grammar: fs/proc_namespace.c
show_mountinfo(), Documentation/filesystems/proc.rst section 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line."""

    mount_id: int
    parent_id: int
    device: tuple[int, int]  # major:minor of the superblock
    root: str
    mount_point: str
    occurrence: int  # n-th line with this mount point, from 0
    fstype: str
    source: str
    super_options: Mapping[str, str]  # "addr" -> "10.0.0.4"; flags map to ""


@dataclass(frozen=True, slots=True)
class MountInfo:
    """Every line we understood, in order, and a reason for each we did not."""

    entries: tuple[MountEntry, ...] = ()
    rejects: tuple[str, ...] = field(default=())
