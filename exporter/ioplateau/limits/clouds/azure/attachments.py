"""Where Azure's disks sit: role and LUN by controller and NVMe namespace, without any metadata.

SCSI and NVMe: azure-compute-docs, azure-disks-faq and enable-nvme-remote-faqs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ioplateau.limits.clouds.identity import DATA, LOCAL, OS, TEMPORARY
from ioplateau.limits.clouds.protocol import Attachment
from ioplateau.measure.sysblock import BlockDevice

REMOTE_NVME = "MSFT NVMe Accelerator"
LOCAL_NVME = "Microsoft NVMe Direct Disk"
# Second group of the vmbus device_id, Gen1: 0000 OS disk, 0001 temporary disk.
_GEN1 = re.compile(r"\{00000000-000([01])-", re.IGNORECASE)
# Gen2 and data controllers: a is the fixed disks', b, c and d are scsi1 to scsi3.
_GEN2 = re.compile(r"\{f8b3781([a-d])-1e82-4818-a1c3-63d806ec15bb\}", re.IGNORECASE)


def attachment(device: BlockDevice) -> Attachment | None:
    """Role and LUN that the kernel alone tells; None: not one of Azure's disks."""
    return _nvme_attachment(device) or _scsi_attachment(device)


def _nvme_attachment(device: BlockDevice) -> Attachment | None:
    if device.model.startswith(LOCAL_NVME):
        return LOCAL, -1
    namespace = device.nvme_namespace
    if not device.model.startswith(REMOTE_NVME) or namespace is None or namespace < 1:
        return None
    # Namespace 1 is the OS disk, n is LUN n - 2, also where data disks have a controller of their own, whose kernel
    # names begin with n1 again. https://github.com/Azure/azure-vm-utils/issues/99
    return (OS, 0) if namespace == 1 else (DATA, namespace - 2)


def _scsi_attachment(device: BlockDevice) -> Attachment | None:
    if device.scsi_address is None:
        return None
    lun = device.scsi_address[3]
    if gen1 := _GEN1.match(device.controller):
        return (OS, 0) if gen1[1] == "0" else (TEMPORARY, -1)
    gen2 = _GEN2.match(device.controller)
    if gen2 is None:
        return None
    if gen2[1].lower() != "a":
        return DATA, lun
    return {0: (OS, 0), 1: (TEMPORARY, -1)}.get(lun)


def controller(devices: Mapping[str, BlockDevice]) -> str:
    """NVMe or SCSI; empty: no remote disk tells."""
    if any(device.model.startswith(REMOTE_NVME) for device in devices.values()):
        return "NVMe"
    return "SCSI" if any(_scsi_attachment(device) for device in devices.values()) else ""
