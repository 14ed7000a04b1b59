"""Standard input, output and error of a process that was started without one of them (`2>&-`), or in
a character set that has not all that we say.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LIKENESS = "ioplateau.likeness"


def secure() -> None:
    """Give every missing one a descriptor, before a file or socket of ours gets its number: what
    is meant for standard error would then be written into it. Call this first of all.

    Standard output becomes unwritable: a command whose output is lost must not end well. What its
    character set has not is written in ASCII. What standard error does not take (a full disk, a
    closed pipe) is lost and no error: the exit code is for what a command came to. Its lines speak to no
    terminal, whatever the files are called that they name.
    """
    os.environ.setdefault(
        "PYTHON_COLORS", "0"
    )  # else tracebacks, whose colours would be shown as numbers
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest free number, which is this one
    if sys.stdout is None:  # what Python found closed
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is sys.__stderr__:  # nobody has put another in its place
        sys.stderr = _unfailing(sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error(LIKENESS, _likeness)
        sys.stdout.reconfigure(errors=LIKENESS)


def _unfailing(stream: TextIO | None) -> TextIO:
    """A stream to standard error, of the character set of `stream`."""
    return _Printable(
        io.BufferedWriter(_Unfailing(2, "w", closefd=False)),
        encoding=None if stream is None else stream.encoding,
        errors="backslashreplace",
        line_buffering=True,
    )


class _Unfailing(io.FileIO):
    """A file that takes whatever is written."""

    def write(self, content: ReadableBuffer) -> int:
        size = memoryview(content).nbytes
        try:
            return super().write(content) or size  # None: a pipe that is full, and does not wait
        except OSError:
            return size


class _Printable(io.TextIOWrapper):
    """Shows letters that a terminal would obey by their numbers."""

    def write(self, text: str) -> int:
        parts = re.split(r"([\n\t])", text)
        if not all(map(str.isprintable, parts[::2])):
            from ioplateau.tell import formatting  # which most words do without

            parts[::2] = map(formatting.printable, parts[::2])
        super().write("".join(parts))
        return len(text)


def _likeness(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from ioplateau.tell import cells  # which most commands' words do without

    return cells.plain_ascii(error.object[error.start : error.end]), error.end
