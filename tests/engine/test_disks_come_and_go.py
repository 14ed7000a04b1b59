"""What is counted of the VM's limit over its disks while disks are attached and detached."""

import random

import pytest

from ioplateau.engine import Engine, EngineSettings
from ioplateau.history.history import History
from ioplateau.limits.budgets import BudgetKey, Kind, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS, Snapshot, Static
from ioplateau.tell import prometheus

LANE = BudgetKey(Kind.VM_UNCACHED, "vm")
STATIC = Static(block={name: {"size": "2048"} for name in ("sda", "sdb", "sdc")})
BUSY_FROM, ATTACHED, DETACHED, ALONE_FROM, SECONDS = 15, 50, 60, 70, 90


def reads_in(second, r):
    """Of each disk that is there: 1000 in all, by one of them or two; an idle third comes and goes."""
    if second < BUSY_FROM:
        return {"sda": 100, "sdb": 100}
    part = r.randrange(380, 620)
    if second >= ALONE_FROM:
        return {"sdb": 1000}
    idle = {"sdc": 0} if ATTACHED <= second < DETACHED else {}
    return idle | {"sda": part, "sdb": 1000 - part}


def texts():
    """Diskstats, each second: reads of 4 KiB that take 1 ms, then 32 ms."""
    counts, r = {name: [7, 7] for name in STATIC.block}, random.Random(3)
    for second in range(SECONDS):
        lines = []
        for name, reads in reads_in(second, r).items():
            counts[name][0] += reads
            counts[name][1] += reads * (32 if second >= BUSY_FROM else 1)
            done, waited = counts[name]
            queued = 16 if reads and second >= BUSY_FROM else 0
            busy = second * 1000
            lines.append(
                f" 8 {16 * ord(name[2])} {name} {done} 0 {done * 8} {waited} 0 0 0 0 {queued} {busy} {waited}\n"
            )
        yield "".join(lines).encode()


def since(state):
    return [
        line
        for line in prometheus.render(state).decode().splitlines()
        if line.startswith("ioplateau_budget_throttled_since_timestamp_seconds{")
        and f'kind="{LANE.kind}"' in line
    ]


@pytest.mark.parametrize("rules", [(), (ConfiguredLimit(vm="uncached", iops=1000.0),)])
def test_what_is_counted_of_the_vms_limit_goes_on_while_disks_come_and_go(rules):
    engine, history, states = Engine(EngineSettings(rules=Rules(rules))), History(), []
    for second, text in enumerate(texts()):
        at = float(second)
        snapshot = Snapshot(at, at, 1e9 + at, boot=at, static=STATIC, texts={DISKSTATS: text})
        states.append(engine.observe(snapshot))
        history.observe(states[-1])
    before, *after = [state.budgets[LANE] for state in states[ATTACHED - 1 :]]
    (episode,) = [each for each in history.episodes() if each.kind is LANE.kind]

    assert before.verdict.word is Word.THROTTLED
    assert {(each.verdict.word, each.verdict.since) for each in after} == {
        (before.verdict.word, before.verdict.since)
    }
    assert len(since(states[-1])) == 1
    assert {tuple(since(state)) for state in states[ATTACHED - 1 :]} == {tuple(since(states[-1]))}
    assert [
        each.limits[0].throttled_seconds - before.limits[0].throttled_seconds for each in after
    ] == [pytest.approx(1.0 + index) for index in range(len(after))]
    assert after[-1].limits[0].episodes == 1
    assert (episode.ended, episode.interruptions) == (None, 0)
