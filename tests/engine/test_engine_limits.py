"""The fold and limits: disks nobody wants to see, learned limits beside known ones, credit."""

import pytest

from ioplateau.config.settings import DeviceSettings
from ioplateau.engine import Engine, EngineSettings, without_counts
from ioplateau.limits.budgets import BudgetKey, FlowKey, Kind, Origin, Word
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS, Snapshot, Static
from ioplateau.run.cataloguefiles import CatalogueFiles

STATIC = Static(block={name: {"size": "2048", "dev": "8:0"} for name in ("sda", "sdb")})
LANE = BudgetKey(Kind.VM_UNCACHED, "vm")
SDA, SDB = BudgetKey(Kind.DISK, "sda"), BudgetKey(Kind.DISK, "sdb")


def snapshot(second):
    text = "".join(
        f"   8 {minor} {name} {second * 100} 0 {second * 800} 10 0 0 0 0 0 10 10 0 0 0 0 0 0\n"
        for minor, name in ((0, "sda"), (16, "sdb"))
    )
    return Snapshot(
        mono=float(second),
        mono_end=float(second),
        wall=1e9 + second,
        boot=float(second),
        static=STATIC,
        texts={DISKSTATS: text.encode()},
    )


def folded(engine, first=0, last=12):
    for second in range(first, last):
        state = engine.observe(snapshot(second))
    return state


def test_a_disk_nobody_wants_to_see_still_draws_on_the_vm():
    hidden = DeviceSettings(exclude=("sdb",)).is_hidden
    rules = Rules([ConfiguredLimit(vm="uncached", iops=1000.0)])
    state = folded(Engine(EngineSettings(rules=rules, is_hidden=hidden)))
    lane = state.budgets[LANE]

    assert "sdb" not in state.disks
    assert SDB not in state.budgets
    assert lane.budget.members == (FlowKey("disk", "sda"), FlowKey("disk", "sdb"))
    assert lane.limits[0].utilization == pytest.approx(0.2)


def test_a_state_has_the_catalogue_that_its_machine_is_looked_up_in():
    first, second = CatalogueFiles(), CatalogueFiles()
    engine = Engine(EngineSettings(catalogue=first))
    before = folded(engine)
    engine.configure(EngineSettings(catalogue=second))
    after = folded(engine, 12, 14)

    assert before.catalogue is first
    assert after.catalogue is second


def test_a_disk_nobody_wants_to_see_is_not_told_to_be_held_at_its_limit():
    hidden = DeviceSettings(exclude=("sda",)).is_hidden
    rules = Rules([ConfiguredLimit(disk="sda", iops=500.0)])
    tick = reading(Engine(EngineSettings(rules=rules, is_hidden=hidden)))
    for _ in range(20):
        state = tick(500, 16)

    assert state.held == ()
    assert state.flow_throttled_seconds == {}


@pytest.mark.parametrize(("exclude", "chosen"), [("sda", "sda"), ("md0", "md0"), ("*", "sd*")])
def test_a_limit_of_disks_that_nobody_wants_to_see_is_said_to_be_of_those(exclude, chosen):
    hidden = DeviceSettings(exclude=(exclude,)).is_hidden
    rules = Rules([ConfiguredLimit(disk=chosen, iops=500.0, source="config.toml limit[1]")])
    engine = Engine(EngineSettings(rules=rules, is_hidden=hidden))
    for second in range(3):
        seen = snapshot(second)
        md0 = b"   9 0 md0 1 0 8 1 0 0 0 0 0 1 1\n"
        state = engine.observe(seen._replace(texts={DISKSTATS: seen.texts[DISKSTATS] + md0}))

    names = {"sd*": "sda and sdb are"}.get(chosen, f"{chosen} is")
    assert state.notices == (
        f"config.toml limit[1]: {names} left out by device.exclude: the limit is not told",
    )
    assert chosen not in [budget.key.name for budget in engine.budgets()]
    assert SDA not in [budget.key for budget in engine.budgets() if exclude != "md0"]


def test_a_limit_of_disks_of_which_some_are_shown_needs_no_words():
    hidden = DeviceSettings(exclude=("sdb",)).is_hidden
    rules = Rules([ConfiguredLimit(disk="sd*", iops=500.0)])

    assert folded(Engine(EngineSettings(rules=rules, is_hidden=hidden))).notices == ()


def test_hiding_a_disk_takes_effect_when_settings_are_taken():
    engine = Engine()
    before = folded(engine)
    engine.configure(EngineSettings(is_hidden=DeviceSettings(exclude=("sdb",)).is_hidden))
    after = folded(engine, 12, 14)

    assert "sdb" in before.disks
    assert "sdb" not in after.disks
    assert after.disks["sda"].window is not None


def with_learned(engine, *lines):
    memory = engine.memory()
    memory["accounts"]["learned"] = [list(line) for line in lines]
    engine.restore(memory, 0.0)
    return engine


def test_a_learned_limit_is_in_force_where_none_is_known():
    engine = with_learned(Engine(), ("disk", "sda", "iops", "total", 3200.0))
    state = folded(engine)

    assert [(one.limit.origin, one.effective) for one in state.budgets[SDA].limits] == [
        (Origin.LEARNED, 3200.0)
    ]
    assert state.notices == ()


def test_a_learned_limit_beside_another_claim_is_a_doubt_and_does_not_hold():
    rules = Rules([ConfiguredLimit(disk="sda", iops=5000.0, source="c limit[0]")])
    engine = with_learned(
        Engine(EngineSettings(rules=rules)), ("disk", "sda", "iops", "total", 3200.0)
    )
    state = folded(engine)
    explained = next(budget for budget in engine.budgets() if budget.key == SDA)

    assert [one.effective for one in state.budgets[SDA].limits] == [5000.0]
    assert state.notices == (
        (
            "disk sda: held at 3,200 IOPS, but configuration says 5,000 IOPS "
            "(c limit[0]): if that is wrong, say what it was sold with"
        ),
    )
    assert explained.rejected[0][1] == ("observation says 3,200, configuration says 5,000: 5,000")


def test_a_learned_limit_that_agrees_is_no_doubt():
    rules = Rules([ConfiguredLimit(disk="sda", iops=3300.0)])
    engine = with_learned(
        Engine(EngineSettings(rules=rules)), ("disk", "sda", "iops", "total", 3200.0)
    )

    assert folded(engine).notices == ()


def test_control_groups_that_were_left_out_are_told():
    blob = [{"notice": "control groups: 71 have limits, 64 are followed"}]
    found = Engine().observe(
        Snapshot(mono=1.0, mono_end=1.0, wall=1e9, static=Static(), blobs={"cgroups": blob})
    )

    assert "control groups: 71 have limits, 64 are followed" in found.notices
    assert found.sources["cgroups"].rejects == 0


def reading(engine):
    """A function that lets sda read at a rate, with so many requests at a time, and gives the state."""
    at = reads = waited = 0.0

    def tick(iops, depth, seconds=1.0):
        nonlocal at, reads, waited
        at, reads, waited = at + seconds, reads + iops * seconds, waited + depth * seconds * 1000
        line = f"8 0 sda {reads:.0f} 0 {reads * 8:.0f} {waited:.0f} 0 0 0 0 {depth}"
        line += f" {at * 1000:.0f} {waited:.0f} 0 0 0 0 0 0\n"
        return engine.observe(
            Snapshot(
                mono=at, mono_end=at, wall=1e9 + at, static=STATIC, texts={DISKSTATS: line.encode()}
            )
        )

    return tick


def held_at(iops, *told):
    """The first limit of sda after half a minute in which its requests waited at a rate."""
    tick = reading(Engine(EngineSettings(rules=Rules(limits=told))))
    for _ in range(5):
        tick(50, 1)
    for _ in range(30):
        state = tick(iops, 64)
    (limit,) = state.budgets[SDA].limits
    assert limit.throttled
    return limit


def test_the_tick_in_which_a_limit_in_force_changes_says_so():
    told = ConfiguredLimit(disk="sda", iops=1000.0)
    tick = reading(Engine(EngineSettings(rules=Rules(limits=(told,)))))
    states = [tick(50, 1) for _ in range(5)]
    states += [tick(500, 64) for _ in range(30)] + [tick(50, 1) for _ in range(10)]
    in_force = [state.budgets[SDA].limits[0].effective for state in states]
    changed = [
        number
        for number in range(1, len(states))
        if abs(in_force[number] / in_force[number - 1] - 1) > 0.02
    ]

    assert len(changed) == 2
    assert [number for number, state in enumerate(states) if state.moved] == changed
    assert {state.moved for state in states} == {(), (SDA,)}


def test_what_holds_is_a_share_of_what_was_sold_for_now():
    plain = ConfiguredLimit(disk="sda", iops=1000.0)
    bursting = plain._replace(burst_iops=3500.0, burst_seconds=1800.0)
    endless = plain._replace(burst_iops=3500.0)

    assert held_at(500, plain).held_ratio == pytest.approx(0.5)
    assert held_at(1000, plain).held_ratio == pytest.approx(1.0)
    assert held_at(500, bursting).held_ratio == pytest.approx(500 / 3500)
    assert held_at(1750, bursting).held_ratio == pytest.approx(0.5)
    assert held_at(1000, bursting).held_ratio == pytest.approx(1.0)  # it has no credit, then
    assert held_at(500, endless).held_ratio == pytest.approx(0.5)


def test_a_burst_of_credit_that_nobody_counts_is_the_limit_until_it_is_held_at_its_base():
    told = ConfiguredLimit(disk="sda", iops=1000.0, burst_iops=3500.0)
    tick = reading(Engine(EngineSettings(rules=Rules(limits=[told]))))
    for _ in range(5):
        state = tick(1750, 1)
    (free,) = state.budgets[SDA].limits
    held = held_at(1000, told)

    assert (free.effective, free.utilization) == (3500, pytest.approx(0.5, rel=0.01))
    assert held.effective == pytest.approx(1000)
    assert held.held_ratio == pytest.approx(1.0)


def test_a_burst_of_uncounted_credit_ends_with_the_credit_that_is_counted_beside_it():
    operations = ConfiguredLimit(disk="sda", iops=1000.0, burst_iops=3000.0, burst_seconds=5.0)
    data = ConfiguredLimit(disk="sda", bytes_per_second=128e6, burst_bytes_per_second=250e6)
    tick = reading(Engine(EngineSettings(rules=Rules(limits=[operations, data]))))
    states = [tick(2000, 1) for _ in range(20)]
    in_force = [[limit.effective for limit in one.budgets[SDA].limits] for one in states]

    assert in_force[2] == [3000, 250e6]
    assert [1000, 128e6] in in_force


def test_of_what_was_learned_nothing_was_sold():
    learned = held_at(500)

    assert learned.limit.origin is Origin.LEARNED
    assert learned.held_ratio is None


@pytest.mark.parametrize(
    ("starts_at", "rests_for", "is_killed", "episodes"),
    [(1000.0, 0, False, 1), (1000.0, 20, False, 2), (1.0, 0, False, 2), (1000.0, 0, True, 1)],
)
def test_an_episode_is_counted_once_where_its_verdict_goes_on_over_a_restart(
    starts_at, rests_for, is_killed, episodes
):
    told = EngineSettings(rules=Rules(limits=[ConfiguredLimit(disk="sda", iops=500.0)]))
    engine = Engine(told)
    tick = reading(engine)
    for _ in range(30):
        tick(500, 64)

    for _ in range(2):
        memory = engine.memory()
        engine = Engine(told)
        engine.restore(without_counts(memory) if is_killed else memory, 5.0)
        tick = reading(engine)
        tick(0, 0, starts_at)
        starts_at += 1000
    for _ in range(rests_for):
        tick(50, 1)
    for _ in range(30):
        state = tick(500, 64)

    (limit,) = state.budgets[SDA].limits
    assert limit.throttled
    assert limit.episodes == episodes


def test_a_burst_that_went_on_in_a_gap_says_nothing_of_how_much_credit_there_is():
    told = ConfiguredLimit(disk="sda", iops=500.0, burst_iops=3500.0, burst_seconds=1800.0)
    engine = Engine(EngineSettings(rules=Rules(limits=(told,))))
    tick = reading(engine)

    # Idle until it is full for certain, a burst of two minutes, 40 minutes nobody saw, then no credit is left.
    for seconds in [10.0] * 1100:
        tick(0, 0, seconds)
    for _ in range(120):
        tick(3500, 16)
    before = tick(3500, 16).budgets[SDA].limits[0].credit_ratio
    tick(3500, 16, 2400.0)
    for _ in range(60):
        state = tick(500, 64)

    assert before == pytest.approx(1 - 122 * 3000 / 5_400_000, abs=0.01)
    assert state.budgets[SDA].limits[0].credit_ratio == 0
    assert "set to empty" in " ".join(state.notices)
    assert "it holds" not in " ".join(state.notices)


def test_a_group_whose_counters_could_not_be_read_for_once_has_no_rate_then():
    engine = Engine()
    group = FlowKey("cgroup", "/batch")
    rates = []
    for second in range(1, 16):
        files = {"io.max": "8:0 rbps=max wbps=max riops=500 wiops=max\n"}
        if second != 10:
            done = 10**9 + 100 * second
            files["io.stat"] = (
                f"8:0 rbytes={4096 * done} wbytes=0 rios={done} wios=0 dbytes=0 dios=0\n"
            )
        said = snapshot(second)._replace(blobs={"cgroups": [{"path": "/batch", "files": files}]})
        rate = engine.observe(said).flows[group]
        rates.append(rate and rate.read_operations_per_second)

    assert rates == [None] + [100.0] * 8 + [None, None] + [100.0] * 4


def group_reading(*looks):
    """The states after looks at /batch: the second, its reads so far, and the seconds its tasks waited."""
    engine = Engine()
    for second, reads, waited in looks:
        total = f"total={waited * 1e6:.0f}"
        files = {
            "io.max": "8:0 riops=500\n",
            "io.stat": f"8:0 rbytes={reads * 4096} wbytes=0 rios={reads} wios=0\n",
            "io.pressure": f"some avg10=0 avg60=0 avg300=0 {total}\nfull avg10=0 avg60=0 avg300=0 {total}\n",
        }
        yield engine.observe(
            snapshot(second)._replace(blobs={"cgroups": [{"path": "/batch", "files": files}]})
        )


def test_what_a_group_does_is_told_by_the_second_however_far_apart_the_looks_are():
    *_, state = group_reading((1, 1000, 0), (3, 1200, 0))

    found = state.flows[FlowKey("cgroup", "/batch")]
    assert (found.read_operations_per_second, found.read_bytes_per_second) == (100.0, 409_600.0)


@pytest.mark.parametrize(
    "look", [pytest.param((2, 10, 0), id="made anew"), pytest.param((600, 200_000, 0), id="a gap")]
)
def test_a_group_that_began_to_count_anew_or_was_long_not_looked_at_has_no_rate(look):
    *_, state = group_reading((1, 100_000, 0), look)

    assert state.flows[FlowKey("cgroup", "/batch")] is None


def test_the_tasks_of_a_group_wait_no_longer_than_all_of_the_time():
    *_, state = group_reading(*((second, 500 * second, 1.4 * second) for second in range(10)))
    verdict = state.budgets[BudgetKey(Kind.CGROUP, "/batch")].verdict

    assert "its tasks waited 100% of the time" in verdict.sentence


def test_a_group_keeps_its_name_when_it_has_a_limit_on_another_disk_too():
    engine, one, other = Engine(), "8:0 riops=500\n", "7:0 riops=9\n"
    names = []
    for second, limits in enumerate([one] * 10 + [other + one] * 10 + [other] * 2):
        done = 10**9 + 500 * second
        files = {"io.max": limits, "io.stat": f"8:0 rios={done} rbytes={done}\n"}
        said = snapshot(second)._replace(blobs={"cgroups": [{"path": "/batch", "files": files}]})
        state = engine.observe(said)
        names.append({key.name for key in state.budgets if key.kind is Kind.CGROUP})
        if second == 19:
            verdict = state.budgets[BudgetKey(Kind.CGROUP, "/batch")].verdict

    assert names == [{"/batch"}] * 10 + [{"/batch", "/batch 7:0"}] * 10 + [{"/batch 7:0"}] * 2
    assert verdict.word is Word.THROTTLED
    assert verdict.since <= 5


@pytest.mark.parametrize(
    ("told", "first"), [({"bytes_per_second": 500 * 4096.0}, "/large"), ({"iops": 500.0}, "/many")]
)
def test_who_takes_most_of_what_is_limited_is_named_first(told, first):
    engine = Engine(EngineSettings(rules=Rules([ConfiguredLimit(disk="sda", **told)])))
    keys = ("group", "device", "read_bytes", "write_bytes", "reads", "writes")
    busiest = [("/large", "8:0", 20_000_000, 0, 20, 0), ("/many", "8:0", 2_000_000, 0, 580, 0)]
    groups = {
        "seconds": 2.0,
        "seen": 2,
        "busiest": [dict(zip(keys, each, strict=True)) for each in busiest],
        "device_bytes": {"8:0": 22_000_000},
        "device_requests": {"8:0": 600},
    }
    for at in range(30):
        line = f"8 0 sda {at * 500} 0 {at * 4000} {at * 64000} 0 0 0 0 64 {at * 1000} {at * 64000} "
        said = snapshot(at)._replace(
            texts={DISKSTATS: f"{line}0 0 0 0 0 0\n".encode()},
            blobs={"consumers": {"groups": groups, "processes": None, "refused": ""}},
        )
        state = engine.observe(said)

    assert state.budgets[SDA].verdict.word is Word.THROTTLED
    assert state.consumers[SDA].groups[0].name == first
