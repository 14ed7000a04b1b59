"""What is done in two ways, by Python alone and by a native twin, is tested in both."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest


def in_both_ways(module: ModuleType, name: str) -> Callable[..., Iterator[Any]]:
    """A fixture: each test that uses it is run with Python alone, and with the native twin that
    `module` holds by this name, where it is built.
    """
    built = getattr(module, name)
    twins = {"python": None} | ({"native": built} if built is not None else {})

    @pytest.fixture(scope="module", params=twins)
    def twin(request: pytest.FixtureRequest) -> Iterator[Any]:
        setattr(module, name, twins[request.param])
        yield twins[request.param]
        setattr(module, name, built)

    return twin
