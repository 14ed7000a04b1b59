"""Block devices on top of each other, and which of them are disks of the VM's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ioplateau.measure.sysblock import NETWORK, PMEM, VIRTUAL, BlockDevice

# Not drawn on any lane of the VM: memory, files of this machine, other machines' disks.
LOCAL_KINDS = frozenset(
    {"ram", "zram", "loop", "rom", "nbd", "dm", "md", "partition", VIRTUAL, NETWORK, PMEM}
)
# In memory, or on disks of this machine although no slaves tell so: files, ZFS volumes, DRBD.
ABOVE_KINDS = frozenset({"loop", "ram", "zram", VIRTUAL})
ABOVE_DISKS = ("loop", "ram", "zram", "zd", "drbd")
LOCAL_NAMES = (*ABOVE_DISKS, "dm-", "md", "sr", "fd", "nbd", "rbd", PMEM)

Devices: TypeAlias = Mapping[str, BlockDevice | None]


def stack_members(disks: Devices, name: str) -> tuple[str, ...]:
    """The disks at the bottom of a stacked device, each once; () for a disk."""
    found: dict[str, None] = {}
    seen = {name}
    todo = list(_slaves(disks, name))
    while todo:
        member = todo.pop(0)
        if member in seen:
            continue
        seen.add(member)
        below = _slaves(disks, member)
        if below:
            todo.extend(below)
        else:
            found[member] = None
    return tuple(found)


def is_remote_disk(name: str, device: BlockDevice | None) -> bool:
    """Whether a block device that no cloud tells us of draws on the VM's disk lanes."""
    if device is not None and (device.kind in LOCAL_KINDS or device.paths):
        return device.kind not in LOCAL_KINDS  # a device-mapper node with paths is their disk
    return not name.startswith(LOCAL_NAMES)


def _slaves(disks: Devices, name: str) -> tuple[str, ...]:
    device = disks.get(name)
    if device is None:
        return ()
    whole = []
    for slave in device.slaves:
        below = disks.get(slave)
        # A stripe over partitions draws on their disks.
        whole.append(below.partition_of if below is not None and below.partition_of else slave)
    return tuple(whole)
