"""A sentence for an operator whose names change by themselves."""

from __future__ import annotations

from typing import Self


class Notice(str):
    """kind: what it is about, whatever names and figures it has now; of another kind it is news."""

    __slots__ = ("kind",)
    kind: str

    def __new__(cls, sentence: str, kind: str) -> Self:
        made = super().__new__(cls, sentence)
        made.kind = kind
        return made

    def as_json(self) -> dict[str, str]:
        """An entry among what a source gives, for recordings."""
        return {"notice": self, "kind": self.kind}


def is_notice(entry: object) -> bool:
    """Whether an entry of what a source gave is one."""
    return isinstance(entry, dict) and isinstance(entry.get("notice"), str)


def notices(blob: object) -> tuple[Notice, ...]:
    """Those among what a source gave: what an operator should know of what is not."""
    entries = blob if isinstance(blob, list) else ()
    return tuple(
        Notice(entry["notice"], str(entry.get("kind", ""))) for entry in entries if is_notice(entry)
    )
