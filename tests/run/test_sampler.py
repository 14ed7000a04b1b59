"""The sampler on a directory that looks like a machine, and on sources that hang."""

import os
import threading
import time

import pytest

from hand_clock import HandClock
from ioplateau.measure.host import Host
from ioplateau.measure.snapshot import DISKSTATS, MEMINFO, MOUNTINFO, MOUNTSTATS
from ioplateau.run.clock import Grid, SystemClock
from ioplateau.run.reader import Reader, Source
from ioplateau.run.sampler import LOOK_SECONDS, SHAPE, Sampler, SamplerSettings, files
from waiting import wait_until

LINE = b"   8       0 sda 1 0 8 1 2 0 16 2 0 3 3 0 0 0 0 0 0\n"


@pytest.fixture
def machine(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/net").mkdir()
    (tmp_path / "proc/pressure").mkdir()
    (tmp_path / "sys/block/sda").mkdir(parents=True)
    (tmp_path / "sys/block/sda/size").write_text("2048\n")
    (tmp_path / "sys/class/block").mkdir(parents=True)
    (tmp_path / "sys/class/block/sda").symlink_to("../../block/sda")
    (tmp_path / "proc/diskstats").write_bytes(LINE)
    (tmp_path / "proc/self/mountstats").write_bytes(b"")
    (tmp_path / "proc/self/mountinfo").write_bytes(b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
    (tmp_path / "proc/meminfo").write_bytes(b"Dirty: 4 kB\n")
    return tmp_path


def sampler(machine, **settings):
    return Sampler(Host(machine), SystemClock(), settings=SamplerSettings(**settings))


def test_a_snapshot_holds_the_text_of_every_source_with_its_own_time(machine):
    snapshot = sampler(machine).take()

    assert snapshot.texts[DISKSTATS] == LINE
    assert snapshot.mono <= snapshot.at[DISKSTATS] <= snapshot.mono_end
    assert 0 < snapshot.took[DISKSTATS] <= snapshot.mono_end - snapshot.at[DISKSTATS]


def test_a_missing_source_is_a_reason_and_costs_only_itself(machine):
    snapshot = sampler(machine).take()

    why = f"{machine}/proc/pressure/io: No such file or directory"
    assert snapshot.failed["/proc/pressure/io"] == why
    assert snapshot.texts[DISKSTATS] == LINE


def test_the_first_snapshot_knows_the_shape_of_the_machine(machine):
    snapshot = sampler(machine).take()

    assert snapshot.static.block["sda"]["size"] == "2048"
    assert snapshot.static.mountinfo is not None


def test_the_static_part_stays_the_same_object_while_nothing_changes(machine):
    reader = sampler(machine, static_seconds=0.0)
    first = reader.take().static
    for _ in range(5):
        again = reader.take().static

    assert again is first


def test_a_source_that_hangs_is_left_behind_and_the_others_are_read(machine):
    hanging = machine / "proc/self/mountstats"
    hanging.unlink()
    os.mkfifo(hanging)  # open() blocks until somebody writes
    reader = sampler(machine, answer_seconds=0.2)
    first = reader.take()
    second = reader.take()

    assert "no answer within 0.2 s, going on" in first.failed[MOUNTSTATS]
    assert first.texts[DISKSTATS] == LINE
    assert first.texts[MEMINFO]  # comes after the one that hangs
    assert second.failed[MOUNTSTATS] == first.failed[MOUNTSTATS]  # one event, one reason
    assert second.texts[DISKSTATS] == LINE


def test_a_source_that_is_read_too_slowly_is_not_said_to_hang(machine):
    ended = threading.Event()

    def slow():
        while not ended.is_set():  # as where others have all the CPU
            pass

    reader = Sampler(
        Host(machine), SystemClock(), [Source("/slow", slow)], SamplerSettings(answer_seconds=0.1)
    )
    found = reader.take()
    ended.set()

    assert (
        found.failed["/slow"]
        == "/slow: no answer within 0.1 s for lack of CPU, going on without it"
    )


@pytest.mark.parametrize(
    ("hangs", "why"),
    [(True, "a read below it hangs"), (False, "a look below it lacks CPU")],
)
def test_a_look_at_the_machine_that_does_not_end_is_told_with_what_it_lacks(machine, hangs, why):
    ended, (reading, writing) = threading.Event(), os.pipe()

    class Late(Host):
        def list(self, path):
            if hangs:
                os.read(reading, 1)
            while not ended.is_set():
                pass
            return super().list(path)

    clock = HandClock()
    reader = Sampler(Late(machine), clock, (), SamplerSettings(first_look_seconds=0.1))
    first = reader.take()
    clock.now += LOOK_SECONDS + 1
    late = reader.take()
    ended.set()
    os.close(writing)  # the end of what is read

    assert SHAPE not in first.failed
    assert late.failed[SHAPE] == f"{machine}/sys: {why}, what is known is old"


def test_a_source_that_answers_again_is_read_again(machine):
    answer = threading.Event()

    def slow():
        answer.wait()
        return b"late"

    host = Host(machine)
    sources = (Source("/slow", slow), *files(host))
    reader = Sampler(host, SystemClock(), sources, SamplerSettings(answer_seconds=0.1))
    hung = reader.take()
    answer.set()
    # The thread that was left behind has to come back first.
    seen = wait_until(lambda: reader.take().texts.get("/slow"))

    assert "no answer" in hung.failed["/slow"]
    assert seen == b"late"


def test_what_the_kernel_answers_from_memory_is_read_by_the_thread_that_asks(machine):
    readers = []
    host = Host(machine)
    read = host.read
    sources = [
        Source(
            source.name,
            lambda name=source.name: readers.append(threading.get_ident()) or read(name),
            is_prompt=source.is_prompt,
        )
        for source in files(host)
    ]
    sampling = Sampler(host, SystemClock(), sources)
    sampling.take()
    first, readers[:] = set(readers), []
    sampling.take()

    assert threading.get_ident() not in first  # opening a file may hang
    assert set(readers) == {threading.get_ident()}


def test_a_pipe_is_never_read_by_the_thread_that_asks(machine):
    piped = machine / "proc/self/mountstats"
    piped.unlink()
    os.mkfifo(piped)
    host = Host(machine)
    descriptor = os.open(piped, os.O_RDWR)  # so that it can be opened, and says nothing
    reader = Sampler(host, SystemClock(), settings=SamplerSettings(answer_seconds=0.1))
    seen = [reader.take() for _ in range(3)]
    os.close(descriptor)

    assert all(MOUNTSTATS not in snapshot.texts for snapshot in seen)
    assert all(snapshot.texts[DISKSTATS] == LINE for snapshot in seen)


def test_sources_that_hang_at_once_cost_only_themselves(machine):
    release = threading.Event()
    host = Host(machine)
    hanging = tuple(Source(f"/hangs{number}", release.wait) for number in range(4))
    settings = SamplerSettings(answer_seconds=0.2)
    snapshot = Sampler(host, SystemClock(), (*hanging, *files(host)), settings).take()
    release.set()

    assert set(snapshot.failed) >= {source.name for source in hanging}
    assert snapshot.texts[DISKSTATS] == LINE


def test_a_source_that_hangs_keeps_one_thread_however_long(machine):
    release = threading.Event()
    host = Host(machine)
    sources = (Source("/hangs", release.wait), *files(host))
    reader = Sampler(host, SystemClock(), sources, SamplerSettings(answer_seconds=0.05))
    reader.take()
    threads = threading.active_count()
    for _ in range(300):
        reader.take()
    again = threading.active_count()
    release.set()

    assert again <= threads + 1  # the reader that took over, at most


def test_documents_told_by_another_thread_arrive_with_the_next_snapshot(machine):
    reader = sampler(machine)
    shape = reader.take().static
    teller = threading.Thread(target=lambda: reader.tell({"azure/instance": "{}"}))
    teller.start()
    teller.join()
    told, again = reader.take().static, reader.take().static

    assert told.documents == {"azure/instance": "{}"}
    assert told.block == shape.block
    assert again is told


def test_documents_outlive_a_new_look_at_the_machine(machine):
    reader = sampler(machine, static_seconds=0.0)
    reader.tell({"azure/instance": "{}"})
    (machine / "sys/block/sda/size").write_text("4096\n")
    seen = [reader.take().static for _ in range(20)][-1]

    assert seen.documents == {"azure/instance": "{}"}


def test_a_changed_mount_table_comes_with_the_snapshot_that_follows(machine):
    reader = sampler(machine)
    reader.take()
    (machine / "proc/self/mountinfo").write_bytes(b"23 1 0:44 / /mnt rw - nfs4 fs:/vol rw\n")
    reader.look_again()

    assert reader.take().static.mountinfo == b"23 1 0:44 / /mnt rw - nfs4 fs:/vol rw\n"


def test_a_new_mount_has_small_files_read_again_whose_values_are_its_clients(machine):
    now, slots = [100.0], "/proc/sys/sunrpc/tcp_max_slot_table_entries"

    class Clock:
        def mono(self):
            return now[0]

        wall = boot = mono

    class Mounting(Host):
        changed = False

        def mounts_changed(self, path):
            return self.changed and path == MOUNTINFO

    host = Mounting(machine)
    reader = Sampler(host, Clock())
    before = reader.take().static.files
    (machine / slots[1:]).parent.mkdir(parents=True)
    (machine / slots[1:]).write_text("2\n")
    now[0] += 11.0
    host.changed = True
    seen = before
    for _ in range(100):
        if slots in (seen := reader.take().static.files):
            break
        time.sleep(0.05)

    assert slots not in before
    assert seen[slots] == "2"


def test_a_mount_table_that_cannot_be_read_is_a_reason(machine):
    (machine / "proc/self/mountinfo").unlink()
    snapshot = sampler(machine).take()

    assert snapshot.failed[MOUNTINFO] == f"{machine}{MOUNTINFO}: No such file or directory"
    assert snapshot.static.mountinfo is None


def test_a_defect_in_one_source_is_a_reason_too(machine):
    host = Host(machine)
    sources = (Source("odd", lambda: 1 / 0), *files(host))
    snapshot = Sampler(host, SystemClock(), sources).take()

    assert "ZeroDivisionError" in snapshot.failed["odd"]
    assert snapshot.texts[DISKSTATS] == LINE


def test_a_source_with_a_cadence_is_read_when_due(machine):
    host = Host(machine)
    reads = []
    source = Source("seldom", lambda: reads.append(1) or len(reads), every_seconds=3600)
    reader = Sampler(host, SystemClock(), (source,))
    first, second = reader.take(), reader.take()

    assert first.blobs == {"seldom": 1}
    assert second.blobs == {}


def test_a_source_with_a_cadence_is_read_on_time_although_ticks_come_a_little_early(machine):
    clock, asked = HandClock(), []
    source = Source("seldom", lambda: asked.append(clock.now), every_seconds=3.0)
    reader = Sampler(Host(machine), clock, (source,))
    for at in (100.0, 101.0, 102.0, 102.99, 104.0):
        clock.now = at
        reader.take()

    assert asked == [100.0, 102.99]


def test_ticks_lie_on_the_grid():
    grid = Grid(100.0, 1.0)

    assert [grid.next(100.0), grid.next(100.2), grid.next(101.1)] == [100.0, 101.0, 102.0]


def test_late_ticks_are_skipped_and_counted_never_caught_up():
    grid = Grid(100.0, 1.0)
    grid.next(100.0)

    assert grid.next(104.3) == 104.0
    assert grid.skipped == 3
    assert grid.next(104.4) == 105.0


@pytest.mark.parametrize(("taken", "due"), [(103.3, 104.0), (103.7, 105.0)])
def test_no_tick_comes_less_than_half_an_interval_after_the_one_before(taken, due):
    grid = Grid(100.0, 1.0)
    grid.next(100.0)
    grid.next(103.0)  # we slept on, until `taken`

    assert grid.next(taken + 0.02, taken) == due


def test_a_seldom_source_that_failed_is_asked_again_soon(machine):
    now = [100.0]

    class Clock:
        def mono(self):
            return now[0]

        wall = boot = mono

    answers = [OSError(5, "busy"), "here"]

    def read():
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    reader = Sampler(Host(machine), Clock(), (Source("seldom", read, every_seconds=3600),))
    first = reader.take()
    now[0] += 6.0
    second = reader.take()

    assert "busy" in first.failed["seldom"]
    assert second.blobs == {"seldom": "here"}


def test_a_source_given_up_before_its_thread_began_is_not_stuck_for_good(machine):
    reader = Reader(SystemClock())
    source = Source("/quick", lambda: b"here")
    for _ in range(20):
        reader.gather([source], 0.0)  # nobody can have begun by then
    seen = wait_until(lambda: reader.gather([source], 1.0).texts.get("/quick"))

    assert seen == b"here"
