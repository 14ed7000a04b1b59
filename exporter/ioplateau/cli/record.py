"""`ioplateau record`: what is read of this machine, into a file."""

from __future__ import annotations

import argparse
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ioplateau.cli.arguments import seconds
from ioplateau.cli.exitcodes import GOOD
from ioplateau.cli.output import print_json, warn
from ioplateau.cli.settings import log_warnings, serve_settings
from ioplateau.run.commanderror import CommandError

if TYPE_CHECKING:
    from ioplateau.config import Settings


def add_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="to write, like slow.jsonl.gz, slow.jsonl or - ; a file that is there is replaced",
    )
    command.add_argument(
        "--seconds", type=seconds, metavar="S", help="how long; default: until interrupted"
    )
    command.add_argument("--json", action="store_true", help="what was written, as a JSON object")


def run(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import record
    from ioplateau.run.machine import machine
    from ioplateau.run.pause import Pause
    from ioplateau.tell import formatting

    log_warnings(settings)
    pause = Pause()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: pause.end())
    watched = machine(serve_settings(settings))
    interval = watched.settings.engine.interval_seconds
    found = record.record(
        options.file,
        watched.sampler,
        watched.clock,
        interval,
        ticks=None if options.seconds is None else max(round(options.seconds / interval), 1) + 1,
        wait=pause.sleep,
        seen=record.RecordingEngine(watched, partial(warn, options.file)).see,
        made=record.provenance_of(watched),
    )
    if not found.written:
        raise CommandError(f"{options.file}: ended before anything was recorded")
    if options.json:
        print_json({"file": str(options.file), "snapshots": found.written})
    else:
        more = f", {found.left_out} left out: the disk was too slow" if found.left_out else ""
        written = formatting.counted(found.written, "snapshot")
        print(f"{options.file}: {written}{more}", file=sys.stderr)
    return GOOD
