"""What the daemon and the other commands that look at a machine are told. Imports next to nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ioplateau.logs import LogSettings
from ioplateau.measure.host import Host
from ioplateau.web.settings import WebSettings

if TYPE_CHECKING:
    from ioplateau.engine import EngineSettings


# What changes with a restart only: fields of ServeSettings and of its EngineSettings, as the file names them.
WAITS = {
    "web": "web",
    "paths": "path",
    "per_connection": "nfs.per_connection",
    "nfs_ports": "nfs.ports",
    "state_directory": "state.directory",
}
ENGINE_WAITS = {
    "interval_seconds": "sampling.interval_seconds",
    "rate_window_seconds": "sampling.rate_window_seconds",
}


class PathSettings(NamedTuple):
    """Where the machine's files lie; elsewhere in a container. None: below rootfs."""

    rootfs: str = "/"
    procfs: str | None = None
    sysfs: str | None = None

    def host(self) -> Host:
        return Host(Path(self.rootfs), procfs=self.procfs, sysfs=self.sysfs)


class VolumeQuestions(NamedTuple):
    """How to find out what EBS volumes were sold as. file: what `aws ec2 describe-volumes
    --output json` wrote; describe: ask the EC2 API by the instance's role; endpoint: another
    than the region's own.
    """

    file: str | None = None
    describe: bool = False
    endpoint: str = ""


class ServeSettings(NamedTuple):
    """Everything `serve` needs, and those who look at the machine as it does."""

    engine: EngineSettings
    web: WebSettings = WebSettings()
    paths: PathSettings = PathSettings()
    per_connection: bool = False
    nfs_ports: tuple[int, ...] = (2049,)
    state_directory: str | None = None
    refresh_seconds: float = 300.0  # of metadata
    volumes: VolumeQuestions = VolumeQuestions()
    catalogue_directory: str | None = None  # a user's own rows
    log: LogSettings = LogSettings()

    def after(self, before: ServeSettings) -> tuple[ServeSettings, tuple[str, ...]]:
        """These settings as they can be taken while the daemon runs, which has run by those before, and
        the names of what changes with a restart only, where that differs: it stays as it was.
        """
        engine = self.engine._replace(**_of(before.engine, ENGINE_WAITS))
        taken = self._replace(**_of(before, WAITS), engine=engine)
        waits = [
            name
            for wanted, kept, names in (
                (self, taken, WAITS),
                (self.engine, taken.engine, ENGINE_WAITS),
            )
            for field, name in names.items()
            if getattr(wanted, field) != getattr(kept, field)
        ]
        return taken, tuple(sorted(waits))


def _of(settings: NamedTuple, fields: Iterable[str]) -> dict[str, Any]:
    return {field: getattr(settings, field) for field in fields}
