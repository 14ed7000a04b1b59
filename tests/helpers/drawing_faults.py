"""What Grafana (9.3 to 12, from its sources and seen) draws otherwise than a panel's JSON promises.

Each function takes a dashboard and yields the places at fault, as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from boards_and_rules import DETAIL, panels

Json = dict[str, Any]

_COLOURLESS = {"text", "transparent", "#6e7681"}
# What a query of a panel may group by, where it is to be one series.
_ONE_SERIES = re.compile(r"(?:max|min|sum|count)\((?!.*\bby \()")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def bands_coloured_by_thresholds(board: Json) -> Iterator[str]:
    """mergeThresholdValues() of a state timeline never looks at value mappings: one grey bar."""
    for panel in _of_type(board, "state-timeline"):
        color = panel["fieldConfig"]["defaults"]["color"]
        if color["mode"] != "fixed":
            yield f"{panel['title']}: color.mode {color['mode']}, want fixed"


def bands_without_words_for_nothing(board: Json) -> Iterator[str]:
    """A state timeline has no noValue before 9.4, and later one is an entry of its legend."""
    for panel in _of_type(board, "state-timeline"):
        last = panel["targets"][-1]
        if "noValue" in panel["fieldConfig"]["defaults"]:
            yield f"{panel['title']}: noValue"
        if not last["expr"].startswith("vector(0) unless on () (") or "{{" in last["legendFormat"]:
            yield f"{panel['title']}: no line of words where there is nothing"


def variables_that_are_never_replaced(board: Json) -> Iterator[str]:
    """options.datasource of an alert list is compared with names of data sources as it stands."""
    for panel in _of_type(board, "alertlist"):
        if "${" in str(panel["options"]):
            yield f"{panel['title']}: a variable in the options of an alert list"


def coloured_nulls(board: Json) -> Iterator[str]:
    """null takes the colour of the lowest threshold, unless a mapping for null has another."""
    for panel in _of_type(board, "stat", "table"):
        defaults = panel["fieldConfig"]["defaults"]
        columns = [_properties(one) for one in panel["fieldConfig"]["overrides"]]
        for one in (defaults, *columns):
            lowest = one.get("thresholds", {"steps": [{"color": "text"}]})["steps"][0]["color"]
            mappings = one.get("mappings", defaults.get("mappings", ()))
            if lowest not in _COLOURLESS and not any(_is_neutral_null(each) for each in mappings):
                yield f"{panel['title']}: unknown is {lowest}"


def _is_neutral_null(mapping: Mapping[str, Any]) -> bool:
    told = mapping["options"]
    return (
        mapping["type"] == "special"
        and told["match"] == "null"
        and told["result"]["color"] in _COLOURLESS
        # Empty words are replaced by noValue, which is the table's.
        and bool(told["result"]["text"])
    )


def stray_value_columns(board: Json) -> Iterator[str]:
    """A table with one query calls its value "Value", one with several "Value #A" and so on."""
    for panel in _of_type(board, "table"):
        organize = panel["transformations"][-1]["options"]
        known = {*organize["excludeByName"], *organize["renameByName"]}
        letters = [target["refId"] for target in panel["targets"]]
        values = {f"Value #{letter}" for letter in letters}
        if missing := (values | ({"Value"} if len(letters) == 1 else set())) - known:
            yield f"{panel['title']}: {sorted(missing)} neither named nor hidden"


def heavy_annotations(board: Json) -> Iterator[str]:
    """Each series is a tinted region, and tints add up; points further apart than `step` are lines
    of their own, and Grafana asks for one each 2 minutes at 3 hours.
    """
    for one in board["annotations"]["list"]:
        if not _ONE_SERIES.match(one["expr"]):
            yield f"{one['name']}: more than one series"
        number, unit = re.fullmatch(r"(\d+)([smh])", one["step"]).groups()
        if int(number) * _SECONDS[unit] < 60:
            yield f"{one['name']}: a step of {one['step']}"
        if one["enable"] and "ALERTS" in one["expr"]:
            yield f"{one['name']}: alerts are on without being asked for"


def texts_of_empty_labels(board: Json) -> Iterator[str]:
    """A stat whose text is an empty legend shows the word "Value"."""
    for panel in _of_type(board, "stat"):
        if panel["options"]["textMode"] != "name":
            continue
        for target in panel["targets"]:
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                if f'{label}!=""' not in target["expr"]:
                    yield f"{panel['title']}: {label} may be empty"
                if not re.search(r"or on \(\) label_replace\(vector", target["expr"]):
                    yield f"{panel['title']}: there may be no series"


def hard_ends_of_shares(board: Json) -> Iterator[str]:
    """max: 1 clips what is above it: a burst, a limit told too low."""
    for panel in panels(board):
        fields = panel["fieldConfig"]
        for one in (fields["defaults"], *(_properties(each) for each in fields["overrides"])):
            if one.get("max") == 1:
                yield f"{panel['title']}: max is 1"
        defaults = fields["defaults"]
        is_line = panel["type"] == "timeseries" and defaults["unit"] == "percentunit"
        if is_line and defaults["custom"].get("axisSoftMax", 0) <= 1:
            yield f"{panel['title']}: what is at 100 % lies on the edge"


def ranges_drawn_as_lines(board: Json) -> Iterator[str]:
    """increase(...[$__range]) at each point of a line reaches a whole range back from there."""
    for panel in _of_type(board, "timeseries", "state-timeline"):
        for target in panel["targets"]:
            # As of the end of the range it is one number, and fit to choose lines by.
            moving = target["expr"].replace("[$__range] @ end()", "")
            if "[$__range]" in moving:
                yield f"{panel['title']}: {target['expr']}"


def unrounded_counts(board: Json) -> Iterator[str]:
    """increase() extrapolates: 2.02 episodes."""
    for panel in _of_type(board, "stat"):
        is_count = panel["fieldConfig"]["defaults"]["unit"] == "short"
        for expr in (target["expr"] for target in panel["targets"]):
            if is_count and "increase(" in expr and not expr.startswith("round("):
                yield f"{panel['title']}: a fraction of a count"


def everything_by_default(board: Json) -> Iterator[str]:
    """A page on one thing asks for one thing; all of a fleet are thousands of series a panel."""
    if board["uid"].removeprefix("ioplateau-") not in (*DETAIL, "volume"):
        return
    for variable in board["templating"]["list"][1:]:
        if variable["includeAll"] or variable["current"]:
            yield f"${variable['name']}: All, or a choice that another place does not have"


def menus_that_hand_on_everything(board: Json) -> Iterator[str]:
    """A menu that keeps variables hands "All" to a page on one thing, and one VM to the fleet."""
    every = any(one.get("includeAll") for one in board["templating"]["list"])
    for link in board["links"]:
        if link["includeVars"] and (every or link["type"] == "dashboards"):
            yield f"{link['title']}: the menu keeps All"


FAULTS = (
    bands_coloured_by_thresholds,
    bands_without_words_for_nothing,
    variables_that_are_never_replaced,
    coloured_nulls,
    stray_value_columns,
    heavy_annotations,
    texts_of_empty_labels,
    hard_ends_of_shares,
    ranges_drawn_as_lines,
    unrounded_counts,
    everything_by_default,
    menus_that_hand_on_everything,
)


def _of_type(board: Json, *types: str) -> Iterator[Json]:
    return (panel for panel in panels(board) if panel["type"] in types)


def _properties(override: Json) -> Json:
    return {one["id"]: one["value"] for one in override["properties"]}
