"""What a start does not load: people wait for it, and a daemon that nobody asks keeps it for ever."""

import subprocess
import sys


def loaded_by(code):
    """Names of the modules that a process has in the end."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        capture_output=True,
        check=True,
        text=True,
    )
    return set(done.stdout.split())


def test_the_daemon_is_imported_without_what_only_some_of_its_work_needs():
    """What a scrape needs is imported: it must not wait for a disk that is throttled."""
    names = loaded_by("import ioplateau.cli, ioplateau.config, ioplateau.run.serve")

    assert not names & {
        "asyncio",
        "email",
        "http.client",
        "inspect",
        "psutil",
        "ssl",
        "tomllib",
        "unittest",
    }


def test_who_asks_for_help_waits_for_no_settings():
    names = loaded_by("from ioplateau.cli import commands; commands.parser(['--help'])")

    assert not {name for name in names if name.startswith(("ioplateau.config", "ioplateau.limits"))}


def test_sockets_are_asked_without_an_event_loop():
    names = loaded_by("from ioplateau.measure import inetdiag; inetdiag._library()")

    assert not names & {"asyncio", "ctypes", "multiprocessing", "ssl"}
