"""ioplateau as files for a guest: the wheel of this checkout and the libraries of its lock file.

The guest runs Debian 12's Python 3.11; so must the Python that runs the tests, or uv have one.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
GUEST_PYTHON = "3.11"


def installed(directory: Path) -> Path:
    """A directory to copy to a guest, where PYTHONPATH=… python3 bin/ioplateau runs."""
    target, locked = directory / "ioplateau", directory / "locked.txt"
    _uv("build", "--wheel", "--out-dir", str(directory))
    _uv("export", "--frozen", "--no-dev", "--no-emit-project", "--output-file", str(locked))
    into = ["--target", str(target), "--python-version", GUEST_PYTHON, "--no-deps"]
    # Compiled here: an emulated CPU needs many seconds for it.
    into += ["--compile-bytecode", "--only-binary", ":all:"]
    _uv("pip", "install", *into, "--requirements", str(locked))
    (wheel,) = directory.glob("ioplateau-*.whl")
    _uv("pip", "install", *into, str(wheel))
    return target


def _uv(*arguments: str) -> None:
    done = subprocess.run(
        ["uv", *arguments, "--quiet"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"uv {' '.join(arguments)}: {done.stderr}")
