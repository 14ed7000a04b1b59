"""The style: what every panel and dashboard looks like, in one place.

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
MANY_HIGH = 9  # in grid rows: a legend beside the lines has room for ten
# Where the axis of a share ends if nothing goes beyond: what is at 100 % is not at the edge.
ABOVE_THE_LIMIT = 1.1
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
BLUE, ORANGE, RED, GREEN, YELLOW, GREY = "blue", "orange", "red", "green", "yellow", "text"
TIMES = "suffix: \N{MULTIPLICATION SIGN}"  # a unit: 2.3 times
# What is not known is neither good nor bad; "text" as a background would be nearly white.
NEUTRAL = "#6e7681"

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


def any_is_worth_a_look() -> Json:
    return _steps((GREEN, None), (YELLOW, 1))


def time_thresholds() -> Json:
    """Time held back: from where the alerts begin, 20 % of 5 minutes and 50 % of 15."""
    return _steps((GREEN, None), (YELLOW, 60), (RED, 450))


def part_of_fleet_thresholds() -> Json:
    """Share of VMs at a limit: one of many is a VM's trouble, a fifth is everybody's."""
    return _steps((GREEN, None), (YELLOW, 0.02), (RED, 0.2))


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
    at_least: float | None = None,
    thresholds: Json | None = None,
    no_value: str = "no data in this range",
) -> Json:
    """Lines over time. mirrored: reads up, writes down, on one centred axis.

    many: up to a dozen lines that cross: nothing is filled below them, the legend is beside them
    and has room for all, so such a panel is as wide as the page. highest: where the axis ends;
    at_least: how far it reaches even if all values are lower.
    """
    share = unit == "percentunit"
    if many:
        w, h = WIDTH, MANY_HIGH
    if share and at_least is None:
        at_least = ABOVE_THE_LIMIT
    steps = thresholds or (share_thresholds() if share else plain())
    custom: Json = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 0 if many else 10,
        "showPoints": "never",
        "spanNulls": False,
        "axisCenteredZero": mirrored,
        "axisSoftMin": 0,
        "thresholdsStyle": {"mode": "off" if steps == plain() else "dashed"},
    }
    if at_least is not None:
        custom["axisSoftMax"] = at_least
    defaults: Json = {
        "unit": unit,
        "custom": custom,
        "color": {"mode": "palette-classic"},
        "thresholds": steps,
        "noValue": no_value,
        "links": list(links),
    }
    if share:
        defaults |= {"min": 0}
    if highest is not None:
        defaults |= {"max": highest}
    return _panel("timeseries", title, text, targets, w, h) | {
        "fieldConfig": {"defaults": defaults, "overrides": _colours(mirrored=mirrored)},
        "options": {
            "legend": {
                "displayMode": "table",
                "placement": "right" if many else "bottom",
                "calcs": ["mean", "max", "lastNotNull"],
                "sortBy": "Max",
                "sortDesc": True,
                "showLegend": True,
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }


def _colours(*, mirrored: bool) -> list[Json]:
    # At the end of a legend: names of VMs, disks and mounts stand before, and may hold any word.
    down = [_property("custom.transform", "negative-Y")] if mirrored else []
    return [
        _where(r"/ (read|READ|received)$/", _color(BLUE)),
        _where(r"/ (write|WRITE|sent)$/", _color(ORANGE), *down),
        _where(
            r"/ limit$/",
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
    trend: bool = False,
    mappings: Sequence[Json] = (),
    overrides: Sequence[Json] = (),
    w: int = 4,
    h: int = 4,
    links: Sequence[Json] = (),
) -> Json:
    """One number, or with `names` the legend in its place. trend: with its course behind it."""
    share = unit == "percentunit"
    steps = thresholds or (share_thresholds() if share else plain())
    defaults: Json = {
        "unit": unit,
        "thresholds": steps,
        "color": {"mode": "thresholds"},
        "mappings": [unknown(no_value), *mappings],
        "noValue": no_value,
        "links": list(links),
    }
    asked = targets if trend else [one | {"instant": True} for one in targets]
    return _panel("stat", title, text, asked, w, h) | {
        "fieldConfig": {"defaults": defaults, "overrides": list(overrides)},
        "options": {
            "colorMode": "value" if steps == plain() or overrides else "background",
            "graphMode": "area" if trend else "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "textMode": "name" if names else "value_and_name" if overrides else "value",
        },
    }


def unknown(text: str) -> Json:
    """What is not known has words and a neutral colour.

    Without it null takes the colour of the lowest threshold, which is a judgement.
    """
    result = {"text": text, "color": NEUTRAL, "index": 0}
    return {"type": "special", "options": {"match": "null", "result": result}}


def fixed(name: str, unit: str, color: str) -> Json:
    """An override: the value of this name in this unit and colour, whatever the others have."""
    properties = [_property("unit", unit), _color(color), _property("noValue", "unknown")]
    return {"matcher": {"id": "byName", "options": name}, "properties": properties}


def more_than_ten() -> Json:
    """A demand that is only known to be large, in the words of the page."""
    result = {"text": "> 10 \N{MULTIPLICATION SIGN}", "index": 1}
    return {"type": "range", "options": {"from": 10, "to": 1e9, "result": result}}


def worded(words: Mapping[str, tuple[str, str]]) -> Json:
    """A mapping of values or labels to words, with a colour ("" for none)."""
    return {
        "type": "value",
        "options": {
            value: {"text": text, "index": index} | ({"color": color} if color else {})
            for index, (value, (text, color)) in enumerate(words.items(), start=1)
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
) -> Json:
    """A state timeline: what held when. values: number -> (word, colour).

    The last target is the words for an empty panel (`shared.otherwise`): Grafana before 9.4 has no
    others here, and a `noValue` would be an entry of the legend.
    """
    shown = values or {0: ("not throttled", "transparent"), 1: ("throttled", RED)}
    mapping = worded({str(value): told for value, told in shown.items()})
    return _panel("state-timeline", title, text, targets, w, h) | {
        "fieldConfig": {
            "defaults": {
                "unit": "short",
                "mappings": [mapping],
                # In the mode "thresholds" merged values are coloured by them, not by the mappings.
                "color": {"mode": "fixed", "fixedColor": GREY},
                "thresholds": plain(),
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
    words: Mapping[str, tuple[str, str]] | None = None,
    extra: Sequence[Json] = (),
    width: int = 0,
) -> Json:
    """A column of a table: its header, unit, colours and link.

    key: the query's letter, or a label. words: what its values are called, and their colours;
    extra: other mappings of its values. width: in pixels; 0 for an equal share.
    """
    return {
        "name": name,
        "unit": unit,
        "link": link,
        "thresholds": thresholds,
        "key": key or name,
        "mappings": [*([worded(words)] if words else []), *extra],
        "coloured": bool(thresholds) or any(color for _, color in (words or {}).values()),
        "width": width,
    }


def table(
    title: str,
    text: str,
    columns: Sequence[Json],
    *targets: Json,
    sort: str = "",
    descending: bool = True,
    w: int = 24,
    h: int = 9,
    no_value: str = "unknown",
    empty_cell: str = "unknown",
) -> Json:
    """Rows of labels with the values of several instant queries beside them.

    Columns with a one-letter key show the query of that letter, others the label of that name.
    sort: by this column; without it by the first that is coloured. no_value: what an empty table
    says; empty_cell: what a cell says of which nothing is known.
    """
    queries = [one | {"instant": True, "format": "table"} for one in targets]
    fields = {
        field: (index, one["name"])
        for index, one in enumerate(columns)
        for field in _fields(one["key"], len(queries))
    }
    order = {field: index for field, (index, _) in fields.items()}
    names = {field: name for field, (_, name) in fields.items()}
    values = [
        field for number in range(len(queries)) for field in _fields(chr(65 + number), len(queries))
    ]
    hidden = {field: True for field in values if field not in names}
    return _panel("table", title, text, queries, w, h) | {
        "fieldConfig": {
            "defaults": {
                "noValue": no_value,
                "mappings": [unknown(empty_cell)],
                "custom": {"align": "auto", "filterable": True},
                "thresholds": plain(),
            },
            "overrides": [_column_style(one, empty_cell) for one in columns],
        },
        "options": {
            "showHeader": True,
            "cellHeight": "sm",
            "footer": {"show": False},
            "sortBy": [{"displayName": sort or _first_coloured(columns), "desc": descending}],
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


def _fields(key: str, queries: int) -> list[str]:
    """What Grafana calls a column: a single query's is "Value" alone, in some versions."""
    if len(key) > 1:
        return [key]
    return [f"Value #{key}", "Value"] if queries == 1 else [f"Value #{key}"]


def _column_style(one: Json, empty_cell: str) -> Json:
    properties = []
    if one["unit"]:
        properties.append(_property("unit", one["unit"]))
    if one["thresholds"]:
        properties.append(_property("thresholds", one["thresholds"]))
    if one["mappings"]:
        properties.append(_property("mappings", [unknown(empty_cell), *one["mappings"]]))
    if one["width"]:
        properties.append(_property("custom.width", one["width"]))
    if one["coloured"]:
        properties += [
            # Grafana before 9.4 reads the first, later ones the second.
            _property("custom.displayMode", "color-background"),
            _property("custom.cellOptions", {"type": "color-background", "mode": "basic"}),
        ]
    if one["link"]:
        properties.append(_property("links", [one["link"]]))
    return {"matcher": {"id": "byName", "options": one["name"]}, "properties": properties}


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
