"""Another disk, or another server, under a name: nothing that was learned is held against it."""

import pytest

from ioplateau.engine import Engine, uncounted
from ioplateau.engine.marks import Marks, SavedMark
from ioplateau.limits.budgets import BudgetKey, Dimension, FlowKey, Kind
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


def disk(wwid, **more):
    about = {"size": "2048000", "dev": "8:32", "wwid": wwid, **more}
    static = Static(block={"sdc": about})

    def make(done, waited, outstanding, at):
        line = f"8 32 sdc {done} 0 {done * 8} {waited} 0 0 0 0 {outstanding} {at * 1000} {waited}"
        return {"static": static, "texts": {DISKSTATS: f"{line} 0 0 0 0 0 0\n".encode()}}

    return make


def mount(source, device):
    static = Static(mountinfo=entry("/a", device, of=source))

    def make(done, waited, outstanding, at):
        each = f"{done} {done}"
        text = record(
            header=f"device {source} mounted on /a with fstype nfs4 statvers=1.1",
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


def test_marks_of_different_kinds_or_none_say_nothing():
    marks = Marks()
    assert marks.look({A: "size:100", B: ""}) == []
    assert marks.look({A: "wwid:x", B: "wwid:y"}) == []
    assert marks.look({A: "", B: "wwid:z"}) == [B]
    assert marks.look({A: "wwid:other", B: "wwid:z"}) == [A]


def test_what_is_awaited_from_the_last_run_is_known_when_it_comes():
    marks = Marks()
    marks.restore((SavedMark(A, "wwid:x"), SavedMark(B, "wwid:y")))

    assert marks.look({A: "wwid:x"}) == []
    assert marks.look({A: "wwid:x", B: "wwid:new"}) == [B]
    assert marks.memory() == (SavedMark(A, "wwid:x"), SavedMark(B, "wwid:new"))


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
    for memory in (first.memory(), uncounted(first.memory())):
        after = Engine()
        after.restore(memory, 10.0)
        found.append(counted(Machine(after, disk("naa.1")).run(500, 32, 5)))
    clean, crashed = found

    assert clean > before
    assert crashed <= 5
