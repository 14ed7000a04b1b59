"""The commands, and the parser of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ioplateau import __version__
from ioplateau.cli import doctor, limits, manual, record, replay, report, serve, top
from ioplateau.measure import native

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from ioplateau.config import Settings

_SCAN = ", native scan" if native.scan is not None else ""
# argparse makes a formatter for flags that it is given, to check them; each would ask for the
# terminal's width, and import shutil with its archives for that.
_BUILDING = partial(argparse.HelpFormatter, width=80)


class Command(NamedTuple):
    """What a command does, in a line of the help, and its own flags."""

    run: Callable[[argparse.Namespace, Settings], int]
    text: str
    add_flags: Callable[[argparse.ArgumentParser], None]


COMMANDS = {
    "serve": Command(
        serve.run, "run the daemon: sample, judge, and answer scrapes", serve.add_flags
    ),
    "top": Command(top.run, "the live screen: what is at its limit here, now", top.add_flags),
    "limits": Command(
        limits.run, "what this machine is allowed, by whom, and why", limits.add_flags
    ),
    "record": Command(
        record.run, "write what is read of this machine into a file", record.add_flags
    ),
    "replay": Command(replay.run, "judge a recording again", replay.add_flags),
    "report": Command(
        report.run,
        "what happened, the figures a sizing asks for, what to change",
        report.add_flags,
    ),
    "doctor": Command(
        doctor.run, "what can be seen here, what is missing, how to fix it", doctor.add_flags
    ),
}


def parser(words: Collection[str] | None = None) -> argparse.ArgumentParser:
    """The parser of every command; tools/manual.py writes the man page from it.

    words: a command line to parse: commands that do not stand in it are only named; None: all
    with their flags.
    """
    parser = _Parser(
        prog="ioplateau",
        description="Says when a Linux VM's storage has plateaued at a limit, and which limit.",
        formatter_class=_BUILDING,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"ioplateau {__version__} (Python {sys.version.partition(' ')[0]}{_SCAN})",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", prog="ioplateau")
    for name, command in COMMANDS.items():
        if words is None or name in words:
            _add(commands, name, command)
        else:
            commands.add_parser(name, help=command.text, add_help=False)
    parser.formatter_class = argparse.HelpFormatter
    return parser


def _add(commands: argparse._SubParsersAction[_Parser], name: str, command: Command) -> None:
    from ioplateau import config

    page = manual.PAGES[name]
    parser = commands.add_parser(
        name,
        help=command.text,
        description=command.text[0].upper() + command.text[1:] + ".",
        epilog=page.epilog,
        formatter_class=_BUILDING,
    )
    config.add_flags(parser, page.settings)
    parser.set_defaults(run=command.run, parser=parser)
    command.add_flags(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter


class _Parser(argparse.ArgumentParser):
    """Takes flags as they are documented: of an abbreviated --minutes the package's command would not
    know. Raises OSError where argparse passes over what it cannot print.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        (file or sys.stderr).write(message)
