"""A process that was started without standard streams."""

import subprocess
import sys
from pathlib import Path

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
