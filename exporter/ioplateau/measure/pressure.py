"""/proc/pressure/io (PSI): time in which tasks waited for I/O. Documentation/accounting/psi.rst.

https://docs.kernel.org/accounting/psi.html
"""

from __future__ import annotations

import errno
import os
import re
from typing import NamedTuple

from ioplateau.measure.parsing import FormatError, number

# As the kernel writes it, in one look; any other text is read word by word.
_USUAL = re.compile(rb"some [^\n]* total=(\d{1,20})\nfull [^\n]* total=(\d{1,20})\n")

# The kernel has no PSI, or counts none (psi=0, CONFIG_PSI_DEFAULT_DISABLED): the file is not there, or
# psi_show() in kernel/sched/psi.c refuses it.
# https://github.com/torvalds/linux/blob/v6.1/kernel/sched/psi.c
_LACKING = (os.strerror(errno.ENOENT), os.strerror(errno.EOPNOTSUPP))


class Pressure(NamedTuple):
    """Cumulative microseconds; `full` is None where the kernel does not print it."""

    some_microseconds: int
    full_microseconds: int | None


def parse(text: bytes) -> Pressure:
    """The totals of the lines "some" and "full"; FormatError if there is no "some"."""
    usual = _USUAL.fullmatch(text)
    if usual is not None:
        return Pressure(int(usual[1]), int(usual[2]))
    some = _total(text, b"some ")
    if some is None:
        raise FormatError(f'pressure: {text[:60]!r}, want a line "some ... total=N"')
    return Pressure(some, _total(text, b"full "))


def is_lacking(why: str) -> bool:
    """Whether the reason why it cannot be read is that this kernel counts no pressure."""
    return why.endswith(_LACKING)


def _total(text: bytes, label: bytes) -> int | None:
    """The total of the line that begins so; None: there is none, or it is cut off."""
    line = re.search(b"^" + label + b".*\n", text, re.MULTILINE)
    if line is None:
        return None
    # The averages before it are the kernel's own, over 10 s and more: too slow for us.
    before, found, total = line[0].removesuffix(b"\n").partition(b" total=")
    if not found:
        raise FormatError(f'pressure: {before[:60]!r}, want "total=N" in it')
    return number(total.partition(b" ")[0], "pressure: total")
