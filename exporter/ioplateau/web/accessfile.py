"""web-config.yml as access in force, read again when a file changes. Loaded only where there is one."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ioplateau.logs import event
from ioplateau.regular import open_regular, read_whole
from ioplateau.threads import started
from ioplateau.web import config as webconfig
from ioplateau.web.access import Access, RequestBucket, described
from ioplateau.web.config import WebConfig, WebConfigError
from ioplateau.web.expiry import Expiry
from ioplateau.web.keys import IF_GIVEN, NO_CLIENT, REQUIRED, ProblemsError
from ioplateau.web.passwords import Users

if TYPE_CHECKING:
    from ioplateau.web.tls import Tls

LOG = logging.getLogger(__name__)
# A look is a stat() of four files: nothing, but not for each connection of a flood.
LOOK_SECONDS = 1.0
# For so long a look is waited for, so that what changed holds for the very connection that comes; a disk or a
# server that does not answer costs this once, and is told of after SILENT_SECONDS.
MOMENT_SECONDS = 0.1
SILENT_SECONDS = 5.0
# What could not be taken is tried again after so long, changed or not: a read may fail once.
AGAIN_SECONDS = 10.0
MOST_BYTES = 1 << 20
STRENGTH = {NO_CLIENT: 0, IF_GIVEN: 1, REQUIRED: 2}
Stamp: TypeAlias = Mapping[str, tuple[int, ...] | None]


class AccessFile:
    """The access as the file at `path` describes it. Raises WebConfigError at the beginning.

    Later `look` takes a changed file; a broken one leaves the old access, and is logged once.
    So is a certificate that ends.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._expiry = Expiry()
        self._others: tuple[str, ...] = ()
        self._look_at = 0.0
        self._looking: threading.Thread | None = None
        self._since = 0.0
        self._is_told = False
        self._again_at = float("inf")
        self._problems: tuple[str, ...] = ()  # that were told
        self._stamp: Stamp = {}
        self._access = self._made()

    @property
    def access(self) -> Access:
        return self._access

    def look(self, mono: float) -> Access:
        """The access in force, after a look at the files, at most once a second and on a thread of its own."""
        if self._looking is not None and self._looking.is_alive():
            if mono - self._since >= SILENT_SECONDS and not self._is_told:
                self._is_told = True
                event(LOG, logging.WARNING, "web configuration does not answer, the old one stays until it does",
                      seconds=round(mono - self._since))  # fmt: skip
        elif mono >= self._look_at:
            self._look_at, self._since, self._is_told = mono + LOOK_SECONDS, mono, False
            self._looking = started("web-config", lambda: self._look(mono))
            if self._looking is not None:
                self._looking.join(MOMENT_SECONDS)
        return self._access

    def _look(self, mono: float) -> None:
        stamp = self._stamps()
        if stamp != self._stamp:
            self._stamp, self._problems, self._again_at = stamp, (), mono
        if mono >= self._again_at:
            self._take(mono)
        if tls := self._access.tls:
            self._expiry.look(tls.valid_from, tls.valid_until, time.time())

    def _take(self, mono: float) -> None:
        self._again_at = mono + AGAIN_SECONDS
        try:
            fresh = self._made()
            self._must_protect(fresh)
        except WebConfigError as error:
            if error.problems == self._problems:
                return
            self._problems = error.problems
            for problem in error.problems:
                event(LOG, logging.ERROR, "web configuration not taken, the old one stays",
                      why=problem)  # fmt: skip
        else:
            if fresh.users and self._access.users:
                fresh.users.remember(self._access.users)
            self._access, self._again_at = fresh, float("inf")
            event(LOG, logging.INFO, "web configuration reloaded", access=described(fresh))

    def _must_protect(self, fresh: Access) -> None:
        # An editor empties a file before it writes it; a slip must not open the doors.
        before, after = self._access.tls, fresh.tls
        is_weaker = before and after and STRENGTH[after.client_auth] < STRENGTH[before.client_auth]
        for is_lost, what in (
            (before and not after, "tls_server_config is gone"),
            (self._access.users and not fresh.users, "basic_auth_users is gone"),
            (is_weaker, "client_auth_type asks less of clients"),
            (before and after and before.client_names and not after.client_names,
             "client_allowed_sans is gone"),
        ):  # fmt: skip
            if is_lost:
                raise WebConfigError(
                    str(self._path), [f"{what}; that takes a restart if it is meant"]
                )
        if after and not before:
            raise WebConfigError(
                str(self._path), ["tls_server_config is new: http to https takes a restart"]
            )

    def _made(self) -> Access:
        own = _stamp(str(self._path))  # before reading: what changes meanwhile is seen next time
        try:
            with open_regular(self._path) as file:
                content, mode = read_whole(file, MOST_BYTES), os.fstat(file.fileno()).st_mode
        except OSError as error:
            raise WebConfigError(str(self._path), [error.strerror or repr(error)]) from error
        try:
            config = webconfig.parse(content)
            self._others = tuple(str(self._path.parent / name) for name in config.files)
            self._stamp = {**self._stamps(), str(self._path): own}
            return _access(config, self._path.parent, mode, time.time())
        except ProblemsError as error:
            raise WebConfigError(str(self._path), error.problems) from error

    def _stamps(self) -> Stamp:
        return {name: _stamp(name) for name in (str(self._path), *self._others)}


def _access(config: WebConfig, base: Path, mode: int, wall: float) -> Access:
    problems: list[str] = []
    tls, users = None, None
    try:
        if config.tls:
            tls = _tls(config.tls, base, mode, wall)
    except ProblemsError as error:
        problems += error.problems
    try:
        users = Users(config.users) if config.users else None
    except ProblemsError as error:
        problems += error.problems
    if problems:
        raise ProblemsError(problems)
    bucket = RequestBucket(config.rate_seconds, config.rate_burst) if config.rate_seconds else None
    return Access(tls, users, bucket, config.open_paths, config.headers)


def _tls(config: webconfig.TlsConfig, base: Path, mode: int, wall: float) -> Tls:
    from ioplateau.web import tls

    return tls.Tls(config, tls.read(config, base, mode), wall)


def _stamp(name: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(name)
    except (OSError, ValueError):  # there is none, or no file has such a name
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size
