"""What the disk's page draws against a limit is what the kernel counts, and its bands forget nothing."""

import pytest

import boards_and_rules as ours
from rule_stories import VM, growing, play, series, value

SDC = {"kind": "disk", "name": "sdc", "dimension": "iops", "direction": "total"}
KERNELS = "ioplateau_disk_operations_per_second"


def drawn(title, interval="15s", board="disk", of=""):
    """The expressions of a panel that read such a metric, of all disks, at points so far apart."""
    return [
        ours.substituted(shown.expr.replace("$__interval", interval))
        for shown in ours.every_expression()
        if (shown.board, shown.panel["title"]) == (board, title) and of in shown.expr
    ]


def test_the_kernels_rate_is_drawn_whatever_share_of_the_limit_it_is(tmp_path):
    # A host's cache answers nearly all, and the limit steps.
    story = [
        series(KERNELS, "500x40", device="sdc", operation="read"),
        series(KERNELS, "100x40", device="sdc", operation="write"),
        series("ioplateau_budget_limit_operations_per_second", "3500x20 500x20", **SDC),
        series("ioplateau_budget_utilization_ratio", "0.02x40", **SDC),
    ]
    rate, limit = drawn("Operations against the limit")
    values = [
        value("5m", f"sum by (device) ({rate})", ('{device="sdc"}', 600)),
        value("6m", f"sum by (device) ({rate})", ('{device="sdc"}', 600)),
        value("6m", f"sum by (name) ({limit})", ('{name="sdc"}', 500)),
    ]

    assert play(tmp_path, story, values=values) == ""


def test_a_band_is_red_where_something_was_held_back_between_two_points(tmp_path):
    throttled = "ioplateau_budget_throttled"
    story = [series(throttled, "0x4 1x8 0x27", **SDC)]
    rare, _ = drawn("Throttled", "10m")
    often, _ = drawn("Throttled")
    at_once, _ = drawn("Throttled", "1s")
    name = "{" + ",".join(f'{key}="{label}"' for key, label in sorted((VM | SDC).items())) + "}"
    values = [
        value("9m", rare.replace("@ end()", "").replace("[5m]", "[10m]"), (name, 1)),
        value("2m5s", often.replace("@ end()", ""), (name, 1)),
        value("2m5s", at_once.replace("@ end()", ""), (name, 1)),
        value("5m", often.replace("@ end()", ""), (name, 0)),
    ]

    assert play(tmp_path, story, values=values) == ""


@pytest.mark.parametrize(
    ("board", "title", "seconds_between"),
    [
        ("disk", "Time throttled", 15),
        ("vm", "Time throttled", 15),
        ("vm", "Disks", 15),
        ("fleet", "Every VM", 60),
    ],
)
def test_the_times_of_two_limits_that_take_turns_are_added(tmp_path, board, title, seconds_between):
    seconds = "ioplateau_budget_throttled_seconds_total"
    story = [
        series(seconds, growing(0.4, 20), **SDC),
        series(seconds, growing(0.5, 20), **SDC | {"dimension": "throughput"}),
    ]
    (shown,) = drawn(title, board=board, of="throttled_seconds")
    values = [value("9m30s", f"round(max({shown}))", ("{}", 0.9 * 300))]

    assert play(tmp_path, story, values=values, evaluated_each_seconds=seconds_between) == ""
