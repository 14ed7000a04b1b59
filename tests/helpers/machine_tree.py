"""A machine's /proc and /sys as a directory, for a daemon or command that is pointed there.

tree = MachineTree(tmp_path)
tree.dmi(sys_vendor="Microsoft Corporation", ...)
tree.scsi_disk("sdc", lun=0, gib=1024)
run("limits", *tree.flags)
"""

from __future__ import annotations

from pathlib import Path

from cloud_machines import AZURE_DMI, GCE_DMI, GIB, NITRO_DMI, SCSI1

MOUNTINFO = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
NETDEV = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
    "drop fifo colls carrier compressed\n"
    "    lo:       0       0    0    0    0     0          0         0        0       0    0    "
    "0    0     0       0          0\n"
    "  eth0:    1000      10    0    0    0     0          0         0     2000      20    0    "
    "0    0     0       0          0\n"
)


class MachineTree:
    """Files of a machine that stands still; disks may come and go."""

    def __init__(self, root: Path) -> None:
        self.procfs, self.sysfs = root / "proc", root / "sys"
        self._disks: dict[str, tuple[int, int]] = {}
        self._write(self.procfs / "self/mountinfo", MOUNTINFO)
        self._write(
            self.procfs / "self/mountstats", "device /dev/sda1 mounted on / with fstype ext4\n"
        )
        self._write(self.procfs / "net/dev", NETDEV)
        self._write(self.procfs / "meminfo", "MemTotal: 1024 kB\nDirty: 0 kB\nWriteback: 0 kB\n")
        self._write(self.procfs / "stat", "cpu  1 2 3 4 5 6 7 8 9 10\n")
        self._write(self.procfs / "pressure/io", "some avg10=0 avg60=0 avg300=0 total=1\n")
        self._write(self.procfs / "sys/kernel/osrelease", "6.1.0-test\n")
        self._tell()

    @property
    def flags(self) -> list[str]:
        return ["--path.procfs", str(self.procfs), "--path.sysfs", str(self.sysfs)]

    def dmi(self, strings: dict[str, str]) -> None:
        """DMI strings by their path."""
        for path, text in strings.items():
            self._write(self.sysfs / path.removeprefix("/sys/"), text + "\n")

    def scsi_disk(self, name: str, lun: int, gib: int, controller: str = SCSI1) -> None:
        """A disk on a Hyper-V controller, told of by its vmbus identity."""
        number = len(self._disks)
        home = f"devices/LNXSYSTM:00/VMBUS:00/{controller[1:-1]}"
        address = f"{number}:0:0:{lun}"
        attachment = f"{home}/host{number}/target{number}:0:0/{address}"
        self._write(self.sysfs / home / "device_id", controller + "\n")
        self._write(self.sysfs / attachment / "vendor", "Msft    \n")
        self._write(self.sysfs / attachment / "model", "Virtual Disk    \n")
        self._block(
            name, f"{attachment}/block/{name}", f"../../../{address}", gib, (8, 16 * number)
        )

    def named_disk(self, name: str, device_name: str, gib: int) -> None:
        """Google's SCSI disk: the device name is its unit serial number (VPD page 80)."""
        number = len(self._disks)
        address = f"0:0:{number + 1}:0"
        attachment = (
            f"devices/pci0000:00/0000:00:03.0/virtio0/host0/target0:0:{number + 1}/{address}"
        )
        self._write(self.sysfs / attachment / "vendor", "Google  \n")
        self._write(self.sysfs / attachment / "model", "PersistentDisk  \n")
        page = bytes((0, 0x80, 0, len(device_name))) + device_name.encode()
        (self.sysfs / attachment / "vpd_pg80").write_bytes(page)
        self._block(
            name, f"{attachment}/block/{name}", f"../../../{address}", gib, (8, 16 * number)
        )

    def nvme_disk(self, name: str, model: str, gib: int, serial: str = "") -> None:
        """A namespace on a controller of its own."""
        number = len(self._disks)
        controller = name[: name.index("n", 4)]
        attachment = f"devices/pci0000:00/0000:00:{number:02x}.0/nvme/{controller}"
        self._write(self.sysfs / attachment / "model", model + "\n")
        self._write(self.sysfs / attachment / "serial", serial + "\n")
        self._block(name, f"{attachment}/{name}", f"../../{controller}", gib, (259, number))
        self._write(self.sysfs / attachment / name / "nsid", "1\n")

    def remove(self, name: str) -> None:
        del self._disks[name]
        (self.sysfs / "class/block" / name).unlink()
        self._tell()

    def _block(self, name: str, home: str, device: str, gib: int, number: tuple[int, int]) -> None:
        place = self.sysfs / home
        self._write(place / "size", f"{gib * GIB // 512}\n")
        self._write(place / "dev", f"{number[0]}:{number[1]}\n")
        if device:
            (place / "device").symlink_to(device)
        link = self.sysfs / "class/block" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../{home}")
        self._disks[name] = number
        self._tell()

    def _tell(self) -> None:
        lines = (
            f"{major:4} {minor:7} {name} 100 0 800 50 10 0 80 5 0 55 55 0 0 0 0 0 0\n"
            for name, (major, minor) in self._disks.items()
        )
        # In place: the daemon keeps the descriptor.
        self._write(self.procfs / "diskstats", "".join(lines))

    @staticmethod
    def _write(file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def gce_vm(root: Path) -> MachineTree:
    """A Compute Engine VM with a boot disk and a data disk of 500 GiB."""
    tree = MachineTree(root)
    tree.dmi(GCE_DMI)
    tree.named_disk("sda", "boot", 10)
    tree.named_disk("sdb", "data", 500)
    return tree


def azure_vm(root: Path) -> MachineTree:
    """A second-generation VM with an OS disk and two data disks of 1 TiB, LUN 0 and 1."""
    tree = MachineTree(root)
    tree.dmi(AZURE_DMI)
    tree.scsi_disk("sda", lun=0, gib=30, controller="{f8b3781a-1e82-4818-a1c3-63d806ec15bb}")
    tree.scsi_disk("sdc", lun=0, gib=1024)
    tree.scsi_disk("sdd", lun=1, gib=1024)
    return tree


def nitro_instance(root: Path) -> MachineTree:
    """An EC2 instance with a root volume and a data volume."""
    tree = MachineTree(root)
    tree.dmi({**NITRO_DMI, "/sys/class/dmi/id/product_name": "m5.large"})
    tree.nvme_disk("nvme0n1", "Amazon Elastic Block Store", 8, "vol0123456789abcdef0")
    tree.nvme_disk("nvme1n1", "Amazon Elastic Block Store", 500, "vol0123456789abcdef1")
    return tree
