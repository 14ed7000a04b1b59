"""JSON as metadata services write it: keys in any case, numbers as strings, holes everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# Of a name that goes into every scrape; a session's token, the longest of all, fits into a header field.
MOST_LETTERS = 8192
MOST_NUMBER = 2.0**64  # so far from where arithmetic ends that no figure becomes infinite


def document(text: str) -> Any:
    """The value with all keys in lower case; None: no JSON, or nested beyond reason."""
    try:
        return _lower(json.loads(text))
    except (TypeError, ValueError, RecursionError):
        return None


def _lower(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key).lower(): _lower(item) for key, item in value.items()}
    return [_lower(item) for item in value] if isinstance(value, list) else value


def mapping(value: Any, name: str) -> dict[str, Any]:
    """The object called `name` in another, or an empty one."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def items(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """A string without space around it, or an empty one; also for one that is longer than any name."""
    return value.strip() if isinstance(value, str) and len(value) <= MOST_LETTERS else ""


def boolean(value: Any) -> bool | None:
    """True, false, or their names; None: neither."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(text(value).lower())


def number(fields: Mapping[str, Any], field: str, what: str, reasons: list[str]) -> float | None:
    """A number of 0 or more, often written as a string; empty means that it does not apply.

    What is neither leaves a reason.
    """
    value = fields.get(field)
    if value is None or value == "":
        return None
    try:
        found = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = float("nan")
    if 0 <= found <= MOST_NUMBER:
        return found
    reasons.append(f"{what}: {field} is {value!r:.60}, want a number")
    return None
