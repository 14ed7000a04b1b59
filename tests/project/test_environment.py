"""tools/environment.sh on a machine that has no uv."""

import shutil
import subprocess

import pytest

from built_packages import PROJECT

USED = ("bash", "cut", "dirname", "sed", "mkdir", "cp", "chmod")
PYTHON = """#!/bin/sh
case "$*" in
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/pip" ;;
"install "*) echo "pip: no network" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def tree(tmp_path):
    """A checkout, and beside it all programs that the machine has: pip has no network."""
    (tmp_path / "checkout/tools").mkdir(parents=True)
    for name in ("environment.sh", "uv.txt"):
        shutil.copy(PROJECT / "tools" / name, tmp_path / "checkout/tools")
    (tmp_path / "bin").mkdir()
    for name in USED:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    (tmp_path / "bin/python3").write_text(PYTHON)
    (tmp_path / "bin/python3").chmod(0o755)
    return tmp_path


def test_a_uv_that_cannot_be_fetched_ends_it_with_what_pip_says(tree):
    done = subprocess.run(
        [tree / "bin/bash", tree / "checkout/tools/environment.sh"],
        env={"PATH": str(tree / "bin")}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "environment: installing uv into .cache/uv",
        "pip: no network",
    ]
