# ruff: noqa: INP001
"""Write the rule files: `python alerts/generate.py` (make dashboards).

They are committed because people import them; a test holds the files to this program.
"""

from __future__ import annotations

from pathlib import Path

from rulebook import exporter, fleet, nfs, throttling
from rulebook.paper import Group, yaml

HERE = Path(__file__).parent
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


def main() -> None:
    for name in FILES:
        (HERE / f"ioplateau-{name}.rules.yml").write_text(text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
