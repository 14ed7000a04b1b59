"""`make catalogue-check`: what of the catalogue has aged, and which documented families it lacks."""

import importlib.util
import os
import re
import shutil
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


# A burst, an Ultra lane and a network that were missing beside documented ones, and a whole column.
FIGURES = (
    ("Standard_D8as_v4,", "burst_uncached_iops"),
    ("Standard_M64bs_v3,", "uncached_ultra_iops"),
    ("Standard_E16s_v5,", "network_bandwidth_mbps"),
    (r"Standard_L\d+as_v3,", "local_nvme_read_mbps"),
)


def test_a_size_without_a_figure_that_its_page_prints_is_an_error(check, tmp_path, capsys):
    shutil.copytree(DATA / "limits", tmp_path, dirs_exist_ok=True)
    table = tmp_path / "azure_vm_sizes.csv"
    head, *lines = table.read_text("utf-8").splitlines()
    for pattern, column in FIGURES:
        at = head.split(",").index(column)
        for number, line in enumerate(lines):
            if re.match(pattern, line):
                cells = line.split(",")
                lines[number] = ",".join([*cells[:at], "", *cells[at + 1 :]])
    table.write_text("\n".join([head, *lines]), "utf-8")

    assert check.main(date(2026, 11, 22), tmp_path) == 1
    wrong = capsys.readouterr().err
    for pattern, column in FIGURES:
        assert f"of azure_vm_sizes.csv, {column}: {pattern[:10]}" in wrong


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
        named = {family["column"], *family["figure"].split(), *family["every"].split()}
        assert named <= columns[family["file"]]
        assert family["document"]
        assert family["document_date"]
    assert len({(f["file"], f["family"]) for f in families}) == len(families)
