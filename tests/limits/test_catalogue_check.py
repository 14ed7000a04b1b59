"""`make catalogue-check`: what of the catalogue has aged, and which documented families it lacks."""

import importlib.util
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from ioplateau.limits.clouds import registry

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def check():
    sys.path.insert(0, str(DATA))
    spec = importlib.util.spec_from_file_location("check_catalogue", DATA / "check_catalogue.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(DATA))
    return module


def test_every_row_has_a_source_and_the_report_says_what_is_old(check, capsys):
    assert check.main(date(2026, 11, 22)) == 0
    told = capsys.readouterr().out

    assert "older than a year: " in told
    assert "2018-05-01" in told
    assert "documented families without a figure: " in told
    assert "DCadsv6 of azure_vm_sizes.csv" in told


def test_nothing_was_old_before_it_was_written(check, capsys):
    check.main(date(2016, 1, 1))

    assert "older than a year: 0 rows" in capsys.readouterr().out


def test_a_reader_who_has_seen_enough_ends_it_quietly():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, DATA / "check_catalogue.py"],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)

    assert (ended.returncode, ended.stderr) == (141, b"")


def test_every_family_names_a_file_its_columns_and_a_document(check):
    families = check.rows(DATA / "limits" / "families.csv")
    columns = {file: check.rows(DATA / "limits" / file)[0].keys() for file in registry.forms()}

    for family in families:
        assert {family["column"], family["figure"]} <= columns[family["file"]]
        assert family["document"]
        assert family["document_date"]
    assert len({(f["file"], f["family"]) for f in families}) == len(families)
