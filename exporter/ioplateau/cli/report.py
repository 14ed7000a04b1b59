"""`ioplateau report`: what happened in a span of time."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ioplateau.cli.arguments import add_daemon_flags, daemon_address, minutes, url
from ioplateau.cli.exitcodes import GOOD, WRONG
from ioplateau.cli.settings import log_warnings, serve_settings

if TYPE_CHECKING:
    from ioplateau.config import Settings
    from ioplateau.run.loop import Loop


def add_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "recording",
        type=Path,
        nargs="?",
        metavar="RECORDING",
        help="default: what the daemon here remembers",
    )
    command.add_argument(
        "--url",
        type=url,
        metavar="URL",
        help="of the daemon; default: where web.listen-address says that the one here listens",
    )
    add_daemon_flags(command)
    command.add_argument(
        "--since", metavar="LENGTH", help="only the last 30min, 24h, 7d; default of a daemon: 24h"
    )
    command.add_argument(
        "--from", dest="began", metavar="TIME", help="like 2026-11-22T10:00, in UTC"
    )
    command.add_argument("--to", dest="ended", metavar="TIME", help="likewise")
    command.add_argument(
        "--minutes", type=minutes, metavar="N", help="look live for so long instead"
    )
    command.add_argument(
        "--format",
        choices=("text", "markdown", "html", "json"),
        default="text",
        help="html: one file with plots that needs nothing else",
    )
    command.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: standard output"
    )


def run(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import report
    from ioplateau.run.clock import SystemClock
    from ioplateau.run.daemonviews import local_url
    from ioplateau.tell.report import document, render

    log_warnings(settings)
    wanted = serve_settings(settings)
    _one_source(options)
    now = SystemClock().wall()
    if options.recording is not None and options.since is not None:
        now = report.end_of(options.recording)
    span = report.span(options.since, options.began, options.ended, now)
    if options.recording is not None:
        samples, source = report.of_recording(options.recording, wanted, span)
    elif options.minutes is not None:
        samples, source = report.live(wanted, options.minutes * 60, _ends_with_a_signal)
    else:
        at = options.url or local_url(wanted.web.listen_addresses)
        samples, source = report.remembered(daemon_address(options, at), span, now)
    if options.format == "json":
        import json

        words = json.dumps(render.as_json(samples, source), indent=2, allow_nan=False) + "\n"
    else:
        written = {"text": render.text, "markdown": render.markdown, "html": render.html}
        words = written[options.format](document.document(samples, source))
    if options.output is None and options.format == "html":
        sys.stdout.buffer.write(words.encode())  # it says that it is UTF-8
    elif options.output is None:
        sys.stdout.write(words)
    else:
        _write(options.output, words)
    return WRONG if samples.is_storage_unreadable else GOOD


def _one_source(options: argparse.Namespace) -> None:
    """Raises ReportError where flags do not go together."""
    from ioplateau.run.report import ReportError

    sources = {
        "a RECORDING": options.recording is not None,
        "--url": options.url is not None,
        "--minutes": options.minutes is not None,
    }
    given = [name for name, is_given in sources.items() if is_given]
    if given[1:]:
        raise ReportError(f"{' and '.join(given)} are different sources: give one of them")
    if options.minutes is not None and (options.since or options.began or options.ended):
        raise ReportError("--minutes looks from now on: --since, --from and --to do not go with it")
    if options.recording is not None and _is_same_file(options.recording, options.output):
        raise ReportError(f"--output {options.output} is the RECORDING: want another file")


def _is_same_file(one: Path, other: Path | None) -> bool:
    try:
        return other is not None and one.samefile(other)
    except OSError:  # one of them is not there
        return False


def _ends_with_a_signal(loop: Loop) -> None:
    """Ctrl-C ends the looking; what was seen by then is reported."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: loop.stop())


def _write(path: Path, words: str) -> None:
    """A file of these words, whole or not at all; a device or a FIFO is written to. Raises OSError,
    which names the file.
    """
    from ioplateau.run import files

    try:
        if path.exists() and not path.is_file():
            path.write_text(words, encoding="utf-8")
        else:
            files.replace(path.resolve(), words.encode())  # where a link leads: it stays
    except OSError as error:  # it is of a file beside it, or of none
        raise OSError(error.errno, error.strerror, str(path)) from error
