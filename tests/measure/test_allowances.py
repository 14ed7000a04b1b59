"""Allowance counters: readings as recordings keep them, and the ioctl on the real kernel."""

import json
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from ioplateau.measure.allowances import COUNTERS, Allowances, parse


def test_a_reading_survives_a_recording():
    told = {"eth0": dict.fromkeys(COUNTERS, 2**63)}

    assert parse(json.loads(json.dumps(told))) == (told, ())


@pytest.mark.parametrize(
    "counters", [None, [1], {"pps": -1}, {"pps": "5"}, {"pps": True}, {"pps": 10**400}]
)
def test_an_interface_without_sound_counts_costs_only_itself(counters):
    found, rejects = parse({"eth0": counters, "eth1": {"pps_allowance_exceeded": 3}})

    assert found == {"eth1": {"pps_allowance_exceeded": 3}}
    assert len(rejects) == 1


def test_no_object_is_no_reading():
    assert parse([1])[0] == {}


def ip_link(words):
    subprocess.run(["ip", "link", *words.split()], check=True)


@pytest.mark.live
def test_the_kernel_tells_counters_by_their_names():
    with ExitStack() as stack:
        ip_link("add iop-a type veth peer name iop-b")
        stack.callback(ip_link, "del iop-a")
        reader = Allowances(["peer_ifindex"])
        first, again = reader.read(["iop-a", "lo"]), reader.read(["iop-a", "lo"])
        peer = int(Path("/sys/class/net/iop-b/ifindex").read_text())

    assert first == {"iop-a": {"peer_ifindex": peer}, "lo": {}}
    assert again == first


@pytest.mark.live
def test_a_driver_that_was_loaded_anew_is_read_by_its_new_names():
    """What veth counts depends on how many queues it has."""
    found, reader = [], Allowances(["rx_queue_1_xdp_packets"])
    for queues in (1, 2):
        ip_link(f"add iop-a numrxqueues {queues} type veth peer name iop-b")
        try:
            found.append(reader.read(["iop-a"]))
        finally:
            ip_link("del iop-a")

    assert found == [{"iop-a": {}}, {"iop-a": {"rx_queue_1_xdp_packets": 0}}]


@pytest.mark.live
def test_an_interface_that_is_gone_takes_nothing_from_the_others():
    assert Allowances().read(["iop-none", "lo"]) == {"lo": {}}


@pytest.mark.live
def test_an_interface_that_is_gone_is_an_os_error():
    assert "iop-none" not in [name for _, name in socket.if_nameindex()]
    with pytest.raises(OSError, match="No such device"):
        Allowances().read(["iop-none"])
