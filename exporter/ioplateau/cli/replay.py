"""`ioplateau replay`: a recording, judged again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ioplateau.cli.exitcodes import FOUND, GOOD, WRONG
from ioplateau.cli.output import warn
from ioplateau.cli.settings import serve_settings

if TYPE_CHECKING:
    from ioplateau.config import Settings


def add_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=Path, metavar="FILE")
    command.add_argument(
        "--format",
        choices=("text", "json", "metrics"),
        default="text",
        help="when what was held, in words (default), a line of verdicts a snapshot, the last exposition",
    )
    command.add_argument(
        "--json", action="store_const", const="json", dest="format", help="as --format json"
    )
    command.add_argument(
        "--fail-on-throttle", action="store_true", help="exit 1 if any budget was throttled"
    )


def run(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import replay

    result = replay.replay(
        options.file, serve_settings(settings).engine, options.format, sys.stdout
    )
    if result.left_out:
        several = f"{result.left_out} damaged lines were left out, the first"
        what = f"{several if result.left_out > 1 else '1 damaged line was left out'}: {result.why}"
        warn(options.file, what)
    for sentence in result.unseen:
        warn(options.file, sentence)
    if result.is_storage_unreadable:
        return WRONG
    return FOUND if options.fail_on_throttle and result.was_throttled else GOOD
