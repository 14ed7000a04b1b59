"""Faults that were seen when Grafana drew the boards: none is there, and each would be found."""

import copy
import json

import pytest

import boards_and_rules as ours
import drawing_faults as faults
from boards_and_rules import BOARDS


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("name", BOARDS)
def test_a_board_has_no_drawing_fault(name, fault):
    assert list(fault(ours.committed(name))) == []


def changed(board, change):
    """A copy of a board whose panels (and what is around them) a function changed."""
    spoilt = copy.deepcopy(BOARDS[board])
    change(spoilt)
    return spoilt


def panel(board, title):
    return next(one for one in ours.panels(board) if one["title"] == title)


def defaults(board, title):
    return panel(board, title)["fieldConfig"]["defaults"]


def coloured_by_thresholds(board):
    defaults(board, "Throttled")["color"] = {"mode": "thresholds"}


def no_value_of_bands(board):
    defaults(board, "Throttled")["noValue"] = "no limit is known, so none can bind"


def no_words_for_nothing(board):
    panel(board, "Throttled")["targets"].pop()


def alert_list(board):
    panel(board, "Share of limit").update(type="alertlist", options={"datasource": "${datasource}"})


def painted_null(board):
    defaults(board, "Share of limit")["mappings"] = []


def painted_null_in_a_column(board):
    defaults(board, "Every VM")["mappings"] = []


def painted_null_without_words(board):
    defaults(board, "Share of limit")["mappings"][0]["options"]["result"]["text"] = ""


def stray_value(board):
    table = panel(board, "What the kernel says")
    table["transformations"][-1]["options"]["excludeByName"] = {"Time": True, "Value #A": True}


def many_regions(board):
    board["annotations"]["list"][0]["expr"] = (
        "max by (instance, name) (ioplateau_budget_throttled) == 1"
    )


def short_steps(board):
    board["annotations"]["list"][0]["step"] = "15s"


def loud_alerts(board):
    board["annotations"]["list"][1]["enable"] = True


def empty_label(board):
    (target,) = panel(board, "Size")["targets"]
    target["expr"] = "max by (size) (ioplateau_budget_info)"


def hard_maximum(board):
    defaults(board, "Share of limit")["max"] = 1


def edge_of_the_axis(board):
    defaults(board, "Burst credit left")["custom"]["axisSoftMax"] = 1


def range_as_a_line(board):
    panel(board, "Queue length")["targets"][0]["expr"] = "increase(a_total[$__range])"


def fraction_of_a_count(board):
    panel(board, "Episodes")["targets"][0]["expr"] = "max(increase(a_total[$__range]))"


def all_by_default(board):
    board["templating"]["list"][1].update(includeAll=True, current={"text": ["All"]})


def menu_that_keeps_all(board):
    board["links"][0]["includeVars"] = True


@pytest.mark.parametrize(
    ("fault", "name", "change"),
    [
        (faults.bands_coloured_by_thresholds, "disk", coloured_by_thresholds),
        (faults.bands_without_words_for_nothing, "disk", no_value_of_bands),
        (faults.bands_without_words_for_nothing, "disk", no_words_for_nothing),
        (faults.variables_that_are_never_replaced, "disk", alert_list),
        (faults.coloured_nulls, "disk", painted_null),
        (faults.coloured_nulls, "disk", painted_null_without_words),
        (faults.coloured_nulls, "fleet", painted_null_in_a_column),
        (faults.stray_value_columns, "disk", stray_value),
        (faults.heavy_annotations, "disk", many_regions),
        (faults.heavy_annotations, "disk", short_steps),
        (faults.heavy_annotations, "disk", loud_alerts),
        (faults.texts_of_empty_labels, "vm", empty_label),
        (faults.hard_ends_of_shares, "disk", hard_maximum),
        (faults.hard_ends_of_shares, "disk", edge_of_the_axis),
        (faults.ranges_drawn_as_lines, "disk", range_as_a_line),
        (faults.unrounded_counts, "disk", fraction_of_a_count),
        (faults.everything_by_default, "disk", all_by_default),
        (faults.menus_that_hand_on_everything, "fleet", menu_that_keeps_all),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_a_drawing_fault_would_be_found(fault, name, change):
    assert list(fault(changed(name, change)))


def test_a_spoilt_copy_leaves_the_board_as_it_is():
    before = json.dumps(BOARDS["disk"])
    changed("disk", painted_null)

    assert json.dumps(BOARDS["disk"]) == before
