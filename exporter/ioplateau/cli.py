"""The command table: `ioplateau serve | top | limits | record | replay | report | doctor`.

Exit codes: 0 good; 1 a verdict or finding where a command promises one; 2 usage or
configuration error, or something could not be read or written; 130 and 141: INTERRUPTED, CUT_OFF.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ioplateau import __version__, manual
from ioplateau.measure import native
from ioplateau.run import streams
from ioplateau.run.commanderror import CommandError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from ioplateau.config import Settings
    from ioplateau.limits.ownrows import OwnRows
    from ioplateau.limits.tables import Catalogue
    from ioplateau.run.daemonaddress import DaemonAddress
    from ioplateau.run.loop import Loop
    from ioplateau.run.settings import ServeSettings

GOOD, FOUND, WRONG = 0, 1, 2
INTERRUPTED, CUT_OFF = 130, 141  # as a shell tells SIGINT and SIGPIPE

_SCAN = ", native scan" if native.scan is not None else ""
# argparse makes a formatter for flags that it is given, to check them; each would ask for the
# terminal's width, and import shutil with its archives for that.
_BUILDING = partial(argparse.HelpFormatter, width=80)


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
        from ioplateau.tell import plain

        for line in str(error).splitlines():
            print(f"ioplateau: {plain.printable(line)}", file=sys.stderr)
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


class _Parser(argparse.ArgumentParser):
    """Takes flags as they are documented: of an abbreviated --minutes the package's command would not
    know. Raises OSError where argparse passes over what it cannot print.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        (file or sys.stderr).write(message)


def parser(words: Collection[str] | None = None) -> argparse.ArgumentParser:
    """Of every command; tools/manual.py writes the man page from it.

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


def _serve_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--check",
        action="store_true",
        help="say whether it would start with these settings, and end; no address is opened",
    )


def _top_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-b", "--batch", action="store_true", help="plain text, one screen after another"
    )
    command.add_argument(
        "--json",
        action="store_true",
        help="a JSON object a screen, a line each, sampled here: a daemon tells the same at /api/v1/state",
    )
    command.add_argument("-n", "--count", type=_count, metavar="N", help="end after N screens")
    whose = command.add_mutually_exclusive_group()
    whose.add_argument(
        "--url",
        type=_url,
        metavar="URL",
        help="of the daemon, like http://db-01:10049, not with --json; default: that of this machine, if it answers",
    )
    whose.add_argument(
        "--no-daemon", dest="alone", action="store_true", help="sample here, daemon or not"
    )
    _add_proofs(command)


def _limits_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="as one JSON object")
    asked = command.add_argument_group(
        "instead of this machine: what would bind first, on any machine"
    )
    asked.add_argument(
        "--vm-size", metavar="SIZE", help="like Standard_D8s_v3, m5.large or n2-standard-8"
    )
    asked.add_argument(
        "--disk",
        action="append",
        metavar="DISK",
        help="like P30, P30:ReadOnly, 4xP30, PremiumV2_LRS:size=1024:iops=20000:mbps=600, gp3, "
        "pd-ssd:size=500",
    )
    asked.add_argument(
        "--request-size", action="append", metavar="BYTES", help="like 8k; may be repeated"
    )
    asked.add_argument("--controller", metavar="TYPE", help="SCSI or NVMe, where that matters")
    asked.add_argument(
        "--volume",
        action="append",
        metavar="VOLUME",
        help="like netapp:Premium:4TiB, files:v2:1TiB, efs:elastic, filestore:zonal:2TiB",
    )
    asked.add_argument(
        "--nconnect", type=_count, metavar="N", help="connections of the NFS mount; default: 1"
    )
    asked.add_argument(
        "--reads",
        action="append",
        type=float,
        metavar="PERCENT",
        help="share of reads in the requests to a volume; may be repeated",
    )


def _record_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="to write, like slow.jsonl.gz, slow.jsonl or - ; a file that is there is replaced",
    )
    command.add_argument(
        "--seconds", type=_seconds, metavar="S", help="how long; default: until interrupted"
    )
    command.add_argument("--json", action="store_true", help="what was written, as a JSON object")


def _replay_flags(command: argparse.ArgumentParser) -> None:
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


def _report_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "recording",
        type=Path,
        nargs="?",
        metavar="RECORDING",
        help="default: what the daemon here remembers",
    )
    command.add_argument(
        "--url",
        type=_url,
        metavar="URL",
        help="of the daemon; default: where web.listen-address says that the one here listens",
    )
    _add_proofs(command)
    command.add_argument(
        "--since", metavar="LENGTH", help="only the last 30min, 24h, 7d; default of a daemon: 24h"
    )
    command.add_argument(
        "--from", dest="began", metavar="TIME", help="like 2026-11-22T10:00, in UTC"
    )
    command.add_argument("--to", dest="ended", metavar="TIME", help="likewise")
    command.add_argument(
        "--minutes", type=_minutes, metavar="N", help="look live for so long instead"
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


def _doctor_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="as one JSON object")


def _add_proofs(command: argparse.ArgumentParser) -> None:
    """Files for a daemon that is not open to everybody."""
    proofs = command.add_argument_group("for a daemon behind TLS or passwords")
    proofs.add_argument(
        "--ca-file",
        metavar="FILE",
        help="who signs its certificate (PEM); default: the system's authorities, or SSL_CERT_FILE",
    )
    proofs.add_argument(
        "--password-file",
        metavar="FILE",
        help="of the name in the URL, https://NAME@db-01:10049; default: asked for in a terminal",
    )
    proofs.add_argument("--cert-file", metavar="FILE", help="a certificate to show (PEM)")
    proofs.add_argument("--key-file", metavar="FILE", help="its key, where it is in another file")


def _address(options: argparse.Namespace, url: str) -> DaemonAddress:
    """Of the daemon that is asked. Raises AddressError."""
    import getpass

    from ioplateau.run.daemonaddress import Proofs, address, wants_password, with_password

    proofs = Proofs(options.ca_file, options.password_file, options.cert_file, options.key_file)
    if wants_password(url, proofs) and sys.stdin.isatty():
        url = with_password(url, getpass.getpass("Password: "))
    return address(url, proofs)


def _seconds(text: str) -> float:
    """How long; argparse tells what is wrong with it."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:  # neither is nan
        raise argparse.ArgumentTypeError(f"{text!r}, want seconds above 0, like 60")
    return seconds


def _minutes(text: str) -> float:
    """How long; argparse tells what is wrong with it."""
    try:
        return _seconds(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r}, want minutes above 0, like 5") from None


def _url(text: str) -> str:
    """Of a web server; argparse tells what is wrong with it."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        is_web = parts.scheme in {"http", "https"} and parts.port != 0  # ValueError: it is no port
    except ValueError:
        is_web = False
    if not is_web or not parts.hostname or re.search(r"\s", parts.netloc):
        raise argparse.ArgumentTypeError(f"{text!r}, want a URL like http://db-01:10049")
    return text


def _count(text: str) -> int:
    """How many; argparse tells what is wrong with it."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}, want a number of 1 or more")
    return int(text)


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
    if command.add_flags is not None:
        command.add_flags(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter


def _serve(options: argparse.Namespace, settings: Settings) -> int:
    if options.check:
        return _check(settings)
    gc.collect()  # the parser of the command line, while there is little else to look through
    gc.disable()  # until the loop begins: what is imported from here on stays
    from ioplateau import config, logs
    from ioplateau.config import ConfigurationError
    from ioplateau.run import cataloguefiles, serve
    from ioplateau.run.reload import ReloadError

    logs.setup(settings.log)

    def reload() -> ServeSettings:
        try:
            fresh = config.load(options, os.environ, again=True)
        except ConfigurationError as error:
            raise ReloadError("\n".join(error.messages)) from error
        return _serve_settings(fresh, cataloguefiles.CatalogueFiles())

    serve.serve(_serve_settings(settings, cataloguefiles.CatalogueFiles()), reload)
    return GOOD


def _check(settings: Settings) -> int:
    """Whether the daemon would start with what was loaded. Raises OSError with what it would refuse."""
    if settings.web.config_file:
        from ioplateau.web.accessfile import AccessFile

        AccessFile(settings.web.config_file)
    print("configuration is good")
    return GOOD


def _top(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import top

    title = f"{__version__}  {os.uname().nodename}"
    if options.json and options.url is not None:
        raise CommandError(
            "--json samples here: --url does not go with it; "
            "/api/v1/state of that daemon tells the same"
        )
    if options.json:
        sees = top.print_json(_serve_settings(settings), options.count, sys.stdout)
        return GOOD if sees else WRONG
    is_plain = options.batch or not (sys.stdin.isatty() and sys.stdout.isatty())
    sees = top.top(
        _serve_settings(settings),
        title,
        batch=is_plain,
        count=options.count,
        out=sys.stdout,
        daemon=None if options.url is None else _address(options, options.url),
        alone=options.alone,
    )
    return GOOD if sees else WRONG


def _limits(options: argparse.Namespace, settings: Settings) -> int:
    of_disks = options.disk or options.controller
    of_volume = options.volume or options.nconnect or options.reads
    if of_volume and (of_disks or not options.volume):
        raise CommandError(
            "--nconnect and --reads go with --volume; --disk and --controller do not"
        )
    if of_volume or of_disks or options.vm_size is not None or options.request_size:
        return _what_if(options, settings)
    from ioplateau.run.limits import look
    from ioplateau.run.machine import machine
    from ioplateau.run.owncatalogue import catalogue_with
    from ioplateau.tell import limits

    own = _own_rows(settings)
    found = look(machine(_serve_settings(settings, catalogue_with(own))))
    if options.json:
        _print_json(
            limits.budgets_json(found.budgets, found.notices, found.unseen) | _edition_json()
        )
    else:
        print(
            limits.budgets_text(found.budgets, found.notices, found.unseen)
            + _edition_words(settings, own),
            end="",
        )
    return WRONG if found.is_blind else GOOD


def _edition_words(settings: Settings, own: OwnRows) -> str:
    from ioplateau.run.cataloguefiles import edition
    from ioplateau.tell import plain

    rows = plain.counted(own.total, "row")
    mine = f", over it {rows} of {settings.catalogue_directory}" if own.total else ""
    return f"catalogue of {edition().day[:7] or 'an unknown date'}{mine}\n"


def _edition_json() -> dict[str, object]:
    from ioplateau.run.cataloguefiles import edition

    return {"catalogue_date": edition().day or None}


def _what_if(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import whatif
    from ioplateau.run.owncatalogue import catalogue_with
    from ioplateau.tell import limits, volumes

    own = _own_rows(settings)
    catalogue, size = catalogue_with(own), options.vm_size or ""
    requests = options.request_size or ()
    if options.volume:
        asked = (options.volume, size, options.nconnect, requests, options.reads or ())
        about_volume = whatif.of_volume(catalogue, *asked)
        text, value = volumes.render(about_volume), volumes.as_json(about_volume)
    else:
        about_disks = whatif.of_disks(
            catalogue, size, options.disk or (), requests, options.controller
        )
        text, value = limits.render(about_disks), limits.as_json(about_disks)
    if options.json:
        _print_json(value | _edition_json())
    else:
        print(text + _edition_words(settings, own), end="")
    return GOOD


def _own_rows(settings: Settings) -> OwnRows:
    """The user's own rows of the catalogue; what was left out of them is told."""
    from ioplateau.run.owncatalogue import read_directory

    own = read_directory(settings.catalogue_directory)
    for words in own.complaints:
        print(f"ioplateau: own catalogue: {words}", file=sys.stderr)
    return own


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=2, allow_nan=False))


def _record(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import record
    from ioplateau.run.machine import machine
    from ioplateau.run.pause import Pause
    from ioplateau.tell import plain

    _log_warnings(settings)
    pause = Pause()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: pause.end())
    watched = machine(_serve_settings(settings))
    interval = watched.settings.engine.interval_seconds
    seconds = options.seconds
    found = record.record(
        options.file,
        watched.sampler,
        watched.clock,
        interval,
        ticks=None if seconds is None else max(round(seconds / interval), 1) + 1,
        wait=pause.sleep,
        seen=record.RecordingEngine(watched, partial(_warn, options.file)).see,
        made=record.provenance_of(watched),
    )
    if not found.written:
        raise CommandError(f"{options.file}: ended before anything was recorded")
    if options.json:
        _print_json({"file": str(options.file), "snapshots": found.written})
    else:
        more = f", {found.left_out} left out: the disk was too slow" if found.left_out else ""
        written = plain.counted(found.written, "snapshot")
        print(f"{options.file}: {written}{more}", file=sys.stderr)
    return GOOD


def _replay(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import replay

    result = replay.replay(
        options.file, _serve_settings(settings).engine, options.format, sys.stdout
    )
    if result.left_out:
        several = f"{result.left_out} damaged lines were left out, the first"
        what = f"{several if result.left_out > 1 else '1 damaged line was left out'}: {result.why}"
        _warn(options.file, what)
    for sentence in result.unseen:
        _warn(options.file, sentence)
    if result.is_blind:
        return WRONG
    return FOUND if options.fail_on_throttle and result.was_throttled else GOOD


def _warn(path: Path, what: str) -> None:
    """Say of a recording what is to be known of it."""
    from ioplateau.tell import plain

    print(f"ioplateau: {path}: {plain.printable(what)}", file=sys.stderr)


def _report(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import report
    from ioplateau.run.clock import SystemClock
    from ioplateau.run.daemonviews import local_url
    from ioplateau.tell.report import document, render

    _log_warnings(settings)
    wanted = _serve_settings(settings)
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
        url = options.url or local_url(wanted.web.listen_addresses)
        samples, source = report.remembered(_address(options, url), span, now)
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
    return WRONG if samples.are_blind else GOOD


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


def _doctor(options: argparse.Namespace, settings: Settings) -> int:
    from ioplateau.run import doctor
    from ioplateau.run.machine import machine

    findings = doctor.look(machine(_serve_settings(settings)))
    if options.json:
        _print_json({"findings": [finding._asdict() for finding in findings]})
    else:
        print(doctor.render(findings), end="")
    return FOUND if any(finding.is_vital and not finding.is_good for finding in findings) else GOOD


def _log_warnings(settings: Settings) -> None:
    """Log as the daemon does, but nothing that goes well: who gave a command waits for its answer."""
    from ioplateau import logs

    level = max(settings.log.level, "warning", key=logs.LEVELS.__getitem__)
    logs.setup(settings.log._replace(level=level))


def _serve_settings(settings: Settings, catalogue: Catalogue | None = None) -> ServeSettings:
    """The parts of the settings that the daemon and its relatives need.

    catalogue: the catalogue; None: with the user's own rows, read now. The daemon reads these beside
    its loop.
    """
    from ioplateau.engine import EngineSettings
    from ioplateau.limits.clouds.discover import Facts
    from ioplateau.limits.topology import Rules
    from ioplateau.run.owncatalogue import catalogue_with
    from ioplateau.run.settings import ServeSettings, VolumeQuestions

    if catalogue is None:
        catalogue = catalogue_with(_own_rows(settings))
    return ServeSettings(
        web=settings.web,
        engine=EngineSettings(
            interval_seconds=settings.sampling.interval_seconds,
            rate_window_seconds=settings.sampling.rate_window_seconds,
            rules=Rules(settings.limits, settings.volumes),
            facts=Facts(settings.vm, settings.disks),
            catalogue=catalogue,
            asks_cloud=settings.cloud.enabled,
            is_hidden=settings.devices.is_hidden,
        ),
        paths=settings.paths,
        per_connection=settings.nfs.per_connection,
        nfs_ports=settings.nfs.ports,
        state_directory=settings.state_directory,
        refresh_seconds=settings.cloud.refresh_seconds,
        volumes=VolumeQuestions(
            settings.cloud.volumes_file,
            settings.cloud.describe_volumes,
            settings.cloud.ec2_endpoint,
        ),
        catalogue_directory=settings.catalogue_directory,
        log=settings.log,
    )


class Command(NamedTuple):
    """What a command does, in a line of the help, and its own flags."""

    run: Callable[[argparse.Namespace, Settings], int]
    text: str
    add_flags: Callable[[argparse.ArgumentParser], None] | None = None


COMMANDS = {
    "serve": Command(_serve, "run the daemon: sample, judge, and answer scrapes", _serve_flags),
    "top": Command(_top, "the live screen: what is at its limit here, now", _top_flags),
    "limits": Command(_limits, "what this machine is allowed, by whom, and why", _limits_flags),
    "record": Command(_record, "write what is read of this machine into a file", _record_flags),
    "replay": Command(_replay, "judge a recording again", _replay_flags),
    "report": Command(
        _report,
        "what happened, the figures a sizing asks for, what to change",
        _report_flags,
    ),
    "doctor": Command(
        _doctor, "what can be seen here, what is missing, how to fix it", _doctor_flags
    ),
}
