"""An empty mapping, and one that is made when it is first read: much of a tick is read by a scrape only."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from types import MappingProxyType
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# The default of fields that hold a mapping: one for all, which nobody can fill.
NO_ENTRIES: Mapping[Any, Any] = MappingProxyType({})


class LazyMapping(Mapping[K, V]):
    """What `make` gives, called at the first read. It must not use anything that changes later, since any
    thread may read at any time; two that read at once may both call it, and get the same.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], dict[K, V]]) -> None:
        self._make = make
        self._made: dict[K, V] | None = None

    @property
    def _all(self) -> dict[K, V]:
        made = self._made
        if made is None:
            made = self._made = self._make()
            self._make = lambda: made  # frees what it was made of
        return made

    def __getitem__(self, key: K) -> V:
        return self._all[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, key: object) -> bool:
        return key in self._all

    def get(self, key: K, default: Any = None) -> Any:
        return self._all.get(key, default)

    def keys(self) -> KeysView[K]:
        return self._all.keys()

    def values(self) -> ValuesView[V]:
        return self._all.values()

    def items(self) -> ItemsView[K, V]:
        return self._all.items()

    def __repr__(self) -> str:
        return repr(self._all)
