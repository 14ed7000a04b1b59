"""Flags of the command line, each with its environment variable."""

from __future__ import annotations

import argparse
from argparse import SUPPRESS
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ioplateau.config.checker import Values, read
from ioplateau.config.table import TABLE
from ioplateau.logs import FORMATS, LEVELS


class Flag(NamedTuple):
    """--`name` and its environment variable, which set `section`.`key`."""

    name: str
    section: str
    key: str
    help: str
    is_repeated: bool = False
    is_switch: bool = False  # given without a value; turns its key to `turns_to`
    turns_to: bool = False

    @property
    def variable(self) -> str:
        return "IOPLATEAU_" + self.name.upper().replace(".", "_").replace("-", "_")

    @property
    def place(self) -> str:
        """Its name in an argparse namespace."""
        return self.name.replace(".", "_").replace("-", "_")


CONFIG_FILE = Flag("config.file", "", "", "The configuration file (TOML).")
FLAGS = (
    Flag("web.listen-address", "web", "listen_addresses",
         'Address to listen on, ":10049" for all; may be repeated.', is_repeated=True),
    Flag("web.systemd-socket", "web", "systemd_socket",
         "Listen on the sockets that systemd passes.", is_switch=True, turns_to=True),
    Flag("web.telemetry-path", "web", "telemetry_path", "Path of the metrics."),
    Flag("web.config.file", "web", "config_file", "web-config.yml: TLS and authentication."),
    Flag("path.procfs", "path", "procfs", "Where the machine's /proc is."),
    Flag("path.sysfs", "path", "sysfs", "Where the machine's /sys is."),
    Flag("path.rootfs", "path", "rootfs", "Where the machine's / is."),
    Flag("log.level", "log", "level", f"One of {', '.join(LEVELS)}."),
    Flag("log.format", "log", "format", f"One of {', '.join(FORMATS)}."),
    Flag("sampling.interval", "sampling", "interval_seconds", "Seconds from 0.1 to 10."),
    Flag("no-cloud", "cloud", "enabled", "Do not ask the cloud's metadata service.", is_switch=True),
    Flag("state.directory", "state", "directory", "Where to keep what must survive a restart."),
)  # fmt: skip


def add_flags(parser: argparse.ArgumentParser, shown: Collection[str] = ()) -> None:
    """Give `parser` the flags; `load` takes the namespace it parses into.

    shown: names of those that its help lists, empty: all. Each is taken by every command, so that
    one environment and one set of flags serve all of them.
    """
    group = parser.add_argument_group("settings (each also by the variable that is named)")
    for flag in (CONFIG_FILE, *FLAGS):
        help_text = f"{flag.help} {flag.variable}" if not shown or flag.name in shown else SUPPRESS
        # Values stay text: what is wrong with them is told together with the file's errors.
        if flag.is_switch:
            group.add_argument(
                f"--{flag.name}", dest=flag.place, action="store_true", default=None, help=help_text
            )
        else:
            action = "append" if flag.is_repeated else "store"
            group.add_argument(
                f"--{flag.name}", dest=flag.place, metavar="...", action=action, help=help_text
            )


def given(
    flag: Flag, options: argparse.Namespace, environ: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What was said about `flag`, and where: ("127.0.0.1:1,[::1]:1", "--web.listen-address"). The
    last one beats those before.
    """
    # An empty variable is how unit files and container specifications unset one.
    if words := environ.get(flag.variable, ""):
        yield words, flag.variable
    said = getattr(options, flag.place, None)
    if said is not None and said is not False:
        yield ",".join(said) if isinstance(said, list) else str(said), f"--{flag.name}"


def overlay(
    values: Values, options: argparse.Namespace, environ: Mapping[str, str]
) -> Iterator[str]:
    """Put what flags and environment say over the file's values; a sentence for each error."""
    for flag in FLAGS:
        for words, where in given(flag, options, environ):
            try:
                values[flag.section][flag.key] = _value(flag, words)
            except ValueError as error:
                yield f"{where}: {error}"


def _value(flag: Flag, words: str) -> Any:
    value = read(TABLE[flag.section].keys[flag.key], words)
    return value == flag.turns_to if flag.is_switch else value
