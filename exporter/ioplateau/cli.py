"""The command table: `ioplateau serve | top | limits | record | replay | doctor`.

Exit codes: 0 good; 1 a verdict or finding where a command promises one; 2 usage or
configuration error.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ioplateau import __version__, config
from ioplateau.config import ConfigurationError, Settings

if TYPE_CHECKING:
    from ioplateau.run.settings import ServeSettings

GOOD, FOUND, WRONG = 0, 1, 2
INTERRUPTED, CUT_OFF = 130, 141  # as a shell tells SIGINT and SIGPIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    options = _parser().parse_args(arguments)
    try:
        settings = config.load(options, os.environ)
    except ConfigurationError as error:
        for message in error.messages:
            print(message, file=sys.stderr)
        return WRONG
    command: Callable[[argparse.Namespace, Settings], int] = options.run
    try:
        return _flushed(command(options, settings))
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT_OFF
    except OSError as error:
        print(f"ioplateau: {_sentence(error)}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        return INTERRUPTED


def _flushed(code: int) -> int:
    sys.stdout.flush()  # a full disk or a closed pipe is an error now, not after the end
    return code


def _sentence(error: OSError) -> str:
    name = f"{error.filename}: " if error.filename else ""
    return f"{name}{error.strerror or error}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ioplateau",
        description="Says when a Linux VM's storage has plateaued at a limit, and which limit.",
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"ioplateau {__version__} (Python {platform.python_version()})",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add(commands, "serve", _serve, "run the daemon: sample, judge, and answer scrapes")
    top = _add(commands, "top", _top, "the live screen: what is at its limit here, now")
    top.add_argument(
        "-b", "--batch", action="store_true", help="plain text, one screen after another"
    )
    top.add_argument("-n", "--count", type=_count, metavar="N", help="end after N screens")
    limits = _add(commands, "limits", _limits, "what this machine is allowed, by whom, and why")
    limits.add_argument("--json", action="store_true", help="as one JSON object")
    asked = limits.add_argument_group(
        "instead of this machine: what would bind first, on any machine"
    )
    asked.add_argument("--vm-size", metavar="SIZE", help="like Standard_D8s_v3 or m5.large")
    asked.add_argument(
        "--disk",
        action="append",
        metavar="DISK",
        help="like P30, P30:ReadOnly, 4xP30, PremiumV2_LRS:size=1024:iops=20000:mbps=600, gp3",
    )
    asked.add_argument(
        "--request-size", action="append", metavar="BYTES", help="like 8k; may be repeated"
    )
    asked.add_argument("--controller", metavar="TYPE", help="SCSI or NVMe, where that matters")
    record = _add(commands, "record", _record, "write what is read of this machine into a file")
    record.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="to write, like slow.jsonl.gz; a file that is there is replaced",
    )
    record.add_argument(
        "--seconds", type=_seconds, metavar="S", help="how long; default: until interrupted"
    )
    replay = _add(commands, "replay", _replay, "judge a recording again")
    replay.add_argument("file", type=Path, metavar="FILE")
    replay.add_argument(
        "--format",
        choices=("text", "json", "metrics"),
        default="text",
        help="episodes in words (default), a line of verdicts a snapshot, the last exposition",
    )
    replay.add_argument(
        "--fail-on-throttle", action="store_true", help="exit 1 if any budget was throttled"
    )
    _add(commands, "doctor", _doctor, "what can be seen here, what is missing, how to mend it")
    return parser


def _seconds(text: str) -> float:
    """How long; argparse tells what is wrong with it."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:  # neither is nan
        raise argparse.ArgumentTypeError(f"{text!r}, want seconds above 0, like 60")
    return seconds


def _count(text: str) -> int:
    """How many; argparse tells what is wrong with it."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}, want a number of 1 or more")
    return int(text)


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace, Settings], int],
    text: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    config.add_flags(parser)
    parser.set_defaults(run=run)
    return parser


def _serve(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import logs, serve

    logs.setup(settings.log)

    def reload() -> ServeSettings:
        try:
            fresh = config.load(options, os.environ)
        except ConfigurationError as error:
            raise serve.ReloadError("\n".join(error.messages)) from error
        logs.setup(fresh.log)
        return _serve_settings(fresh)

    return serve.serve(_serve_settings(settings), reload)


def _top(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import top

    title = f"{__version__}  {platform.node()}"
    is_plain = options.batch or not (sys.stdin.isatty() and sys.stdout.isatty())
    try:
        top.top(
            _serve_settings(settings),
            title,
            batch=is_plain,
            count=options.count,
            out=sys.stdout,
        )
    except top.TerminalError as error:
        print(f"ioplateau top: {error}", file=sys.stderr)
        return WRONG
    return GOOD


def _limits(options: argparse.Namespace, settings: Settings) -> int:
    if options.vm_size or options.disk or options.request_size or options.controller:
        return _what_if(options)
    from ioplateau.run import limits as machine
    from ioplateau.run import sources
    from ioplateau.tell import limits

    found = machine.look(_serve_settings(settings), sources.sampler_for)
    if options.json:
        _print_json(limits.budgets_json(found.budgets, found.notices))
    else:
        print(limits.budgets_text(found.budgets, found.notices), end="")
    return GOOD


def _what_if(options: argparse.Namespace) -> int:
    from ioplateau.judge.clouds.ask import QuestionError
    from ioplateau.run.catalogue import Shelf
    from ioplateau.tell import limits

    try:
        answer = limits.whatif(
            Shelf(),
            options.vm_size or "",
            options.disk or (),
            options.request_size or (),
            options.controller,
        )
    except QuestionError as error:
        for line in str(error).splitlines():
            print(f"ioplateau limits: {line}", file=sys.stderr)
        return WRONG
    if options.json:
        _print_json(limits.as_json(answer))
    else:
        print(limits.render(answer), end="")
    return GOOD


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=2, allow_nan=False))


def _record(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import record, sources
    from ioplateau.run.clock import SystemClock
    from ioplateau.run.pause import Pause

    clock, pause = SystemClock(), Pause()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: pause.end())
    wanted = _serve_settings(settings)
    interval = wanted.engine.interval_seconds
    sampler = sources.sampler_for(wanted, clock)
    count = record.record(
        options.file,
        sampler,
        clock,
        interval,
        ticks=None if options.seconds is None else max(round(options.seconds / interval), 1) + 1,
        wait=pause.sleep,
        seen=record.Onlooker(wanted, sampler, clock).see,
    )
    print(f"{options.file}: {count} snapshots", file=sys.stderr)
    return GOOD


def _replay(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import replay
    from ioplateau.run.recording import RecordingError

    try:
        told = replay.replay(
            options.file, _serve_settings(settings).engine, options.format, sys.stdout
        )
    except RecordingError as error:
        print(f"ioplateau: {error}", file=sys.stderr)
        return WRONG
    return FOUND if options.fail_on_throttle and told.was_throttled else GOOD


def _doctor(options: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001
    from ioplateau.run import doctor, sources

    findings = doctor.look(_serve_settings(settings), sources.sampler_for)
    print(doctor.render(findings), end="")
    return FOUND if any(finding.is_vital and not finding.is_good for finding in findings) else GOOD


def _serve_settings(settings: Settings) -> ServeSettings:
    """The parts of the settings that the daemon and its relatives need."""
    from ioplateau.engine import EngineSettings
    from ioplateau.judge.clouds.discover import Facts
    from ioplateau.judge.topology import Rules
    from ioplateau.run.catalogue import Shelf
    from ioplateau.run.settings import ServeSettings

    return ServeSettings(
        web=settings.web,
        engine=EngineSettings(
            interval_seconds=settings.sampling.interval_seconds,
            rate_window_seconds=settings.sampling.rate_window_seconds,
            rules=Rules(settings.limits, settings.volumes),
            facts=Facts(settings.vm, settings.disks),
            shelf=Shelf(),
            asks_cloud=settings.cloud.enabled,
            is_hidden=settings.devices.is_hidden,
        ),
        paths=settings.paths,
        per_connection=settings.nfs.per_connection,
        nfs_ports=settings.nfs.ports,
        state_directory=settings.state_directory,
        refresh_seconds=settings.cloud.refresh_seconds,
    )


if __name__ == "__main__":
    sys.exit(main())
