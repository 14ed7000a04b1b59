"""The command line: `ioplateau serve | top | limits | record | replay | report | doctor`.

A file for each command: the flags it takes, and what it runs. Exit codes: 0 good; 1 a verdict or
finding where a command promises one; 2 usage or configuration error, or something could not be read
or written; 130 and 141: INTERRUPTED, CUT_OFF.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from ioplateau.cli.commands import COMMANDS, parser
from ioplateau.cli.exitcodes import CUT_OFF, INTERRUPTED, WRONG
from ioplateau.run import streams
from ioplateau.run.commanderror import CommandError

if TYPE_CHECKING:
    import argparse

    from ioplateau.config import Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    streams.secure()
    try:
        return _flushed(_run(sys.argv[1:] if arguments is None else arguments))
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT_OFF
    except OSError as error:
        print(f"ioplateau: {_sentence(error)}", file=sys.stderr)
        with suppress(OSError):  # what could not be written is not tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return WRONG
    except KeyboardInterrupt:
        return INTERRUPTED
    except CommandError as error:
        from ioplateau.tell import formatting

        for line in str(error).splitlines():
            print(f"ioplateau: {formatting.printable(line)}", file=sys.stderr)
        return WRONG


def _run(words: Sequence[str]) -> int:
    try:
        if not words:
            parser(words).error(f"want a COMMAND: {', '.join(COMMANDS)}; --help tells of each")
        options, unknown = parser(words).parse_known_args(words)
    except SystemExit:
        sys.stdout.flush()  # what --help and --version said
        raise
    if unknown:
        _refuse(options.parser, unknown)
    from ioplateau import config  # which who asks for help does without
    from ioplateau.config import ConfigurationError

    try:
        settings = config.load(options, os.environ)
    except ConfigurationError as error:
        for message in error.messages:
            print(message, file=sys.stderr)
        return WRONG
    command: Callable[[argparse.Namespace, Settings], int] = options.run
    return command(options, settings)


def _refuse(command: argparse.ArgumentParser, unknown: Sequence[str]) -> NoReturn:
    """Say which flags a command does not have, with its own that are written nearly so."""
    from difflib import get_close_matches  # only who has made a mistake needs it

    flags = re.findall(r"--[a-z][a-z.-]*", command.format_usage())
    typed = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    near = [found for word in typed for found in get_close_matches(word, flags, n=1)]
    hint = f"; near it {'are' if near[1:] else 'is'} {', '.join(near)}" if near else ""
    if near and near == typed:
        hint = "; flags come after the command"
    command.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def _flushed(code: int) -> int:
    sys.stdout.flush()  # a full disk or a closed pipe is an error now, not after the end
    return code


def _sentence(error: OSError) -> str:
    name = f"{error.filename}: " if error.filename else ""
    return f"{name}{error.strerror or error}"
