"""What a parser says of text that it cannot read."""

from __future__ import annotations


class FormatError(ValueError):
    """Text that is not what the kernel's grammar promises; says what was found and wanted."""
