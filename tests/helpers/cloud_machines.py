"""Machines as clouds describe them: sysfs attributes, and Azure's documented sample answer."""

import json

from ioplateau.limits.budgets import Dimension, Direction
from ioplateau.measure import sysblock
from ioplateau.measure.snapshot import Static

GIB = 1 << 30
SCSI1 = "{f8b3781b-1e82-4818-a1c3-63d806ec15bb}"
SCSI2 = "{f8b3781c-1e82-4818-a1c3-63d806ec15bb}"
FIXED = "{f8b3781a-1e82-4818-a1c3-63d806ec15bb}"
GEN1_OS = "{00000000-0000-8899-0000-000000000000}"
GEN1_TEMPORARY = "{00000000-0001-8899-0000-000000000000}"
AZURE_DMI = {
    "/sys/class/dmi/id/sys_vendor": "Microsoft Corporation",
    "/sys/class/dmi/id/chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77",
    "/sys/class/dmi/id/product_name": "Virtual Machine",
}
NITRO_DMI = {
    "/sys/class/dmi/id/sys_vendor": "Amazon EC2",
    "/sys/class/dmi/id/product_name": "m5.large",
}
GCE_DMI = {
    "/sys/class/dmi/id/sys_vendor": "Google",
    "/sys/class/dmi/id/product_name": "Google Compute Engine",
}
REMOTE = "MSFT NVMe Accelerator v1.0"


IOPS = (Dimension.IOPS, Direction.TOTAL)
BYTES = (Dimension.THROUGHPUT, Direction.TOTAL)


def figures(limits):
    """Values by dimension and direction."""
    return {(limit.dimension, limit.direction): limit.value for limit in limits}


def devices(**block):
    """Block devices by the parser that also reads live sysfs."""
    return sysblock.parse(Static(block=block))


def scsi(controller, lun, gib=1024):
    attributes = {
        "size": str(gib * GIB // 512),
        "dev": "8:0",
        "device": f"../../../0:0:0:{lun}",
        "device/vendor": "Msft",
        "device/model": "Virtual Disk",
        "device_id": controller,
    }
    return {name: value for name, value in attributes.items() if value}


def nvme(model, namespace=1, gib=1024, serial=""):
    return {
        "size": str(gib * GIB // 512),
        "dev": "259:0",
        "nsid": str(namespace),
        "device/model": model,
        "device/serial": serial,
    }


def data_disk(lun, name="data", sku="Premium_LRS", size="1024", caching="None", **more):
    """One entry of dataDisks with every field, as the service writes it."""
    disk = {
        "bytesPerSecondThrottle": "",
        "caching": caching,
        "createOption": "Attach",
        "diskCapacityBytes": "",
        "diskSizeGB": size,
        "image": {"uri": ""},
        "isSharedDisk": "",
        "isUltraDisk": "false",
        "lun": lun,
        "managedDisk": {"id": "/subscriptions/0/disks/" + name, "storageAccountType": sku},
        "name": name,
        "opsPerSecondThrottle": "",
        "vhd": {"uri": ""},
        "writeAcceleratorEnabled": "false",
    }
    return disk | more


OS_DISK = {
    "caching": "ReadWrite",
    "createOption": "FromImage",
    "diffDiskSettings": {"option": ""},
    "diskSizeGB": "30",
    "image": {"uri": ""},
    "managedDisk": {"id": "/subscriptions/0/disks/os", "storageAccountType": "Premium_LRS"},
    "name": "os",
    "osType": "Linux",
    "vhd": {"uri": ""},
    "writeAcceleratorEnabled": "false",
}


def azure_answer(*disks, vm_size="Standard_D8s_v3", os_disk=None, **compute):
    """The answer of /metadata/instance, reduced to what a VM always has."""
    return json.dumps(
        {
            "compute": {
                "azEnvironment": "AZUREPUBLICCLOUD",
                "location": "westeurope",
                "name": "vm",
                "Priority": "Regular",
                "publicKeys": [{"keyData": "ssh-rsa SECRET", "path": "/home/a"}],
                "tags": "password:SECRET",
                "userData": "SECRET",
                "storageProfile": {
                    "dataDisks": list(disks),
                    **({} if os_disk is None else {"osDisk": os_disk}),
                    "resourceDisk": {"size": "65536"},
                },
                "vmSize": vm_size,
                "zone": "3",
                **compute,
            },
            "network": {"interface": []},
        }
    )


def gce_answer(*disks):
    """instance/disks/?recursive=true as the metadata server writes it: (device name, type)."""
    return json.dumps(
        [
            {
                "deviceName": name,
                "index": index,
                "interface": "NVME" if kind == "LOCAL-SSD" else "SCSI",
                "mode": "READ_WRITE",
                "type": kind,
            }
            for index, (name, kind) in enumerate(disks)
        ]
    )
