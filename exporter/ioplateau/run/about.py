"""Which machine and which ioplateau: what stands beside every answer."""

from __future__ import annotations

import os
from typing import Any

from ioplateau import __version__


def about(started: float | None = None) -> dict[str, Any]:
    """started: UNIX seconds since which the daemon runs; None: no daemon."""
    return {"version": __version__, "host": os.uname().nodename, "started": started}
