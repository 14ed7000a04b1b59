"""The live screen: the answer first, then the rates, and nothing a hostile name could do to it."""

import pytest

import states
from ioplateau.limits.budgets import Dimension, Kind, Word
from ioplateau.tell import screen, view
from ioplateau.tell.summary import Severity

GROUP = "/system.slice/system-postgresql.slice/postgresql.service"


def throttled(name="sda"):
    return states.budget(
        Kind.DISK,
        name,
        states.limit(Dimension.IOPS, value=500.0, utilization=0.998),
        states.limit(Dimension.THROUGHPUT, value=100e6, utilization=0.02),
        word=Word.THROTTLED,
        since=957.0,
        sentence="held at 500 IOPS by its disk limit (500 IOPS, catalogue, P10): 16 requests wait",
    )


def shown(state, before=None, width=100):
    return [
        line.text for line in screen.lines(view.of(state, before), title="1.0 db-01", width=width)
    ]


def budgets(*each):
    return states.state(budgets=states.by_key(*each))


def test_before_the_first_tick_it_says_so():
    assert shown(None) == ["ioplateau 1.0 db-01", "Starting: nothing measured yet"]


def test_the_answer_is_the_second_line_and_red():
    line = screen.lines(view.of(budgets(throttled())))[1]

    assert (line.text, line.severity) == ("sda (disk) is throttled", Severity.BAD)


def test_a_throttled_budget_has_its_nearest_limit_and_its_sentence():
    lines = shown(budgets(throttled()))
    (row,) = (line for line in lines if line.startswith("sda  "))

    assert row.split() == [
        *(
            "sda",
            "disk",
            "throttled",
            "43",
            "s",
            "100",
            "%",
            "500",
            "IOPS",
            "(config.toml",
            "limit[0])",
        ),
    ]
    assert lines[lines.index(row) + 1].strip().startswith("held at 500 IOPS by its disk limit")


@pytest.mark.parametrize(("width", "shown_name"), [(40, "…sql.service"), (200, GROUP)])
def test_a_long_name_is_cut_before_the_verdict(width, shown_name):
    group = states.budget(
        Kind.CGROUP, GROUP, states.limit(Dimension.IOPS, value=100.0), word=Word.THROTTLED
    )
    head, row = (
        line
        for line in shown(budgets(group), width=width)
        if "  control group  " in line or "kind" in line
    )

    assert row.startswith(f"{shown_name}  control group  throttled")
    assert "verdict" in head


def test_who_draws_most_stands_below_the_sentence():
    told = view.of(budgets(throttled()))
    drawn = [each._replace(drawn_by="most I/O by db.service (2.0 MB/s)") for each in told.budgets]
    lines = [line.text for line in screen.lines(told._replace(budgets=tuple(drawn)))]
    (sentence,) = (at for at, line in enumerate(lines) if "16 requests wait" in line)

    assert lines[sentence + 1] == "    most I/O by db.service (2.0 MB/s)"


def test_a_disk_that_only_discards_is_not_idle():
    before = {"discards": 0, "weighted_milliseconds": 0}
    discards = states.disk("sda", before, discards=500, in_flight=0, weighted_milliseconds=75_000)
    rests = states.disk("sdb", {}, in_flight=0)
    lines = shown(states.state(disks={"sda": discards, "sdb": rests}))

    assert any(line.startswith("sda") for line in lines)
    assert "1 more idle disk" in lines


def test_the_worst_comes_first_and_the_idle_are_one_line():
    healthy = states.budget(Kind.DISK, "sdb", word=Word.HEALTHY)
    idle = [states.budget(Kind.DISK, f"sd{letter}", word=Word.IDLE) for letter in "cdef"]
    lines = shown(budgets(healthy, *idle, throttled("sdz")))
    names = [line.split()[0] for line in lines if "  disk  " in line]

    assert names == ["sdz", "sdb"]
    assert "4 more idle or not yet known" in lines


def test_an_unknown_limit_is_said_not_shown_as_zero():
    lines = shown(budgets(states.budget(Kind.DISK, "sdb", word=Word.HEALTHY)))
    (row,) = (line for line in lines if line.startswith("sdb"))

    assert row.endswith("limit unknown")
    assert "%" not in row


def test_disks_and_mounts_have_their_rates():
    disk = states.disk("sda", before={"reads": 0, "read_sectors": 0, "read_milliseconds": 0})
    calls = states.mount().operations
    none = states.operation(operations=0, rtt_milliseconds=0)
    quiet = states.mount(operations={**calls, "READ": none})
    mount = states.nfs_mount("/mnt/a", before=quiet)
    lines = shown(states.state(disks={"sda": disk}, mounts={"/mnt/a": mount}))

    # 1,000 reads of 4 KiB in 10 s, 5 ms each; 100 calls in 10 s, 1 s on the wire in all.
    assert lines[lines.index("") + 2].split()[:4] == ["sda", "100", "0", "0.41"]
    assert "5 ms" in lines[lines.index("") + 2]
    assert lines[-1].split()[:2] == ["/mnt/a", "10"]
    assert "10 ms" in lines[-1]


def test_pressure_is_the_share_of_the_time_between_two_looks():
    lines = shown(states.waited(1004.0, 2_000_000), states.waited(1000.0, 1_000_000))

    assert lines[2] == "tasks wait for I/O 25 % of the time"


def test_no_line_is_longer_than_the_terminal():
    assert max(map(len, shown(budgets(throttled()), width=50))) <= 50


def test_a_mount_point_cannot_speak_to_the_terminal():
    hostile = states.budget(Kind.VOLUME, "/mnt/\x1b[2J\n\udcffx", word=Word.HEALTHY)
    text = "\n".join(shown(budgets(hostile)))

    assert "\x1b" not in text
    assert r"/mnt/\x1b[2J\n\xffx" in text
    text.encode()


def test_a_source_that_fails_is_told_in_the_end():
    failing = states.SourceState("mountstats", up=False, why="Permission denied")
    lines = shown(states.state(sources={"mountstats": failing}))

    assert lines[-1] == "note: cannot see the NFS mounts: permission denied"
