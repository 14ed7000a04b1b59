"""pint, built once from its pinned sources, run on the committed rules."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from boards_and_rules import ROOT, RULE_FILES

SOURCES = ROOT / "alerts" / "pint"
CONFIG = SOURCES / "pint.hcl"
GO = ROOT / "deploy" / "packages" / "go.sh"
PROGRAM = "github.com/cloudflare/pint/cmd/pint"


@cache
def built() -> Path:
    """The program. Raises RuntimeError with what the compiler said."""
    program = ROOT / ".cache" / "pint"
    done = subprocess.run(
        [GO, "-C", SOURCES, "build", "-mod=readonly", "-trimpath", "-o", program, PROGRAM],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"pint cannot be built: {done.stderr[-3000:]}")
    return program


def lint(
    config: Path, *options: str, rules: Sequence[Path] = RULE_FILES
) -> subprocess.CompletedProcess[str]:
    """Check rule files; the exit code is 1 if there is anything to say, however small."""
    return subprocess.run(
        [
            *(built(), "--no-color", f"--config={config}", *options),
            *("lint", "--min-severity=info", "--fail-on=info", *map(str, rules)),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
