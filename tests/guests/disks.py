"""Disks of a guest behind real throttles: QEMU's leaky buckets, one per disk and one for the VM.
https://www.qemu.org/docs/master/system/qemu-block-drivers.html
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Throttle:
    """QEMU's leaky bucket, per second; None is no limit. A burst lasts up to `burst_seconds`."""

    iops: int | None = None
    bps: int | None = None
    burst_iops: int | None = None
    burst_bps: int | None = None
    burst_seconds: int = 1
    operation_bytes: int = 256 * 1024  # a larger request counts as several operations

    def limits(self) -> dict[str, int]:
        """As QEMU's ThrottleLimits."""
        limits: dict[str, int] = {}
        for name, value, burst in (
            ("iops-total", self.iops, self.burst_iops),
            ("bps-total", self.bps, self.burst_bps),
        ):
            if value is not None:
                limits[name] = value
            if burst is not None:
                limits |= {f"{name}-max": burst, f"{name}-max-length": self.burst_seconds}
        if self.iops is not None:
            limits["iops-size"] = self.operation_bytes
        return limits

    def all_limits(self) -> dict[str, int]:
        """As `limits`, and 0 for those without: what QEMU is not told it leaves as it was."""
        none = Throttle(0, 0, 0, 0, operation_bytes=0).limits()
        return none | self.limits()


@dataclass(frozen=True, slots=True)
class Disk:
    """A SCSI data disk; its LUN is its place in the guest's list, its serial "lun<LUN>".

    Without a file it keeps nothing (reads are zeroes) and needs `latency_seconds` a request.
    """

    throttle: Throttle = Throttle()
    size_bytes: int = 8 * GIB
    in_vm_group: bool = False  # also draws on the guest's `vm_throttle`
    latency_seconds: float = 0.0015
    file: Path | None = None  # a raw image


def disk_arguments(disks: Sequence[Disk], vm_throttle: Throttle | None) -> list[str]:
    """QEMU's arguments: throttle groups "vm" and "disk<LUN>", a SCSI disk each."""
    if not disks:
        return []
    arguments = ["-object", "iothread,id=io", "-device", "virtio-scsi-pci,id=scsi,iothread=io"]
    arguments += _throttle_group("vm", vm_throttle or Throttle())
    for lun, disk in enumerate(disks):
        arguments += _throttle_group(f"disk{lun}", disk.throttle)
        arguments += ["-blockdev", json.dumps(_block_nodes(lun, disk))]
        place = f"bus=scsi.0,scsi-id=0,lun={lun},drive=node{lun},serial=lun{lun}"
        looks = "rotation_rate=1,vendor=TESTS,product=DataDisk"
        arguments += ["-device", f"scsi-hd,{place},{looks}"]
    return arguments


def _throttle_group(name: str, throttle: Throttle) -> list[str]:
    group = {"qom-type": "throttle-group", "id": name, "limits": throttle.limits()}
    return ["-object", json.dumps(group)]


def _block_nodes(lun: int, disk: Disk) -> dict[str, Any]:
    """The disk's own throttle, and the VM's above it, over an image or nothing."""
    node: dict[str, Any] = {
        "driver": "null-co",
        "size": disk.size_bytes,
        "latency-ns": round(disk.latency_seconds * 1e9),
        "read-zeroes": True,
    }
    if disk.file:
        node = {"driver": "raw", "file": {"driver": "file", "filename": str(disk.file)}}
    node = {"driver": "throttle", "throttle-group": f"disk{lun}", "file": node}
    if disk.in_vm_group:
        node = {"driver": "throttle", "throttle-group": "vm", "file": node}
    return {**node, "node-name": f"node{lun}"}
