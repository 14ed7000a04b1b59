"""/sys/block: what a disk is, not what it does. Documentation/ABI/stable/sysfs-block."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """One whole disk or stacked device. None or empty: the kernel does not say."""

    name: str
    device: tuple[int, int] | None
    size_bytes: int | None
    kind: str  # disk, partition, dm, md, loop, ram, zram, rom, nbd
    mapper_name: str  # /dev/mapper/<this>
    md_level: str
    model: str
    vendor: str
    serial: str
    wwid: str
    diskseq: int | None
    scsi_address: tuple[int, int, int, int] | None  # host, channel, target, lun
    nvme_namespace: int | None
    rotational: bool | None
    scheduler: str
    nr_requests: int | None
    max_request_bytes: int | None
    logical_block_bytes: int | None
    slaves: tuple[str, ...]
    holders: tuple[str, ...]
    partition_of: str  # whole disk, for partitions
