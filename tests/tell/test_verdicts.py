"""The line that replay prints for each snapshot."""

import json

import states
from ioplateau.limits.budgets import Dimension, Direction, Kind, Origin, Word
from ioplateau.tell import verdicts


def test_a_line_has_one_entry_for_each_budget():
    throttled = states.budget(
        Kind.DISK,
        "sda",
        word=Word.THROTTLED,
        since=870.0,
        dimension=Dimension.IOPS,
        direction=Direction.TOTAL,
        limit=500.0,
        origin=Origin.CONFIGURED,
        utilization=1.002,
        demand=1.5,
        evidence={"queue_length": 16.0, "limit_source": "config.toml limit[0]"},
    )
    state = states.state(budgets=states.by_key(throttled))

    assert json.loads(verdicts.line(state)) == {
        "mono": 1000.0,
        "wall": 1_700_000_000.0,
        "budgets": [
            {
                "kind": "disk",
                "name": "sda",
                "verdict": "throttled",
                "dimension": "iops",
                "direction": "total",
                "limit": 500.0,
                "origin": "configured",
                "since": 870.0,
                "utilization": 1.002,
                "demand": 1.5,
                "evidence": {"queue_length": 16.0, "limit_source": "config.toml limit[0]"},
            }
        ],
    }


def test_unknown_is_null():
    state = states.state(budgets=states.by_key(states.budget(Kind.DISK, "sda", word=Word.UNKNOWN)))

    (entry,) = json.loads(verdicts.line(state))["budgets"]
    assert entry["verdict"] == "unknown"
    assert [entry[key] for key in ("dimension", "limit", "origin", "utilization", "demand")] == [
        None
    ] * 5
    assert entry["evidence"] == {}


def test_budgets_are_sorted_by_kind_and_name():
    budgets = [states.budget(kind, name) for kind in (Kind.VOLUME, Kind.DISK) for name in "ba"]

    line = json.loads(verdicts.line(states.state(budgets=states.by_key(*budgets))))

    assert [(entry["kind"], entry["name"]) for entry in line["budgets"]] == [
        ("disk", "a"),
        ("disk", "b"),
        ("volume", "a"),
        ("volume", "b"),
    ]


def test_numbers_that_json_cannot_carry_are_null():
    odd = states.budget(
        Kind.DISK, "sda", utilization=float("inf"), evidence={"excess": float("nan")}
    )

    (entry,) = json.loads(verdicts.line(states.state(budgets=states.by_key(odd))))["budgets"]
    assert entry["utilization"] is None
    assert entry["evidence"] == {"excess": None}


def test_it_is_one_line_of_ascii_whatever_the_mount_is_called():
    odd = states.budget(Kind.VOLUME, '/mnt/"a\n\udcff ä')

    line = verdicts.line(states.state(budgets=states.by_key(odd)))

    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line)["budgets"][0]["name"] == '/mnt/"a\n\udcff ä'
