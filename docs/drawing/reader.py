"""What a panel of a dashboard shows: its JSON and a Prometheus's answers, made into words and lines.

The part of Grafana that our dashboards use, and no more: variables, legends, overrides by name,
units, thresholds, value mappings, merged tables, annotations that are regions of time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from drawing.parts import (
    COLOURS,
    PALETTE,
    Cell,
    Empty,
    Graph,
    Json,
    Line,
    Listing,
    Number,
    Shown,
    States,
    Table,
    threshold_colour,
    written,
)

Labels = Mapping[str, str]
Points = Sequence[tuple[float, float]]  # (unix seconds, value)

UNKNOWN = float("nan")


class Asked(Protocol):
    """A Prometheus and a range of time: series over it, and what holds at its end."""

    begin: float
    end: float
    step: float

    def over_time(self, expr: str) -> list[tuple[Labels, Points]]: ...

    def at_end(self, expr: str) -> list[tuple[Labels, float]]: ...


@dataclass(frozen=True)
class Reader:
    """Reads panels as Grafana would with these choices of variables; without one it is All."""

    asked: Asked
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def shown(self, panel: Json) -> Shown:
        """What there is to draw. Raises KeyError for a panel of a type that is not known."""
        return READ[panel["type"]](self, panel)

    def regions(self, annotation: Json) -> list[tuple[float, float]]:
        """Begin and end of each time in which the annotation's expression gave something."""
        found = []
        for _, points in self.asked.over_time(self.put_in(annotation["expr"])):
            begin = before = points[0][0]
            for at, _ in points[1:]:
                if at > before + 1.5 * self.asked.step:
                    found.append((begin, before))
                    begin = at
                before = at
            found.append((begin, before))
        return found

    def put_in(self, expr: str) -> str:
        """The expression with Grafana's variables replaced."""
        given = {
            "$__rate_interval": f"{4 * self.asked.step:g}s",
            "$__range": f"{self.asked.end - self.asked.begin:.0f}s",
        }
        for name, value in given.items():
            expr = expr.replace(name, value)
        return re.sub(
            r"\$([a-z]+)\b", lambda name: "|".join(self.chosen.get(name[1], (".+",))), expr
        )

    def _series(self, panel: Json) -> list[tuple[str, Points]]:
        return [
            (named(target["legendFormat"], labels), points)
            for target in panel["targets"]
            for labels, points in self.asked.over_time(self.put_in(target["expr"]))
        ]

    def _graph(self, panel: Json) -> Shown:
        config = panel["fieldConfig"]
        defaults = config["defaults"]
        steps = round((self.asked.end - self.asked.begin) / self.asked.step) + 1
        at = [self.asked.begin + number * self.asked.step for number in range(steps)]
        lines = []
        for number, (name, points) in enumerate(self._series(panel)):
            by_step = {round((when - at[0]) / self.asked.step): value for when, value in points}
            style = dict(defaults["custom"]) | overridden(config["overrides"], name)
            lines.append(
                Line(
                    name,
                    at,
                    [by_step.get(step, UNKNOWN) for step in range(steps)],
                    COLOURS[style["color"]["fixedColor"]]
                    if "color" in style
                    else PALETTE[number % len(PALETTE)],
                    style["lineWidth"],
                    style["fillOpacity"] / 100,
                    style.get("lineStyle", {}).get("fill") == "dash",
                    style.get("transform") == "negative-Y",
                )
            )
        if not lines:
            return Empty(defaults["noValue"])
        lines_at = defaults["custom"]["thresholdsStyle"]["mode"] != "off"
        marks = [
            (step["value"], COLOURS[step["color"]])
            for step in defaults["thresholds"]["steps"]
            if lines_at and step["value"] is not None
        ]
        return Graph(lines, defaults["unit"], defaults.get("min"), defaults.get("max"), marks)

    def _numbers(self, panel: Json) -> Shown:
        defaults = panel["fieldConfig"]["defaults"]
        filled = panel["options"]["colorMode"] == "background"
        names = panel["options"]["textMode"] == "name"
        found = [
            Number(
                named(target["legendFormat"], labels)
                if names
                else written(value, defaults["unit"]),
                threshold_colour(value, defaults["thresholds"]),
                filled,
            )
            for target in panel["targets"]
            for labels, value in self.asked.at_end(self.put_in(target["expr"]))
        ]
        return found or Empty(defaults["noValue"])

    def _states(self, panel: Json) -> Shown:
        defaults = panel["fieldConfig"]["defaults"]
        (mapping,) = (one["options"] for one in defaults["mappings"])
        rows, words = [], {}
        for name, points in self._series(panel):
            spans: list[tuple[float, float, str]] = []
            for at, value in points:
                word = mapping[f"{value:g}"]
                colour = words[word["text"]] = COLOURS[word["color"]]
                until = min(at + self.asked.step, self.asked.end)
                if spans and spans[-1][2] == colour and spans[-1][1] >= at:
                    spans[-1] = (spans[-1][0], until, colour)
                else:
                    spans.append((at, until, colour))
            rows.append((name, spans))
        in_order = [one["text"] for one in sorted(mapping.values(), key=lambda one: one["index"])]
        legend = [(word, words[word]) for word in in_order if word in words]
        return States(rows, legend) if rows else Empty(defaults["noValue"])

    def _table(self, panel: Json) -> Shown:
        rows = merged(
            [
                [
                    dict(labels) | {f"Value #{target['refId']}": value}
                    for labels, value in self.asked.at_end(self.put_in(target["expr"]))
                ]
                for target in panel["targets"]
            ]
        )
        defaults = panel["fieldConfig"]["defaults"]
        if not rows:
            return Empty(defaults["noValue"])
        organize = panel["transformations"][-1]["options"]
        fields = {name for row in rows for name in row} - set(organize["excludeByName"])
        order = sorted(fields, key=lambda name: (organize["indexByName"].get(name, 99), name))
        headers = [organize["renameByName"].get(name, name) for name in order]
        (sort,) = panel["options"]["sortBy"]
        if sort["displayName"] in headers:
            key = order[headers.index(sort["displayName"])]
            rows.sort(key=lambda row: row.get(key, -1.0), reverse=sort["desc"])
        styles = [
            by_name(panel["fieldConfig"]["overrides"], header) | {"noValue": defaults["noValue"]}
            for header in headers
        ]
        return Table(
            headers,
            [
                [_cell(row.get(name), style) for name, style in zip(order, styles, strict=True)]
                for row in rows
            ],
        )

    def _alerts(self, panel: Json) -> Shown:
        options = panel["options"]
        expr = f'ALERTS{{alertname=~".*{options["alertName"]}.*"}}'
        states = sorted(
            (
                labels["alertstate"],
                labels["alertname"],
                " ".join(filter(None, map(labels.get, ("severity", "instance", "name", "volume")))),
            )
            for labels, _ in self.asked.at_end(expr)
            if options["stateFilter"][labels["alertstate"]]
        )
        return Listing(states) if states else Empty("no alerts")


READ: Mapping[str, Callable[[Reader, Json], Shown]] = {
    "timeseries": Reader._graph,  # noqa: SLF001 - the table of this class
    "stat": Reader._numbers,  # noqa: SLF001
    "state-timeline": Reader._states,  # noqa: SLF001
    "table": Reader._table,  # noqa: SLF001
    "alertlist": Reader._alerts,  # noqa: SLF001
}


def named(legend: str, labels: Labels) -> str:
    """The legend with the labels of a series put in."""
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name[1], ""), legend).strip()


def overridden(overrides: Iterable[Json], name: str) -> dict[str, Any]:
    """Properties of the overrides whose pattern is found in the name; the last one holds."""
    return {
        one["id"].removeprefix("custom."): one["value"]
        for override in overrides
        if re.search(override["matcher"]["options"].strip("/"), name)
        for one in override["properties"]
    }


def by_name(overrides: Iterable[Json], header: str) -> dict[str, Any]:
    """Properties of the override of a column."""
    return {
        one["id"]: one["value"]
        for override in overrides
        if override["matcher"]["options"] == header
        for one in override["properties"]
    }


def merged(frames: Iterable[Iterable[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One table of several: rows that agree in all they share become one."""
    rows: list[dict[str, Any]] = []
    for frame in frames:
        for new in frame:
            for row in rows:
                shared = row.keys() & new.keys()
                if shared and all(row[name] == new[name] for name in shared):
                    row.update(new)
                    break
            else:
                rows.append(dict(new))
    return rows


def _cell(value: str | float | None, style: Mapping[str, Any]) -> Cell:
    linked = "links" in style
    if value is None or value == "":
        return Cell(style["noValue"])
    if "unit" not in style:
        return Cell(str(value), linked=linked)
    coloured = style.get("custom.cellOptions", {}).get("type") == "color-background"
    colour = threshold_colour(float(value), style["thresholds"]) if coloured else ""
    return Cell(written(float(value), style["unit"]), colour, linked)
