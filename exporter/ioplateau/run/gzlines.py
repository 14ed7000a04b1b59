"""Lines of a gzip file that may be damaged, cut off, or made to fill our memory.

A gzip file is a row of members, each with a checksum (RFC 1952). A damaged member costs the line
it ends in, or all that follows in it where it holds many; the next member is found by its head.

https://www.rfc-editor.org/rfc/rfc1952
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

HEAD = b"\x1f\x8b\x08"
# With the byte of flags, which are rarely set: that much less often is it found by chance.
NEXT_HEAD = HEAD + b"\x00"
READ_BYTES, INFLATED_BYTES, SALVAGED_BYTES = 1 << 16, 1 << 18, 16
MOST_TAKEN_BYTES = 1 << 20
# Whoever makes a file of heads only must not keep us busy for ever.
MOST_DAMAGED = 1000
CUT_OFF = "the end: cut off, within a line or before its checksum"


class NoGzipError(ValueError):
    """The file does not begin as a gzip file does."""


def lines(
    file: BinaryIO,
    most_bytes: int,
    left_out: Callable[[str], None] = lambda _: None,
) -> Iterator[bytes | None]:
    """Each line without its newline; None for one that is damaged or longer than `most_bytes`.

    A line that is not ended is left out, and `left_out` is told where the file was cut off. A file that
    begins as JSON does is taken as it is. Raises NoGzipError for anything else, and OSError of reading.
    """
    splitter = _Splitter(most_bytes)
    packed = file.read(READ_BYTES)
    if packed.startswith(b"{"):
        while packed:
            yield from splitter.feed(packed)
            packed = file.read(READ_BYTES)
        yield from splitter.pass_on()
        if splitter.is_within_line:
            left_out(CUT_OFF)
        return
    members = _Members(file, packed)
    for part in members:
        if part is None:
            yield from splitter.damage()
        else:
            # A line is handed out when the next begins, or its checksum was found to be right.
            yield from splitter.feed(part)
            if members.is_sound:
                yield from splitter.pass_on()
    yield from splitter.pass_on()
    if members.is_cut_off or splitter.is_within_line:
        left_out(CUT_OFF)


class _Members:
    """What the members hold, in parts of bounded size; None where one is damaged."""

    def __init__(self, file: BinaryIO, packed: bytes) -> None:
        self._file = file
        self._packed = packed
        self._damaged = 0  # members in a row
        self.is_sound = True  # the member that the last part belongs to has ended as it should
        self.is_cut_off = False  # the last member ends where the file does
        if self._packed and not self._packed.startswith(HEAD):
            raise NoGzipError("not a gzipped file, nor JSON lines")

    def __iter__(self) -> Iterator[bytes | None]:
        head = HEAD
        while self._damaged < MOST_DAMAGED and self._found(head):
            yield from self._member()
            head = HEAD if self.is_sound else NEXT_HEAD

    def _member(self) -> Iterator[bytes | None]:
        inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self.is_sound = False
        self._damaged += 1
        taken, has_ended = bytearray(), False
        while not has_ended:
            before = inflater.copy()
            try:
                part = inflater.decompress(self._packed, INFLATED_BYTES)
            except zlib.error:
                yield from _salvaged(before, self._packed)
                yield None
                break
            has_ended = inflater.eof
            rest = inflater.unused_data if has_ended else inflater.unconsumed_tail
            taken += self._packed[: len(self._packed) - len(rest)]
            del taken[:-MOST_TAKEN_BYTES]
            self._packed = rest
            if has_ended:
                self.is_sound, self._damaged, self.is_cut_off = True, 0, False
            yield part
            if not rest and not has_ended and not self._more():
                if NEXT_HEAD in taken[len(HEAD) :]:
                    yield None  # it took the rest of the file for its own
                else:
                    self.is_cut_off = True
                break
        if not has_ended:
            # What is damaged may have taken the members after it for its own: look from its head.
            self._packed = bytes(taken + self._packed)[len(HEAD) :]

    def _found(self, head: bytes) -> bool:
        """Go to the next head; whether there is one. What lies before it is nobody's."""
        while True:
            at = self._packed.find(head)
            if at >= 0:
                self._packed = self._packed[at:]
                return True
            self._packed = self._packed[-len(head) + 1 :]
            if not self._more():
                return False

    def _more(self) -> bytes:
        read = self._file.read(READ_BYTES)
        self._packed += read
        return read


def _salvaged(inflater: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """What can be had of a damaged part."""
    try:
        for at in range(0, len(packed), SALVAGED_BYTES):
            yield inflater.decompress(packed[at : at + SALVAGED_BYTES])
    except zlib.error:
        return


class _Splitter:
    """Lines out of parts. The last whole one is held back until `pass_on` or `damage`."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._begun: list[bytes] = []
        self._bytes = 0
        self._held: list[bytes | None] = []

    def feed(self, part: bytes) -> Iterator[bytes | None]:
        *ends, rest = part.split(b"\n")
        for end in ends:
            self._add(end)
            yield from self.pass_on()
            self._held = [b"".join(self._begun) if self._bytes <= self._most else None]
            self._begin()
        self._add(rest)

    @property
    def is_within_line(self) -> bool:
        return self._bytes > 0

    def _add(self, piece: bytes) -> None:
        self._bytes += len(piece)
        if self._bytes <= self._most:
            self._begun.append(piece)
        else:
            self._begun.clear()

    def pass_on(self) -> Iterator[bytes | None]:
        held, self._held = self._held, []
        yield from held

    def damage(self) -> Iterator[bytes | None]:
        self._held = []
        self._begin()
        yield None

    def _begin(self) -> None:
        self._begun, self._bytes = [], 0
