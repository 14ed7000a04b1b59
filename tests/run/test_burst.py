"""Burst credit through the whole path: a recorded disk that bursts, replayed by the command.

The disk's credit, as its README says: 178,500 operations above 500/s, at most 3,500/s, so
59.5 s of full burst; it began at 59.4 s and ended at 118.9 s of the machine's clock.
"""

import gzip
import json
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.limits.budgets import BudgetKey, Direction, Kind
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.run import recording, replay
from live_daemon import read_exposition

IOPLATEAU = Path(sys.executable).with_name("ioplateau")
MACHINE = Path(__file__).parent.parent / "machines/burst_then_base/recording.jsonl.gz"
BEGAN, ENDED = 59.4, 118.9
SDA = BudgetKey(Kind.DISK, "sda")
RULE = """
[[limit]]
disk = "sda"
iops = 500
burst_iops = 3500
burst_seconds = {seconds}
bytes_per_second = 100_000_000
"""


def run(tmp_path, file, *words, seconds=59.5):
    config = tmp_path / "burst.toml"
    config.write_text(RULE.format(seconds=seconds))
    done = subprocess.run(
        [IOPLATEAU, "replay", file, "--config.file", config, *words],
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    return done.stdout


def scraped_at(tmp_path, mono, **told):
    """What a scrape at this time of the machine's clock says: the recording ends there."""
    file = tmp_path / "until.jsonl.gz"
    with gzip.open(MACHINE, "rt") as whole, gzip.open(file, "wt") as cut:
        for number, line in enumerate(whole):
            if number and json.loads(line)["mono"] > mono:
                break
            cut.write(line)
    found = read_exposition(run(tmp_path, file, "--format", "metrics", **told))

    def value(metric):
        return found.value(f"ioplateau_budget_{metric}", kind="disk", name="sda", dimension="iops")

    return value


@pytest.mark.parametrize("mono", [69, 80, 100, 115])
def test_the_end_of_the_burst_is_foretold_within_five_percent(tmp_path, mono):
    foretold = mono + scraped_at(tmp_path, mono)("burst_exhaustion_seconds")

    assert foretold - BEGAN == pytest.approx(ENDED - BEGAN, rel=0.05)


def test_the_credit_is_that_which_was_not_spent_yet(tmp_path):
    value = scraped_at(tmp_path, 89)

    # About 29.6 of 59.5 s of burst are over.
    assert value("burst_credit_ratio") == pytest.approx(1 - 29.6 / 59.5, abs=0.02)


def test_the_limit_in_force_follows_the_credit(tmp_path):
    in_burst, after = scraped_at(tmp_path, 90), scraped_at(tmp_path, 150)

    assert in_burst("limit_operations_per_second") == 3500
    assert in_burst("utilization_ratio") == pytest.approx(1, abs=0.03)
    assert after("limit_operations_per_second") == 500
    assert after("utilization_ratio") == pytest.approx(1, abs=0.03)
    assert after("burst_credit_ratio") < 0.01
    # What was done in the burst was allowed then.
    assert after("peak_utilization_ratio") < 1.1


def test_a_right_bucket_needs_no_correction(tmp_path):
    assert "note: credit" not in run(tmp_path, MACHINE)


def test_a_bucket_told_too_large_is_corrected_and_that_is_said(tmp_path):
    told = run(tmp_path, MACHINE, seconds=100)

    assert re.search(
        r"note: credit of disk sda: held at its base of 500/s while the model had \d+% credit left",
        told,
    )


def test_a_bucket_told_too_small_learns_its_size(tmp_path):
    found = re.search(
        r"note: credit of disk sda: .* it holds ([\d,]+), not", run(tmp_path, MACHINE, seconds=30)
    )

    assert found is not None
    assert int(found[1].replace(",", "")) == pytest.approx(178_500, rel=0.05)


def engine():
    rule = ConfiguredLimit(
        disk="sda",
        iops=500.0,
        burst_iops=3500.0,
        burst_seconds=59.5,
        direction=Direction.TOTAL,
    )
    return Engine(EngineSettings(rules=Rules([rule])))


def test_credit_survives_a_restart_in_the_middle_of_a_burst():
    _, snapshots = recording.read(MACHINE)
    before, after = engine(), engine()
    for snapshot in snapshots:
        last = before.observe(snapshot)
        if snapshot.mono > 90:
            break
    after.restore(json.loads(json.dumps(before.memory())), 0.0)
    state = [after.observe(snapshot) for snapshot in islice(snapshots, 3)][-1]

    assert last.budgets[SDA].limits[0].credit_ratio == pytest.approx(0.49, abs=0.02)
    assert state.budgets[SDA].limits[0].credit_ratio == pytest.approx(0.45, abs=0.03)


def test_an_uninterrupted_replay_never_shows_more_than_all_or_less_than_no_credit():
    rules = Rules([ConfiguredLimit(disk="sda", iops=500.0, burst_iops=3500.0, burst_seconds=59.5)])
    ratios = [
        limit.credit_ratio
        for state in replay.Replayed(MACHINE, EngineSettings(rules=rules))
        for limit in state.budgets[SDA].limits
        if limit.credit_ratio is not None
    ]

    assert len(ratios) > 200
    assert 0 <= min(ratios) < 0.01
    assert max(ratios) == 1
