"""A process that was started without standard streams."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

IOPLATEAU = Path(sys.executable).with_name("ioplateau")
WHAT_IF = f"{IOPLATEAU} limits --vm-size Standard_D8s_v3 --disk P30"


def shell(command):
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)


def test_without_standard_error_a_command_works():
    done = shell(f"{WHAT_IF} 2>&-")

    assert done.returncode == 0
    assert "P30" in done.stdout


def test_without_standard_output_a_command_says_so_and_fails():
    done = shell(f"{WHAT_IF} >&-")

    assert done.returncode != 0
    assert "Bad file descriptor" in done.stderr


@pytest.mark.parametrize("words", ["--version", "--help", "serve --help"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("output", "told"), [("/dev/full", "No space left on device"), ("&-", "Bad file descriptor")]
)
def test_help_that_cannot_be_written_is_told_and_fails(words, unbuffered, output, told):
    done = shell(f"PYTHONUNBUFFERED={unbuffered} {IOPLATEAU} {words} >{output}")

    assert (done.returncode, done.stderr) == (2, f"ioplateau: {told}\n")


def test_without_any_of_them_no_file_of_ours_gets_their_numbers():
    look = (
        "import os; from ioplateau.run import streams; streams.secure(); file = open('/etc/hosts')"
    )
    done = shell(f'{sys.executable} -c "{look}; os._exit(file.fileno())" <&- >&- 2>&-')

    assert done.returncode >= 3


def test_output_that_cannot_be_written_is_no_second_error_at_the_end():
    done = shell(f"{WHAT_IF} >&-")

    assert done.returncode == 2
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("replay /nonexist --fail-on-throttle", 2),
        ("doctor --config.file=/nonexist", 2),
        ("serv", 2),
        ("record - --seconds 0.2 --sampling.interval 0.1 --no-cloud", 0),
    ],
)
def test_what_standard_error_does_not_take_changes_no_exit_code(command, code):
    assert shell(f"{IOPLATEAU} {command} 2>/dev/full >/dev/null").returncode == code


@pytest.mark.parametrize(
    "words",
    [
        ("replay", "{file}"),
        ("report", "{file}", "-o", "/nowhere/{name}"),
        ("replay", "{file}", "{file}"),
        ("serve", "--check", "--config.file", "{file}"),
    ],
)
def test_a_files_name_speaks_to_no_terminal(tmp_path, words):
    name = "a\x1b]0;owned\x07\u202e.gz"
    file = tmp_path / name
    file.write_bytes(gzip.compress(b'{"header": 1}\n{"mono": 1.0}\n{"mono'))
    told = [word.format(file=file, name=name) for word in words]
    done = subprocess.run(
        [IOPLATEAU, *told], capture_output=True, text=True, timeout=120, check=False
    )

    assert r"a\x1b]0;owned\x07\u202e.gz" in done.stderr
    assert not {letter for letter in done.stderr if not letter.isprintable()} - {"\n"}


def test_a_reader_of_errors_that_has_seen_enough_changes_no_exit_code(tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text("".join(f"wrong{number} = 1\n" for number in range(2000)))
    done = shell(
        f"exec 3>&1; ({IOPLATEAU} serve --check --config.file={file} 2>&1 >/dev/null; echo $? >&3) | head -n 1"
    )

    assert done.stdout.splitlines()[-1] == "2"
