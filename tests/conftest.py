"""What holds for every test."""

from pathlib import Path

import hypothesis
import pytest

HERE = Path(__file__).parent

# A busy machine is slow, not wrong: what is generated is judged by what comes out of it.
hypothesis.settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("busy")


def pytest_collection_modifyitems(items):
    """Rule tests are run by promtool: a peer program, so they belong to `make test`."""
    for item in items:
        if HERE / "alerts" in item.path.parents:
            item.add_marker(pytest.mark.live)
