"""/proc/pressure/io (PSI): time in which tasks waited for I/O. Documentation/accounting/psi.rst."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pressure:
    """Cumulative microseconds; `full` is None where the kernel does not print it."""

    some_microseconds: int
    full_microseconds: int | None
