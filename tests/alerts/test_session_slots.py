"""Slots of a session (NFSv4.1 and newer), whose number nobody tells: from what a kernel says to the alert."""

import pytest

from ioplateau.engine import Engine
from ioplateau.limits.budgets import BudgetKey, Kind, Word
from ioplateau.measure.snapshot import MOUNTSTATS, Snapshot, Static
from ioplateau.tell import lifting
from ioplateau.tell.prometheus import render
from live_daemon import read_exposition
from nfs_texts import entry, record
from rule_stories import INTERVAL_SECONDS, expect, play, series

SLOTS = BudgetKey(Kind.NFS_SLOTS, "/mnt/a")
ALERT = "IoplateauNfsSlotsThrottled"
SECONDS = 600


def states(short_seconds):
    """Of each scrape, of a client that has two slots: its calls take 10 ms on the wire, and in so many seconds of
    each minute eight more wait for a slot.
    """
    engine, calls, queue, wire = Engine(), 0, 0, 0
    static = Static(mountinfo=entry("/mnt/a", "0:40"))
    for second in range(SECONDS + 1):
        is_short = second >= 30 and second % 60 < short_seconds
        rate = 200 if is_short else 100
        calls, wire = calls + rate, wire + rate * 10
        queue += 8_000 if is_short else 0
        operation = (
            f"READ: {calls} {calls} 0 {calls * 200} {calls * 4300} {queue} {wire} {queue + wire} 0"
        )
        text = record(
            header="device fs:/vol mounted on /mnt/a with fstype nfs4 statvers=1.1",
            age=str(1000 + second),
            octets=f"0 0 0 0 {calls * 4096} 0 0 0",
            connections=(f"tcp 0 0 2 0 0 {calls + 2 * is_short} {calls} 0 {calls} 0 9 0 0",),
            operations=(operation,),
        )
        state = engine.observe(
            Snapshot(
                mono=1000.0 + second, mono_end=1000.0 + second, wall=1e9 + second, boot=1000.0 + second,
                static=static, texts={MOUNTSTATS: text},
            )
        )  # fmt: skip
        if second % INTERVAL_SECONDS == 0:
            yield state


@pytest.mark.parametrize(("short_seconds", "is_told"), [(60, True), (24, True), (8, False)])
def test_a_client_of_41_that_is_short_of_slots_is_told(tmp_path, short_seconds, is_told):
    told = {}
    for scrape, state in enumerate(states(short_seconds)):
        for metric, labels, value in read_exposition(render(state).decode()).samples:
            if labels.get("kind") == "nfs_slots":
                values = told.setdefault((metric, *labels.items()), ["_"] * scrape)
                values.append(f"{value:g}")
    story = [
        series(metric, " ".join(values), **dict(labels))
        for (metric, *labels), values in told.items()
    ]

    said = play(tmp_path, story, [expect("10m", ALERT)])

    assert (
        "The NFS client behind /mnt/a of vm1:10049 was held at its limit for" in said
    ) is is_told
    assert (said == "") is not is_told


def test_more_slots_of_the_session_lift_it():
    *_, state = states(60)
    budget = state.budgets[SLOTS]
    assert budget.verdict.word is Word.THROTTLED
    assert not budget.limits

    four, *_ = lifting.of_budget(state, budget)

    assert four.action.startswith("4 times as many session slots")
    assert four.gives == pytest.approx(800, rel=0.01)
