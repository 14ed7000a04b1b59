"""The style of this house: what every panel and dashboard looks like, in one place.

Grafana's classic JSON model, schema 39: 9.3 to 13 load it. Panels are plain dictionaries;
`w` and `h` say how large one wants to be, `dashboard` puts them in place.
https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]

SCHEMA_VERSION = 39
WIDTH = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
BLUE, ORANGE, RED, GREEN, YELLOW, GREY = "blue", "orange", "red", "green", "yellow", "text"

# A metric's suffix decides the unit it is shown in, longest suffix first.
UNITS: tuple[tuple[str, str], ...] = (
    ("_operations_per_second", "iops"),
    ("_requests_per_second", "reqps"),
    ("_bytes_per_second", "Bps"),
    ("_seconds_total", "s"),
    ("_seconds", "s"),
    ("_bytes_total", "bytes"),
    ("_bytes", "bytes"),
    ("_ratio", "percentunit"),
)
# What rate() makes of a counter.
RATES: Mapping[str, str] = {"s": "percentunit", "bytes": "Bps", "iops": "iops", "short": "cps"}

KEEP = "var-datasource=${datasource}&${__url_time_range}"
BOARDS = ("fleet", "vm", "disk", "nfs", "volume")


def uid(board: str) -> str:
    return f"ioplateau-{board}"


def to(board: str, title: str, **variables: str) -> Json:
    """A data link to another dashboard: time range and data source are kept."""
    chosen = "".join(f"var-{name}={value}&" for name, value in variables.items())
    return {"title": title, "url": f"/d/{uid(board)}?{chosen}{KEEP}", "targetBlank": False}


def label(name: str) -> str:
    """A label of the series that was clicked, for a link."""
    return f"${{__field.labels.{name}:percentencode}}"


def cell(name: str) -> str:
    """A column of the row that was clicked, for a link."""
    return f'${{__data.fields["{name}"]:percentencode}}'


def target(expr: str, legend: str = "") -> Json:
    return {"expr": expr, "legendFormat": legend}


def share_thresholds() -> Json:
    """Share of a limit: watch from 70 %, act from 90 %, everywhere."""
    return _steps((GREEN, None), (YELLOW, 0.7), (RED, 0.9))


def any_is_bad() -> Json:
    return _steps((GREEN, None), (RED, 1))


def held_back_thresholds() -> Json:
    """Share of time at a limit: where the alerts begin, warning and critical."""
    return _steps((GREEN, None), (YELLOW, 0.2), (RED, 0.5))


def credit_thresholds() -> Json:
    """Burst credit is good while there is some."""
    return _steps((RED, None), (YELLOW, 0.1), (GREEN, 0.3))


def plain() -> Json:
    """A number that is neither good nor bad."""
    return _steps((GREY, None))


def _steps(*steps: tuple[str, float | None]) -> Json:
    return {
        "mode": "absolute",
        "steps": [{"color": color, "value": value} for color, value in steps],
    }


def timeseries(
    title: str,
    text: str,
    unit: str,
    *targets: Json,
    w: int = 12,
    h: int = 8,
    links: Sequence[Json] = (),
    mirrored: bool = False,
    many: bool = False,
    highest: float | None = None,
    thresholds: Json | None = None,
    no_value: str = "no data in this range",
) -> Json:
    """Lines over time. mirrored: reads up, writes down, on one centred axis.

    many: lines that cross, so nothing is filled below them; highest: where the axis ends.
    """
    share = unit == "percentunit"
    custom: Json = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 0 if many else 10,
        "showPoints": "never",
        "spanNulls": False,
        "axisCenteredZero": mirrored,
        "axisSoftMin": 0,
        "thresholdsStyle": {"mode": "dashed" if share else "off"},
    }
    defaults: Json = {
        "unit": unit,
        "custom": custom,
        "color": {"mode": "palette-classic"},
        "thresholds": thresholds or (share_thresholds() if share else plain()),
        "noValue": no_value,
        "links": list(links),
    }
    if share:
        defaults |= {"min": 0, "max": 1}
    if highest is not None:
        defaults |= {"max": highest}
    return _panel("timeseries", title, text, targets, w, h) | {
        "fieldConfig": {"defaults": defaults, "overrides": _colours(mirrored=mirrored)},
        "options": {
            "legend": {
                "displayMode": "table",
                "placement": "bottom",
                "calcs": ["mean", "max", "lastNotNull"],
                "sortBy": "Max",
                "sortDesc": True,
                "showLegend": True,
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }


def _colours(*, mirrored: bool) -> list[Json]:
    down = [_property("custom.transform", "negative-Y")] if mirrored else []
    return [
        _where(r"/\bread\b|\bREAD$|received/", _color(BLUE)),
        _where(r"/\bwrite\b|\bWRITE$|\bsent$/", _color(ORANGE), *down),
        _where(
            r"/\blimit\b/",
            _color(RED),
            _property("custom.lineStyle", {"fill": "dash", "dash": [10, 10]}),
            _property("custom.lineWidth", 2),
            _property("custom.fillOpacity", 0),
        ),
    ]


def _where(pattern: str, *properties: Json) -> Json:
    return {"matcher": {"id": "byRegexp", "options": pattern}, "properties": list(properties)}


def _color(name: str) -> Json:
    return _property("color", {"mode": "fixed", "fixedColor": name})


def _property(name: str, value: Any) -> Json:
    return {"id": name, "value": value}


def stat(
    title: str,
    text: str,
    unit: str,
    *targets: Json,
    thresholds: Json | None = None,
    no_value: str = "unknown",
    names: bool = False,
    w: int = 4,
    h: int = 4,
    links: Sequence[Json] = (),
) -> Json:
    """One number, or with `names` the legend in its place."""
    share = unit == "percentunit"
    steps = thresholds or (share_thresholds() if share else plain())
    defaults: Json = {
        "unit": unit,
        "thresholds": steps,
        "color": {"mode": "thresholds"},
        "noValue": no_value,
        "links": list(links),
    }
    if share:
        defaults |= {"min": 0, "max": 1}
    return _panel("stat", title, text, [one | {"instant": True} for one in targets], w, h) | {
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {
            "colorMode": "value" if steps == plain() else "background",
            "graphMode": "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "textMode": "name" if names else "value",
        },
    }


def bands(
    title: str,
    text: str,
    *targets: Json,
    values: Mapping[int, tuple[str, str]] | None = None,
    w: int = 24,
    h: int = 6,
    links: Sequence[Json] = (),
    no_value: str = "no limit is known, so none can bind",
) -> Json:
    """A state timeline: what held when. values: number -> (word, colour)."""
    shown = values or {0: ("free", "transparent"), 1: ("throttled", RED)}
    mapping = {
        "type": "value",
        "options": {
            str(value): {"text": word, "color": color, "index": index}
            for index, (value, (word, color)) in enumerate(shown.items())
        },
    }
    return _panel("state-timeline", title, text, targets, w, h) | {
        "fieldConfig": {
            "defaults": {
                "unit": "short",
                "mappings": [mapping],
                "color": {"mode": "thresholds"},
                "thresholds": plain(),
                "noValue": no_value,
                "links": list(links),
                "custom": {"fillOpacity": 80, "lineWidth": 0},
            },
            "overrides": [],
        },
        "options": {
            "alignValue": "left",
            "mergeValues": True,
            "rowHeight": 0.85,
            "showValue": "never",
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "single"},
        },
    }


def column(
    name: str,
    unit: str = "",
    *,
    link: Json | None = None,
    thresholds: Json | None = None,
    key: str = "",
) -> Json:
    """A column of a table: its header, unit, colours and link.

    key: the query's letter, or a label.
    """
    return {"name": name, "unit": unit, "link": link, "thresholds": thresholds, "key": key or name}


def table(
    title: str,
    text: str,
    columns: Sequence[Json],
    *targets: Json,
    sort: str = "",
    w: int = 24,
    h: int = 9,
    no_value: str = "unknown",
) -> Json:
    """Rows of labels with the values of several instant queries beside them.

    Columns with a one-letter key show the query of that letter, others the label of that name.
    sort: by this column, largest first; without it by the first that is coloured.
    """
    queries = [one | {"instant": True, "format": "table"} for one in targets]
    order = {_field(one["key"]): index for index, one in enumerate(columns)}
    names = {_field(one["key"]): one["name"] for one in columns}
    hidden = {
        f"Value #{chr(65 + number)}": True
        for number in range(len(queries))
        if f"Value #{chr(65 + number)}" not in names
    }
    return _panel("table", title, text, queries, w, h) | {
        "fieldConfig": {
            "defaults": {
                "noValue": no_value,
                "custom": {"align": "auto", "filterable": True},
                "thresholds": plain(),
            },
            "overrides": [_column_style(one) for one in columns],
        },
        "options": {
            "showHeader": True,
            "cellHeight": "sm",
            "footer": {"show": False},
            "sortBy": [{"displayName": sort or _first_coloured(columns), "desc": True}],
        },
        "transformations": [
            {"id": "merge", "options": {}},
            *_numbers(columns),
            {
                "id": "organize",
                "options": {
                    "excludeByName": {"Time": True, **hidden},
                    "indexByName": order,
                    "renameByName": names,
                },
            },
        ],
    }


def _numbers(columns: Sequence[Json]) -> list[Json]:
    """Labels are text; those with a unit are shown as the numbers they are."""
    conversions = [
        {"targetField": one["key"], "destinationType": "number"}
        for one in columns
        if one["unit"] and len(one["key"]) > 1
    ]
    if not conversions:
        return []
    return [{"id": "convertFieldType", "options": {"conversions": conversions, "fields": {}}}]


def _first_coloured(columns: Sequence[Json]) -> str:
    return str(next((one["name"] for one in columns if one["thresholds"]), columns[0]["name"]))


def _field(key: str) -> str:
    return f"Value #{key}" if len(key) == 1 else key


def _column_style(one: Json) -> Json:
    properties = []
    if one["unit"]:
        properties.append(_property("unit", one["unit"]))
    if one["thresholds"]:
        properties += [
            _property("min", 0),
            _property("max", 1),
            _property("thresholds", one["thresholds"]),
            # Grafana before 9.4 reads the first, later ones the second.
            _property("custom.displayMode", "color-background"),
            _property("custom.cellOptions", {"type": "color-background", "mode": "basic"}),
        ]
    if one["link"]:
        properties.append(_property("links", [one["link"]]))
    return {"matcher": {"id": "byName", "options": one["name"]}, "properties": properties}


def alert_list(title: str, text: str, w: int = 8, h: int = 9) -> Json:
    return _panel("alertlist", title, text, [], w, h) | {
        "options": {
            "alertName": "Ioplateau",
            "dashboardAlerts": False,
            "groupMode": "default",
            "groupBy": [],
            "maxItems": 20,
            "sortOrder": 3,
            "stateFilter": {"error": True, "firing": True, "noData": False, "pending": True},
            "viewMode": "list",
            "datasource": "${datasource}",
        }
    }


def _panel(kind: str, title: str, text: str, targets: Iterable[Json], w: int, h: int) -> Json:
    return {
        "type": kind,
        "title": title,
        "description": text,
        "datasource": SOURCE,
        "w": w,
        "h": h,
        "targets": [
            {"refId": chr(65 + number), "datasource": SOURCE, "range": "instant" not in one, **one}
            for number, one in enumerate(targets)
        ],
    }


def row(title: str, *panels: Json) -> Json:
    return {"title": title, "panels": list(panels)}
