"""What the disk's page draws against a limit is what the kernel counts."""

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
