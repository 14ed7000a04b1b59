"""What the disk's page draws against a limit is what counts on that limit."""

import boards_and_rules as ours
from rule_stories import play, series, value

SDC = {"kind": "disk", "name": "sdc", "dimension": "iops", "direction": "total"}
KERNELS = "ioplateau_disk_operations_per_second"


def drawn(title):
    """The expressions of a panel, of all disks."""
    return [
        ours.substituted(shown.expr)
        for shown in ours.every_expression()
        if shown.board == "disk" and shown.panel["title"] == title
    ]


def test_a_rate_is_in_the_unit_of_its_limit_and_the_kernels_where_there_is_none(tmp_path):
    # Requests of 1 MiB, each of which counts as four.
    story = [
        series(KERNELS, "500x40", device="sdc", operation="read"),
        series(KERNELS, "70x40", device="sdd", operation="read"),
        series(KERNELS, "30x40", device="sdd", operation="write"),
        series("ioplateau_budget_limit_operations_per_second", "2000x40", **SDC),
        series("ioplateau_budget_utilization_ratio", "0.98x40", **SDC),
    ]
    counted, unlimited, limit = drawn("Operations against the limit")
    values = [
        value("5m", f"round(sum by (name) ({counted}))", ('{name="sdc"}', 1960)),
        value("5m", f"sum by (device) ({unlimited})", ('{device="sdd"}', 100)),
        value("5m", f"sum by (name) ({limit})", ('{name="sdc"}', 2000)),
    ]

    assert play(tmp_path, story, values=values) == ""
