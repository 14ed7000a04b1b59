"""The history on the disk: what was kept comes back, whatever became of the files."""

import json
import os
import resource
import weakref
import zlib

import pytest

import states
from at_once import AtOnce
from ioplateau.history import Event, History, What
from ioplateau.history.consumption import MOST_WAITING
from ioplateau.history.episodes import Episode
from ioplateau.history.records import Block, HistoryPart
from ioplateau.history.rings import CELL_BYTES
from ioplateau.judge.flows import FlowTick
from ioplateau.limits.budgets import Dimension, FlowKey, Kind, Word
from ioplateau.run import historyfiles
from ioplateau.run.historyfiles import HistoryFiles

SDA = FlowKey("disk", "sda")
ODD = FlowKey("nfs", "/mnt/\udcff")
WALL = 1_700_001_000.0  # begins ten seconds


def tick(second, word=Word.HEALTHY, reads=400.0, limit=500.0):
    disk = states.budget(Kind.DISK, "sda", states.limit(Dimension.IOPS, value=limit), word=word)
    disk = disk._replace(budget=disk.budget._replace(members=(SDA,)))
    odd = states.budget(Kind.VOLUME, ODD.name, states.limit(Dimension.IOPS, value=limit))
    odd = odd._replace(budget=odd.budget._replace(members=(ODD,)))
    flow = FlowTick(1.0, reads, 0.0, reads * 4096, 0.0, 0.005, None, 2.0, 2)
    return states.state(
        mono=100.0 + second,
        wall=WALL + second,
        budgets=states.by_key(disk, odd),
        flows={SDA: flow, ODD: flow},
    )


class Run:
    """A daemon's life, as far as its history is concerned."""

    def __init__(self, directory):
        self.writer = AtOnce()
        self.chronicle = HistoryFiles(directory, self.writer)
        self.history = History(self.chronicle.keep)
        self.chronicle.restore(self.history)

    def live(self, first, last, **parts):
        for second in range(first, last):
            self.history.observe(tick(second, **parts))
        return self


def shown(history, seconds=900):
    found = history.series("disk", "sda", "iops", seconds)
    return dict(zip(found.at, found.rate, strict=True))


def lines_by_file(directory):
    return {
        path.name: path.read_bytes().splitlines() for path in directory.iterdir() if path.is_file()
    }


def test_a_run_that_was_killed_loses_less_than_ten_seconds(tmp_path):
    before = Run(tmp_path).live(0, 125)

    after = Run(tmp_path).live(130, 131)

    kept = shown(after.history)
    lost = [at for at in shown(before.history) if at not in kept]
    assert len(lost) < 10
    assert min(lost) >= WALL + 120


def test_a_run_that_was_stopped_loses_nothing(tmp_path):
    before = Run(tmp_path).live(0, 125)
    before.chronicle.keep(before.history, is_last=True)

    after = Run(tmp_path).live(130, 131)

    assert [at for at in shown(before.history) if at not in shown(after.history)] == []


def test_longer_series_come_back_too(tmp_path):
    before = Run(tmp_path).live(0, 700)
    after = Run(tmp_path).live(700, 701)

    for seconds in (3600, 100_000):
        ours, theirs = shown(before.history, seconds), shown(after.history, seconds)
        assert len(ours) > 5
        for at, rate in ours.items():
            assert theirs[at] == pytest.approx(rate, rel=2e-3)


def test_names_that_are_no_text_come_back(tmp_path):
    Run(tmp_path).live(0, 25)
    after = Run(tmp_path).live(25, 26)

    assert len(after.history.series("volume", ODD.name, "iops").at) >= 20


def test_shares_are_of_the_limits_of_their_time(tmp_path):
    Run(tmp_path).live(0, 30, limit=1000.0)
    after = Run(tmp_path).live(30, 60, limit=500.0)

    found = after.history.series("disk", "sda", "iops")
    assert found.share[0] == pytest.approx(0.4)
    assert found.share[-1] == pytest.approx(0.8)


def test_an_episode_that_ended_comes_back_as_it_was(tmp_path):
    before = Run(tmp_path).live(0, 30, word=Word.THROTTLED).live(30, 65)
    after = Run(tmp_path)

    (theirs,) = after.history.episodes()
    assert theirs == before.history.episodes()[0]
    assert theirs.ended == WALL + 30


def test_an_episode_that_went_on_when_it_was_killed_goes_on(tmp_path):
    Run(tmp_path).live(0, 65, word=Word.THROTTLED)
    after = Run(tmp_path)
    (cut,) = after.history.episodes()
    assert cut.ended == WALL + 60
    assert cut.cut_off
    assert cut.held_seconds == 60

    after.live(70, 80, word=Word.THROTTLED)

    (running,) = after.history.open_episodes()
    assert running.began == cut.began
    assert running.held_seconds == 69


class Look(dict):
    """At who draws on a budget."""


def test_of_what_waits_for_a_slow_disk_no_look_at_who_draws_is_held(tmp_path):
    run = Run(tmp_path)
    run.writer.frozen = True
    looks = []
    for second in range(65):
        look = Look()
        looks.append(weakref.ref(look))
        run.history.observe(tick(second, word=Word.THROTTLED)._replace(consumers=look))
    del look

    assert 2 <= sum(look() is not None for look in looks) <= 2 * MOST_WAITING


def test_events_come_back(tmp_path):
    before = Run(tmp_path)
    before.history.note(What.CONFIGURATION, "configuration reloaded", WALL + 3)
    before.live(0, 25)

    assert (
        Event(WALL + 3, What.CONFIGURATION, "configuration reloaded")
        in Run(tmp_path).history.events()
    )


def test_events_push_no_episode_out_of_its_file(tmp_path):
    run = Run(tmp_path).live(0, 30, word=Word.THROTTLED).live(30, 65)
    for number in range(70):
        for _ in range(10):
            run.history.note(What.GAP, "x" * 2000, WALL)
        run.live(65 + 10 * number, 75 + 10 * number)

    after = Run(tmp_path).history
    assert len(after.episodes()) == 1
    assert 0 < len(after.events()) < 700


def test_a_torn_last_line_costs_itself_is_told_once_and_the_next_is_whole(tmp_path, caplog):
    Run(tmp_path).live(0, 45)
    file = tmp_path / "history-1s.log"
    file.write_bytes(file.read_bytes()[:-30])

    Run(tmp_path).live(45, 75)
    Run(tmp_path)

    assert caplog.text.count("damaged lines") == 1
    found = shown(Run(tmp_path).live(80, 81).history)
    assert WALL + 25 in found
    assert WALL + 35 not in found
    assert [at for at in range(45, 70) if WALL + at not in found] == []


@pytest.mark.parametrize(
    "damage", [b"\0" * 4096, bytes(range(255, -1, -1)) * 16, b"\n\n\n", b"00000000 {}\n"]
)
def test_garbage_costs_itself(tmp_path, damage):
    Run(tmp_path).live(0, 25)
    for file in tmp_path.iterdir():
        file.write_bytes(damage + b"\n" + file.read_bytes())

    assert len(shown(Run(tmp_path).live(30, 31).history)) >= 20


@pytest.mark.parametrize(
    "value",
    [
        {"step": 1, "t": 5, "seen": "1", "rows": {"disk": {"sda": "AAAA"}}},
        {"step": 0, "t": 5, "seen": "1", "rows": {}},
        {"step": 1, "t": "x", "seen": "1", "rows": {}},
        {"step": 1, "t": 1, "seen": "1" * 61, "rows": {}},
        {"step": 7, "t": 7, "seen": "1", "rows": {}},
        {"step": 1, "t": 7, "seen": "1", "rows": {}, "limits": [[1]]},
        {"episode": {"kind": "disk"}},
        {"episode": {"kind": "boat", "name": "a", "word": "throttled", "began": 1}},
        {"episode": {"kind": "disk", "name": "a", "word": "throttled", "began": "soon"}},
        {"event": {"at": 1e999, "what": "gap", "sentence": ""}},
        {"event": {"at": 1}},
        {"something": "of a later version"},
        [],
        7,
    ],
)
def test_lines_that_make_no_sense_are_left_out(tmp_path, value):
    text = json.dumps(value).encode()
    Run(tmp_path).live(0, 25)
    with (tmp_path / "episodes.log").open("ab") as file:
        file.write(b"%08x %s\n" % (zlib.crc32(text), text))

    assert len(shown(Run(tmp_path).live(30, 31).history)) >= 20


def test_keys_of_a_later_version_are_passed_over(tmp_path):
    Run(tmp_path).live(0, 30, word=Word.THROTTLED).live(30, 65)
    for file in tmp_path.iterdir():
        lines = [json.loads(line.split(b" ", 1)[1]) for line in file.read_bytes().splitlines()]
        for line in lines:
            line["later"] = 1
            if "episode" in line:
                line["episode"]["later"] = 1
        texts = [json.dumps(line).encode() for line in lines]
        file.write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(text), text) for text in texts))

    assert len(Run(tmp_path).history.episodes()) == 1


def test_files_of_a_later_format_are_set_aside(tmp_path):
    text = b'{"format":2,"ioplateau":"9.0"}'
    (tmp_path / "episodes.log").write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))

    Run(tmp_path).live(0, 30, word=Word.THROTTLED).live(30, 65)

    assert (tmp_path / "episodes.log.newer").read_bytes().endswith(text + b"\n")
    assert len(Run(tmp_path).history.episodes()) == 1


def test_the_files_stay_within_their_size(tmp_path):
    path = tmp_path / "history-1s.log"
    for _ in range(50):
        historyfiles.append(path, b"x" * 999 + b"\n", 10_000)

    assert b'"format"' in path.read_bytes().splitlines()[0]
    assert path.stat().st_size <= 10_000
    assert path.with_suffix(".old").stat().st_size <= 10_000
    assert sum(each.most_bytes for each in historyfiles.LINE_FILES) == 8 << 20


def test_of_what_a_full_disk_did_not_take_nothing_stays(tmp_path):
    path = tmp_path / "history-1s.log"
    historyfiles.append(path, b"x" * 99 + b"\n", 10_000)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, limits[1]))
    try:
        with pytest.raises(OSError, match="too large") as told:
            historyfiles.append(path, b"y" * 99 + b"\n", 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert told.value.filename == str(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("torn", [b"x" * 30, b"\0" * 4096])
def test_a_file_that_was_torn_before_its_first_line_ended_begins_anew(tmp_path, torn):
    path = tmp_path / "history-1s.log"
    path.write_bytes(torn)

    historyfiles.append(path, b"x\n", 10_000)

    first, last = path.read_bytes().splitlines()
    assert (b"format" in first, last) == (True, b"x")


def test_what_is_planted_is_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_text("precious")
    state = tmp_path / "state"
    state.mkdir()
    (state / "history-1s.log").symlink_to(other)
    os.mkfifo(state / "episodes.log")

    Run(state).live(0, 65)

    assert other.read_text() == "precious"


def test_a_frozen_disk_is_caught_up_with(tmp_path):
    run = Run(tmp_path).live(0, 25)
    run.writer.frozen = True
    run.live(25, 95, word=Word.THROTTLED).live(95, 120)
    run.writer.thaw()

    after = Run(tmp_path).live(120, 121)
    assert len(shown(after.history)) >= 110
    assert len(after.history.episodes()) == 1


def test_a_disk_that_stays_frozen_costs_the_oldest_cells_and_no_episode_or_event(tmp_path):
    run = Run(tmp_path)
    run.writer.frozen = True
    run.history.note(What.CONFIGURATION, "configuration reloaded", WALL)
    run.live(0, 30, word=Word.THROTTLED).live(30, 1200)
    run.writer.thaw()

    after = Run(tmp_path).live(1200, 1201)
    assert len(after.history.episodes()) == 1
    assert What.CONFIGURATION in [event.what for event in after.history.events()]
    assert WALL + 1100 in shown(after.history)


class Busy:
    """A history of many flows: a quarter of an hour of it is more than a file holds."""

    def __init__(self):
        self.taken = 0

    def take(self, **_):
        self.taken += 1
        rows = {FlowKey("disk", f"sd{number}"): bytes(10 * CELL_BYTES) for number in range(250)}
        block = Block(1, int(WALL) + 10 * self.taken, b"\1" * 10, rows)
        return HistoryPart((block,), ended=(episode(self.taken),))


def episode(number):
    return Episode(Kind.DISK, f"sd{number}", Word.THROTTLED, WALL, WALL + 1, sentence="s" * 9000)


def test_what_waited_for_long_goes_into_files_that_are_read_again(tmp_path):
    run, busy = Run(tmp_path), Busy()
    run.writer.frozen = True
    for _ in range(historyfiles.MOST_WAITING):
        run.chronicle.keep(busy)
    run.writer.thaw()

    parts, damaged = historyfiles.read(tmp_path)
    for line_file in historyfiles.LINE_FILES[:2]:
        path = tmp_path / line_file.name
        for each in (path, path.with_suffix(".old")):
            assert each.stat().st_size <= line_file.most_bytes // 2
    starts = [cells.start for part in parts for cells in part.blocks]
    assert starts == list(range(starts[0], int(WALL) + 10 * busy.taken + 1, 10))
    ended = [one.name for part in parts for one in part.ended]
    assert ended == [f"sd{number + 1}" for number in range(busy.taken - len(ended), busy.taken)]
    assert (len(starts) > 30, len(ended) > 70, damaged) == (True, True, 0)


def test_of_what_waited_for_long_that_is_not_written_again_which_is_in_the_file(tmp_path):
    run, busy = Run(tmp_path), Busy()
    (tmp_path / "history-1s.old").mkdir()
    run.writer.frozen = True
    for _ in range(30):
        run.chronicle.keep(busy)
    run.writer.thaw()
    for _ in range(3):
        run.chronicle.keep(busy)

    (tmp_path / "history-1s.old").rmdir()
    run.chronicle.keep(busy)
    parts, _ = historyfiles.read(tmp_path)
    starts = [cells.start for part in parts for cells in part.blocks]
    assert starts == [int(WALL) + 10 * (number + 1) for number in range(busy.taken)]


def test_what_comes_while_others_are_written_is_written_next(tmp_path, monkeypatch):
    run, append, came = Run(tmp_path).live(0, 15), historyfiles.append, []

    def append_and_be_overtaken(*arguments):
        if not came:
            came.append(True)
            run.writer.frozen = True
            run.history.note(What.CONFIGURATION, "configuration reloaded", WALL)
            run.chronicle.keep(run.history)
        append(*arguments)

    monkeypatch.setattr(historyfiles, "append", append_and_be_overtaken)
    run.live(15, 35)
    run.writer.thaw()
    run.live(35, 55)

    assert What.CONFIGURATION in [event.what for event in Run(tmp_path).history.events()]


def test_a_disk_that_does_not_answer_at_the_start_is_not_waited_for(tmp_path):
    writer = AtOnce()
    writer.frozen = True
    history = History()

    HistoryFiles(tmp_path, writer).restore(history, seconds=0.05)

    assert history.episodes() == ()


def test_without_a_directory_nothing_is_kept():
    run = Run(None).live(0, 60)

    assert run.writer.jobs == {}


@pytest.mark.parametrize("name", [each.name for each in historyfiles.LINE_FILES])
def test_a_file_that_cannot_be_written_has_no_other_written_twice_and_is_caught_up_with(
    tmp_path, caplog, name
):
    caplog.set_level("INFO")
    run = Run(tmp_path)
    (tmp_path / name).mkdir()
    run.history.note(What.CONFIGURATION, "configuration reloaded", WALL + 1500)
    run.live(1500, 1565, word=Word.THROTTLED).live(1565, 2000)  # an hour begins at 1800
    others = lines_by_file(tmp_path)
    (tmp_path / name).rmdir()
    run.live(2000, 2015)

    lines = lines_by_file(tmp_path)
    assert others.keys() == lines.keys() - {name}
    assert all(len(each) == len(set(each)) for each in lines.values())
    assert sum(b'"episode"' in line for line in lines["episodes.log"]) == 1
    kept = shown(Run(tmp_path).live(2015, 2016).history)
    assert [second for second in range(1500, 2000) if WALL + second not in kept] == []
    assert [record.getMessage() for record in caplog.records] == [
        "history cannot be kept, a restart will forget it",
        "history is kept again",
    ]


@pytest.mark.parametrize("place", ["gone", "file", "file/below"])
def test_a_directory_that_is_none_is_told_once(tmp_path, caplog, place):
    (tmp_path / "file").touch()
    Run(tmp_path / place).live(0, 65)

    assert [record.getMessage() for record in caplog.records] == [
        "history cannot be kept, a restart will forget it"
    ]
