"""A state file that something happened to: all of it is taken up, or nothing."""

import copy
import json
from random import Random

import pytest

from damage import MACHINES, damaged_json
from ioplateau.engine import Engine
from ioplateau.engine.fold import parse_memory
from ioplateau.run import recording, statetext
from ioplateau.tell import page, prometheus, verdicts, view

RECORDINGS = ("burst_then_base", "nfs_two_mounts", "vm_group_d4s")


def snapshots(name):
    _, found = recording.read(MACHINES / name / "recording.jsonl.gz")
    return list(found)


@pytest.fixture(scope="module")
def told():
    """Memories of machines, with all that a memory may have in it."""
    found = []
    for name in RECORDINGS:
        engine = Engine()
        for snapshot in snapshots(name):
            engine.observe(snapshot)
        memory = json.loads(json.dumps(engine.memory()))
        place = ["disk", "sdc", "iops", "total"]
        accounts = memory["accounts"]
        accounts["meters"] += [[*place, 12.5, 3]]
        accounts["learned"] += [[*place, 500.0]]
        accounts["flows"] += [["disk", "sdc", *place[:3], 12.5]]
        bucket = {"base": 500.0, "burst": 3500.0, "capacity": 5e6, "level": 4e6}
        accounts["credits"] += [[*place, {**bucket, "least": 0.0, "most": 5e6, "told": 5e6}]]
        found.append(memory)
    return found


def test_what_an_engine_remembers_is_what_an_engine_takes_up(told):
    for memory in told:
        engine = Engine()
        engine.restore(memory, 5.0)

        assert engine.memory()["accounts"]["learned"] == memory["accounts"]["learned"]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("accounts", "learned", -1, 4), float("nan")),
        (("accounts", "learned", -1, 4), 0.0),
        (("accounts", "learned", -1, 1), 7),
        (("accounts", "meters", -1, 5), 10**400),
        (("accounts", "credits", -1, 4, "level"), 1e300),
        (("judge",), None),
        (("judge", "disks", "senses"), []),
        (("judge", "disks", "cases"), {"disk:sda": {"plateau": []}}),
        (("judge", "mounts", "senses"), {"nfs:/a": {"floors": [["a", 1, 2, 3, 4, 5]]}}),
        (
            ("judge", "mounts", "senses"),
            {"nfs:/a": {"floors": [], "rtt_floors": [], "alone": [[50, 9, 1e3, 0]]}},
        ),
    ],
)
def test_one_wrong_value_and_nothing_is_taken_up(told, place, value):
    memory = copy.deepcopy(told[0])
    holder = memory
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value
    engine = Engine()
    with pytest.raises(ValueError, match="memory"):
        engine.restore(memory, 5.0)

    assert engine.memory() == Engine().memory()


def survived(memory, ticks, random):
    """Start with this file, as the daemon does, and see what it makes of some ticks."""
    engine = Engine()
    text = damaged_json({"format": 1, "wall": 1e9, "memory": memory}, random)
    was_taken = True
    try:
        known = statetext.read(text, 1e9 + 60)
        engine.restore(known.memory, known.away_seconds)
    except (ValueError, RecursionError):
        was_taken = False
    for snapshot in ticks:
        state = engine.observe(snapshot)
    verdicts.line(state)
    page.page(view.of(state), page.Around())
    for line in prometheus.render(state).decode().splitlines():
        assert line.startswith("#") or not line.endswith(("Inf", "NaN")), line
    parse_memory(json.loads(json.dumps(engine.memory(), allow_nan=False)))
    return was_taken


@pytest.mark.slow
def test_a_thousand_damaged_files_end_nothing_and_publish_no_infinity(told):
    random = Random(20261122)
    machines = [snapshots(name)[40:46] for name in RECORDINGS]
    outcomes = [survived(told[number % 3], machines[number % 3], random) for number in range(1000)]

    assert 200 < outcomes.count(True) < 900  # else the damage was too little, or too much
