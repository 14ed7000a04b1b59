"""The README's samples are what the commands print, and its links lead somewhere."""

import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

from ioplateau.engine import EngineSettings
from ioplateau.run import replay
from ioplateau.tell import screen, view

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()
IOPLATEAU = Path(sys.executable).with_name("ioplateau")


def printed(*words):
    done = subprocess.run([IOPLATEAU, *words], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_replay_sample_is_what_the_command_prints():
    command, sample = re.search(r"\$ ioplateau (replay .*)\n((?:.*\n)*?)```", TEXT).groups()

    assert printed(*command.split()) == sample


def test_the_metrics_sample_is_part_of_the_exposition():
    command = re.search(r"\$ ioplateau (replay .*)\n", TEXT)[1]
    sample = re.search(r"among others:\n\n```\n((?:.*\n)*?)```", TEXT)[1].splitlines()
    lines = printed(*command.split(), "--format", "metrics").splitlines()

    assert len(sample) >= 4
    assert [line for line in sample if line not in lines] == []


def test_the_screen_is_what_top_shows_of_that_machine():
    sample = re.search(r"a stripe of four disks:\n\n```\n((?:.*\n)*?)```", TEXT)[1].splitlines()
    machine = ROOT / "tests/machines/vm_group_d4s/recording.jsonl.gz"
    watched = islice(replay.Replayed(machine, EngineSettings(rate_window_seconds=3.0)), 49, 51)
    before, state = watched

    assert [line.text for line in screen.lines(view.of(state, before))][1:] == sample


def test_every_link_into_the_repository_leads_somewhere():
    links = re.findall(r"\]\((?!http)([^)#]+)", TEXT)

    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_web_servers_readme_has_each_of_its_files_and_no_other():
    place = ROOT / "exporter/ioplateau/web"
    named = set(re.findall(r"`(\w+\.py)`", (place / "README.md").read_text()))

    assert named == {file.name for file in place.glob("*.py")} - {"__init__.py"}


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"make ([a-z-]+)", TEXT)) <= targets
