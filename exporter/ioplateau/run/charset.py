"""Whether the person's terminal speaks UTF-8, by the locale it was started in: locale(7).

https://man7.org/linux/man-pages/man7/locale.7.html
"""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping
from contextlib import suppress


def is_utf8(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the locale is a UTF-8 one. environ: None for this process's own."""
    variables = environ if environ is not None else _started_with()
    name = variables.get("LC_ALL") or variables.get("LC_CTYPE") or variables.get("LANG") or ""
    return name.partition(".")[2].partition("@")[0].upper().replace("-", "") == "UTF8"


def set_locale() -> bool:
    """Set the person's LC_CTYPE, or C.UTF-8 for a UTF-8 one that is not installed here.

    Whether it is a UTF-8 one; False, and as it was, where nothing can be set.
    """
    named_utf8 = is_utf8()
    for name in ("", "C.UTF-8") if named_utf8 else ("",):
        with suppress(locale.Error):  # ssh brings the names of another machine's locales
            locale.setlocale(locale.LC_CTYPE, name)
            return named_utf8
    return False


def _started_with() -> Mapping[str, str]:
    # Python itself makes C a UTF-8 locale and leaves that in os.environ (PEP 538): the environment
    # as it was at the start tells what the person set.
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = os.fsdecode(file.read()).split("\0")
    except OSError:
        return os.environ
    return {name: value for name, _, value in (entry.partition("=") for entry in entries)}
