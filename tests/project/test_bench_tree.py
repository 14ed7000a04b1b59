"""The benchmark's made-up machine is one that our parsers, and so the comparison, take seriously."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ioplateau.measure import (
    diskstats,
    interfaces,
    meminfo,
    mountinfo,
    mountstats,
    pressure,
    procstat,
    sysblock,
)
from ioplateau.measure.host import Host
from ioplateau.run.sampler import read_static

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from machine import Machine, Shape
from tree import Tree

MOUNTS = "/proc/self/mountstats"


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path, Machine(Shape(disks=16, mounts=24, connections=4)))
    yield made
    made.close()


@pytest.fixture
def host(tmp_path, tree):
    made = Host(procfs=tmp_path / "proc", sysfs=tmp_path / "sys")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("path", "parse"),
    [
        ("/proc/diskstats", diskstats.parse),
        (MOUNTS, mountstats.parse),
        ("/proc/net/dev", interfaces.parse),
    ],
)
def test_nothing_in_a_table_is_rejected(host, path, parse):
    assert parse(host.read(path)).rejects == ()


def test_the_small_files_tell_what_they_tell_on_a_real_machine(host):
    assert pressure.parse(host.read("/proc/pressure/io")) is not None
    assert meminfo.parse(host.read("/proc/meminfo")) is not None
    assert procstat.parse(host.read("/proc/stat")) is not None


def test_every_mount_has_its_line_in_mountinfo(host):
    mounts = mountstats.parse(host.read(MOUNTS)).mounts

    entries = mountinfo.by_place(mountinfo.parse(host.read("/proc/self/mountinfo")))

    assert len(mounts) == 24
    assert all((mount.mount_point, mount.occurrence) in entries for mount in mounts)


def test_a_quarter_of_the_mounts_moves_in_a_second(host, tree):
    before = mountstats.parse(host.read(MOUNTS))
    tree.advance(1.0)
    after = mountstats.parse(host.read(MOUNTS))

    moved = [
        now.operations["READ"].operations > was.operations["READ"].operations
        for was, now in zip(before.mounts, after.mounts, strict=True)
    ]

    assert sum(moved) == 6


def test_every_mount_is_one_unbroken_story_over_a_minute(host, tree):
    before = mountstats.parse(host.read(MOUNTS))
    for _ in range(60):
        tree.advance(1.0)
        after = mountstats.parse(host.read(MOUNTS), before)

        assert all(map(mountstats.is_continuous, before.mounts, after.mounts))

        before = after


def test_mounts_of_one_server_show_the_same_connections(host):
    mounts = mountstats.parse(host.read(MOUNTS)).mounts

    assert len({mount.connections for mount in mounts[:8]}) == 1
    assert len(mounts[0].connections) == 4
    assert mounts[0].connections != mounts[8].connections


def test_disks_partitions_and_volumes_are_told_apart(host):
    devices = sysblock.parse(read_static(host))

    assert devices["sda1"].partition_of == "sda"
    assert devices["dm-0"].slaves == ("sde", "sdf")
    assert devices["sde"].holders == ("dm-0",)


def test_half_of_the_disks_move_in_a_second(host, tree):
    before = diskstats.parse(host.read("/proc/diskstats")).disks
    tree.advance(1.0)
    after = diskstats.parse(host.read("/proc/diskstats")).disks

    moved = {name for name, was in before.items() if after[name].reads > was.reads}

    assert {name for name in moved if name.startswith("sd") and name.isalpha()} == {
        *("sda", "sdc", "sde", "sdg", "sdi", "sdk", "sdm", "sdo")
    }


def test_a_kept_descriptor_sees_what_a_new_one_sees(host, tree, tmp_path):
    host.read(MOUNTS)
    tree.advance(1000.0)

    assert host.read(MOUNTS) == (tmp_path / "proc/self/mountstats").read_bytes()


def test_a_shorter_text_leaves_nothing_of_a_longer_one(host, tree, tmp_path):
    place = tmp_path / "proc/diskstats"
    with place.open("ab") as file:
        file.write(b"x" * 100)
    tree.write()

    assert not place.read_bytes().endswith(b"x")


def test_the_same_shape_gives_the_same_machine(tmp_path):
    shape = Shape(disks=4, mounts=9, connections=2)
    trees = [Tree(tmp_path / name, Machine(shape)) for name in ("one", "other")]

    texts = [(tmp_path / name / "proc/self/mountstats").read_bytes() for name in ("one", "other")]

    assert texts[0] == texts[1]

    for each in trees:
        each.close()


def test_a_tree_of_no_mounts_has_no_nfs_records(tmp_path):
    made = Tree(tmp_path, Machine(Shape(disks=2, mounts=0, connections=1)))
    made.close()

    assert b"statvers" not in (tmp_path / "proc/self/mountstats").read_bytes()
    assert os.path.exists(tmp_path / "proc/diskstats")
