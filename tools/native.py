"""Build the native twins of the lean scan (measure/_scan.c) and of the exposition's samples
(tell/_samples.c) where they lie: python tools/native.py

Any C compiler does, of this machine or for another one: IOPLATEAU_CC is its command, else CC, else
cc, gcc or clang. Nothing but the compiler is needed, and where there is none, Python reads alone.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "exporter" / "ioplateau"
HEADER = PACKAGE / "measure" / "_abi.h"
SOURCES = (PACKAGE / "measure" / "_scan.c", PACKAGE / "tell" / "_samples.c")
FLAGS = (
    *("-std=c11", "-O2", "-g0", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra"),
    *("-s", "-Wl,--build-id=none"),  # the same compiler makes the same bytes of it everywhere
)
IS_FREE_THREADED = "t" in sys.abiflags  # such a Python does not load them: measure/native.py


def compiler() -> list[str]:
    """Its command; empty: there is none."""
    for given in (os.environ.get("IOPLATEAU_CC"), os.environ.get("CC"), "cc", "gcc", "clang"):
        command = shlex.split(given or "")
        if command and shutil.which(command[0]):
            return command
    return []


def built(source: Path) -> Path:
    """Where the twin of this source is put."""
    return source.with_suffix(".abi3.so")


def build(source: Path, target: Path) -> str:
    """Make `target`. Why it could not be made; "": it was."""
    command = compiler()
    if not command:
        return "no C compiler"
    made = target.with_suffix(f".{os.getpid()}")
    done = subprocess.run(
        [*command, *FLAGS, "-o", made, source], capture_output=True, text=True, check=False
    )
    if done.returncode:
        made.unlink(missing_ok=True)
        return f"{shlex.join(command)} failed: {done.stderr.strip()[-1000:]}"
    made.replace(target)
    return ""


def is_fresh(source: Path) -> bool:
    """Whether its twin is there, and newer than what it is made of."""
    twin, newest = built(source), max(each.stat().st_mtime for each in (source, HEADER))
    return twin.exists() and twin.stat().st_mtime > newest


def main() -> None:
    if IS_FREE_THREADED:
        print(
            "native.py: Python does it alone: a free-threaded one has no stable ABI",
            file=sys.stderr,
        )
        return
    for source in SOURCES:
        why = "" if is_fresh(source) else build(source, built(source))
        if why:
            built(source).unlink(missing_ok=True)  # of an older source
            print(f"native.py: {source.name}: Python does it alone: {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
