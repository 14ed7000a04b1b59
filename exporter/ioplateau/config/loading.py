"""File, environment and flags to one checked tree of settings, or everything wrong with them.

A flag beats its environment variable, which beats the file, which beats the default. A value
is checked also where it is overridden: a wrong line in the file is wrong. Of two files that are named
the one that is beaten is not read.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ioplateau.config import rules
from ioplateau.config.checker import Values, accepted, check
from ioplateau.config.flags import CONFIG_FILE, given, overlay
from ioplateau.config.settings import (
    CloudSettings,
    DeviceSettings,
    NfsSettings,
    SamplingSettings,
    Settings,
)
from ioplateau.config.table import TABLE
from ioplateau.limits.budgets import Direction
from ioplateau.limits.claims import ConfiguredLimit, DiskFact, VmFact, VolumeFact
from ioplateau.logs import LogSettings
from ioplateau.regular import open_regular, read_whole
from ioplateau.run.settings import PathSettings
from ioplateau.web.settings import WebSettings

# More is a wrong file name.
MOST_BYTES = 1 << 20
SILENT_SECONDS = 2.0
# In a line. tomllib takes time and memory by the square of the parts of a key.
MOST_DOTS = 256


class ConfigurationError(Exception):
    """Settings that cannot be. `messages`: a sentence for each thing that is wrong."""

    def __init__(self, messages: tuple[str, ...]) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages


def load(
    options: argparse.Namespace, environ: Mapping[str, str], *, again: bool = False
) -> Settings:
    """The settings in force. again: as read_tree. Raises ConfigurationError."""
    named = [words for words, _ in given(CONFIG_FILE, options, environ)]
    # An empty flag is no file, whatever the variable names.
    file = named[-1] or None if named else None
    tree: Mapping[str, Any] = {}
    broken: tuple[str, ...] = ()
    if file is not None:
        try:
            tree = read_tree(file, again=again)
        except ValueError as error:
            broken = (f"{file}: {error}",)
    return settings_from(tree, options, environ, file=file, broken=broken)


def settings_from(
    tree: Mapping[str, Any],
    options: argparse.Namespace,
    environ: Mapping[str, str],
    *,
    file: str | None = None,
    broken: tuple[str, ...] = (),
) -> Settings:
    """The settings of an already parsed file. Raises ConfigurationError, also for `broken`."""
    values, problems = check(tree, TABLE)
    problems += rules.broken(values)
    name = os.path.basename(file) if file else "configuration"
    messages = [*broken, *(f"{file or name}: {problem}" for problem in problems)]
    messages += overlay(values, options, environ)
    made = _made(values, name, environ)
    messages += rules.broken_together(made)
    if messages:
        raise ConfigurationError(tuple(messages))
    return made


def read_tree(file: str, *, again: bool = False) -> dict[str, Any]:
    """A TOML file as a tree. again: it was read before, so a pipe, which has nothing more or is waited
    for, is refused. Raises ValueError with a sentence, with line and column.
    """
    import tomllib

    try:
        if again:
            with open_regular(file) as stream:
                content = read_whole(stream, MOST_BYTES)
        else:
            content = _waited_for(file)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error
    for number, words in enumerate(content.split(b"\n"), start=1):
        if words.count(b".") > MOST_DOTS:
            raise ValueError(f"is no configuration: more than {MOST_DOTS} dots (at line {number})")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"is not UTF-8 (at line {line})") from error
    except RecursionError as error:
        raise ValueError("is no configuration: nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is not TOML: {error}") from error
    except ValueError as error:
        most = sys.get_int_max_str_digits()
        raise ValueError(f"is not TOML: a number of more than {most} digits") from error


def _waited_for(file: str) -> bytes:
    """What it says, whatever it is: of a pipe that nobody writes to it is told that it is waited for."""
    late = threading.Timer(
        SILENT_SECONDS,
        print,
        [f"ioplateau: waiting for {file}, to which nobody has written yet"],
        {"file": sys.stderr, "flush": True},
    )
    late.daemon = True
    with suppress(RuntimeError):  # no thread can be had
        late.start()
    try:
        with open(file, "rb") as stream:
            return read_whole(stream, MOST_BYTES)
    finally:
        late.cancel()


def _made(values: Values, name: str, environ: Mapping[str, str]) -> Settings:
    vm = accepted(values["vm"])
    return Settings(
        web=WebSettings(**accepted(values["web"])),
        log=LogSettings(**accepted(values["log"])),
        sampling=_sampling(accepted(values["sampling"])),
        paths=PathSettings(**accepted(values["path"])),
        devices=DeviceSettings(**accepted(values["device"])),
        nfs=NfsSettings(**accepted(values["nfs"])),
        cloud=CloudSettings(**accepted(values["cloud"])),
        state_directory=values["state"].get("directory") or _systemd_directory(environ),
        catalogue_directory=values["limits"].get("catalogue"),
        limits=tuple(
            ConfiguredLimit(**_with_direction(entry), source=f"{name} limit[{number}]")
            for number, entry in enumerate(values["limit"])
        ),
        vm=VmFact(**vm, source=f"{name} vm") if "size" in vm else None,
        disks=tuple(
            DiskFact(**accepted(entry), source=f"{name} disk[{number}]")
            for number, entry in enumerate(values["disk"])
        ),
        volumes=tuple(
            VolumeFact(**accepted(entry), source=f"{name} volume[{number}]")
            for number, entry in enumerate(values["volume"])
        ),
    )


def _sampling(said: Mapping[str, Any]) -> SamplingSettings:
    made = SamplingSettings(**said)
    if "rate_window_seconds" in said:
        return made
    least = 2 * made.interval_seconds  # see rules.broken_together
    return made._replace(rate_window_seconds=max(made.rate_window_seconds, least))


def _with_direction(entry: Mapping[str, Any]) -> dict[str, Any]:
    said = accepted(entry)
    return {**said, "direction": Direction(said.get("direction", Direction.TOTAL))}


def _systemd_directory(environ: Mapping[str, str]) -> str | None:
    # StateDirectory= of the unit: systemd.exec(5); several are separated by colons.
    # https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html
    return environ.get("STATE_DIRECTORY", "").partition(":")[0] or None
