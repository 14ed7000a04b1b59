"""/proc/pressure/io (PSI): time in which tasks waited for I/O. Documentation/accounting/psi.rst."""

from __future__ import annotations

from typing import NamedTuple

from ioplateau.measure.reading import FormatError
from ioplateau.measure.words import number


class Pressure(NamedTuple):
    """Cumulative microseconds; `full` is None where the kernel does not print it."""

    some_microseconds: int
    full_microseconds: int | None


def parse(text: bytes) -> Pressure:
    """The totals of the lines "some" and "full"; FormatError if there is no "some"."""
    totals = {}
    # What follows the last newline is nothing, or cut off, perhaps inside the number.
    for line in text.split(b"\n")[:-1]:
        words = line.split()
        if words and words[0] in (b"some", b"full"):
            totals[words[0]] = _total(words)
    if b"some" not in totals:
        raise FormatError(f'pressure: {text[:60]!r}, want a line "some ... total=N"')
    return Pressure(totals[b"some"], totals.get(b"full"))


def _total(words: list[bytes]) -> int:
    # The averages before it are the kernel's own, over 10 s and more: too slow for us.
    for word in words[1:]:
        if word.startswith(b"total="):
            return number(word[6:], "pressure: total")
    raise FormatError(f'pressure: {b" ".join(words)[:60]!r}, want "total=N" in it')
