"""The service's unit, as systemd reads it where it does not run; tests/live/test_service.py runs it.

Needs systemd's own programs.
"""

import json
import re
import shutil
import subprocess

import pytest

from built_packages import PROJECT

pytestmark = pytest.mark.live

UNITS = PROJECT / "deploy" / "systemd"
# What `systemd-analyze security` of Debian 12 still counts; docs/operate.md says why each stays open.
OPEN = {
    "PrivateNetwork",
    "RestrictAddressFamilies_AF_INET_INET6",
    "RestrictAddressFamilies_AF_NETLINK",
    "RestrictAddressFamilies_AF_UNIX",
    "IPAddressDeny",
    "ProtectHome",
    "ProcSubset",
    "RootDirectoryOrRootImage",
    "DeviceAllow",
}
# What a drop-in opens beside.
OPENED = {
    "ebs.conf": {
        "AmbientCapabilities",
        "CapabilityBoundingSet_CAP_DAC_FOWNER_IPC_OWNER",
        "CapabilityBoundingSet_CAP_SYS_ADMIN",
        "PrivateDevices",
        "PrivateUsers",
    },
    "processes.conf": {
        "AmbientCapabilities",
        "CapabilityBoundingSet_CAP_DAC_FOWNER_IPC_OWNER",
        "CapabilityBoundingSet_CAP_SYS_PTRACE",
        "PrivateUsers",
        "ProtectProc",
    },
    "tls.conf": {"SupplementaryGroups"},
}


def security(directory, *drop_ins, words=()):
    """What systemd-analyze says of the unit with these drop-ins."""
    there = directory / "ioplateau.service.d"
    there.mkdir()
    unit = shutil.copy(UNITS / "ioplateau.service", directory)
    for name in drop_ins:
        shutil.copy(UNITS / name, there)
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", *words, unit],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def still_open(directory, *drop_ins):
    found = json.loads(security(directory, *drop_ins, words=["--json=short"]))
    return {each["json_field"] for each in found if each["set"] is False}


def test_what_the_sandbox_leaves_open_is_what_is_said_of_it(tmp_path):
    assert still_open(tmp_path) == OPEN


@pytest.mark.parametrize("name", OPENED)
def test_a_drop_in_opens_what_it_is_for_and_nothing_else(tmp_path, name):
    assert still_open(tmp_path, name) == OPEN | OPENED[name]


@pytest.mark.parametrize(("drop_ins", "number"), [((), 0), (("ebs.conf",), 1)])
def test_the_exposure_is_the_one_that_is_told(tmp_path, drop_ins, number):
    told = re.findall(r"from ([\d.]+) to ([\d.]+) with it", (UNITS / "ebs.conf").read_text())[0]

    assert f"exposure level for ioplateau.service: {told[number]} " in security(tmp_path, *drop_ins)
    assert f"`systemd-analyze security ioplateau` says {told[0]} (" in (
        (PROJECT / "docs" / "operate.md").read_text()
    )


def test_switched_on_it_starts_with_the_machine_and_its_socket_too(tmp_path):
    units = tmp_path / "usr/lib/systemd/system"
    units.mkdir(parents=True)
    for name in ("ioplateau.service", "ioplateau.socket"):
        shutil.copy(UNITS / name, units)
    subprocess.run(
        ["systemctl", f"--root={tmp_path}", "enable", "ioplateau.service"],
        capture_output=True,
        check=True,
    )

    wants = tmp_path / "etc/systemd/system"
    assert {str(link.relative_to(wants)) for link in wants.glob("*/*")} == {
        "multi-user.target.wants/ioplateau.service",
        "sockets.target.wants/ioplateau.socket",
    }
