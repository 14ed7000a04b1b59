"""A recording carries where and with what it was made, and replays with the same words elsewhere."""

import gzip
import io
import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import Direction
from ioplateau.limits.claims import ConfiguredLimit, DiskFact, VmFact, VolumeFact
from ioplateau.limits.clouds.discover import Facts
from ioplateau.limits.topology import Rules
from ioplateau.run import provenance, recording
from ioplateau.run.provenance import Provenance
from ioplateau.run.replay import Replayed, replay

DISK = Path(__file__).parents[1] / "machines" / "disk_iops_p10" / "recording.jsonl.gz"
RULES = Rules(
    (ConfiguredLimit(disk="sda", iops=500.0, direction=Direction.TOTAL, source="x.toml limit[0]"),),
    (VolumeFact(mount="/a", service_level="Premium", quota_gib=4096.0, source="x.toml"),),
)
FACTS = Facts(
    VmFact("Standard_D8s_v5", source="x.toml"),
    (DiskFact(disk="sda", sku="P30", on_demand_burst=False),),
)
MADE = Provenance("vm17", "0.9", RULES, FACTS, 20.0, asks_cloud=False, learned=None)


def recorded(path, made, *, extra=None, is_plain=False):
    """The recorded machine, written again with where it was made."""
    header, snapshots = recording.read(DISK)
    with path.open("wb") as file:
        writer = recording.Writer(file, header.interval_seconds, made, is_plain=is_plain)
        for number, snapshot in enumerate(snapshots):
            more = {provenance.LIMITS: extra} if extra is not None and number == 2 else {}
            writer.write(snapshot._replace(blobs={**snapshot.blobs, **more}))
    return path


def words(path, settings=None):
    out = io.StringIO()
    replay(path, settings or EngineSettings(), "text", out)
    return out.getvalue()


def test_what_is_written_is_read_back(tmp_path):
    path = recorded(tmp_path / "a.jsonl.gz", MADE)

    assert recording.read(path)[0].provenance == MADE


def test_another_desk_says_the_same_words_with_date_and_host(tmp_path):
    there = words(DISK, EngineSettings(rules=RULES, facts=FACTS, rate_window_seconds=20.0))
    here = words(recorded(tmp_path / "a.jsonl.gz", MADE))

    assert here.splitlines()[0] == "recorded 2026-11-20 11:38:45 UTC on vm17 by ioplateau 0.9"
    assert here.splitlines()[1:] == there.splitlines()[1:]
    assert "500 IOPS, configured, x.toml limit[0]" in here


def test_a_configuration_of_this_desk_rules_over_the_recorded_one(tmp_path):
    other = Rules((ConfiguredLimit(disk="sda", iops=9999.0, source="here.toml"),))

    told = words(recorded(tmp_path / "a.jsonl.gz", MADE), EngineSettings(rules=other))

    assert "x.toml" not in told


def test_what_had_been_learned_is_taken_up(tmp_path):
    engine = Engine(EngineSettings())
    _, snapshots = recording.read(DISK)
    for snapshot in snapshots:
        engine.observe(snapshot)
    learned = json.loads(json.dumps(engine.memory()))
    path = recorded(tmp_path / "a.jsonl.gz", Provenance("vm17", "0.9", learned=learned))

    def begins(of):
        return next(
            number
            for number, state in enumerate(Replayed(of))
            if any(each.verdict.word == "throttled" for each in state.budgets.values())
        )

    assert begins(path) < begins(DISK)


def test_a_limit_that_was_another_where_it_was_recorded_is_told(tmp_path):
    there = [["disk", "sda", "iops", "total", 640.0, "P10, an older table"]]
    path = recorded(tmp_path / "a.jsonl.gz", MADE, extra=there)

    told = words(path)

    assert (
        "note: disk sda, iops total: recorded with 640 (P10, an older table), "
        "here 500 (x.toml limit[0])"
    ) in told


def test_plain_lines_are_the_same_recording(tmp_path):
    packed = words(recorded(tmp_path / "a.jsonl.gz", MADE))
    plain = recorded(tmp_path / "a.jsonl", MADE, is_plain=True)

    assert plain.read_bytes().startswith(b'{"header":1')
    assert words(plain) == packed


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"provenance": 7}, "found int, want an object"),
        ({"provenance": {"limits": 7}}, "limits: found int, want a list"),
        (
            {"provenance": {"limits": [{"disk": "sda", "iops": "many"}]}},
            "limits[0].iops: found 'many', want a number",
        ),
        (
            {"provenance": {"limits": [{"direction": "up"}]}},
            "limits[0].direction: found 'up', want one of",
        ),
        ({"provenance": {"limits": [{"iops": 0}]}}, "a rule has 0, want more than 0"),
        ({"provenance": {"disks": [{"size_gib": -4}]}}, "a rule has -4, want more than 0"),
        ({"provenance": {"volumes": [{}] * 1001}}, "found 1001 rules, want at most 1000"),
        ({"provenance": {"vm": {"size": 3}}}, "vm.size: found int, want text"),
        ({"provenance": {"vm": {}}}, "vm: no 'size' in it"),
        ({"provenance": {"host": ["x"]}}, "want text"),
        ({"provenance": {"rate_window_seconds": -1}}, "rate_window_seconds"),
        ({"provenance": {"learned": {"judge": 7}}}, "what had been learned"),
    ],
)
def test_what_makes_no_sense_is_told_and_left_out(tmp_path, change, why):
    path = tmp_path / "odd.jsonl.gz"
    with gzip.open(DISK, "rt") as file, gzip.open(path, "wt") as odd:
        header = json.loads(next(file))
        odd.write(json.dumps({**header, **change}) + "\n")
        odd.writelines(line for line, _ in zip(file, range(5), strict=False))
    said = []

    assert len(list(Replayed(path, left_out=said.append))) == 5
    assert len(said) == 1
    assert why in said[0]


@pytest.mark.parametrize("odd", [7, [7], [["disk"]], [["disk", "sda", "iops", "total", "x", 1]]])
def test_limits_that_make_no_sense_are_passed_over(odd):
    assert provenance.differences(odd, ()) == ()


def test_standard_output_and_input_take_a_recording(tmp_path):
    command = [sys.executable, "-m", "ioplateau"]
    made = subprocess.run(
        [*command, "record", "-", "--seconds", "1", "--no-cloud"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    told = subprocess.run(
        [*command, "replay", "-"], input=made.stdout, capture_output=True, check=True, timeout=60
    )

    assert made.stdout.startswith(b"\x1f\x8b")
    assert f"on {platform.node()} by ioplateau".encode() in told.stdout
    assert b"2 snapshots" in told.stdout
