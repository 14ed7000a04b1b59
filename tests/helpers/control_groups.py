"""Control groups of our own, for tests that make some."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ioplateau.measure import cgroups


def writable_root() -> Path:
    """The root of the hierarchy that counts I/O, where root may make groups."""
    roots = (Path(cgroups.V1_ROOT), *map(Path, cgroups.V2_ROOTS))
    for root in roots:
        if (root / "cgroup.procs").exists() and os.access(root, os.W_OK):
            return root
    pytest.skip("no hierarchy of control groups that we may write to")
