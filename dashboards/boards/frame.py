"""What is around the panels: variables, annotations, links, and everybody's place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from boards.house import SCHEMA_VERSION, SOURCE, WIDTH, Json, uid

TAG = "ioplateau"


def query_variable(name: str, title: str, query: str) -> Json:
    """A choice of label values: several or all, looked up again with the time range."""
    return {
        "type": "query",
        "name": name,
        "label": title,
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "StandardVariableQuery"},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "options": [],
        "hide": 0,
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
INSTANCE = query_variable("instance", "VM", "label_values(ioplateau_ticks_total, instance)")
DEVICE = query_variable(
    "device", "Disk", 'label_values(ioplateau_disk_info{instance=~"$instance"}, device)'
)
MOUNT = query_variable(
    "mount", "Mount", 'label_values(ioplateau_nfs_mount_info{instance=~"$instance"}, mount)'
)
VOLUME = query_variable(
    "volume", "Volume", "label_values(ioplateau:nfs_client_bytes:rate1m, volume)"
)


def dashboard(
    board: str,
    title: str,
    text: str,
    variables: Sequence[Json],
    rows: Sequence[Json],
    *,
    throttled: str,
    alerts: str,
    closed: bool = True,
) -> Json:
    """A whole dashboard. closed: only the first row is open.

    throttled: what draws the bands of throttling over every panel; alerts: the matchers that
    choose this dashboard's alerts.
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
        "links": [_others()],
        "templating": {"list": [DATASOURCE, *variables]},
        "annotations": {"list": _annotations(throttled, alerts)},
        "panels": _placed(rows, closed=closed),
    }


def text(board: Json) -> str:
    """The committed file."""
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _others() -> Json:
    return {
        "type": "dashboards",
        "title": "ioplateau",
        "tags": [TAG],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "icon": "external link",
        "tooltip": "",
        "url": "",
    }


def _annotations(throttled: str, alerts: str) -> list[Json]:
    firing = f'ALERTS{{alertname=~"Ioplateau.+",alertstate="firing",severity="%s"{alerts}}}'
    return [
        _annotation("Throttled", throttled, "rgba(242, 73, 92, 0.6)", "{{kind}} {{name}}"),
        _annotation("Critical alerts", firing % "critical", "dark-red", "{{alertname}}"),
        _annotation("Warnings", firing % "warning", "orange", "{{alertname}}"),
    ]


def _annotation(name: str, expr: str, color: str, title: str) -> Json:
    return {
        "name": name,
        "datasource": SOURCE,
        "enable": True,
        "hide": False,
        "iconColor": color,
        "expr": expr,
        "step": "15s",
        "titleFormat": title,
        "textFormat": "{{instance}} {{name}} {{dimension}} {{direction}}",
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
