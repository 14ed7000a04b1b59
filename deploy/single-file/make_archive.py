"""Makes the single file: make_archive.py TARGET LIBRARIES_OF_AMD64 [LIBRARIES_OF_ARM64 ...].

The directories hold the same modules, each with its own compiled ones. The same input gives the
same bytes: names in order, times from SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import io
import os
import sys
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
# ELF's name of the machine, as platform.machine() says it: e_machine at byte 18.
MACHINES = {62: "x86_64", 183: "aarch64"}
SHEBANG = b"#!/usr/bin/env -S python3 -I -B\n"


def contents(directories: list[Path]) -> dict[str, bytes]:
    """Name in the archive -> bytes."""
    found: dict[str, bytes] = {}
    for directory in directories:
        for file in sorted(directory.rglob("*")):
            if not file.is_file() or file.name == "python":
                continue
            content, name = file.read_bytes(), str(file.relative_to(directory))
            if name.endswith(".so"):
                machine = MACHINES[int.from_bytes(content[18:20], "little")]
                name = f"compiled/{machine}/{name}"
            if found.setdefault(name, content) != content and not _is_about_its_wheel(name):
                raise SystemExit(f"{name} is not the same on every architecture")
    found["__main__.py"] = (HERE / "__main__.py").read_bytes()
    return found


def _is_about_its_wheel(name: str) -> bool:
    return ".dist-info/" in name or name == "__main__.py"


def archive(found: dict[str, bytes], epoch: int) -> bytes:
    """An executable that is an archive."""
    packed = io.BytesIO()
    packed.write(SHEBANG)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name in sorted(found):
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, found[name])
    return packed.getvalue()


if __name__ == "__main__":
    target, *libraries = map(Path, sys.argv[1:])
    target.write_bytes(archive(contents(libraries), int(os.environ["SOURCE_DATE_EPOCH"])))
    target.chmod(0o755)
