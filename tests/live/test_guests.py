"""The guests themselves: that their limits are real.

Needs what guests/guest.py names.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import throttled_disk
from guests.disks import Disk, Throttle
from guests.guest import Guest, booted

pytestmark = [pytest.mark.live, pytest.mark.guest, pytest.mark.timeout(600)]

VM_BYTES_PER_SECOND = 2_000_000


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    disks = [Disk(Throttle(iops=200)), Disk(in_vm_group=True), Disk(in_vm_group=True)]
    machine = Guest("disks", disks=disks, vm_throttle=Throttle(bps=VM_BYTES_PER_SECOND))
    with booted(machine):
        yield machine


def read(guest: Guest, *devices: str, bs: str = "4k") -> dict[str, float]:
    """What fio reads of all devices at once, in 4 s."""
    jobs = " ".join(f"--name={device} --filename=/dev/{device}" for device in devices)
    output = guest.run(
        f"fio --direct=1 --ioengine=libaio --iodepth=8 --rw=randread --bs={bs} --size=1G"
        f" --time_based --runtime=4 --output-format=json --group_reporting {jobs}"
    )
    found: dict[str, float] = json.loads(output[output.index("{") :])["jobs"][0]["read"]
    return found


def lun(guest: Guest, number: int) -> str:
    """The kernel's name of a disk; LUNs are probed side by side, so sda may be any of them."""
    return guest.run(f"ls /sys/bus/scsi/devices/*:0:{number}/block").strip()


def test_a_disk_is_held_to_its_limit_until_the_limit_is_changed(guest: Guest):
    held = read(guest, lun(guest, 0))
    guest.set_throttle(0, Throttle(iops=400))
    raised = read(guest, lun(guest, 0))
    guest.set_throttle(0, Throttle(iops=200))

    assert held["iops"] == pytest.approx(200, rel=0.1)
    assert raised["iops"] == pytest.approx(400, rel=0.1)


def test_two_disks_share_the_vms_limit(guest: Guest):
    together = read(guest, lun(guest, 1), lun(guest, 2), bs="64k")

    assert together["bw_bytes"] == pytest.approx(VM_BYTES_PER_SECOND, rel=0.15)


def test_a_loop_device_is_throttled_by_cgroup_v2_too(guest: Guest):
    guest.put(Path(throttled_disk.__file__), "/root/throttled_disk.py")
    guest.put(Path(__file__).parents[1] / "guests" / "in_cgroup_v2.py", "/root/in_cgroup_v2.py")
    found = json.loads(guest.run("cd /root && python3 in_cgroup_v2.py"))

    assert found["hierarchy"] == "cgroup2"
    assert found["iops"] == pytest.approx(100, rel=0.1)
    assert found["in_flight"] == pytest.approx(8, abs=1)
    assert found["left"] == []
