"""Names as the kernel writes them in its mount tables. fs/seq_file.c mangle_path().

https://github.com/torvalds/linux/blob/v6.1/fs/seq_file.c
"""

from __future__ import annotations

import re

# mangle_path() writes blank, tab, newline and backslash as three octal digits. One byte
# has at most \377: anything else that looks alike is not an escape.
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2})")


def decode(raw: bytes) -> str:
    """The name behind `raw`. Paths are bytes: what is not UTF-8 is kept by surrogateescape."""
    if b"\\" in raw:
        raw = _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), raw)
    return raw.decode("utf-8", "surrogateescape")
