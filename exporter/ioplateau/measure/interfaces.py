"""Network interfaces: /proc/net/dev counters, and what psutil knows of links (speed, state).

The only file that imports psutil, and only when asked; so our own cost is asked here too.
Grammar of /proc/net/dev: dev_seq_printf_stats() in net/core/net-procfs.c.

https://github.com/torvalds/linux/blob/v6.1/net/core/net-procfs.c
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ioplateau.measure.mappings import NO_ENTRIES
from ioplateau.measure.parsing import MOST_DIGITS, FormatError, number

if TYPE_CHECKING:
    import psutil

    from ioplateau.measure.host import Host

CLASS = "/sys/class/net"
# getpid() is another number where /proc is the host's and we are in a container.
OWN = "/proc/self"
# Where sysfs does not tell what an interface is made of.
VIRTUAL_NAMES = (
    *("lo", "docker", "veth", "br-", "virbr", "cni", "flannel", "cali", "ifb", "dummy"),
    *("tun", "tap", "wg", "bond", "team", "vxlan", "gre", "sit"),
)
INFINIBAND = "32"  # ARPHRD_INFINIBAND of include/uapi/linux/if_arp.h, as `type` has it
HEADS = (b"Inter-|", b" face |")


class InterfaceCounters(NamedTuple):
    """One interface, cumulative. 64 bits wide."""

    name: str
    receive_bytes: int
    receive_packets: int
    receive_errors: int
    receive_drops: int
    transmit_bytes: int
    transmit_packets: int
    transmit_errors: int
    transmit_drops: int


class InterfaceTable(NamedTuple):
    """Every interface we understood, by name, and a reason for every line we did not."""

    interfaces: Mapping[str, InterfaceCounters] = NO_ENTRIES
    rejects: tuple[str, ...] = ()
    # The parsed lines, so that the next parse can pass over those that did not change.
    lines: Mapping[bytes, InterfaceCounters] = NO_ENTRIES


class InterfaceRates(NamedTuple):
    """One interface over one interval, per second."""

    receive_bytes_per_second: float
    transmit_bytes_per_second: float


class OwnProcess(NamedTuple):
    """What we cost: CPU seconds since `start_time_seconds` (UNIX), memory and descriptors now.

    None: not known.
    """

    cpu_seconds: float | None = None
    resident_bytes: int | None = None
    virtual_bytes: int | None = None
    open_descriptors: int | None = None
    start_time_seconds: float | None = None


def parse(text: bytes, last: InterfaceTable | None = None) -> InterfaceTable:
    """Every interface of the file; lines that stand in `last` are not parsed again."""
    known = last.lines if last is not None else {}
    interfaces: dict[str, InterfaceCounters] = {}
    lines: dict[bytes, InterfaceCounters] = {}
    rejects: list[str] = []
    *whole, cut = text.split(b"\n")
    for line in whole:
        counters = known.get(line)
        if counters is None:
            if not line or line.startswith(HEADS):
                continue
            try:
                counters = _interface(line)
            except FormatError as error:
                rejects.append(f"net/dev: {error}: {line[:120]!r}")
                continue
        lines[line] = counters
        interfaces[counters.name] = counters
    if cut:
        rejects.append(f"net/dev: cut off, want a newline at the end: {cut[:120]!r}")
    return InterfaceTable(interfaces, tuple(rejects), lines)


def _interface(line: bytes) -> InterfaceCounters:
    # Older kernels leave no blank after the colon; a name has no colon of its own but in
    # the aliases of very old ones, hence the last colon.
    name, colon, rest = line.rpartition(b":")
    words = rest.split()
    if not colon or not name.strip() or len(words) < 16:
        raise FormatError(f'{len(words)} words after ":", want a name and 16')
    counts = words[:4] + words[8:12]
    # One look at all words is cheaper than one at each, which is for saying what is wrong.
    if not b"".join(counts).isdigit() or max(map(len, counts)) > MOST_DIGITS:
        for word in counts:
            number(word, "received" if word in words[:4] else "transmitted")
    return InterfaceCounters(name.strip().decode("utf-8", "replace"), *map(int, counts))


def rates(
    before: InterfaceCounters, after: InterfaceCounters, elapsed_seconds: float
) -> InterfaceRates | None:
    """Rates between two readings, or None if a counter fell: the interface is a new one."""
    deltas = (
        after.receive_bytes - before.receive_bytes,
        after.receive_packets - before.receive_packets,
        after.transmit_bytes - before.transmit_bytes,
        after.transmit_packets - before.transmit_packets,
    )
    if elapsed_seconds <= 0 or min(deltas) < 0:
        return None
    received, _, transmitted, _ = deltas
    return InterfaceRates(received / elapsed_seconds, transmitted / elapsed_seconds)


def links() -> dict[str, dict[str, Any]]:
    """Each interface's link as JSON values: {"eth0": {"speed_mbit": 1000, "up": true, "mtu": 1500}}.

    The speed is None where the driver does not tell, as most virtual ones do not.
    Raises OSError.
    """
    library = _library()
    if library is None:
        raise OSError("no psutil for this machine")
    return {
        name: {"speed_mbit": link.speed or None, "up": link.isup, "mtu": link.mtu}
        for name, link in library.net_if_stats().items()
    }


def read_places(host: Host) -> dict[str, str]:
    """Where each interface hangs, what drives it, what it is part of: links of sysfs by path; and its type."""
    found: dict[str, str] = {}
    try:
        names = host.list(CLASS)
    except OSError:
        return found
    for name in names:
        for path in (f"{CLASS}/{name}", f"{CLASS}/{name}/device/driver", f"{CLASS}/{name}/master"):
            try:
                found[path] = host.link(path)
            except OSError:
                continue
        with suppress(OSError):
            kind = host.read_once(f"{CLASS}/{name}/type").decode("utf-8", "replace").strip()
            found[f"{CLASS}/{name}/type"] = kind
    return found


def outward(names: Iterable[str], places: Mapping[str, str]) -> tuple[str, ...]:
    """Interfaces that what leaves this machine passes, each byte once.

    Bridges, bonds and tunnels repeat what a real interface carries, and Azure's synthetic
    interface counts its virtual function's bytes as its own (netvsc_get_stats64). InfiniBand, a
    network of its own, counts where there is no other. Where none is real, as in a container, all
    that are not known by name to repeat others.
    """
    names = tuple(names)
    real = tuple(name for name in names if _is_real(name, places))
    ethernet = tuple(name for name in real if places.get(f"{CLASS}/{name}/type") != INFINIBAND)
    return ethernet or real or tuple(name for name in names if not name.startswith(VIRTUAL_NAMES))


def has_unplaced(names: Iterable[str], places: Mapping[str, str]) -> bool:
    """Whether one that may be real is not among `places`, where there are any."""
    unplaced = any(
        f"{CLASS}/{name}" not in places and not name.startswith(VIRTUAL_NAMES) for name in names
    )
    return unplaced and any(path.startswith(CLASS) for path in places)


def _is_real(name: str, places: Mapping[str, str]) -> bool:
    place = places.get(f"{CLASS}/{name}")
    if place is None or "/virtual/" in place:
        return False
    master = places.get(f"{CLASS}/{name}/master", "").rpartition("/")[2]
    return not master or "/virtual/" in places.get(f"{CLASS}/{master}", "/virtual/")


def driver(name: str, places: Mapping[str, str]) -> str:
    """The kernel driver of an interface, as "ena"; "": not known, or it has none."""
    return places.get(f"{CLASS}/{name}/device/driver", "").rpartition("/")[2]


@cache
def _library() -> Any:
    """psutil; None: the single file has it for some machines only."""
    try:
        import psutil  # 40 ms and 6 MiB, for those who ask
    except ImportError:
        return None
    return psutil


@cache
def _process(link: str) -> psutil.Process:
    found: psutil.Process = _library().Process(int(os.readlink(link)))
    return found


def own_process(link: str = OWN) -> OwnProcess:
    """What this process has cost so far; nothing where /proc is not of processes that we are among,
    or there is no psutil for this machine.

    link: to the number that this process has in /proc.
    """
    library = _library()
    if library is None:
        return OwnProcess()
    try:
        process = _process(link)
        with process.oneshot():
            times, memory = process.cpu_times(), process.memory_info()
            return OwnProcess(
                times.user + times.system,
                memory.rss,
                memory.vms,
                process.num_fds(),
                process.create_time(),
            )
    except (OSError, library.Error):
        return OwnProcess()
