"""Who draws on a budget: from a look to the state, by the devices that lie on a disk or mount."""

import pytest

from ioplateau.engine.consumers import STACKED, Consumers, Devices, devices_of_disk
from ioplateau.limits.budgets import Budget, BudgetKey, FlowKey, Kind
from ioplateau.measure import sysblock
from ioplateau.measure.groupnames import PodVolume
from ioplateau.measure.snapshot import Static
from ioplateau.tell.consumers import sentence

SDB, NFS = FlowKey("disk", "sdb"), FlowKey("nfs", "/data")
DISK, VOLUME = BudgetKey(Kind.DISK, "sdb"), BudgetKey(Kind.VOLUME, "/data")
BUDGETS = {DISK: Budget(DISK, (SDB,)), VOLUME: Budget(VOLUME, (NFS,))}
DEVICES = {
    SDB: Devices(
        frozenset({"8:16", "8:17"}), frozenset({"sdb", "sdb1", "dm-0"}), frozenset({"8:16"})
    ),
    NFS: Devices(frozenset({"0:50"}), frozenset(), frozenset()),
}


def process(pid, size, devices, group="/system.slice/db.service"):
    return {
        "pid": pid,
        "name": "fio",
        "group": group,
        "read_bytes": size,
        "write_bytes": 0,
        "devices": devices,
    }


def look(busiest=(), groups=None, **more):
    seen = {"seconds": 2.0, "seen": 9, "unreadable": 0, "is_cut": False, **more}
    return {"processes": {**seen, "busiest": list(busiest)}, "groups": groups, "refused": ""}


def grouped(*busiest, total, seen=2):
    keys = ("group", "device", "read_bytes", "write_bytes", "reads", "writes", "is_of_ended")
    return {
        "seconds": 2.0,
        "busiest": [dict(zip(keys, each, strict=False)) for each in busiest],
        "device_bytes": {"8:16": total},
        "seen": seen,
    }


def found(blob, mount_table=b"", devices=DEVICES, **more):
    consumers = Consumers()
    assert consumers.take(10.0, blob) == ()
    return consumers.by_budget(11.0, BUDGETS, lambda: devices.get, mount_table, **more)


def test_at_a_limit_of_requests_who_makes_most_of_them_is_named_first():
    groups = grouped(
        ("/large", "8:16", 20_000_000, 0, 20, 0),
        ("/many", "8:16", 2_000_000, 0, 580, 0),
        total=22_000_000,
    ) | {"device_requests": {"8:16": 600}}

    blob = look([process(7, 2_000_000, ["8:16"], "/many")], groups)
    disk = found(blob, by_requests=frozenset({DISK}))[DISK]

    # Nobody counts the requests of a process.
    assert sentence(disk) == "most I/O by /many (1.0 MB/s, 290 IOPS, 97 %); fio (pid 7) (1.0 MB/s)"
    assert (
        sentence(found(look(groups=groups))[DISK])
        == "most I/O by /large (10.0 MB/s, 10 IOPS, 91 %)"
    )


def test_the_order_follows_the_limit_also_within_a_look():
    groups = grouped(
        ("/large", "8:16", 20_000_000, 0, 20, 0),
        ("/many", "8:16", 2_000_000, 0, 580, 0),
        total=22_000_000,
    ) | {"device_requests": {"8:16": 600}}
    consumers = Consumers()
    consumers.take(10.0, look(groups=groups))
    first = []
    for at, held in ((11.0, ()), (12.0, (DISK,)), (13.0, (VOLUME,)), (14.0, (DISK, VOLUME))):
        drawn = consumers.by_budget(at, BUDGETS, lambda: DEVICES.get, None, frozenset(held))
        first.append(drawn[DISK].groups[0].name)

    assert first == ["/large", "/many", "/large", "/many"]


def test_groups_are_named_by_what_the_kernel_counts_of_them_on_the_disk():
    groups = grouped(
        ("/system.slice/db.service", "8:16", 8_000_000, 0, 80, 0),
        ("/batch", "8:16", 0, 2_000_000, 0, 20),
        ("/elsewhere", "8:32", 99_000_000, 0, 9, 0),
        total=10_000_000,
    )

    disk = found(look(groups=groups))[DISK]

    assert [
        (g.label, g.bytes_per_second, g.operations_per_second, g.share) for g in disk.groups
    ] == [
        ("db.service", 4_000_000, 40, 0.8),
        ("/batch", 1_000_000, 10, 0.2),
    ]
    assert sentence(disk) == "most I/O by db.service (4.0 MB/s, 40 IOPS, 80 %)"


def test_nobody_is_told_by_a_name_that_another_gave_itself():
    group = "/x (9 kBps, 1 %); db.service"
    groups = grouped((group, "8:16", 8_000_000, 0, 80, 0), total=8_000_000)
    moving = process(7, 6_000_000, ["8:17"], group) | {"name": "a; mysqld"}

    told = sentence(found(look([moving], groups=groups))[DISK])

    assert told == (
        'most I/O by "x (9 kBps, 1 %); db.service" (4.0 MB/s, 40 IOPS, 100 %); '
        '"a; mysqld" (pid 7) (3.0 MB/s, 75 %)'
    )


def test_processes_are_named_where_they_have_something_open_there():
    blob = look(
        [
            process(7, 6_000_000, ["8:17"]),
            process(8, 2_000_000, ["sdb"], "/batch"),
            process(9, 3_000_000, ["8:32"]),
            process(10, 3_000_000, None),
            process(11, 4_000_000, ["0:50"]),
        ]
    )

    by_budget = found(blob)

    assert [each.label for each in by_budget[DISK].processes] == ["fio (pid 7)", "fio (pid 8)"]
    assert [each.label for each in by_budget[VOLUME].processes] == ["fio (pid 11)"]
    # Nobody counted control groups: they are told by their processes.
    assert [(g.label, g.share) for g in by_budget[DISK].groups] == [
        ("db.service", 0.75),
        ("/batch", 0.25),
    ]
    assert by_budget[DISK].groups[0].operations_per_second is None


def test_a_group_without_processes_stands_for_those_in_it_that_have_ended():
    groups = grouped(
        ("/apps.slice", "8:16", 0, 4_000_000, 0, 40, True),
        ("/b", "8:16", 0, 1, 0, 1),
        total=4_000_001,
    )

    disk = found(look(groups=groups))[DISK]

    assert [(g.name, g.label) for g in disk.groups] == [
        ("/apps.slice", "groups of apps.slice that have ended"),
        ("/b", "/b"),
    ]


def writer(pid, size, group, devices=("sdb",)):
    return process(pid, 0, list(devices), group) | {"write_bytes": size, "name": "cp"}


def by_the_flusher(*processes, more=(), **seen):
    """The root group wrote 4 MB to the disk in two seconds, as in v1 the flusher's writes are."""
    groups = grouped(
        ("/", "8:16", 0, 4_000_000, 0, 1000),
        *more,
        total=4_000_000 + sum(each[2] + each[3] for each in more),
    )
    return found(look(list(processes), groups, **seen))[DISK]


def test_buffered_writes_are_told_as_the_flushers_with_whom_it_writes_for():
    disk = by_the_flusher(
        writer(7, 3_000_000, "/system.slice/backup.service"),
        writer(8, 1_000_000, "/light"),
        writer(9, 8_000_000, "/elsewhere", ["8:32"]),
    )

    assert [(g.label, g.bytes_per_second, g.share, g.by_flusher) for g in disk.groups] == [
        ("backup.service", 1_500_000, 0.75, True),
        ("/light", 500_000, 0.25, True),
    ]
    assert sentence(disk) == (
        "most I/O by the kernel's flusher, which writes for backup.service (1.5 MB/s dirtied, 75 %); "
        "cp (pid 7) (1.5 MB/s, 75 %)"
    )


def test_writes_of_the_root_group_are_not_called_the_flushers_where_no_other_counts_any():
    groups = grouped(("/", "8:16", 0, 4_000_000, 0, 1000), total=4_000_000, seen=1)
    disk = found(look([writer(7, 4_000_000, "/job")], groups))[DISK]
    ended = found(look([], groups))[DISK]

    assert sentence(disk) == "most I/O by /job (2.0 MB/s, 100 %); cp (pid 7) (2.0 MB/s, 100 %)"
    assert [each.label for each in ended.groups] == ["the root control group"]


@pytest.mark.parametrize(
    ("processes", "label"),
    [([writer(7, 4_000_000, "/job")], "the kernel, for /job"), ([], STACKED)],
)
def test_writes_below_a_stacked_device_are_the_kernels_and_may_be_another_workers(processes, label):
    """dm-crypt submits them from a worker (kcryptd_crypt_write_io_submit() in drivers/md/dm-crypt.c)."""
    groups = grouped(("/", "8:16", 0, 4_000_000, 0, 1000), total=4_000_000)
    stacked = {SDB: DEVICES[SDB]._replace(is_stacked=True)}
    (group,) = found(look(processes, groups), devices=stacked)[DISK].groups

    assert (group.label, group.by_flusher) == (label, False)


def test_a_group_whose_writes_are_counted_for_it_is_not_the_flushers():
    disk = by_the_flusher(
        writer(7, 5_000_000, "/direct"), more=[("/direct", "8:16", 0, 5_000_000, 0, 50)]
    )

    assert [(g.name, g.by_flusher) for g in disk.groups] == [("/direct", False), ("/", False)]


def test_what_processes_of_the_root_group_write_themselves_is_not_the_flushers():
    disk = by_the_flusher(writer(7, 4_000_000, "/"))

    assert [(g.label, g.by_flusher) for g in disk.groups] == [("the root control group", False)]
    assert disk.processes[0].label == "cp (pid 7)"


def test_where_nobody_is_seen_to_dirty_pages_it_cannot_be_told_for_whom():
    gone = by_the_flusher()
    unseen = by_the_flusher(unreadable=40, seen=0)
    uncounted = by_the_flusher(seen=0)
    hidden = by_the_flusher(is_hidden=True)
    cut = by_the_flusher(left_out=3)

    assert gone.groups[0].label == "the kernel's flusher, for whom is not known"
    assert unseen.groups[0].label == "the root control group"
    assert uncounted.groups[0].label == "the root control group"
    assert cut.groups[0].label == "the root control group"
    assert cut.unseen[0].startswith("3 processes that moved less than 50 others")
    assert hidden.groups[0].label == "the root control group"
    assert hidden.unseen[0].startswith("others' processes are hidden here")


def test_a_look_holds_until_the_next_one_is_due():
    consumers = Consumers()
    consumers.take(10.0, look([process(7, 1, ["8:16"])]) | {"next_seconds": 20.0})

    assert DISK in consumers.by_budget(34.0, BUDGETS, lambda: DEVICES.get, None)
    assert consumers.by_budget(36.0, BUDGETS, lambda: DEVICES.get, None) == {}


@pytest.mark.parametrize("odd", ["nan", "inf", -5, None, 1e300])
def test_an_odd_promise_of_a_next_look_holds_for_minutes_at_most(odd):
    consumers = Consumers()
    assert consumers.take(10.0, look([process(7, 1, ["8:16"])]) | {"next_seconds": odd}) == ()

    assert DISK in consumers.by_budget(24.0, BUDGETS, lambda: DEVICES.get, None)
    assert consumers.by_budget(400.0, BUDGETS, lambda: DEVICES.get, None) == {}


def test_what_may_not_be_seen_is_said():
    disk = found(look(unreadable=40, seen=0))[DISK]

    assert disk.unseen == (
        "the I/O of 40 of 40 processes may not be seen (CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH would let us)",
    )
    assert sentence(disk).startswith("who draws on it cannot be told: the I/O of 40")


def test_what_we_have_already_is_not_said_to_help():
    disk = found(look(unreadable=4, seen=36, is_capable=True))[DISK]

    assert disk.unseen == ("the I/O of 4 of 40 processes may not be seen",)


def test_a_kernel_that_does_not_count_the_io_of_processes_is_said_to():
    disk = found(look(seen=0))[DISK]

    assert disk.unseen == (
        "the kernel does not count the I/O of processes (CONFIG_TASK_IO_ACCOUNTING)",
    )


def test_processes_whose_files_lie_on_no_disk_we_know_are_said_where_they_moved_more_than_those_found():
    elsewhere = [process(7, 9_000_000, ["0:31"]), process(8, 5, None), process(9, 3, ["0:50"])]
    said = "fio (pid 7), fio (pid 8): the open files do not tell on which disk"
    alone = found(look(elsewhere))
    beside = found(look([*elsewhere, process(10, 2_000_000, ["8:16"])]))
    more = found(look([*elsewhere, process(10, 20_000_000, ["8:16"])]))

    assert alone[DISK].unseen == beside[DISK].unseen == (said,)
    assert sentence(beside[DISK]) == (
        f"most I/O by db.service (1.0 MB/s); fio (pid 10) (1.0 MB/s); {said}"
    )
    assert alone[VOLUME].unseen == more[DISK].unseen == ()
    assert sentence(more[DISK]).endswith("fio (pid 10) (10.0 MB/s, 100 %)")


def test_who_writes_to_an_overlay_that_cannot_be_placed_may_do_so_here():
    inside = process(7, 9_000_000, ["overlay"], "/pod")
    both = process(8, 4_000_000, ["8:16", "overlay"])

    disk = found(look([inside, both]))[DISK]

    assert sentence(disk) == (
        "most I/O by db.service (at most 2.0 MB/s); fio (pid 8) (at most 2.0 MB/s); "
        "fio (pid 7): the open files do not tell on which disk"
    )


def test_who_writes_nothing_here_as_its_group_does_not_is_no_doubt():
    groups = grouped(("/a", "8:16", 0, 2_000_000, 0, 20), total=2_000_000)
    blob = look([process(7, 9_000_000, None, "/b"), writer(8, 2_000_000, "/a")], groups)

    assert (
        sentence(found(blob)[DISK])
        == "most I/O by /a (1.0 MB/s, 10 IOPS, 100 %); cp (pid 8) (1.0 MB/s, 100 %)"
    )


BOTH = ("8:16", "0:50")  # it has files open on the disk, and on the mount


@pytest.mark.parametrize(
    ("moved", "counted", "named"),
    [
        # It writes elsewhere, and its group did nothing here.
        ([writer(7, 94_000_000, "/hog", BOTH), writer(8, 2_000_000, "/small")],
         [("/small", 2_000_000)], [("cp (pid 8)", 1.0, False)]),
        # In one group: the rest is what it may have done here at most.
        ([writer(7, 94_000_000, "/a", BOTH), writer(8, 2_000_000, "/a")],
         [("/a", 2_400_000)], [("cp (pid 8)", pytest.approx(1 / 1.2), False), ("cp (pid 7)", None, True)]),
        # Its own group counts nothing: what it did is counted above.
        ([writer(7, 94_000_000, "/a/b", BOTH), writer(8, 1_000_000, "/c")],
         [("/a", 3_000_000), ("/c", 1_000_000)], [("cp (pid 7)", None, True), ("cp (pid 8)", 0.25, False)]),
        # The flusher writes what it dirtied.
        ([writer(7, 6_000_000, "/a"), writer(8, 2_000_000, "/b")],
         [("/", 4_000_000)], [("cp (pid 7)", 0.75, False), ("cp (pid 8)", 0.25, False)]),
        # Nobody knows which group it is in.
        ([writer(7, 94_000_000, "/../../a", BOTH), writer(8, 1_000_000, "")],
         [("/x", 3_000_000)], [("cp (pid 7)", None, True), ("cp (pid 8)", pytest.approx(1 / 3), False)]),
        # Nobody counts groups.
        ([writer(7, 94_000_000, "/a", BOTH), writer(8, 2_000_000, "/b")],
         None, [("cp (pid 7)", None, True), ("cp (pid 8)", None, False)]),
    ],
)  # fmt: skip
def test_no_process_is_said_to_have_done_more_than_it_can_have_here(moved, counted, named):
    groups = counted and grouped(
        *((group, "8:16", 0, size, 0, 10) for group, size in counted),
        total=sum(size for _, size in counted),
    )

    disk = found(look(moved, groups))[DISK]

    assert [(each.label, each.share, each.is_at_most) for each in disk.processes] == named
    if counted:
        assert (
            sum(each.bytes_per_second for each in disk.processes)
            <= groups["device_bytes"]["8:16"] / 2
        )


def test_of_a_group_that_is_not_among_the_busiest_a_process_did_what_they_did_not_at_most():
    groups = grouped(("/busy", "8:16", 0, 6_000_000, 0, 60), total=7_000_000)
    disk = found(look([writer(7, 9_000_000, "/other")], groups))[DISK]

    assert [(each.bytes_per_second, each.share) for each in disk.processes] == [
        (500_000, pytest.approx(1 / 7))
    ]


def test_who_has_a_file_open_there_and_writes_elsewhere_is_not_whom_the_flusher_writes_for():
    disk = by_the_flusher(writer(7, 94_000_000, "/hog", BOTH), writer(8, 4_000_000, "/backup"))
    unsure = by_the_flusher(writer(7, 94_000_000, "/hog", BOTH))

    assert [(g.name, g.by_flusher, g.share) for g in disk.groups] == [("/backup", True, 1.0)]
    assert [(g.name, g.is_at_most, g.share) for g in unsure.groups] == [("/hog", True, None)]


def test_processes_that_were_too_many_to_look_at_are_said_to_be_left_out():
    disk = found(look(is_cut=True))[DISK]

    assert disk.unseen == ("more than 32768 processes: the rest was not looked at",)


def test_a_look_without_processes_names_nobody_and_says_so():
    refused = {"processes": None, "groups": None, "refused": "/proc: Permission denied"}

    assert sentence(found(refused)[DISK]) == (
        "who draws on it cannot be told: processes cannot be listed: /proc: Permission denied"
    )


@pytest.mark.parametrize("place", ["kubernetes.io~csi/pvc-7/mount", "kubernetes.io~nfs/pvc-7"])
def test_a_persistent_volume_is_named_with_its_pod(place):
    line = (
        f"99 1 8:16 / /var/lib/kubelet/pods/u-1/volumes/{place} rw - ext4 "
        "/dev/sdb rw\n98 1 8:16 / /other rw - ext4 /dev/sdb rw\n"
    ).encode()

    assert found(look(), line)[DISK].volumes == (PodVolume("u-1", "pvc-7"),)


def test_a_look_holds_for_a_while_and_then_no_more():
    consumers = Consumers()
    consumers.take(10.0, look([process(7, 1, ["8:16"])]))

    assert DISK in consumers.by_budget(20.0, BUDGETS, lambda: DEVICES.get, None)
    assert consumers.by_budget(26.0, BUDGETS, lambda: DEVICES.get, None) == {}
    assert consumers.by_budget(11.0, BUDGETS, lambda: DEVICES.get, None) == {}


def test_what_was_told_of_a_look_stays_when_another_follows():
    consumers = Consumers()
    consumers.take(10.0, look([process(7, 1, ["8:16"])]))
    before = consumers.by_budget(10.0, BUDGETS, lambda: DEVICES.get, None)
    consumers.take(13.0, look([process(8, 1, ["8:16"])]))
    after = consumers.by_budget(13.0, BUDGETS, lambda: {}.get, None)

    assert [each.label for each in before[DISK].processes] == ["fio (pid 7)"]
    assert DISK not in after
    assert {*before} == {DISK, VOLUME}


@pytest.mark.parametrize(
    "blob",
    [
        [],
        {"processes": {"busiest": 3}},
        {"groups": {"seconds": -1}},
        {"groups": {"seconds": "nan", "busiest": [], "device_bytes": {}, "seen": 0}},
        {"processes": {**look()["processes"], "busiest": [{"pid": "x"}]}},
    ],
)
def test_a_look_that_makes_no_sense_is_refused(blob):
    (why,) = Consumers().take(1.0, blob)

    assert why.startswith("consumers: ")


def test_all_that_lies_on_a_disk_is_found():
    names = {(8, 16): "sdb", (8, 17): "sdb1", (253, 0): "dm-0", (8, 32): "sdc"}
    static = Static(
        block={"dm-0": {"dm/name": "vg-data"}},
        partitions={"sdb1": "sdb", "sdc1": "sdc"},
        holders={"sdb1": ("dm-0",), "dm-0": ("dm-1",)},
    )

    devices = devices_of_disk("sdb", names, static, sysblock.parse(static))

    assert devices.numbers == {"8:16", "8:17", "253:0"}
    assert devices.names == {"sdb", "sdb1", "dm-0", "dm-1", "vg-data"}
    assert devices.own == {"8:16"}


SDC, LANE = FlowKey("disk", "sdc"), BudgetKey(Kind.VM_UNCACHED, "vm")
TWO_DISKS = {
    SDB: DEVICES[SDB],
    SDC: Devices(frozenset({"8:32"}), frozenset({"sdc"}), frozenset({"8:32"})),
}


def of_the_vm(blob):
    consumers = Consumers()
    assert consumers.take(10.0, blob) == ()
    budgets = {LANE: Budget(LANE, (SDB, SDC))}
    return consumers.by_budget(11.0, budgets, lambda: TWO_DISKS.get, b"")[LANE]


def test_of_a_limit_over_several_disks_a_group_draws_with_all_of_them():
    groups = grouped(
        ("/one", "8:16", 5_000_000, 0, 50, 0),
        ("/both", "8:16", 4_000_000, 0, 40, 0),
        ("/both", "8:32", 3_000_000, 0, 30, 0),
        total=9_000_000,
    )
    groups["device_bytes"]["8:32"] = 3_000_000

    found = of_the_vm(look(groups=groups))

    assert [(g.label, g.bytes_per_second, g.operations_per_second) for g in found.groups] == [
        ("/both", 3_500_000, 35),
        ("/one", 2_500_000, 25),
    ]


def test_the_flusher_of_a_limit_over_several_disks_is_what_it_does_on_all_of_them():
    groups = grouped(
        ("/", "8:16", 0, 6_000_000, 0, 60),
        ("/", "8:32", 0, 1_000_000, 0, 10),
        ("/other", "8:32", 3_000_000, 0, 30, 0),
        total=6_000_000,
    )
    groups["device_bytes"]["8:32"] = 4_000_000
    dirty = process(7, 0, ["8:17"]) | {"write_bytes": 7_000_000}

    first, *_ = of_the_vm(look([dirty], groups)).groups

    assert (first.label, first.by_flusher) == ("db.service", True)


def test_what_processes_of_no_known_group_wrote_past_the_page_cache_is_not_the_flushers():
    groups = grouped(("/", "8:16", 0, 10_000_000, 0, 100), total=10_000_000)
    direct = process(7, 0, ["8:17"], group="") | {"write_bytes": 10_000_000}

    (group,) = found(look([direct], groups))[DISK].groups

    assert (group.label, group.by_flusher) == ("the root control group", False)


def test_what_a_group_wrote_past_the_page_cache_is_not_the_flushers():
    groups = grouped(
        ("/", "8:16", 0, 6_000_000, 0, 60),
        ("/direct", "8:16", 0, 3_000_000, 0, 30),
        total=9_000_000,
    )
    blob = look(
        [
            process(7, 0, ["8:17"], group="/dirty") | {"write_bytes": 6_000_000},
            process(8, 0, ["8:17"], group="/direct") | {"write_bytes": 3_000_000},
        ],
        groups,
    )

    shown = [(g.name, g.by_flusher, g.share) for g in found(blob)[DISK].groups]

    assert shown == [
        ("/dirty", True, pytest.approx(2 / 3)),
        ("/direct", False, pytest.approx(1 / 3)),
    ]


def test_a_group_that_the_flusher_writes_for_is_named_once():
    groups = grouped(
        ("/", "8:16", 0, 8_000_000, 0, 80),
        ("/db", "8:16", 0, 1_000_000, 0, 10),
        total=9_000_000,
    )
    blob = look([process(7, 0, ["8:17"], group="/db") | {"write_bytes": 9_000_000}], groups)

    assert [g.name for g in found(blob)[DISK].groups] == ["/db"]
