"""How the single file begins, around a program of two modules. tests/live/test_single_file.py has the whole one."""

import platform
import runpy
import subprocess
import sys

import pytest

from built_packages import PROJECT
from ioplateau.measure import native

MAKER = PROJECT / "deploy/single-file/make_archive.py"
# Says where its compiled module was found, if it was.
PROGRAM = b"""
def main():
    try:
        from ioplateau import _scan
    except ImportError:
        print("Python alone")
    else:
        print("from", _scan.__spec__.origin)
"""


@pytest.fixture
def file(tmp_path):
    make = runpy.run_path(str(MAKER))
    suffix = f"{platform.machine()}/ioplateau/_scan.abi3.so"
    with open(native.scan.__spec__.origin, "rb") as twin:
        found = {f"compiled/{suffix}": twin.read()}
    found |= {"ioplateau/__init__.py": b"", "ioplateau/cli/__init__.py": PROGRAM}
    found["__main__.py"] = (MAKER.parent / "__main__.py").read_bytes()
    (tmp_path / "ioplateau").write_bytes(make["archive"](found, 0x7FFFFFFF))
    return tmp_path / "ioplateau"


def said(file, *, before="pass"):
    """What it says; `before`: statements that make this Python another one."""
    script = f"import os, runpy, sys; {before}; runpy.run_path({str(file)!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_compiled_module_is_loaded_from_memory(file):
    assert said(file).startswith("from /proc/self/fd/")


@pytest.mark.parametrize(
    "other",
    [
        "sys.abiflags += 't'",
        "sys.maxsize = 2**31 - 1",
        "os.memfd_create = lambda *_: os.stat('/nowhere')",  # as where it is refused
        "del os.memfd_create, os.MFD_CLOEXEC",
    ],
)
def test_a_python_that_cannot_load_compiled_modules_goes_without(file, other):
    assert said(file, before=other) == "Python alone"


def test_no_compiled_module_takes_the_place_of_a_standard_stream_that_is_closed(file):
    done = said(file, before="os.close(0); os.close(2)")

    assert int(done.rpartition("/")[2]) > 2
