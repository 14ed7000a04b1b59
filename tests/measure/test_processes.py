"""Processes by their I/O: what the kernel writes, what comes and goes between two looks."""

import json
import os
import re
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplateau.measure import cgroups
from ioplateau.measure.host import Host
from ioplateau.measure.parsing import FormatError
from ioplateau.measure.processes import (
    MOST_BYTES,
    MOST_NAMED,
    MOST_THREADS,
    Processes,
    ProcessesLook,
    ProcessIo,
    as_json,
    from_json,
    parse_capabilities,
    parse_io,
    parse_mount_devices,
    parse_stat,
)

IO = "rchar: 1\nwchar: 2\nsyscr: 0\nsyscw: 0\nread_bytes: {read}\nwrite_bytes: {write}\n"
MOUNTS = "36 35 8:17 / /data rw,noatime - ext4 /dev/sdb1 rw\n25 1 0:6 / /dev rw - devtmpfs dev rw\n"


class Machine:
    """A /proc as a directory."""

    def __init__(self, root):
        self.root = root
        (root / "proc").mkdir()
        self.host = Host(root)

    def process(self, pid, *, read=0, write=0, name="fio", started=10, files=(), threads=()):
        """threads: bytes that each of them read, of a process that has reaped children."""
        place = self.root / "proc" / str(pid)
        (place / "fdinfo").mkdir(parents=True, exist_ok=True)
        (place / "fd").mkdir(exist_ok=True)
        (place / "io").write_text(IO.format(read=read, write=write))
        reaped = "9" if threads else "0"
        (place / "stat").write_text(
            f"{pid} ({name}) S {'0 ' * 7}{reaped} {'0 ' * 10}{started * 100} 0 0\n"
        )
        for number, size in enumerate(threads, pid):
            (place / "task" / str(number)).mkdir(parents=True, exist_ok=True)
            (place / "task" / str(number) / "io").write_text(IO.format(read=size, write=0))
        (place / "cgroup").write_text("0::/system.slice/db.service\n")
        (place / "mountinfo").write_text(MOUNTS)
        for number, (mount, target) in enumerate(files):
            (place / "fdinfo" / str(number)).write_text(f"pos:\t0\nflags:\t02\nmnt_id:\t{mount}\n")
            (place / "fd" / str(number)).unlink(missing_ok=True)
            os.symlink(target, place / "fd" / str(number))
        return place


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_who_did_most_between_two_looks_comes_first_with_what_it_has_open(machine):
    machine.process(7, read=1000, files=[(36, "/data/a"), (25, "/dev/sdc")])
    machine.process(8, read=900_000)
    machine.process(9, write=5)
    looks = Processes(machine.host)
    assert looks.look(100.0) is None
    machine.process(7, read=51_000, files=[(36, "/data/a"), (25, "/dev/sdc")])
    machine.process(9, write=2005)

    look = looks.look(102.0)

    assert [(busy.pid, busy.read_bytes, busy.write_bytes) for busy in look.busiest] == [
        (7, 50_000, 0),
        (9, 0, 2000),
    ]
    assert look.busiest[0].devices == ("8:17", "sdc")
    assert look.busiest[0].group == "/system.slice/db.service"
    assert (look.seconds, look.seen) == (2.0, 3)


def test_a_number_that_is_used_again_is_a_new_process_from_zero(machine):
    machine.process(7, read=1_000_000)
    looks = Processes(machine.host)
    looks.look(100.0)
    machine.process(7, read=1_004_000, started=101, name="another")

    (busy,) = looks.look(102.0).busiest

    assert (busy.name, busy.read_bytes) == ("another", 1_004_000)


def test_an_old_process_seen_for_the_first_time_is_not_given_what_it_did_long_ago(machine):
    looks = Processes(machine.host)
    looks.look(100.0)
    machine.process(7, read=1_000_000, started=10)

    assert looks.look(102.0).busiest == ()


def test_who_reaps_a_child_is_not_told_to_have_done_what_the_child_did(machine):
    machine.process(6, read=0)
    machine.process(7, read=300, threads=(100, 200))
    machine.process(8, read=5_000, threads=(5_000,))
    looks = Processes(machine.host)
    looks.look(100.0)
    machine.process(6, read=500_000, threads=(0,))
    machine.process(7, read=900_350, threads=(110, 240))
    machine.process(8, read=605_000, threads=(5_000,))
    first = looks.look(102.0)
    machine.process(7, read=990_450, threads=(180, 270))

    second = looks.look(104.0)

    # What a thread did before it was first looked at is not known: it may be all of it.
    assert [(busy.pid, busy.read_bytes) for busy in first.busiest] == [(8, 5_000), (7, 350)]
    assert [(busy.pid, busy.read_bytes) for busy in second.busiest] == [(7, 100)]


def test_of_too_many_threads_the_processs_own_figure_holds(machine):
    machine.process(7, threads=[0] * (MOST_THREADS + 1))
    looks = Processes(machine.host)
    looks.look(100.0)
    machine.process(7, read=4_000, threads=[0] * (MOST_THREADS + 1))

    (busy,) = looks.look(102.0).busiest

    assert busy.read_bytes == 4_000


def test_a_real_parent_is_not_told_to_have_done_what_its_child_did(tmp_path):
    child = "import os; open('big', 'wb').write(bytes(8_000_000)); input(); os._exit(0)"
    parent = (
        "import subprocess, sys; subprocess.run(sys.argv[1:]); print('reaped', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent, sys.executable, "-c", child],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        looks = Processes(Host())
        looks.look(1e9)
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        if parse_io(Host().read_once(f"/proc/{process.pid}/io")).write_bytes < 8_000_000:
            pytest.skip("the file system counts no I/O of processes")

        look = looks.look(1e9 + 1)

        told = [busy.write_bytes for busy in look.busiest if busy.pid == process.pid]
        assert sum(told) < 8_000_000
        process.communicate(b"\n")


def test_a_process_that_ends_while_we_look_costs_only_itself(machine):
    machine.process(7, read=1)
    machine.process(8, read=1)
    looks = Processes(machine.host)
    looks.look(100.0)
    machine.process(7, read=2)
    (machine.process(8, read=2) / "stat").unlink()
    (machine.root / "proc" / "9").mkdir()

    assert [busy.pid for busy in looks.look(102.0).busiest] == [7]


@pytest.mark.parametrize(
    ("status", "is_capable"),
    [
        ("CapPrm:\t000001ffffffffff\nCapEff:\t0000000000080004\nCapBnd:\t0\n", True),
        ("CapEff:\t000001ffffffffff\n", True),
        ("CapEff:\t0000000000080000\nCapBnd:\t000001ffffffffff\n", False),
        ("CapEff:\t0000000000000004\n", False),
        ("CapEff:\tx\n", False),
        (None, False),
    ],
)
def test_processes_that_may_not_be_seen_are_counted(status, is_capable):
    class Refused(Host):
        def list(self, _path):
            return ("self", "7", "8")

        def read_once(self, path, _most=0):
            if path == "/proc/thread-self/status" and status is not None:
                return status.encode()
            raise PermissionError(13, "Permission denied")

    looks = Processes(Refused())
    looks.look(1.0)

    look = looks.look(2.0)

    assert (look.seen, look.unreadable, look.busiest) == (0, 2, ())
    assert look.is_capable == is_capable


def test_without_process_1_those_of_others_are_hidden(machine):
    looks = Processes(machine.host)
    machine.process(7)
    looks.look(1.0)
    assert looks.look(2.0).is_hidden

    machine.process(1)
    assert not looks.look(3.0).is_hidden


def test_who_does_little_beside_many_others_is_looked_at_too_and_who_is_not_is_counted(machine):
    looks = Processes(machine.host)
    for size in (0, 1):
        for pid in range(1, MOST_NAMED + 3):
            machine.process(pid, read=size * pid * 1000)
        look = looks.look(1.0 + size)

    assert len(look.busiest) == MOST_NAMED
    assert look.left_out == 2


def test_only_a_new_line_ends_a_line():
    group = "/a\x0b0::\x85b"
    mount = "36 35 8:17 / /da\x0bta\x85x rw - ext4 /dev/sdb1 rw\n"

    assert cgroups.path_of(f"0::{group}\n".encode()) == group
    assert parse_mount_devices(mount.encode()) == {"36": ("8:17", False)}


def test_without_proc_it_says_so(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        Processes(Host(tmp_path)).look(1.0)


def written():
    """Bytes that this process wrote to disks, as the kernel counts them."""
    return int(
        re.search(r"^write_bytes: (\d+)", Path("/proc/self/io").read_text(), re.MULTILINE)[1]
    )


def test_this_process_is_seen_with_the_bytes_that_it_wrote(tmp_path):
    looks = Processes(Host())
    looks.look(time.clock_gettime(time.CLOCK_BOOTTIME))
    before = written()
    with (tmp_path / "file").open("wb") as file:
        file.write(os.urandom(8 << 20))
        file.flush()
        os.fsync(file.fileno())
        look = looks.look(time.clock_gettime(time.CLOCK_BOOTTIME))
    if written() - before < 8 << 20:
        pytest.skip("the kernel counts no bytes that are written there, as on tmpfs")
    found = {busy.pid: busy for busy in look.busiest}

    assert found[os.getpid()].write_bytes == pytest.approx(8 << 20, rel=0.01)
    assert found[os.getpid()].devices


def test_a_name_may_hold_parentheses_and_blanks():
    text = b"7 (a) b (c) S " + b"0 " * 18 + b"1234 0\n"

    assert parse_stat(text) == ("a) b (c", 12.34, False)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b"0::/user.slice\n", "/user.slice"),
        (b"7:blkio:/a\n0::/b\n", "/a"),
        (b"3:cpuset,blkio:/a:b\n", "/a:b"),
        (b"", ""),
    ],
)
def test_the_hierarchy_that_counts_io_is_found(text, path):
    assert cgroups.path_of(text) == path


def test_io_without_its_columns_is_none():
    assert parse_io(b"rchar: 1\n") is None
    assert parse_io(b"read_bytes: 1\nwrite_bytes: 2\n") == ProcessIo(1, 2)


@pytest.mark.parametrize(
    ("number", "source", "device"),
    [
        ("8:2", "btrfs /dev/sda2", "8:2"),
        ("0:31", "btrfs /dev/sda2", "sda2"),
        ("0:31", "btrfs /dev/mapper/vg-root", "vg-root"),
        ("0:31", "zfs pool/data", "0:31"),
        ("0:31", "btrfs", "0:31"),
    ],
)
def test_a_file_system_with_a_number_of_its_own_is_on_the_device_it_names(number, source, device):
    mounts = parse_mount_devices(f"22 1 {number} /root / rw,noatime - {source} rw\n".encode())

    assert mounts == {"22": (device, False)}


OURS = (
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "40 22 8:33 / /var/lib/docker rw - ext4 /dev/sdc1 rw\n"
    "41 22 0:31 / /srv rw - btrfs /dev/sdd rw\n"
)


@pytest.mark.parametrize(
    ("options", "ours", "device"),
    [
        ("rw,lowerdir=l/A:l/B,upperdir=/var/lib/docker/overlay2/x/diff,workdir=/w", OURS, "8:33"),
        ("rw,lowerdir=/srv/a,upperdir=/var/lib/docker,workdir=/w", OURS, "8:33"),
        ("rw,lowerdir=/l,upperdir=/var/lib/dockers/x,workdir=/w", OURS, "8:1"),
        ("rw,lowerdir=/l,upperdir=/srv/x,workdir=/w", OURS, "sdd"),
        ("ro,lowerdir=/srv/a:/var/lib/docker/b", OURS, "sdd"),
        ("rw,lowerdir=/l,upperdir=/u,workdir=/w", "9 1 0:44 / / rw - overlay overlay rw\n", "overlay"),
        ("rw,lowerdir=/l,upperdir=/u,workdir=/w", "", "overlay"),
        ("rw", OURS, "overlay"),
    ],
)  # fmt: skip
def test_the_root_of_a_container_lies_where_its_writes_go(machine, options, ours, device):
    table = f"30 1 0:44 / / rw - overlay overlay {options}\n"
    (machine.root / "proc" / "self").mkdir()
    (machine.root / "proc" / "self" / "mountinfo").write_text(ours)
    place = machine.process(7, files=[(30, "/a")])
    looks = Processes(machine.host)
    looks.look(100.0)
    machine.process(7, write=9000, files=[(30, "/a")])
    (place / "mountinfo").write_text(table)

    assert looks.look(102.0).busiest[0].devices == (device,)


@pytest.mark.parametrize(
    ("lines", "devices"), [(MOST_BYTES // len(MOUNTS) + 1, None), (1000, ("8:17",))]
)
def test_a_mount_table_that_its_owner_made_too_long_is_not_looked_at(machine, lines, devices):
    place = machine.process(7)
    looks = Processes(machine.host)
    looks.look(100.0)
    machine.process(7, write=9000, files=[(36, "/data/a")])
    (place / "mountinfo").write_text(MOUNTS * lines)

    assert looks.look(102.0).busiest[0].devices == devices


def test_of_thousands_of_open_files_no_more_names_are_taken_than_are_looked_at(machine):
    place = machine.process(7)
    looks = Processes(machine.host)
    looks.look(100.0)
    machine.process(7, read=9000, files=[(36, "socket:[7]")])
    for number in range(1, 6000):
        (place / "fdinfo" / str(number)).touch()
    tracemalloc.start()
    look = looks.look(102.0)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert look.busiest[0].pid == 7
    assert peak_bytes < 6000 * 50  # a name takes 53


def test_of_a_long_mount_table_only_what_a_process_has_open_is_kept():
    table = "".join(f"{number} 1 8:{number} / / rw - ext4 x rw\n" for number in range(30_000))
    tracemalloc.start()
    mounts = parse_mount_devices(table.encode(), wanted={"7", "29999"})
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert mounts == {"7": ("8:7", False), "29999": ("8:29999", False)}
    assert peak_bytes < 3 * len(table)


def test_what_has_no_path_is_no_file_and_is_not_read(machine):
    files = [(36, "anon_inode:[eventpoll]"), (36, "socket:[7]")]
    machine.process(7)
    looks = Processes(machine.host)
    looks.look(100.0)
    machine.process(7, write=9000, files=files)

    assert looks.look(102.0).busiest[0].devices == ()


def test_what_a_process_dirtied_and_took_back_was_not_written(machine):
    place = machine.process(7, write=1000)
    looks = Processes(machine.host)
    looks.look(100.0)
    text = IO.format(read=0, write=9000) + "cancelled_write_bytes: 6000\n"
    (place / "io").write_text(text)

    assert looks.look(102.0).busiest[0].write_bytes == 2000


def test_who_truncates_anothers_pages_wrote_nothing(machine):
    place = machine.process(7, write=0)
    looks = Processes(machine.host)
    looks.look(100.0)
    (place / "io").write_text(IO.format(read=0, write=10) + "cancelled_write_bytes: 60\n")

    assert looks.look(102.0).busiest == ()


@given(st.binary(max_size=200))
def test_no_text_makes_a_parser_fail(text):
    assert isinstance(parse_io(text), ProcessIo | None)
    assert isinstance(cgroups.path_of(text), str)
    assert 0 <= parse_capabilities(text) < 2**64
    assert all(isinstance(each, str) for each, _ in parse_mount_devices(text).values())


def test_a_look_survives_json(machine):
    machine.process(7, read=1)
    looks = Processes(machine.host)
    looks.look(1.0)
    machine.process(7, read=5)
    look = looks.look(2.0)

    assert from_json(json.loads(json.dumps(as_json(look)))) == look
    with pytest.raises(ValueError, match="seconds"):
        from_json({**as_json(look), "seconds": float("nan")})


@pytest.mark.parametrize("odd", [{"seconds": 5e-324}, {"seen": 10**400}, {"unreadable": "9" * 400}])
def test_a_look_of_which_no_rate_can_be_told_is_refused(odd):
    look = as_json(ProcessesLook(3.0, (), seen=1, unreadable=0))

    assert from_json(look).seen == 1
    with pytest.raises(FormatError):
        from_json({**look, **odd})
