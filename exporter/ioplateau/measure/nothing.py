"""The default of a field that holds a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

# One for all, which nobody can fill.
NO_ENTRIES: Mapping[Any, Any] = MappingProxyType({})
