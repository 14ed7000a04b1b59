"""Ten rules for a dashboard, held against every panel; and the committed files."""

import json
import re
from itertools import combinations
from pathlib import Path

import pytest

import boards_and_rules as ours
from boards_and_rules import ALERTS, BOARDS, COLOURS, DETAIL, LABELS, LIFTS, METRICS, RECORDS, ROOT
from ioplateau.limits.budgets import Kind, Word

PANELS = [(f"{name}: {panel['title']}", (name, panel)) for name, panel in ours.every_panel()]
SHOWN = [
    (f"{shown.board}: {shown.panel['title']} {number}", (shown,))
    for number, shown in enumerate(ours.every_expression())
]


def of_each(cases):
    """One test that holds a rule against all of them and names each that breaks it.

    As a test each, pytest would take longer over them than the rules do.
    """

    def as_one(rule):
        def test():
            broken = []
            for name, case in cases:
                try:
                    rule(*case)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(name)
                    broken.append(error)
            if broken:
                raise ExceptionGroup(rule.__name__, broken)

        return test

    return as_one


EACH_BOARD = pytest.mark.parametrize("name", BOARDS)
EACH_PANEL = of_each(PANELS)
EACH_EXPRESSION = of_each(SHOWN)

# Suffix to unit, longest first; and what rate() of a counter is shown in.
UNITS = (
    ("_operations_per_second", "iops"),
    ("_limit_operations:max", "iops"),
    ("_operations:rate1m", "iops"),
    ("_requests_per_second", "reqps"),
    ("_bytes_per_second", "Bps"),
    ("_bytes:rate1m", "Bps"),
    ("_limit_bytes:max", "Bps"),
    ("_seconds_total", "s"),
    ("_timestamp_seconds", "dateTimeAsIso"),
    ("_demand_ratio", "suffix: \N{MULTIPLICATION SIGN}"),
    ("_utilization:max", "percentunit"),
    ("_seconds:mean1m", "s"),
    ("_seconds", "s"),
    ("_bytes_total", "bytes"),
    ("_bytes", "bytes"),
    ("_operations_total", "operations"),
    ("_ratio", "percentunit"),
    (":ratio", "percentunit"),
    (":ratio5m", "percentunit"),
    (":bool", "short"),
)
# Which lines have a style of their own, by the end of their legend.
READ, WRITE, LIMIT = r"/ (read|READ|received)$/", r"/ (write|WRITE|sent)$/", r"/ limit$/"
RATES = {
    "s": {"percentunit", "short"},
    "bytes": {"Bps"},
    "operations": {"iops"},
    "short": {"cps", "reqps"},
}


def units_of(shown):
    """The units that may honestly stand beside this expression."""
    expr = shown.expr
    if ") / (" in expr:
        return {"percentunit"}
    if re.match(r"(sum\()?count\b", expr) or "> bool" in expr or expr.startswith("1 / "):
        return {"short", "percentunit"} if expr.startswith("1 / ") else {"short"}
    names = re.findall(r"(?:ioplateau|process)[_:][\w:]+|\bup\b", expr)
    unit = next((unit for end, unit in UNITS if names[0].endswith(end)), "short")
    if "_limit_" in expr and "_utilization_ratio" in expr and " * " in expr:
        return {next(unit for end, unit in UNITS if names[1].endswith(end))}
    if "avg_over_time(" in expr and ":bool" in expr:
        return {"percentunit"}
    if re.search(r"\brate\(", expr.split(" and on ")[0]):
        return RATES[unit]
    return {unit}


# 1. Question first.


@EACH_BOARD
def test_the_first_row_answers_in_at_most_six_numbers(name):
    rows = [panel for panel in BOARDS[name]["panels"] if panel["type"] == "row"]
    head = BOARDS[name]["panels"][1:7]

    assert not rows[0]["collapsed"]
    assert [panel["type"] for panel in head] == ["stat"] * 6
    assert BOARDS[name]["panels"][7]["type"] != "stat"


@pytest.mark.parametrize("name", DETAIL)
def test_on_detail_pages_only_the_first_row_is_open(name):
    rows = [panel for panel in BOARDS[name]["panels"] if panel["type"] == "row"]

    assert [row["collapsed"] for row in rows] == [False] + [True] * (len(rows) - 1)
    assert len(rows) > 2


# 2. Share of the limit is the common currency.


@EACH_PANEL
def test_a_share_of_a_limit_begins_at_0_and_warns_at_70_and_90_percent(name, panel):
    if "utilization" not in str(panel["targets"]) or panel["type"] not in {"stat", "timeseries"}:
        return
    defaults = panel["fieldConfig"]["defaults"]
    if defaults["unit"] != "percentunit":
        return

    steps = [step["value"] for step in defaults["thresholds"]["steps"]]
    assert defaults.get("min", 0) == 0
    assert steps == [None, 0.7, 0.9]


@EACH_PANEL
def test_lines_are_drawn_at_thresholds_of_shares_of_limits_and_credit_only(name, panel):
    if panel["type"] != "timeseries":
        return
    defaults = panel["fieldConfig"]["defaults"]
    shares = ("_utilization_ratio{", "vm_utilization:max", "_credit_ratio")

    assert (defaults["custom"]["thresholdsStyle"]["mode"] == "dashed") == (
        defaults["unit"] == "percentunit"
        and any(share in target["expr"] for target in panel["targets"] for share in shares)
    )


@EACH_EXPRESSION
def test_shares_of_limits_are_never_averaged_over_devices(shown):
    assert not re.search(r"\bavg (by|without)?|\bavg\(", shown.expr.replace("avg_over_time", ""))


@pytest.mark.parametrize("name", ["vm", "disk", "nfs", "volume"])
def test_the_limit_is_a_dashed_red_line_in_the_panel_of_the_rate(name):
    found = [
        panel
        for panel in ours.panels(BOARDS[name])
        if panel["type"] == "timeseries"
        and any(target["legendFormat"].endswith(" limit") for target in panel["targets"])
    ]
    dashed = [
        override
        for panel in found
        for override in panel["fieldConfig"]["overrides"]
        if override["matcher"]["options"] == LIMIT
    ]

    assert {panel["fieldConfig"]["defaults"]["unit"] for panel in found} >= {"Bps", "iops"}
    assert len(dashed) == len(found)
    for override in dashed:
        properties = {one["id"]: one["value"] for one in override["properties"]}
        assert properties["color"]["fixedColor"] == "red"
        assert properties["custom.lineStyle"]["fill"] == "dash"


# 3. Base units, one table.


@EACH_EXPRESSION
def test_the_unit_shown_is_the_unit_of_the_metric(shown):
    if shown.panel["type"] in {"table", "state-timeline"}:
        return
    if shown.panel.get("options", {}).get("textMode") == "name":
        return

    assert unit_shown(shown) in units_of(shown)


def unit_shown(shown):
    """The unit of the panel, or of this legend where it has another."""
    for override in shown.panel["fieldConfig"]["overrides"]:
        if override["matcher"] == {"id": "byName", "options": shown.legend}:
            return next(one["value"] for one in override["properties"] if one["id"] == "unit")
    return shown.panel["fieldConfig"]["defaults"]["unit"]


@EACH_PANEL
def test_every_value_column_of_a_table_has_a_unit(name, panel):
    if panel["type"] != "table":
        return
    organize = panel["transformations"][-1]["options"]
    shown = {new for old, new in organize["renameByName"].items() if old.startswith("Value #")}
    styled = {
        override["matcher"]["options"]
        for override in panel["fieldConfig"]["overrides"]
        if any(one["id"] == "unit" for one in override["properties"])
    }

    assert shown <= styled


@EACH_PANEL
def test_a_table_has_no_columns_but_those_it_names(name, panel):
    if panel["type"] != "table":
        return
    named = panel["transformations"][-1]["options"]["renameByName"]
    for one in panel["targets"]:
        labels = re.match(r"(?:1000 \* )?(?:max|count) by \(([^)]*)\)", one["expr"])[1]

        assert set(labels.split(", ")) <= named.keys()


@EACH_PANEL
def test_coloured_cells_are_told_to_old_and_new_grafana(name, panel):
    for override in panel["fieldConfig"]["overrides"] if "fieldConfig" in panel else ():
        ids = {one["id"] for one in override["properties"]}

        assert ("custom.displayMode" in ids) == ("custom.cellOptions" in ids)


# 4. Stable top-N.


@EACH_EXPRESSION
def test_a_ranking_is_made_over_the_whole_range_and_named_in_the_title(shown):
    for ranked in re.findall(r"topk\((\d+), ", shown.expr):
        if shown.panel["type"] == "stat":
            continue
        stable = shown.expr[shown.expr.index("topk(") :]

        assert "@ end()" in stable
        assert f"the {ranked} " in shown.panel["title"]


@EACH_EXPRESSION
def test_lines_are_not_ranked_by_one_seconds_peak(shown):
    assert not re.search(r"topk\(.*(_peak_|max_over_time)", shown.expr)


# 5. Legends.


@EACH_PANEL
def test_a_graph_has_a_legend_of_mean_max_and_last_sorted_by_max(name, panel):
    if panel["type"] != "timeseries":
        return
    legend = panel["options"]["legend"]
    many = any("topk(10" in target["expr"] for target in panel["targets"])

    assert legend["displayMode"] == "table"
    assert legend["placement"] == ("right" if many else "bottom")
    assert not many or panel["gridPos"]["w"] == 24
    assert legend["calcs"] == ["mean", "max", "lastNotNull"]
    assert (legend["sortBy"], legend["sortDesc"]) == ("Max", True)


@EACH_EXPRESSION
def test_no_raw_label_set_is_shown(shown):
    assert shown.legend or shown.panel["type"] == "table"


@EACH_EXPRESSION
def test_a_label_that_is_grouped_away_is_not_in_the_legend(shown):
    grouped = re.match(r"(?:sum|max|min|count) by \(([^)]*)\)", shown.expr)
    if grouped:
        kept = {label.strip() for label in grouped[1].split(",")}

        assert set(ours.legend_labels(shown.legend)) <= kept


@EACH_BOARD
def test_the_crosshair_is_shared(name):
    assert BOARDS[name]["graphTooltip"] == 1


# 6. Read up, write down.


@EACH_PANEL
def test_reads_and_writes_keep_their_colours_and_sides(name, panel):
    if panel["type"] != "timeseries":
        return
    by_pattern = {
        override["matcher"]["options"]: {one["id"]: one["value"] for one in override["properties"]}
        for override in panel["fieldConfig"]["overrides"]
    }
    read, write = by_pattern[READ], by_pattern[WRITE]
    mirrored = "writes down" in panel["title"] or panel["title"] == "Network throughput"

    assert read["color"]["fixedColor"] == "blue"
    assert write["color"]["fixedColor"] == "orange"
    assert ("custom.transform" in write) == mirrored
    assert panel["fieldConfig"]["defaults"]["custom"]["axisCenteredZero"] == mirrored


def styles(panel, legend, name):
    """The patterns that a line's legend meets, where everything in it that is a name is called so."""
    shown = re.sub(
        r"\{\{(instance|device|mount|name|volume|server|interface|export)\}\}", name, legend
    )
    shown = shown.replace("{{direction}}", "total").replace("{{operation}}", "COMMIT")
    overrides = [one["matcher"] for one in panel["fieldConfig"]["overrides"]]
    return [
        one["options"]
        for one in overrides
        if one["id"] == "byRegexp" and re.search(one["options"].strip("/"), shown)
    ]


@EACH_EXPRESSION
def test_a_name_that_holds_a_word_of_a_style_has_not_that_style(shown):
    for word in ("read", "write", "sent", "received", "limit"):
        for name in (f"{word}-master-1", f"/srv/{word}", f"10.0.0.4:/{word}"):
            assert styles(shown.panel, shown.legend, name) == styles(
                shown.panel, shown.legend, "db-01"
            )


@EACH_PANEL
def test_latencies_of_reads_and_writes_are_in_panels_of_their_own(name, panel):
    if "await_seconds{" in str(panel["targets"]):
        text = str(panel["targets"]).lower()

        reads = re.search(r'operation=("read"|~"read\|read_plus")', text)  # as NFS 4.2 may

        assert bool(reads) != ('operation="write"' in text)


# 7. Empty is a statement.


@EACH_EXPRESSION
def test_a_count_of_nothing_is_0(shown):
    if re.match(r"count\(", shown.expr):
        # Where nothing is known it is neither 0 nor green.
        judged = shown.panel["fieldConfig"]["defaults"]["thresholds"]["steps"][1:]
        assert re.search(r" or (vector\(0\)|0 \* count\([^()]+\))$", shown.expr)
        assert not (judged and shown.expr.endswith("vector(0)"))


@EACH_EXPRESSION
def test_nothing_is_filtered_by_not_being_0(shown):
    assert "!= 0" not in shown.expr


@EACH_PANEL
def test_an_empty_panel_says_so_in_words(name, panel):
    if panel["type"] != "state-timeline":  # those have a line of words: test_drawing_faults.py
        assert panel["fieldConfig"]["defaults"]["noValue"]


# 8. Every number leads on.


@EACH_BOARD
def test_links_go_to_boards_that_exist_and_keep_time_and_source(name):
    links = board_links(BOARDS[name]["panels"])

    assert links
    for target, rest in links:
        assert target in {board["uid"] for board in BOARDS.values()}
        assert "${__url_time_range}" in rest
        assert "var-datasource=${datasource}" in rest


@EACH_BOARD
def test_the_menu_leads_to_the_other_boards_and_keeps_time_and_source(name):
    menu = BOARDS[name]["links"]
    there = [
        re.fullmatch(r"/d/([\w-]+)(\?var-datasource=\$\{datasource\})?", one["url"]) for one in menu
    ]

    assert {found[1] for found in there} == {
        board["uid"] for other, board in BOARDS.items() if other != name
    }
    for one, found in zip(menu, there, strict=True):
        assert one["keepTime"]
        assert one["includeVars"] == (found[2] is None)
        assert one["includeVars"] == ("ioplateau-fleet" not in {found[1], BOARDS[name]["uid"]})


def board_links(node):
    """(uid, query) of every link to a dashboard below a node."""
    if isinstance(node, dict):
        return [link for value in node.values() for link in board_links(value)]
    if isinstance(node, list):
        return [link for value in node for link in board_links(value)]
    return re.findall(r"^/d/([^?]+)\?(.*)", node) if isinstance(node, str) else []


def test_links_set_variables_that_the_target_has():
    for board in BOARDS.values():
        for target, rest in board_links(board):
            (there,) = (one for one in BOARDS.values() if one["uid"] == target)
            known = {variable["name"] for variable in there["templating"]["list"]}

            assert set(re.findall(r"var-(\w+)=", rest)) <= known


def test_every_table_of_the_fleet_leads_to_a_vm_and_of_a_vm_to_its_parts():
    fleet, vm = json.dumps(BOARDS["fleet"]), json.dumps(BOARDS["vm"])

    assert "/d/ioplateau-vm?" in fleet
    assert "/d/ioplateau-disk?" in vm
    assert "/d/ioplateau-nfs?" in vm


def test_uids_are_fixed():
    assert {board["uid"] for board in BOARDS.values()} == {
        f"ioplateau-{name}" for name in ("fleet", "vm", "disk", "nfs", "volume")
    }


# 9. Variables.


@EACH_BOARD
def test_variables_come_in_order_and_are_used_and_only_the_fleet_has_all(name):
    board = BOARDS[name]
    variables = board["templating"]["list"]
    order = ["datasource", "instance", "device", "mount", "volume"]
    names = [variable["name"] for variable in variables]
    text = json.dumps(board["panels"])

    assert names == [one for one in order if one in names]
    assert names[0] == "datasource"
    for variable in variables[1:]:
        assert variable["multi"] == (name != "volume")
        assert variable.get("allValue") == (".+" if name == "fleet" else None)
        assert variable["includeAll"] == (name == "fleet")
        assert variable["refresh"] == 2
        # Grafana escapes what a pattern would read where more than one can be chosen only.
        sign = "=~" if variable["multi"] else "="
        assert f'{sign}\\"${variable["name"]}\\"' in text


@EACH_EXPRESSION
def test_variables_are_declared_and_matched_as_patterns_where_several_can_be_chosen(shown):
    several = {one["name"]: one["multi"] for one in BOARDS[shown.board]["templating"]["list"]}
    used = re.findall(r'(=~?)"\|?\$([a-z]+)"', shown.expr)

    assert {name for _, name in used} == set(re.findall(r"\$([a-z]+)\b", shown.expr))
    assert all(several[name] == (sign == "=~") for sign, name in used)


# 10. Events on the time axis, and what it is.


@EACH_PANEL
def test_every_panel_explains_itself(name, panel):
    assert len(panel["description"]) > 20
    assert panel["description"].endswith(".")


@EACH_BOARD
def test_throttling_and_alerts_are_marked_on_the_time_axis(name):
    names = [one["name"] for one in BOARDS[name]["annotations"]["list"]]

    # Where many VMs meet there would be nothing but marks.
    assert names == ([] if name == "fleet" else ["Throttled", "Critical alerts", "Warnings"])
    assert any(panel["type"] == "state-timeline" for panel in ours.panels(BOARDS[name]))


@EACH_BOARD
def test_a_board_opens_with_three_hours_and_does_not_refresh(name):
    board = BOARDS[name]

    assert board["time"] == {"from": "now-3h", "to": "now"}
    assert board["refresh"] == ""
    assert board["editable"] is False
    assert 37 <= board["schemaVersion"] <= 41


@EACH_BOARD
def test_nothing_needs_the_migrations_of_schemas_37_to_41(name):
    """37: legends say that they are shown; 38: styles of cells (tested above); 40: refresh is text;
    41: no list of spans beside the time picker.
    """
    board = BOARDS[name]
    legends = [panel["options"].get("legend") for panel in ours.panels(board)]

    assert all(legend["showLegend"] for legend in legends if legend is not None)
    assert isinstance(board["refresh"], str)
    assert board["timepicker"] == {}


# The files.


@EACH_BOARD
def test_the_committed_file_is_what_the_generator_writes(name):
    file = ROOT / "dashboards" / f"ioplateau-{name}.json"

    assert file.read_text(encoding="utf-8") == ours.board_text(BOARDS[name]), "make docs"


@EACH_BOARD
def test_ids_are_unique_and_no_panel_lies_on_another(name):
    board = ours.committed(name)
    inner = [below for panel in board["panels"] for below in panel.get("panels", ())]
    every = [*board["panels"], *inner]

    assert len({panel["id"] for panel in every}) == len(every)
    for level in (board["panels"], *(panel.get("panels", ()) for panel in board["panels"])):
        for one, other in combinations([panel["gridPos"] for panel in level], 2):
            apart = (
                one["x"] + one["w"] <= other["x"]
                or other["x"] + other["w"] <= one["x"]
                or one["y"] + one["h"] <= other["y"]
                or other["y"] + other["h"] <= one["y"]
            )
            assert apart, (one, other)
        assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in level)


@EACH_BOARD
def test_panels_fill_the_page_without_holes(name):
    board = BOARDS[name]
    for level in (board["panels"], *(panel.get("panels", ()) for panel in board["panels"])):
        places = [panel["gridPos"] for panel in level]
        top = min((place["y"] for place in places), default=0)
        bottom = max((place["y"] + place["h"] for place in places), default=0)

        assert sum(place["w"] * place["h"] for place in places) == 24 * (bottom - top)


@EACH_PANEL
def test_every_panel_asks_for_something_in_a_unit(name, panel):
    assert panel["targets"]
    assert isinstance(panel["fieldConfig"]["defaults"].get("unit", ""), str)


@EACH_PANEL
def test_what_a_number_is_drawn_like_is_said_of_one_that_is_asked_for(name, panel):
    if panel["type"] == "stat":
        matchers = [each["matcher"] for each in panel["fieldConfig"]["overrides"]]
        named = {each["options"] for each in matchers if each["id"] == "byName"}

        assert named <= {target["legendFormat"] for target in panel["targets"]}


@EACH_PANEL
def test_colours_that_are_told_in_words_begin_where_the_words_say(name, panel):
    for colour, percent in re.findall(r"(yellow|red) from (\d+) %", panel["description"]):
        steps = {
            step["color"]: step["value"]
            for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        }
        assert steps[colour] == int(percent) / 100


@EACH_EXPRESSION
def test_every_metric_shown_exists(shown):
    recorded = {record.name for record in RECORDS}

    assert ours.names_in(shown.expr) <= METRICS | recorded


@EACH_EXPRESSION
def test_every_label_that_is_matched_exists_on_its_metric(shown):
    known = {"instance", "job", "le", "alertname", "alertstate", "severity"}
    for metric, matchers in re.findall(r"\b(ioplateau_\w+)\{([^}]*)\}", shown.expr):
        labels = set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", matchers))

        assert labels <= known | set(LABELS[metric])


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: f"{alert.name} {alert.severity}")
def test_every_alert_leads_to_a_board_and_its_variables(alert):
    uid, rest = re.fullmatch(r"/d/([\w-]+)\?(.*)", alert.dashboard).groups()
    (board,) = (one for one in BOARDS.values() if one["uid"] == uid)
    known = {variable["name"] for variable in board["templating"]["list"]}

    assert set(re.findall(r"var-(\w+)=", rest)) <= known


def test_every_verdict_has_a_colour():
    assert set(COLOURS) == set(Word)


@pytest.mark.parametrize("kind", Kind)
def test_what_lifts_a_limit_is_said_in_the_words_of_its_alert(kind):
    words, _ = LIFTS[kind]
    of_kind = [
        alert.description
        for alert in ALERTS
        if "budget_throttled_seconds_total{" in alert.expr
        for kinds in re.findall(r'kind=~?"([\w|]+)"', alert.expr)[:1]
        if kind in kinds.split("|")
    ]

    assert any(text.endswith(f"{words}.") for text in of_kind)


def test_provisioning_names_the_type_and_a_path():
    there = ROOT / "dashboards" / "provisioning"

    assert "type: file" in (there / "dashboards.yml").read_text()
    assert "type: prometheus" in (there / "datasources.yml").read_text()
    assert Path(there / "dashboards.yml").read_text().startswith("# To /etc/grafana/provisioning")
