import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.measure import sysblock
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import Static

FILES = Path(__file__).parent / "files" / "machine"
RAID0 = json.loads((FILES / "sysblock-6.1-raid0.json").read_text())
CONTROLLER = "{f8b3781b-1e82-4818-a1c3-63d806ec15bb}"
SCSI = "devices/LNXSYSTM:00/VMBUS:00/f8b3781b/host1/target1:0:0/1:0:0:3"


class Machine:
    """A directory that looks like a machine's /sys."""

    def __init__(self, root):
        self.sys = root / "sys"
        (self.sys / "class" / "block").mkdir(parents=True)
        self.host = Host(root)

    def add(self, place, **files):
        """A device below /sys/devices, linked from the class as the kernel does."""
        folder = self.sys / place
        folder.mkdir(parents=True)
        (self.sys / "class" / "block" / folder.name).symlink_to("../../" + place)
        for path, text in {"size": "2048\n", "dev": "8:0\n", **files}.items():
            self.write(f"{place}/{path}", text)

    def write(self, path, text):
        file = self.sys / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def read(self, *names, last=None):
        return sysblock.read(self.host, names, last)

    def device(self, name):
        tree = self.read(name)
        return sysblock.parse(Static(**tree._asdict()))[name]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def known(name, **attributes):
    said = {path.replace("__", "/"): text for path, text in attributes.items()}
    return sysblock.parse(Static(block={name: said}))[name]


class Counted(Host):
    """Remembers what was opened."""

    def __init__(self, root):
        super().__init__(root)
        self.opened = []
        self.lists = True

    def read_once(self, path):
        self.opened.append(path)
        return super().read_once(path)

    def list(self, path):
        if not self.lists:
            raise PermissionError(13, "Permission denied", path)
        return super().list(path)


def test_what_a_disk_does_not_have_is_not_opened(machine, tmp_path):
    machine.add("devices/virtual/block/loop0", **{"queue/iostats": "1\n", "diskseq": "7\n"})
    host = Counted(tmp_path)

    tree = sysblock.read(host, ["loop0"])

    names = {path.removeprefix("/sys/class/block/loop0/") for path in host.opened}
    assert names == {"size", "dev", "diskseq", *(n for n in sysblock.ATTRIBUTES if "queue/" in n)}
    assert tree.block["loop0"]["queue/iostats"] == "1"


def test_of_a_disk_whose_directory_cannot_be_listed_each_file_is_tried(machine, tmp_path):
    machine.add(f"{SCSI}/block/sda", **{"device/model": "Virtual Disk\n", "queue/iostats": "1\n"})
    machine.write(f"{SCSI}/block/sda/serial", "S1\n")
    host = Counted(tmp_path)
    listed = sysblock.read(host, ["sda"]).block
    host.lists = False

    assert sysblock.read(host, ["sda"]).block == listed
    assert listed["sda"]["serial"] == "S1"


def test_a_scsi_disk_on_hyper_v_with_its_address_controller_and_page_80(machine):
    machine.add(
        f"{SCSI}/block/sda",
        **{"queue/scheduler": "none [mq-deadline] bfq\n", "queue/iostats": "1\n"},
    )
    machine.write(f"{SCSI}/model", "Virtual Disk    \n")
    machine.write(f"{SCSI}/vendor", "Msft    \n")
    machine.write(f"{SCSI}/vpd_pg80", b"\x00\x80\x00\x08 6002248\x00")
    machine.write("devices/LNXSYSTM:00/VMBUS:00/f8b3781b/device_id", CONTROLLER + "\n")
    (machine.sys / SCSI / "block" / "sda" / "device").symlink_to("../../../1:0:0:3")
    disk = machine.device("sda")

    assert disk.kind == "disk"
    assert disk.device == (8, 0)
    assert disk.size_bytes == 1 << 20
    assert disk.scsi_address == (1, 0, 0, 3)
    assert disk.controller == CONTROLLER
    assert (disk.vendor, disk.model, disk.serial) == ("Msft", "Virtual Disk", "6002248")
    assert disk.scheduler == "mq-deadline"
    assert disk.counts_io is True


def described(code_set, kind, name, length=None):
    """A designation descriptor as SPC-4 lays it out. kind: PIV, association and designator type."""
    return bytes([code_set, kind, 0, len(name) if length is None else length]) + name


NAA = described(1, 0x03, bytes.fromhex("6002248012345678"))
DRIVE = described(2, 0x00, b"drive-scsi1")


@pytest.mark.parametrize(
    ("descriptors", "serial"),
    [
        (DRIVE, "drive-scsi1"),  # QEMU's, of a disk without a serial number
        (NAA + DRIVE, "drive-scsi1"),
        (described(0x62, 0x80, b"drive-scsi1"), "drive-scsi1"),  # with a protocol identifier
        (NAA, ""),
        (described(2, 0x01, b"QEMU    drive-scsi1"), ""),  # T10 vendor id
        (described(2, 0x10, b"port-1"), ""),  # of the port
        (described(1, 0x00, b"\x00\x01"), ""),  # binary
        (described(2, 0x00, b"drive-", length=11), ""),  # cut off
        (b"", ""),
        (b"\x02", ""),
    ],
)
def test_a_scsi_disk_without_page_80_has_its_vendors_name_of_page_83(machine, descriptors, serial):
    page = b"\x00\x83" + len(descriptors).to_bytes(2, "big") + descriptors
    machine.add(f"{SCSI}/block/sda")
    machine.write(f"{SCSI}/vpd_pg83", page)
    (machine.sys / SCSI / "block" / "sda" / "device").symlink_to("../../../1:0:0:3")

    assert machine.device("sda").serial == serial


def test_what_stands_behind_page_83_is_none_of_it(machine):
    machine.add(f"{SCSI}/block/sda")
    machine.write(f"{SCSI}/vpd_pg83", b"\x00\x83\x00\x00" + DRIVE)
    (machine.sys / SCSI / "block" / "sda" / "device").symlink_to("../../../1:0:0:3")

    assert machine.device("sda").serial == ""


def test_a_serial_number_comes_before_the_vendors_name(machine):
    machine.add(f"{SCSI}/block/sda")
    machine.write(f"{SCSI}/vpd_pg80", b"\x00\x80\x00\x02S1")
    machine.write(f"{SCSI}/vpd_pg83", b"\x00\x83\x00\x0f" + DRIVE)
    (machine.sys / SCSI / "block" / "sda" / "device").symlink_to("../../../1:0:0:3")

    assert machine.device("sda").serial == "S1"


def test_an_nvme_namespace(machine):
    place = "devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n2"
    machine.add(place, nsid="2\n", wwid="nvme.1d0f-766f\n", diskseq="12\n")
    machine.write("devices/pci0000:00/0000:00:04.0/nvme/nvme0/serial", "vol0123 \n")
    machine.write("devices/pci0000:00/0000:00:04.0/nvme/nvme0/model", "Elastic Block\n")
    (machine.sys / place / "device").symlink_to("../../nvme0")
    disk = machine.device("nvme0n2")

    assert (disk.nvme_namespace, disk.serial, disk.model) == (2, "vol0123", "Elastic Block")
    assert (disk.wwid, disk.diskseq) == ("nvme.1d0f-766f", 12)
    assert disk.scsi_address is None
    assert disk.controller == ""


def google_disk(machine, device_name=""):
    """A persistent disk on NVMe, of which udev's database knows the name."""
    place = "devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n2"
    machine.add(place, nsid="2\n", dev="259:3\n", wwid="nvme.1ae0-6e-6e-00000002\n")
    for path in ("model", "serial"):
        machine.write(f"devices/pci0000:00/0000:00:04.0/nvme/nvme0/{path}", "nvme_card-pd\n")
    (machine.sys / place / "device").symlink_to("../../nvme0")
    text = "S:disk/by-id/google-x\nE:ID_SERIAL_SHORT=x\nE:ID_SERIAL=nvme_card-pd_nvme_card-pd\n"
    if device_name:
        text = f"{text}E:ID_SERIAL=Google_PersistentDisk_{device_name}\nG:systemd\n"
    file = machine.sys.parent / "run/udev/data/b259:3"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return machine.device("nvme0n2")


def test_googles_disk_on_nvme_has_the_name_that_udev_keeps_for_a_serial_number(machine):
    disk = google_disk(machine, "pgdata")

    assert disk.serial == "pgdata"
    assert sysblock.lasting_identity(disk) == "serial:pgdata"


def test_the_serial_number_that_all_of_googles_nvme_disks_have_is_none(machine):
    unnamed = google_disk(machine)

    assert unnamed.serial == ""
    assert sysblock.lasting_identity(unnamed) == ""  # its wwid is made of its place
    # Udev comes a moment after the kernel: a disk that is named now is no other.
    assert not sysblock.is_swapped(unnamed, unnamed._replace(serial="pgdata"))


@pytest.mark.parametrize("kind", ["fifo", "huge", "long", "none"])
def test_what_is_no_file_of_udevs_names_no_disk_and_is_not_waited_for(machine, kind):
    google_disk(machine, "pgdata")
    file = machine.sys.parent / "run/udev/data/b259:3"
    kept = file.read_bytes()
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "huge":
        file.write_bytes(kept + b"\n" * sysblock.MOST_UDEV_BYTES)
    elif kind == "long":
        file.write_bytes(b"E:ID_SERIAL=Google_PersistentDisk_" + 64 * b"x" + b"\n")

    assert machine.device("nvme0n2").serial == ""


def test_a_partition_knows_its_disk(machine):
    machine.add(f"{SCSI}/block/sda")
    machine.add(f"{SCSI}/block/sda/sda1", partition="1\n", dev="8:1\n")
    part = machine.device("sda1")

    assert part.kind == "partition"
    assert part.partition_of == "sda"
    assert part.device == (8, 1)


def test_a_stack_knows_its_members_and_they_know_it(machine):
    machine.add("devices/virtual/block/dm-0", **{"dm/name": "vg-data\n"})
    machine.add(f"{SCSI}/block/sda")
    (machine.sys / "devices/virtual/block/dm-0/slaves/sda").mkdir(parents=True)
    (machine.sys / SCSI / "block/sda/holders/dm-0").mkdir(parents=True)
    mapper, member = machine.device("dm-0"), machine.device("sda")

    assert (mapper.kind, mapper.mapper_name, mapper.slaves) == ("dm", "vg-data", ("sda",))
    assert member.holders == ("dm-0",)


def test_a_slash_in_a_name_is_an_exclamation_mark_in_sysfs(machine):
    machine.add("devices/pci0/block/cciss!c0d0", diskseq="3\n")
    machine.add("devices/pci0/block/cciss!c0d0/cciss!c0d0p1", partition="1\n")

    assert machine.device("cciss/c0d0").diskseq == 3
    assert machine.device("cciss/c0d0p1").partition_of == "cciss/c0d0"


def test_a_tree_without_the_class_is_read_by_its_disks(tmp_path):
    folder = tmp_path / "sys" / "block" / "sda"
    folder.mkdir(parents=True)
    (folder / "size").write_text("8\n")

    assert sysblock.read(Host(tmp_path), ["sda"]).block == {"sda": {"size": "8"}}


def test_a_device_that_has_gone_costs_only_itself(machine):
    machine.add(f"{SCSI}/block/sda")
    tree = machine.read("sdz", "sda")

    assert list(tree.block) == ["sda"]
    assert list(tree.slaves) == list(tree.holders) == ["sda"]


def test_missing_attributes_are_absent_and_not_empty(machine):
    machine.add(f"{SCSI}/block/sda", **{"device/model": " \n"})

    assert machine.read("sda").block == {
        "sda": {"size": "2048", "dev": "8:0", "link": f"../../{SCSI}/block/sda"}
    }


def test_a_virtio_disk_is_asked_for_its_serial_number_once(machine):
    machine.add("devices/pci0/virtio1/block/vda", diskseq="9\n", serial="first\n")
    first = machine.read("vda").block
    machine.write("devices/pci0/virtio1/block/vda/serial", "asked again\n")

    assert machine.read("vda", last=first).block["vda"]["serial"] == "first"


def test_another_virtio_disk_under_the_name_is_asked_anew(machine):
    machine.add("devices/pci0/virtio1/block/vda", diskseq="9\n", serial="first\n")
    first = machine.read("vda").block
    machine.write("devices/pci0/virtio1/block/vda/serial", "second\n")
    machine.write("devices/pci0/virtio1/block/vda/diskseq", "10\n")

    assert machine.read("vda", last=first).block["vda"]["serial"] == "second"


def test_a_recording_with_the_neighbours_among_the_attributes():
    devices = sysblock.parse(Static(block=RAID0))

    assert devices["md0"].slaves == ("sda", "sdb", "sdc", "sdd")
    assert devices["sda"].holders == ("md0",)
    assert {name: device.kind for name, device in devices.items()} == {
        **dict.fromkeys(("sda", "sdb", "sdc", "sdd", "nvme0n1"), "disk"),
        "md0": "md",
        "loop0": "loop",
    }
    assert (devices["md0"].md_level, devices["md0"].scheduler) == ("raid0", "none")
    assert (devices["sda"].vendor, devices["sda"].nr_requests) == ("LAB", 256)
    assert devices["sda"].diskseq is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("dm-3", "dm"), ("md127", "md"), ("md_home", "md"), ("loop12", "loop")),
        *(("ram0", "ram"), ("zram0", "zram"), ("sr0", "rom"), ("nbd7", "nbd")),
        *(("pmem0", "pmem"), ("pmem0.1", "pmem"), ("pmem1s", "pmem")),
        *(("sda", "disk"), ("nvme0n1", "disk"), ("xvdf", "disk"), ("mmcblk0", "disk")),
    ],
)
def test_the_kind_by_name(name, kind):
    assert known(name, size="8").kind == kind


def test_a_name_that_sysfs_says_nothing_of_is_of_no_known_kind():
    assert known("sda1").kind == ""


def test_a_partition_known_only_as_such_has_its_kind_and_disk():
    device = sysblock.parse(Static(partitions={"sda1": "sda"}))["sda1"]

    assert (device.kind, device.partition_of) == ("partition", "sda")
    assert device.size_bytes is None


def test_an_attribute_that_is_no_number_is_unknown():
    device = known("sda", size="many", dev="8", diskseq="-1", queue__iostats="maybe")

    assert (device.size_bytes, device.device) == (None, None)
    assert (device.diskseq, device.counts_io) == (None, None)


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ("diskseq", 8),
        ("serial", "B"),
        ("wwid", "naa.2"),
        ("scsi_address", (1, 0, 0, 4)),
        ("nvme_namespace", 3),
    ],
)
def test_another_disk_under_the_same_name_has_another_identity(column, other):
    disk = known("sda", diskseq="7", serial="A", wwid="naa.1", nsid="2", size="8")._replace(
        scsi_address=(1, 0, 0, 3),
    )

    assert sysblock.identity(disk._replace(**{column: other})) != sysblock.identity(disk)


def test_a_disk_grown_in_place_keeps_its_identity():
    disk = known("sda", diskseq="7", size="8")

    assert sysblock.identity(disk._replace(size_bytes=8192)) == sysblock.identity(disk)


@pytest.mark.parametrize(
    ("column", "other", "is_another"),
    [("mapper_name", "vg-b", False), ("diskseq", 8, True), ("wwid", "naa.2", True)],
)
def test_a_renamed_disk_is_the_same_one_as_long_as_it_has_its_diskseq(column, other, is_another):
    """A logical unit may be given another volume by its array, which changes the wwid alone."""
    disk = known("sda", diskseq="7", wwid="naa.1", dm__name="vg-a")

    assert sysblock.is_swapped(disk, disk._replace(**{column: other})) == is_another


def test_size_tells_disks_apart_where_nothing_better_is_known():
    assert sysblock.identity(known("sda", size="8")) != sysblock.identity(known("sda", size="9"))


def test_a_disk_nothing_is_known_of_has_no_identity():
    assert sysblock.identity(known("sda")) == ""


ODD = st.sampled_from([None, 7, "", "7", "7:", "1:2:3:4", "[x", ["sda"], [None], {}, "\x00", "٣"])


@given(
    st.dictionaries(
        st.sampled_from(["sda", "md0", "", "nvme0n1p1"]),
        st.dictionaries(
            st.sampled_from([*sysblock.ATTRIBUTES, "device", "slaves"]), ODD, max_size=6
        ),
    )
)
def test_whatever_a_recording_says_of_a_device_it_is_parsed(block):
    devices = sysblock.parse(Static(block=block))

    assert devices.keys() == block.keys()
    assert all(isinstance(sysblock.identity(device), str) for device in devices.values())


@pytest.mark.parametrize(
    ("name", "place", "kind"),
    [
        ("vda", "devices/pci0000:00/0000:00:02.0/virtio1/block/vda", "disk"),
        ("sdb", "devices/platform/host2/session1/target2:0:0/2:0:0:0/block/sdb", "network"),
        ("sdc", "devices/pci0000:00/0000:00:03.0/host3/session9/target3:0:0/block/sdc", "network"),
        ("rbd0", "devices/rbd/0/block/rbd0", "network"),
        ("nvme1n1", "devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1", "network"),
        ("nvme0n1", "devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "disk"),
        ("zd0", "devices/virtual/block/zd0", "virtual"),
        ("drbd1", "devices/virtual/block/drbd1", "virtual"),
        ("whatever0", "devices/virtual/block/whatever0", "virtual"),
        ("loop0", "devices/virtual/block/loop0", "loop"),
        ("dm-0", "devices/virtual/block/dm-0", "dm"),
        ("dasda", "devices/css0/0.0.0190/0.0.0190/block/dasda", "disk"),
    ],
)
def test_the_place_in_sysfs_tells_what_is_a_disk_of_this_machine(machine, name, place, kind):
    machine.add(place)

    assert machine.device(name).kind == kind


@pytest.mark.parametrize(
    ("transport", "kind"),
    [("pcie", "disk"), ("apple-nvme", "disk"), ("tcp", "network"), ("rdma", "network")],
)
def test_the_transport_of_an_nvme_controller_tells_whose_disk_it_is(machine, transport, kind):
    machine.add("devices/pci0000:00/nvme/nvme0/nvme0n1", **{"device/transport": transport + "\n"})

    assert machine.device("nvme0n1").kind == kind


def test_a_hidden_path_says_so(machine):
    machine.add("devices/pci0000:00/nvme/nvme0/nvme0c0n1", hidden="1\n")
    machine.add("devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1", hidden="0\n")

    assert machine.device("nvme0c0n1").hidden
    assert not machine.device("nvme0n1").hidden
