"""Draws the pictures of docs/dashboards.md: the committed dashboards, with a real Prometheus's answers.

Recorded machines are what Prometheus remembers (drawing/history.py). It takes a few minutes and
needs Debian's prometheus. `make pictures` runs it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from drawing.history import BEGAN, remembering  # noqa: E402
from drawing.paper import Paper, colour  # noqa: E402
from drawing.parts import Empty, Shown  # noqa: E402
from drawing.reader import Labels, Points, Reader  # noqa: E402

from live_prometheus import Prometheus  # noqa: E402
from recorded_vms import RecordedVm, told  # noqa: E402

# The gauges are means over this window: two scrapes.
EVERY_SECOND = """
[sampling]
rate_window_seconds = 2
"""
P10 = """
[[disk]]
disk = "sda"
sku = "Premium_LRS"
tier = "P10"
size_gib = 128
caching = "None"
[[limit]]
disk = "sda"
iops = 500
bytes_per_second = 100_000_000
"""
# A credit of 178,500 operations, as in tests/machines/burst_then_base.
BURST = (
    P10
    + """burst_iops = 3500
burst_seconds = 60
"""
)
STRIPE = """
[vm]
size = "Standard_D4s_v3"
[[disk]]
disk = "sd?"
sku = "Premium_LRS"
size_gib = 512
caching = "None"
[[limit]]
disk = "sd?"
iops = 2300
bytes_per_second = 150_000_000
[[limit]]
vm = "uncached"
iops = 6400
bytes_per_second = 96_000_000
"""
MOUNT = """
[[limit]]
mount = "/mnt/a"
bytes_per_second = 10_000_000
"""
# Forty clients of one volume, each in its turn within the 26 s that one load of the recording
# takes: what they draw together is level.
CLIENTS = 40
APART_SECONDS = 26 / CLIENTS
VOLUME = """
[[limit]]
volume = "10.77.0.1:/export/a"
bytes_per_second = 375_000_000
"""
# Name, machine, configuration.
MACHINES = (
    ("db-1", "disk_iops_p10", P10),
    ("db-2", "vm_group_d4s", STRIPE),
    ("db-3", "burst_then_base", BURST),
    ("batch-1", "qd1_latency_bound", ""),
    ("render-1", "nfs_mbps_nc4_v41", MOUNT),
    ("home-1", "nfs_server_stall", ""),
)


def vms() -> list[RecordedVm]:
    """Six machines, each with a server of its own, and the clients of one volume."""
    single = [
        RecordedVm(
            name,
            told(machine, EVERY_SECOND + config),
            change=lambda text, server=b"10.77.0.%d" % number: text.replace(b"10.77.0.1", server),
        )
        for number, (name, machine, config) in enumerate(MACHINES, 2)
    ]
    client = told("nfs_mbps_nc4_v41", EVERY_SECOND + VOLUME)
    return single + [
        RecordedVm(f"farm-{number + 1:02}", client, round(number * APART_SECONDS))
        for number in range(CLIENTS)
    ]


@dataclass(frozen=True, slots=True)
class Picture:
    """A board with its choice of variables, from second to second of what was played."""

    board: str
    chosen: Mapping[str, Sequence[str]]
    begin: int
    end: int
    name: str = ""  # of the file, where it is not the board's
    rows: int | None = None  # of the board, where not all are drawn


PICTURES = (
    Picture(
        "fleet", {"instance": (*(name for name, _, _ in MACHINES), "farm-01", "farm-02")}, 4, 110
    ),
    Picture("vm", {"instance": ("db-2",)}, 2, 138),
    Picture("disk", {"instance": ("db-3",), "device": ("sda",)}, 2, 142),
    Picture("disk", {"instance": ("db-1",), "device": ("sda",)}, 2, 138, "disk-plateau", rows=1),
    Picture("nfs", {"instance": ("render-1",), "mount": ("/mnt/a",)}, 2, 132),
    Picture("volume", {"volume": ("10.77.0.1:/export/a",)}, 4, 110),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A Prometheus's answers for a range of time, a point each second."""

    prometheus: Prometheus
    begin: float
    end: float
    step: float = 1.0

    def over_time(self, expr: str) -> list[tuple[Labels, Points]]:
        found = self.prometheus.get(
            "query_range", query=expr, start=self.begin, end=self.end, step=self.step
        )
        return [
            (series["metric"], [(at, float(value)) for at, value in series["values"]])
            for series in found["result"]
        ]

    def at_end(self, expr: str) -> list[tuple[Labels, float]]:
        found = self.prometheus.get("query", query=expr, time=self.end)
        return [(series["metric"], float(series["value"][1])) for series in found["result"]]


def draw(picture: Picture, prometheus: Prometheus) -> None:
    """Write docs/pictures/board-NAME.png: every panel at its place, closed rows opened."""
    file = HERE.parent / f"dashboards/ioplateau-{picture.board}.json"
    board = json.loads(file.read_text(encoding="utf-8"))
    heads = [place for place, one in enumerate(board["panels"]) if one["type"] == "row"]
    panels = board["panels"][: heads[picture.rows]] if picture.rows else board["panels"]
    begin, end = BEGAN + picture.begin, BEGAN + picture.end
    reader = Reader(Asked(prometheus, begin, end), picture.chosen)
    marks = [
        (one["name"], colour(one["iconColor"]), joined(reader.regions(one)))
        for one in board["annotations"]["list"]
    ]
    shown = {
        panel["id"]: reader.shown(panel)
        for one in panels
        for panel in (one["panels"] if one["type"] == "row" else [one])
    }
    placed, units = opened(panels, shown)
    paper = Paper(units, begin, end)
    variables = " · ".join(
        f"{one['label']}: {' + '.join(picture.chosen.get(one['name'], ('All',)))}"
        for one in board["templating"]["list"]
        if one["type"] == "query"
    )
    paper.head(board["title"], variables, [(name, shade) for name, shade, spans in marks if spans])
    for panel, y in placed:
        if panel["type"] == "row":
            closed = panel["panels"] and all(one is not panel["panels"][0] for one, _ in placed)
            paper.row(panel["title"], y, len(panel["panels"]) if closed else 0)
        else:
            regions = [(shade, spans) for _, shade, spans in marks]
            paper.panel(panel["title"], panel["gridPos"], y, shown[panel["id"]], regions)
    paper.save(HERE / f"pictures/board-{picture.name or picture.board}.png")
    for title in paper.cut:
        print(f"{picture.board}: no room for the title of {title!r}")


def opened(panels: list[Any], shown: Mapping[int, Shown]) -> tuple[list[tuple[Any, int]], int]:
    """Each panel with its y once the rows are open that have something to show; the height."""
    placed, shift, bottom = [], 0, 0
    for panel in panels:
        y = panel["gridPos"]["y"] + shift
        bottom = max(bottom, y + panel["gridPos"]["h"])
        placed.append((panel, y))
        inner = panel.get("panels", [])
        if all(isinstance(shown[one["id"]], Empty) for one in inner):
            continue
        placed += [(one, one["gridPos"]["y"] + shift) for one in inner]
        below = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in inner) + shift
        shift += below - bottom
        bottom = below
    return placed, bottom


def joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans that touch become one."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def main() -> None:
    with remembering(vms(), max(picture.end for picture in PICTURES) + 1) as prometheus:
        for picture in PICTURES:
            draw(picture, prometheus)


if __name__ == "__main__":
    main()
