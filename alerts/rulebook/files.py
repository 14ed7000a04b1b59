"""Which rules stand in which file."""

from __future__ import annotations

from rulebook import exporter, fleet, nfs, throttling
from rulebook.paper import Group, yaml

FILES: dict[str, tuple[str, tuple[Group, ...]]] = {
    "throttling": (
        "Limits that hold requests back, burst credit, limits that are not what was sold.",
        (throttling.GROUP,),
    ),
    "nfs": ("NFS mounts: one connection only, servers that do not answer.", (nfs.GROUP,)),
    "fleet": (
        "The fleet: the clients of each NFS volume together, against its limit.",
        (fleet.GROUP,),
    ),
    "exporter": (
        "ioplateau itself, and what to keep of each VM for long.",
        (exporter.GROUP, exporter.LONG_MEMORY),
    ),
}


def text(name: str) -> str:
    """The committed file."""
    about, groups = FILES[name]
    return yaml(about, *groups)
