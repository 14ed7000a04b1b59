"""Multipath: one disk (the head), however many paths the kernel lists with it.

A path of native NVMe multipath (head nvme0n1) is a hidden block device nvme<subsystem>c<controller>n<namespace>
(drivers/nvme/host/core.c, nvme_alloc_ns()). Which of them diskstats counts depends on the kernel: until 6.3 the paths alone,
from 6.4 on (nvme_mpath_start_request() in multipath.c) the head as well, unless its queue/iostats
is off. So the counters of a head are its own where it has some, and else its paths' together.

A path of device-mapper multipath (head dm-0) is a disk like others (sda) that the head stands on.

https://github.com/torvalds/linux/blob/v6.1/drivers/nvme/host/core.c
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ioplateau.measure.diskstats import DiskCounters
from ioplateau.measure.sysblock import NETWORK, BlockDevice

FIRST = DiskCounters._fields.index("reads")

# What multipath-tools begin the UUIDs of their nodes with, and of no partition on them ("part1-mpath-").
# https://github.com/opensvc/multipath-tools/blob/0.9.4/libmultipath/devmapper.h
_MAPPER_MULTIPATH = "mpath-"
_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)")


def head_name(name: str) -> str:
    """The head of a path, by its name; "": it is named like no path."""
    found = _PATH.fullmatch(name)
    return found[1] + found[2] if found else ""


def paths(names: Collection[str], devices: Mapping[str, BlockDevice]) -> dict[str, str]:
    """The head of every path among `names`; "" if it has none there: I/O that nobody asked for
    under a name. Where sysfs is not known, a name beside its head's tells a path.
    """
    found = {}
    for name in names:
        device, head = devices.get(name), head_name(name)
        if head and head in names:
            found[name] = head
        elif device is not None and device.hidden:
            found[name] = ""
    for head, device in devices.items():
        if head in names:
            found |= dict.fromkeys(_below_mapper(device, devices), head)
    return found


def _below_mapper(device: BlockDevice, devices: Mapping[str, BlockDevice]) -> tuple[str, ...]:
    """The paths of a device-mapper node over several to one disk; (): it is no such node."""
    if device.kind != "dm":
        return ()
    found = [below for slave in device.slaves if (below := devices.get(slave)) is not None]
    if not device.mapper_uuid:  # not recorded
        alike = {(path.serial, path.wwid) for path in found}
        is_one = len(alike) == 1 and all(path.serial for path in found)
        if len(found) < 2 or len(found) < len(device.slaves) or not is_one:
            return ()
    elif not device.mapper_uuid.startswith(_MAPPER_MULTIPATH):
        return ()
    return tuple(path.name for path in found)


def described(devices: Mapping[str, BlockDevice]) -> dict[str, BlockDevice]:
    """Every device but the paths; a head is told by its paths what its subsystem does not say."""
    heads = paths(devices, devices)
    found = {name: device for name, device in devices.items() if name not in heads}
    for name, head in heads.items():
        if head:
            found[head] = _completed(found[head], devices[name])
    return found


def _completed(head: BlockDevice, path: BlockDevice) -> BlockDevice:
    is_mapper = head.kind == "dm"
    return head._replace(
        kind=path.kind if is_mapper or path.kind == NETWORK else head.kind,
        slaves=() if is_mapper else head.slaves,
        paths=(*head.paths, path.name),
        model=head.model or path.model,
        serial=head.serial or path.serial,
        wwid=head.wwid or path.wwid,
        nvme_namespace=path.nvme_namespace if head.nvme_namespace is None else head.nvme_namespace,
    )


def counting(
    head: DiskCounters, its_paths: Sequence[DiskCounters], device: BlockDevice | None
) -> Sequence[DiskCounters]:
    """Those whose counters are the head's."""
    is_off = device is not None and device.counts_io is False
    has_counted = head.reads or head.writes or head.discards or head.flushes
    return its_paths if its_paths and (is_off or not has_counted) else (head,)


def together(head: DiskCounters, counted: Sequence[DiskCounters]) -> DiskCounters:
    """Their counters added up, under the head's name and number. What the kernel prints modulo
    2^32 stays right modulo 2^32; the time busy may grow by more than one second a second.
    """
    columns = zip(*(one[FIRST:] for one in counted), strict=True)
    sums: list[Any] = [None if None in column else sum(column) for column in columns]
    return DiskCounters(head.name, head.device, *sums)
