"""HTML and SVG from nested calls: whatever is no Html already is escaped, so no name can break out.

    el("p", "for ", el("b", name), klass="soft")

An attribute that is None or False is left out; True stands without a value. `klass` is class, and
`_` in a name is `-`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TypeAlias

from ioplateau.tell import formatting

VOID = frozenset({"meta", "link", "br"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Part: TypeAlias = str | None
Value: TypeAlias = str | float | bool | None


def el(name: str, /, *parts: Part, **attributes: Value) -> Html:
    """One element."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(*parts)}</{name}>")


def join(*parts: Part) -> Html:
    """One after the other."""
    return Html("".join(part if isinstance(part, Html) else text(part or "") for part in parts))


def text(words: str) -> Html:
    """Words from anywhere, to be read and never to be obeyed."""
    return Html(escape("\n".join(map(formatting.printable, words.split("\n")))))


def _attribute(name: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    name = "class" if name == "klass" else name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Part]],
    *,
    name: str,
    has_words: bool = False,
) -> Html:
    """A table that scrolls by itself where it is too wide; the first cell of a row names it. has_words: its cells
    wrap, and where that is not enough a row becomes a list.
    """
    columns = (el("th", words, scope="col") for words in head)
    body = (
        el(
            "tr",
            el("th", row[0], scope="row"),
            *(
                el("td", cell, data_head=words if has_words else None)
                for words, cell in zip(head[1:], row[1:], strict=True)
            ),
        )
        for row in rows
    )
    return el(
        "div",
        el(
            "table",
            el("caption", caption),
            el("thead", el("tr", *columns)),
            el("tbody", *body),
        ),
        # What scrolls must be reachable with the keyboard, and have a name then.
        klass="wide words" if has_words else "wide",
        id=name,
        role="region",
        aria_label=caption,
        tabindex="0",
    )
