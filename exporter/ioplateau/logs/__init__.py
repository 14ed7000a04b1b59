"""The log: one event, one line, key=value (or one JSON object), on standard error.

Under systemd each line begins with its priority, `<4>`, which journald takes off again
(sd-daemon(3)), and has no time, which journald adds. A control character never reaches the
terminal or starts a second line, wherever it came from: NFS servers choose names.

https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple, TextIO

from ioplateau.logs.attributes import FIELDS, KIND, LEFT_OUT
from ioplateau.logs.handler import BackgroundHandler
from ioplateau.logs.ratelimit import RateLimit

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "warn": logging.WARNING,  # what the Go exporters call it
    "error": logging.ERROR,
}
FORMATS = ("logfmt", "json")

# syslog(3)
# https://man7.org/linux/man-pages/man3/syslog.3.html
_PRIORITIES = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}


class LogSettings(NamedTuple):
    """level: a key of LEVELS. format: one of FORMATS."""

    level: str = "info"
    # Read by eye and by Loki alike, and what the other exporters write.
    format: str = "logfmt"


def event(
    logger: logging.Logger,
    level: int,
    message: str,
    /,
    *,
    exc_info: bool = False,
    **fields: object,
) -> None:
    """Log that something happened; fields that are None are left out. Never waits.

    message: of all events of one kind the same, for kinds are what logs.ratelimit counts by.
    """
    if logger.isEnabledFor(level):
        extra = {FIELDS: fields, KIND: message}
        logger.log(level, "%s", message, exc_info=exc_info, extra=extra)


def setup(
    settings: LogSettings,
    stream: TextIO | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Send everything logged in this process to `stream` (standard error), in our format.

    Calling it again replaces the settings.
    """
    handler = _standard_error() if stream is None else logging.StreamHandler(stream)
    handler.setFormatter(Lines(settings.format, journal=is_journal(stream or sys.stderr, environ)))
    root = logging.getLogger()
    for old in tuple(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(LEVELS[settings.level])
    # A log that cannot be written (closed pipe, full disk) is no reason for a traceback.
    logging.raiseExceptions = False
    logging.captureWarnings(capture=True)


def dropped_lines() -> int:
    """Lines of this process that standard error did not take."""
    return _standard_error().dropped


@cache
def _standard_error() -> BackgroundHandler:
    handler = BackgroundHandler(2)
    handler.addFilter(RateLimit())
    return handler


def is_journal(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Whether `stream` is the one systemd connected to the journal: JOURNAL_STREAM names it.

    The variable alone is inherited by children whose output goes elsewhere (systemd.exec(5)).

    https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html
    """
    if stream is None:  # closed when Python started
        return False
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


class Lines(logging.Formatter):
    """A record as one line. journal: with priority and without time."""

    def __init__(self, form: str, *, journal: bool) -> None:
        super().__init__()
        self._write: Callable[[Mapping[str, object]], str] = _json if form == "json" else logfmt
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        line = self._write(dict(self._words(record)))
        return f"<{_PRIORITIES.get(record.levelno, 6)}>{line}" if self._journal else line

    def _words(self, record: logging.LogRecord) -> Iterator[tuple[str, object]]:
        if not self._journal:
            at = datetime.fromtimestamp(record.created, UTC)
            yield "time", at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
        yield "level", record.levelname.lower()
        yield "msg", record.getMessage()
        fields: Mapping[str, Any] = getattr(record, FIELDS, {})
        yield from (
            (name, value)
            for name, value in fields.items()
            if value is not None and name not in {"time", "level", "msg"}
        )
        if left_out := getattr(record, LEFT_OUT, 0):
            yield "left_out_before", left_out
        if record.exc_info and record.exc_info[1]:
            yield "traceback", "".join(traceback.format_exception(record.exc_info[1]))


def logfmt(words: Mapping[str, object]) -> str:
    """key=value, quoted where a value would not read as one word."""
    return " ".join(f"{name}={_word(value)}" for name, value in words.items())


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    said = str(value)
    # isprintable(): no control characters, line separators, direction marks or lone
    # surrogates (bytes that were no UTF-8).
    if said and said.isprintable() and not set(said) & set(' ="\\'):
        return said
    return '"' + "".join(_quoted(letter) for letter in said) + '"'


def _quoted(letter: str) -> str:
    if letter.isprintable() and letter not in '"\\':
        return letter
    return json.dumps(letter)[1:-1] if letter != "\x7f" else "\\u007f"


def _json(words: Mapping[str, object]) -> str:
    # ensure_ascii: whatever reads it, no letter of it is special.
    return json.dumps(words, default=str).replace("\x7f", "\\u007f")
