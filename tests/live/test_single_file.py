"""The single file on a strange machine: no packages of ours, no home, nothing to write to."""

import os
import platform
import shutil
import subprocess
import time
import urllib.request
import zipfile

import pytest

from built_packages import one
from live_daemon import free_port, read_exposition

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]
# No PATH of ours, no HOME, and a directory for temporary files that is not there.
STRANGE = {"PATH": "/usr/bin:/bin", "TMPDIR": "/nowhere", "PYTHONPATH": "/nowhere"}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    place = tmp_path_factory.mktemp("single")
    os.chmod(place, 0o755)
    for parent in place.parents[:3]:  # pytest keeps these to itself; nobody has to get in
        os.chmod(parent, 0o755)
    return shutil.copy(one("ioplateau"), place)


def run(*command, **settings):
    return subprocess.run(
        [*NOBODY, *command], env=STRANGE, cwd="/", capture_output=True, text=True, **settings
    )


def test_the_doctor_looks_at_the_machine(file):
    done = run(file, "doctor", "--no-cloud")

    assert "/proc/diskstats" in done.stdout, done.stderr
    assert done.stderr == ""


def test_top_looks_at_the_machine(file):
    done = run(file, "top", "--no-cloud", "--count=1")

    assert done.stdout.startswith("ioplateau "), done.stderr
    assert done.stderr == ""


def test_the_catalogue_is_found_inside(file, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('[vm]\nsize = "Standard_D8s_v5"\n')
    done = subprocess.run(
        [file, "limits", "--no-cloud", "--config.file", config],
        env=STRANGE,
        capture_output=True,
        text=True,
    )

    assert "12,800 IOPS" in done.stdout, done.stdout + done.stderr


def test_compiled_modules_are_loaded_from_memory(file):
    done = run(
        "/usr/bin/python3",
        "-I",
        "-c",
        f"import sys, runpy; sys.argv = ['x', '--version']\n"
        f"try: runpy.run_path({str(file)!r}, run_name='__main__')\n"
        "except SystemExit: pass\n"
        f"sys.path.insert(0, {str(file)!r})\n"
        "import psutil, bcrypt; from ioplateau.measure import native; "
        "print(psutil._psutil_linux.__file__, bcrypt._bcrypt.__file__, native.scan.__spec__.origin)",
    )

    assert done.returncode == 0, done.stderr
    assert all(place.startswith("/proc/self/fd/") for place in done.stdout.split()[-3:])


def test_it_serves_and_leaves_nothing_behind(file):
    before = set(os.listdir("/tmp"))
    port = free_port()
    process = subprocess.Popen(
        [*NOBODY, file, "serve", "--no-cloud", f"--web.listen-address=127.0.0.1:{port}"],
        env=STRANGE,
        stderr=subprocess.DEVNULL,
    )
    try:
        found = first_answer(f"http://127.0.0.1:{port}/metrics")
        kept = os.listdir(f"/proc/{process.pid}/fd")
    finally:
        process.terminate()
        process.wait()

    # By psutil.
    assert (
        0
        < found.value("process_resident_memory_bytes")
        < found.value("process_virtual_memory_bytes")
    )
    assert len(kept) < 40
    assert not [name for name in set(os.listdir("/tmp")) - before if "psutil" in name]


def first_answer(url):
    for _ in range(60):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return read_exposition(answer.read().decode())
        except OSError:
            time.sleep(0.5)
    raise TimeoutError(url)


def test_it_has_compiled_modules_for_both_architectures(file):
    names = zipfile.ZipFile(file).namelist()
    compiled = {name.split("/")[1] for name in names if name.startswith("compiled/")}

    assert compiled == {"x86_64", "aarch64"}
    assert platform.machine() in compiled
    assert not [name for name in names if name.endswith(".so") and not name.startswith("compiled/")]
