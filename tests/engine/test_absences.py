"""What an earlier run knew of what is not there waits for a day, in bounded number."""

import json

import pytest

from ioplateau.engine import Engine, without_counts
from ioplateau.engine.absences import MOST_AWAITED, MOST_GONE_SECONDS, MOST_SECONDS, Absences
from ioplateau.limits.budgets import BudgetKey, Kind
from ioplateau.measure.snapshot import DISKSTATS, Snapshot, Static

SDC = BudgetKey(Kind.DISK, "sdc")
HOUR, DAY = 3600.0, 86400.0


def run(seconds, before=None, away_seconds=5.0, names=(), operations=500, outstanding=32, step=1):
    """The engine and its last state after a run with disks of one size, whose only mark that is."""
    engine = Engine()
    if before is not None:
        engine.restore(json.loads(json.dumps(before.memory())), away_seconds)
    static = Static(block={name: {"size": "2048000", "dev": "8:32"} for name in ("sda", *names)})
    for second in range(1, seconds + 1):
        lines = [
            f"8 32 {name} {second * operations} 0 {second * operations * 8} {second * 1000 * outstanding}"
            f" 0 0 0 0 {outstanding} {second * 1000} {second * 1000 * outstanding} 0 0 0 0 0 0\n"
            for name in names
        ]
        at = float(second * step)
        state = engine.observe(
            Snapshot(
                mono=at, mono_end=at, wall=1e9 + at, static=static,
                texts={DISKSTATS: "".join((*lines, "8 0 sda 5 0 40 5 0 0 0 0 0 5 5 0 0 0 0 0 0\n")).encode()},
            )
        )  # fmt: skip
    return engine, state


def learned(state):
    return [round(line.limit.value, -1) for line in state.budgets[SDC].limits]


def observed(engine):
    """All that is kept, but for what is counted."""
    return json.dumps(without_counts(engine.memory()))


def test_a_disk_that_is_away_for_a_run_is_known_when_it_comes_back():
    first, state = run(90, names=("sdc",))
    assert learned(state) == [500]

    without, _ = run(60, first)
    _, state = run(3, without, names=("sdc",))

    before, after = (each.memory()["judge"]["disks"] for each in (first, without))
    assert before["cases"]["disk:sdc"] == after["cases"]["disk:sdc"]
    assert before["senses"]["disk:sdc"] == after["senses"]["disk:sdc"]
    assert learned(state) == [500]


@pytest.mark.parametrize(("away_seconds", "kept"), [(20 * HOUR, [500]), (25 * HOUR, [])])
def test_what_comes_after_more_than_a_day_is_another_disk(away_seconds, kept):
    engine, _ = run(90, names=("sdc",))

    for _ in range(2):
        engine, _ = run(60, engine, away_seconds / 2)
    engine, _ = run(1, engine, away_seconds / 2)
    _, state = run(3, engine, names=("sdc",), operations=100, outstanding=1)

    assert learned(state) == kept
    assert ("sdc" in observed(engine)) == bool(kept)


def test_a_run_that_lasts_for_a_day_forgets_what_does_not_come():
    engine, _ = run(90, names=("sdc",))

    engine, _ = run(150, engine, step=600)

    assert "sdc" not in observed(engine)


def test_however_long_the_machine_was_off_a_disk_that_is_there_again_is_known():
    engine, _ = run(90, names=("sdc",))

    _, state = run(3, engine, 30 * DAY, names=("sdc",), operations=100, outstanding=1)

    assert learned(state) == [500]


def test_what_is_kept_does_not_grow_with_runs_that_each_see_others():
    engine, sizes = None, []
    for day in range(12):
        names = [f"sd{day}n{number}" for number in range(40)]
        engine, _ = run(3, engine, 60.0, names=names)
        sizes.append(len(engine.memory()["judge"]["disks"]["senses"]))

    assert max(sizes) <= 40 + 40 + MOST_AWAITED + 1
    assert sizes[-1] == sizes[-2]


def test_of_too_many_those_go_that_were_away_for_longest():
    absences = Absences()
    names = [f"a{number}" for number in range(MOST_AWAITED + 2)]
    absences.restore({name: float(at) for at, name in enumerate(names)}, 10.0)

    assert absences.over([*names, "new"]) == {*names[-2:]}


def test_runs_and_the_time_between_them_count_together():
    absences = Absences()
    absences.restore({"a": MOST_SECONDS - 100.0}, 60.0)
    assert absences.is_due(1.0)
    assert absences.over(["a", "b"]) == set()

    assert not absences.is_due(30.0)
    assert absences.memory(["a", "b"]) == {"a": MOST_SECONDS - 9.0, "b": 31.0}
    assert absences.is_due(10.0)
    assert absences.over(["a", "b"]) == {"a"}


def test_what_went_in_this_run_waits_for_a_minute_and_leaves_nothing_behind():
    absences = Absences()
    absences.is_due(5000.0)
    absences.wait_for({"a", "b"})
    absences.rename({"b": "c"})

    assert not absences.is_due(MOST_GONE_SECONDS - 1)
    assert absences.is_due(1.0)
    assert absences.over(["a", "c", "d"]) == {"a", "c"}
    assert absences.memory(["a", "c"]) == {"a": 5060.0, "c": 5060.0}


def test_a_memory_of_before_this_was_kept_is_read():
    engine, _ = run(90, names=("sdc",))
    memory = engine.memory()
    del memory["awaited"]

    after = Engine()
    after.restore(memory, 5.0)

    assert after.memory()["awaited"] == {"sda": 0.0, "sdc": 0.0, "vm": 0.0}
