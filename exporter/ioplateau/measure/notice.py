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
