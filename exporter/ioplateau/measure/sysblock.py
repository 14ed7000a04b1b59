"""/sys/block: what a disk is, not what it does. Documentation/ABI/stable/sysfs-block.

https://github.com/torvalds/linux/blob/v6.1/Documentation/ABI/stable/sysfs-block
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ioplateau.measure.parsing import count_of, device_numbers
from ioplateau.measure.snapshot import Static
from ioplateau.regular import read_regular

if TYPE_CHECKING:
    from ioplateau.measure.host import Host

SECTOR_BYTES = 512  # of `size`, whatever the device's block size

ATTRIBUTES = (
    *("size", "dev", "diskseq", "wwid", "nsid", "partition", "hidden"),
    *("queue/nr_requests", "queue/scheduler", "queue/iostats"),
    *("device/model", "device/vendor", "device/serial", "device/wwid"),
    "device/transport",  # of an NVMe controller
    *("md/level", "dm/name", "dm/uuid"),
)
# virtio_blk sends a request to the device for it, and that waits where all others wait.
SERIAL = "serial"
# Unit serial number, as the SCSI disk gave it when it was found; binary.
PAGE_80 = "device/vpd_pg80"
# Device identification, binary. QEMU puts a disk's id ("drive-scsi1") there if it was given no serial
# number, and has no page 80 then.
# https://github.com/qemu/qemu/blob/v8.0.0/hw/scsi/scsi-disk.c
PAGE_83 = "device/vpd_pg83"
# Google's remote disks on NVMe have one serial number, this, all of them, and their names where an admin command
# alone reads them. The udev rules of Google's images do, and udev's database, which everybody may read, keeps it.
# https://github.com/GoogleCloudPlatform/guest-configs/blob/master/src/lib/udev/rules.d/65-gce-disk-naming.rules
GOOGLE_NVME = "nvme_card-pd"
UDEV_NAME = "udev/name"
# Names have 63 characters at most. https://cloud.google.com/compute/docs/naming-resources
_GOOGLE_NAME = re.compile(rb"^E:ID_SERIAL=Google_PersistentDisk_(.{1,63})$", re.MULTILINE)
MOST_UDEV_BYTES = 1 << 16  # of one disk: some dozens of lines
# Each with the entry of the disk's directory that it is, or lies in.
_ENTRY_OF = {path: path.partition("/")[0] for path in ATTRIBUTES}
_ASKED = frozenset({*_ENTRY_OF.values(), SERIAL, "slaves", "holders"})
# Hyper-V names the controller a disk hangs on in an ancestor's `device_id` (vmbus): Azure
# puts data disks on {f8b3781b-...} to {f8b3781d-...}, the others on {f8b3781a-...}.
CONTROLLER = "device_id"
# Where the class's link points: "../../devices/virtual/block/zd0".
LINK = "link"

VIRTUAL, NETWORK, PMEM = "virtual", "network", "pmem"
NVME_NETWORKS = frozenset({"tcp", "rdma", "fc", "loop"})  # nvmf_transport_ops of drivers/nvme/host
# Disks that other machines keep: a SCSI host's iSCSI session (scsi_transport_iscsi.c), Ceph's bus
# (rbd.c), NVMe's controllers over fabrics (fabrics.c).
_NETWORK_PLACES = re.compile(r"/host\d+/session\d+/|/devices/rbd/|/devices/virtual/nvme-fabrics/")
_HEAD_PLACE = "/devices/virtual/nvme-subsystem/"  # of native multipath, over real controllers


class BlockDevice(NamedTuple):
    """One whole disk, partition or stacked device. None or empty: the kernel does not say."""

    name: str
    device: tuple[int, int] | None
    size_bytes: int | None
    # disk, partition, dm, md, loop, ram, zram, rom, nbd, pmem; network: a disk that another machine keeps;
    # virtual: stands on other disks or on memory, whether the kernel says on which or not.
    kind: str
    mapper_name: str  # /dev/mapper/<this>
    md_level: str
    model: str
    vendor: str
    serial: str
    wwid: str
    diskseq: int | None
    scsi_address: tuple[int, int, int, int] | None  # host, channel, target, lun
    nvme_namespace: int | None
    scheduler: str
    nr_requests: int | None
    slaves: tuple[str, ...]
    holders: tuple[str, ...]
    partition_of: str  # whole disk, for partitions
    controller: str = ""  # vmbus device_id, on Hyper-V
    hidden: bool = False  # a path of native multipath
    counts_io: bool | None = None  # queue/iostats
    mapper_uuid: str = ""
    paths: tuple[str, ...] = ()  # of a disk with multipath, where it is told by them (multipath.py)


class BlockTree(NamedTuple):
    """What `read` found, shaped as snapshot.Static keeps it."""

    block: Mapping[str, Mapping[str, str]]
    slaves: Mapping[str, tuple[str, ...]]
    holders: Mapping[str, tuple[str, ...]]
    partitions: Mapping[str, str]


def read(
    host: Host, names: Iterable[str], last: Mapping[str, Mapping[str, str]] | None = None
) -> BlockTree:
    """What sysfs says of each of `names`, as diskstats has them. Raises nothing.

    What cannot be read is absent, and so is a device that has gone. Some 0.2 ms a disk, and
    virtio disks are asked for their serial number: as slow as the disk, so read off the tick.
    `last`, the last answer's `block`, saves that question for disks that are still the same.
    """
    block, slaves, holders, partitions = {}, {}, {}, {}
    for name in names:
        place, link = _place(host, name)
        entries = _entries(host, place)
        attributes = _attributes(host, place, link, entries, (last or {}).get(name, {}))
        if not attributes.keys() & {"size", "dev"}:
            continue
        block[name] = attributes
        slaves[name] = _names(host, place + "/slaves") if "slaves" in entries else ()
        holders[name] = _names(host, place + "/holders") if "holders" in entries else ()
        whole = link.split("/")[-2:-1]
        if "partition" in attributes and whole:
            partitions[name] = whole[0].replace("!", "/")
    return BlockTree(block, slaves, holders, partitions)


def _place(host: Host, name: str) -> tuple[str, str]:
    """Where it is told of, and what the link there says."""
    # Partitions are in the class only. A slash in a name ("cciss/c0d0") is a "!" in sysfs.
    place = "/sys/class/block/" + name.replace("/", "!")
    if link := _link(host, place):
        return place, link
    place = "/sys/block/" + name.replace("/", "!")
    return place, _link(host, place)


def _entries(host: Host, place: str) -> frozenset[str]:
    """What there is of a disk: to open what is not there takes as long as to read what is."""
    try:
        return frozenset(host.list(place))
    except OSError:
        return _ASKED  # it may be there all the same


def _attributes(
    host: Host, place: str, link: str, entries: frozenset[str], last: Mapping[str, str]
) -> dict[str, str]:
    asked = [path for path, entry in _ENTRY_OF.items() if entry in entries]
    found = {path: _text(host, f"{place}/{path}") for path in asked}
    found[LINK] = link
    found[CONTROLLER] = _controller(host, link)
    if "device" in entries:
        found["device"] = _link(host, place + "/device")
        # A page of four bytes of header, then the number in ASCII.
        found[PAGE_80] = _printed(_raw(host, f"{place}/{PAGE_80}")[4:])
        if not found[PAGE_80]:
            found[PAGE_83] = _printed(_vendors_name(_raw(host, f"{place}/{PAGE_83}")))
    if SERIAL in entries:
        diskseq = found.get("diskseq")
        same = diskseq and diskseq == last.get("diskseq")
        found[SERIAL] = last.get(SERIAL, "") if same else _text(host, f"{place}/{SERIAL}")
    if found.get("device/model") == GOOGLE_NVME:
        found[UDEV_NAME] = _udev_name(host, found.get("dev", ""))
    return {path: text for path, text in found.items() if text}


def _text(host: Host, path: str) -> str:
    return _printed(_raw(host, path))


def _raw(host: Host, path: str) -> bytes:
    try:
        return host.read_once(path)
    except OSError:
        return b""


def _udev_name(host: Host, dev: str) -> str:
    """What udev's database calls a disk of Google's; empty: nothing, or it cannot be read."""
    numbers = device_numbers(dev)
    if numbers is None:
        return ""
    try:
        kept = read_regular(host.place("/run/udev/data/b{}:{}".format(*numbers)), MOST_UDEV_BYTES)
    except OSError:
        return ""
    named = _GOOGLE_NAME.search(kept)
    return _printed(named[1]) if named else ""


def _printed(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip("\0 \t\n")


def _vendors_name(page: bytes) -> bytes:
    """The first vendor specific designator in ASCII of page 83; empty: it has none.

    SPC-4, 7.8.6: a header of four bytes, then designation descriptors of four bytes and a name.
    """
    at = 4
    whole = page[: at + int.from_bytes(page[2:4], "big")]
    while at + 4 <= len(whole):
        code_set, association_and_type, length = whole[at], whole[at + 1], whole[at + 3]
        name = whole[at + 4 : at + 4 + length]
        is_ascii = code_set & 0x0F == 2
        # Of the logical unit, not of its port or target; type 0: vendor specific.
        if is_ascii and association_and_type & 0x3F == 0 and len(name) == length:
            return name
        at += 4 + length
    return b""


def _link(host: Host, path: str) -> str:
    try:
        return host.link(path)
    except OSError:
        return ""


def _names(host: Host, path: str) -> tuple[str, ...]:
    try:
        return tuple(name.replace("!", "/") for name in host.list(path))
    except OSError:
        return ()


def _controller(host: Host, target: str) -> str:
    # target: ../../devices/<bus>/<controller>/host0/target0:0:0/0:0:0:3/block/sda
    steps = target.removeprefix("../../").split("/")
    if steps[0] != "devices" or "virtual" in steps:
        return ""
    for count in range(len(steps) - 2, 1, -1):
        text = _text(host, "/sys/" + "/".join(steps[:count]) + "/device_id")
        if text.startswith("{"):
            return text
    return ""


def parse(static: Static) -> Mapping[str, BlockDevice]:
    """Every device that sysfs told of, by name; what it did not tell stays unknown."""
    names = dict.fromkeys((*static.block, *static.partitions))
    return {name: _device(name, static) for name in names}


def _device(name: str, static: Static) -> BlockDevice:
    files = static.block.get(name, {})
    said = {path: text for path, text in files.items() if isinstance(text, str)}
    scheduler = said.get("queue/scheduler", "")
    chosen = re.search(r"\[(.+?)\]", scheduler)
    model, serial = said.get("device/model", ""), said.get("device/serial", "")
    if model == GOOGLE_NVME:
        serial = said.get(UDEV_NAME, "")
    return BlockDevice(
        name=name,
        device=device_numbers(said.get("dev", "")),
        size_bytes=_times(said.get("size"), SECTOR_BYTES),
        kind=_kind(name, said, static),
        mapper_name=said.get("dm/name", ""),
        md_level=said.get("md/level", ""),
        model=model,
        vendor=said.get("device/vendor", ""),
        serial=serial or said.get(SERIAL) or said.get(PAGE_80) or said.get(PAGE_83, ""),
        wwid=said.get("wwid") or said.get("device/wwid", ""),
        diskseq=_times(said.get("diskseq")),
        scsi_address=_scsi_address(said.get("device", "")),
        nvme_namespace=_times(said.get("nsid")),
        scheduler=chosen[1] if chosen else scheduler,
        nr_requests=_times(said.get("queue/nr_requests")),
        slaves=_beside(files, "slaves") or static.slaves.get(name, ()),
        holders=_beside(files, "holders") or static.holders.get(name, ()),
        partition_of=static.partitions.get(name, ""),
        controller=said.get(CONTROLLER, ""),
        hidden=said.get("hidden") == "1",
        counts_io={"0": False, "1": True}.get(said.get("queue/iostats", "")),
        mapper_uuid=said.get("dm/uuid", ""),
    )


def _beside(files: Mapping[str, object], key: str) -> tuple[str, ...]:
    # Recordings of others keep the neighbours among the attributes, as a list.
    neighbours = files.get(key)
    if not isinstance(neighbours, list | tuple):
        return ()
    return tuple(neighbour for neighbour in neighbours if isinstance(neighbour, str))


# Drivers number their devices; of what is not here, and is no partition, the place tells.
KINDS = (
    (re.compile(r"dm-\d+"), "dm"),
    (re.compile(r"md(_.+|\d+)"), "md"),
    (re.compile(r"loop\d+"), "loop"),
    (re.compile(r"ram\d+"), "ram"),
    (re.compile(r"zram\d+"), "zram"),
    (re.compile(r"(sr|scd)\d+"), "rom"),
    (re.compile(r"nbd\d+"), "nbd"),
    # Persistent memory, as nvdimm_namespace_disk_name() has it (drivers/nvdimm/namespace_devs.c).
    (re.compile(r"pmem\d+(\.\d+)?s?"), PMEM),
)


def _kind(name: str, said: Mapping[str, str], static: Static) -> str:
    if name in static.partitions or "partition" in said:
        return "partition"
    for folder in ("dm", "md"):
        if any(path.startswith(folder + "/") for path in said):
            return folder
    named = next((kind for pattern, kind in KINDS if pattern.fullmatch(name)), "")
    if named or not said:
        return named  # a bare name cannot tell nvme0n1p1 or sda1 from a disk
    link = said.get(LINK, "")
    if said.get("device/transport") in NVME_NETWORKS or _NETWORK_PLACES.search(link):
        return NETWORK
    return VIRTUAL if "/devices/virtual/" in link and _HEAD_PLACE not in link else "disk"


def _times(text: str | None, unit: int = 1) -> int | None:
    number = count_of(text or "")
    return None if number is None else number * unit


def _scsi_address(link: str) -> tuple[int, int, int, int] | None:
    # The link `device` of a SCSI disk ends in host:channel:target:lun.
    words = link.rpartition("/")[2].split(":")
    numbers = [_times(word) for word in words]
    host, channel, target, lun = numbers if len(numbers) == 4 else (None,) * 4
    if host is None or channel is None or target is None or lun is None:
        return None
    return host, channel, target, lun


def identity(device: BlockDevice) -> str:
    """Changes when another disk comes under the same name; "" if nothing tells them apart.

    Good within one boot: diskseq (since 5.15) counts the disks the kernel has met. Size
    serves only where nothing better is known, since a disk may be grown in place.
    """
    identifiers = _identifiers(device) or {"size": device.size_bytes}
    return " ".join(f"{name}={value}" for name, value in identifiers.items() if value is not None)


def lasting_identity(device: BlockDevice | None) -> str:
    """What tells a disk from others over a restart of the machine, as "what:value"; "": nothing does. Names,
    numbers and places on a bus are given anew at each boot, and a disk may be grown in place.
    """
    if device is None:
        return ""
    if (
        device.model == GOOGLE_NVME
    ):  # the kernel made its wwid of its place and what all of them have
        return f"serial:{device.serial}" if device.serial else ""
    identifiers = _identifiers(device)
    for what in ("wwid", "serial", "mapper"):
        if what in identifiers:
            return f"{what}:{identifiers[what]}"
    return "" if device.size_bytes is None else f"size:{device.size_bytes}"


def is_swapped(before: BlockDevice, after: BlockDevice) -> bool:
    """Whether two looks at one name saw two disks: of what both times was told, something
    differs. What is told late, or for once not, says nothing.
    """
    was, now = _identifiers(before), _identifiers(after)
    if not was and not now:
        return None not in (before.size_bytes, after.size_bytes) and identity(before) != identity(
            after
        )
    told = was.keys() & now.keys()
    if "diskseq" in told:
        told -= {"mapper"}  # a device made anew has another diskseq, one that is renamed has not
    return any(was[name] != now[name] for name in told)


def _identifiers(device: BlockDevice) -> dict[str, object]:
    lun = ":".join(map(str, device.scsi_address)) if device.scsi_address else ""
    identifiers = {
        "diskseq": device.diskseq,
        "serial": device.serial,
        "wwid": device.wwid,
        "scsi": lun,
        "nsid": device.nvme_namespace,
        "mapper": device.mapper_name,
    }
    return {name: value for name, value in identifiers.items() if value not in (None, "")}
