"""What the packages' scripts do, in a tree of their own; tests/live/test_service.py installs them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from built_packages import PROJECT

PACKAGES = PROJECT / "deploy" / "packages"
UNITS = ("ioplateau.socket", "ioplateau.service")
ASKED = ("systemctl", "deb-systemd-helper", "deb-systemd-invoke")


@pytest.fixture
def tree(tmp_path) -> Path:
    """A machine with the package's files, on which systemd runs and what it is asked is noted."""
    library = tmp_path / "usr/lib/ioplateau"
    (library / "ioplateau").mkdir(parents=True)
    (library / "ioplateau/__init__.py").write_text("")
    shutil.copy(PACKAGES / "python.sh", library / "python")
    (library / "python").chmod(0o755)  # as build.sh lays it out
    for place in ("run/systemd/system", "usr/bin", "etc/ioplateau", "var/lib/private/ioplateau"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "var/lib/ioplateau").symlink_to("private/ioplateau")
    for name in ASKED:
        tool = tmp_path / "usr/bin" / name
        tool.write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/asked\n')
        tool.chmod(0o755)
    return tmp_path


def run(tree, name, *words):
    """What systemd's tools were asked by this script, a line each."""
    text = (PACKAGES / "scripts" / name).read_text()
    # Every place of the machine's, however it is written: some of them are removed.
    text = re.sub(r"/(?=(usr/lib|usr/bin|run|var|etc)/)", f"{tree}/", text)
    (tree / "asked").write_text("")
    path = f"{tree}/usr/bin:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", text, name, *words], env={**os.environ, "PATH": path}, check=True)
    return (tree / "asked").read_text().splitlines()


def compiled(tree):
    return [*(tree / "usr/lib/ioplateau").rglob("*.pyc")]


@pytest.mark.live  # needs a Python 3.11 in /usr/bin
@pytest.mark.parametrize("why", ["configure", "triggered"])
def test_the_deb_compiles_what_it_brings_and_takes_it_away_again(tree, why):
    run(tree, "postinst.deb.sh", why, "")
    assert compiled(tree)

    run(tree, "prerm.deb.sh", "remove")

    assert not compiled(tree)


@pytest.mark.live  # needs a Python 3.11 in /usr/bin
def test_the_rpm_compiles_what_it_brings_and_takes_it_away_at_the_removal_alone(tree):
    run(tree, "post.rpm.sh", "1")
    run(tree, "preun.rpm.sh", "1")
    assert compiled(tree)

    run(tree, "preun.rpm.sh", "0")

    assert not compiled(tree)


def test_the_deb_starts_at_first_and_restarts_at_an_upgrade(tree):
    first = run(tree, "postinst.deb.sh", "configure", "")
    later = run(tree, "postinst.deb.sh", "configure", "0.9-1")

    for unit in UNITS:
        assert f"deb-systemd-helper unmask {unit}" in first
        assert f"deb-systemd-helper enable {unit}" in first
    assert first[-2:] == [
        "systemctl --system daemon-reload",
        "deb-systemd-invoke start ioplateau.service",
    ]
    assert later[-1] == "deb-systemd-invoke restart ioplateau.service"
    assert run(tree, "postinst.deb.sh", "triggered") == []


def test_the_deb_stops_at_its_removal_and_not_at_an_upgrade(tree):
    assert run(tree, "prerm.deb.sh", "upgrade", "2.0-1") == []
    assert run(tree, "prerm.deb.sh", "remove") == [
        "deb-systemd-invoke stop ioplateau.service ioplateau.socket"
    ]


def test_only_a_purge_of_the_deb_takes_the_state_and_what_is_switched_on(tree):
    state = tree / "var/lib/private/ioplateau"
    assert run(tree, "postrm.deb.sh", "remove") == ["systemctl --system daemon-reload"]
    assert state.exists()

    asked = run(tree, "postrm.deb.sh", "purge")

    assert not state.exists()
    assert not (tree / "var/lib/ioplateau").is_symlink()
    assert not (tree / "etc/ioplateau").exists()
    assert asked == [
        "systemctl --system daemon-reload",
        "deb-systemd-helper purge ioplateau.socket ioplateau.service",
        "deb-systemd-helper unmask ioplateau.socket ioplateau.service",
    ]


def test_the_rpm_is_switched_on_once_and_off_at_its_removal_alone(tree):
    assert run(tree, "post.rpm.sh", "1") == [
        "systemctl --quiet enable ioplateau.socket ioplateau.service",
        "systemctl daemon-reload",
        "systemctl start ioplateau.service",
    ]
    assert run(tree, "post.rpm.sh", "2") == [
        "systemctl daemon-reload",
        "systemctl try-restart ioplateau.service",
    ]
    assert run(tree, "preun.rpm.sh", "1") == []
    assert run(tree, "preun.rpm.sh", "0") == [
        "systemctl stop ioplateau.service ioplateau.socket",
        "systemctl --quiet disable ioplateau.service ioplateau.socket",
    ]
    assert run(tree, "postun.rpm.sh", "0") == ["systemctl daemon-reload"]
