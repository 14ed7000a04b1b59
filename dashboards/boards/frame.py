"""What is around the panels: variables, annotations, links, and everybody's place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from boards.style import BOARDS, SCHEMA_VERSION, SOURCE, WIDTH, Json, uid

TAG = "ioplateau"
TITLES = {"fleet": "Fleet", "vm": "VM", "disk": "Disk", "nfs": "NFS mount", "volume": "Volume"}


def query_variable(
    name: str, title: str, query: str, *, every: bool = False, several: bool = True
) -> Json:
    """A choice of label values, looked up again with the time range.

    several: more than one can be chosen. every: all of them until somebody chooses. Without it the first: a page on one thing must not
    ask for every series of a fleet. Its `current` is empty, so Grafana takes the first option.
    """
    chosen: Json = {
        "includeAll": True,
        "allValue": ".+",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }
    one: Json = {"includeAll": False, "current": {}}
    return {
        "type": "query",
        "name": name,
        "label": title,
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "StandardVariableQuery"},
        "refresh": 2,
        "sort": 1,
        "multi": several,
        "options": [],
        "hide": 0,
        **(chosen if every else one),
    }


DATASOURCE: Json = {
    "type": "datasource",
    "name": "datasource",
    "label": "Data source",
    "query": "prometheus",
    "refresh": 1,
    "multi": False,
    "includeAll": False,
    "current": {},
    "options": [],
    "hide": 0,
}
_VMS = "label_values(ioplateau_ticks_total, instance)"
INSTANCE = query_variable("instance", "VM", _VMS)
EVERY_INSTANCE = query_variable("instance", "VM", _VMS, every=True)
# A VM without a mount would be an empty page.
NFS_INSTANCE = query_variable("instance", "VM", "label_values(ioplateau_nfs_mount_info, instance)")
DEVICE = query_variable(
    "device", "Disk", 'label_values(ioplateau_disk_info{instance=~"$instance"}, device)'
)
MOUNT = query_variable(
    "mount", "Mount", 'label_values(ioplateau_nfs_mount_info{instance=~"$instance"}, mount)'
)
VOLUME = query_variable(
    "volume",
    "Volume",
    "label_values(ioplateau:nfs_client_bytes:rate1m, volume)",
    # Clients' shares are of one volume.
    several=False,
)


def dashboard(
    board: str,
    title: str,
    text: str,
    variables: Sequence[Json],
    rows: Sequence[Json],
    *,
    throttled: str = "",
    alerts: str = "",
    closed: bool = True,
) -> Json:
    """A whole dashboard. closed: only the first row is open.

    throttled: series that are 1 in episodes, which are marked over every panel; alerts: matchers
    of its alerts; both "": nothing is marked.
    """
    return {
        "uid": uid(board),
        "title": title,
        "description": text,
        "tags": [TAG],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "",
        "time": {"from": "now-3h", "to": "now"},
        "timepicker": {},
        "timezone": "",
        "fiscalYearStartMonth": 0,
        "liveNow": False,
        "weekStart": "",
        "links": _others(board),
        "templating": {"list": [DATASOURCE, *variables]},
        "annotations": {"list": _annotations(throttled, alerts) if throttled else []},
        "panels": _placed(rows, closed=closed),
    }


def text(board: Json) -> str:
    """The committed file."""
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _others(board: str) -> list[Json]:
    """The menu: pages on one thing hand what is chosen to each other, and only the data source to the
    fleet, which shows every VM; nor does the fleet hand "All" to a page on one thing.
    """
    return [
        _menu_entry(other, TITLES[other], hands_on="fleet" not in {board, other})
        for other in BOARDS
        if other != board
    ]


def _menu_entry(board: str, title: str, *, hands_on: bool) -> Json:
    return {
        "type": "link",
        "title": title,
        "url": f"/d/{uid(board)}" + ("" if hands_on else "?var-datasource=${datasource}"),
        "includeVars": hands_on,
        "keepTime": True,
        "targetBlank": False,
        "icon": "dashboard",
        "tooltip": "",
        "tags": [],
        "asDropdown": False,
    }


def _annotations(throttled: str, alerts: str) -> list[Json]:
    """One series each: Grafana tints a region for every series, and tints add up."""
    firing = f'alertname=~"Ioplateau.+",alertstate="firing",{alerts}'
    return [
        _annotation("Throttled", f"max({throttled}) == 1", "rgba(242, 73, 92, 0.6)"),
        _annotation(
            "Critical alerts",
            f'max(ALERTS{{{firing},severity="critical"}})',
            "dark-red",
            enable=False,
        ),
        _annotation(
            "Warnings", f'max(ALERTS{{{firing},severity="warning"}})', "orange", enable=False
        ),
    ]


def _annotation(name: str, expr: str, color: str, *, enable: bool = True) -> Json:
    return {
        "name": name,
        "datasource": SOURCE,
        "enable": enable,
        "hide": False,
        "iconColor": color,
        "expr": expr,
        # Points at most so far apart are one region; at 3 h Grafana asks for one each 2 min.
        "step": "2m",
        "titleFormat": name,
        "textFormat": "",
        "useValueForTime": False,
    }


def _placed(rows: Sequence[Json], *, closed: bool) -> list[Json]:
    """Ids in order of reading; panels flow from left to right within their row."""
    panels: list[Json] = []
    y, number = 0, 0
    for index, one in enumerate(rows):
        number += 1
        collapsed = closed and index > 0
        head: Json = {
            "type": "row",
            "id": number,
            "title": one["title"],
            "collapsed": collapsed,
            "gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1},
            "panels": [],
        }
        y += 1
        below, bottom = _flow(one["panels"], y, number)
        number += len(below)
        panels.append(head)
        if collapsed:
            head["panels"] = below
        else:
            panels.extend(below)
            y = bottom
    return panels


def _flow(panels: Sequence[Json], y: int, number: int) -> tuple[list[Json], int]:
    """From left to right; below the last one where the line is full and there is room."""
    placed: list[Json] = []
    x = height = 0
    for panel in panels:
        rest: dict[str, Any] = dict(panel)
        w, h = rest.pop("w"), rest.pop("h")
        last = placed[-1]["gridPos"] if placed else {"x": 0, "y": y, "w": 0, "h": 0}
        bottom = last["y"] + last["h"]
        number += 1
        if x + w > WIDTH and w == last["w"] and bottom + h <= y + height:
            place = {"x": last["x"], "y": bottom, "w": w, "h": h}
        else:
            if x + w > WIDTH:
                x, y, height = 0, y + height, 0
            place = {"x": x, "y": y, "w": w, "h": h}
            x += w
            height = max(height, h)
        placed.append({**rest, "id": number, "gridPos": place})
    return placed, y + height
