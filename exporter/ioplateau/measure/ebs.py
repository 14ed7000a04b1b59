"""EBS volumes on Nitro count the time in which they were throttled: NVMe log page 0xD0.

Layout: amazon-ec2-utils, ebsnvme. Time over the volume's limit and time over the instance's
are counted apart, in microseconds, so nothing need be inferred. Needs CAP_SYS_ADMIN.
"""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ioplateau.measure.parsing import FormatError, is_count

PAGE_BYTES = 4096
MAGIC = 0x3C23B510
NVME_IOCTL_ADMIN_CMD = 0xC0484E41
GET_LOG_PAGE = 0x02
LOG_PAGE = 0xD0
# The count of double words is 0-based in the specification; Amazon's tool asks for 1,024.
DOUBLE_WORDS = 1024

# struct nvme_passthru_cmd in include/uapi/linux/nvme_ioctl.h
# https://github.com/torvalds/linux/blob/v6.1/include/uapi/linux/nvme_ioctl.h
_COMMAND = struct.Struct("=BBHIIIQQIIIIIIIIII")
# Up to the volume queue length; two latency histograms follow.
_COUNTERS = struct.Struct("<I4x11Q")


class EbsCounters(NamedTuple):
    """One volume, cumulative since it was attached. `*_exceeded_microseconds`: time in which
    more was asked for than the limit of the volume, or of the instance, allows.
    """

    read_operations: int
    write_operations: int
    read_bytes: int
    write_bytes: int
    read_microseconds: int
    write_microseconds: int
    volume_iops_exceeded_microseconds: int
    volume_throughput_exceeded_microseconds: int
    instance_iops_exceeded_microseconds: int
    instance_throughput_exceeded_microseconds: int
    queue_length: int  # gauge


class EbsRates(NamedTuple):
    """One volume over one interval: the share of it spent above each limit, 0 to 1."""

    volume_iops_exceeded_ratio: float
    volume_throughput_exceeded_ratio: float
    instance_iops_exceeded_ratio: float
    instance_throughput_exceeded_ratio: float


def parse(page: bytes) -> EbsCounters:
    """The counters of a log page. Raises FormatError if it is not that of an EBS volume."""
    if len(page) < _COUNTERS.size:
        raise FormatError(
            f"log page 0xD0: {len(page)} bytes, want {_COUNTERS.size} of {PAGE_BYTES}"
        )
    magic, *counters = _COUNTERS.unpack_from(page)
    if magic != MAGIC:
        raise FormatError(f"log page 0xD0: magic {magic:#010x}, want {MAGIC:#010x}: not EBS")
    return EbsCounters(*counters)


def rates(before: EbsCounters, after: EbsCounters, elapsed_seconds: float) -> EbsRates | None:
    """Shares between two readings; None if a counter went back: another volume, or no time."""
    spent = [getattr(after, name) - getattr(before, name) for name in _CUMULATIVE]
    if elapsed_seconds <= 0 or min(spent) < 0:
        return None
    # The page and our clock are not read at one moment: a little more than all is all.
    return EbsRates(*(min(each / 1e6 / elapsed_seconds, 1.0) for each in spent[6:]))


def to_blob(counters: EbsCounters) -> dict[str, int]:
    """As kept in a recording."""
    return counters._asdict()


def from_blob(blob: object) -> EbsCounters:
    """From a recording. Raises FormatError."""
    names = EbsCounters._fields
    if not isinstance(blob, Mapping):
        raise FormatError(f"ebs: {blob!r:.60}, want an object")
    wrong = [name for name in names if not is_count(blob.get(name))]
    if wrong:
        raise FormatError(f"ebs: no count of {', '.join(wrong)}")
    return EbsCounters(*(blob[name] for name in names))


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
) -> dict[str, dict[str, int] | str]:
    """Every volume's counters as kept in a recording, or why there are none. Raises nothing."""
    found: dict[str, dict[str, int] | str] = {}
    for device in devices:
        path = controller_path(device)
        try:
            if path:
                found[device] = to_blob(parse(page_of(place(path))))
        except OSError as error:
            found[device] = error.strerror or str(error)
        except FormatError as error:
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


_CUMULATIVE = tuple(name for name in EbsCounters._fields if name != "queue_length")
