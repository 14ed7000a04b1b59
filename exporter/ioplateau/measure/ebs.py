"""EC2's NVMe volumes count the time in which they were throttled: log page 0xD0.

Of an EBS volume time over its own limit and time over the instance's are counted apart, in microseconds,
so nothing need be inferred. An instance store volume has a limit of its own alone, and does not count on
every instance. Layout: amazon-ec2-utils, ebsnvme; nvme-cli, plugins/amzn. Needs CAP_SYS_ADMIN.

https://docs.aws.amazon.com/ebs/latest/userguide/nvme-detailed-performance-stats.html
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/nvme-detailed-performance-stats.html
"""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from ioplateau.measure.parsing import FormatError, is_count

PAGE_BYTES = 4096
EBS_MAGIC, STORE_MAGIC = 0x3C23B510, 0xEC2C0D7E
NVME_IOCTL_ADMIN_CMD = 0xC0484E41
GET_LOG_PAGE = 0x02
LOG_PAGE = 0xD0
# The count of double words is 0-based in the specification; Amazon's tool asks for 1,024.
DOUBLE_WORDS = 1024

# struct nvme_passthru_cmd in include/uapi/linux/nvme_ioctl.h
# https://github.com/torvalds/linux/blob/v6.1/include/uapi/linux/nvme_ioctl.h
_COMMAND = struct.Struct("=BBHIIIQQIIIIIIIIII")
# Up to the volume queue length; latency histograms follow.
_COUNTERS = struct.Struct("<I4x11Q")
_OF_THE_INSTANCE = (
    "instance_iops_exceeded_microseconds",
    "instance_throughput_exceeded_microseconds",
)


class EbsCounters(NamedTuple):
    """One volume, cumulative since it was attached. `*_exceeded_microseconds`: time in which
    more was asked for than the limit of the volume, or of the instance for all its EBS volumes, allows;
    None: an instance store volume, which has no part in that.
    """

    read_operations: int
    write_operations: int
    read_bytes: int
    write_bytes: int
    read_microseconds: int
    write_microseconds: int
    volume_iops_exceeded_microseconds: int
    volume_throughput_exceeded_microseconds: int
    instance_iops_exceeded_microseconds: int | None
    instance_throughput_exceeded_microseconds: int | None
    queue_length: int  # gauge

    @property
    def is_instance_store(self) -> bool:
        """Whether it is a disk of the host and no EBS volume."""
        return self.instance_iops_exceeded_microseconds is None


class EbsRates(NamedTuple):
    """One volume over one interval: the share of it spent above each limit, 0 to 1. None: it has none."""

    volume_iops_exceeded_ratio: float
    volume_throughput_exceeded_ratio: float
    instance_iops_exceeded_ratio: float | None
    instance_throughput_exceeded_ratio: float | None


def parse(page: bytes) -> EbsCounters:
    """The counters of a log page. Raises FormatError if it is none of EC2's."""
    if len(page) < _COUNTERS.size:
        raise FormatError(
            f"log page 0xD0: {len(page)} bytes, want {_COUNTERS.size} of {PAGE_BYTES}"
        )
    magic, *counters = _COUNTERS.unpack_from(page)
    if magic not in {EBS_MAGIC, STORE_MAGIC}:
        raise FormatError(
            f"log page 0xD0: magic {magic:#010x}, want {EBS_MAGIC:#010x} (EBS) or {STORE_MAGIC:#010x} (instance store)"
        )
    found = EbsCounters(*counters)
    if magic == EBS_MAGIC:
        return found
    # Its own limit stands where an EBS volume has the instance's.
    return found._replace(
        volume_iops_exceeded_microseconds=counters[8],
        volume_throughput_exceeded_microseconds=counters[9],
        instance_iops_exceeded_microseconds=None,
        instance_throughput_exceeded_microseconds=None,
    )


def rates(before: EbsCounters, after: EbsCounters, elapsed_seconds: float) -> EbsRates | None:
    """Shares between two readings; None if a counter went back: another volume, or no time."""
    if before.is_instance_store is not after.is_instance_store:
        return None
    spent = [(now or 0) - (was or 0) for was, now in zip(before[:-1], after[:-1], strict=True)]
    if elapsed_seconds <= 0 or min(spent) < 0:
        return None
    # The page and our clock are not read at one moment: a little more than all is all.
    of_volume_iops, of_volume_data, *of_instance = (
        min(each / 1e6 / elapsed_seconds, 1.0) for each in spent[6:]
    )
    instance = (None, None) if after.is_instance_store else of_instance
    return EbsRates(of_volume_iops, of_volume_data, *instance)


def to_blob(counters: EbsCounters) -> dict[str, int]:
    """As kept in a recording."""
    return {name: count for name, count in counters._asdict().items() if count is not None}


def from_blob(blob: object) -> EbsCounters:
    """From a recording. Raises FormatError."""
    if not isinstance(blob, Mapping):
        raise FormatError(f"ebs: {blob!r:.60}, want an object")
    is_store = blob.keys().isdisjoint(_OF_THE_INSTANCE)
    names = [name for name in EbsCounters._fields if not (is_store and name in _OF_THE_INSTANCE)]
    wrong = [name for name in names if not is_count(blob.get(name))]
    if wrong:
        raise FormatError(f"ebs: no count of {', '.join(wrong)}")
    return EbsCounters(*(blob.get(name) for name in EbsCounters._fields))  # type: ignore[arg-type]


def controller_path(device: str) -> str:
    """The controller's node, which can be asked without opening the disk; "": it is no NVMe.

    nvme<controller>n<namespace>, or of a path of native multipath
    nvme<subsystem>c<controller>n<namespace> (drivers/nvme/host/core.c nvme_alloc_ns()).

    https://github.com/torvalds/linux/blob/v6.1/drivers/nvme/host/core.c
    """
    found = re.fullmatch(r"nvme(?:\d+c)?(\d+)n\d+", device)
    return f"/dev/nvme{found[1]}" if found else ""


def read(path: str) -> bytes:
    """The log page of the volume behind a controller or disk node. Raises OSError."""
    # Only EBS machines pay for these.
    import array
    import fcntl

    page = array.array("B", bytes(PAGE_BYTES))
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        address, _ = page.buffer_info()
        status = fcntl.ioctl(descriptor, NVME_IOCTL_ADMIN_CMD, command(address), True)
    finally:
        os.close(descriptor)
    # The driver returns the device's own status, where that is no error of the system.
    if status != 0:
        raise OSError(errno.EIO, f"NVMe status {status:#x}")
    return page.tobytes()


def read_all(
    devices: Iterable[str],
    place: Callable[[str], str] = str,
    page_of: Callable[[str], bytes] = read,
    *,
    store: Collection[str] = (),
) -> dict[str, dict[str, int] | str]:
    """Every volume's counters as kept in a recording, or why there are none. Raises nothing. store: those of the
    instance's own volumes that need not count, and are left out if they say that they do not.
    """
    found: dict[str, dict[str, int] | str] = {}
    for device in devices:
        path = controller_path(device)
        try:
            if path:
                found[device] = to_blob(parse(page_of(place(path))))
        except OSError as error:
            # What the device itself refuses it does not have.
            if device not in store or error.errno != errno.EIO:
                found[device] = error.strerror or str(error)
        except FormatError as error:
            if device not in store:
                found[device] = str(error)
    return found


class Volumes(NamedTuple):
    """What `read_all` gave, understood: counters, or why a volume cannot be asked, by device."""

    counters: Mapping[str, EbsCounters]
    refused: Mapping[str, str]
    rejects: tuple[str, ...]


def parse_all(blob: object) -> Volumes:
    """A reading of all volumes, fresh or from a recording."""
    if not isinstance(blob, Mapping):
        return Volumes({}, {}, (f"ebs: {blob!r:.60}, want an object",))
    counters: dict[str, EbsCounters] = {}
    refused: dict[str, str] = {}
    rejects = []
    for device, answer in blob.items():
        if isinstance(answer, str):
            refused[str(device)] = answer
            continue
        try:
            counters[str(device)] = from_blob(answer)
        except FormatError as error:
            rejects.append(f"{device}: {error}")
    return Volumes(counters, refused, tuple(rejects))


def command(address: int) -> bytearray:
    """Get Log Page 0xD0 of namespace 1 into a buffer of 4,096 bytes at `address`."""
    packed = _COMMAND.pack(
        GET_LOG_PAGE,
        0,
        0,
        1,  # namespace
        0,
        0,
        0,
        address,
        0,
        PAGE_BYTES,
        LOG_PAGE | (DOUBLE_WORDS << 16),
        0,
        0,
        0,
        0,
        0,
        0,  # timeout: the driver's own
        0,
    )
    return bytearray(packed)
