"""Which Python each distribution brings in for the package, decided by apt and rpm themselves.

Debian 12 is a clean root of debootstrap. The others are made up of stand-ins with the names, versions
and files that they have: what is proved is that the package's wish is met there, not their archives.
Needs root, uv, debootstrap and the Debian package rpm (rpmbuild).
"""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from built_packages import one

pytestmark = [pytest.mark.live, pytest.mark.timeout(1200)]

SPEC = """
Name: {name}
Version: {version}
Release: 1
Summary: stand-in
License: none
BuildArch: noarch
AutoReqProv: no
{provides}
%description
A stand-in.
%install
for file in {files}; do mkdir -p "%{{buildroot}}$(dirname $file)"; touch "%{{buildroot}}$file"; done
%files
{files}
"""
SYSTEM = ("system", "1", "/bin/sh", "Provides: systemd")


def run(*command) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def stand_in(place: Path, name: str, version: str, file: str, provides: str = "") -> Path:
    """An rpm with one empty file."""
    spec = place / f"{name}.spec"
    spec.write_text(SPEC.format(name=name, version=version, files=file, provides=provides))
    done = run("rpmbuild", "-bb", "--define", f"_topdir {place}/top", spec)
    assert done.returncode == 0, done.stderr
    (made,) = (place / "top/RPMS/noarch").glob(f"{name}-{version}-*.rpm")
    return made


def installed_beside(place: Path, *stand_ins: Path) -> subprocess.CompletedProcess[str]:
    """rpm's decision on the package in an empty system that has these."""
    root = place / "root"
    root.mkdir()
    run("rpm", "--root", root, "--initdb")
    return run("rpm", "--root", root, "--install", "--test", *stand_ins, one("*.x86_64.rpm"))


@pytest.mark.parametrize(
    "python",
    [
        ("python3.11", "3.11.9", "/usr/bin/python3.11"),  # RHEL 9, Rocky 9, Amazon Linux 2023
        ("python311", "3.11.9", "/usr/bin/python3.11"),  # SLES 15
        ("python3", "3.13.1", "/usr/bin/python3.13"),  # Fedora
    ],
    ids=["RHEL and Amazon Linux", "SLES", "Fedora"],
)
def test_rpm_is_content_with_the_python_of(python, tmp_path):
    done = installed_beside(tmp_path, stand_in(tmp_path, *SYSTEM), stand_in(tmp_path, *python))

    assert done.returncode == 0, done.stderr


def test_rpm_wants_more_than_the_python_that_el9_has_by_default(tmp_path):
    old = stand_in(tmp_path, "python3", "3.9.18", "/usr/bin/python3.9")
    done = installed_beside(tmp_path, stand_in(tmp_path, *SYSTEM), old)

    assert done.returncode != 0
    assert "/usr/bin/python3.11" in done.stderr
    assert "systemd" not in done.stderr


class Apt:
    """apt on a made-up system: what is installed, what its archive offers."""

    def __init__(self, place: Path, installed: dict[str, str], offered: dict[str, str]) -> None:
        for part in ("archive", "lists/partial", "cache/archives/partial", "etc"):
            (place / part).mkdir(parents=True)
        (place / "status").write_text("".join(_stanza(*each) for each in installed.items()))
        (place / "archive/Packages").write_text(
            "".join(_stanza(*each, is_installed=False) for each in offered.items())
        )
        (place / "etc/sources.list").write_text(f"deb [trusted=yes] file:{place}/archive ./\n")
        options = {
            "Dir::State": place,
            "Dir::State::status": place / "status",
            "Dir::State::lists": place / "lists",
            "Dir::Cache": place / "cache",
            "Dir::Etc": place / "etc",
            "APT::Architecture": "amd64",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",
        }
        self._options = [
            word for name, value in options.items() for word in ("-o", f"{name}={value}")
        ]
        assert run("apt-get", *self._options, "update").returncode == 0

    def install(self, package: Path) -> tuple[int, set[str]]:
        """Its exit code, and what it would install."""
        done = run("apt-get", *self._options, "--simulate", "install", package)
        lines = (line.split() for line in done.stdout.splitlines() if line.startswith("Inst "))
        return done.returncode, {words[1] for words in lines}


def _stanza(name: str, version: str, *, is_installed: bool = True) -> str:
    about = (
        "Status: install ok installed\n"
        if is_installed
        else f"Filename: ./{name}.deb\nSize: 1\nSHA256: {'0' * 64}\n"
    )
    return (
        f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: nobody\n"
        f"Description: stand-in\n{about}\n"
    )


JAMMY = {"libc6": "2.35-0ubuntu3", "init-system-helpers": "1.62", "python3": "3.10.6-1~22.04"}
NOBLE = {"libc6": "2.39-0ubuntu8", "init-system-helpers": "1.66", "python3": "3.12.3-0ubuntu2"}
UNIVERSE = {"python3.11": "3.11.0~rc1-1~22.04"}


def test_on_ubuntu_22_04_apt_brings_python_3_11_beside_the_systems(tmp_path):
    code, brought = Apt(tmp_path, JAMMY, UNIVERSE).install(one("*_amd64.deb"))

    assert code == 0
    assert brought == {"ioplateau", "python3.11"}


def test_on_ubuntu_22_04_without_universe_apt_refuses(tmp_path):
    code, brought = Apt(tmp_path, JAMMY, {}).install(one("*_amd64.deb"))

    assert code != 0
    assert brought == set()


def test_on_ubuntu_24_04_apt_brings_nothing_more(tmp_path):
    code, brought = Apt(tmp_path, NOBLE, UNIVERSE).install(one("*_amd64.deb"))

    assert code == 0
    assert brought == {"ioplateau"}


def test_a_clean_debian_12_without_python_is_brought_one(tmp_path):
    root = tmp_path / "root"
    # Nothing of ours may be in it: not even the libraries that a guest has.
    made = run("debootstrap", "--variant=minbase", "bookworm", root)
    assert made.returncode == 0, made.stdout[-2000:]
    (root / "ioplateau.deb").write_bytes(one("*_amd64.deb").read_bytes())
    with ExitStack() as mounts:
        for kind in ("proc", "sysfs"):
            at = root / kind.removesuffix("fs")
            subprocess.run(["mount", "-t", kind, kind, at], check=True)
            mounts.callback(subprocess.run, ["umount", at], check=True)
        before = (root / "usr/bin/python3").exists()
        installed = run(
            *("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive"),
            *("apt-get", "install", "-y", "--no-install-recommends", "/ioplateau.deb"),
        )
        version = run("chroot", root, "ioplateau", "--version")
        doctor = run("chroot", root, "ioplateau", "doctor", "--no-cloud")
        purged = run("chroot", root, "dpkg", "--purge", "ioplateau")

    assert not before
    assert installed.returncode == 0, installed.stderr
    assert "(Python 3.11." in version.stdout
    assert "/proc/diskstats" in doctor.stdout
    assert purged.returncode == 0
    assert not (root / "usr/lib/ioplateau").exists()
    assert not (root / "etc/ioplateau").exists()
