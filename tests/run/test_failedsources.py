"""What cannot be seen, in one sentence, wherever it is told."""

import os
import threading

import pytest

import states
from ioplateau.engine import Engine
from ioplateau.limits.budgets import FlowKey, Kind, Word
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import (
    DISKSTATS,
    MEMINFO,
    MOUNTINFO,
    MOUNTSTATS,
    NETDEV,
    PRESSURE,
    STAT,
)
from ioplateau.run.clock import SystemClock
from ioplateau.run.sampler import Sampler, SamplerSettings
from ioplateau.state import SourceState
from ioplateau.tell import failedsources, summary
from machine_tree import MachineTree

SIGHTS = {
    DISKSTATS: "the disks",
    MOUNTSTATS: "the NFS mounts",
    NETDEV: "the network interfaces",
    MOUNTINFO: "the mount table",
    PRESSURE: "the pressure on I/O",
    STAT: "the time of the CPUs",
    MEMINFO: "the pages that wait to be written",
}
VITAL = (DISKSTATS, MOUNTSTATS, NETDEV, MOUNTINFO)


@pytest.fixture
def machine(tmp_path):
    tree = MachineTree(tmp_path)
    tree.scsi_disk("sdc", lun=0, gib=64)
    return tree


def seen(machine, ticks=2):
    host = Host(procfs=machine.procfs, sysfs=machine.sysfs)
    sampler = Sampler(host, SystemClock(), settings=SamplerSettings(answer_seconds=0.2))
    engine = Engine()
    for _ in range(ticks):
        state = engine.observe(sampler.take())
    return state


def file_of(machine, path):
    return machine.procfs / path.removeprefix("/proc/")


def missing(file):
    file.unlink()
    return "no such file or directory"


def unreadable(file):
    file.unlink()
    file.mkdir()  # root may read what its mode forbids
    return "is a directory"


def hanging(file):
    file.unlink()
    os.mkfifo(file)
    return "no answer within 0.2 s, going on without it"


def release(file):
    if file.is_fifo():
        # The reader that was left behind goes on, and ends.
        threading.Thread(target=lambda: os.close(os.open(file, os.O_WRONLY)), daemon=True).start()


# A kernel may be without pressure: then nothing fails.
SPOILT = [
    (path, spoil)
    for path in SIGHTS
    for spoil in (missing, unreadable, hanging)
    if (path, spoil) != (PRESSURE, missing)
]


@pytest.mark.parametrize(("path", "spoil"), SPOILT)
def test_every_source_that_fails_is_told_with_its_path(machine, path, spoil):
    file = file_of(machine, path)
    why = spoil(file)

    state = seen(machine)
    release(file)

    sentence = f"cannot see {SIGHTS[path]}: {file}: {why}"
    assert [each.sentence for each in failedsources.failed(state)] == [sentence]
    assert failedsources.vital(state) == ((sentence,) if path in VITAL else ())
    is_headline = summary.headline(state).startswith("Cannot see")
    assert is_headline == (path in VITAL)


def test_a_sysfs_that_is_not_there_is_told(machine):
    machine.sysfs.rename(machine.sysfs.with_name("elsewhere"))

    assert failedsources.vital(seen(machine)) == (
        f"cannot see what the disks are: {machine.sysfs}/block: no such file or directory",
    )


def test_what_is_seen_is_not_told(machine):
    state = seen(machine)

    assert failedsources.failed(state) == ()
    assert "annot see" not in summary.headline(state)


def down(**why):
    return {name: SourceState(name, up=False, why=words) for name, words in why.items()}


def unknown(kind, name, flow):
    found = states.budget(kind, name, word=Word.UNKNOWN)
    return found._replace(budget=found.budget._replace(members=(flow,)))


def test_an_unknown_budget_says_what_it_lacks():
    disk = unknown(Kind.DISK, "sda", FlowKey("disk", "sda"))
    volume = unknown(Kind.VOLUME, "/a", FlowKey("nfs", "/a"))
    state = states.state(sources=down(diskstats="/x/diskstats: Permission denied"))

    assert failedsources.of_budget(state, disk) == (
        "cannot see the disks: /x/diskstats: permission denied"
    )
    assert failedsources.of_budget(state, volume) == volume.verdict.sentence


def test_a_headline_tells_both_what_is_held_back_and_what_cannot_be_seen():
    held = states.budget(Kind.DISK, "sda", word=Word.THROTTLED)
    state = states.state(
        budgets=states.by_key(held), sources=down(mountstats="/p/mountstats: No such file")
    )

    assert summary.headline(state) == (
        "sda (disk) is throttled; cannot see the NFS mounts: /p/mountstats: no such file"
    )


def test_the_disks_come_first():
    state = states.state(sources=down(pressure="a: b", mountstats="a: b", diskstats="a: b"))

    assert [each.source for each in failedsources.failed(state)] == [
        "diskstats",
        "mountstats",
        "pressure",
    ]


DISKS, MOUNTS = {"disks": {"sda": states.disk("sda")}}, {"mounts": {"/a": states.nfs_mount("/a")}}


@pytest.mark.parametrize(
    ("lost", "seen", "is_storage_unreadable"),
    [
        ({}, {}, False),  # nothing that could be read names a disk or a mount
        ({"diskstats"}, {}, True),
        ({"mountstats"}, {}, True),
        ({"diskstats"}, DISKS, True),  # what is known of them is old
        ({"diskstats"}, MOUNTS, False),  # a machine with NFS only
        ({"mountstats"}, DISKS, False),
        ({"diskstats", "mountstats"}, DISKS | MOUNTS, True),
        ({"netdev", "sysfs", "mountinfo", "pressure"}, {}, False),
    ],
)
def test_storage_is_unreadable_where_no_disk_and_no_mount_is_seen_and_one_of_the_two_cannot_be_read(
    lost, seen, is_storage_unreadable
):
    state = states.state(sources=down(**dict.fromkeys(lost, "a: b")), **seen)

    assert failedsources.is_storage_unreadable(state) is is_storage_unreadable


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("/p/a: Permission denied", "cannot see the disks: /p/a: permission denied"),
        ("/p/a: I/O error", "cannot see the disks: /p/a: I/O error"),
        ("Gone", "cannot see the disks: gone"),
        ("", "cannot see the disks: "),
    ],
)
def test_words_of_the_system_go_on_in_the_sentence(why, told):
    assert failedsources.sentence("diskstats", why) == told
