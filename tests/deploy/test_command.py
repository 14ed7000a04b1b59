"""The command that the packages install: which configuration it looks with."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from built_packages import PROJECT

NOBODY = 65534


@pytest.fixture
def machine():
    """Where the package is installed; also for other users."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        place.chmod(0o755)
        (place / "python").write_text(
            '#!/bin/sh\necho "${IOPLATEAU_CONFIG_FILE-unset}${STATE_DIRECTORY+ $STATE_DIRECTORY}"\n'
        )
        (place / "ioplateau.toml").touch()
        words = (PROJECT / "deploy/packages/ioplateau.sh").read_text()
        for installed, name in (
            ("/usr/lib/ioplateau/python", "python"),
            ("/etc/ioplateau/ioplateau.toml", "ioplateau.toml"),
            ("/var/lib/ioplateau", "state"),
        ):
            assert installed in words
            words = words.replace(installed, str(place / name))
        (place / "ioplateau").write_text(words)
        for program in ("python", "ioplateau"):
            (place / program).chmod(0o755)
        yield place


@pytest.fixture
def state(machine):
    """What the service keeps, as systemd lays it out: a link into what only root may enter."""
    private = machine / "private"
    private.mkdir()
    (private / "state.json").touch()
    state = machine / "state"
    state.symlink_to(private)
    return state


def run(machine, *words, environ=None, user=None):
    kept = {name: text for name, text in os.environ.items() if name != "IOPLATEAU_CONFIG_FILE"}
    return subprocess.run(
        [machine / "ioplateau", *words],
        env=kept | (environ or {}),
        user=user,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    "words",
    [
        "top",
        "limits --json",
        "doctor",
        "record a.gz",
        "report --minutes 5",
        "doctor --web.config.file=a",
    ],
)
def test_who_looks_at_the_machine_looks_with_the_service_s_configuration(machine, words):
    done = run(machine, *words.split())

    assert done.stdout == f"{machine}/ioplateau.toml\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        "serve --web.systemd-socket",
        "replay a.gz",
        "report a.gz",
        "report --since 1h",
        "limits --config.file=/my.toml",
        "--version",
    ],
)
def test_who_names_another_or_looks_at_something_else_does_not(machine, words):
    assert run(machine, *words.split()).stdout == "unset\n"


@pytest.mark.parametrize("said", ["/my.toml", ""])
def test_the_variable_stays_as_it_was_said(machine, said):
    done = run(machine, "limits", environ={"IOPLATEAU_CONFIG_FILE": said})

    assert done.stdout == f"{said}\n"


def test_without_a_file_there_is_none(machine):
    (machine / "ioplateau.toml").unlink()
    done = run(machine, "limits")

    assert (done.stdout, done.stderr) == ("unset\n", "")


def test_who_may_not_read_it_is_told_so_and_goes_without(machine):
    (machine / "ioplateau.toml").chmod(0)
    done = run(machine, "top", user=NOBODY if os.geteuid() == 0 else None)

    assert done.stdout == "unset\n"
    assert f"{machine}/ioplateau.toml: not readable for " in done.stderr


@pytest.mark.parametrize(("words", "looks"), [("limits --json", True), ("replay a.gz", False)])
def test_who_looks_at_the_machine_knows_what_the_service_has_learned(machine, state, words, looks):
    done = run(machine, *words.split())

    assert done.stdout.rstrip("\n").endswith(f" {state}") == looks
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        ("limits", True),
        ("limits --no-cloud --json", True),
        ("limits --vm-size=a --disk=b", False),
        ("limits --state.directory=a", False),
        ("top", False),
    ],
)
def test_who_may_not_read_what_was_learned_is_told_so(machine, state, words, is_told):
    (state / "state.json").chmod(0)
    done = run(machine, *words.split(), user=NOBODY if os.geteuid() == 0 else None)

    assert done.stdout == f"{machine}/ioplateau.toml\n"
    assert (f"{state}: not readable for " in done.stderr) is is_told
    assert ("what the service has learned is left out" in done.stderr) is is_told
