"""What the pictures of docs/dashboards.md show: panels read as Grafana reads them."""

import math
import sys

import pytest

import boards_and_rules as ours
from boards_and_rules import BOARDS, ROOT

sys.path.insert(0, str(ROOT / "docs"))

from drawing.parts import COLOURS, Cell, Empty, Graph, Number, Table, written
from drawing.reader import READ, Reader, merged


class Answers:
    """A Prometheus that gives every expression the same series, a value each second."""

    begin, end, step = 1000.0, 1004.0, 1.0

    def __init__(self, labels, values=(1.0, 1.0, 1.0, 1.0, 1.0)):
        self.labels, self.values = labels, values

    def over_time(self, _expr):
        points = [
            (self.begin + second, value)
            for second, value in enumerate(self.values)
            if value is not None
        ]
        return [(self.labels, points)] if points else []

    def at_end(self, _expr):
        return [(labels, points[-1][1]) for labels, points in self.over_time(_expr)]


def panel_of(board, title):
    *_, found = (panel for panel in ours.panels(BOARDS[board]) if panel["title"] == title)
    return found


EVERY_LABEL = dict.fromkeys(
    {label for table in ours.LABELS.values() for label in table}
    | {"instance", "volume", "alertname", "alertstate"},
    "7",
) | {"alertstate": "firing"}


def test_every_panel_of_every_board_is_read_and_shows_something():
    reader = Reader(Answers(EVERY_LABEL))

    for name, panel in ours.every_panel():
        assert not isinstance(reader.shown(panel), Empty), (name, panel["title"])


def test_every_panel_without_an_answer_shows_its_own_words():
    reader = Reader(Answers({}, values=()))

    for _, panel in ours.every_panel():
        wanted = panel["fieldConfig"]["defaults"]["noValue"] if "fieldConfig" in panel else None
        assert reader.shown(panel) == Empty(wanted or "no alerts")


def test_a_type_of_panel_that_is_not_known_is_an_error():
    assert {panel["type"] for _, panel in ours.every_panel()} == set(READ)
    with pytest.raises(KeyError, match="heatmap"):
        Reader(Answers({})).shown({"type": "heatmap"})


def test_the_limit_is_dashed_and_red_and_the_rate_is_neither():
    panel = panel_of("disk", "Operations against the limit")
    shown = Reader(Answers({"instance": "db", "device": "sda", "name": "sda"})).shown(panel)
    rate, limit = shown.lines

    assert isinstance(shown, Graph)
    assert (rate.name, rate.dashed) == ("db sda", False)
    assert (limit.dashed, limit.colour) == (True, COLOURS["red"])
    assert rate.colour != limit.colour


def test_writes_are_below_the_axis():
    panel = panel_of("disk", "Throughput, reads up and writes down")
    shown = Reader(Answers({"operation": "write"})).shown(panel)

    assert [line.down for line in shown.lines] == [True]


def test_a_gap_in_the_answers_is_a_gap_in_the_line():
    panel = panel_of("disk", "Queue length")
    (line,) = Reader(Answers({}, values=(1.0, None, 3.0, 4.0, 5.0))).shown(panel).lines

    assert [math.isnan(value) for value in line.values] == [False, True, False, False, False]
    assert line.legend("short") == ("3.25", "5", "5")


def test_a_number_has_the_colour_of_its_threshold():
    panel = panel_of("disk", "Share of limit")
    shown = [Reader(Answers({}, values=(share,))).shown(panel)[0] for share in (0.5, 0.75, 0.995)]

    assert shown == [
        Number("50 %", COLOURS["green"], filled=True),
        Number("75 %", COLOURS["yellow"], filled=True),
        Number("99.5 %", COLOURS["red"], filled=True),
    ]


def test_a_state_lasts_until_the_next():
    panel = panel_of("disk", "Throttled")
    shown = Reader(Answers({"name": "sda"}, values=(0.0, 1.0, 1.0, 0.0, 0.0))).shown(panel)
    ((_, spans),) = shown.rows

    assert [(begin, end) for begin, end, _ in spans] == [(1000, 1001), (1001, 1003), (1003, 1004)]
    assert shown.words[1] == ("throttled", COLOURS["red"])


def test_an_episode_is_a_region_of_time():
    annotation = BOARDS["disk"]["annotations"]["list"][0]
    reader = Reader(Answers({}, values=(1.0, 1.0, None, None, 1.0)))

    assert reader.regions(annotation) == [(1000, 1001), (1004, 1004)]


def test_a_table_joins_the_answers_that_agree_in_their_labels():
    shown = Reader(Answers({"instance": "vm1", "volume": "a"}, values=(0.25,))).shown(
        panel_of("volume", "Clients")
    )

    assert isinstance(shown, Table)
    assert shown.headers[:3] == ["VM", "Volume", "Share of all clients"]
    assert [row[:3] for row in shown.rows] == [[Cell("vm1", linked=True), Cell("a"), Cell("25 %")]]
    assert merged([[{"vm": "1", "A": 1}, {"vm": "2", "A": 2}], [{"vm": "2", "B": 3}]]) == [
        {"vm": "1", "A": 1},
        {"vm": "2", "A": 2, "B": 3},
    ]


def test_variables_are_put_in_as_chosen_or_as_all():
    reader = Reader(Answers({}), {"instance": ("db-1", "db-2")})

    assert reader.put_in('rate(a{i=~"$instance",d=~"$device"}[$__rate_interval])') == (
        'rate(a{i=~"db-1|db-2",d=~".+"}[4s])'
    )
    assert reader.put_in("increase(a[$__range])") == "increase(a[4s])"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (500, "iops", "500 io/s"),
        (3500, "iops", "3.5k io/s"),
        (9_620_000, "Bps", "9.62 MB/s"),
        (262144, "bytes", "256 KiB"),
        (0.0125, "s", "12.5 ms"),
        (90, "s", "1.5 min"),
        (0.9954, "percentunit", "99.5 %"),
        (33.25, "percentunit", "3325 %"),
        (999.6, "short", "1k"),
        (0, "s", "0 s"),
    ],
)
def test_values_are_written_in_three_figures_with_their_unit(value, unit, text):
    assert written(value, unit) == text
