"""Build the native twin of the lean scan (measure/_scan.c) where it lies: python tools/native.py

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

MEASURE = Path(__file__).resolve().parents[1] / "exporter" / "ioplateau" / "measure"
SOURCES = (MEASURE / "_scan.c", MEASURE / "_abi.h")
BUILT = MEASURE / "_scan.abi3.so"
FLAGS = (
    *("-std=c11", "-O2", "-g0", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra"),
    *("-s", "-Wl,--build-id=none"),  # the same compiler makes the same bytes of it everywhere
)


def compiler() -> list[str]:
    """Its command; empty: there is none."""
    for given in (os.environ.get("IOPLATEAU_CC"), os.environ.get("CC"), "cc", "gcc", "clang"):
        command = shlex.split(given or "")
        if command and shutil.which(command[0]):
            return command
    return []


def build(target: Path) -> str:
    """Make `target`. Why it could not be made; "": it was."""
    command = compiler()
    if not command:
        return "no C compiler"
    made = target.with_suffix(f".{os.getpid()}")
    done = subprocess.run(
        [*command, *FLAGS, "-o", made, SOURCES[0]], capture_output=True, text=True, check=False
    )
    if done.returncode:
        made.unlink(missing_ok=True)
        return f"{shlex.join(command)} failed: {done.stderr.strip()[-1000:]}"
    made.replace(target)
    return ""


def is_fresh() -> bool:
    """Whether it is there, and newer than what it is made of."""
    newest = max(source.stat().st_mtime for source in SOURCES)
    return BUILT.exists() and BUILT.stat().st_mtime > newest


def main() -> None:
    why = "" if is_fresh() else build(BUILT)
    if why:
        BUILT.unlink(missing_ok=True)  # of an older source
        print(f"native.py: Python reads alone: {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
