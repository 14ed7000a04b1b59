"""Standard input, output and error of a process that was started without one of them (`2>&-`), or in
a character set that has not all that we say.
"""

from __future__ import annotations

import codecs
import io
import os
import sys

LIKENESS = "ioplateau.likeness"


def secure() -> None:
    """Give every missing one a descriptor, before a file or socket of ours gets its number: what
    is meant for standard error would then be written into it. Call this first of all.

    Standard output becomes unwritable: a command whose output is lost must not end well. What its
    character set has not is written in ASCII.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest free number, which is this one
    if sys.stdout is None:  # what Python found closed
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error(LIKENESS, _likeness)
        sys.stdout.reconfigure(errors=LIKENESS)


def _likeness(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from ioplateau.tell import cells  # which most commands' words do without

    return cells.plain_ascii(error.object[error.start : error.end]), error.end
