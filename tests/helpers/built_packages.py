"""What deploy/packages/build.sh makes of this checkout, built once for all tests that look at it."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
BUILD = PROJECT / "deploy" / "packages" / "build.sh"


def build(target: Path, environ: Mapping[str, str] | None = None) -> None:
    """All of it into `target`. Raises RuntimeError with what the script said."""
    done = subprocess.run(
        [BUILD, target],
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{BUILD}: {done.returncode}: {done.stderr[-3000:]}")


@cache
def packages() -> Path:
    """The directory of everything that was built."""
    target = Path(tempfile.mkdtemp(prefix="ioplateau-dist-"))
    atexit.register(shutil.rmtree, target, ignore_errors=True)
    build(target)
    return target


def one(pattern: str) -> Path:
    """The one file of it that is called so: one("*_amd64.deb")."""
    (found,) = packages().glob(pattern)
    return found
