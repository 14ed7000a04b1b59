"""`ioplateau top`: the live screen."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from ioplateau import __version__
from ioplateau.cli.arguments import add_daemon_flags, count, daemon_address, url
from ioplateau.cli.exitcodes import GOOD, WRONG
from ioplateau.cli.settings import serve_settings
from ioplateau.run.commanderror import CommandError

if TYPE_CHECKING:
    from ioplateau.config import Settings


def add_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-b", "--batch", action="store_true", help="plain text, one screen after another"
    )
    command.add_argument(
        "--json",
        action="store_true",
        help="a JSON object a screen, a line each, sampled here: a daemon tells the same at /api/v1/state",
    )
    command.add_argument("-n", "--count", type=count, metavar="N", help="end after N screens")
    whose = command.add_mutually_exclusive_group()
    whose.add_argument(
        "--url",
        type=url,
        metavar="URL",
        help="of the daemon, like http://db-01:10049, not with --json; default: that of this machine, if it answers",
    )
    whose.add_argument(
        "--no-daemon", dest="alone", action="store_true", help="sample here, daemon or not"
    )
    add_daemon_flags(command)


def run(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import top

    title = f"{__version__}  {os.uname().nodename}"
    if options.json and options.url is not None:
        raise CommandError(
            "--json samples here: --url does not go with it; "
            "/api/v1/state of that daemon tells the same"
        )
    if options.json:
        sees = top.print_json(serve_settings(settings), options.count, sys.stdout)
        return GOOD if sees else WRONG
    is_plain = options.batch or not (sys.stdin.isatty() and sys.stdout.isatty())
    sees = top.top(
        serve_settings(settings),
        title,
        batch=is_plain,
        count=options.count,
        out=sys.stdout,
        daemon=None if options.url is None else daemon_address(options, options.url),
        alone=options.alone,
    )
    return GOOD if sees else WRONG
