"""One pair of guests for all tests of this directory: booting them is what costs."""

from collections.abc import Iterator

import pytest

from nfs_machines import Machines, running_machines


@pytest.fixture(scope="package")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with running_machines(tmp_path_factory.mktemp("wheel")) as found:
        yield found
