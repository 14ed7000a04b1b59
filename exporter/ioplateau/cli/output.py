"""What several commands print alike."""

from __future__ import annotations

import sys
from pathlib import Path


def print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=2, allow_nan=False))


def warn(path: Path, what: str) -> None:
    """A warning about a recording, on standard error."""
    from ioplateau.tell import formatting

    print(f"ioplateau: {path}: {formatting.printable(what)}", file=sys.stderr)
