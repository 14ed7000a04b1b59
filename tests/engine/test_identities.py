"""Another disk, or another server, under a name: nothing that was learned is held against it. The same one under
another name: it is.
"""

import pytest

from ioplateau.engine import Engine, EngineSettings, without_counts
from ioplateau.engine.absences import MOST_GONE_SECONDS
from ioplateau.engine.identities import Identities, SavedIdentity
from ioplateau.limits.budgets import BudgetKey, Dimension, FlowKey, Kind
from ioplateau.limits.claims import ConfiguredLimit
from ioplateau.limits.topology import Rules
from ioplateau.measure.snapshot import DISKSTATS, MOUNTSTATS, Snapshot, Static
from nfs_texts import entry, record

SDC, VOLUME = BudgetKey(Kind.DISK, "sdc"), BudgetKey(Kind.VOLUME, "/a")
A, B = FlowKey("disk", "a"), FlowKey("disk", "b")


class Machine:
    """One disk or mount, that does so many operations with so many outstanding, second by second."""

    def __init__(self, engine, make):
        self.engine, self.make = engine, make
        self.at, self.done, self.waited = 0, 0, 0

    def run(self, operations, outstanding, seconds):
        for _ in range(seconds):
            self.at += 1
            self.done += operations
            self.waited += 1000 * outstanding
            state = self.engine.observe(
                Snapshot(
                    mono=float(self.at), mono_end=float(self.at), wall=1e9 + self.at,
                    **self.make(self.done, self.waited, outstanding, self.at),
                )
            )  # fmt: skip
        return state


def disk(wwid, name="sdc", beside=(), **more):
    """It, and beside it names and wwids of disks that rest; name None: it is not there."""
    about = {"size": "2048000", "dev": "8:32", "wwid": wwid, **more}
    others = {other: {"size": "2048000", "dev": "8:48", "wwid": its} for other, its in beside}
    static = Static(block={**others, **({name: about} if name else {})})

    def make(done, waited, outstanding, at):
        line = (
            f"8 32 {name} {done} 0 {done * 8} {waited} 0 0 0 0 {outstanding} {at * 1000} {waited}"
        )
        lines = [f"8 48 {other} 1 0 8 1 0 0 0 0 0 1 1" for other in others]
        text = "".join(f"{each} 0 0 0 0 0 0\n" for each in (*lines, *([line] if name else ())))
        return {"static": static, "texts": {DISKSTATS: text.encode()}}

    return make


def mount(source, device, at="/a"):
    point, static = at, Static(mountinfo=entry(at, device, of=source))

    def make(done, waited, outstanding, at):
        each = f"{done} {done}"
        text = record(
            header=f"device {source} mounted on {point} with fstype nfs4 statvers=1.1",
            age=str(at),
            octets=f"0 0 0 0 {done * 4096} 0 0 0",
            connections=(f"tcp 0 0 1 0 0 {each} 0 {done * outstanding} 0 64 0 0",),
            operations=(f"READ: {each} 0 {done * 200} {done * 4300} 0 {waited} {waited} 0",),
        )
        return {"static": static, "texts": {MOUNTSTATS: text}}

    return make


def learned(state, key):
    return [round(line.limit.value, -1) for line in state.budgets[key].limits]


@pytest.mark.parametrize(("wwid", "kept"), [("naa.1", [500]), ("naa.2", [])])
def test_after_a_restart_a_limit_is_held_against_the_disk_that_it_was_learned_of(wwid, kept):
    before = Engine()
    first = Machine(before, disk("naa.1"))
    first.run(100, 1, 30)
    assert learned(first.run(500, 32, 60), SDC) == [500]

    after = Engine()
    after.restore(before.memory(), 120.0)
    assert learned(Machine(after, disk(wwid)).run(100, 1, 10), SDC) == kept
    assert bool(
        after.memory()["judge"]["disks"]["cases"]["disk:sdc"]["plateau"]["ceilings"]["iops"]
    ) == bool(kept)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ({"dm/name": "vg-a", "diskseq": "9"}, {"dm/name": "vg-b", "diskseq": "9"}, [500]),
        ({"dm/name": "vg-a", "diskseq": "9"}, {"dm/name": "vg-b", "diskseq": "10"}, []),
        ({"dm/name": "vg-a"}, {"dm/name": "vg-b"}, []),
        ({"diskseq": "9"}, {"diskseq": "9", "size": "4096000"}, [500]),
    ],
)
def test_a_disk_that_is_renamed_or_grown_is_the_same_disk(before, after, kept):
    machine = Machine(Engine(), disk("", **before))
    machine.run(100, 1, 30)
    assert learned(machine.run(500, 32, 60), SDC) == [500]

    machine.make = disk("", **after)
    renamed = machine.run(100, 1, 1)
    assert (SDC in renamed.budgets) == bool(kept)
    assert learned(machine.run(100, 1, 5), SDC) == kept


@pytest.mark.parametrize(("source", "kept"), [("one:/vol", [1000]), ("two:/other", [])])
def test_another_server_mounted_on_a_path_between_two_ticks_has_no_limit_yet(source, kept):
    engine = Engine()
    machine = Machine(engine, mount("one:/vol", "0:40"))
    machine.run(200, 1, 30)
    assert learned(machine.run(1000, 32, 60), VOLUME) == [1000]

    machine.make, machine.done, machine.waited = mount(source, "0:41"), 0, 0
    assert learned(machine.run(100, 1, 5), VOLUME) == kept


def learned_of_a_disk(before):
    """The memory of a run in which a limit of 500 was learned of what `before` makes."""
    engine = Engine()
    machine = Machine(engine, before)
    machine.run(100, 1, 30)
    assert learned(machine.run(500, 32, 60), SDC) == [500]
    return engine.memory()


def limited(state):
    return [key.name for key, budget in state.budgets.items() if budget.limits]


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (disk("naa.1"), disk("naa.1", "sdd"), "sdd"),
        (
            disk("naa.1", beside=[("sdb", "naa.2")]),
            disk("naa.1", "sdb", beside=[("sdc", "naa.2")]),
            "sdb",
        ),
        (disk("naa.1", beside=[("sdd", "")]), disk("naa.1", "sdd", beside=[("sdc", "")]), "sdd"),
        (disk("", **{"dm/name": "vg-a"}), disk("", "dm-4", **{"dm/name": "vg-a"}), "dm-4"),
    ],
)
def test_what_was_learned_of_a_disk_goes_with_it_to_another_name(before, after, name):
    engine = Engine()
    engine.restore(learned_of_a_disk(before), 120.0)
    state = Machine(engine, after).run(100, 1, 10)

    assert learned(state, BudgetKey(Kind.DISK, name)) == [500]
    assert limited(state) == [name]
    ceilings = {
        key: case["plateau"]["ceilings"].get("iops")
        for key, case in engine.memory()["judge"]["disks"]["cases"].items()
    }
    assert [key for key, found in ceilings.items() if found] == [f"disk:{name}"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (disk("naa.1", beside=[("sdb", "naa.1")]), disk("naa.1", "sdd")),
        (disk("naa.1"), disk("naa.1", "sdd", beside=[("sde", "naa.1")])),
        (disk(""), disk("", "sdd")),
    ],
)
def test_nothing_is_handed_over_where_several_disks_may_be_meant(before, after):
    engine = Engine()
    engine.restore(learned_of_a_disk(before), 120.0)

    assert limited(Machine(engine, after).run(100, 1, 10)) == []


def test_what_was_learned_of_a_disk_waits_for_it_while_another_has_its_name():
    memory = learned_of_a_disk(disk("naa.1"))
    for _ in range(2):
        engine = Engine()
        engine.restore(memory, 120.0)
        machine = Machine(engine, disk("naa.2"))
        assert limited(machine.run(100, 1, 10)) == []
        memory = engine.memory()

    machine.make = disk("naa.1", "sdd", beside=[("sdc", "naa.2")])
    assert limited(machine.run(100, 1, 10)) == ["sdd"]


def test_what_was_counted_stays_with_the_name():
    engine, key = Engine(), BudgetKey(Kind.DISK, "sdd")
    engine.restore(learned_of_a_disk(disk("naa.1")), 10.0)
    state = Machine(engine, disk("naa.1", "sdd")).run(100, 1, 10)

    assert state.budgets[key].limits[0].throttled_seconds == 0
    assert [meter[:2] for meter in engine.memory()["accounts"]["meters"]] == [["disk", "sdc"]]


@pytest.mark.parametrize(("source", "kept"), [("one:/vol", ["/b"]), ("two:/other", [])])
def test_what_was_learned_of_a_volume_goes_with_it_to_another_mount_point(source, kept):
    before = Engine()
    machine = Machine(before, mount("one:/vol", "0:40"))
    machine.run(200, 1, 30)
    assert learned(machine.run(1000, 32, 60), VOLUME) == [1000]

    after = Engine()
    after.restore(before.memory(), 10.0)
    assert limited(Machine(after, mount(source, "0:41", "/b")).run(100, 1, 10)) == kept


NOT_THERE = disk("", None, beside=[("sda", "naa.0")])


@pytest.mark.parametrize(
    ("wwid", "before", "after", "seconds", "is_kept"),
    [
        ("naa.1", {}, {}, 1, True),
        ("", {"diskseq": "9"}, {"diskseq": "9"}, 3, True),
        ("naa.1", {}, {}, int(MOST_GONE_SECONDS) + 5, False),
        ("naa.1", {"diskseq": "9"}, {"diskseq": "10"}, 1, False),
        ("", {}, {}, 1, False),
    ],
)
def test_a_disk_that_is_missing_for_a_few_seconds_is_the_one_that_it_was(
    wwid, before, after, seconds, is_kept
):
    machine = Machine(Engine(), disk(wwid, **before))
    machine.run(100, 1, 30)
    assert learned(machine.run(500, 32, 60), SDC) == [500]

    machine.make = NOT_THERE
    assert SDC not in machine.run(0, 0, seconds).budgets
    machine.make = disk(wwid, **after)
    assert learned(machine.run(100, 1, 5), SDC) == ([500] if is_kept else [])


def test_credit_is_kept_while_its_disk_is_missing_and_goes_with_it_over_a_restart():
    rule = ConfiguredLimit(disk="*", iops=500.0, burst_iops=1000.0, burst_seconds=60.0)
    settings = EngineSettings(rules=Rules((rule,)))

    def credit(state, name):
        return state.budgets[BudgetKey(Kind.DISK, name)].limits[0].credit_ratio

    before = Engine(settings)
    machine = Machine(before, disk("naa.1"))
    machine.run(1000, 8, 60)
    machine.make = NOT_THERE
    machine.run(0, 0, 2)
    machine.make = disk("naa.1")
    assert credit(machine.run(500, 8, 3), "sdc") < 0.1

    after = Engine(settings)
    after.restore(before.memory(), 0.0)
    swapped = disk("naa.1", "sdd", beside=[("sdc", "naa.2")])
    state = Machine(after, swapped).run(500, 8, 3)
    assert credit(state, "sdd") < 0.1
    assert credit(state, "sdc") == 1.0


def test_what_is_handed_over_to_a_name_under_which_another_stood_is_not_forgotten():
    identities = Identities()
    identities.restore([SavedIdentity(A, "serial:x")])
    identities.update({B: "serial:y"}, {B: 3})

    assert identities.hand_over({B: "serial:x"}, {B: 9}) == {"a": "b"}
    assert identities.update({B: "serial:x"}, {B: 9}) == []


def test_a_disk_that_comes_anew_with_the_identity_of_one_that_went_is_not_that_one():
    identities = Identities()
    identities.update({A: "serial:x"}, {A: 1})
    assert identities.gone({}) == {"a"}
    identities.update({})

    assert identities.hand_over({B: "serial:x"}, {B: 2}) == {}
    assert identities.hand_over({B: "serial:x"}, {B: 1}) == {"a": "b"}


def test_identities_of_different_kinds_or_none_say_nothing():
    identities = Identities()
    assert identities.update({A: "size:100", B: ""}) == []
    assert identities.update({A: "wwid:x", B: "wwid:y"}) == []
    assert identities.update({A: "", B: "wwid:z"}) == [B]
    assert identities.update({A: "wwid:other", B: "wwid:z"}) == [A]


def test_what_is_awaited_from_the_last_run_is_known_when_it_comes():
    identities = Identities()
    identities.restore((SavedIdentity(A, "wwid:x"), SavedIdentity(B, "wwid:y")))

    assert identities.update({A: "wwid:x"}) == []
    assert identities.update({A: "wwid:x", B: "wwid:new"}) == [B]
    assert identities.memory() == (SavedIdentity(A, "wwid:x"), SavedIdentity(B, "wwid:new"))


def of_the_limit(state):
    (line,) = state.budgets[SDC].limits
    return line.throttled_seconds


def of_the_disk(state):
    return state.flow_throttled_seconds[FlowKey("disk", "sdc"), SDC, Dimension.IOPS]


@pytest.mark.parametrize("counted", [of_the_limit, of_the_disk])
def test_a_counter_goes_on_from_a_clean_end_and_begins_anew_after_any_other(counted):
    """Whoever scrapes takes a counter that went back for one that began at 0, and adds all of it again."""
    first = Engine()
    machine = Machine(first, disk("naa.1"))
    machine.run(100, 1, 30)
    before = counted(machine.run(500, 32, 60))
    assert before > 40

    found = []
    for memory in (first.memory(), without_counts(first.memory())):
        after = Engine()
        after.restore(memory, 10.0)
        found.append(counted(Machine(after, disk("naa.1")).run(500, 32, 5)))
    clean, crashed = found

    assert clean > before
    assert crashed <= 5
