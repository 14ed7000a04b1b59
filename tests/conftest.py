"""What holds for every test."""

import os
import time
from itertools import groupby
from pathlib import Path

import pytest

try:
    import hypothesis

    import ioplateau  # noqa: F401
except ImportError as error:
    pytest.exit(f"no environment ({error}): run make first", returncode=4)

import given_cpu

HERE = Path(__file__).parent

# Page and screen tell moments in the zone of the machine: in the tests, of none in particular.
os.environ["TZ"] = "UTC"
time.tzset()

# A busy machine is slow, not wrong: what is generated is judged by what comes out of it.
hypothesis.settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
# For `make check`, which has a minute; `make test` looks at the whole number of examples.
hypothesis.settings.register_profile(
    "quick", hypothesis.settings.get_profile("busy"), max_examples=10
)
hypothesis.settings.load_profile("busy")


# promtool runs the rules, and openssl's programs are the other side of TLS: real peers, so both
# belong to `make test`.
WITH_PEERS = (HERE / "alerts", HERE / "web/test_tls.py")
# Hours of simulated machines, a process for each case: `make check` has a minute.
SLOW = (
    HERE / "cli/test_cli.py",
    HERE / "engine/test_engine_growth.py",
    HERE / "judge/test_many_disks.py",
    HERE / "judge/test_wandering_devices.py",
    HERE / "limits/test_catalogue_check.py",
    HERE / "project/test_bench_tree.py",
    HERE / "run/test_burst.py",
    HERE / "run/test_json_schema.py",
    HERE / "run/test_limits.py",
    HERE / "run/test_provenance.py",
    HERE / "run/test_streams.py",
    HERE / "stories/test_stalled_server.py",
    HERE / "web/test_server.py",
)


def pytest_collection_modifyitems(items):
    """Tests that need a peer program are live ones."""
    for path, of_file in groupby(items, key=lambda item: item.path):
        marks = [pytest.mark.live] if any(map(path.is_relative_to, WITH_PEERS)) else []
        if path in SLOW:
            marks.append(pytest.mark.slow)
        for item in of_file:
            for mark in marks:
                item.add_marker(mark)


# What cannot be measured where the host takes the CPUs away: a real load's rate, and all in a guest.
MEASURING = ("rates", "guest")
NOT_MEASURED = []


def pytest_runtest_setup(item):
    """Where a rate would be the host's, the test that measures it is left out, and that is said."""
    if any(map(item.get_closest_marker, MEASURING)) and (why := given_cpu.missing()):
        NOT_MEASURED.append(item.nodeid)
        pytest.skip(why)


def pytest_terminal_summary(terminalreporter):
    """Skipped tests are not to be overlooked."""
    if NOT_MEASURED:
        terminalreporter.write_line(f"{len(NOT_MEASURED)} tests NOT RUN: {given_cpu.missing()}")
