"""What writes samples in two ways is tested in both."""

import pytest

from ioplateau.tell import prometheus

BUILT = prometheus.twin
TWINS = {"python": None} | ({"native": BUILT} if BUILT is not None else {})


@pytest.fixture(scope="module", params=TWINS)
def twin(request):
    """Each test that uses it is run with Python alone, and with the native twin where it is built."""
    prometheus.twin = TWINS[request.param]
    yield prometheus.twin
    prometheus.twin = BUILT
