"""A control group with a block limit of its own: the verdict names the group, not the disk."""

import pytest

from live_daemon import running_daemon
from throttled_disk import ThrottledDisk

pytestmark = [pytest.mark.live, pytest.mark.alone]


def test_a_group_held_by_its_own_limit_is_named(tmp_path):
    with ThrottledDisk(read_iops=400) as disk, running_daemon("", tmp_path) as daemon:
        disk.load(depth=16, seconds=60)  # ends with the disk
        found = daemon.wait_until(
            lambda scrape: (
                1.0 in scrape.values("ioplateau_budget_throttled", kind="cgroup", dimension="iops")
            ),
            50,
            told="a throttled group",
        )
    held = [
        labels
        for labels in found.labels("ioplateau_budget_throttled", kind="cgroup")
        if found.value("ioplateau_budget_throttled", **labels) == 1
    ]

    assert len(held) == 1
    assert "ioplateau-" in held[0]["name"]
    assert held[0]["direction"] == "read"
    assert (
        found.value(
            "ioplateau_budget_limit_operations_per_second",
            kind="cgroup",
            name=held[0]["name"],
            direction="read",
        )
        == 400
    )
