"""psutil reads the same machine by code of its own: its counters must enclose ours."""

import psutil
import pytest

from ioplateau.measure import diskstats, interfaces, procstat, snapshot
from ioplateau.measure.host import Host

pytestmark = pytest.mark.live

DISK = {
    "read_count": lambda disk: disk.reads,
    "write_count": lambda disk: disk.writes,
    "read_bytes": lambda disk: disk.read_sectors * diskstats.SECTOR_BYTES,
    "write_bytes": lambda disk: disk.write_sectors * diskstats.SECTOR_BYTES,
    "read_merged_count": lambda disk: disk.read_merges,
    "write_merged_count": lambda disk: disk.write_merges,
    "read_time": lambda disk: disk.read_milliseconds,
    "write_time": lambda disk: disk.write_milliseconds,
    "busy_time": lambda disk: disk.busy_milliseconds,
}
INTERFACE = {
    "bytes_recv": lambda interface: interface.receive_bytes,
    "packets_recv": lambda interface: interface.receive_packets,
    "errin": lambda interface: interface.receive_errors,
    "dropin": lambda interface: interface.receive_drops,
    "bytes_sent": lambda interface: interface.transmit_bytes,
    "packets_sent": lambda interface: interface.transmit_packets,
    "errout": lambda interface: interface.transmit_errors,
    "dropout": lambda interface: interface.transmit_drops,
}


def enclosed(ask, path, counters, table):
    """What of ours lies outside psutil's readings before and after it, and how much was compared."""
    host = Host()
    earlier = ask()
    ours = counters(host.read(path))
    later = ask()
    host.close()
    names = earlier.keys() & ours.keys() & later.keys()
    outside = [
        (name, field)
        for name in sorted(names)
        for field, value in table.items()
        if not getattr(earlier[name], field) <= value(ours[name]) <= getattr(later[name], field)
    ]
    return outside, names


def test_disk_counters_agree_with_psutil():
    outside, names = enclosed(
        lambda: psutil.disk_io_counters(perdisk=True, nowrap=False),
        snapshot.DISKSTATS,
        lambda text: diskstats.parse(text).disks,
        DISK,
    )

    assert outside == []
    assert names


def test_interface_counters_agree_with_psutil():
    outside, names = enclosed(
        lambda: psutil.net_io_counters(pernic=True, nowrap=False),
        snapshot.NETDEV,
        lambda text: interfaces.parse(text).interfaces,
        INTERFACE,
    )

    assert outside == []
    assert "lo" in names


def test_steal_agrees_with_psutil():
    earlier = psutil.cpu_times()
    ours = procstat.parse(Host().read_once(snapshot.STAT))
    later = psutil.cpu_times()

    assert earlier.steal <= ours.steal / 100 <= later.steal


def test_every_source_of_this_machine_is_understood_without_rejects():
    host = Host()
    disks = diskstats.parse(host.read_once(snapshot.DISKSTATS))
    table = interfaces.parse(host.read_once(snapshot.NETDEV))

    assert disks.rejects == table.rejects == ()
    assert disks.disks
    assert table.interfaces
