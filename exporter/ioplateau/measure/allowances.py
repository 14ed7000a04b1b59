"""ENA interfaces count the packets that went over an allowance of the instance: ethtool -S.

Counters: monitoring-network-performance-ena.md of amazon-ec2-user-guide. Requests:
include/uapi/linux/ethtool.h. Needs no capability.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-network-performance-ena.html
https://github.com/torvalds/linux/blob/v6.1/include/uapi/linux/ethtool.h
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from ioplateau.measure.parsing import is_count

DRIVER = "ena"
COUNTERS = (
    "bw_in_allowance_exceeded",
    "bw_out_allowance_exceeded",
    "pps_allowance_exceeded",
    "conntrack_allowance_exceeded",
    "linklocal_allowance_exceeded",
)

SIOCETHTOOL = 0x8946
GET_STRINGS, GET_STATISTICS, GET_SET_SIZES = 0x1B, 0x1D, 0x37
STATISTICS_SET = 1
NAME_BYTES = 32

# struct ifreq: the interface's name, a pointer to the request, and what fills the union.
_INTERFACE = struct.Struct("16sP16x")
_SET_SIZES = struct.Struct("=IIQI")  # ethtool_sset_info of one set
_HEAD = struct.Struct("=III")  # ethtool_gstrings: command, set, length
_STATISTICS = struct.Struct("=II")  # ethtool_stats: command, count; u64 each follow

Reading = Mapping[str, Mapping[str, int]]


class Allowances:
    """Reads counters of interfaces, which of their names stand where being asked once."""

    def __init__(self, counters: Iterable[str] = COUNTERS) -> None:
        self._counters = frozenset(counters)
        self._names: dict[str, tuple[str, ...]] = {}

    def read(self, interfaces: Iterable[str]) -> dict[str, dict[str, int]]:
        """Each interface's counters, packets, by the driver's names for them; of one that is gone there
        are none. Raises OSError where no interface tells any.
        """
        import socket

        found: dict[str, dict[str, int]] = {}
        failure: OSError | None = None
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            for name in interfaces:
                try:
                    found[name] = self._of(sock.fileno(), name)
                except OSError as error:
                    failure = error
        if failure is not None and not found:
            raise failure
        return found

    def _of(self, sock: int, interface: str) -> dict[str, int]:
        names = self._names.get(interface)
        values = None if names is None else _values(sock, interface, len(names))
        if names is None or values is None:  # the driver was loaded anew, with other counters
            names = self._names[interface] = _strings(sock, interface)
            values = _values(sock, interface, len(names)) or ()
        pairs = zip(names, values, strict=False)
        return {name: value for name, value in pairs if name in self._counters}


def parse(blob: object) -> tuple[Reading, tuple[str, ...]]:
    """From a recording or a reading: the counters of each interface, and why one is left out."""
    if not isinstance(blob, Mapping):
        return {}, (f"allowances: {blob!r:.60}, want an object",)
    found: dict[str, dict[str, int]] = {}
    rejects = []
    for interface, counters in blob.items():
        if isinstance(counters, Mapping) and all(map(is_count, counters.values())):
            found[str(interface)] = {str(name): count for name, count in counters.items()}
        else:
            rejects.append(f"allowances: {interface}: {counters!r:.60}, want counts by name")
    return found, tuple(rejects)


def _strings(sock: int, interface: str) -> tuple[str, ...]:
    sizes = _request(sock, interface, _SET_SIZES.pack(GET_SET_SIZES, 0, 1 << STATISTICS_SET, 0))
    _, _, found, count = _SET_SIZES.unpack_from(sizes)
    if not found:
        return ()
    asked = _HEAD.pack(GET_STRINGS, STATISTICS_SET, count) + bytes(count * NAME_BYTES)
    text = _request(sock, interface, asked)[_HEAD.size :]
    names = (text[at : at + NAME_BYTES] for at in range(0, len(text), NAME_BYTES))
    return tuple(name.partition(b"\0")[0].decode("ascii", "replace") for name in names)


def _values(sock: int, interface: str, count: int) -> tuple[int, ...] | None:
    """The statistics, or None if there are no longer so many."""
    if not count:
        return ()
    # Room for more than we expect: the kernel writes as many as there are.
    room = bytes(8 * (count + 256))
    answer = _request(sock, interface, _STATISTICS.pack(GET_STATISTICS, count) + room)
    if _STATISTICS.unpack_from(answer)[1] != count:
        return None
    return struct.unpack_from(f"={count}Q", answer, _STATISTICS.size)


def _request(sock: int, interface: str, asked: bytes) -> bytes:
    # Only machines with such interfaces pay for these.
    import array
    import fcntl

    buffer = array.array("B", asked)
    address, _ = buffer.buffer_info()
    fcntl.ioctl(sock, SIOCETHTOOL, _INTERFACE.pack(interface.encode()[:15], address))
    return buffer.tobytes()
