import os
import tracemalloc

import pytest

from ioplateau.measure.host import Host


@pytest.fixture
def host(tmp_path):
    (tmp_path / "proc").mkdir()
    opened = Host(tmp_path)
    yield opened
    opened.close()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_a_path_of_the_machine_lies_below_the_root(host, tmp_path):
    (tmp_path / "proc" / "diskstats").write_bytes(b"text")

    assert host.place("/proc/diskstats") == str(tmp_path / "proc" / "diskstats")
    assert host.read("/proc/diskstats") == b"text"


def test_proc_and_sys_may_lie_elsewhere(tmp_path):
    host = Host("/nowhere", procfs=tmp_path / "p", sysfs=tmp_path / "s")

    assert host.place("/proc/stat") == str(tmp_path / "p" / "stat")
    assert host.place("/sys") == str(tmp_path / "s")
    assert host.place("/processes") == "/nowhere/processes"


def test_the_hosts_proc_in_a_container_is_that_of_its_first_process(tmp_path):
    (tmp_path / "proc" / "1").mkdir(parents=True)
    host = Host("/nowhere", procfs=tmp_path / "proc")

    assert host.place("/proc/self/mountstats") == str(tmp_path / "proc/1/mountstats")
    assert host.place("/proc/net/dev") == str(tmp_path / "proc/1/net/dev")
    assert host.place("/proc/diskstats") == str(tmp_path / "proc/diskstats")
    assert Host(tmp_path).place("/proc/self/mountinfo") == str(tmp_path / "proc/1/mountinfo")


def test_our_own_proc_is_read_as_ourselves():
    assert Host(procfs="/proc").place("/proc/self/mountstats") == "/proc/self/mountstats"
    assert Host().place("/proc/net/dev") == "/proc/net/dev"


def test_a_kept_descriptor_sees_what_is_written_later(host, tmp_path):
    file = tmp_path / "proc" / "stat"
    file.write_bytes(b"one")
    first = host.read("/proc/stat")
    file.write_bytes(b"second")

    assert (first, host.read("/proc/stat")) == (b"one", b"second")


def test_reading_again_opens_nothing(host, tmp_path):
    (tmp_path / "proc" / "stat").write_bytes(b"one")
    host.read("/proc/stat")
    before = descriptors()
    for _ in range(10):
        host.read("/proc/stat")

    assert descriptors() == before


def test_read_once_keeps_no_descriptor(host, tmp_path):
    (tmp_path / "proc" / "stat").write_bytes(b"one")
    before = descriptors()

    assert host.read_once("/proc/stat") == b"one"
    assert descriptors() == before


def test_a_file_that_is_longer_than_wanted_is_an_error(host, tmp_path):
    (tmp_path / "proc" / "stat").write_bytes(b"four")

    assert host.read_once("/proc/stat", 4) == b"four"
    with pytest.raises(OSError, match="more than 3 bytes"):
        host.read_once("/proc/stat", 3)


def test_a_file_of_many_buffers_is_read_whole(host, tmp_path):
    text = bytes(range(256)) * 4096
    (tmp_path / "proc" / "mountstats").write_bytes(text)

    assert host.read("/proc/mountstats") == text
    assert host.read("/proc/mountstats") == text


def test_an_empty_file_is_no_bytes(host, tmp_path):
    (tmp_path / "proc" / "empty").touch()

    assert host.read("/proc/empty") == b""


def test_a_missing_file_is_an_os_error_until_it_appears(host, tmp_path):
    with pytest.raises(FileNotFoundError):
        host.read("/proc/late")
    (tmp_path / "proc" / "late").write_bytes(b"here")

    assert host.read("/proc/late") == b"here"


def test_a_kept_descriptor_outlives_its_name_until_it_is_forgotten(host, tmp_path):
    file = tmp_path / "proc" / "stat"
    file.write_bytes(b"old")
    host.read("/proc/stat")
    file.unlink()
    file.write_bytes(b"new")
    kept = host.read("/proc/stat")
    host.forget("/proc/stat")

    assert (kept, host.read("/proc/stat")) == (b"old", b"new")


def test_a_read_that_fails_closes_its_descriptor(host):
    before = descriptors()
    with pytest.raises(IsADirectoryError):
        host.read("/proc")

    assert descriptors() == before


def test_closing_gives_back_every_descriptor(host, tmp_path):
    before = descriptors()
    for name in ("a", "b"):
        (tmp_path / "proc" / name).write_bytes(b"text")
        host.read(f"/proc/{name}")
    host.close()

    assert descriptors() == before


def test_names_in_a_directory_come_sorted(host, tmp_path):
    for name in ("sdb", "sda"):
        (tmp_path / "proc" / name).touch()

    assert host.list("/proc") == ("sda", "sdb")


def test_a_link_is_told_and_not_followed(host, tmp_path):
    (tmp_path / "proc" / "mounts").symlink_to("self/mounts")

    assert host.link("/proc/mounts") == "self/mounts"


def test_a_mount_table_never_read_counts_as_changed(host):
    assert host.mounts_changed("/proc/self/mountinfo")


def test_a_mount_table_read_just_now_has_not_changed():
    host = Host()
    host.read("/proc/self/mountinfo")
    host.mounts_changed("/proc/self/mountinfo")

    assert not host.mounts_changed("/proc/self/mountinfo")
    host.close()


def test_a_read_of_a_small_file_asks_for_no_more_memory_than_it_needs(host, tmp_path):
    (tmp_path / "proc" / "stat").write_bytes(b"text" * 100)
    host.read("/proc/stat")
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for read in (host.read, host.read_once):
        read("/proc/stat")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most - before < 8 << 10
