"""The state file: kept over restarts, and never in the way."""

import json
import logging
import os
import socket
import stat
import threading

import pytest

from at_once import AtOnce
from ioplateau.run import historyfiles
from ioplateau.run.statefile import StateFile
from ioplateau.run.statetext import FORMAT
from ioplateau.run.writer import FileWriter


@pytest.fixture
def taken():
    return []


def take_into(taken):
    return lambda memory, away: taken.append((memory, away))


def test_what_was_written_is_restored_with_the_time_that_passed(tmp_path, taken):
    StateFile(tmp_path, AtOnce()).write({"a": [1, 2]}, wall=1000.0)
    StateFile(tmp_path, AtOnce()).restore(take_into(taken), wall=1060.0)

    assert taken == [({"a": [1, 2]}, 60.0)]


def test_what_is_kept_is_its_owners_alone(tmp_path):
    before = os.umask(0o022)
    try:
        StateFile(tmp_path, AtOnce()).write({"a": 1}, wall=1000.0)
        for _ in range(2):  # the first file becomes the old one
            historyfiles.append(tmp_path / "history-1s.log", b"x" * 99 + b"\n", 100)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}

    assert modes.keys() > {"history-1s.log", "history-1s.old"}
    assert set(modes.values()) == {0o600}


def test_a_clock_that_went_back_is_no_time_passed(tmp_path, taken):
    StateFile(tmp_path, AtOnce()).write({}, wall=1000.0)
    StateFile(tmp_path, AtOnce()).restore(take_into(taken), wall=500.0)

    assert taken == [({}, 0.0)]


def test_no_file_is_no_news(tmp_path, taken, caplog):
    StateFile(tmp_path, AtOnce()).restore(take_into(taken), wall=0.0)

    assert taken == []
    assert caplog.records == []


def test_no_directory_keeps_nothing(taken):
    StateFile(None, AtOnce()).write({}, wall=0.0)
    StateFile(None, AtOnce()).restore(take_into(taken), wall=0.0)

    assert taken == []


@pytest.mark.parametrize(
    "content",
    [
        *(
            b"",
            b"{",
            b"[]",
            b'{"format": 1}',
            b'{"format": "x", "memory": {}, "wall": 1}',
            b"\xff\xfe",
        ),
        *(
            b'{"format": 1, "memory": {"a": %s}, "wall": 1}' % odd
            for odd in (b"NaN", b"-Infinity", b"1e999")
        ),
        b'{"format": 1, "memory": {}, "wall": 1e999}',
        b'{"format": 1, "memory": %s%s, "wall": 1}' % (b"[" * 100_000, b"]" * 100_000),
        b'{"format": 1, "memory": {"a": %s}, "wall": 1}' % (b"9" * 5000),
    ],
    ids=range(12),
)
def test_a_corrupt_file_is_set_aside_with_a_warning(tmp_path, taken, caplog, content):
    (tmp_path / "state.json").write_bytes(content)
    with caplog.at_level(logging.WARNING):
        StateFile(tmp_path, AtOnce()).restore(take_into(taken), wall=1.0)

    assert taken == []
    assert (tmp_path / "state.corrupt").read_bytes() == content
    assert "set aside" in caplog.text


def test_memory_that_its_owner_cannot_take_is_set_aside_too(tmp_path, caplog):
    def refuse(memory, away):
        raise KeyError("judge")

    StateFile(tmp_path, AtOnce()).write({"odd": 1}, wall=1.0)
    StateFile(tmp_path, AtOnce()).restore(refuse, wall=1.0)

    assert (tmp_path / "state.corrupt").exists()


def test_a_newer_file_is_set_aside_not_misread(tmp_path, taken, caplog):
    newer = {"format": FORMAT + 1, "memory": {}, "wall": 1.0}
    (tmp_path / "state.json").write_text(json.dumps(newer))
    StateFile(tmp_path, AtOnce()).restore(take_into(taken), wall=1.0)

    assert taken == []
    assert json.loads((tmp_path / "state.newer").read_text()) == newer


def test_it_is_written_when_due_and_not_every_tick(tmp_path):
    memory = StateFile(tmp_path, AtOnce(), every_seconds=60.0)
    asked = []

    def tell():
        asked.append(1)
        return {}

    for second in range(150):
        memory.keep(tell, float(second), 1e9 + second)

    assert len(asked) == 2


def test_a_directory_that_cannot_be_written_is_said_once_each_time(tmp_path, caplog):
    place = tmp_path / "missing"
    memory = StateFile(place, AtOnce())
    with caplog.at_level(logging.INFO):
        memory.write({}, wall=1.0)
        memory.write({}, wall=2.0)
        place.mkdir()
        memory.write({}, wall=3.0)
        is_there = (place / "state.json").exists()
        place.rename(tmp_path / "gone")
        memory.write({}, wall=4.0)
        memory.write({}, wall=5.0)

    assert is_there
    assert [record.getMessage() for record in caplog.records] == [
        "state cannot be kept, a restart will forget it",
        "state is kept again",
        "state cannot be kept, a restart will forget it",
    ]


@pytest.mark.parametrize("place", ["gone", "file", "file/below"])
def test_a_directory_that_is_none_is_said_once_from_the_start(tmp_path, taken, caplog, place):
    (tmp_path / "file").touch()
    memory = StateFile(tmp_path / place, AtOnce())
    memory.restore(take_into(taken), wall=1.0)
    memory.try_write()
    memory.write({}, wall=2.0)

    (record,) = caplog.records
    assert record.getMessage() == "state cannot be kept, a restart will forget it"
    assert f"there is no directory {tmp_path / place}" in str(record.__dict__)


def test_whether_it_can_be_written_is_found_out_without_touching_what_is_kept(tmp_path, caplog):
    StateFile(tmp_path, AtOnce()).write({"a": 1}, wall=1.0)
    before = (tmp_path / "state.json").read_bytes()
    with caplog.at_level(logging.INFO):
        StateFile(tmp_path, AtOnce()).try_write()
        StateFile(tmp_path / "missing", AtOnce()).try_write()
        StateFile(None, AtOnce()).try_write()

    assert (tmp_path / "state.json").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]
    assert len(caplog.records) == 1
    assert (
        vars(caplog.records[0])["ioplateau_fields"]["why"]
        == f"there is no directory {tmp_path}/missing"
    )


def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(
    ("plant", "ending"),
    [
        (lambda path: path.symlink_to("/dev/zero"), "corrupt"),
        (os.mkfifo, "corrupt"),
        (lambda path: sparse(path, 3 << 30), "corrupt"),
        (listening, "unread"),
    ],
    ids=["link to a device", "FIFO", "3 GB", "what cannot be opened"],
)
def test_what_is_planted_in_its_place_is_set_aside_unread(tmp_path, taken, caplog, plant, ending):
    plant(tmp_path / "state.json")
    StateFile(tmp_path, AtOnce()).restore(take_into(taken), wall=1.0)
    StateFile(tmp_path, AtOnce()).write({"a": 1}, wall=1.0)

    assert taken == []
    assert caplog.text.count("set aside") == 1
    assert json.loads((tmp_path / "state.json").read_text())["memory"] == {"a": 1}
    assert os.path.lexists(tmp_path / f"state.{ending}")


def sparse(path, size):
    with path.open("wb") as file:
        file.truncate(size)


class Stuck:
    """A writer whose disk does not answer until it is let go."""

    def __init__(self):
        self.jobs, self.behind = [], 0.0

    def submit(self, _, job):
        self.jobs.append(job)

    def behind_seconds(self, _=None):
        return self.behind


def test_a_disk_that_does_not_answer_is_not_waited_for_at_the_start(tmp_path, taken, caplog):
    StateFile(tmp_path, AtOnce()).write({"a": 1}, wall=1.0)
    stuck = Stuck()
    StateFile(tmp_path, stuck, restore_seconds=0.01).restore(take_into(taken), wall=1.0)

    assert taken == []
    assert "does not answer, starting without it" in caplog.text

    for job in stuck.jobs:
        job()

    assert taken == []
    assert json.loads((tmp_path / "state.late").read_text())["memory"] == {"a": 1}


@pytest.mark.parametrize(
    ("content", "aside"),
    [(None, []), (b"garbage", ["state.corrupt"]), (b'{"format": 99}', ["state.newer"])],
)
def test_of_a_disk_that_answers_late_nothing_is_said_to_be_left_where_nothing_is(
    tmp_path, taken, caplog, content, aside
):
    if content is not None:
        (tmp_path / "state.json").write_bytes(content)
    stuck = Stuck()
    StateFile(tmp_path, stuck, restore_seconds=0.01).restore(take_into(taken), wall=1.0)
    for job in stuck.jobs:
        job()

    assert "cannot be set aside" not in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == aside


def test_a_disk_that_does_not_answer_is_said_once_and_so_is_that_it_does_again(tmp_path, caplog):
    stuck = Stuck()
    memory = StateFile(tmp_path, stuck, every_seconds=60.0)
    with caplog.at_level(logging.INFO):
        for second in range(200):
            stuck.behind = max(second - 60.0, 0.0) if second < 150 else 0.0
            memory.keep(dict, float(second), 1e9 + second)
    said = [record.getMessage() for record in caplog.records]

    assert said == [
        "state directory does not answer, state is not being kept",
        "state directory answers again",
    ]


def test_a_disk_that_does_not_take_another_file_is_said_before_the_state_is_due(tmp_path, caplog):
    now, lets_go = [0.0], threading.Event()
    writer = FileWriter(lambda: now[0])
    writer.submit("history", lets_go.wait)
    memory = StateFile(tmp_path, writer, every_seconds=60.0)
    for now[0] in (0.0, 5.0, 10.0, 15.0):
        memory.keep(dict, now[0], 1e9)
    lets_go.set()

    assert "state directory does not answer" in caplog.text


def test_numbers_that_are_none_are_not_written_and_cost_no_tick(tmp_path, caplog):
    StateFile(tmp_path, AtOnce()).write({"a": 1}, wall=1.0)
    StateFile(tmp_path, AtOnce()).write({"a": float("nan")}, wall=1.0)

    assert "state cannot be kept" in caplog.text
    assert json.loads((tmp_path / "state.json").read_text())["memory"] == {"a": 1}


def test_a_second_daemon_with_the_same_state_directory_is_told(tmp_path, caplog):
    def restored(directory):
        file = StateFile(directory, AtOnce())
        file.restore({}.__setitem__, 0.0)
        return file

    other = tmp_path / "other"
    other.mkdir()
    kept = [restored(tmp_path), restored(other)]
    assert "another daemon" not in caplog.text

    kept.append(restored(tmp_path))
    assert "another daemon keeps its state in this directory" in caplog.text
