"""The table of sources: what it says is what is read, followed and told."""

import pytest

from ioplateau.engine import Engine
from ioplateau.engine.sources import FILES, SOURCES
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import DISKSTATS, MEMINFO, NETDEV, PRESSURE, STAT, Snapshot, Static
from ioplateau.run.sampler import files


def told(**parts):
    return Engine().observe(Snapshot(1.0, 1.0, 1.0, Static(), **parts)).sources


def test_each_source_has_a_name_and_a_place_of_its_own():
    assert len({each.name for each in SOURCES}) == len(SOURCES)
    assert len({each.key for each in SOURCES}) == len(SOURCES)


def test_every_file_is_read_as_often_as_its_line_says(tmp_path):
    read = {each.name: each.every_seconds for each in files(Host(tmp_path))}

    assert read == {each.key: each.every_seconds for each in FILES}
    assert (read[DISKSTATS], read[STAT]) == (0.0, 5.0)


def test_a_source_that_nobody_read_is_not_told_of():
    sources = told(texts={NETDEV: b"", MEMINFO: b"Dirty: 4 kB\n"}, failed={"tcp": "not allowed"})

    assert {name: (each.up, each.why) for name, each in sources.items()} == {
        "netdev": (True, ""),
        "meminfo": (True, ""),
        "sockets": (False, "not allowed"),
    }


def test_what_a_source_says_may_be_nonsense_and_costs_itself():
    sources = told(texts={MEMINFO: b"x", NETDEV: b""}, blobs={"cgroups": 7, "consumers": 7})

    assert not sources["meminfo"].up
    assert sources["netdev"].up
    assert sources["cgroups"].rejects == 1
    assert sources["consumers"].rejects == 1


@pytest.mark.parametrize("why", ["No such file or directory", "Operation not supported"])
def test_a_kernel_without_pressure_is_no_source_that_fails(why):
    assert not told(failed={PRESSURE: f"{PRESSURE}: {why}"})


def test_pressure_that_we_may_not_read_or_that_was_there_before_fails():
    assert not told(failed={PRESSURE: f"{PRESSURE}: Permission denied"})["pressure"].up

    engine = Engine()
    engine.observe(Snapshot(1.0, 1.0, 1.0, Static(), texts={PRESSURE: b"some avg10=0 total=7\n"}))
    gone = {PRESSURE: f"{PRESSURE}: No such file or directory"}

    assert not engine.observe(Snapshot(2.0, 2.0, 2.0, Static(), failed=gone)).sources["pressure"].up
