"""The Ansible role, run by ansible-playbook against a guest: dry, twice, and then told to do otherwise.

Needs what guests/guest.py names, uv (ansible-core comes from PyPI), and an apt that can download
python3-apt, which Ansible wants on a Debian and the guest's minimal one lacks.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from built_packages import PROJECT, one
from guests.guest import Guest, booted, image

pytestmark = [pytest.mark.live, pytest.mark.guest, pytest.mark.timeout(1500)]

ANSIBLE = "ansible-core==2.18.19"
LIMIT = '[[limit]]\ndisk = "nvme0n1"\niops = 4321\n'
SLOWER = LIMIT + "[sampling]\ninterval_seconds = 3\n"
BROKEN = 'nonsense = 1\n[web]\nlisten_addresses = ["127.0.0.1:9999"]\n'
LIMIT_LINE = "^ioplateau_budget_limit_operations_per_second{.*} 4321"


@dataclass(slots=True)
class Fleet:
    """Ansible's sums (ok, changed, failed, ...) of each run, and what the guest was like then."""

    sums: dict[str, dict[str, int]] = field(default_factory=dict)
    output: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    place = tmp_path_factory.mktemp("ansible")
    subprocess.run(
        ["apt-get", "download", "-q", "python3-apt", "python-apt-common", "distro-info-data"],
        cwd=place,
        check=True,
        capture_output=True,
    )
    package = one("*_amd64.deb")
    guest, found = Guest("managed", cpus=2), Fleet()
    with booted(guest):
        for deb in place.glob("*.deb"):
            guest.put(deb, f"/root/{deb.name}")
        guest.run("dpkg -i /root/*.deb && userdel ioplateau")
        wanted = {
            "ioplateau_package": str(package),
            "ioplateau_configuration": LIMIT,
            "ioplateau_listen": ["127.0.0.1:10050"],
            "ioplateau_flags": "--log.level=debug",
        }
        _play(guest, place, found, "dry", wanted, "--check")
        found.said["dry"] = guest.run(
            "ls -d /usr/lib/ioplateau /etc/ioplateau 2>/dev/null", check=False
        )
        for run in ("first", "second"):
            _play(guest, place, found, run, wanted)
            found.said[run] = guest.run(
                "systemctl is-active ioplateau; systemctl is-enabled ioplateau;"
                f" for _ in $(seq 60); do curl -s localhost:10050/metrics | grep -o '{LIMIT_LINE}'"
                "  && break; sleep 1; done;"
                " systemctl show -P ActiveEnterTimestampMonotonic ioplateau"
            )
        _play(guest, place, found, "slower", {**wanted, "ioplateau_configuration": SLOWER})
        found.said["slower"] = guest.run(
            "for _ in $(seq 60); do curl -s localhost:10050/metrics"
            " | grep '^ioplateau_sampling_interval_seconds' && break; sleep 1; done"
        )
        _play(guest, place, found, "broken", {**wanted, "ioplateau_configuration": BROKEN})
        found.said["broken"] = guest.run("cat /etc/ioplateau/ioplateau.toml")
    return found


def _play(
    guest: Guest, place: Path, found: Fleet, run: str, wanted: dict[str, object], *flags: str
) -> None:
    variables = place / f"{run}.json"
    variables.write_text(json.dumps(wanted))
    key = image() / "ssh_key"
    inventory = place / "inventory.ini"
    inventory.write_text(
        f"managed ansible_host=127.0.0.1 ansible_port={guest.port(22)} ansible_user=root"
        f" ansible_ssh_private_key_file={key} ansible_python_interpreter=/usr/bin/python3\n"
    )
    done = subprocess.run(
        ["uvx", "--quiet", "--from", ANSIBLE, "ansible-playbook", *flags, "-i", inventory,
         "-e", f"@{variables}", PROJECT / "deploy/ansible/playbook.yml"],
        env={
            **os.environ,
            "ANSIBLE_HOST_KEY_CHECKING": "False",
            "ANSIBLE_PIPELINING": "True",
            "ANSIBLE_HOME": str(place),
            "ANSIBLE_TIMEOUT": "60",
            "ANSIBLE_SSH_ARGS": "-F /dev/null -o ControlMaster=auto -o ControlPersist=300"
            " -o UserKnownHostsFile=/dev/null",
        },
        capture_output=True,
        text=True,
    )  # fmt: skip
    found.output[run] = done.stdout + done.stderr
    recap = re.search(r"^managed +: (.*)", done.stdout, re.MULTILINE)
    if not recap:
        raise RuntimeError(found.output[run])
    words = (word.split("=") for word in recap[1].split())
    found.sums[run] = {name: int(count) for name, count in words}


def test_a_dry_run_comes_to_its_end_and_changes_nothing(fleet: Fleet):
    assert fleet.sums["dry"]["failed"] == 0, fleet.output["dry"]
    assert fleet.sums["dry"]["changed"] > 0
    assert fleet.said["dry"] == ""


def test_the_first_run_installs_configures_and_starts(fleet: Fleet):
    assert fleet.sums["first"]["failed"] == 0, fleet.output["first"]
    assert fleet.sums["first"]["changed"] > 0
    assert fleet.said["first"].splitlines()[:2] == ["active", "enabled"]
    assert 'name="nvme0n1"' in fleet.said["first"].splitlines()[2]


def test_the_second_run_changes_nothing(fleet: Fleet):
    assert fleet.sums["second"]["failed"] == 0, fleet.output["second"]
    assert fleet.sums["second"]["changed"] == 0, fleet.output["second"]
    assert fleet.said["second"] == fleet.said["first"]  # not even restarted


def test_what_changes_with_a_restart_only_is_in_force_after_a_run(fleet: Fleet):
    assert fleet.sums["slower"]["failed"] == 0, fleet.output["slower"]
    assert fleet.said["slower"].split() == ["ioplateau_sampling_interval_seconds", "3.0"]


def test_a_broken_configuration_does_not_reach_the_machine(fleet: Fleet):
    assert fleet.sums["broken"]["failed"] == 1
    assert "nonsense" in fleet.output["broken"]
    assert "systemd opens the sockets" in fleet.output["broken"]
    assert fleet.said["broken"] == SLOWER
