"""A part of a library, imported without what only its other parts need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")


def part(package: str, load: Callable[[], T], without: Iterable[str]) -> T:
    """What `load` imports of a package that is not run as a whole: its own `__init__` imports all of
    it. Modules `without` which it would import, if nobody has, are stand-ins while it does.

    A version that does not allow this is imported whole. Whoever else imports the package gets
    all of it. Not for a thread beside another one that imports what is stood in for.
    """
    found = find_spec(package)
    if found is None or package in sys.modules:
        return load()
    stand_ins = [name for name in without if name not in sys.modules]
    sys.modules.update({name: _StandIn(name) for name in stand_ins})
    sys.modules[package] = module_from_spec(found)
    try:
        return load()
    except (ImportError, AttributeError, TypeError):
        pass
    finally:
        parts = [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]
        for name in {*parts, *stand_ins}:
            del sys.modules[name]
    return load()


class _StandIn(ModuleType):
    """A module of empty classes, to inherit from and never to be used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})
