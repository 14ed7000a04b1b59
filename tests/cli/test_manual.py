"""What --help says is true: its examples are understood, its settings are there."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ioplateau.cli import commands, exitcodes, manual
from ioplateau.config.flags import CONFIG_FILE, FLAGS

EXAMPLES = [command for page in manual.PAGES.values() for command, _ in page.examples]


ROOT = Path(__file__).parents[2]


def parsers():
    (action,) = (each for each in commands.parser()._actions if hasattr(each.choices, "items"))
    return action.choices


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_understood(example):
    program, *words = shlex.split(example)
    options = commands.parser().parse_args(words)

    assert program == "ioplateau"
    assert callable(options.run)


@pytest.mark.parametrize("name", manual.PAGES)
def test_a_command_s_help_is_the_same_when_only_its_flags_were_made(name):
    (alone,) = (each for each in commands.parser([name])._actions if hasattr(each.choices, "items"))

    assert alone.choices[name].format_help() == parsers()[name].format_help()
    assert commands.parser([name]).format_help() == commands.parser().format_help()


def test_every_command_has_a_page_and_every_setting_of_one_is_there():
    names = {flag.name for flag in (CONFIG_FILE, *FLAGS)}

    assert manual.PAGES.keys() == parsers().keys()
    assert {name for page in manual.PAGES.values() for name in page.settings} <= names


def test_help_lists_the_settings_that_matter_with_their_variables():
    said = parsers()["replay"].format_help()

    assert "--config.file" in said
    assert "IOPLATEAU_CONFIG_FILE" in said
    assert "--web.listen-address" not in said
    assert "examples:" in said
    assert "1  with --fail-on-throttle" in said


@pytest.mark.parametrize("name", manual.PAGES)
def test_help_has_the_codes_of_who_is_interrupted_or_cut_off(name):
    codes = dict(manual.PAGES[name].codes)

    assert exitcodes.CUT_OFF in codes
    assert (exitcodes.INTERRUPTED in codes) == (name not in {"serve", "record"})  # which end well


def test_help_of_top_says_that_json_asks_no_daemon():
    said = " ".join(parsers()["top"].format_help().split())

    assert "a line each, sampled here: a daemon tells the same at /api/v1/state" in said
    assert "not with --json" in said


def test_a_setting_that_is_not_listed_is_taken_all_the_same():
    options = commands.parser().parse_args(["replay", "x", "--log.level=debug"])

    assert options.log_level == "debug"


def test_man_page_and_completion_are_those_of_the_parser(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools/manual.py", tmp_path], check=True, timeout=60)

    for name in ("ioplateau.1", "ioplateau.bash"):
        kept = (ROOT / "deploy/packages" / name).read_text()
        assert (tmp_path / name).read_text() == kept, "make docs writes it again"


def test_bash_completes_commands_and_their_flags():
    def completed(*words):
        script = (
            f". {ROOT}/deploy/packages/ioplateau.bash; COMP_WORDS=({shlex.join(words)}); "
            f"COMP_CWORD={len(words) - 1}; _ioplateau; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        done = subprocess.run(
            ["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        return done.stdout.split()

    assert completed("ioplateau", "rep") == ["replay", "report"]
    assert completed("ioplateau", "replay", "--fail") == ["--fail-on-throttle"]
    assert "--web.listen-address" in completed("ioplateau", "serve", "--web")
    assert completed("ioplateau", "replay", "--web") == []
    assert "pyproject.toml" in completed("ioplateau", "serve", "--config.file", "=")
