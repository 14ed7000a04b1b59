"""A user's own catalogue directory: read beside the loop, whatever lies there."""

import json
import os
import threading

import pytest

from ioplateau import cli
from ioplateau.limits.ownrows import NO_ROWS
from ioplateau.run.cataloguefiles import edition
from ioplateau.run.owncatalogue import OwnCatalogue, read_directory

ROWS = "name,uncached_iops,uncached_mbps\nStandard_D8s_v5,9999,100\n"


@pytest.fixture
def directory(tmp_path):
    place = tmp_path / "catalogue"
    place.mkdir()
    (place / "azure_vm_sizes.csv").write_text(ROWS)
    return place


def test_no_directory_is_no_rows():
    assert read_directory(None) is NO_ROWS


def test_a_directory_that_is_not_there_is_said(tmp_path):
    rows = read_directory(str(tmp_path / "none"))

    assert rows.total == 0
    assert "No such file" in rows.complaints[0]


def test_what_is_no_table_is_left_out_and_said(directory):
    (directory / "notes.txt").write_text("not looked at")
    (directory / "gcp_disks.csv").mkdir()
    os.mkfifo(directory / "aws_ebs_volumes.csv")
    (directory / "azure_disks.csv").write_bytes(b"x" * ((1 << 20) + 1))
    rows = read_directory(str(directory))

    assert rows.total == 1
    said = " ".join(rows.complaints)
    assert "aws_ebs_volumes.csv: no regular file: the file is left out" in said
    assert "azure_disks.csv: more than" in said
    assert "gcp_disks.csv" in said
    assert "notes" not in said


def test_rows_are_taken_once_and_again_after_they_changed(directory):
    own = OwnCatalogue()
    own.begin(str(directory))
    own.wait(30)
    first = own.take()

    assert first is not None
    assert first.total == 1
    assert own.take() is None
    (directory / "azure_vm_sizes.csv").write_text(ROWS + "Standard_Z,1,1\n")
    own.begin(str(directory))
    own.wait(30)
    second = own.take()
    assert second is not None
    assert second.total == 2
    own.begin(None)
    own.wait(30)
    third = own.take()
    assert third is not None
    assert third.total == 0


def test_a_directory_that_does_not_answer_holds_nobody_up(directory):
    release = threading.Event()
    answers = iter([lambda: None, release.wait])

    def reading(place):
        next(answers)()
        return read_directory(place)

    own = OwnCatalogue(reading)
    own.begin(str(directory))
    own.wait(30)
    assert own.take() is not None
    for _ in range(3):  # a second and third reading are not begun while the first hangs
        own.begin(str(directory))
    own.wait(0.01)

    assert own.take() is None
    assert own.total == 1
    release.set()


def test_the_command_shows_own_rows_and_the_edition(directory, tmp_path, capsys):
    file = tmp_path / "ioplateau.toml"
    file.write_text(f'[limits]\ncatalogue = "{directory}"\n')
    asked = ["limits", "--config.file", str(file), "--vm-size", "D8s_v5", "--disk", "P30"]

    assert cli.main(asked) == 0
    told = capsys.readouterr()
    assert "9,999 IOPS" in told.out
    assert f"catalogue of {edition().day[:7]}" in told.out
    assert cli.main([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["catalogue_date"] == edition().day


def test_what_was_left_out_is_told_on_standard_error(directory, tmp_path, capsys):
    (directory / "azure_vm_sizes.csv").write_text(ROWS + "Standard_Z,many,1\n")
    file = tmp_path / "ioplateau.toml"
    file.write_text(f'[limits]\ncatalogue = "{directory}"\n')
    asked = ["limits", "--config.file", str(file), "--vm-size", "D8s_v5", "--disk", "P30"]

    assert cli.main(asked) == 0
    assert "azure_vm_sizes.csv line 3: uncached_iops is 'many'" in capsys.readouterr().err


def test_the_edition_is_a_day_and_its_unix_time():
    day, seconds = edition()

    assert day >= "2026-08"
    assert seconds is not None
    assert seconds % 86_400 == 0
