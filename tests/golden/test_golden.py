"""What recorded machines are told is what stands in their golden files, which reviewers read."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("golden_made", Path(__file__).with_name("made.py"))
made = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(made)


@pytest.mark.parametrize("name", made.names())
def test_a_machine_is_told_what_its_golden_file_says(name):
    golden = made.file_of(name).read_text(encoding="utf-8")

    assert made.text_of(name) == golden, "if that is meant: make golden, and read the diff"


def test_every_golden_file_is_of_a_recorded_machine():
    assert sorted(path.stem for path in made.HERE.glob("*.txt")) == made.names()
