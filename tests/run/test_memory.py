"""The state file: kept over restarts, and never in the way."""

import json
import logging

import pytest

from ioplateau.run.memory import FORMAT, Memory


@pytest.fixture
def taken():
    return []


def take_into(taken):
    return lambda memory, away: taken.append((memory, away))


def test_what_was_written_is_restored_with_the_time_that_passed(tmp_path, taken):
    Memory(tmp_path).write({"a": [1, 2]}, wall=1000.0)
    Memory(tmp_path).restore(take_into(taken), wall=1060.0)

    assert taken == [({"a": [1, 2]}, 60.0)]


def test_a_clock_that_went_back_is_no_time_passed(tmp_path, taken):
    Memory(tmp_path).write({}, wall=1000.0)
    Memory(tmp_path).restore(take_into(taken), wall=500.0)

    assert taken == [({}, 0.0)]


def test_no_file_is_no_news(tmp_path, taken, caplog):
    Memory(tmp_path).restore(take_into(taken), wall=0.0)

    assert taken == []
    assert caplog.records == []


def test_no_directory_keeps_nothing(taken):
    Memory(None).write({}, wall=0.0)
    Memory(None).restore(take_into(taken), wall=0.0)

    assert taken == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"format": 1}', b'{"format": "x", "memory": {}, "wall": 1}', b"\xff\xfe"],
)
def test_a_corrupt_file_is_set_aside_with_a_warning(tmp_path, taken, caplog, content):
    (tmp_path / "state.json").write_bytes(content)
    with caplog.at_level(logging.WARNING):
        Memory(tmp_path).restore(take_into(taken), wall=1.0)

    assert taken == []
    assert (tmp_path / "state.corrupt").read_bytes() == content
    assert "set aside" in caplog.text


def test_memory_that_its_owner_cannot_take_is_set_aside_too(tmp_path, caplog):
    def refuse(memory, away):
        raise KeyError("judge")

    Memory(tmp_path).write({"odd": 1}, wall=1.0)
    Memory(tmp_path).restore(refuse, wall=1.0)

    assert (tmp_path / "state.corrupt").exists()


def test_a_newer_file_is_set_aside_not_misread(tmp_path, taken, caplog):
    newer = {"format": FORMAT + 1, "memory": {}, "wall": 1.0}
    (tmp_path / "state.json").write_text(json.dumps(newer))
    Memory(tmp_path).restore(take_into(taken), wall=1.0)

    assert taken == []
    assert json.loads((tmp_path / "state.newer").read_text()) == newer


def test_it_is_written_when_due_and_not_every_tick(tmp_path):
    memory = Memory(tmp_path, every_seconds=60.0)
    asked = []

    def tell():
        asked.append(1)
        return {}

    for second in range(150):
        memory.keep(tell, float(second), 1e9 + second)

    assert len(asked) == 2


def test_a_directory_that_cannot_be_written_is_said_once(tmp_path, caplog):
    memory = Memory(tmp_path / "missing")
    with caplog.at_level(logging.INFO):
        memory.write({}, wall=1.0)
        memory.write({}, wall=2.0)
        (tmp_path / "missing").mkdir()
        memory.write({}, wall=3.0)

    assert caplog.text.count("cannot be kept") == 1
    assert "kept again" in caplog.text
    assert (tmp_path / "missing/state.json").exists()


def test_whether_it_can_be_written_is_found_out_without_touching_what_is_kept(tmp_path, caplog):
    Memory(tmp_path).write({"a": 1}, wall=1.0)
    before = (tmp_path / "state.json").read_bytes()
    with caplog.at_level(logging.INFO):
        Memory(tmp_path).rehearse()
        Memory(tmp_path / "missing").rehearse()
        Memory(None).rehearse()

    assert (tmp_path / "state.json").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]
    assert len(caplog.records) == 1
    assert (
        vars(caplog.records[0])["ioplateau_fields"]["why"]
        == f"there is no directory {tmp_path}/missing"
    )
