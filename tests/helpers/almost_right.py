"""Kernel text that is nearly what the grammar promises: the bad input that gets furthest."""

from __future__ import annotations

from hypothesis import strategies as st

from ioplateau.measure.parsing import FormatError

ODD_WORDS = (
    *(
        b"",
        b"-1",
        b"+1",
        b"1_000",
        b"0x10",
        b"1.5",
        b"1e3",
        b"nan",
        b"(null)",
        b"\x00",
        b"\xff\xfe",
    ),
    *(
        b"18446743919241604546",
        b"99999999999999999999",
        b"9" * 400,
        b"9" * 5000,
        "٣".encode(),
        "²".encode(),
        b":",
        b"kB",
    ),
)


@st.composite
def damaged_line(draw, line: bytes) -> bytes:
    """One line with one thing wrong, still without a newline."""
    words = line.split(b" ")
    place = draw(st.integers(0, len(words) - 1))
    how = draw(st.sampled_from(("odd word", "lost word", "more words", "cut", "byte", "noise")))
    if how == "odd word":
        words[place] = draw(st.sampled_from(ODD_WORDS))
    elif how == "lost word":
        del words[place]
    elif how == "more words":
        words[place:place] = draw(st.lists(st.sampled_from((*ODD_WORDS, b"7")), max_size=5))
    elif how == "cut":
        return line[: draw(st.integers(0, len(line)))]
    elif how == "byte":
        at = draw(st.integers(0, max(len(line) - 1, 0)))
        return (line[:at] + draw(st.binary(max_size=3)) + line[at + 1 :]).replace(b"\n", b"")
    else:
        return draw(st.binary(max_size=200)).replace(b"\n", b"")
    return b" ".join(words)


@st.composite
def damaged_text(draw, text: bytes) -> bytes:
    """A text with some lines damaged, lost or doubled, and perhaps cut off."""
    lines = text.split(b"\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        lines[at : at + 1] = draw(
            st.sampled_from(([], [lines[at]] * 2, [draw(damaged_line(lines[at]))]))
        )
        lines = lines or [b""]
    damaged = b"\n".join(lines)
    return damaged[: draw(st.integers(0, len(damaged)))] if draw(st.booleans()) else damaged


def outcome(parse, text: bytes):
    """What `parse` returns, or the words of its FormatError; any other error passes through."""
    try:
        return parse(text)
    except FormatError as error:
        return str(error)
