"""What reads moving files in two ways is tested in both."""

import pytest

from ioplateau.measure import native

BUILT = native.scan
TWINS = {"python": None} | ({"native": BUILT} if BUILT is not None else {})


@pytest.fixture(scope="module", params=TWINS)
def twin(request):
    """Each test that uses it is run with Python alone, and with the native twin where it is built."""
    native.scan = TWINS[request.param]
    yield native.scan
    native.scan = BUILT
